// What an error says: which kernel, block, thread and line, and who waits where.
#ifndef DLRMC_EMULATOR_RUNTIME_REPORT_H
#define DLRMC_EMULATOR_RUNTIME_REPORT_H

#include <cstdarg>
#include <cstdio>

#include "state.h"

namespace dlrmc_emulator {

// The first line is read by dlrmc/emulator/faults.py: "LINE|PLACE|WHAT", then lines of detail.
static int write_place(int line) {
    const int thread = machine.current;
    const char* name = machine.kernel == nullptr ? "?" : machine.kernel->name;
    char* text = machine.error;
    const int size = sizeof machine.error;
    if (thread < 0) return std::snprintf(text, size, "%d|kernel %s|", line, name);
    return std::snprintf(text, size, "%d|kernel %s, block (%u,%u,%u), thread (%u,%u,%u)|", line, name,
                         blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}

static void append_v(const char* format, va_list values) {
    const int used = static_cast<int>(__builtin_strlen(machine.error));
    std::vsnprintf(machine.error + used, sizeof machine.error - static_cast<std::size_t>(used), format,
                   values);
}

__attribute__((format(printf, 1, 2))) static void append(const char* format, ...) {
    va_list values;
    va_start(values, format);
    append_v(format, values);
    va_end(values);
}

void write_error(int line, const char* format, ...) {
    write_place(line);
    va_list values;
    va_start(values, format);
    append_v(format, values);
    va_end(values);
}

void fail_at(int line, const char* format, ...) {
    write_place(line);
    va_list values;
    va_start(values, format);
    append_v(format, values);
    va_end(values);
    stop_launch();
}

void fail(const char* what, int line) {
    fail_at(line, "%s", what);
}

const char* name_of(WarpOp op) {
    switch (op) {
        case WarpOp::sync:
            return "__syncwarp";
        case WarpOp::shuffle:
            return "a shuffle";
        case WarpOp::ballot:
            return "__ballot_sync";
        case WarpOp::any:
            return "__any_sync";
        case WarpOp::all:
            return "__all_sync";
        case WarpOp::reduce:
            return "a warp reduce";
        case WarpOp::match:
            return "__match_any_sync";
        case WarpOp::mma_tf32:
            return "mma_m16n8k8_tf32";
        case WarpOp::mma_bf16:
            return "mma_m16n8k16_bf16";
    }
    return "?";
}

// Threads that wait at the same place, for the same thing.
struct WaitGroup {
    Waiting waiting;
    int line, barrier, threads, count, first;
    WarpOp op;
    unsigned mask;
};

static WaitGroup wait_of(int thread) {
    const Thread& t = machine.thread[thread];
    WaitGroup group{t.waiting, t.line, 0, 0, 1, thread, WarpOp::sync, 0};
    if (t.waiting == Waiting::named_barrier) {
        group.barrier = t.barrier;
        group.threads = t.threads;
    }
    if (t.waiting == Waiting::warp_operation) {
        const Warp& warp = machine.warp[thread / lanes_per_warp];
        group.op = warp.op[thread % lanes_per_warp];
        group.mask = warp.mask[thread % lanes_per_warp];
    }
    return group;
}

static bool same_wait(const WaitGroup& x, const WaitGroup& y) {
    return x.waiting == y.waiting && x.line == y.line && x.barrier == y.barrier && x.threads == y.threads &&
           x.op == y.op && x.mask == y.mask &&
           (x.waiting != Waiting::warp_operation || x.first / lanes_per_warp == y.first / lanes_per_warp);
}

static void append_group(const WaitGroup& group) {
    append("\n%d of %d threads (first: thread %d) wait at line %d in ", group.count, machine.thread_count,
           group.first, group.line);
    if (group.waiting == Waiting::block_barrier) append("__syncthreads for all %d", machine.thread_count);
    if (group.waiting == Waiting::named_barrier) {
        append("barrier %d for %d threads, of which %d have come", group.barrier, group.threads,
               machine.barrier[group.barrier].arrived);
    }
    if (group.waiting == Waiting::warp_operation) {
        append("%s of warp %d for the lanes 0x%08x", name_of(group.op), group.first / lanes_per_warp,
               group.mask);
    }
}

// Nobody is ready and not everybody has returned: says who waits where, at most eight groups of threads.
void report_stuck() {
    constexpr int max_groups = 8;
    WaitGroup groups[max_groups];
    int count = 0, returned = 0, first_returned = -1, left_out = 0;
    for (int t = 0; t < machine.thread_count; ++t) {
        if (machine.warp[t / lanes_per_warp].done >> t % lanes_per_warp & 1u) {
            first_returned = returned++ == 0 ? t : first_returned;
            continue;
        }
        const WaitGroup mine = wait_of(t);
        int g = 0;
        while (g < count && !same_wait(groups[g], mine))
            ++g;
        if (g < count) {
            ++groups[g].count;
        } else if (count < max_groups) {
            groups[count++] = mine;
        } else {
            ++left_out;
        }
    }
    std::snprintf(machine.error, sizeof machine.error,
                  "%d|kernel %s, block (%u,%u,%u)|deadlock: ", count > 0 ? groups[0].line : 0,
                  machine.kernel->name, blockIdx.x, blockIdx.y, blockIdx.z);
    append("threads wait for others that never come");
    for (int g = 0; g < count; ++g)
        append_group(groups[g]);
    if (left_out > 0) append("\n%d more threads wait elsewhere", left_out);
    if (returned > 0) {
        append("\n%d of %d threads (first: thread %d) have returned from the kernel", returned,
               machine.thread_count, first_returned);
    }
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_REPORT_H
