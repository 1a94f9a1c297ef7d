// Stage: z[r, p] = dot(feature i of row r, feature j of row r) for pair p = (i, j) of a triangle, row by row,
// on tensor cores   (IR: pairwise_dot)
//
// The features stand in shared memory, [ROWS, F, D] with strides X_ROW and X_FEATURE; D is contiguous and
// padded with zeros to D_PADDED, a multiple of 16. X_FEATURE is 16 modulo 32, so that reads are free of bank
// conflicts. Features up to the next multiple of 16 are read and may hold anything. Products of f32 are those
// of linear_tensor.cuh.
//
// A unit of work is one row and 16 features i with all features j below; warps take units in turn. Where few
// features are left over by the tiles of 16, threads compute their pairs one by one. `z` is a TileView (row,
// 0, p). No barrier.
//
// requires: linear_tensor.cuh pairwise_dot.cuh
#ifndef DLRMC_CODEGEN_CUDA_PAIRWISE_TENSOR_CUH
#define DLRMC_CODEGEN_CUDA_PAIRWISE_TENSOR_CUH

#include "linear_tensor.cuh"
#include "pairwise_dot.cuh"

template <typename Sizes>
struct PairwiseTensor {
    using Pairs = PairwiseDot<Sizes>;
    // So few features are cheaper one by one than as a tile of 16.
    static constexpr int left_over = Sizes::F % 16 <= 4 ? Sizes::F % 16 : 0;
    static constexpr int tiled = Sizes::F - left_over;
    static constexpr int row_tiles = (tiled + 15) / 16;
    static constexpr int column_tiles = (tiled + 7) / 8;

    template <typename Z>
    static __device__ __forceinline__ void run(const float* x, Z z, int rows, int thread, int threads) {
        const int lane = thread % 32;
#pragma unroll 1
        for (int unit = thread / 32; unit < rows * row_tiles; unit += threads / 32) {
            // The units with the most pairs first.
            tile(x + unit / row_tiles * Sizes::X_ROW, z, unit / row_tiles, row_tiles - 1 - unit % row_tiles,
                 lane);
        }
        if constexpr (left_over > 0) {
            constexpr int lows = Sizes::DIAGONAL ? Sizes::F : Sizes::F - 1;
            constexpr int pairs = left_over * lows;
#pragma unroll 1
            for (int item = thread; item < rows * pairs; item += threads) {
                const int row = item / pairs;
                const int high = tiled + item % pairs / lows;
                const int low = item % lows;
                if (low > high || (!Sizes::DIAGONAL && low == high)) continue;
                *z.at(row, 0, Pairs::pair_index(low, high)) = dot(x + row * Sizes::X_ROW, high, low);
            }
        }
    }

  private:
    template <typename Z>
    static __device__ __forceinline__ void tile(const float* features, Z z, int row, int row_tile, int lane) {
        const int last_column = row_tile * 2 + 1;
        SplitPack others[column_tiles];
        float sums[column_tiles][4] = {};
        const float* const a = features + (row_tile * 16 + lane / 4) * Sizes::X_FEATURE + lane % 4 * 4;
        const float* const b = features + lane / 4 * Sizes::X_FEATURE + lane % 4 * 4;
#pragma unroll 1
        for (int k = 0; k < Sizes::D_PADDED; k += 16) {
            const SplitPack upper(load_pack<4>(a + k));
            const SplitPack lower(load_pack<4>(a + 8 * Sizes::X_FEATURE + k));
#pragma unroll
            for (int column = 0; column < column_tiles; ++column) {
                if (column <= last_column)
                    others[column] = SplitPack(load_pack<4>(b + column * 8 * Sizes::X_FEATURE + k));
            }
            // Neighbouring products are of different tiles: one that adds to the same sums would wait.
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                if constexpr (Sizes::PRODUCTS == 3) {
                    multiply<true, false>(half, upper, lower, others, last_column, sums);
                    multiply<false, true>(half, upper, lower, others, last_column, sums);
                }
                multiply<false, false>(half, upper, lower, others, last_column, sums);
            }
        }
#pragma unroll
        for (int column = 0; column < column_tiles; ++column) {
            if (column > last_column) continue;
            store(z, features, row, row_tile * 16 + lane / 4, column * 8 + lane % 4 * 2, sums[column]);
        }
    }

    struct SplitPack {
        unsigned high[4];
        unsigned low[4];

        SplitPack() = default;
        __device__ __forceinline__ explicit SplitPack(const Pack<float, 4>& values) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const SplitTf32<Sizes::PRODUCTS> split(values.at[i]);
                high[i] = split.high;
                low[i] = split.low;
            }
        }
    };

    // Adds the products of 8 k, of the lower halves where said, of features `upper` and `lower` (8 below it)
    // with each column's.
    template <bool A_LOW, bool B_LOW>
    static __device__ __forceinline__ void multiply(int half, const SplitPack& upper, const SplitPack& lower,
                                                    const SplitPack (&others)[column_tiles], int last_column,
                                                    float (&sums)[column_tiles][4]) {
        const int k = half * 2;
        const unsigned (&up)[4] = A_LOW ? upper.low : upper.high;
        const unsigned (&down)[4] = A_LOW ? lower.low : lower.high;
        const unsigned a[4] = {up[k], down[k], up[k + 1], down[k + 1]};
#pragma unroll
        for (int column = 0; column < column_tiles; ++column) {
            if (column > last_column) continue;
            const unsigned (&other)[4] = B_LOW ? others[column].low : others[column].high;
            const unsigned b[2] = {other[k], other[k + 1]};
            mma_m16n8k8_tf32(sums[column], a, b, sums[column]);
        }
    }

    // Stores the sums (high, low), (high, low + 1), (high + 8, low), (high + 8, low + 1) that are pairs of
    // the triangle; where one is not finite, all are computed again.
    template <typename Z>
    static __device__ __forceinline__ void store(Z z, const float* features, int row, int high, int low,
                                                 float (&sums)[4]) {
        if (!is_finite(sums[0] + sums[1] + (sums[2] + sums[3]))) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (is_pair(high + i / 2 * 8, low + i % 2))
                    sums[i] = dot(features, high + i / 2 * 8, low + i % 2);
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (is_pair(high + i / 2 * 8, low + i % 2))
                *z.at(row, 0, Pairs::pair_index(low + i % 2, high + i / 2 * 8)) = sums[i];
        }
    }

    static __device__ __forceinline__ bool is_pair(int high, int low) {
        return (tiled % 16 == 0 || high < tiled) && (Sizes::DIAGONAL ? low <= high : low < high);
    }

    static __device__ __noinline__ float dot(const float* features, int high, int low) {
        float sums[1][1] = {};
        add_dot_block<1, 1, Sizes::D_PADDED, 4, 4>(sums, features + high * Sizes::X_FEATURE,
                                                   features + low * Sizes::X_FEATURE);
        return sums[0][0];
    }
};

#endif  // DLRMC_CODEGEN_CUDA_PAIRWISE_TENSOR_CUH
