// Lets emitted CUDA source build, as it stands, with a C++17 compiler, and run on the CPU.
//
// A translation unit is this header, the source, and a table of its kernels that dlrmc/emulator/build.py
// writes. docs/emulator.md says what is kept of the CUDA machine and what is not.
#ifndef DLRMC_EMULATOR_EMULATOR_H
#define DLRMC_EMULATOR_EMULATOR_H

#define DLRMC_EMULATED 1

// ---- CUDA's words
// ---------------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(condition) static_cast<void>(0)

// A block's threads run on one OS thread, and blocks one after the other: a static is one block's. build.py
// adds a SharedArray behind each, and turns `extern __shared__` into the second word, since `extern static`
// is no C++.
#define __shared__ static
#define __dynamic_shared__
// The same array: it has the alignment of both.
#define dlrmc_shared_1024 dlrmc_shared

// clang-format off: each of these needs those above it
#include "vector_types.h"
#include "machine.h"
#include "math_functions.h"
#include "intrinsics.h"
#include "atomics.h"
#include "warp.h"
#include "half.h"
#include "async_copy.h"
#include "tensor_core.h"
// clang-format on

// ---- standard C that device code may use
// ----------------------------------------------------------------------

extern "C" int printf(const char* format, ...);

#define assert(condition) \
    ((condition) ? static_cast<void>(0) : ::dlrmc_emulator::fail("assertion failed: " #condition, __LINE__))

namespace dlrmc_emulator {

// One argument of a kernel: becomes whatever pointer the parameter is.
struct AnyPointer {
    void* address;
    template <typename T>
    operator T*() const {
        return static_cast<T*>(address);
    }
};

// Makes a static array in shared memory known to the runtime, which fills it with 0xFF now and before each
// block.
struct SharedArray {
    SharedArray(void* address, size_t bytes) { register_shared_array(address, bytes); }
};

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_EMULATOR_H
