// The results of a product on tensor cores that one lane holds: bias, activation, stores, and what is not
// finite.
//
// A fragment is 16 rows x 8 columns, of which a lane holds (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
// with g = lane / 4 and t = lane % 4: so mma.sync and wgmma give them. A warp has fragments side by side,
// COLUMN_TILES in a row; of these, a lane stores every FRAGMENT_STEP-th from `first_fragment` on, its own.
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

    int first_row;     // of the lane's results in the tile
    int first_column;  // likewise
    int first_fragment = 0;
    // Bit 4 * i + j: result j of the lane's own fragment i is not finite.
    unsigned long long unsure = 0;

    // The fragment that the lane's own number i is.
    __device__ __forceinline__ int own_fragment(int i) const { return i * FRAGMENT_STEP + first_fragment; }
    __device__ __forceinline__ int row_of(int i, int j) const {
        return first_row + own_fragment(i) / COLUMN_TILES * 16 + j / 2 * 8;
    }
    __device__ __forceinline__ int column_of(int i, int j) const {
        return first_column + own_fragment(i) % COLUMN_TILES * 8 + j % 2;
    }

    // The biases of the two columns of the lane's own fragment i, where those of all rows are the same.
    __device__ __forceinline__ void load_column_bias(const float* bias, int i, int columns,
                                                     float (&values)[2]) const {
        if constexpr (Sizes::BIAS_ROW == 0) load_bias(bias, 0, column_of(i, 0), columns, values);
    }

    // Stores the lane's own fragment i; where the bias differs from row to row it is loaded here.
    template <typename Y>
    __device__ __forceinline__ void store(const float (&total)[4], int i, const float* bias,
                                          float (&bias_values)[2], Y y, int rows, int columns) {
        const int column = column_of(i, 0);
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
                values[j] = Epilogue::finish(sum, bias_values[j]);
            }
            store_row(values, y, row, column, columns);
        }
    }

    template <typename Y, typename... Parts>
    __device__ __forceinline__ void compute_again(const float* bias, Y y, int columns,
                                                  const Parts&... parts) const {
        if (unsure == 0) return;
#pragma unroll 1
        for (int number = 0; number < OWN_FRAGMENTS * 4; ++number) {
            if ((unsure >> number & 1) == 0) continue;
            const int row = row_of(number / 4, number % 4);
            const int column = column_of(number / 4, number % 4);
            if (column >= columns) continue;
            float sum = 0.0f;
            (add_dot(parts, row, column, sum), ...);
            *y.at(row, 0, column) = Epilogue::finish(sum, Epilogue::bias_at(bias, row, column));
        }
    }

  private:
    static __device__ __forceinline__ void load_bias(const float* bias, int row, int column, int columns,
                                                     float (&values)[2]) {
#pragma unroll
        for (int j = 0; j < 2; ++j)
            values[j] =
                Sizes::COLUMNS_FIT || column + j < columns ? Epilogue::bias_at(bias, row, column + j) : 0.0f;
    }

    template <typename Y>
    static __device__ __forceinline__ void store_row(const float (&values)[2], Y y, int row, int column,
                                                     int columns) {
        if constexpr (Sizes::Y_VECTOR == 2) {
            if (Sizes::COLUMNS_FIT || column < columns) store_pack<2>(y.at(row, 0, column), values);
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
