// Shared memory: one array for what is dynamic, a list of arrays for what is static. All are filled with 0xFF
// (a NaN) before each block, so that nothing of the block before is left, and what is read unwritten shows.
#ifndef DLRMC_EMULATOR_RUNTIME_SHARED_MEMORY_H
#define DLRMC_EMULATOR_RUNTIME_SHARED_MEMORY_H

#include "state.h"

alignas(
    1024) unsigned char dlrmc_shared[dlrmc_emulator::max_shared_bytes + dlrmc_emulator::shared_guard_bytes];

namespace dlrmc_emulator {

constexpr unsigned char poison_byte = 0xff;
constexpr unsigned char guard_byte = 0xa5;
constexpr int max_shared_arrays = 1024;

// The static arrays of the module that have been met so far.
struct SharedArrays {
    int count;
    unsigned char* address[max_shared_arrays];
    std::size_t bytes[max_shared_arrays];
};
static SharedArrays shared_arrays;

// The first thread to pass the declaration is here before any has used the array.
void register_shared_array(void* address, std::size_t bytes) {
    if (shared_arrays.count == max_shared_arrays) fail_at(0, "more than %d shared arrays", max_shared_arrays);
    shared_arrays.address[shared_arrays.count] = static_cast<unsigned char*>(address);
    shared_arrays.bytes[shared_arrays.count++] = bytes;
    __builtin_memset(address, poison_byte, bytes);
}

static bool is_shared(const void* address, std::size_t bytes) {
    const auto* first = static_cast<const unsigned char*>(address);
    if (first >= dlrmc_shared && first + bytes <= dlrmc_shared + sizeof dlrmc_shared) return true;
    for (int i = 0; i < shared_arrays.count; ++i) {
        const unsigned char* start = shared_arrays.address[i];
        if (first >= start && first + bytes <= start + shared_arrays.bytes[i]) return true;
    }
    return false;
}

static void poison_shared(int shared_bytes) {
    for (int i = 0; i < shared_arrays.count; ++i) {
        __builtin_memset(shared_arrays.address[i], poison_byte, shared_arrays.bytes[i]);
    }
    __builtin_memset(dlrmc_shared, poison_byte, static_cast<std::size_t>(shared_bytes));
}

// What lies behind the block's dynamic shared memory: out of bounds for the sanitizer, else a pattern that
// must stay.
static void guard_shared(int shared_bytes) {
#ifdef DLRMC_EMULATOR_ASAN
    __asan_unpoison_memory_region(dlrmc_shared, sizeof dlrmc_shared);
    __asan_poison_memory_region(dlrmc_shared + shared_bytes,
                                sizeof dlrmc_shared - static_cast<std::size_t>(shared_bytes));
#else
    __builtin_memset(dlrmc_shared + shared_bytes, guard_byte, shared_guard_bytes);
#endif
}

// Offset of the first byte that somebody wrote behind the dynamic shared memory; -1 where nobody did.
static int find_overrun([[maybe_unused]] int shared_bytes) {
#ifndef DLRMC_EMULATOR_ASAN
    for (int i = 0; i < shared_guard_bytes; ++i) {
        if (dlrmc_shared[shared_bytes + i] != guard_byte) return shared_bytes + i;
    }
#endif
    return -1;
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_SHARED_MEMORY_H
