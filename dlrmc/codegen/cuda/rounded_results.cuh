// Results of row programs that only TF32 products read: each is rounded by the store that writes it.
//
// requires: math.cuh views.cuh
#ifndef DLRMC_CODEGEN_CUDA_ROUNDED_RESULTS_CUH
#define DLRMC_CODEGEN_CUDA_ROUNDED_RESULTS_CUH

#include "math.cuh"
#include "views.cuh"

// A float in memory that becomes the TF32 number nearest to what is assigned to it.
struct tf32 {
    float value;

    tf32() = default;
    __device__ __forceinline__ tf32(float value) : value(dlrmc_round_tf32(value)) {}
};

template <>
struct FromFloat<tf32> {
    static __device__ __forceinline__ tf32 of(float value) { return tf32(value); }
};

#endif  // DLRMC_CODEGEN_CUDA_ROUNDED_RESULTS_CUH
