// Strided windows onto memory, vector loads and stores, and copies between memory and shared memory.
//
// All strides count elements and are constants, so that a view is one pointer. Row 0 of a view is the first
// row of the tile that the block works on. A view may point to global or to shared memory.
//
// requires: scalars.cuh
#ifndef DLRMC_CODEGEN_CUDA_VIEWS_CUH
#define DLRMC_CODEGEN_CUDA_VIEWS_CUH

#include "scalars.cuh"

// The type in which elements of type T are computed: float, or double for double.
template <typename T>
struct ComputeType {
    using type = float;
};
template <>
struct ComputeType<double> {
    using type = double;
};
template <typename T>
struct ComputeType<const T> : ComputeType<T> {};
template <typename T>
using compute_type = typename ComputeType<T>::type;

template <typename T>
struct RemoveConst {
    using type = T;
};
template <typename T>
struct RemoveConst<const T> {
    using type = T;
};

__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return fmaf(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return fma(a, b, c);
}

// N neighbouring elements that are loaded or stored together, by instructions of up to 16 bytes.
template <typename T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
    T at[N];
};

// `from` is a multiple of min(16, N * sizeof(T)) bytes.
template <int N, typename T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
    return *reinterpret_cast<const Pack<T, N>*>(from);
}

// The same of what no thread writes, asked for where the call stands (load_global_early of ptx.cuh).
template <int N, typename T>
__device__ __forceinline__ Pack<T, N> load_pack_early(const T* from) {
    constexpr int bytes = N * static_cast<int>(sizeof(T));
    if constexpr (bytes == 4 || bytes == 8 || bytes == 16) {
        union {
            unsigned words[bytes / 4];
            Pack<T, N> pack;
        } loaded;
        load_global_early(loaded.words, from);
        return loaded.pack;
    } else {
        return load_pack<N>(from);
    }
}

// The pointer in a slot, asked for where the call stands.
template <typename T>
__device__ __forceinline__ T* read_slot_early(T* const* slot) {
    return reinterpret_cast<T*>(load_pack_early<1>(reinterpret_cast<const unsigned long long*>(slot)).at[0]);
}

// N neighbouring elements in the compute type, stored as T.
template <int N, typename T, typename Compute>
__device__ __forceinline__ void store_pack(T* to, const Compute (&values)[N]) {
    Pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < N; ++i)
        pack.at[i] = from_float<T>(values[i]);
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

// A value [rows, F, D]: element (r, f, d) stands at data[r * ROW + f * FEATURE + d * COLUMN].
template <typename T, long long ROW, long long FEATURE = 0, long long COLUMN = 1>
struct TileView {
    using Element = T;
    static constexpr long long row_stride = ROW;
    static constexpr long long feature_stride = FEATURE;
    static constexpr long long column_stride = COLUMN;
    T* data;

    __device__ __forceinline__ T* at(long long row, int feature, int column) const {
        return data + (row * ROW + feature * FEATURE + column * COLUMN);
    }
};

// The sizes of a copy: ROWS is the tile's height, of which the last tile fills a part.
template <int ROWS, int FEATURES, int COLUMNS>
struct TileSize {
    static constexpr int rows = ROWS;
    static constexpr int features = FEATURES;
    static constexpr int columns = COLUMNS;
};

struct TilePlace {
    int row;
    int feature;
    int pack;
};

// Numbers the packs of a tile so that consecutive threads touch consecutive memory of `View`.
template <typename View, int ROWS, int FEATURES, int PACKS>
__device__ __forceinline__ TilePlace tile_place(int item) {
    if constexpr (View::column_stride != 1 && View::feature_stride == 1 && FEATURES > 1) {
        return {item / FEATURES / PACKS, item % FEATURES, item / FEATURES % PACKS};
    } else if constexpr (View::column_stride != 1 && View::row_stride == 1 && ROWS > 1) {
        return {item % ROWS, item / ROWS / PACKS, item / ROWS % PACKS};
    } else {
        return {item / PACKS / FEATURES, item / PACKS % FEATURES, item % PACKS};
    }
}

// Copies `rows` rows from one view to another, converting through the compute type; with ZERO_FILL rows from
// `rows` to the tile's height become zero. VECTOR neighbouring columns move together: columns are contiguous
// on both sides where VECTOR > 1, all strides and the pointers are multiples of it. Threads run along the
// memory of `Order`. Each thread has IN_FLIGHT loads under way before the first store. No barrier.
template <int VECTOR, bool ZERO_FILL, int IN_FLIGHT, typename Order, typename Size, typename From,
          typename To>
__device__ __forceinline__ void copy_tile(Size, From from, To to, int rows, int thread, int threads) {
    static_assert(Size::columns % VECTOR == 0, "a pack may not cross the end of a row");
    static_assert(VECTOR == 1 || (From::column_stride == 1 && To::column_stride == 1),
                  "packs are contiguous");
    using FromElement = typename RemoveConst<typename From::Element>::type;
    constexpr int packs = Size::columns / VECTOR;
    constexpr int items = Size::rows * Size::features * packs;
    for (int first = thread; first < items; first += IN_FLIGHT * threads) {
        Pack<FromElement, VECTOR> loaded[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; ++i) {
            const TilePlace place = tile_place<Order, Size::rows, Size::features, packs>(first + i * threads);
            loaded[i] = {};
            if (first + i * threads >= items || place.row >= rows) continue;
            loaded[i] =
                load_pack<VECTOR, FromElement>(from.at(place.row, place.feature, place.pack * VECTOR));
        }
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; ++i) {
            const TilePlace place = tile_place<Order, Size::rows, Size::features, packs>(first + i * threads);
            if (first + i * threads >= items || (!ZERO_FILL && place.row >= rows)) continue;
            compute_type<FromElement> values[VECTOR];
#pragma unroll
            for (int j = 0; j < VECTOR; ++j)
                values[j] = to_float(loaded[i].at[j]);
            store_pack<VECTOR>(to.at(place.row, place.feature, place.pack * VECTOR), values);
        }
    }
}

// Stage: a tile of a value in memory to shared memory, in the compute type, rows past the end as zeros. No
// barrier.
template <int VECTOR, typename Size, typename From, typename To>
__device__ __forceinline__ void load_tile(Size size, From from, To to, int rows, int thread, int threads) {
    copy_tile<VECTOR, true, 4, From>(size, from, to, rows, thread, threads);
}

// Stage: a tile in shared memory to memory; rows past the end are left alone. No barrier.
template <int VECTOR, typename Size, typename From, typename To>
__device__ __forceinline__ void store_tile(Size size, From from, To to, int rows, int thread, int threads) {
    copy_tile<VECTOR, false, 1, To>(size, from, to, rows, thread, threads);
}

// Stage: zeros in columns BEGIN to END of every row and feature, for sizes that are padded up. No barrier.
template <int ROWS, int FEATURES, int BEGIN, int END, typename To>
__device__ __forceinline__ void zero_columns(To to, int thread, int threads) {
    constexpr int columns = END - BEGIN;
#pragma unroll 1
    for (int item = thread; item < ROWS * FEATURES * columns; item += threads) {
        const int row = item / columns;
        *to.at(row / FEATURES, row % FEATURES, BEGIN + item % columns) = 0;
    }
}

#endif  // DLRMC_CODEGEN_CUDA_VIEWS_CUH
