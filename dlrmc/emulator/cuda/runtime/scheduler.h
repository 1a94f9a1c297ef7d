// Which thread runs next. A thread runs until it waits or returns, then the next one is taken among the ready
// ones: the lowest, the highest, or any.
#ifndef DLRMC_EMULATOR_RUNTIME_SCHEDULER_H
#define DLRMC_EMULATOR_RUNTIME_SCHEDULER_H

#include "state.h"

namespace dlrmc_emulator {

// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled").
unsigned long long next_random() {
    unsigned long long x = machine.random_state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    machine.random_state = x;
    return x * 0x2545f4914f6cdd1dull;
}

void make_ready(int warp, unsigned lanes) {
    machine.warp[warp].ready |= lanes;
    if (lanes != 0) machine.ready_warps |= 1u << warp;
}

void make_ready(int thread) {
    make_ready(thread / lanes_per_warp, 1u << thread % lanes_per_warp);
}

static int lowest_bit(unsigned bits) {
    return __builtin_ctz(bits);
}
static int highest_bit(unsigned bits) {
    return 31 - __builtin_clz(bits);
}
static int random_bit(unsigned bits) {
    for (auto skip = next_random() % static_cast<unsigned>(__builtin_popcount(bits)); skip > 0; --skip)
        bits &= bits - 1;
    return __builtin_ctz(bits);
}

static int pick_bit(unsigned bits) {
    if (machine.order == Order::forward) return lowest_bit(bits);
    if (machine.order == Order::reverse) return highest_bit(bits);
    return random_bit(bits);
}

// Takes the next thread off the ready ones; -1 where there is none.
static int take_next() {
    if (machine.ready_warps == 0) return -1;
    const int warp = pick_bit(machine.ready_warps);
    Warp& chosen = machine.warp[warp];
    const int lane = pick_bit(chosen.ready);
    chosen.ready &= ~(1u << lane);
    if (chosen.ready == 0) machine.ready_warps &= ~(1u << warp);
    return warp * lanes_per_warp + lane;
}

static Fiber& running_fiber() {
    return machine.current < 0 ? machine.host : current_thread().fiber;
}

DLRMC_NO_ASAN static void go_to(int thread, bool leaves) {
    Fiber& from = running_fiber();
    machine.current = thread;
    if (thread >= 0) threadIdx = machine.thread[thread].index;
    switch_fiber(from, running_fiber(), leaves);
}

DLRMC_NO_ASAN void wait_for_turn() {
    const int next = take_next();
    if (next == machine.current) return;
    if (next < 0) {
        report_stuck();
        stop_launch();
    }
    go_to(next, false);
}

DLRMC_NO_ASAN void stop_launch() {
    machine.failed = true;
    go_to(-1, true);
    __builtin_unreachable();
}

DLRMC_NO_ASAN void leave_block() {
    const int thread = machine.current;
    machine.warp[thread / lanes_per_warp].done |= 1u << thread % lanes_per_warp;
    ++machine.threads_done;
    const int next = take_next();
    if (next < 0 && machine.threads_done < machine.thread_count) {
        report_stuck();
        stop_launch();
    }
    go_to(next, true);
    __builtin_unreachable();
}

DLRMC_NO_ASAN static void thread_main() {
    arrive_on_new_stack();
    machine.kernel->call(machine.arguments);
    leave_block();
}

DLRMC_NO_ASAN void run_block() {
    for (int t = 0; t < machine.thread_count; ++t) {
        prepare(machine.thread[t].fiber, thread_main, static_cast<unsigned>(t));
        make_ready(t);
    }
    go_to(take_next(), false);
}

void yield_thread() {
    make_ready(machine.current);
    wait_for_turn();
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_SCHEDULER_H
