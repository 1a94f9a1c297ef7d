// The products of large matrices by warpgroups, with f32 sums: y = act(alpha * x @ w.T + beta * bias) for one
// tile of TILE_ROWS x TILE_COLUMNS results a block, on compute capability 9.0   (IR: linear, mm, addmm of
// f32)
//
// x and w pass through shared memory in slabs of 32 k (warpgroup.cuh), WARPGROUPS_OVER_K of them a stage, in
// STAGES buffers. A warpgroup has 64 rows of the tile, all its columns, and one slab of a stage.
//   ThreeTf32: x is read into registers and split there; of w, each thread makes the lower halves of the
//   packs
//     that it has copied, one slab ahead and while products run, in two more buffers. The tensor cores cut
//     the slab itself, so that x * w is x_lo*cut(w) + x_hi*w_lo + x_hi*cut(w), with x rounded to nearest:
//     what is left out, x_lo*w_lo, is of either sign. Sums of 32 k start at zero and are added outside
//     (tensor_fragments.cuh says why).
//   OneTf32: the tensor cores read both from shared memory and cut them to TF32, which leaves TF32 numbers
//     as they are. What may be others, x where ROUND_X holds and w where ROUND_W does, each thread rounds to
//     nearest in the packs that it has copied, while the products before run.
//
// `Sizes` is a struct of constants, emitted by codegen/kernels/linear_warpgroup.py; Products is ThreeTf32 or
// OneTf32; the others are those of tensor_product.cuh. Shared memory: shared_floats, 1024-byte aligned. Run
// by the whole block, of exactly `threads` threads. Always the same order: the same input gives the same
// bits.
//
// requires: product_results.cuh product_copy.cuh tensor_fragments.cuh warpgroup.cuh
#ifndef DLRMC_CODEGEN_CUDA_WARPGROUP_PRODUCT_CUH
#define DLRMC_CODEGEN_CUDA_WARPGROUP_PRODUCT_CUH

#include "product_copy.cuh"
#include "product_results.cuh"
#include "tensor_fragments.cuh"
#include "warpgroup.cuh"

template <typename Sizes>
struct WarpgroupProduct {
    using Products = typename Sizes::Products;
    static constexpr bool is_split = Products::ADDS_OUTSIDE;
    static constexpr int over_k = Sizes::WARPGROUPS_OVER_K;
    static constexpr int tile_threads = Sizes::TILE_ROWS * 2;
    static constexpr int threads = tile_threads * over_k;
    static constexpr int column_tiles = Sizes::TILE_COLUMNS / 8;
    static constexpr int slab_products = swizzled_depth / 8;
    static constexpr int x_floats = Sizes::TILE_ROWS * swizzled_depth;
    static constexpr int w_floats = Sizes::TILE_COLUMNS * swizzled_depth;
    static constexpr int slab_floats = x_floats + w_floats;
    static constexpr int stage_floats = slab_floats * over_k;
    static constexpr int lows_floats = is_split ? w_floats * over_k : 0;
    static constexpr int shared_floats = stage_floats * Sizes::STAGES + 2 * lows_floats;
    // Stages on their way while one is computed with; products of whole values run on into the next step.
    static constexpr int ahead = Sizes::STAGES - (is_split ? 1 : 2);
    // Of the copies: a thread has the same pack of every `copy_rows`-th row.
    static constexpr int packs = swizzled_depth / 4;
    static constexpr int copy_rows = threads / packs;
    static_assert(Sizes::STAGES >= 3, "a stage is prepared while one is computed with and another arrives");
    static_assert(Sizes::TILE_ROWS % 64 == 0, "a warpgroup has 64 rows");
    static_assert(Sizes::TILE_ROWS % copy_rows == 0 && Sizes::TILE_COLUMNS % copy_rows == 0,
                  "all threads copy as many rows");
    static_assert(column_tiles % over_k == 0, "the warpgroups over k share the fragments of a tile evenly");

    int thread;
    int part_of_k;  // which of the slabs of a stage the warpgroup has
    float sums[column_tiles][4] = {};
    ProductResults<Sizes, column_tiles, column_tiles / over_k, over_k> results;

    __device__ __forceinline__ explicit WarpgroupProduct(int thread)
        : thread(thread), part_of_k(thread / tile_threads) {
        results.first_row = thread % tile_threads / 32 * 16 + thread % 32 / 4;
        results.first_column = thread % 4 * 2;
        results.first_fragment = part_of_k;
    }

    // The tile's first `rows` rows and `columns` columns of y; `bias` is that of row 0 and column 0 of the
    // tile, with which `operands`, of the epilogue, begin too.
    template <typename Operands, typename Y, typename... Parts>
    __device__ __forceinline__ void run(float* shared, const float* bias, Operands operands, Y y, int rows,
                                        int columns, Parts... parts) {
        constexpr int slabs = (slabs_of<Parts> + ...);
#pragma unroll
        for (int step = 0; step < ahead; ++step)
            copy_stage<slabs>(shared, step, rows, columns, parts...);
        if constexpr (is_split) {
            run_split<slabs>(shared, rows, columns, parts...);
            results.load_column_biases(bias, columns);
        } else {
            results.load_column_biases(bias, columns);
            run_whole<slabs>(shared, rows, columns, parts...);
        }
        if constexpr (over_k > 1) add_warpgroups(shared);
        store_sums(bias, operands, y, rows, columns);
        results.compute_again(bias, operands, y, columns, parts...);
    }

  private:
    template <typename Part>
    static constexpr int slabs_of = (Part::width + swizzled_depth - 1) / swizzled_depth;

    template <int SLABS>
    static constexpr int steps_of = (SLABS + over_k - 1) / over_k;

    template <int SLABS, typename... Parts>
    __device__ __forceinline__ void run_split(float* shared, int rows, int columns, const Parts&... parts) {
        float* const lows = shared + Sizes::STAGES * stage_floats;
        cp_async_wait_group<ahead - 1>();
        make_lows(shared, lows);
        float products[column_tiles][4] = {};
#pragma unroll 1
        for (int step = 0; step < steps_of<SLABS>; ++step) {
            // The stage and its lower halves are there, for all threads, and all are done with those before.
            __syncthreads();
            multiply_split(shared + step % Sizes::STAGES * stage_floats, lows + step % 2 * lows_floats,
                           products);
            cp_async_wait_group<ahead - 2>();
            if (step + 1 < steps_of<SLABS>)
                make_lows(shared + (step + 1) % Sizes::STAGES * stage_floats,
                          lows + (step + 1) % 2 * lows_floats);
            // Behind the fence in `make_lows`, which waits for all copies under way.
            copy_stage<SLABS>(shared, step + ahead, rows, columns, parts...);
            add_products(products);
        }
    }

    template <int SLABS, typename... Parts>
    __device__ __forceinline__ void run_whole(float* shared, int rows, int columns, const Parts&... parts) {
#pragma unroll 1
        for (int step = 0; step < steps_of<SLABS>; ++step) {
            cp_async_wait_group<ahead - 1>();
            round_stage(shared + step % Sizes::STAGES * stage_floats);
            fence_shared_for_warpgroups();
            // The stage is there, for all threads, and all are done with the one before the last.
            __syncthreads();
            copy_stage<SLABS>(shared, step + ahead, rows, columns, parts...);
            multiply_whole(shared + step % Sizes::STAGES * stage_floats);
            warpgroup_wait<1>();
        }
        warpgroup_wait<0>();
        keep_order(sums);
    }

    template <int SLABS, typename... Parts>
    __device__ __forceinline__ void copy_stage(float* shared, int step, int rows, int columns,
                                               const Parts&... parts) const {
        float* const stage = shared + step % Sizes::STAGES * stage_floats;
#pragma unroll
        for (int part = 0; part < over_k; ++part) {
            const int slab = step * over_k + part;
            if (slab < SLABS) {
                copy_part(stage + part * slab_floats, slab, rows, columns, parts...);
            } else if (SLABS % over_k != 0 && slab < steps_of<SLABS> * over_k) {
                clear_slab(stage + part * slab_floats);
            }
        }
        cp_async_commit_group();
    }

    // What is left of the last stage where the slabs do not fill it: products of zeros, which all warpgroups
    // compute alike.
    __device__ __forceinline__ void clear_slab(float* slab) const {
        float* const own = slab + swizzled_place(thread / packs, thread % packs);
        const float zeros[4] = {};
#pragma unroll
        for (int i = 0; i < (Sizes::TILE_ROWS + Sizes::TILE_COLUMNS) / copy_rows; ++i)
            store_pack<4>(own + i * copy_rows * swizzled_depth, zeros);
    }

    // Starts the copies of slab number `slab` of the parts in their order.
    template <typename Part, typename... Rest>
    __device__ __forceinline__ void copy_part(float* stage, int slab, int rows, int columns, const Part& part,
                                              const Rest&... rest) const {
        static_assert(Part::x_pack == 4 && Part::w_pack == 4, "rows start at multiples of 16 bytes");
        if (sizeof...(Rest) == 0 || slab < slabs_of<Part>) {
            copy_tile<Sizes::TILE_ROWS, Sizes::ROWS_FIT, Part::width>(stage, part.x, rows, slab);
            copy_tile<Sizes::TILE_COLUMNS, Sizes::COLUMNS_FIT, Part::width>(stage + x_floats, part.w, columns,
                                                                            slab);
        } else if constexpr (sizeof...(Rest) > 0) {
            copy_part(stage, slab - slabs_of<Part>, rows, columns, rest...);
        }
    }

    template <int TILE, bool FITS, int WIDTH, typename View>
    __device__ __forceinline__ void copy_tile(float* to, View view, int count, int slab) const {
        static_assert(View::column_stride == 1, "k are contiguous");
        const int first_row = thread / packs;
        const int k = slab * swizzled_depth + thread % packs * 4;
        const float* const from = view.at(first_row, 0, k);
        float* const place = to + swizzled_place(first_row, thread % packs);
#pragma unroll
        for (int i = 0; i < TILE / copy_rows; ++i) {
            const float* const pack = FITS ? from + i * copy_rows * View::row_stride
                                           : view.at(min(first_row + i * copy_rows, count - 1), 0, k);
            copy_pack_async<4, WIDTH, swizzled_depth>(place + i * copy_rows * swizzled_depth, pack, k);
        }
    }

    // Rounds the packs of a stage that this thread has copied; those of x stand in front of those of w.
    __device__ __forceinline__ void round_stage(float* stage) const {
        constexpr int x_copies = Sizes::TILE_ROWS / copy_rows;
        constexpr int first = Sizes::ROUND_X ? 0 : x_copies;
        constexpr int end = x_copies + (Sizes::ROUND_W ? Sizes::TILE_COLUMNS / copy_rows : 0);
        float* const own = stage + swizzled_place(thread / packs, thread % packs);
#pragma unroll
        for (int i = first * over_k; i < end * over_k; ++i)
            round_pack_tf32(own + i % over_k * slab_floats + i / over_k * copy_rows * swizzled_depth);
    }

    // The lower halves of the packs of w in a stage that this thread has copied.
    __device__ __forceinline__ void make_lows(const float* stage, float* lows) const {
        constexpr int slab_copies = Sizes::TILE_COLUMNS / copy_rows;
        const int place = swizzled_place(thread / packs, thread % packs);
#pragma unroll
        for (int i = 0; i < slab_copies * over_k; ++i) {
            const int in_slab = place + i % slab_copies * copy_rows * swizzled_depth;
            const int own = in_slab + i / slab_copies * w_floats;
            const Pack<float, 4> pack =
                load_pack<4>(stage + i / slab_copies * slab_floats + x_floats + in_slab);
            float values[4];
#pragma unroll
            for (int j = 0; j < 4; ++j)
                values[j] = rounded(pack.at[j] - cut(pack.at[j]));
            store_pack<4>(lows + own, values);
        }
        fence_shared_for_warpgroups();
    }

    // Cut by the tensor cores, it is rounded to nearest. A NaN may vanish: the slab has it.
    static __device__ __forceinline__ float rounded(float value) {
        return __uint_as_float(__float_as_uint(value) + 0x1000u);
    }

    // As the tensor cores cut it.
    static __device__ __forceinline__ float cut(float value) {
        return __uint_as_float(__float_as_uint(value) & 0xffffe000u);
    }

    __device__ __forceinline__ void multiply_split(const float* stage, const float* lows,
                                                   float (&products)[column_tiles][4]) {
        const float* const slab = stage + part_of_k * slab_floats;
        const WarpgroupTile w(slab + x_floats);
        const WarpgroupTile w_low(lows + part_of_k * w_floats);
        // The small products come first, while sums are small and what the tensor cores cut off them is too.
        unsigned high[slab_products][4];
#pragma unroll
        for (int i = 0; i < slab_products; ++i) {
            float x[4];
            load_x(slab, i * 8, x);
            unsigned low[4];
#pragma unroll
            for (int j = 0; j < 4; ++j)
                ThreeTf32::split(x[j], high[i][j], low[j]);
            warpgroup_fence();
            warpgroup_multiply(products, low, w.from(i * 8), i > 0);
            warpgroup_multiply(products, high[i], w_low.from(i * 8), true);
        }
#pragma unroll
        for (int i = 0; i < slab_products; ++i)
            warpgroup_multiply(products, high[i], w.from(i * 8), true);
        warpgroup_commit();
    }

    __device__ __forceinline__ void multiply_whole(const float* stage) {
        const float* const slab = stage + part_of_k * slab_floats;
        const WarpgroupTile x(slab + thread % tile_threads / 128 * 64 * swizzled_depth);
        const WarpgroupTile w(slab + x_floats);
        warpgroup_fence();
#pragma unroll
        for (int i = 0; i < slab_products; ++i)
            warpgroup_multiply(sums, x.from(i * 8), w.from(i * 8), true);
        warpgroup_commit();
    }

    // What tensor cores add to is rounded towards zero, so that split products are added here.
    __device__ __forceinline__ void add_products(float (&products)[column_tiles][4]) {
        warpgroup_wait<0>();
        keep_order(products);
#pragma unroll
        for (int i = 0; i < column_tiles * 4; ++i)
            sums[i / 4][i % 4] += products[i / 4][i % 4];
    }

    // k + t and k + t + 4 of rows g and g + 8 of the warp.
    __device__ __forceinline__ void load_x(const float* slab, int k, float (&x)[4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            x[i] = slab[swizzled_place(results.first_row + i % 2 * 8, k / 4 + i / 2) + thread % 4];
    }

    // Adds the sums of all warpgroups over k, in order; each has the totals of its own fragments then.
    __device__ __forceinline__ void add_warpgroups(float* shared) {
        constexpr int group_floats = Sizes::TILE_ROWS * Sizes::TILE_COLUMNS;
        static_assert(group_floats * over_k <= shared_floats, "the sums take the place of the stages");
        // All are done with the last stage, whose memory is used again.
        __syncthreads();
        float* const place = shared + thread % tile_threads * 4;
#pragma unroll
        for (int tile = 0; tile < column_tiles; ++tile)
            store_pack<4>(place + part_of_k * group_floats + tile * tile_threads * 4, sums[tile]);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < column_tiles / over_k; ++i) {
            const float* const from = place + results.own_fragment(i) * tile_threads * 4;
#pragma unroll
            for (int group = 0; group < over_k; ++group) {
                const Pack<float, 4> pack = load_pack<4>(from + group * group_floats);
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    sums[i][j] = group == 0 ? pack.at[j] : sums[i][j] + pack.at[j];
            }
        }
    }

    // The first fragments are the lane's own, as add_warpgroups leaves them.
    template <typename Operands, typename Y>
    __device__ __forceinline__ void store_sums(const float* bias, const Operands& operands, Y y, int rows,
                                               int columns) {
        float totals[column_tiles / over_k][4];
#pragma unroll
        for (int i = 0; i < column_tiles / over_k * 4; ++i)
            totals[i / 4][i % 4] = sums[i / 4][i % 4];
        results.store_all(totals, bias, operands, y, rows, columns);
    }
};

#endif  // DLRMC_CODEGEN_CUDA_WARPGROUP_PRODUCT_CUH
