// What a stage of embedding bags knows of one table, as numbers.
//
// requires: scalars.cuh
#ifndef DLRMC_CODEGEN_CUDA_BAG_SOURCE_CUH
#define DLRMC_CODEGEN_CUDA_BAG_SOURCE_CUH

enum class BagMode { sum, mean, max };

// One table and its bags, as numbers: what differs from table to table without being worth code of its own.
struct BagSource {
    const void* table;
    const void* ids;
    const void* offsets;
    const void* weights;
    long long row_count;
    long long id_count;  // the number of ids; without offsets, of one bag
    // Elements from the ids of one bag to those of the next; with offsets, if all bags were of one length.
    long long bag_stride;
    long long padding_id;  // -1 for none
    int id_site;
    int offset_site;
    int kind;
};

// The numbers of a BagSource.
struct BagNumbers {
    long long row_count;
    long long id_count;  // -1 where it comes with the call
    long long bag_stride;
    long long padding_id;
    int id_site;
    int offset_site;
};

template <bool IS_INDIRECT>
__device__ __forceinline__ const void* read_pointer(const void* pointer) {
    return IS_INDIRECT ? *static_cast<const void* const*>(pointer) : pointer;
}

// The number of elements that stands behind the pointer in a slot of the call.
__device__ __forceinline__ long long read_count(const void* slot) {
    return static_cast<const long long*>(slot)[1];
}

// The pointers of a BagSource, those of slots as the slots' addresses.
struct BagPointers {
    const void* table;
    const void* ids;
    const void* offsets;
    const void* weights;
};

template <bool IDS, bool OFFSETS, bool WEIGHTS>
__device__ __forceinline__ BagSource bag_source(const BagPointers& pointers, const BagNumbers& numbers) {
    return {pointers.table,
            read_pointer<IDS>(pointers.ids),
            read_pointer<OFFSETS>(pointers.offsets),
            read_pointer<WEIGHTS>(pointers.weights),
            numbers.row_count,
            numbers.id_count < 0 ? read_count(pointers.ids) : numbers.id_count,
            numbers.bag_stride,
            numbers.padding_id,
            numbers.id_site,
            numbers.offset_site,
            0};
}

// The positions [begin, end) of one bag.
struct BagBounds {
    long long begin;
    long long end;
};

#endif  // DLRMC_CODEGEN_CUDA_BAG_SOURCE_CUH
