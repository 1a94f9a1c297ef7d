// All pointers of a kernel as one parameter, so that a thread may choose among them by number: one load from
// the constant bank, where a choice among parameters would be a branch for each.
#ifndef DLRMC_CODEGEN_CUDA_KERNEL_POINTERS_CUH
#define DLRMC_CODEGEN_CUDA_KERNEL_POINTERS_CUH

// Has the layout of COUNT parameters that are pointers.
template <int COUNT>
struct KernelPointers {
    void* at[COUNT];
};

#endif  // DLRMC_CODEGEN_CUDA_KERNEL_POINTERS_CUH
