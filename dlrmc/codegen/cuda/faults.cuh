// Ids and offsets out of range, recorded on the device for the host to report.
#ifndef DLRMC_CODEGEN_CUDA_FAULTS_CUH
#define DLRMC_CODEGEN_CUDA_FAULTS_CUH

// Zeroed by the host. `count` counts the checks that failed: every thread that needs a bad id counts it. The
// other fields describe the one that came first: the site's number, the flat position in the ids, the id and
// the exclusive limit.
struct Faults {
    unsigned int count;
    int site;
    long long position;
    long long value;
    long long limit;
};

__device__ __noinline__ void record_fault(Faults* faults, int site, long long position, long long value,
                                          long long limit) {
    if (atomicAdd(&faults->count, 1u) != 0) return;
    faults->site = site;
    faults->position = position;
    faults->value = value;
    faults->limit = limit;
}

#endif  // DLRMC_CODEGEN_CUDA_FAULTS_CUH
