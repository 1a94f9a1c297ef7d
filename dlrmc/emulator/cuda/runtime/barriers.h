// Block-wide and named barriers (PTX ISA, "bar, barrier").
#ifndef DLRMC_EMULATOR_RUNTIME_BARRIERS_H
#define DLRMC_EMULATOR_RUNTIME_BARRIERS_H

#include "state.h"

namespace dlrmc_emulator {

static void open_barrier(Barrier& barrier, int expected, BlockVote vote, int line) {
    if (barrier.arrived != 0) return;
    barrier.expected = expected;
    barrier.vote = vote;
    barrier.line = line;
    barrier.first_thread = machine.current;
    barrier.true_predicates = 0;
}

static void sleep_at(Barrier& barrier, Waiting waiting, int line) {
    Thread& thread = current_thread();
    thread.waiting = waiting;
    thread.line = line;
    barrier.waiting[machine.current / lanes_per_warp] |= 1u << machine.current % lanes_per_warp;
}

// Counts the caller in. With the last one all who wait may go on.
static bool count_in(Barrier& barrier) {
    if (++barrier.arrived < barrier.expected) return false;
    barrier.arrived = 0;
    for (int w = 0; w < machine.warp_count; ++w) {
        make_ready(w, barrier.waiting[w]);
        barrier.waiting[w] = 0;
    }
    return true;
}

static int result_of(const Barrier& barrier) {
    if (barrier.vote == BlockVote::count) return barrier.true_predicates;
    if (barrier.vote == BlockVote::all) return barrier.true_predicates == machine.thread_count;
    return barrier.true_predicates != 0;
}

// CUDA allows __syncthreads in a branch only where all threads of the block take the branch.
static void check_same_call(const Barrier& barrier, BlockVote vote, int line) {
    if (barrier.line == line && barrier.vote == vote) return;
    fail_at(
        line,
        "this thread is at __syncthreads of line %d while thread %d and others are at the one of line %d; "
        "%d of %d threads had come",
        line, barrier.first_thread, barrier.line, barrier.arrived, machine.thread_count);
}

int block_barrier(BlockVote vote, int predicate, int line) {
    Barrier& barrier = machine.barrier[0];
    open_barrier(barrier, machine.thread_count, vote, line);
    check_same_call(barrier, vote, line);
    barrier.true_predicates += predicate != 0;
    sleep_at(barrier, Waiting::block_barrier, line);
    if (count_in(barrier)) machine.barrier_result = result_of(barrier);
    wait_for_turn();
    current_thread().waiting = Waiting::no;
    return machine.barrier_result;
}

static void check_named_barrier(int id, int threads, int line) {
    if (id < 1 || id >= barriers_per_block) fail_at(line, "barrier %d: named barriers are 1 to 15", id);
    if (threads < lanes_per_warp || threads % lanes_per_warp != 0) {
        fail_at(line, "barrier %d for %d threads: the number is a multiple of 32", id, threads);
    }
    if (threads > machine.warp_count * lanes_per_warp) {
        fail_at(line, "barrier %d for %d threads: the block has %d", id, threads, machine.thread_count);
    }
    const Barrier& barrier = machine.barrier[id];
    if (barrier.arrived != 0 && barrier.expected != threads) {
        fail_at(line, "barrier %d for %d threads, but thread %d came at line %d and waits for %d", id,
                threads, barrier.first_thread, barrier.line, barrier.expected);
    }
}

void named_barrier(int id, int threads, bool waits, int line) {
    check_named_barrier(id, threads, line);
    Barrier& barrier = machine.barrier[id];
    open_barrier(barrier, threads, BlockVote::plain, line);
    if (!waits) {
        count_in(barrier);
        return;
    }
    sleep_at(barrier, Waiting::named_barrier, line);
    current_thread().barrier = id;
    current_thread().threads = threads;
    count_in(barrier);
    wait_for_turn();
    current_thread().waiting = Waiting::no;
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_BARRIERS_H
