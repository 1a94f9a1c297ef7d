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
// requires: views.cuh faults.cuh
#ifndef DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH
#define DLRMC_CODEGEN_CUDA_EMBEDDING_BAG_CUH

#include "faults.cuh"
#include "views.cuh"

enum class BagMode { sum, mean, max };

// One table and its bags, as numbers: what differs from table to table without being worth code of its own.
struct BagSource {
    const void* table;
    const void* ids;
    const void* offsets;
    const void* weights;
    long long row_count;
    long long id_count;    // the number of ids; without offsets, of one bag
    long long bag_stride;  // without offsets: elements from the ids of one bag to those of the next
    long long padding_id;  // -1 for none
    int id_site;
    int offset_site;
    int kind;
};

// The positions [begin, end) of one bag.
struct BagBounds {
    long long begin;
    long long end;
};

template <typename Kind>
struct EmbeddingBag {
    using Element = typename Kind::Element;
    using Id = typename Kind::Id;
    using Offset = typename Kind::Offset;
    using Compute = compute_type<Element>;

    // Columns first_column to first_column + VECTOR of bag `bag` to `y`.
    static __device__ __forceinline__ void run(const BagSource& source, long long bag, long long bags,
                                               int first_column, bool reports, Element* y, Faults* faults) {
        const BagBounds bounds = bounds_of(source, bag, bags, reports, faults);
        const Id* const ids =
            static_cast<const Id*>(source.ids) + (Kind::HAS_OFFSETS ? 0 : bag * source.bag_stride);
        const Element* const weights =
            static_cast<const Element*>(source.weights) + (Kind::HAS_WEIGHTS ? bag * Kind::WEIGHT_BAG : 0);
        Compute values[Kind::VECTOR] = {};
        long long count = 0;
        bool is_bad = false;
        for (long long at = bounds.begin; at < bounds.end; at += Kind::IN_FLIGHT) {
            add_rows(source, ids, weights, at, bounds.end, first_column, values, count, is_bad);
        }
        if (is_bad && reports) {
            const long long first = Kind::HAS_OFFSETS ? 0 : bag * source.id_count;
            report_ids(ids, bounds, first, source.row_count, source.padding_id, source.id_site, faults);
        }
        if constexpr (Kind::MODE == BagMode::mean) {
#pragma unroll
            for (int i = 0; i < Kind::VECTOR; ++i) {
                if (count > 0) values[i] = values[i] / static_cast<Compute>(count);
            }
        }
        if constexpr (Kind::Y_IS_PACKED) {
            store_pack<Kind::VECTOR>(y, values);
        } else {
#pragma unroll
            for (int i = 0; i < Kind::VECTOR; ++i)
                y[i * Kind::Y_COLUMN] = from_float<Element>(values[i]);
        }
    }

  private:
    // Up to IN_FLIGHT rows from position `at` on.
    static __device__ __forceinline__ void add_rows(const BagSource& source, const Id* ids,
                                                    const Element* weights, long long at, long long end,
                                                    int first_column, Compute (&values)[Kind::VECTOR],
                                                    long long& count, bool& is_bad) {
        const Element* const table =
            static_cast<const Element*>(source.table) + first_column * Kind::TABLE_COLUMN;
        long long id[Kind::IN_FLIGHT];
        bool is_read[Kind::IN_FLIGHT];
        Pack<Element, Kind::VECTOR> rows[Kind::IN_FLIGHT];
        Element weight[Kind::IN_FLIGHT] = {};
#pragma unroll
        for (int i = 0; i < Kind::IN_FLIGHT; ++i) {
            is_read[i] = at + i < end;
            id[i] = is_read[i] ? static_cast<long long>(ids[(at + i) * Kind::ID_STRIDE]) : 0;
        }
#pragma unroll
        for (int i = 0; i < Kind::IN_FLIGHT; ++i) {
            is_read[i] = is_read[i] && !(Kind::HAS_PADDING && id[i] == source.padding_id);
            const bool is_row = 0 <= id[i] && id[i] < source.row_count;
            is_bad = is_bad || (is_read[i] && !is_row);
            is_read[i] = is_read[i] && is_row;
            rows[i] = {};
            if (is_read[i]) rows[i] = load_row(table + id[i] * Kind::TABLE_ROW);
            if (Kind::HAS_WEIGHTS && is_read[i]) weight[i] = weights[(at + i) * Kind::WEIGHT_STRIDE];
        }
#pragma unroll
        for (int i = 0; i < Kind::IN_FLIGHT; ++i) {
            if (!is_read[i]) continue;
            add_row(rows[i], weight[i], count == 0, values);
            ++count;
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

    static __device__ __forceinline__ BagBounds bounds_of(const BagSource& source, long long bag,
                                                          long long bags, bool reports, Faults* faults) {
        if constexpr (!Kind::HAS_OFFSETS) {
            return {0, source.id_count};
        } else {
            const auto* const offsets = static_cast<const Offset*>(source.offsets);
            const bool has_next = Kind::INCLUDE_LAST_OFFSET || bag + 1 < bags;
            const long long begin = offsets[bag * Kind::OFFSET_STRIDE];
            const long long end =
                has_next ? static_cast<long long>(offsets[(bag + 1) * Kind::OFFSET_STRIDE]) : source.id_count;
            const bool is_good =
                0 <= begin && begin <= end && end <= source.id_count && (bag > 0 || begin == 0);
            if (!is_good && reports) {
                report_offsets(bag, bags, begin, end, source.id_count, source.offset_site, faults);
            }
            const long long clamped = clamp(begin, source.id_count);
            return {clamped, clamp(end, source.id_count)};
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
