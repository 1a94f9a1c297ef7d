// The 16-bit floats as they lie in memory, and the constants that C++ spells with a header.
//
// requires: ptx.cuh
#ifndef DLRMC_CODEGEN_CUDA_SCALARS_CUH
#define DLRMC_CODEGEN_CUDA_SCALARS_CUH

#include "ptx.cuh"

// IEEE 754 binary16.
struct f16 {
    unsigned short bits;
};

// The upper half of an IEEE 754 binary32.
struct bf16 {
    unsigned short bits;
};

__device__ __forceinline__ float to_float(f16 value) {
    return f16_to_f32(value.bits);
}
__device__ __forceinline__ float to_float(bf16 value) {
    return bf16_to_f32(value.bits);
}
__device__ __forceinline__ float to_float(float value) {
    return value;
}
__device__ __forceinline__ double to_float(double value) {
    return value;
}

// from_float<T>(v): v rounded to T, to nearest, ties to even.
template <typename T>
struct FromFloat {
    static __device__ __forceinline__ T of(T value) { return value; }
};

template <>
struct FromFloat<f16> {
    static __device__ __forceinline__ f16 of(float value) { return f16{f32_to_f16(value)}; }
};

template <>
struct FromFloat<bf16> {
    static __device__ __forceinline__ bf16 of(float value) { return bf16{f32_to_bf16(value)}; }
};

template <typename T, typename Compute>
__device__ __forceinline__ T from_float(Compute value) {
    return FromFloat<T>::of(value);
}

// The compute value that storing to T and loading again gives.
template <typename T>
__device__ __forceinline__ float round_to(float value) {
    return to_float(from_float<T>(value));
}

template <typename T>
__device__ __forceinline__ T infinity();

template <>
__device__ __forceinline__ float infinity<float>() {
    return __int_as_float(0x7f800000);
}

template <>
__device__ __forceinline__ double infinity<double>() {
    return __longlong_as_double(0x7ff0000000000000ll);
}

template <typename T>
__device__ __forceinline__ T not_a_number();

template <>
__device__ __forceinline__ float not_a_number<float>() {
    return __int_as_float(0x7fc00000);
}

template <>
__device__ __forceinline__ double not_a_number<double>() {
    return __longlong_as_double(0x7ff8000000000000ll);
}

#endif  // DLRMC_CODEGEN_CUDA_SCALARS_CUH
