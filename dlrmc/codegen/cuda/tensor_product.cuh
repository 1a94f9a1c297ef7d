// The products of large matrices on tensor cores, with f32 sums: y = act(alpha * x @ w.T + beta * bias) for
// one tile of TILE_ROWS x TILE_COLUMNS results a block   (IR: linear, mm, addmm of f32)
//
// x and w pass through shared memory in slabs of 16 k (product_copy.cuh), SLABS * WARPS_OVER_K of them a
// stage, and STAGES - 1 stages are on their way while one is computed with. The warps share the tile as
// WARPS_OVER_ROWS x WARPS_OVER_COLUMNS; WARPS_OVER_K warps share one part of it, each taking every
// WARPS_OVER_K-th slab, and their sums are added in order at the end. Always the same order: the same input
// gives the same bits.
//
// `Sizes` is a struct of constants, emitted by codegen/kernels/linear_tensor.py. Products is one of
// tensor_fragments.cuh; ROWS_FIT and COLUMNS_FIT say that every tile is whole; Y_VECTOR, 1 or 2, how many
// results move together. Shared memory: the larger of stage_floats * STAGES and scratch_floats, 16-byte
// aligned. Run by the whole block, of exactly `threads` threads.
//
// requires: product_results.cuh tensor_fragments.cuh product_copy.cuh
#ifndef DLRMC_CODEGEN_CUDA_TENSOR_PRODUCT_CUH
#define DLRMC_CODEGEN_CUDA_TENSOR_PRODUCT_CUH

#include "product_copy.cuh"
#include "product_results.cuh"
#include "tensor_fragments.cuh"

template <typename Sizes>
struct TensorProduct {
    using Products = typename Sizes::Products;
    static constexpr int tile_warps = Sizes::WARPS_OVER_ROWS * Sizes::WARPS_OVER_COLUMNS;
    static constexpr int threads = 32 * tile_warps * Sizes::WARPS_OVER_K;
    static constexpr int warp_rows = Sizes::TILE_ROWS / Sizes::WARPS_OVER_ROWS;
    static constexpr int warp_columns = Sizes::TILE_COLUMNS / Sizes::WARPS_OVER_COLUMNS;
    // A fragment is what one instruction gives: 16 rows x 8 columns, 4 results a lane.
    static constexpr int row_tiles = warp_rows / 16;
    static constexpr int column_tiles = warp_columns / 8;
    static constexpr int fragments = row_tiles * column_tiles;
    static constexpr int own_fragments = fragments / Sizes::WARPS_OVER_K;
    static constexpr int slab_floats = (Sizes::TILE_ROWS + Sizes::TILE_COLUMNS) * slab_depth;
    static constexpr int stage_slabs = Sizes::SLABS * Sizes::WARPS_OVER_K;
    static constexpr int stage_floats = slab_floats * stage_slabs;
    static constexpr int scratch_floats = Sizes::WARPS_OVER_K * Sizes::TILE_ROWS * Sizes::TILE_COLUMNS;
    static_assert(fragments % Sizes::WARPS_OVER_K == 0,
                  "the warps over k share the fragments of a tile evenly");

    int lane;
    int warp_k;
    int warp_in_tile;
    float sums[row_tiles][column_tiles][4] = {};
    ProductResults<Sizes, column_tiles, own_fragments, Sizes::WARPS_OVER_K> results;

    __device__ __forceinline__ explicit TensorProduct(int thread)
        : lane(thread % 32), warp_k(thread / 32 / tile_warps), warp_in_tile(thread / 32 % tile_warps) {
        results.first_row = warp_in_tile / Sizes::WARPS_OVER_COLUMNS * warp_rows + lane / 4;
        results.first_column = warp_in_tile % Sizes::WARPS_OVER_COLUMNS * warp_columns + lane % 4 * 2;
        results.first_fragment = warp_k;
    }

    // The tile's first `rows` rows and `columns` columns of y; `bias` is that of row 0 and column 0 of the
    // tile, with which `operands`, of the epilogue, begin too.
    template <typename Operands, typename Y, typename... Parts>
    __device__ __forceinline__ void run(float* shared, const float* bias, Operands operands, Y y, int rows,
                                        int columns, Parts... parts) {
        constexpr int slabs = (Parts::slabs + ...);
        constexpr int steps = (slabs + stage_slabs - 1) / stage_slabs;
#pragma unroll 1
        for (int step = 1 - Sizes::STAGES; step < steps; ++step) {
            if (step >= 0) {
                // This stage has arrived, for all threads, and all threads are done with the one before it.
                cp_async_wait_group<Sizes::STAGES - 2>();
                __syncthreads();
            }
            const int next = step + Sizes::STAGES - 1;
            if (next < steps)
                copy_stage<slabs>(shared + next % Sizes::STAGES * stage_floats, next, rows, columns,
                                  parts...);
            cp_async_commit_group();
            if (step >= 0) add_stage<slabs>(shared + step % Sizes::STAGES * stage_floats, step);
        }
        if constexpr (Sizes::WARPS_OVER_K == 1) {
            store_sums(bias, operands, y, rows, columns);
        } else {
            store_sums_of_warps(shared, bias, operands, y, rows, columns);
        }
        results.compute_again(bias, operands, y, columns, parts...);
    }

  private:
    template <int SLABS, typename... Parts>
    __device__ __forceinline__ void copy_stage(float* stage, int step, int rows, int columns,
                                               const Parts&... parts) const {
        const int thread = (warp_k * tile_warps + warp_in_tile) * 32 + lane;
        // One copy of the text will do where there are several parts: each has its own in it.
        constexpr int unrolled = sizeof...(Parts) == 1 ? stage_slabs : 1;
#pragma unroll unrolled
        for (int i = 0; i < stage_slabs; ++i) {
            const int slab = step * stage_slabs + i;
            if (SLABS % stage_slabs != 0 && slab >= SLABS) continue;
            copy_slabs_async<Sizes, threads>(stage + i * slab_floats, slab, rows, columns, thread, parts...);
        }
    }

    template <int SLABS>
    __device__ __forceinline__ void add_stage(const float* stage, int step) {
#pragma unroll
        for (int i = 0; i < Sizes::SLABS; ++i) {
            const int slab = i * Sizes::WARPS_OVER_K + warp_k;
            if (SLABS % stage_slabs != 0 && step * stage_slabs + slab >= SLABS) continue;
            add_slab(stage + slab * slab_floats);
        }
    }

    __device__ __forceinline__ void add_slab(const float* slab) {
        const float* const x = slab + results.first_row * slab_depth + lane % 4 * 4;
        const int column = warp_in_tile % Sizes::WARPS_OVER_COLUMNS * warp_columns + lane / 4;
        const float* const w = slab + (Sizes::TILE_ROWS + column) * slab_depth + lane % 4 * 4;
        typename Products::template Right<column_tiles> right;
#pragma unroll
        for (int tile = 0; tile < column_tiles; ++tile)
            Products::set_right(load_pack<4>(w + tile * 8 * slab_depth), tile, right);
#pragma unroll
        for (int tile = 0; tile < row_tiles; ++tile) {
            const float* const rows = x + tile * 16 * slab_depth;
            typename Products::Left left;
            Products::set_left(load_pack<4>(rows), load_pack<4>(rows + 8 * slab_depth), left);
            if constexpr (Products::ADDS_OUTSIDE) {
                float added[column_tiles][4] = {};
                Products::multiply(left, right, added);
#pragma unroll
                for (int i = 0; i < column_tiles * 4; ++i)
                    sums[tile][i / 4][i % 4] += added[i / 4][i % 4];
            } else {
                Products::multiply(left, right, sums[tile]);
            }
        }
    }

    template <typename Operands, typename Y>
    __device__ __forceinline__ void store_sums(const float* bias, const Operands& operands, Y y, int rows,
                                               int columns) {
        float totals[fragments][4];
#pragma unroll
        for (int i = 0; i < fragments * 4; ++i)
            totals[i / 4][i % 4] = sums[i / 4 / column_tiles][i / 4 % column_tiles][i % 4];
        results.load_column_biases(bias, columns);
        results.store_all(totals, bias, operands, y, rows, columns);
    }

    template <typename Operands, typename Y>
    __device__ __forceinline__ void store_sums_of_warps(float* shared, const float* bias,
                                                        const Operands& operands, Y y, int rows,
                                                        int columns) {
        // All are done with the last stage, whose memory is used again.
        __syncthreads();
        const int place = (warp_in_tile * fragments * 32 + lane) * 4;
        float* const own = shared + warp_k * Sizes::TILE_ROWS * Sizes::TILE_COLUMNS + place;
#pragma unroll
        for (int i = 0; i < fragments; ++i)
            store_pack<4>(own + i * 128, sums[i / column_tiles][i % column_tiles]);
        __syncthreads();
        float totals[own_fragments][4] = {};
#pragma unroll
        for (int i = 0; i < own_fragments; ++i) {
            const float* from = shared + place + results.own_fragment(i) * 128;
#pragma unroll
            for (int warp = 0; warp < Sizes::WARPS_OVER_K; ++warp) {
                const Pack<float, 4> pack =
                    load_pack<4>(from + warp * Sizes::TILE_ROWS * Sizes::TILE_COLUMNS);
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    totals[i][j] += pack.at[j];
            }
        }
        results.load_column_biases(bias, columns);
        results.store_all(totals, bias, operands, y, rows, columns);
    }
};

#endif  // DLRMC_CODEGEN_CUDA_TENSOR_PRODUCT_CUH
