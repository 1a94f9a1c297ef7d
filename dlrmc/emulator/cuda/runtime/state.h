// Everything the runtime keeps about the launch under way. Each module has its own copy; launch.cpp's caller
// sees to it that a module runs one launch at a time.
#ifndef DLRMC_EMULATOR_RUNTIME_STATE_H
#define DLRMC_EMULATOR_RUNTIME_STATE_H

// The system's headers first: the emulator's give the global namespace overloads that the standard library
// would trip over.
// clang-format off
#include <vector>
#include "fiber.h"
#include "../machine.h"
#include "../tensor_core.h"
#include "../warp.h"
// clang-format on

namespace dlrmc_emulator {

constexpr int max_threads = 1024;
constexpr int lanes_per_warp = 32;
constexpr int max_warps = max_threads / lanes_per_warp;
constexpr int barriers_per_block = 16;
constexpr int max_shared_bytes = 227 * 1024;  // of compute capability 9.0, the most of any GPU so far
constexpr int shared_guard_bytes = 4096;

enum class Order : int { forward = 0, reverse = 1, random = 2 };
enum class Waiting : unsigned char { no, block_barrier, named_barrier, warp_operation };

struct PendingCopy {
    void* shared;
    const void* global;
    int bytes, valid_bytes;
    long long group;
};

struct BulkCopy {
    void* shared;
    const void* global;
    int bytes;
    void* barrier;
};

struct Thread {
    Fiber fiber;
    uint3 index;
    Waiting waiting;
    int line;     // of the wait
    int barrier;  // the named barrier waited at
    int threads;  // how many it waits for
    std::vector<PendingCopy> copies;
    long long groups;  // committed so far
};

struct Warp {
    unsigned exists, ready, done;
    unsigned arrived;  // lanes that wait in a warp-wide operation
    unsigned mask[lanes_per_warp];
    WarpOp op[lanes_per_warp];
    void* slot[lanes_per_warp];
};

struct Barrier {
    int arrived, expected, true_predicates;
    BlockVote vote;
    int line, first_thread;  // of the first to arrive
    unsigned waiting[max_warps];
};

struct Machine {
    const KernelEntry* kernel;
    void* const* arguments;
    Order order;
    unsigned long long random_state;
    int thread_count, warp_count, threads_done;
    unsigned ready_warps;
    int current;  // number of the thread that runs, or -1
    int barrier_result;
    long long clock;
    Fiber host;  // whoever called launch
    Thread thread[max_threads];
    Warp warp[max_warps];
    Barrier barrier[barriers_per_block];
    std::vector<BulkCopy> bulk_copies;  // that nobody has waited for
    bool failed;
    char error[4096];
};

extern Machine machine;

inline Thread& current_thread() {
    return machine.thread[machine.current];
}

// ---- scheduler.cpp
// --------------------------------------------------------------------------------------------
void make_ready(int thread);
void make_ready(int warp, unsigned lanes);
// Gives the processor to the next ready thread; returns when the calling thread's turn has come again.
void wait_for_turn();
[[noreturn]] void leave_block();
[[noreturn]] void stop_launch();
// Runs all threads of the block whose state has been prepared, until each has returned or one has failed.
void run_block();
unsigned long long next_random();

// ---- report.cpp
// -----------------------------------------------------------------------------------------------
void write_error(int line, const char* format, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void fail_at(int line, const char* format, ...) __attribute__((format(printf, 2, 3)));
void report_stuck();
const char* name_of(WarpOp op);

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_STATE_H
