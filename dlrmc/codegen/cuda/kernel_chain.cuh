// Overlap of neighbouring kernels of one request: programmatic dependent launch   (CUDA C++ Programming
// Guide, "Programmatic Dependent Launch and Synchronization"; PTX ISA, griddepcontrol)
//
// Every kernel of a request of several begins with it. The next kernel may then take multiprocessors that
// have room while this one still runs, and waits itself: what it costs to start a grid is paid meanwhile.
// Where a kernel is launched without a programmatic edge, and before compute capability 9.0, it does nothing.
#ifndef DLRMC_CODEGEN_CUDA_KERNEL_CHAIN_CUH
#define DLRMC_CODEGEN_CUDA_KERNEL_CHAIN_CUH

// Lets the next kernel start, and waits until the kernel before has ended and its results can be read. That
// kernel has waited too, so that all kernels before it have ended as well.
__device__ __forceinline__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif  // DLRMC_CODEGEN_CUDA_KERNEL_CHAIN_CUH
