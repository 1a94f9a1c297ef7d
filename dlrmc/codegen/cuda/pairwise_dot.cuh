// Stage: z[r, p] = dot(feature i of row r, feature j of row r) for pair p = (i, j) of a triangle, row by row
// (IR: pairwise_dot).
//
// The features stand in shared memory in the compute type, [ROWS, F, D] with strides X_ROW and X_FEATURE; D
// is contiguous and padded with zeros to D_PADDED, a multiple of 4, and F with features of any content to a
// multiple of BLOCK. The strides are multiples of 4; an odd X_FEATURE / 4 keeps reads free of bank conflicts.
// A thread computes a BLOCK x BLOCK block of dots of features that lie F_BLOCKS apart, so that every
// unordered pair of features falls into one block of the triangle of blocks; d ascends. Threads take blocks
// in turn: any number may run the stage. `z` is a TileView (row, 0, p). No barrier.
//
// LOWER: the pairs are the rows of the lower triangle, else of the upper; DIAGONAL: with the diagonal.
//
// requires: views.cuh dot_block.cuh
#ifndef DLRMC_CODEGEN_CUDA_PAIRWISE_DOT_CUH
#define DLRMC_CODEGEN_CUDA_PAIRWISE_DOT_CUH

#include "dot_block.cuh"
#include "views.cuh"

template <typename Sizes>
struct PairwiseDot {
    using Compute = compute_type<typename Sizes::Element>;
    static constexpr int f_blocks = (Sizes::F + Sizes::BLOCK - 1) / Sizes::BLOCK;
    static constexpr int blocks = f_blocks * (f_blocks + 1) / 2;

    // The place of a pair in the result; `low` <= `high`.
    static __device__ __forceinline__ int pair_index(int low, int high) {
        if constexpr (Sizes::LOWER) {
            return (Sizes::DIAGONAL ? high * (high + 1) / 2 : high * (high - 1) / 2) + low;
        } else {
            const int before = low * Sizes::F - low * (low - 1) / 2;
            return Sizes::DIAGONAL ? before + high - low : before - low + high - low - 1;
        }
    }

    // The row of the lower triangle, diagonal included, that holds its element number `item`, row by row.
    static __device__ __forceinline__ int triangle_row(int item) {
        int row = static_cast<int>((sqrtf(8.0f * item + 1.0f) - 1.0f) * 0.5f);
        // The root is rounded: one step off at the most.
        if (row * (row + 1) / 2 > item) --row;
        if ((row + 1) * (row + 2) / 2 <= item) ++row;
        return row;
    }

    template <typename Z>
    static __device__ __forceinline__ void run(const Compute* x, Z z, int rows, int thread, int threads) {
        for (int item = thread; item < rows * blocks; item += threads) {
            const int row = item / blocks;
            const int block = item % blocks;
            const int first = triangle_row(block);
            const int second = block - first * (first + 1) / 2;
            const Compute* const features = x + row * Sizes::X_ROW;
            Compute sums[Sizes::BLOCK][Sizes::BLOCK] = {};
            add_dot_block<Sizes::BLOCK, Sizes::BLOCK, Sizes::D_PADDED, f_blocks * Sizes::X_FEATURE,
                          f_blocks * Sizes::X_FEATURE>(sums, features + first * Sizes::X_FEATURE,
                                                       features + second * Sizes::X_FEATURE);
            store(sums, z, row, first, second);
        }
    }

  private:
    template <typename Z>
    static __device__ __forceinline__ void store(const Compute (&sums)[Sizes::BLOCK][Sizes::BLOCK], Z z,
                                                 int row, int first, int second) {
#pragma unroll
        for (int a = 0; a < Sizes::BLOCK; ++a) {
#pragma unroll
            for (int b = 0; b < Sizes::BLOCK; ++b) {
                // A block on the diagonal has each pair twice.
                if (first == second && b > a) continue;
                const int i = first + a * f_blocks;
                const int j = second + b * f_blocks;
                const int low = i < j ? i : j;
                const int high = i < j ? j : i;
                if (high >= Sizes::F || (!Sizes::DIAGONAL && low == high)) continue;
                *z.at(row, 0, pair_index(low, high)) = from_float<typename Z::Element>(sums[a][b]);
            }
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_PAIRWISE_DOT_CUH
