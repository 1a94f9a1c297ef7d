// Atomic functions (CUDA C++ Programming Guide, "Atomic Functions"). Each returns the old value.
//
// A thread gives up the processor only where it waits, so plain reads and writes are atomic here.
#ifndef DLRMC_EMULATOR_ATOMICS_H
#define DLRMC_EMULATOR_ATOMICS_H

#include "math_functions.h"

#define DLRMC_ATOMIC(name, type, result)          \
    inline type name(type* address, type value) { \
        const type old = *address;                \
        *address = (result);                      \
        return old;                               \
    }
#define DLRMC_ATOMICS_OF_INTEGER(type)                               \
    DLRMC_ATOMIC(atomicMax, type, value > old ? value : old)         \
    DLRMC_ATOMIC(atomicMin, type, value < old ? value : old)         \
    DLRMC_ATOMIC(atomicAnd, type, old& value)                        \
    DLRMC_ATOMIC(atomicOr, type, old | value)                        \
    DLRMC_ATOMIC(atomicXor, type, old ^ value)                       \
    DLRMC_ATOMIC(atomicExch, type, value)                            \
    inline type atomicCAS(type* address, type compare, type value) { \
        const type old = *address;                                   \
        if (old == compare) *address = value;                        \
        return old;                                                  \
    }

DLRMC_ATOMICS_OF_INTEGER(int)
DLRMC_ATOMICS_OF_INTEGER(unsigned)
DLRMC_ATOMICS_OF_INTEGER(long long)
DLRMC_ATOMICS_OF_INTEGER(unsigned long long)
// A GPU's integers wrap around.
DLRMC_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
DLRMC_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
DLRMC_ATOMIC(atomicAdd, unsigned, old + value)
DLRMC_ATOMIC(atomicSub, unsigned, old - value)
DLRMC_ATOMIC(atomicAdd, unsigned long long, old + value)
DLRMC_ATOMIC(atomicAdd, float, old + value)
DLRMC_ATOMIC(atomicAdd, double, old + value)
DLRMC_ATOMIC(atomicExch, float, value)
DLRMC_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1u)
DLRMC_ATOMIC(atomicDec, unsigned, old == 0u || old > value ? value : old - 1u)
#undef DLRMC_ATOMICS_OF_INTEGER
#undef DLRMC_ATOMIC

#endif  // DLRMC_EMULATOR_ATOMICS_H
