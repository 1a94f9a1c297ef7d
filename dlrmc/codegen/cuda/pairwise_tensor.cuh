// Stage: z[r, p] = dot(feature i of row r, feature j of row r) for pair p = (i, j) of a triangle, row by row,
// on tensor cores   (IR: pairwise_dot)
//
// The features stand in shared memory, [ROWS, F, D] with strides X_ROW and X_FEATURE; D is contiguous and
// padded with zeros to D_PADDED, a multiple of 16. X_FEATURE is 16 modulo 32, so that reads are free of bank
// conflicts. Products of f32 are those of linear_tensor.cuh.
//
// The product is one of a matrix with its own transpose: what a lane holds of 8 features as columns is also
// what it must hand over of them as rows, so a warp reads and splits every feature once. A unit of work is
// one row with all its pairs, or, where these are too many for registers, those of 16 features with all
// features before them; warps take units in turn. Where few features are left over by the tiles of 16, the
// lanes multiply them by what they hold of the others. `z` is a TileView (row, 0, p). No barrier.
//
// requires: linear_tensor.cuh pairwise_dot.cuh
#ifndef DLRMC_CODEGEN_CUDA_PAIRWISE_TENSOR_CUH
#define DLRMC_CODEGEN_CUDA_PAIRWISE_TENSOR_CUH

#include "linear_tensor.cuh"
#include "pairwise_dot.cuh"

template <typename Sizes>
struct PairwiseTensor {
    using Pairs = PairwiseDot<Sizes>;
    // So few features are cheaper by ordinary products than as a tile of 16.
    static constexpr int left_over = Sizes::F % 16 <= 4 ? Sizes::F % 16 : 0;
    static constexpr int tiled = Sizes::F - left_over;
    static constexpr int row_tiles = (tiled + 15) / 16;
    static constexpr int column_tiles = (tiled + 7) / 8;
    static constexpr int units_per_row = column_tiles <= 4 ? 1 : row_tiles;
    static constexpr int unit_tiles = row_tiles / units_per_row;
    static constexpr bool has_steps = Sizes::D_PADDED > 16;
    static constexpr bool adds_outside = has_steps && Sizes::PRODUCTS == 3;

    template <typename Z>
    static __device__ __forceinline__ void run(const float* x, Z z, int rows, int thread, int threads) {
        const int lane = thread % 32;
#pragma unroll 1
        for (int unit = thread / 32; unit < rows * units_per_row; unit += threads / 32) {
            const int row = unit / units_per_row;
            // The units with the most pairs first.
            run_unit<units_per_row - 1>(units_per_row - 1 - unit % units_per_row, x + row * Sizes::X_ROW, z,
                                        row, lane);
        }
    }

  private:
    // Columns that the row tiles up to `row_tile` look at, and those of all row tiles before it.
    static __device__ constexpr int columns_of(int row_tile) {
        return row_tile * 2 + 2 < column_tiles ? row_tile * 2 + 2 : column_tiles;
    }
    static __device__ constexpr int tiles_before(int row_tile) { return row_tile * (row_tile + 1); }

    template <int NUMBER, typename Z>
    static __device__ __forceinline__ void run_unit(int number, const float* features, Z z, int row,
                                                    int lane) {
        if (NUMBER == 0 || number == NUMBER) {
            Unit<NUMBER * unit_tiles, (NUMBER + 1) * unit_tiles>::run(features, z, row, lane);
        } else if constexpr (NUMBER > 0) {
            run_unit<NUMBER - 1>(number, features, z, row, lane);
        }
    }

    // The TF32 halves of k to k + 3 of one feature, in the order of the columns of two products.
    struct SplitPack {
        unsigned high[2][2];
        unsigned low[2][2];

        SplitPack() = default;
        __device__ __forceinline__ explicit SplitPack(const Pack<float, 4>& values) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const SplitTf32<Sizes::PRODUCTS> split(values.at[i]);
                high[i / 2][i % 2] = split.high;
                low[i / 2][i % 2] = split.low;
            }
        }
    };

    // Those of two neighbouring blocks of 8 features, in the order of the rows of two products.
    struct SplitRows {
        unsigned high[2][4] = {};
        unsigned low[2][4] = {};

        __device__ __forceinline__ void set(int block, const Pack<float, 4>& values) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const SplitTf32<Sizes::PRODUCTS> split(values.at[i]);
                high[i / 2][i % 2 * 2 + block] = split.high;
                low[i / 2][i % 2 * 2 + block] = split.low;
            }
        }
    };

    static __device__ __forceinline__ Pack<float, 4> read_again(const float* from) {
        unsigned words[4];
        load_shared_again(words, from);
        return {__uint_as_float(words[0]), __uint_as_float(words[1]), __uint_as_float(words[2]),
                __uint_as_float(words[3])};
    }

    // Row tiles FIRST to LAST - 1 with all columns before and on the diagonal.
    template <int FIRST, int LAST>
    struct Unit {
        static constexpr int columns = columns_of(LAST - 1);
        static constexpr int first_own = FIRST * 2;
        static constexpr int tiles = tiles_before(LAST - 1) + columns - tiles_before(FIRST);

        SplitPack parts[columns];
        SplitRows left_parts[LAST - FIRST];
        float sums[tiles][4] = {};
        float left_sums[left_over > 0 ? left_over : 1][columns - first_own] = {};

        template <typename Z>
        static __device__ __forceinline__ void run(const float* features, Z z, int row, int lane) {
            Unit unit;
#pragma unroll 1
            for (int k = 0; k < Sizes::D_PADDED; k += 16) {
                unit.load(features, lane, k + lane % 4 * 4);
                if constexpr (adds_outside) {
                    unit.add_products();
                } else {
                    unit.multiply_all(unit.sums);
                }
            }
            unit.store(features, z, row, lane);
            if constexpr (left_over > 0) unit.store_left_over(features, z, row, lane);
        }

        // The lane's share of every feature, split, and its products with those left over.
        __device__ __forceinline__ void load(const float* features, int lane, int k) {
            Pack<float, 4> left[left_over > 0 ? left_over : 1];
#pragma unroll
            for (int i = 0; i < left_over; ++i)
                left[i] = load_pack<4>(features + (tiled + i) * Sizes::X_FEATURE + k);
#pragma unroll
            for (int column = 0; column < columns; ++column) {
                const float* const place = features + (column * 8 + lane / 4) * Sizes::X_FEATURE + k;
                const bool is_there = (column + 1) * 8 <= tiled || column * 8 + lane / 4 < tiled;
                Pack<float, 4> pack = {};
                if (is_there) pack = load_pack<4>(place);
                parts[column] = SplitPack(pack);
                if (column < first_own) continue;
                // Read and split once more: a product wants other neighbours in the registers of its rows
                // than in those of its columns, and the compiler would move them before every product.
                Pack<float, 4> again = {};
                if (is_there) again = read_again(place);
                left_parts[(column - first_own) / 2].set(column % 2, again);
#pragma unroll
                for (int i = 0; i < left_over; ++i) {
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        left_sums[i][column - first_own] =
                            fmaf(left[i].at[j], pack.at[j], left_sums[i][column - first_own]);
                }
            }
        }

        // A tensor core rounds towards zero: the products of every 16 k start at zero and are added outside.
        __device__ __forceinline__ void add_products() {
            float products[tiles][4] = {};
            multiply_all(products);
#pragma unroll
            for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    sums[tile][i] += products[tile][i];
            }
        }

        // The small products come first, while the sums are small and what rounding cuts off is too.
        __device__ __forceinline__ void multiply_all(float (&to)[tiles][4]) const {
            if constexpr (Sizes::PRODUCTS == 3) {
                multiply<true, false>(to);
                multiply<false, true>(to);
            }
            multiply<false, false>(to);
        }

        // Neighbouring products are of different tiles: one that adds to the same sums would wait.
        template <bool A_LOW, bool B_LOW>
        __device__ __forceinline__ void multiply(float (&to)[tiles][4]) const {
#pragma unroll
            for (int step = 0; step < 2; ++step) {
#pragma unroll
                for (int row_tile = FIRST; row_tile < LAST; ++row_tile) {
                    const SplitRows& left = left_parts[row_tile - FIRST];
#pragma unroll
                    for (int column = 0; column < columns_of(row_tile); ++column) {
                        const SplitPack& right = parts[column];
                        float (&sum)[4] = to[tiles_before(row_tile) - tiles_before(FIRST) + column];
                        mma_m16n8k8_tf32(sum, A_LOW ? left.low[step] : left.high[step],
                                         B_LOW ? right.low[step] : right.high[step], sum);
                    }
                }
            }
        }

        // Where a sum is not finite, all are computed again: splitting turns an infinity into a NaN.
        template <typename Z>
        __device__ __forceinline__ void store(const float* features, Z z, int row, int lane) const {
            float total = 0.0f;
#pragma unroll
            for (int tile = 0; tile < tiles; ++tile)
                total += sums[tile][0] + sums[tile][1] + (sums[tile][2] + sums[tile][3]);
            if (__any_sync(0xffffffffu, !is_finite(total))) return compute_again(features, z, row, lane);
#pragma unroll
            for (int row_tile = FIRST; row_tile < LAST; ++row_tile) {
#pragma unroll
                for (int column = 0; column < columns_of(row_tile); ++column) {
                    store_tile(sums[tiles_before(row_tile) - tiles_before(FIRST) + column], z, row,
                               row_tile * 2, column, lane);
                }
            }
        }

        // Pairs (high, low), (high, low + 1), (high + 8, low), (high + 8, low + 1) of one tile.
        template <typename Z>
        static __device__ __forceinline__ void store_tile(const float (&sums)[4], Z z, int row,
                                                          int high_block, int low_block, int lane) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int block = high_block + i / 2;
                const int high = block * 8 + lane / 4;
                const int low = low_block * 8 + lane % 4 * 2 + i % 2;
                if (block < low_block || !is_tiled(block, high)) continue;
                if (block > low_block || (Sizes::DIAGONAL ? low <= high : low < high))
                    *z.at(row, 0, Pairs::pair_index(low, high)) = sums[i];
            }
        }

        static __device__ __forceinline__ bool is_tiled(int block, int feature) {
            return block < column_tiles && ((block + 1) * 8 <= tiled || feature < tiled);
        }

        template <typename Z>
        static __device__ __noinline__ void compute_again(const float* features, Z z, int row, int lane) {
            const int end = LAST * 16 < tiled ? LAST * 16 : tiled;
            for (int item = FIRST * 16 * tiled + lane; item < end * tiled; item += 32)
                store_dot(features, z, row, item / tiled, item % tiled);
        }

        // Pairs of the features left over: the lanes of a feature add what each has.
        template <typename Z>
        __device__ __forceinline__ void store_left_over(const float* features, Z z, int row, int lane) {
#pragma unroll
            for (int i = 0; i < left_over; ++i) {
#pragma unroll
                for (int own = 0; own < columns - first_own; ++own) {
                    float sum = left_sums[i][own];
                    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                    const int low = (first_own + own) * 8 + lane / 4;
                    if (lane % 4 == own % 4 && is_tiled(first_own + own, low))
                        *z.at(row, 0, Pairs::pair_index(low, tiled + i)) = sum;
                }
            }
            if (LAST == row_tiles && lane < left_over * left_over)
                store_dot(features, z, row, tiled + lane / left_over, tiled + lane % left_over);
        }
    };

    template <typename Z>
    static __device__ __forceinline__ void store_dot(const float* features, Z z, int row, int high, int low) {
        if (low > high || (!Sizes::DIAGONAL && low == high)) return;
        float sums[1][1] = {};
        add_dot_block<1, 1, Sizes::D_PADDED, 4, 4>(sums, features + high * Sizes::X_FEATURE,
                                                   features + low * Sizes::X_FEATURE);
        *z.at(row, 0, Pairs::pair_index(low, high)) = sums[0][0];
    }
};

#endif  // DLRMC_CODEGEN_CUDA_PAIRWISE_TENSOR_CUH
