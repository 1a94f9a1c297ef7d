// What kernel code asks of the machine: its indices, barriers, warp-wide operations, copies, and a way to
// fail.
//
// runtime/runtime.cpp answers. No system header is included by this file or its neighbours: a kernel builds
// in a fraction of a second, and sees no name that NVRTC would not give it.
#ifndef DLRMC_EMULATOR_MACHINE_H
#define DLRMC_EMULATOR_MACHINE_H

#include "vector_types.h"

using size_t = decltype(sizeof(0));

// Set by the scheduler whenever a thread goes on; a block's threads share one OS thread.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

namespace dlrmc_emulator {

enum class BlockVote { plain, count, all, any };
enum class WarpOp { sync, shuffle, ballot, any, all, reduce, match, mma_tf32, mma_bf16 };

// Computes the results of a warp-wide operation once all lanes of `mask` have arrived; slots[lane] is what
// each gave.
using FinishWarpOp = void (*)(void* const* slots, unsigned mask);

int block_barrier(BlockVote vote, int predicate, int line);
void named_barrier(int id, int threads, bool waits, int line);
void warp_collective(WarpOp op, unsigned mask, void* slot, FinishWarpOp finish, int line);
unsigned lane_of_current_thread();
unsigned lanes_alive();
void yield_thread();
long long next_clock();

void copy_later(void* shared, const void* global, int bytes, int valid_bytes, int line);
void close_copy_group();
void finish_copies(int groups_left);
inline constexpr int finish_uncommitted_too = -1;

void init_copy_barrier(void* barrier, int line);
void expect_copies(void* barrier, int bytes, int line);
void copy_in_bulk(void* shared, const void* global, int bytes, void* barrier, int line);
void finish_bulk_copies(void* barrier, int line);

void register_shared_array(void* address, size_t bytes);

// The module's table of kernels, which dlrmc/emulator/build.py writes.
struct KernelEntry {
    const char* name;
    void (*call)(void* const* arguments);
};
extern const KernelEntry kernel_table[];

// Ends the launch with an error that names the kernel, the block, the thread and the line.
[[noreturn]] void fail(const char* what, int line);

}  // namespace dlrmc_emulator

inline void __syncthreads(int line = __builtin_LINE()) {
    dlrmc_emulator::block_barrier(dlrmc_emulator::BlockVote::plain, 0, line);
}
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
    return dlrmc_emulator::block_barrier(dlrmc_emulator::BlockVote::count, predicate, line);
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
    return dlrmc_emulator::block_barrier(dlrmc_emulator::BlockVote::all, predicate, line);
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
    return dlrmc_emulator::block_barrier(dlrmc_emulator::BlockVote::any, predicate, line);
}

// Threads change places only where they wait, and memory is one: fences have nothing to do.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {
    dlrmc_emulator::yield_thread();
}
inline long long clock64() {
    return dlrmc_emulator::next_clock();
}
[[noreturn]] inline void __trap(int line = __builtin_LINE()) {
    dlrmc_emulator::fail("__trap", line);
}

namespace dlrmc_emulator {

inline void named_barrier_sync(int id, int threads, int line = __builtin_LINE()) {
    named_barrier(id, threads, true, line);
}
inline void named_barrier_arrive(int id, int threads, int line = __builtin_LINE()) {
    named_barrier(id, threads, false, line);
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_MACHINE_H
