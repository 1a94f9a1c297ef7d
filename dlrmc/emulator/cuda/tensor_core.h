// mma.sync (PTX ISA, "Matrix Fragments for mma.m16n8k8" and "... mma.m16n8k16"): fragments exactly as in
// hardware.
//
// The products of TF32 and bf16 numbers are exact in double; their sum with C is rounded to f32 once, towards
// zero as by hardware (M. Fasi et al., "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science
// 7:e330). Hardware also cuts the addends, and in an order that NVIDIA does not document: results differ in
// the last bits.
#ifndef DLRMC_EMULATOR_TENSOR_CORE_H
#define DLRMC_EMULATOR_TENSOR_CORE_H

#include "half.h"
#include "machine.h"

namespace dlrmc_emulator {

struct MmaSlot {
    float* d;
    const unsigned* a;
    const unsigned* b;
    const float* c;
};

void finish_mma_m16n8k8_tf32(void* const* slots, unsigned mask);
void finish_mma_m16n8k16_bf16(void* const* slots, unsigned mask);

inline void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                             const float (&c)[4], int line = __builtin_LINE()) {
    MmaSlot slot{d, a, b, c};
    warp_collective(WarpOp::mma_tf32, 0xffffffffu, &slot, finish_mma_m16n8k8_tf32, line);
}

inline void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                              const float (&c)[4], int line = __builtin_LINE()) {
    MmaSlot slot{d, a, b, c};
    warp_collective(WarpOp::mma_bf16, 0xffffffffu, &slot, finish_mma_m16n8k16_bf16, line);
}

}  // namespace dlrmc_emulator

#endif  // DLRMC_EMULATOR_TENSOR_CORE_H
