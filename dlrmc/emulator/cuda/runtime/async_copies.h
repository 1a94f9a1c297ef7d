// The copies of cp.async that nobody has waited for yet.
#ifndef DLRMC_EMULATOR_RUNTIME_ASYNC_COPIES_H
#define DLRMC_EMULATOR_RUNTIME_ASYNC_COPIES_H

#include <cstring>

#include "shared_memory.h"
#include "state.h"

namespace dlrmc_emulator {

static void check_copy(void* shared, const void* global, int bytes, int valid_bytes, int line) {
    const auto size = static_cast<std::uintptr_t>(bytes);
    if (reinterpret_cast<std::uintptr_t>(shared) % size != 0) {
        fail_at(line, "cp.async of %d bytes to %p, which is no multiple of %d", bytes, shared, bytes);
    }
    if (reinterpret_cast<std::uintptr_t>(global) % size != 0) {
        fail_at(line, "cp.async of %d bytes from %p, which is no multiple of %d", bytes, global, bytes);
    }
    if (valid_bytes < 0 || valid_bytes > bytes) {
        fail_at(line, "cp.async of %d bytes, %d of them valid", bytes, valid_bytes);
    }
    if (!is_shared(shared, size)) fail_at(line, "cp.async to %p, which is not in shared memory", shared);
}

void copy_later(void* shared, const void* global, int bytes, int valid_bytes, int line) {
    check_copy(shared, global, bytes, valid_bytes, line);
    Thread& thread = current_thread();
    thread.copies.push_back({shared, global, bytes, valid_bytes, thread.groups});
}

void close_copy_group() {
    ++current_thread().groups;
}

static void make_copy(const PendingCopy& copy) {
    std::memcpy(copy.shared, copy.global, static_cast<std::size_t>(copy.valid_bytes));
    std::memset(static_cast<char*>(copy.shared) + copy.valid_bytes, 0,
                static_cast<std::size_t>(copy.bytes - copy.valid_bytes));
}

void finish_copies(int groups_left) {
    Thread& thread = current_thread();
    const bool all = groups_left == finish_uncommitted_too;
    const long long end = all ? thread.groups + 1 : thread.groups - groups_left;
    std::size_t made = 0;
    while (made < thread.copies.size() && thread.copies[made].group < end)
        make_copy(thread.copies[made++]);
    thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(made));
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_ASYNC_COPIES_H
