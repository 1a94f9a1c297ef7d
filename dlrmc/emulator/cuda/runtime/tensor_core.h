// mma.sync over the fragments of the 32 lanes of a warp.
#ifndef DLRMC_EMULATOR_RUNTIME_TENSOR_CORE_H
#define DLRMC_EMULATOR_RUNTIME_TENSOR_CORE_H

#include "state.h"

namespace dlrmc_emulator {

static const MmaSlot& slot_of(void* const* slots, int lane) {
    return *static_cast<const MmaSlot*>(slots[lane]);
}

// The tensor core reads the upper 19 bits of a register.
static double tf32_value(unsigned bits) {
    return static_cast<double>(__uint_as_float(bits & 0xffffe000u));
}

static double bf16_value(unsigned pair, int upper) {
    return static_cast<double>(bf16_to_f32(static_cast<unsigned short>(upper != 0 ? pair >> 16 : pair)));
}

// The nearest float that is not larger in magnitude; what is too large for a float is an infinity.
static float rounded_towards_zero(double value) {
    const float nearest = static_cast<float>(value);
    const unsigned bits = __float_as_uint(nearest);
    const bool is_larger = value < 0 ? nearest < value : nearest > value;
    const bool is_infinite = (bits & 0x7fffffffu) == 0x7f800000u;
    return is_larger && !is_infinite ? __uint_as_float(bits - 1) : nearest;
}

// D = A * B + C, A as 16 x depth, B as depth x 8, both gathered from the fragments. All of A, B and C is read
// before D is written: they may share registers.
static void multiply(void* const* slots, const double* a, const double* b, int depth) {
    float results[lanes_per_warp][4];
    for (int lane = 0; lane < lanes_per_warp; ++lane) {
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            double sum = static_cast<double>(slot_of(slots, lane).c[i]);
            for (int k = 0; k < depth; ++k)
                sum += a[row * depth + k] * b[k * 8 + column];
            results[lane][i] = rounded_towards_zero(sum);
        }
    }
    for (int lane = 0; lane < lanes_per_warp; ++lane) {
        for (int i = 0; i < 4; ++i)
            slot_of(slots, lane).d[i] = results[lane][i];
    }
}

static void check_whole_warp(unsigned mask) {
    if (mask != 0xffffffffu)
        fail_at(current_thread().line, "mma needs all 32 lanes; the warp has 0x%08x", mask);
}

void finish_mma_m16n8k8_tf32(void* const* slots, unsigned mask) {
    check_whole_warp(mask);
    double a[16 * 8], b[8 * 8];
    for (int lane = 0; lane < lanes_per_warp; ++lane) {
        const int group = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; ++i) {
            a[(group + 8 * (i % 2)) * 8 + t + 4 * (i / 2)] = tf32_value(slot_of(slots, lane).a[i]);
        }
        for (int i = 0; i < 2; ++i)
            b[(t + 4 * i) * 8 + group] = tf32_value(slot_of(slots, lane).b[i]);
    }
    multiply(slots, a, b, 8);
}

void finish_mma_m16n8k16_bf16(void* const* slots, unsigned mask) {
    check_whole_warp(mask);
    double a[16 * 16], b[16 * 8];
    for (int lane = 0; lane < lanes_per_warp; ++lane) {
        const int group = lane / 4, t = lane % 4;
        for (int i = 0; i < 8; ++i) {
            const int row = group + 8 * (i / 2 % 2), column = 2 * t + 8 * (i / 4) + i % 2;
            a[row * 16 + column] = bf16_value(slot_of(slots, lane).a[i / 2], i % 2);
        }
        for (int i = 0; i < 4; ++i) {
            b[(2 * t + 8 * (i / 2) + i % 2) * 8 + group] = bf16_value(slot_of(slots, lane).b[i / 2], i % 2);
        }
    }
    multiply(slots, a, b, 16);
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_RUNTIME_TENSOR_CORE_H
