// Copies of slabs, 16 k of a tile of rows of x or of columns of w, into shared memory while others are
// computed with.
//
// A slab is [tile][16] floats without gaps: 8 lanes read the packs of two neighbouring rows, which is all 32
// banks once. Rows past the end repeat the last one, since nothing is stored for them; k past the end are
// zero.
//
// requires: views.cuh ptx.cuh
#ifndef DLRMC_CODEGEN_CUDA_PRODUCT_COPY_CUH
#define DLRMC_CODEGEN_CUDA_PRODUCT_COPY_CUH

#include "ptx.cuh"
#include "views.cuh"

constexpr int slab_depth = 16;

// One part of x and its columns of w, with views from the tile's first row of x and its first column of w on.
// Both have contiguous k, of which X_PACK and W_PACK may move together.
template <int WIDTH, int X_PACK, int W_PACK, typename X, typename W>
struct ProductPart {
    static constexpr int width = WIDTH;
    static constexpr int x_pack = X_PACK;
    static constexpr int w_pack = W_PACK;
    static constexpr int slabs = (WIDTH + slab_depth - 1) / slab_depth;
    X x;
    W w;
};

template <int WIDTH, int X_PACK, int W_PACK, typename X, typename W>
__device__ __forceinline__ ProductPart<WIDTH, X_PACK, W_PACK, X, W> product_part(X x, W w) {
    return {x, w};
}

// PACK floats at k of WIDTH, zeros in place of what is past the end. WIDTH is a multiple of PACK but for 4.
template <int PACK, int WIDTH, int DEPTH>
__device__ __forceinline__ void copy_pack_async(float* to, const float* from, int k) {
    static_assert(PACK == 4 || WIDTH % PACK == 0, "only a pack of 4 may cross the end of a row");
    constexpr bool is_whole = WIDTH % DEPTH == 0;
    if constexpr (PACK == 4 && is_whole) {
        cp_async_16(to, from);
    } else if constexpr (PACK == 4) {
        cp_async_16_zero_fill(to, from, max(0, min(16, (WIDTH - k) * 4)));
    } else if (is_whole || k < WIDTH) {
        if constexpr (PACK == 2) {
            cp_async_8(to, from);
        } else {
            cp_async_4(to, from);
        }
    } else {
#pragma unroll
        for (int i = 0; i < PACK; ++i)
            to[i] = 0.0f;
    }
}

// Starts the copy of k from first_k on, of `count` rows of the view; FITS says that there are all TILE of
// them.
template <int TILE, bool FITS, int PACK, int WIDTH, int THREADS, typename View>
__device__ __forceinline__ void copy_slab_async(float* to, View view, int count, int first_k, int thread) {
    static_assert(View::column_stride == 1, "k are contiguous");
    constexpr int packs = slab_depth / PACK;
    constexpr int items = TILE * packs;
    // A thread copies the same k of every `step`-th row.
    constexpr int step = THREADS / packs;
    static_assert(THREADS % packs == 0, "a thread keeps to its k");
    const int first_row = thread / packs;
    const int k = first_k + thread % packs * PACK;
    const float* const from = view.at(first_row, 0, k);
#pragma unroll
    for (int i = 0; i < (items + THREADS - 1) / THREADS; ++i) {
        const int item = thread + i * THREADS;
        if (items % THREADS != 0 && item >= items) continue;
        const float* const pack =
            FITS ? from + i * step * View::row_stride : view.at(min(first_row + i * step, count - 1), 0, k);
        copy_pack_async<PACK, WIDTH, slab_depth>(to + item * PACK, pack, k);
    }
}

// Starts the copies of slab number `slab` of the parts in their order: the tile of x, and behind it that of
// w.
template <typename Sizes, int THREADS, typename Part, typename... Rest>
__device__ __forceinline__ void copy_slabs_async(float* to, int slab, int rows, int columns, int thread,
                                                 const Part& part, const Rest&... rest) {
    if (sizeof...(Rest) == 0 || slab < Part::slabs) {
        const int k = slab * slab_depth;
        copy_slab_async<Sizes::TILE_ROWS, Sizes::ROWS_FIT, Part::x_pack, Part::width, THREADS>(
            to, part.x, rows, k, thread);
        copy_slab_async<Sizes::TILE_COLUMNS, Sizes::COLUMNS_FIT, Part::w_pack, Part::width, THREADS>(
            to + Sizes::TILE_ROWS * slab_depth, part.w, columns, k, thread);
    } else if constexpr (sizeof...(Rest) > 0) {
        copy_slabs_async<Sizes, THREADS>(to, slab - Part::slabs, rows, columns, thread, rest...);
    }
}

#endif  // DLRMC_CODEGEN_CUDA_PRODUCT_COPY_CUH
