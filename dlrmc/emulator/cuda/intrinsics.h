// Casts, bit counts and cached loads (CUDA Math API, "Type Casting Intrinsics" and "Integer Intrinsics").
#ifndef DLRMC_EMULATOR_INTRINSICS_H
#define DLRMC_EMULATOR_INTRINSICS_H

#include "math_functions.h"

namespace dlrmc_emulator {

template <typename To, typename From>
inline To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "a cast of bits keeps the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}

// A float to an integer as a GPU does it: out of range gives the nearest end of the range, NaN gives
// `not_a_number`.
template <typename Integer>
inline Integer saturate(double rounded, Integer lowest, Integer highest, Integer not_a_number) {
    if (rounded != rounded) return not_a_number;
    if (rounded <= static_cast<double>(lowest)) return lowest;
    if (rounded >= static_cast<double>(highest)) return highest;
    return static_cast<Integer>(rounded);
}

inline int to_int(double rounded) {
    return saturate<int>(rounded, -2147483647 - 1, 2147483647, 0);
}
inline unsigned to_uint(double rounded) {
    return saturate<unsigned>(rounded, 0u, 4294967295u, 0u);
}
inline long long to_ll(double rounded) {
    constexpr long long highest = 9223372036854775807ll;
    return saturate<long long>(rounded, -highest - 1, highest, -highest - 1);
}

}  // namespace dlrmc_emulator

inline int __float_as_int(float x) {
    return dlrmc_emulator::same_bits<int>(x);
}
inline unsigned __float_as_uint(float x) {
    return dlrmc_emulator::same_bits<unsigned>(x);
}
inline float __int_as_float(int x) {
    return dlrmc_emulator::same_bits<float>(x);
}
inline float __uint_as_float(unsigned x) {
    return dlrmc_emulator::same_bits<float>(x);
}
inline long long __double_as_longlong(double x) {
    return dlrmc_emulator::same_bits<long long>(x);
}
inline double __longlong_as_double(long long x) {
    return dlrmc_emulator::same_bits<double>(x);
}

inline int __float2int_rn(float x) {
    return dlrmc_emulator::to_int(rintf(x));
}
inline int __float2int_rz(float x) {
    return dlrmc_emulator::to_int(truncf(x));
}
inline int __float2int_rd(float x) {
    return dlrmc_emulator::to_int(floorf(x));
}
inline int __float2int_ru(float x) {
    return dlrmc_emulator::to_int(ceilf(x));
}
inline unsigned __float2uint_rn(float x) {
    return dlrmc_emulator::to_uint(rintf(x));
}
inline unsigned __float2uint_rz(float x) {
    return dlrmc_emulator::to_uint(truncf(x));
}
inline unsigned __float2uint_rd(float x) {
    return dlrmc_emulator::to_uint(floorf(x));
}
inline unsigned __float2uint_ru(float x) {
    return dlrmc_emulator::to_uint(ceilf(x));
}
inline long long __float2ll_rn(float x) {
    return dlrmc_emulator::to_ll(rintf(x));
}
inline long long __float2ll_rz(float x) {
    return dlrmc_emulator::to_ll(truncf(x));
}
inline long long __float2ll_rd(float x) {
    return dlrmc_emulator::to_ll(floorf(x));
}
inline long long __float2ll_ru(float x) {
    return dlrmc_emulator::to_ll(ceilf(x));
}
inline int __double2int_rn(double x) {
    return dlrmc_emulator::to_int(rint(x));
}
inline int __double2int_rz(double x) {
    return dlrmc_emulator::to_int(trunc(x));
}
inline long long __double2ll_rn(double x) {
    return dlrmc_emulator::to_ll(rint(x));
}
inline long long __double2ll_rz(double x) {
    return dlrmc_emulator::to_ll(trunc(x));
}
inline float __double2float_rn(double x) {
    return static_cast<float>(x);
}
inline float __int2float_rn(int x) {
    return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x) {
    return static_cast<float>(x);
}
inline float __ll2float_rn(long long x) {
    return static_cast<float>(x);
}
inline float __ull2float_rn(unsigned long long x) {
    return static_cast<float>(x);
}
inline double __int2double_rn(int x) {
    return x;
}
inline double __ll2double_rn(long long x) {
    return static_cast<double>(x);
}

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit)
        reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline int __mulhi(int x, int y) {
    return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}

// ---- loads and stores with a cache hint: the hint says nothing about the value
// --------------------------------

#define DLRMC_LOAD(name)              \
    template <typename T>             \
    inline T name(const T* address) { \
        return *address;              \
    }
#define DLRMC_STORE(name)                   \
    template <typename T>                   \
    inline void name(T* address, T value) { \
        *address = value;                   \
    }
DLRMC_LOAD(__ldg)
DLRMC_LOAD(__ldca)
DLRMC_LOAD(__ldcg)
DLRMC_LOAD(__ldcs)
DLRMC_LOAD(__ldlu)
DLRMC_LOAD(__ldcv)
DLRMC_STORE(__stwb)
DLRMC_STORE(__stcg)
DLRMC_STORE(__stcs)
DLRMC_STORE(__stwt)
#undef DLRMC_LOAD
#undef DLRMC_STORE

#endif  // DLRMC_EMULATOR_INTRINSICS_H
