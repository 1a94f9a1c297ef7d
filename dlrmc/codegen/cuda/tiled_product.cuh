// The products of large matrices: sums[m, n] = sum over k of x[m, k] * w[n, k], for one tile of m and n a
// block.
//
// Both operands pass through shared memory in chunks of TILE_K, two buffers in turn: while one is computed
// with, the next chunk is on its way in registers. A thread computes ROWS_PER_THREAD x COLUMNS_PER_THREAD
// results, those of neighbouring threads being neighbours. k ascends, by fused multiply-adds.
//
// `Sizes` has Element, TILE_ROWS, TILE_COLUMNS, TILE_K (a multiple of 4), ROWS_PER_THREAD,
// COLUMNS_PER_THREAD. Shared memory: 2 * TiledProduct::buffer_elements of the compute type, 16-byte aligned.
// Run by exactly TiledProduct::threads threads, the whole block: one __syncthreads a chunk.
//
// requires: views.cuh dot_block.cuh
#ifndef DLRMC_CODEGEN_CUDA_TILED_PRODUCT_CUH
#define DLRMC_CODEGEN_CUDA_TILED_PRODUCT_CUH

#include "dot_block.cuh"
#include "views.cuh"

// One chunk [TILE, TILE_K] of an operand on its way from memory to shared memory in the registers of THREADS
// threads. View has the operand's outer dimension as rows and k as columns; with VECTOR 4 its k are
// contiguous, the stride of its rows and its pointer multiples of 4 elements.
template <typename View, int VECTOR, int TILE, int TILE_K, int THREADS>
struct ChunkLoad {
    using Element = typename RemoveConst<typename View::Element>::type;
    using Compute = compute_type<Element>;
    static constexpr int groups = TILE_K / 4;
    static constexpr int items = TILE * groups;
    static constexpr int items_per_thread = (items + THREADS - 1) / THREADS;
    Pack<Element, 4> packs[items_per_thread];

    // Neighbouring threads read along k where k is contiguous, along the outer dimension else.
    static __device__ __forceinline__ int outer_of(int item) {
        return View::column_stride == 1 ? item / groups : item % TILE;
    }
    static __device__ __forceinline__ int group_of(int item) {
        return View::column_stride == 1 ? item % groups : item / TILE;
    }

    // k from first_k on; elements past `outers` or past K are zero.
    template <int K>
    __device__ __forceinline__ void load(View view, int outers, int first_k, int thread) {
#pragma unroll
        for (int i = 0; i < items_per_thread; ++i) {
            const int item = thread + i * THREADS;
            const int k = first_k + group_of(item) * 4;
            packs[i] = {};
            if (items % THREADS != 0 && item >= items) continue;
            if (outer_of(item) < outers) load_group<K>(view, outer_of(item), k, packs[i]);
        }
    }

    template <int STRIDE>
    __device__ __forceinline__ void store(Compute* chunk, int thread) const {
#pragma unroll
        for (int i = 0; i < items_per_thread; ++i) {
            const int item = thread + i * THREADS;
            if (items % THREADS != 0 && item >= items) continue;
            Compute values[4];
#pragma unroll
            for (int j = 0; j < 4; ++j)
                values[j] = to_float(packs[i].at[j]);
            store_pack<4>(chunk + outer_of(item) * STRIDE + group_of(item) * 4, values);
        }
    }

  private:
    template <int K>
    static __device__ __forceinline__ void load_group(View view, int outer, int k, Pack<Element, 4>& pack) {
        if constexpr (VECTOR == 4) {
            if (k < K) pack = load_pack<4, Element>(view.at(outer, 0, k));
        } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (k + j < K) pack.at[j] = *view.at(outer, 0, k + j);
            }
        }
    }
};

template <typename Sizes>
struct TiledProduct {
    using Element = typename Sizes::Element;
    using Compute = compute_type<Element>;
    static constexpr int row_threads = Sizes::TILE_ROWS / Sizes::ROWS_PER_THREAD;
    static constexpr int column_threads = Sizes::TILE_COLUMNS / Sizes::COLUMNS_PER_THREAD;
    static constexpr int threads = row_threads * column_threads;
    // An odd number of packs, so that 8 neighbouring rows start in different banks.
    static constexpr int stride = Sizes::TILE_K % 8 == 0 ? Sizes::TILE_K + 4 : Sizes::TILE_K;
    static constexpr int buffer_elements = (Sizes::TILE_ROWS + Sizes::TILE_COLUMNS) * stride;

    Compute* shared;
    int thread;
    int chunk = 0;
    Compute sums[Sizes::ROWS_PER_THREAD][Sizes::COLUMNS_PER_THREAD] = {};

    __device__ __forceinline__ TiledProduct(Compute* shared_memory, int thread_number)
        : shared(shared_memory), thread(thread_number) {}

    // Adds the products over one stretch of K: of the first `rows` rows of x and `columns` rows of w.
    template <int K, int X_VECTOR, int W_VECTOR, typename X, typename W>
    __device__ __forceinline__ void add(X x, W w, int rows, int columns) {
        ChunkLoad<X, X_VECTOR, Sizes::TILE_ROWS, Sizes::TILE_K, threads> x_chunk;
        ChunkLoad<W, W_VECTOR, Sizes::TILE_COLUMNS, Sizes::TILE_K, threads> w_chunk;
        x_chunk.template load<K>(x, rows, 0, thread);
        w_chunk.template load<K>(w, columns, 0, thread);
#pragma unroll 1
        for (int k = 0; k < K; k += Sizes::TILE_K) {
            Compute* const buffer = shared + (chunk++ % 2) * buffer_elements;
            x_chunk.template store<stride>(buffer, thread);
            w_chunk.template store<stride>(buffer + Sizes::TILE_ROWS * stride, thread);
            __syncthreads();
            if (k + Sizes::TILE_K < K) {
                x_chunk.template load<K>(x, rows, k + Sizes::TILE_K, thread);
                w_chunk.template load<K>(w, columns, k + Sizes::TILE_K, thread);
            }
            const Compute* const x_row = buffer + thread / column_threads * stride;
            const Compute* const w_row = buffer + (Sizes::TILE_ROWS + thread % column_threads) * stride;
            add_dot_block<Sizes::ROWS_PER_THREAD, Sizes::COLUMNS_PER_THREAD, Sizes::TILE_K,
                          row_threads * stride, column_threads * stride>(sums, x_row, w_row);
        }
    }

    // y(row, column) = finish(sum, row, column) for the first `rows` rows and `columns` columns of the tile.
    template <typename Y, typename Finish>
    __device__ __forceinline__ void store(Y y, int rows, int columns, Finish finish) const {
#pragma unroll
        for (int a = 0; a < Sizes::ROWS_PER_THREAD; ++a) {
            const int row = thread / column_threads + a * row_threads;
#pragma unroll
            for (int b = 0; b < Sizes::COLUMNS_PER_THREAD; ++b) {
                const int column = thread % column_threads + b * column_threads;
                if (row >= rows || column >= columns) continue;
                *y.at(row, 0, column) = from_float<typename Y::Element>(finish(sums[a][b], row, column));
            }
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_TILED_PRODUCT_CUH
