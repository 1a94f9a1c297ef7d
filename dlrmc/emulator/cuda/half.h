// 16-bit floats as their bits (IEEE 754 binary16, and bfloat16: the upper half of a binary32).
//
// To nearest, ties to even. A NaN becomes 0x7fff, as of `cvt.rn.f16.f32` and `cvt.rn.bf16.f32` (PTX ISA,
// "cvt").
#ifndef DLRMC_EMULATOR_HALF_H
#define DLRMC_EMULATOR_HALF_H

#include "intrinsics.h"

namespace dlrmc_emulator {

inline constexpr unsigned short canonical_nan16 = 0x7fff;

inline float f16_to_f32(unsigned short bits) {
    const unsigned sign = (bits & 0x8000u) << 16;
    const unsigned exponent = bits >> 10 & 0x1fu;
    const unsigned mantissa = bits & 0x3ffu;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0) return __uint_as_float(sign | (exponent + 112) << 23 | mantissa << 13);
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero or subnormal; exact
    return __uint_as_float(sign | __float_as_uint(magnitude));
}

inline unsigned short f32_to_f16(float value) {
    const unsigned bits = __float_as_uint(value);
    const unsigned sign = bits >> 16 & 0x8000u;
    const unsigned magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return canonical_nan16;
    if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);  // 65520 and above
    if (magnitude < 0x38800000u) {                                                     // below 2^-14
        const float steps = rintf(__uint_as_float(magnitude) * 0x1p24f);  // of 2^-24; 1024 is 2^-14
        return static_cast<unsigned short>(sign | static_cast<unsigned>(steps));
    }
    const unsigned odd = magnitude >> 13 & 1u;
    const unsigned rounded = magnitude + 0xfffu + odd;
    return static_cast<unsigned short>(sign | ((rounded >> 13) - (112u << 10)));
}

inline float bf16_to_f32(unsigned short bits) {
    return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

inline unsigned short f32_to_bf16(float value) {
    const unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return canonical_nan16;
    const unsigned odd = bits >> 16 & 1u;
    return static_cast<unsigned short>((bits + 0x7fffu + odd) >> 16);
}

inline unsigned f32_to_tf32(float value) {
    const unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu & ~0x1fffu;
    const unsigned odd = bits >> 13 & 1u;
    return (bits + 0xfffu + odd) & ~0x1fffu;
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_HALF_H
