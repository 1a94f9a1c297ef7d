// Thin names for the PTX instructions that the stages use.
//
// On a GPU each is one instruction in inline assembly (PTX ISA, "Instruction Set"). Under DLRMC_EMULATED each
// calls the emulator, which keeps the instruction's contract: emulator/cuda/async_copy.h and tensor_core.h
// say which. Compiles for sm_80 and newer, under NVRTC with nothing included before it.
#ifndef DLRMC_CODEGEN_CUDA_PTX_CUH
#define DLRMC_CODEGEN_CUDA_PTX_CUH

// NVRTC has no <math.h>.
#ifndef INFINITY
#define INFINITY (__int_as_float(0x7f800000))
#endif
#ifndef NAN
#define NAN (__int_as_float(0x7fffffff))
#endif

#ifdef DLRMC_EMULATED

using dlrmc_emulator::bf16_to_f32;
using dlrmc_emulator::bulk_copy;
using dlrmc_emulator::copy_barrier_expect;
using dlrmc_emulator::copy_barrier_init;
using dlrmc_emulator::copy_barrier_wait;
using dlrmc_emulator::cp_async_16;
using dlrmc_emulator::cp_async_16_zero_fill;
using dlrmc_emulator::cp_async_4;
using dlrmc_emulator::cp_async_8;
using dlrmc_emulator::cp_async_commit_group;
using dlrmc_emulator::cp_async_wait_all;
using dlrmc_emulator::cp_async_wait_group;
using dlrmc_emulator::f16_to_f32;
using dlrmc_emulator::f32_to_bf16;
using dlrmc_emulator::f32_to_f16;
using dlrmc_emulator::f32_to_tf32;
using dlrmc_emulator::load_global_early;
using dlrmc_emulator::load_shared_again;
using dlrmc_emulator::mma_m16n8k16_bf16;
using dlrmc_emulator::mma_m16n8k8_tf32;
using dlrmc_emulator::named_barrier_arrive;
using dlrmc_emulator::named_barrier_sync;
using dlrmc_emulator::store_global;

#else

// ---- 16-bit floats, held as their bits
// ------------------------------------------------------------------------

__device__ __forceinline__ float f16_to_f32(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

// To nearest, ties to even; a NaN becomes 0x7fff.
__device__ __forceinline__ unsigned short f32_to_f16(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ __forceinline__ float bf16_to_f32(unsigned short bits) {
    return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

// To nearest, ties to even; a NaN becomes 0x7fff.
__device__ __forceinline__ unsigned short f32_to_bf16(float value) {
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// ---- TF32, held as the bits of a float whose lower 13 are zero
// ------------------------------------------------------------------------

// To nearest: ties to even on sm_90, where it is one instruction, and away from zero before. What is past the
// largest number becomes an infinity; the bits of a NaN before sm_90 are no TF32 number.
__device__ __forceinline__ unsigned f32_to_tf32(float value) {
#if __CUDA_ARCH__ >= 900
    unsigned bits;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
#else
    return (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
#endif
}

// ---- loads from global memory that stay where they stand: the compiler would move an ordinary one, of what
// no thread writes, down to its first use, past barriers too
// -----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void load_global_early(unsigned (&to)[4], const void* from) {
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "l"(from));
}
__device__ __forceinline__ void load_global_early(unsigned (&to)[2], const void* from) {
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from));
}
__device__ __forceinline__ void load_global_early(unsigned (&to)[1], const void* from) {
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(to[0]) : "l"(from));
}

// Reads shared memory even where registers hold the same already.
__device__ __forceinline__ void load_shared_again(unsigned (&to)[4], const float* from) {
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))));
}

// ---- stores of two words at once: the compiler makes two stores of a struct of two floats, which are twice
// as many requests for the same sectors
// -----------------------------------------------------------------------------------------------------------

// `to` is a multiple of 8 bytes.
__device__ __forceinline__ void store_global(void* to, const unsigned (&from)[2]) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(from[0]), "r"(from[1]) : "memory");
}

// ---- barriers over a part of the block
// ------------------------------------------------------------------------

// Waits until `threads` threads (a multiple of 32) have reached barrier `id` (1 to 15; 0 is __syncthreads).
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Counts the calling thread in at barrier `id` and goes on.
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- asynchronous copies from global to shared memory
// ---------------------------------------------------------

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Each copies 4, 8 or 16 bytes; both addresses are multiples of the size. Seen after a wait, and by other
// threads after a barrier behind the wait.
__device__ __forceinline__ void cp_async_4(void* shared, const void* global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(global)
                 : "memory");
}

__device__ __forceinline__ void cp_async_8(void* shared, const void* global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(shared)), "l"(global)
                 : "memory");
}

__device__ __forceinline__ void cp_async_16(void* shared, const void* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global)
                 : "memory");
}

// Reads the first `valid_bytes` (0 to 16) and fills the rest of the 16 with zero; with 0 nothing is read.
__device__ __forceinline__ void cp_async_16_zero_fill(void* shared, const void* global, int valid_bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid_bytes)
                 : "memory");
}

__device__ __forceinline__ void cp_async_commit_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most PENDING of the calling thread's newest groups are still under way.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Waits for all of the calling thread's copies, committed or not.
__device__ __forceinline__ void cp_async_wait_all() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// ---- bulk copies from global to shared memory (sm_90): one thread asks, and a barrier in shared memory
// counts the bytes that come
// -----------------------------------------------------------------------------------------------------------

// By the thread that will ask for the copies. Other threads may wait once they have met it at a
// __syncthreads.
__device__ __forceinline__ void copy_barrier_init(long long* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// How many bytes will come, by the same thread, once.
__device__ __forceinline__ void copy_barrier_expect(long long* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

// A multiple of 16 bytes between multiples of 16.
__device__ __forceinline__ void bulk_copy(void* shared, const void* global, int bytes, long long* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(shared)),
        "l"(global), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

// Waits until all expected bytes are there and seen by the calling thread.
__device__ __forceinline__ void copy_barrier_wait(long long* barrier) {
    unsigned is_done = 0;
    do {
        asm volatile(
            "{\n .reg .pred done;\n mbarrier.try_wait.parity.shared::cta.b64 done, [%1], 0;\n"
            " selp.u32 %0, 1, 0, done;\n}"
            : "=r"(is_done)
            : "r"(shared_address(barrier))
            : "memory");
    } while (!is_done);
}

// ---- tensor cores: D = A * B + C over one warp, all 32 lanes together; not volatile, so that the compiler
// may interleave products that do not depend on each other
// -----------------------------------------

// A is 16x8, B 8x8, C and D 16x8 in f32. With g = lane / 4 and t = lane % 4 a lane holds
//   a: (g, t) (g+8, t) (g, t+4) (g+8, t+4)    b: (t, g) (t+4, g)    c, d: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8,
//   2t+1)
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4],
                                                 const unsigned (&b)[2], const float (&c)[4]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
          "f"(c[3]));
}

// A is 16x16, B 16x8 in bf16, two to a register, the lower column (of A) or row (of B) in the low half:
//   a: (g, 2t) (g+8, 2t) (g, 2t+8) (g+8, 2t+8) and their neighbours    b: (2t, g) (2t+8, g) and theirs    c,
//   d: as above
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4],
                                                  const unsigned (&b)[2], const float (&c)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
          "f"(c[3]));
}

#endif  // DLRMC_EMULATED
#endif  // DLRMC_CODEGEN_CUDA_PTX_CUH
