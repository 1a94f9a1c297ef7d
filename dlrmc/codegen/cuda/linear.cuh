// Stage: y[r, n] = act(alpha * sum over k of x[r, k] * w[n, k] + beta * bias[r, n])   (IR: linear, mm, addmm)
//
// A warp computes a block of (LANES_OVER_ROWS * ROWS_PER_LANE) x (LANES_OVER_COLUMNS * COLUMNS_PER_LANE)
// results. LANES_OVER_K neighbouring lanes share one block of ROWS_PER_LANE x COLUMNS_PER_LANE results: each
// adds up every LANES_OVER_K-th group of 4 k, k ascending, and a butterfly of shuffles adds the lanes' sums.
// Warps take blocks in turn, so any number of warps may run the stage.
//
// x stands in shared memory, in the compute type, [ROWS, X_STRIDE], 16-byte aligned, zero in columns K to the
// next multiple of 4. w stays where it is: where its k are contiguous (as torch stores it) the LANES_OVER_K
// lanes read LANES_OVER_K * 16 neighbouring bytes of a row, where its columns are contiguous (packed at load)
// the LANES_OVER_COLUMNS lanes do. 16-bit types accumulate in float and are rounded once.
//
// `act` may be any elementwise function of the value and of operands of the shape of y, or broadcast to it
// (epilogue_operands.cuh).
//
// `Sizes` is a struct of constants, emitted by codegen/kernels/linear.py, which also documents them.
// Needs whole warps. No scratch memory; no barrier but what `ready` does.
//
// requires: views.cuh math.cuh epilogue_operands.cuh
#ifndef DLRMC_CODEGEN_CUDA_LINEAR_CUH
#define DLRMC_CODEGEN_CUDA_LINEAR_CUH

#include "epilogue_operands.cuh"
#include "math.cuh"
#include "views.cuh"

// The sums of a block's first N rows, each spread over the lanes that differ in the bits from MASK up to
// LANES: halves the rows that a lane keeps while there are any to halve, then adds whole. Afterwards the lane
// holds the total of rows `first` to first + N' - 1, where N' is max(1, N * MASK / LANES); `writes` says
// whether it is the one of several that hold it which is to write it.
template <int N, int MASK, int LANES, int ROWS, int COLUMNS, typename Compute>
__device__ __forceinline__ void add_over_lanes(Compute (&sums)[ROWS][COLUMNS], int lane, int& first,
                                               bool& writes) {
    if constexpr (MASK < LANES && N > 1) {
        constexpr int half = N / 2;
        const bool is_upper = lane & MASK;
#pragma unroll
        for (int a = 0; a < half; ++a) {
#pragma unroll
            for (int b = 0; b < COLUMNS; ++b) {
                const Compute sent = is_upper ? sums[a][b] : sums[a + half][b];
                const Compute kept = is_upper ? sums[a + half][b] : sums[a][b];
                sums[a][b] = kept + __shfl_xor_sync(0xffffffffu, sent, MASK);
            }
        }
        first += is_upper ? half : 0;
        add_over_lanes<half, MASK * 2, LANES>(sums, lane, first, writes);
    } else if constexpr (MASK < LANES) {
#pragma unroll
        for (int b = 0; b < COLUMNS; ++b)
            sums[0][b] += __shfl_xor_sync(0xffffffffu, sums[0][b], MASK);
        writes = writes && !(lane & MASK);
        add_over_lanes<1, MASK * 2, LANES>(sums, lane, first, writes);
    }
}

// From a finished sum to the result: scales, bias, activation, which may read operands of its own.
template <typename Sizes>
struct LinearEpilogue {
    using Element = typename Sizes::Element;
    using Compute = compute_type<Element>;

    static __device__ __forceinline__ Compute bias_at(const Element* bias, long long row, int column) {
        if constexpr (Sizes::HAS_BIAS) {
            return to_float(bias[row * Sizes::BIAS_ROW + column * Sizes::BIAS_COLUMN]);
        } else {
            return 0;
        }
    }

    template <int COUNT = 0>
    static __device__ __forceinline__ Compute finish(Compute sum, Compute bias,
                                                     const EpilogueValues<Compute, COUNT>& operands = {}) {
        Compute value = static_cast<Compute>(Sizes::ALPHA) * sum;
        if constexpr (Sizes::HAS_BIAS) value = value + static_cast<Compute>(Sizes::BETA) * bias;
        if constexpr (COUNT > 0) {
            return Sizes::activation(value, operands.at);
        } else {
            return Sizes::activation(value);
        }
    }
};

// For LinearRows::run where another stage has already waited for x, and where the whole block waits for it.
struct IsReady {
    __device__ __forceinline__ void operator()() const {}
};
struct BlockIsReady {
    __device__ __forceinline__ void operator()() const { __syncthreads(); }
};

// The epilogue as the finish of a TiledProduct; `bias` is that of row 0 and column 0 of the tile.
template <typename Sizes, typename Operands = EpilogueOperands<>>
struct LinearFinish {
    using Compute = compute_type<typename Sizes::Element>;
    const typename Sizes::Element* bias;
    Operands operands;

    __device__ __forceinline__ Compute operator()(Compute sum, int row, int column) const {
        EpilogueValues<Compute, Operands::count> values[1];
        operands.template load<true>(row, column, 0, values);
        using Epilogue = LinearEpilogue<Sizes>;
        return Epilogue::finish(sum, Epilogue::bias_at(bias, row, column), values[0]);
    }
};

template <typename Sizes, typename Operands>
__device__ __forceinline__ LinearFinish<Sizes, Operands> linear_finish(const typename Sizes::Element* bias,
                                                                       Operands operands) {
    return {bias, operands};
}

template <typename Sizes>
struct LinearRows {
    using Element = typename Sizes::Element;
    using Compute = compute_type<Element>;
    using Epilogue = LinearEpilogue<Sizes>;
    static constexpr int rows_per_lane = Sizes::ROWS_PER_LANE;
    static constexpr int columns_per_lane = Sizes::COLUMNS_PER_LANE;
    static constexpr int warp_rows = rows_per_lane * Sizes::LANES_OVER_ROWS;
    static constexpr int warp_columns = columns_per_lane * Sizes::LANES_OVER_COLUMNS;
    static constexpr int row_blocks = (Sizes::ROWS + warp_rows - 1) / warp_rows;
    static constexpr int column_blocks = (Sizes::BLOCK_COLUMNS + warp_columns - 1) / warp_columns;
    static constexpr int k_groups = (Sizes::K + 3) / 4;
    static constexpr int steps = (k_groups + Sizes::LANES_OVER_K - 1) / Sizes::LANES_OVER_K;
    // Whether every column and every k that a lane looks at exists, so that none needs a check.
    static constexpr bool columns_fit =
        Sizes::N % Sizes::BLOCK_COLUMNS == 0 && Sizes::BLOCK_COLUMNS % warp_columns == 0;
    static constexpr bool groups_fit = k_groups % Sizes::LANES_OVER_K == 0 && steps % Sizes::UNROLL == 0;
    static constexpr bool k_fits = groups_fit && Sizes::K % 4 == 0;
    static_assert(Sizes::LANES_OVER_ROWS * Sizes::LANES_OVER_COLUMNS * Sizes::LANES_OVER_K == 32, "a warp");

    // The weights of UNROLL steps, as stored: weights.at[step][i][b] is that of k + i and the lane's column
    // b.
    struct Batch {
        Element at[Sizes::UNROLL][4][columns_per_lane];
    };

    // Columns first_column to first_column + BLOCK_COLUMNS of `rows` rows. `y` is a TileView with row 0 and
    // column 0 those of the tile and of w. The first weights are on their way before `ready()` is called,
    // once by every thread; x is read after it. `operands`, of the epilogue, begin where `y` does.
    template <typename Y, typename Ready, typename Operands = EpilogueOperands<>>
    static __device__ __forceinline__ void run(const Compute* x, const Element* w, const Element* bias, Y y,
                                               int first_column, int rows, int thread, int threads,
                                               Ready ready, Operands operands = {}) {
        const int lane = thread % 32;
        const int lane_k = lane % Sizes::LANES_OVER_K;
        const int lane_row = lane / (Sizes::LANES_OVER_K * Sizes::LANES_OVER_COLUMNS);
        first_column += lane / Sizes::LANES_OVER_K % Sizes::LANES_OVER_COLUMNS * columns_per_lane;
        int block = thread / 32;
        Batch batch;
        Compute bias_values[columns_per_lane] = {};
        if (block < row_blocks * column_blocks) {
            const int column = first_column + block / row_blocks * warp_columns;
            load_batch(w, column, 0, lane_k, batch);
            if constexpr (Sizes::BIAS_ROW == 0) load_bias(bias, 0, column, bias_values);
        }
        ready();
        for (; block < row_blocks * column_blocks; block += threads / 32) {
            const int row = block % row_blocks * warp_rows + lane_row;
            const int column = first_column + block / row_blocks * warp_columns;
            Compute sums[rows_per_lane][columns_per_lane] = {};
            add_products(x + row * Sizes::X_STRIDE, w, column, lane_k, batch, sums);
            const int next = block + threads / 32;
            const int next_column = first_column + next / row_blocks * warp_columns;
            if (next < row_blocks * column_blocks) load_batch(w, next_column, 0, lane_k, batch);
            int first = 0;
            bool writes = true;
            add_over_lanes<rows_per_lane, 1, Sizes::LANES_OVER_K>(sums, lane_k, first, writes);
            if (writes) store(sums, bias, bias_values, operands, y, row, first, column, rows);
            if (Sizes::BIAS_ROW == 0 && next < row_blocks * column_blocks)
                load_bias(bias, 0, next_column, bias_values);
        }
    }

  private:
    static __device__ __forceinline__ bool has(int column, int k) {
        return (columns_fit || column < Sizes::N) && (k_fits || k < Sizes::K);
    }

    // The weights of the lane's columns from `column` at steps first_step to first_step + UNROLL; zero
    // outside of w.
    static __device__ __forceinline__ void load_batch(const Element* w, int column, int first_step,
                                                      int lane_k, Batch& batch) {
#pragma unroll
        for (int u = 0; u < Sizes::UNROLL; ++u) {
            const int k = ((first_step + u) * Sizes::LANES_OVER_K + lane_k) * 4;
            if constexpr (Sizes::W_K == 1 && Sizes::W_VECTOR == 4) {
#pragma unroll
                for (int b = 0; b < columns_per_lane; ++b)
                    load_along_k(w, column + b, k, b, batch.at[u]);
            } else {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    load_along_columns(w, column, k + i, batch.at[u][i]);
            }
        }
    }

    static __device__ __forceinline__ void load_along_k(const Element* w, int column, int k, int b,
                                                        Element (&weights)[4][columns_per_lane]) {
        Pack<Element, 4> pack = {};
        if (has(column, k)) pack = load_pack<4>(w + column * Sizes::W_COLUMN + k);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            weights[i][b] = pack.at[i];
    }

    static __device__ __forceinline__ void load_along_columns(const Element* w, int column, int k,
                                                              Element (&weights)[columns_per_lane]) {
        if constexpr (Sizes::W_COLUMN == 1 && Sizes::W_VECTOR == columns_per_lane && Sizes::W_VECTOR > 1) {
            Pack<Element, columns_per_lane> pack = {};
            if (has(column, k)) pack = load_pack<columns_per_lane>(w + k * Sizes::W_K + column);
#pragma unroll
            for (int b = 0; b < columns_per_lane; ++b)
                weights[b] = pack.at[b];
        } else {
#pragma unroll
            for (int b = 0; b < columns_per_lane; ++b) {
                weights[b] = {};
                if (has(column + b, k)) {
                    weights[b] = w[(column + b) * Sizes::W_COLUMN + k * Sizes::W_K];
                }
            }
        }
    }

    // Row a of the lane is `a * LANES_OVER_ROWS` rows below x. `batch` holds the first steps' weights.
    static __device__ __forceinline__ void add_products(const Compute* x, const Element* w, int column,
                                                        int lane_k, Batch batch,
                                                        Compute (&sums)[rows_per_lane][columns_per_lane]) {
#pragma unroll 1
        for (int step = 0; step < steps; step += Sizes::UNROLL) {
            const Batch now = batch;
            if (step + Sizes::UNROLL < steps) load_batch(w, column, step + Sizes::UNROLL, lane_k, batch);
#pragma unroll
            for (int u = 0; u < Sizes::UNROLL; ++u) {
                const int k = ((step + u) * Sizes::LANES_OVER_K + lane_k) * 4;
                // The last steps may reach past the end of a row of x.
                if (!groups_fit && k >= k_groups * 4) continue;
                add_step(x + k, now.at[u], sums);
            }
        }
    }

    static __device__ __forceinline__ void add_step(const Compute* x,
                                                    const Element (&weights)[4][columns_per_lane],
                                                    Compute (&sums)[rows_per_lane][columns_per_lane]) {
#pragma unroll
        for (int a = 0; a < rows_per_lane; ++a) {
            const Pack<Compute, 4> values = load_pack<4>(x + a * Sizes::LANES_OVER_ROWS * Sizes::X_STRIDE);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int b = 0; b < columns_per_lane; ++b) {
                    sums[a][b] = multiply_add(values.at[i], to_float(weights[i][b]), sums[a][b]);
                }
            }
        }
    }

    static __device__ __forceinline__ void load_bias(const Element* bias, int row, int column,
                                                     Compute (&values)[columns_per_lane]) {
#pragma unroll
        for (int b = 0; b < columns_per_lane; ++b) {
            values[b] =
                columns_fit || column + b < Sizes::N ? Epilogue::bias_at(bias, row, column + b) : Compute(0);
        }
    }

    template <typename Operands, typename Y>
    static __device__ __forceinline__ void store(const Compute (&sums)[rows_per_lane][columns_per_lane],
                                                 const Element* bias,
                                                 Compute (&bias_values)[columns_per_lane],
                                                 const Operands& operands, Y y, int row, int first,
                                                 int column, int rows) {
        constexpr int share = rows_per_lane / Sizes::LANES_OVER_K;
        constexpr int kept = share > 0 ? share : 1;
#pragma unroll
        for (int a = 0; a < kept; ++a) {
            const int y_row = row + (first + a) * Sizes::LANES_OVER_ROWS;
            if (y_row >= rows) continue;
            if constexpr (Sizes::BIAS_ROW != 0) load_bias(bias, y_row, column, bias_values);
            EpilogueValues<Compute, Operands::count> read[columns_per_lane];
            operands.template load<columns_fit>(y_row, column, Sizes::N, read);
            Compute values[columns_per_lane];
#pragma unroll
            for (int b = 0; b < columns_per_lane; ++b)
                values[b] = Epilogue::finish(sums[a][b], bias_values[b], read[b]);
            store_row(values, y, y_row, column);
        }
    }

    template <typename Y>
    static __device__ __forceinline__ void store_row(const Compute (&values)[columns_per_lane], Y y, int row,
                                                     int column) {
        if constexpr (Sizes::Y_VECTOR == columns_per_lane) {
            if (columns_fit || column < Sizes::N) store_pack<columns_per_lane>(y.at(row, 0, column), values);
        } else {
#pragma unroll
            for (int b = 0; b < columns_per_lane; ++b) {
                if (column + b < Sizes::N)
                    *y.at(row, 0, column + b) = from_float<typename Y::Element>(values[b]);
            }
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_LINEAR_CUH
