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
    long long id_count;    // the number of ids; without offsets, of one bag
    long long bag_stride;  // without offsets: elements from the ids of one bag to those of the next
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

// Completes a source of which the pointers have been written, those of slots as the slots' addresses.
template <bool IDS, bool OFFSETS, bool WEIGHTS>
__device__ __forceinline__ void complete_source(BagSource& source, const BagNumbers& numbers) {
    source.id_count = numbers.id_count < 0 ? read_count(source.ids) : numbers.id_count;
    source.ids = read_pointer<IDS>(source.ids);
    source.offsets = read_pointer<OFFSETS>(source.offsets);
    source.weights = read_pointer<WEIGHTS>(source.weights);
    source.row_count = numbers.row_count;
    source.bag_stride = numbers.bag_stride;
    source.padding_id = numbers.padding_id;
    source.id_site = numbers.id_site;
    source.offset_site = numbers.offset_site;
    source.kind = 0;
}

// The positions [begin, end) of one bag.
struct BagBounds {
    long long begin;
    long long end;
};

#endif  // DLRMC_CODEGEN_CUDA_BAG_SOURCE_CUH
