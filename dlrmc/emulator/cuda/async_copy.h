// cp.async (PTX ISA, "Data Movement: cp.async"): copies that are seen only after a wait.
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

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_ASYNC_COPY_H
