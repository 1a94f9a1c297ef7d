// Overlap of neighbouring kernels of one request: programmatic dependent launch   (CUDA C++ Programming
// Guide, "Programmatic Dependent Launch and Synchronization"; PTX ISA, griddepcontrol)
//
// Every kernel of a request of several begins with it: it starts when the blocks of the kernel before have
// ended, and waits itself for what is left, so that part of what a launch costs is paid meanwhile. None lets
// the next one start earlier (griddepcontrol.launch_dependents): its blocks would gather where there is room,
// two on one multiprocessor and none on another, which was measured to cost more. Where a kernel is launched
// without a programmatic edge, and before compute capability 9.0, it does nothing.
#ifndef DLRMC_CODEGEN_CUDA_KERNEL_CHAIN_CUH
#define DLRMC_CODEGEN_CUDA_KERNEL_CHAIN_CUH

// Waits until the kernel before has ended and its results can be read. That kernel has waited too, so that
// all kernels before it have ended as well.
__device__ __forceinline__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif  // DLRMC_CODEGEN_CUDA_KERNEL_CHAIN_CUH
