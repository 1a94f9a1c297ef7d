// Shared memory: one array for what is dynamic, one section for what is static. Both are filled with 0xFF (a
// NaN) before each block, so that nothing of the block before is left, and what is read unwritten shows.
#ifndef DLRMC_EMULATOR_RUNTIME_SHARED_MEMORY_H
#define DLRMC_EMULATOR_RUNTIME_SHARED_MEMORY_H

#include "state.h"

alignas(
    1024) unsigned char dlrmc_shared[dlrmc_emulator::max_shared_bytes + dlrmc_emulator::shared_guard_bytes];

// The linker's names for the section's ends; null where no kernel has a static array.
extern "C" __attribute__((weak, visibility("hidden"))) unsigned char __start_dlrmc_static_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) unsigned char __stop_dlrmc_static_shared[];

namespace dlrmc_emulator {

constexpr unsigned char poison_byte = 0xff;
constexpr unsigned char guard_byte = 0xa5;

static bool in_section(const void* address) {
    const auto* byte = static_cast<const unsigned char*>(address);
    return (byte >= dlrmc_shared && byte < dlrmc_shared + sizeof dlrmc_shared) ||
           (byte >= __start_dlrmc_static_shared && byte < __stop_dlrmc_static_shared);
}

// In a loop, since memset would ask the sanitizer about the red zones between the arrays of the section.
DLRMC_NO_ASAN static void poison_static_shared() {
    for (volatile unsigned char* byte = __start_dlrmc_static_shared; byte != __stop_dlrmc_static_shared;
         ++byte) {
        *byte = poison_byte;
    }
}

static void poison_shared(int shared_bytes) {
    poison_static_shared();
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
