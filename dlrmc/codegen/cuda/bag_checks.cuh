// Where the bags of a table begin and end, and the checks of offsets and ids.
//
// Offsets are clamped to 0 and the number of ids; a bag that ends before it begins is empty. What is
// malformed is recorded by the threads for which `reports` holds.
//
// `Kind` is that of embedding_bag.cuh. All lanes are independent. No barrier, no shared memory.
//
// requires: faults.cuh bag_source.cuh
#ifndef DLRMC_CODEGEN_CUDA_BAG_CHECKS_CUH
#define DLRMC_CODEGEN_CUDA_BAG_CHECKS_CUH

#include "bag_source.cuh"
#include "faults.cuh"

template <typename Kind>
struct BagChecks {
    using Id = typename Kind::Id;
    using Offset = typename Kind::Offset;

    static __device__ __forceinline__ const Id* ids_of(const BagSource& source, long long bag) {
        return static_cast<const Id*>(source.ids) + (Kind::HAS_OFFSETS ? 0 : bag * source.bag_stride);
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

    static __device__ __forceinline__ bool is_below(long long number, long long limit) {
        return static_cast<unsigned long long>(number) < static_cast<unsigned long long>(limit);
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

#endif  // DLRMC_CODEGEN_CUDA_BAG_CHECKS_CUH
