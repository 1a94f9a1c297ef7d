// Stage: y[r, n] = act(alpha * sum over k of x[r, k] * w[n, k] + beta * bias[n]) on tensor cores   (IR:
// linear)
//
// Products of f32 by three products of TF32 (PRODUCTS = 3) or by one (PRODUCTS = 1): ThreeTf32 and OneTf32
// of tensor_fragments.cuh. A sum that is not finite is computed again by fused multiply-adds, k ascending:
// splitting turns an infinity into a NaN.
//
// A unit of work is 16 rows x 8 * COLUMN_TILES columns x one of K_SLICES runs of k; warps take units in turn.
// Where k is sliced, the units' sums meet in `scratch`, [units][COLUMN_TILES][32 lanes][4] floats, and a
// __syncthreads, which every thread of the block must reach, stands before they are added.
//
// x and w are read in packs of 4 k. x stands in shared memory, [16 * ROW_TILES, X_STRIDE], zero in columns K
// to the next multiple of 16; w is [N, W_STRIDE], zero there too where W_IS_PADDED, in shared or global
// memory, 16-byte aligned. A stride of 16 modulo 32 keeps reads of shared memory free of bank conflicts.
//
// requires: linear.cuh tensor_fragments.cuh
#ifndef DLRMC_CODEGEN_CUDA_LINEAR_TENSOR_CUH
#define DLRMC_CODEGEN_CUDA_LINEAR_TENSOR_CUH

#include "linear.cuh"
#include "tensor_fragments.cuh"

// The TF32 halves of a value, or all of it in `high` where there is one product only.
template <int PRODUCTS>
struct SplitTf32 {
    unsigned high;
    unsigned low = 0;

    __device__ __forceinline__ explicit SplitTf32(float value) {
        if constexpr (PRODUCTS == 3) {
            high = f32_to_tf32(value);
            low = __float_as_uint(value - __uint_as_float(high));
        } else {
            high = OneTf32::round(value);
        }
    }
};

__device__ __forceinline__ bool is_finite(float value) {
    return (__float_as_uint(value) & 0x7f800000u) != 0x7f800000u;
}

template <typename Sizes>
struct LinearTensor {
    using Epilogue = LinearEpilogue<Sizes>;
    static constexpr int column_tiles = Sizes::COLUMN_TILES;
    static constexpr int column_groups = (Sizes::N + 8 * column_tiles - 1) / (8 * column_tiles);
    static constexpr int k_steps = (Sizes::K + 15) / 16;
    // Steps that are left over by equal slices are dealt to the slices tile by tile, where that is less than
    // one more step.
    static constexpr int left_steps = k_steps % Sizes::K_SLICES;
    static constexpr int left_rounds = (left_steps * column_tiles + Sizes::K_SLICES - 1) / Sizes::K_SLICES;
    static constexpr bool deals_tiles = left_steps > 0 && left_rounds < column_tiles;
    static constexpr int slice_steps = k_steps / Sizes::K_SLICES + (left_steps > 0 && !deals_tiles);
    // With few tiles, products that add to the same sums would wait for each other: the small ones have sums
    // apart.
    static constexpr int correction_sets = column_tiles < 4 ? 2 : 1;
    static constexpr int units = Sizes::ROW_TILES * column_groups * Sizes::K_SLICES;

    template <typename Y>
    static __device__ __forceinline__ void run(const float* x, const float* w, const float* bias, Y y,
                                               float* scratch, int rows, int thread, int threads) {
        const int lane = thread % 32;
#pragma unroll 1
        for (int unit = thread / 32; unit < units; unit += threads / 32) {
            float sums[column_tiles][4] = {};
            add_products(x, w, unit, lane, sums);
            if constexpr (Sizes::K_SLICES > 1) {
#pragma unroll
                for (int tile = 0; tile < column_tiles; ++tile)
                    store_pack<4>(scratch + ((unit * column_tiles + tile) * 32 + lane) * 4, sums[tile]);
            } else {
                const int row = row_of(unit) + lane / 4;
#pragma unroll
                for (int tile = 0; tile < column_tiles; ++tile)
                    store(sums[tile], x, w, bias, y, row, column_of(unit, tile) + lane % 4 * 2, rows);
            }
        }
        if constexpr (Sizes::K_SLICES > 1) {
            __syncthreads();
            add_slices(x, w, bias, y, scratch, rows, thread, threads);
        }
    }

  private:
    static __device__ __forceinline__ int row_of(int unit) {
        return unit / (column_groups * Sizes::K_SLICES) * 16;
    }

    static __device__ __forceinline__ int column_of(int unit, int tile) {
        return (unit / Sizes::K_SLICES % column_groups * column_tiles + tile) * 8;
    }

    static __device__ __forceinline__ void add_products(const float* x, const float* w, int unit, int lane,
                                                        float (&sums)[column_tiles][4]) {
        const int slice = unit % Sizes::K_SLICES;
        const int first_step = slice * slice_steps;
        const float* const x_row = x + (row_of(unit) + lane / 4) * Sizes::X_STRIDE + lane % 4 * 4;
        const int k = lane % 4 * 4;
        float corrections[correction_sets][column_tiles][4] = {};
        float products[column_tiles][4] = {};
#pragma unroll 1
        for (int step = first_step; step < first_step + slice_steps; ++step) {
            if (!deals_tiles && k_steps % Sizes::K_SLICES != 0 && step >= k_steps) break;
            Left left;
            Right<column_tiles> right;
            load_left(x_row + step * 16, left);
#pragma unroll
            for (int tile = 0; tile < column_tiles; ++tile)
                load_right(w, column_of(unit, tile) + lane / 4, step * 16 + k, tile, right);
            // A tensor core rounds towards zero, so the large products are added outside of it: here those of
            // the step before, which are there since the loads.
            if constexpr (Sizes::PRODUCTS == 3) move_to(sums, products);
            multiply(left, right, products, corrections);
        }
        move_to(sums, products);
#pragma unroll
        for (int set = 0; set < correction_sets; ++set)
            move_to(sums, corrections[set]);
        if constexpr (deals_tiles) {
#pragma unroll 1
            for (int item = slice; item < left_steps * column_tiles; item += Sizes::K_SLICES) {
                const int step = slice_steps * Sizes::K_SLICES + item / column_tiles;
                const int tile = item % column_tiles;
                add_tile(x_row + step * 16, w, column_of(unit, tile) + lane / 4, step * 16 + k, tile, sums);
            }
        }
    }

    // With one product the lower halves are not used.
    using Left = ThreeTf32::Left;
    template <int TILES>
    using Right = ThreeTf32::Right<TILES>;

    // The products of one step and of one tile, whose number the compiler does not know.
    static __device__ __forceinline__ void add_tile(const float* x, const float* w, int n, int k, int place,
                                                    float (&sums)[column_tiles][4]) {
        float products[1][4] = {};
        float corrections[1][1][4] = {};
        Left left;
        Right<1> right;
        load_left(x, left);
        load_right(w, n, k, 0, right);
        multiply(left, right, products, corrections);
#pragma unroll
        for (int tile = 0; tile < column_tiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (tile == place) sums[tile][i] += products[0][i] + corrections[0][0][i];
        }
    }

    static __device__ __forceinline__ void load_left(const float* x, Left& left) {
        const Pack<float, 4> upper = load_pack<4>(x);
        const Pack<float, 4> lower = load_pack<4>(x + 8 * Sizes::X_STRIDE);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const SplitTf32<Sizes::PRODUCTS> first(upper.at[i]);
            const SplitTf32<Sizes::PRODUCTS> second(lower.at[i]);
            left.high[i / 2][i % 2 * 2] = first.high;
            left.low[i / 2][i % 2 * 2] = first.low;
            left.high[i / 2][i % 2 * 2 + 1] = second.high;
            left.low[i / 2][i % 2 * 2 + 1] = second.low;
        }
    }

    template <int TILES>
    static __device__ __forceinline__ void load_right(const float* w, int n, int k, int tile,
                                                      Right<TILES>& right) {
        const Pack<float, 4> weights = load_weights(w, n, k);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const SplitTf32<Sizes::PRODUCTS> split(weights.at[i]);
            right.high[i / 2][tile][i % 2] = split.high;
            right.low[i / 2][tile][i % 2] = split.low;
        }
    }

    template <int TILES, int SETS>
    static __device__ __forceinline__ void multiply(const Left& left, const Right<TILES>& right,
                                                    float (&products)[TILES][4],
                                                    float (&corrections)[SETS][TILES][4]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if constexpr (Sizes::PRODUCTS == 3) {
                multiply_tf32(left.low[half], right.high[half], corrections[0]);
                multiply_tf32(left.high[half], right.low[half], corrections[SETS - 1]);
            }
            multiply_tf32(left.high[half], right.high[half], products);
        }
    }

    // Adds the products to the sums and leaves zeros.
    static __device__ __forceinline__ void move_to(float (&sums)[column_tiles][4],
                                                   float (&products)[column_tiles][4]) {
#pragma unroll
        for (int tile = 0; tile < column_tiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                sums[tile][i] += products[tile][i];
                products[tile][i] = 0.0f;
            }
        }
    }

    // Weights k to k + 3 of column n; zeros past the end of w.
    static __device__ __forceinline__ Pack<float, 4> load_weights(const float* w, int n, int k) {
        if ((Sizes::N % (8 * column_tiles) == 0 || n < Sizes::N) && (Sizes::W_IS_PADDED || k < Sizes::K)) {
            return load_pack<4>(w + n * Sizes::W_STRIDE + k);
        }
        return {};
    }

    template <typename Y>
    static __device__ __forceinline__ void add_slices(const float* x, const float* w, const float* bias, Y y,
                                                      const float* scratch, int rows, int thread,
                                                      int threads) {
        constexpr int packs = Sizes::ROW_TILES * column_groups * column_tiles * 32;
#pragma unroll 1
        for (int item = thread; item < packs; item += threads) {
            const int lane = item % 32;
            const int tile = item / 32 % column_tiles;
            const int unit = item / (32 * column_tiles) * Sizes::K_SLICES;
            float sums[4] = {};
#pragma unroll 4
            for (int slice = 0; slice < Sizes::K_SLICES; ++slice) {
                const Pack<float, 4> pack =
                    load_pack<4>(scratch + (((unit + slice) * column_tiles + tile) * 32 + lane) * 4);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    sums[i] += pack.at[i];
            }
            store(sums, x, w, bias, y, row_of(unit) + lane / 4, column_of(unit, tile) + lane % 4 * 2, rows);
        }
    }

    // Results (row, column), (row, column + 1), (row + 8, column), (row + 8, column + 1).
    template <typename Y>
    static __device__ __forceinline__ void store(const float (&sums)[4], const float* x, const float* w,
                                                 const float* bias, Y y, int row, int column, int rows) {
        // One look at all four: where one is not finite, all are computed again.
        float totals[4] = {sums[0], sums[1], sums[2], sums[3]};
        if (!is_finite(sums[0] + sums[1] + (sums[2] + sums[3]))) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (has(row, column, i, rows)) totals[i] = dot(x, w, row + i / 2 * 8, column + i % 2);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (!has(row, column, i, rows)) continue;
            const int n = column + i % 2;
            *y.at(row + i / 2 * 8, 0, n) = Epilogue::finish(totals[i], Epilogue::bias_at(bias, 0, n));
        }
    }

    static __device__ __forceinline__ bool has(int row, int column, int place, int rows) {
        const bool is_column = Sizes::N % (8 * column_tiles) == 0 || column + place % 2 < Sizes::N;
        return row + place / 2 * 8 < rows && is_column;
    }

    static __device__ __noinline__ float dot(const float* x, const float* w, int row, int column) {
        float sum = 0.0f;
        for (int k = 0; k < Sizes::K; ++k)
            sum = fmaf(x[row * Sizes::X_STRIDE + k], w[column * Sizes::W_STRIDE + k], sum);
        return sum;
    }
};

#endif  // DLRMC_CODEGEN_CUDA_LINEAR_TENSOR_CUH
