// Warp-wide operations: lanes meet, the last to arrive computes every lane's result.
#ifndef DLRMC_EMULATOR_RUNTIME_WARP_OPERATIONS_H
#define DLRMC_EMULATOR_RUNTIME_WARP_OPERATIONS_H

#include "state.h"

namespace dlrmc_emulator {

static Warp& current_warp() {
    return machine.warp[machine.current / lanes_per_warp];
}

unsigned lane_of_current_thread() {
    return static_cast<unsigned>(machine.current % lanes_per_warp);
}

unsigned lanes_alive() {
    return current_warp().exists & ~current_warp().done;
}

// Lanes that the block does not have count as returned, and so as nobody to wait for.
static bool all_arrived(const Warp& warp, unsigned mask, WarpOp op) {
    if ((warp.arrived & mask) != mask) return false;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if ((warp.mask[lane] & warp.exists) != mask || warp.op[lane] != op) return false;
    }
    return true;
}

// Two lanes with the same mask in different operations can never meet.
static void check_same_operation(const Warp& warp, unsigned mask, WarpOp op, int line) {
    for (unsigned rest = warp.arrived & mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (warp.mask[lane] != mask || warp.op[lane] == op) continue;
        const int other = machine.current / lanes_per_warp * lanes_per_warp + lane;
        fail_at(line, "%s with the mask 0x%08x, while thread %d is in %s at line %d with the same mask",
                name_of(op), mask, other, name_of(warp.op[lane]), machine.thread[other].line);
    }
}

void warp_collective(WarpOp op, unsigned mask, void* slot, FinishWarpOp finish, int line) {
    Warp& warp = current_warp();
    const unsigned lane = lane_of_current_thread();
    if ((mask >> lane & 1u) == 0)
        fail_at(line, "%s: the mask 0x%08x lacks the calling lane %u", name_of(op), mask, lane);
    check_same_operation(warp, mask, op, line);
    Thread& thread = current_thread();
    thread.waiting = Waiting::warp_operation;
    thread.line = line;
    warp.arrived |= 1u << lane;
    warp.mask[lane] = mask;
    warp.op[lane] = op;
    warp.slot[lane] = slot;
    const unsigned present = mask & warp.exists;
    if (all_arrived(warp, present, op)) {
        if (finish != nullptr) finish(warp.slot, present);
        warp.arrived &= ~present;
        make_ready(machine.current / lanes_per_warp, present);
    }
    wait_for_turn();
    thread.waiting = Waiting::no;
}

void finish_shuffle(void* const* slots, unsigned mask) {
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        auto* mine = static_cast<ShuffleSlot*>(slots[__builtin_ctz(rest)]);
        const bool in_reach = mine->source_lane >= 0 && mine->source_lane < lanes_per_warp;
        if (!in_reach || (mask >> mine->source_lane & 1u) == 0) continue;
        mine->result = static_cast<const ShuffleSlot*>(slots[mine->source_lane])->given;
    }
}

void finish_vote(void* const* slots, unsigned mask) {
    unsigned ballot = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        ballot |= static_cast<unsigned>(static_cast<const VoteSlot*>(slots[lane])->predicate) << lane;
    }
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        static_cast<VoteSlot*>(slots[__builtin_ctz(rest)])->ballot = ballot;
    }
}

static unsigned combine(Reduction reduction, unsigned x, unsigned y) {
    switch (reduction) {
        case Reduction::add:
            return x + y;
        case Reduction::min_signed:
            return static_cast<int>(x) < static_cast<int>(y) ? x : y;
        case Reduction::max_signed:
            return static_cast<int>(x) > static_cast<int>(y) ? x : y;
        case Reduction::min_unsigned:
            return x < y ? x : y;
        case Reduction::max_unsigned:
            return x > y ? x : y;
        case Reduction::bit_and:
            return x & y;
        case Reduction::bit_or:
            return x | y;
        case Reduction::bit_xor:
            return x ^ y;
    }
    return 0;
}

void finish_reduce(void* const* slots, unsigned mask) {
    const auto* first = static_cast<const ReduceSlot*>(slots[__builtin_ctz(mask)]);
    unsigned total = first->given;
    for (unsigned rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        total = combine(first->reduction, total,
                        static_cast<const ReduceSlot*>(slots[__builtin_ctz(rest)])->given);
    }
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        static_cast<ReduceSlot*>(slots[__builtin_ctz(rest)])->result = total;
    }
}

void finish_match(void* const* slots, unsigned mask) {
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        auto* mine = static_cast<ShuffleSlot*>(slots[__builtin_ctz(rest)]);
        for (unsigned others = mask; others != 0; others &= others - 1) {
            const int lane = __builtin_ctz(others);
            const bool equal = static_cast<const ShuffleSlot*>(slots[lane])->given == mine->given;
            mine->result |= static_cast<unsigned long long>(equal) << lane;
        }
    }
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_WARP_OPERATIONS_H
