// Ids and offsets out of range, recorded on the device for the host to report.
#ifndef DLRMC_CODEGEN_CUDA_FAULTS_CUH
#define DLRMC_CODEGEN_CUDA_FAULTS_CUH

// The record of one kernel, in device memory; dlrmc/codegen/fault_record.py has the same layout. Everything
// but the count of blocks is written by a fault only, so a good call costs one atomic a block, for which
// nobody waits.
struct Faults {
    // Blocks of this kernel that have ended, in all calls. Divided by the grid it says which call is running.
    unsigned long long ended_blocks;
    // Host memory that the device can write, set to 1 by the first fault; may be null.
    unsigned int* news;
    // Checks that failed since the host zeroed it: every thread that needs a bad id counts it. The fields
    // below describe the first: the site's number, the flat position in the ids, the id, the exclusive limit,
    // and `ended_blocks` at that time.
    unsigned int count;
    int site;
    long long position;
    long long value;
    long long limit;
    unsigned long long blocks_before;
};

__device__ __noinline__ void record_fault(Faults* faults, int site, long long position, long long value,
                                          long long limit) {
    if (atomicAdd(&faults->count, 1u) != 0) return;
    faults->site = site;
    faults->position = position;
    faults->value = value;
    faults->limit = limit;
    // The block of this thread has not ended, so the number is at least that of the calls before, times the
    // grid, and less than one grid more.
    faults->blocks_before = atomicAdd(&faults->ended_blocks, 0ull);
    if (faults->news != nullptr) *static_cast<volatile unsigned int*>(faults->news) = 1u;
}

// By one thread of each block, when no thread of the block can record a fault any more.
__device__ __forceinline__ void end_block(Faults* faults) {
    atomicAdd(&faults->ended_blocks, 1ull);
}

#endif  // DLRMC_CODEGEN_CUDA_FAULTS_CUH
