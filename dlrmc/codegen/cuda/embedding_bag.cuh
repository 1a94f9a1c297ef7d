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
// requires: views.cuh faults.cuh bag_source.cuh
#ifndef DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH
#define DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH

#include "bag_source.cuh"
#include "faults.cuh"
#include "views.cuh"

template <typename Kind>
struct EmbeddingBag {
    // Bags over bytes and nibbles find and check ids and offsets by the functions of this one.
    template <typename>
    friend struct QuantizedBag;

    using Element = typename Kind::Element;
    using Id = typename Kind::Id;
    using Offset = typename Kind::Offset;
    using Compute = compute_type<Element>;

    // Columns first_column to first_column + VECTOR of bag `bag` to `y`.
    static __device__ __forceinline__ void run(const BagSource& source, long long bag, long long bags,
                                               int first_column, bool reports, Element* y, Faults* faults) {
        const BagBounds bounds = checked(source, bag, bags, load_bounds(source, bag, bags), reports, faults);
        Sum sum;
        add_from(source, bag, bounds, bounds.begin, first_column, sum);
        finish(source, bag, bounds, sum, reports, y, faults);
    }

    // The same for ITEMS bags of tables of one kind, where `is_used` holds: the offsets of all are on their
    // way before the first id is asked for, the first HEAD ids of all before the first row, and these rows
    // before the first sum. The sources stand in shared memory, and every table has a row.
    template <int ITEMS, int HEAD>
    static __device__ __forceinline__ void run_many(const BagSource* const (&sources)[ITEMS],
                                                    const long long (&bag)[ITEMS],
                                                    const bool (&is_used)[ITEMS], Element* const (&y)[ITEMS],
                                                    long long bags, int first_column, bool reports,
                                                    Faults* faults) {
        BagBounds bounds[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            bounds[i] = load_bounds(*sources[i], is_used[i] ? bag[i] : 0, bags);
        }
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            bounds[i] =
                checked(*sources[i], is_used[i] ? bag[i] : 0, bags, bounds[i], reports && is_used[i], faults);
            if (!is_used[i]) bounds[i].end = bounds[i].begin;
        }
        Rows<HEAD> heads[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            load_ids<true>(*sources[i], bag[i], bounds[i].begin, bounds[i].end, heads[i]);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            load_rows<true>(*sources[i], bag[i], bounds[i].begin, first_column, heads[i]);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (!is_used[i]) continue;
            Sum sum;
            add(heads[i], sum);
            if (bounds[i].begin + HEAD < bounds[i].end) {
                Sum rest = sum;
                add_rest(*sources[i], bag[i], bounds[i], bounds[i].begin + HEAD, first_column, rest);
                sum = rest;
            }
            finish(*sources[i], bag[i], bounds[i], sum, reports, y[i], faults);
        }
    }

  private:
    // The sum of a bag so far.
    struct Sum {
        Compute values[Kind::VECTOR] = {};
        long long count = 0;
        bool is_bad = false;
    };

    // N neighbouring places of a bag: ids, and the rows that they name.
    template <int N>
    struct Rows {
        long long id[N];
        bool is_there[N];
        bool is_read[N];
        Pack<Element, Kind::VECTOR> rows[N];
        Element weight[N];
        bool is_bad;
    };

    static __device__ __forceinline__ const Id* ids_of(const BagSource& source, long long bag) {
        return static_cast<const Id*>(source.ids) + (Kind::HAS_OFFSETS ? 0 : bag * source.bag_stride);
    }

    // AT_ONCE: what is not there is read elsewhere and thrown away. A load under a condition waits for it,
    // and the loads behind it wait too.
    template <bool AT_ONCE = false, int N>
    static __device__ __forceinline__ void load_ids(const BagSource& source, long long bag, long long at,
                                                    long long end, Rows<N>& loaded) {
        const Id* const ids = ids_of(source, bag);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            loaded.is_there[i] = at + i < end;
            loaded.id[i] = 0;
            const Id* const place = ids + (at + i) * Kind::ID_STRIDE;
            if constexpr (AT_ONCE) {
                const Id id = *(loaded.is_there[i] ? place : reinterpret_cast<const Id*>(&source));
                loaded.id[i] = static_cast<long long>(id);
            } else if (loaded.is_there[i]) {
                loaded.id[i] = static_cast<long long>(*place);
            }
        }
    }

    template <bool AT_ONCE = false, int N>
    static __device__ __forceinline__ void load_rows(const BagSource& source, long long bag, long long at,
                                                     int first_column, Rows<N>& loaded) {
        const Element* const table =
            static_cast<const Element*>(source.table) + first_column * Kind::TABLE_COLUMN;
        const Element* const weights =
            static_cast<const Element*>(source.weights) + (Kind::HAS_WEIGHTS ? bag * Kind::WEIGHT_BAG : 0);
        loaded.is_bad = false;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const long long id = loaded.id[i];
            const bool is_padding = Kind::HAS_PADDING && id == source.padding_id;
            const bool is_row = 0 <= id && id < source.row_count;
            loaded.is_bad = loaded.is_bad || (loaded.is_there[i] && !is_padding && !is_row);
            loaded.is_read[i] = loaded.is_there[i] && !is_padding && is_row;
            loaded.weight[i] = {};
            if constexpr (AT_ONCE) {
                loaded.rows[i] = load_row(loaded.is_read[i] ? table + id * Kind::TABLE_ROW : table);
            } else {
                loaded.rows[i] = {};
                if (loaded.is_read[i]) loaded.rows[i] = load_row(table + id * Kind::TABLE_ROW);
            }
            if (Kind::HAS_WEIGHTS && loaded.is_read[i]) {
                loaded.weight[i] = weights[(at + i) * Kind::WEIGHT_STRIDE];
            }
        }
    }

    template <int N>
    static __device__ __forceinline__ void add(const Rows<N>& loaded, Sum& sum) {
        sum.is_bad = sum.is_bad || loaded.is_bad;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (!loaded.is_read[i]) continue;
            add_row(loaded.rows[i], loaded.weight[i], sum.count == 0, sum.values);
            ++sum.count;
        }
    }

    // All rows of the bag from position `at` on. Not inlined: most bags of a stage that loads heads end in
    // them.
    static __device__ __noinline__ void add_rest(const BagSource& source, long long bag, BagBounds bounds,
                                                 long long at, int first_column, Sum& sum) {
        add_from(source, bag, bounds, at, first_column, sum);
    }

    static __device__ __forceinline__ void add_from(const BagSource& source, long long bag,
                                                    const BagBounds& bounds, long long at, int first_column,
                                                    Sum& sum) {
#pragma unroll 1
        for (; at < bounds.end; at += Kind::IN_FLIGHT) {
            Rows<Kind::IN_FLIGHT> loaded;
            load_ids(source, bag, at, bounds.end, loaded);
            load_rows(source, bag, at, first_column, loaded);
            add(loaded, sum);
        }
    }

    static __device__ __forceinline__ void finish(const BagSource& source, long long bag,
                                                  const BagBounds& bounds, Sum& sum, bool reports, Element* y,
                                                  Faults* faults) {
        if (sum.is_bad && reports) {
            const long long first = Kind::HAS_OFFSETS ? 0 : bag * source.id_count;
            report_ids(ids_of(source, bag), bounds, first, source.row_count, source.padding_id,
                       source.id_site, faults);
        }
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
                                                   bool is_first, Compute (&values)[Kind::VECTOR]) {
#pragma unroll
        for (int i = 0; i < Kind::VECTOR; ++i) {
            const Compute value = to_float(row.at[i]);
            if constexpr (Kind::MODE == BagMode::max) {
                values[i] = is_first || value > values[i] ? value : values[i];
            } else if constexpr (Kind::HAS_WEIGHTS) {
                values[i] = multiply_add(to_float(weight), value, values[i]);
            } else {
                values[i] = values[i] + value;
            }
        }
    }

    static __device__ __forceinline__ BagBounds load_bounds(const BagSource& source, long long bag,
                                                            long long bags) {
        if constexpr (!Kind::HAS_OFFSETS) {
            return {0, source.id_count};
        } else {
            const auto* const offsets = static_cast<const Offset*>(source.offsets);
            const bool has_next = Kind::INCLUDE_LAST_OFFSET || bag + 1 < bags;
            const long long begin = offsets[bag * Kind::OFFSET_STRIDE];
            const long long end =
                has_next ? static_cast<long long>(offsets[(bag + 1) * Kind::OFFSET_STRIDE]) : source.id_count;
            return {begin, end};
        }
    }

    // The bounds clamped to the ids that there are; malformed ones are recorded.
    static __device__ __forceinline__ BagBounds checked(const BagSource& source, long long bag,
                                                        long long bags, const BagBounds& bounds, bool reports,
                                                        Faults* faults) {
        if constexpr (!Kind::HAS_OFFSETS) {
            return bounds;
        } else {
            const bool is_good = 0 <= bounds.begin && bounds.begin <= bounds.end &&
                                 bounds.end <= source.id_count && (bag > 0 || bounds.begin == 0);
            if (!is_good && reports) {
                report_offsets(bag, bags, bounds.begin, bounds.end, source.id_count, source.offset_site,
                               faults);
            }
            return {clamp(bounds.begin, source.id_count), clamp(bounds.end, source.id_count)};
        }
    }

    static __device__ __forceinline__ long long clamp(long long offset, long long limit) {
        return offset < 0 ? 0 : (offset > limit ? limit : offset);
    }

    // Arguments are numbers: a struct passed by reference would live in memory on the hot path too.
    // Each malformed offset is recorded once: one out of range by the bag that it begins, or by the last bag
    // where it ends that; one that falls by the bag that it ends.
    static __device__ __noinline__ void report_offsets(long long bag, long long bags, long long begin,
                                                       long long end, long long id_count, int site,
                                                       Faults* faults) {
        const bool has_next = Kind::INCLUDE_LAST_OFFSET || bag + 1 < bags;
        const bool ends_last = Kind::INCLUDE_LAST_OFFSET && bag + 1 == bags;
        if (begin < 0 || begin > id_count || (bag == 0 && begin != 0)) {
            record_fault(faults, site, bag, begin, id_count);
        }
        const bool is_outside = end < 0 || end > id_count;
        if (has_next && (is_outside ? ends_last : end < begin)) {
            record_fault(faults, site, bag + 1, end, id_count);
        }
    }

    // The bag's ids once more, off the hot path.
    static __device__ __noinline__ void report_ids(const Id* ids, BagBounds bounds, long long first,
                                                   long long row_count, long long padding_id, int site,
                                                   Faults* faults) {
        for (long long at = bounds.begin; at < bounds.end; ++at) {
            const long long id = ids[at * Kind::ID_STRIDE];
            if (Kind::HAS_PADDING && id == padding_id) continue;
            if (id < 0 || id >= row_count) record_fault(faults, site, first + at, id, row_count);
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH
