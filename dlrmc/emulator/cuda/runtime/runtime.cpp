// The emulator's runtime: compiled once for a compiler and its flags, linked into every module.
// clang-format off: the parts that include system headers first
#include "report.h"
#include "traps.h"
#include "shared_memory.h"
#include "async_copies.h"
#include "bulk_copies.h"
#include "barriers.h"
#include "scheduler.h"
#include "tensor_core.h"
#include "warp_operations.h"
// clang-format on

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace dlrmc_emulator {

Machine machine;

long long next_clock() {
    return machine.clock += 4;
}

// What dlrmc/emulator/module.py fills in; the same layout as its ctypes.Structure.
struct LaunchRequest {
    int kernel;
    unsigned grid[3], block[3];
    int shared_bytes;
    int order;
    unsigned long long seed;
    void* const* arguments;
    char* stacks;  // from dlrmc_emulator_allocate_stacks
};

static void place_threads(const unsigned (&block)[3]) {
    for (int t = 0; t < machine.thread_count; ++t) {
        const auto number = static_cast<unsigned>(t);
        machine.thread[t].index = {number % block[0], number / block[0] % block[1],
                                   number / block[0] / block[1]};
    }
}

static void begin_launch(const LaunchRequest& request) {
    machine.kernel = &kernel_table[request.kernel];
    machine.arguments = request.arguments;
    machine.order = static_cast<Order>(request.order);
    machine.random_state = request.seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
    if (machine.random_state == 0) machine.random_state = 1;
    machine.thread_count = static_cast<int>(request.block[0] * request.block[1] * request.block[2]);
    machine.warp_count = (machine.thread_count + lanes_per_warp - 1) / lanes_per_warp;
    machine.current = -1;
    machine.failed = false;
    machine.error[0] = '\0';
    gridDim = {request.grid[0], request.grid[1], request.grid[2]};
    blockDim = {request.block[0], request.block[1], request.block[2]};
    place_threads(request.block);
    for (int t = 0; t < machine.thread_count; ++t)
        give_stack(machine.thread[t].fiber, request.stacks, t);
    adopt_current_stack(machine.host);
}

static void begin_block(unsigned block, int shared_bytes) {
    blockIdx = {block % gridDim.x, block / gridDim.x % gridDim.y, block / gridDim.x / gridDim.y};
    machine.threads_done = 0;
    machine.ready_warps = 0;
    for (int w = 0; w < machine.warp_count; ++w) {
        const int lanes = machine.thread_count - w * lanes_per_warp;
        machine.warp[w] = {};
        machine.warp[w].exists = lanes >= lanes_per_warp ? 0xffffffffu : (1u << lanes) - 1;
    }
    for (Barrier& barrier : machine.barrier)
        barrier = {};
    for (int t = 0; t < machine.thread_count; ++t) {
        Thread& thread = machine.thread[t];
        thread.waiting = Waiting::no;
        thread.copies.clear();
        thread.groups = 0;
    }
    machine.bulk_copies.clear();
    poison_shared(shared_bytes);
}

// Blocks go in the order of the threads: forward, reverse, or shuffled (Fisher-Yates).
static std::vector<unsigned> order_of_blocks() {
    std::vector<unsigned> blocks(gridDim.x * gridDim.y * gridDim.z);
    const std::size_t count = blocks.size();
    for (std::size_t i = 0; i < count; ++i) {
        blocks[i] = static_cast<unsigned>(machine.order == Order::reverse ? count - 1 - i : i);
    }
    for (std::size_t i = count; machine.order == Order::random && i > 1; --i) {
        const std::size_t other = next_random() % i;
        const unsigned block = blocks[i - 1];
        blocks[i - 1] = blocks[other];
        blocks[other] = block;
    }
    return blocks;
}

static void run_blocks(int shared_bytes) {
    const std::vector<unsigned> blocks = order_of_blocks();
    const TrapGuard traps;
    guard_shared(shared_bytes);
    for (const unsigned block : blocks) {
        begin_block(block, shared_bytes);
        run_block();
        if (machine.failed) return;
        const int overrun = find_overrun(shared_bytes);
        if (overrun < 0) continue;
        machine.failed = true;
        write_error(0, "block (%u,%u,%u) wrote byte %d of its dynamic shared memory, which has %d bytes",
                    blockIdx.x, blockIdx.y, blockIdx.z, overrun, shared_bytes);
        return;
    }
}

}  // namespace dlrmc_emulator

// Runs one kernel over its whole grid. Returns null, or the error's text, valid until the next launch.
extern "C" __attribute__((visibility("default"))) const char* dlrmc_emulator_launch(
    const dlrmc_emulator::LaunchRequest* request) {
    using namespace dlrmc_emulator;
    if (request->shared_bytes > max_shared_bytes) return "0|launch|more shared memory than any GPU has";
    begin_launch(*request);
    run_blocks(request->shared_bytes);
    return machine.failed ? machine.error : nullptr;
}

// Stacks for the largest block, for LaunchRequest::stacks of one launch at a time in this process; null: no
// memory.
extern "C" __attribute__((visibility("default"))) char* dlrmc_emulator_allocate_stacks() {
    return dlrmc_emulator::allocate_stacks(dlrmc_emulator::max_threads);
}
