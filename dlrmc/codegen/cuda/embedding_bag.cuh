// Stage: y[b, d] = the sum, mean or max of rows ids[p] of a table over the positions p of bag b
// (IR: embedding_bag, and each table of an embedding_bag_group).
//
// A group of LANES neighbouring lanes works on one bag and LANES * VECTOR of its columns: each lane loads
// VECTOR neighbouring columns at a time, IN_FLIGHT rows before the first is used. Rows are added strictly
// left to right in the compute type (float for 16-bit tables), with a fused multiply-add where there are
// weights, so that the bits are those of a sequential sum; the mean divides; max takes the first row and then
// each that is greater, which keeps a NaN only where it came first. The padding id is skipped and not
// counted. An empty bag gives zeros.
//
// Ids are checked, 64-bit: one out of range reads nothing, is skipped as a padding id is, and is recorded by
// the lanes for which `reports` holds (one for each bag). Offsets are clamped to 0 and the number of ids; a
// bag that ends before it begins is empty; malformed ones are recorded.
//
// `Kind` is a struct of constants and types, emitted by codegen/kernels/embedding_bag.py, which also
// documents them. All lanes are independent. No barrier, no shared memory.
//
// requires: views.cuh bag_checks.cuh
#ifndef DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH
#define DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH

#include "bag_checks.cuh"
#include "views.cuh"

template <typename Kind>
struct EmbeddingBag {
    // Bags that a warp shares add and write by the functions of this one.
    template <typename>
    friend struct WarpBags;

    using Element = typename Kind::Element;
    using Id = typename Kind::Id;
    using Checks = BagChecks<Kind>;
    using Compute = compute_type<Element>;

    // Columns first_column to first_column + VECTOR of bag `bag` to `y`.
    static __device__ __forceinline__ void run(const BagSource& source, long long bag, long long bags,
                                               int first_column, bool reports, Element* y, Faults* faults) {
        const BagBounds bounds =
            Checks::checked(source, bag, bags, Checks::load_bounds(source, bag, bags), reports, faults);
        Sum sum;
        add_from(source, bag, bounds, bounds.begin, first_column, sum);
        finish(source, bag, bounds, sum, reports, y, faults);
    }

  private:
    // The sum of a bag so far.
    struct Sum {
        Compute values[Kind::VECTOR] = {};
        long long count = 0;
        bool is_bad = false;
    };

    // N neighbouring places of a bag: ids and weights, whether or not they are there.
    template <int N>
    struct Places {
        bool is_there[N];
        long long id[N];
        Element weight[N] = {};
    };

    static __device__ __forceinline__ const Element* weights_of(const BagSource& source, long long bag) {
        return static_cast<const Element*>(source.weights) + (Kind::HAS_OFFSETS ? 0 : bag * Kind::WEIGHT_BAG);
    }

    // Of a bag that is not empty: what is not there any more is its last place.
    template <int N>
    static __device__ __forceinline__ void load_next(const BagSource& source, long long bag, long long first,
                                                     const BagBounds& bounds, Places<N>& places) {
        const Id* const ids = Checks::ids_of(source, bag);
        const Element* const weights = weights_of(source, bag);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            places.is_there[i] = first + i < bounds.end;
            const long long at = places.is_there[i] ? first + i : bounds.end - 1;
            places.id[i] = static_cast<long long>(ids[at * Kind::ID_STRIDE]);
            if constexpr (Kind::HAS_WEIGHTS) places.weight[i] = weights[at * Kind::WEIGHT_STRIDE];
        }
    }

    // The ids of the next rows are asked for before rows are waited for, so that a step waits for memory
    // once.
    static __device__ __forceinline__ void add_from(const BagSource& source, long long bag,
                                                    const BagBounds& bounds, long long at, int first_column,
                                                    Sum& sum) {
        static_assert((Kind::IN_FLIGHT & (Kind::IN_FLIGHT - 1)) == 0, "the rest of a bag is cut into halves");
        if (at >= bounds.end) return;
        Places<Kind::IN_FLIGHT> places;
        load_next(source, bag, at, bounds, places);
#pragma unroll 1
        for (; at + Kind::IN_FLIGHT <= bounds.end; at += Kind::IN_FLIGHT) {
            Places<Kind::IN_FLIGHT> next;
            load_next(source, bag, at + Kind::IN_FLIGHT, bounds, next);
            add_all(source, first_column, places, sum);
            places = next;
        }
        if constexpr (Kind::IN_FLIGHT > 1) {
            add_some<Kind::IN_FLIGHT / 2>(source, first_column, static_cast<int>(bounds.end - at), places,
                                          sum);
        }
    }

    // The first `count` of these places, fewer than 2 * N, in steps of N, N / 2, ... places.
    template <int N, int M>
    static __device__ __forceinline__ void add_some(const BagSource& source, int first_column, int count,
                                                    Places<M>& places, Sum& sum) {
        if (count & N) {
            Places<N> first;
#pragma unroll
            for (int i = 0; i < N; ++i) {
                first.id[i] = places.id[i];
                first.weight[i] = places.weight[i];
                places.id[i] = places.id[N + i];
                places.weight[i] = places.weight[N + i];
            }
            add_all(source, first_column, first, sum);
        }
        if constexpr (N > 1) add_some<N / 2>(source, first_column, count, places, sum);
    }

    // The rows of places that are all there. Without a condition on any of them the compiler asks for all
    // rows before it adds the first.
    template <int N>
    static __device__ __forceinline__ void add_all(const BagSource& source, int first_column,
                                                   const Places<N>& places, Sum& sum) {
        bool is_clean = true;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            is_clean &= Checks::is_below(places.id[i], source.row_count);
            if constexpr (Kind::HAS_PADDING) is_clean &= places.id[i] != source.padding_id;
        }
        if (is_clean) {
            Pack<Element, Kind::VECTOR> rows[N];
#pragma unroll
            for (int i = 0; i < N; ++i)
                rows[i] = load_row(row_of(source, places.id[i], first_column));
#pragma unroll
            for (int i = 0; i < N; ++i)
                add_row(rows[i], places.weight[i], sum);
        } else {
#pragma unroll
            for (int i = 0; i < N; ++i)
                add_checked(source, first_column, places.id[i], places.weight[i], sum);
        }
    }

    static __device__ __forceinline__ void add_checked(const BagSource& source, int first_column,
                                                       long long id, Element weight, Sum& sum) {
        if (Kind::HAS_PADDING && id == source.padding_id) return;
        if (Checks::is_below(id, source.row_count)) {
            add_row(load_row(row_of(source, id, first_column)), weight, sum);
        } else {
            sum.is_bad = true;
        }
    }

    static __device__ __forceinline__ void finish(const BagSource& source, long long bag,
                                                  const BagBounds& bounds, Sum& sum, bool reports, Element* y,
                                                  Faults* faults) {
        if (sum.is_bad && reports) {
            const long long first = Kind::HAS_OFFSETS ? 0 : bag * source.id_count;
            Checks::report_ids(Checks::ids_of(source, bag), bounds, first, source.row_count,
                               source.padding_id, source.id_site, faults);
        }
        store(sum, y);
    }

    static __device__ __forceinline__ void store(Sum& sum, Element* y) {
        if constexpr (Kind::MODE == BagMode::mean) {
#pragma unroll
            for (int i = 0; i < Kind::VECTOR; ++i) {
                if (sum.count > 0) sum.values[i] = sum.values[i] / static_cast<Compute>(sum.count);
            }
        }
        if constexpr (Kind::Y_IS_PACKED) {
            store_pack<Kind::VECTOR>(y, sum.values);
        } else {
#pragma unroll
            for (int i = 0; i < Kind::VECTOR; ++i)
                y[i * Kind::Y_COLUMN] = from_float<Element>(sum.values[i]);
        }
    }

    static __device__ __forceinline__ const Element* row_of(const BagSource& source, long long id,
                                                            int first_column) {
        return static_cast<const Element*>(source.table) + id * Kind::TABLE_ROW +
               first_column * Kind::TABLE_COLUMN;
    }

    static __device__ __forceinline__ Pack<Element, Kind::VECTOR> load_row(const Element* row) {
        if constexpr (Kind::TABLE_COLUMN == 1) {
            return load_pack<Kind::VECTOR>(row);
        } else {
            Pack<Element, Kind::VECTOR> pack;
#pragma unroll
            for (int i = 0; i < Kind::VECTOR; ++i)
                pack.at[i] = row[i * Kind::TABLE_COLUMN];
            return pack;
        }
    }

    static __device__ __forceinline__ void add_row(const Pack<Element, Kind::VECTOR>& row, Element weight,
                                                   Sum& sum) {
#pragma unroll
        for (int i = 0; i < Kind::VECTOR; ++i) {
            const Compute value = to_float(row.at[i]);
            Compute& so_far = sum.values[i];
            if constexpr (Kind::MODE == BagMode::max) {
                so_far = sum.count == 0 || value > so_far ? value : so_far;
            } else if constexpr (Kind::HAS_WEIGHTS) {
                so_far = multiply_add(to_float(weight), value, so_far);
            } else {
                so_far = so_far + value;
            }
        }
        ++sum.count;
    }
};

#endif  // DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH
