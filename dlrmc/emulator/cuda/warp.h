// Warp-wide functions (CUDA C++ Programming Guide, "Warp Shuffle / Vote / Reduce / Match Functions").
//
// Each waits until all lanes of `mask` have called the same function with the same mask. What a shuffle reads
// from a lane outside the mask, or past the block's end, is undefined in CUDA: here it is all ones, a NaN.
#ifndef DLRMC_EMULATOR_WARP_H
#define DLRMC_EMULATOR_WARP_H

#include "intrinsics.h"
#include "machine.h"

namespace dlrmc_emulator {

struct ShuffleSlot {
    unsigned long long given;
    unsigned long long result;
    int source_lane;
};
struct VoteSlot {
    bool predicate;
    unsigned ballot;
};
enum class Reduction { add, min_signed, max_signed, min_unsigned, max_unsigned, bit_and, bit_or, bit_xor };
struct ReduceSlot {
    Reduction reduction;
    unsigned given;
    unsigned result;
};

void finish_shuffle(void* const* slots, unsigned mask);
void finish_vote(void* const* slots, unsigned mask);
void finish_reduce(void* const* slots, unsigned mask);
void finish_match(void* const* slots, unsigned mask);

template <typename T>
inline T shuffle(unsigned mask, T value, int source_lane, int line) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles values of 4 or 8 bytes");
    ShuffleSlot slot{0, ~0ull, source_lane};
    __builtin_memcpy(&slot.given, &value, sizeof(T));
    warp_collective(WarpOp::shuffle, mask, &slot, finish_shuffle, line);
    T result;
    __builtin_memcpy(&result, &slot.result, sizeof(T));
    return result;
}

inline unsigned vote(WarpOp op, unsigned mask, int predicate, int line) {
    VoteSlot slot{predicate != 0, 0};
    warp_collective(op, mask, &slot, finish_vote, line);
    return slot.ballot;
}

inline unsigned reduce(Reduction reduction, unsigned mask, unsigned value, int line) {
    ReduceSlot slot{reduction, value, 0};
    warp_collective(WarpOp::reduce, mask, &slot, finish_reduce, line);
    return slot.result;
}

// Where a shuffle inside groups of `width` lanes reads; a lane out of the group's reach reads itself.
inline int lane_now() {
    return static_cast<int>(lane_of_current_thread());
}
inline int lane_indexed(int source, int width) {
    return (lane_now() & ~(width - 1)) | (source & (width - 1));
}
inline int lane_up(unsigned delta, int width) {
    const int source = lane_now() - static_cast<int>(delta);
    return source < (lane_now() & ~(width - 1)) ? lane_now() : source;
}
inline int lane_down(unsigned delta, int width) {
    const int source = lane_now() + static_cast<int>(delta);
    return source > (lane_now() | (width - 1)) ? lane_now() : source;
}
inline int lane_xor(int bits, int width) {
    const int source = lane_now() ^ bits;
    return source > (lane_now() | (width - 1)) ? lane_now() : source;
}

}  // namespace dlrmc_emulator

template <typename T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
    return dlrmc_emulator::shuffle(mask, value, dlrmc_emulator::lane_indexed(source, width), line);
}
template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
    return dlrmc_emulator::shuffle(mask, value, dlrmc_emulator::lane_up(delta, width), line);
}
template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                          int line = __builtin_LINE()) {
    return dlrmc_emulator::shuffle(mask, value, dlrmc_emulator::lane_down(delta, width), line);
}
template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
    return dlrmc_emulator::shuffle(mask, value, dlrmc_emulator::lane_xor(bits, width), line);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
    dlrmc_emulator::warp_collective(dlrmc_emulator::WarpOp::sync, mask, nullptr, nullptr, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return dlrmc_emulator::vote(dlrmc_emulator::WarpOp::ballot, mask, predicate, line);
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return dlrmc_emulator::vote(dlrmc_emulator::WarpOp::any, mask, predicate, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return dlrmc_emulator::vote(dlrmc_emulator::WarpOp::all, mask, !predicate, line) == 0;
}
// The lanes that have not returned: which of them stand at the same instruction is a GPU's own affair.
inline unsigned __activemask() {
    return dlrmc_emulator::lanes_alive();
}

template <typename T>
inline unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA matches values of 4 or 8 bytes");
    dlrmc_emulator::ShuffleSlot slot{0, 0, 0};
    __builtin_memcpy(&slot.given, &value, sizeof(T));
    dlrmc_emulator::warp_collective(dlrmc_emulator::WarpOp::match, mask, &slot, dlrmc_emulator::finish_match,
                                    line);
    return static_cast<unsigned>(slot.result);
}

#define DLRMC_REDUCE(name, type, reduction)                                                         \
    inline type name(unsigned mask, type value, int line = __builtin_LINE()) {                      \
        return static_cast<type>(dlrmc_emulator::reduce(dlrmc_emulator::Reduction::reduction, mask, \
                                                        static_cast<unsigned>(value), line));       \
    }
DLRMC_REDUCE(__reduce_add_sync, int, add)
DLRMC_REDUCE(__reduce_add_sync, unsigned, add)
DLRMC_REDUCE(__reduce_min_sync, int, min_signed)
DLRMC_REDUCE(__reduce_min_sync, unsigned, min_unsigned)
DLRMC_REDUCE(__reduce_max_sync, int, max_signed)
DLRMC_REDUCE(__reduce_max_sync, unsigned, max_unsigned)
DLRMC_REDUCE(__reduce_and_sync, unsigned, bit_and)
DLRMC_REDUCE(__reduce_or_sync, unsigned, bit_or)
DLRMC_REDUCE(__reduce_xor_sync, unsigned, bit_xor)
#undef DLRMC_REDUCE

#endif  // DLRMC_EMULATOR_WARP_H
