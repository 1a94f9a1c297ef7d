// cp.async and cp.async.bulk (PTX ISA, "Data Movement"): copies that are seen only after a wait, and loads.
//
// A copy is kept aside until the thread that asked for it waits for its group, the latest moment that the
// instruction allows: code that reads without the wait sees the old bytes. Where the barrier behind the wait
// is missing, the result depends on the order of the threads. A copy that is never waited for is never made.
#ifndef DLRMC_EMULATOR_ASYNC_COPY_H
#define DLRMC_EMULATOR_ASYNC_COPY_H

#include "machine.h"

namespace dlrmc_emulator {

inline void cp_async_4(void* shared, const void* global, int line = __builtin_LINE()) {
    copy_later(shared, global, 4, 4, line);
}
inline void cp_async_8(void* shared, const void* global, int line = __builtin_LINE()) {
    copy_later(shared, global, 8, 8, line);
}
inline void cp_async_16(void* shared, const void* global, int line = __builtin_LINE()) {
    copy_later(shared, global, 16, 16, line);
}
inline void cp_async_16_zero_fill(void* shared, const void* global, int valid_bytes,
                                  int line = __builtin_LINE()) {
    copy_later(shared, global, 16, valid_bytes, line);
}
inline void cp_async_commit_group() {
    close_copy_group();
}
template <int PENDING>
inline void cp_async_wait_group() {
    static_assert(PENDING >= 0, "a number of groups");
    finish_copies(PENDING);
}
inline void cp_async_wait_all() {
    finish_copies(finish_uncommitted_too);
}

// cp.async.bulk and its barrier: made when the first thread waits. A wait for bytes that no thread has asked
// for yet would be one for another thread's good luck, and fails.
inline void copy_barrier_init(long long* barrier, int line = __builtin_LINE()) {
    init_copy_barrier(barrier, line);
}
inline void copy_barrier_expect(long long* barrier, int bytes, int line = __builtin_LINE()) {
    expect_copies(barrier, bytes, line);
}
inline void copy_barrier_wait(long long* barrier, int line = __builtin_LINE()) {
    finish_bulk_copies(barrier, line);
}
inline void bulk_copy(void* shared, const void* global, int bytes, long long* barrier,
                      int line = __builtin_LINE()) {
    copy_in_bulk(shared, global, bytes, barrier, line);
}

// Loads and stores of several words at once, at multiples of their size as the GPU demands.
template <int N>
inline void check_words(const void* place, int line) {
    if (reinterpret_cast<unsigned long long>(place) % (N * sizeof(unsigned)) != 0)
        fail("a load or store of several words at an address that is no multiple of their size", line);
}
template <int N>
inline void load_global_early(unsigned (&to)[N], const void* from, int line = __builtin_LINE()) {
    check_words<N>(from, line);
    __builtin_memcpy(to, from, N * sizeof(unsigned));
}
template <int N>
inline void store_global(void* to, const unsigned (&from)[N], int line = __builtin_LINE()) {
    check_words<N>(to, line);
    __builtin_memcpy(to, from, N * sizeof(unsigned));
}

inline void load_shared_again(unsigned (&to)[4], const float* from) {
    __builtin_memcpy(to, from, sizeof(to));
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_ASYNC_COPY_H
