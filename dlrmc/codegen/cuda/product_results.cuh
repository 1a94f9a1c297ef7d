// The results of a product on tensor cores that one lane holds: bias, activation, stores, and what is not
// finite.
//
// A fragment is 16 rows x 8 columns, of which a lane holds (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
// with g = lane / 4 and t = lane % 4: so mma.sync and wgmma give them. A warp has fragments side by side,
// COLUMN_TILES in a row; of these, a lane stores every FRAGMENT_STEP-th from `first_fragment` on, its own.
//
// Operands of the epilogue are loaded for some fragments at a time, while those before are stored: the trip
// to memory is hidden, and few registers hold them.
//
// A sum that is not finite is computed again by fused multiply-adds, k ascending: splitting turns an infinity
// into a NaN, and rounding a large value may turn it into an infinity.
//
// requires: linear.cuh
#ifndef DLRMC_CODEGEN_CUDA_PRODUCT_RESULTS_CUH
#define DLRMC_CODEGEN_CUDA_PRODUCT_RESULTS_CUH

#include "linear.cuh"

template <typename Sizes, int COLUMN_TILES, int OWN_FRAGMENTS, int FRAGMENT_STEP>
struct ProductResults {
    using Epilogue = LinearEpilogue<Sizes>;
    static_assert(OWN_FRAGMENTS <= 16, "a lane marks its results in 64 bits");
    // Fragments with columns of their own, and values of operands that a lane loads ahead.
    static constexpr int distinct_columns = FRAGMENT_STEP == 1 ? COLUMN_TILES : OWN_FRAGMENTS;
    static constexpr int values_ahead = 32;
    // The values of COUNT operands for a lane's four results of a fragment.
    template <int COUNT>
    struct Read {
        EpilogueValues<float, COUNT> at[2][2];
    };

    int first_row;     // of the lane's results in the tile
    int first_column;  // likewise
    int first_fragment = 0;
    // Bit 4 * i + j: result j of the lane's own fragment i is not finite.
    unsigned long long unsure = 0;
    float biases[distinct_columns][2] = {};

    // The fragment that the lane's own number i is.
    __device__ __forceinline__ int own_fragment(int i) const { return i * FRAGMENT_STEP + first_fragment; }
    __device__ __forceinline__ int row_of(int i, int j) const {
        return first_row + own_fragment(i) / COLUMN_TILES * 16 + j / 2 * 8;
    }
    __device__ __forceinline__ int column_of(int i, int j) const {
        return first_column + own_fragment(i) % COLUMN_TILES * 8 + j % 2;
    }

    // Loads the biases of the lane's columns, where those of all rows are the same: before the products where
    // registers are left for them, and else before the first store, which they must not wait behind.
    __device__ __forceinline__ void load_column_biases(const float* bias, int columns) {
#pragma unroll
        for (int i = 0; i < distinct_columns; ++i)
            if constexpr (Sizes::BIAS_ROW == 0) load_bias(bias, 0, column_of(i, 0), columns, biases[i]);
    }

    // Stores all fragments of a lane, number i from totals[i]; the biases of columns have been loaded.
    template <typename Operands, typename Y>
    __device__ __forceinline__ void store_all(const float (&totals)[OWN_FRAGMENTS][4], const float* bias,
                                              const Operands& operands, Y y, int rows, int columns) {
        constexpr int wanted = values_ahead / (4 * (Operands::count > 0 ? Operands::count : 1));
        constexpr int batch = wanted < 1 ? 1 : wanted < OWN_FRAGMENTS ? wanted : OWN_FRAGMENTS;
        Read<Operands::count> read[2][batch];
        load_batch(operands, 0, rows, columns, read[0]);
#pragma unroll
        for (int first = 0; first < OWN_FRAGMENTS; first += batch) {
            load_batch(operands, first + batch, rows, columns, read[(first / batch + 1) % 2]);
#pragma unroll
            for (int i = first; i < first + batch && i < OWN_FRAGMENTS; ++i)
                store(totals[i], i, bias, read[first / batch % 2][i - first], y, rows, columns);
        }
    }

    // What the epilogue reads for the lane's own fragment i.
    template <typename Operands>
    __device__ __forceinline__ void load_operands(const Operands& operands, int i, int rows, int columns,
                                                  Read<Operands::count>& read) const {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = row_of(i, half * 2);
            if (!Sizes::ROWS_FIT && row >= rows) continue;
            operands.template load<Sizes::COLUMNS_FIT>(row, column_of(i, 0), columns, read.at[half]);
        }
    }

    // Stores the lane's own fragment i; where the bias differs from row to row it is loaded here.
    template <int COUNT, typename Y>
    __device__ __forceinline__ void store(const float (&total)[4], int i, const float* bias,
                                          const Read<COUNT>& read, Y y, int rows, int columns) {
        const int column = column_of(i, 0);
        float (&bias_values)[2] = biases[i % distinct_columns];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = row_of(i, half * 2);
            if (!Sizes::ROWS_FIT && row >= rows) continue;
            if constexpr (Sizes::BIAS_ROW != 0) load_bias(bias, row, column, columns, bias_values);
            float values[2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float sum = total[half * 2 + j];
                if (!(fabsf(sum) < INFINITY)) unsure |= 1ull << (i * 4 + half * 2 + j);
                values[j] = Epilogue::finish(sum, bias_values[j], read.at[half][j]);
            }
            store_row(values, y, row, column, columns);
        }
    }

    template <typename Operands, typename Y, typename... Parts>
    __device__ __forceinline__ void compute_again(const float* bias, const Operands& operands, Y y,
                                                  int columns, const Parts&... parts) const {
        if (unsure == 0) return;
#pragma unroll 1
        for (int number = 0; number < OWN_FRAGMENTS * 4; ++number) {
            if ((unsure >> number & 1) == 0) continue;
            const int row = row_of(number / 4, number % 4);
            const int column = column_of(number / 4, number % 4);
            if (column >= columns) continue;
            float sum = 0.0f;
            (add_dot(parts, row, column, sum), ...);
            EpilogueValues<float, Operands::count> values[1];
            operands.template load<true>(row, column, columns, values);
            *y.at(row, 0, column) = Epilogue::finish(sum, Epilogue::bias_at(bias, row, column), values[0]);
        }
    }

  private:
    template <typename Operands, int BATCH>
    __device__ __forceinline__ void load_batch(const Operands& operands, int first, int rows, int columns,
                                               Read<Operands::count> (&read)[BATCH]) const {
#pragma unroll
        for (int i = 0; i < BATCH; ++i)
            if (first + i < OWN_FRAGMENTS) load_operands(operands, first + i, rows, columns, read[i]);
    }

    // Early, that is, all of them before the first is used: one trip to memory.
    static __device__ __forceinline__ void load_bias(const float* bias, int row, int column, int columns,
                                                     float (&values)[2]) {
        if constexpr (Sizes::HAS_BIAS) {
            const float* const from =
                bias + (static_cast<long long>(row) * Sizes::BIAS_ROW + column * Sizes::BIAS_COLUMN);
            constexpr int pack = Sizes::BIAS_VECTOR;
#pragma unroll
            for (int j = 0; j < 2; j += pack) {
                Pack<float, pack> loaded = {};
                if (Sizes::COLUMNS_FIT || column + j < columns)
                    loaded = load_pack_early<pack>(from + j * Sizes::BIAS_COLUMN);
#pragma unroll
                for (int i = 0; i < pack; ++i)
                    values[j + i] = loaded.at[i];
            }
        } else {
            values[0] = values[1] = 0.0f;
        }
    }

    template <typename Y>
    static __device__ __forceinline__ void store_row(const float (&values)[2], Y y, int row, int column,
                                                     int columns) {
        if constexpr (Sizes::Y_VECTOR == 2) {
            const unsigned words[2] = {__float_as_uint(values[0]), __float_as_uint(values[1])};
            if (Sizes::COLUMNS_FIT || column < columns) store_global(y.at(row, 0, column), words);
        } else {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                if (Sizes::COLUMNS_FIT || column + j < columns) *y.at(row, 0, column + j) = values[j];
            }
        }
    }

    template <typename Part>
    static __device__ __forceinline__ void add_dot(const Part& part, int row, int column, float& sum) {
#pragma unroll 1
        for (int k = 0; k < Part::width; ++k)
            sum = fmaf(*part.x.at(row, 0, k), *part.w.at(column, 0, k), sum);
    }
};

#endif  // DLRMC_CODEGEN_CUDA_PRODUCT_RESULTS_CUH
