// The copies of cp.async.bulk that nobody has waited for yet, and the barriers that count their bytes.
#ifndef DLRMC_EMULATOR_RUNTIME_BULK_COPIES_H
#define DLRMC_EMULATOR_RUNTIME_BULK_COPIES_H

#include <cstring>

#include "shared_memory.h"
#include "state.h"

namespace dlrmc_emulator {

// A barrier holds this and the bytes that are expected and have not come: shared memory is poisoned with
// ones, so that a barrier that nobody has made shows.
constexpr unsigned long long barrier_mark = 0x5aull << 56;

static unsigned long long& barrier_of(void* barrier, int line) {
    if (reinterpret_cast<std::uintptr_t>(barrier) % 8 != 0 || !is_shared(barrier, 8)) {
        fail_at(line, "a barrier of copies at %p, which is no aligned place in shared memory", barrier);
    }
    return *static_cast<unsigned long long*>(barrier);
}

static unsigned long long& made_barrier_of(void* barrier, int line) {
    unsigned long long& bits = barrier_of(barrier, line);
    if (bits >> 56 != barrier_mark >> 56) fail_at(line, "a barrier of copies that nobody has made");
    return bits;
}

void init_copy_barrier(void* barrier, int line) {
    barrier_of(barrier, line) = barrier_mark;
}

void expect_copies(void* barrier, int bytes, int line) {
    made_barrier_of(barrier, line) += static_cast<unsigned long long>(bytes);
}

void copy_in_bulk(void* shared, const void* global, int bytes, void* barrier, int line) {
    made_barrier_of(barrier, line);
    if (bytes <= 0 || bytes % 16 != 0) fail_at(line, "cp.async.bulk of %d bytes", bytes);
    if (reinterpret_cast<std::uintptr_t>(shared) % 16 != 0) {
        fail_at(line, "cp.async.bulk to %p, which is no multiple of 16", shared);
    }
    if (reinterpret_cast<std::uintptr_t>(global) % 16 != 0) {
        fail_at(line, "cp.async.bulk from %p, which is no multiple of 16", global);
    }
    if (!is_shared(shared, static_cast<std::size_t>(bytes))) {
        fail_at(line, "cp.async.bulk to %p, which is not in shared memory", shared);
    }
    machine.bulk_copies.push_back({shared, global, bytes, barrier});
}

void finish_bulk_copies(void* barrier, int line) {
    unsigned long long& bits = made_barrier_of(barrier, line);
    std::vector<BulkCopy> others;
    for (const BulkCopy& copy : machine.bulk_copies) {
        if (copy.barrier != barrier) {
            others.push_back(copy);
            continue;
        }
        std::memcpy(copy.shared, copy.global, static_cast<std::size_t>(copy.bytes));
        bits -= static_cast<unsigned long long>(copy.bytes);
    }
    machine.bulk_copies.swap(others);
    if (bits != barrier_mark) fail_at(line, "a wait for copies that nobody has asked for");
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_BULK_COPIES_H
