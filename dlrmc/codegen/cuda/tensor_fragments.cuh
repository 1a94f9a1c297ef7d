// What one warp multiplies on tensor cores, prepared in one of three precisions: 16 k of 16 rows of x
// (`Left`) and of 8 * TILES columns of w (`Right`).
//
// With g = lane / 4 and t = lane % 4 a lane hands over k 4t to 4t + 3 of rows g and g + 8, and of column g of
// each tile. The instructions want other k in these places, but a sum over k may take them in any order as
// long as x and w agree: so both are read in packs of 16 bytes.
//
// The adder of a tensor core rounds towards zero (M. Fasi et al., "Numerical behavior of NVIDIA tensor
// cores", PeerJ Computer Science 7:e330), which over a long sum adds up to a bias. Where ADDS_OUTSIDE holds,
// a caller therefore starts at zero for every 16 k and adds what comes out by ordinary additions.
//
// requires: views.cuh ptx.cuh math.cuh
#ifndef DLRMC_CODEGEN_CUDA_TENSOR_FRAGMENTS_CUH
#define DLRMC_CODEGEN_CUDA_TENSOR_FRAGMENTS_CUH

#include "math.cuh"
#include "ptx.cuh"
#include "views.cuh"

// Rounds the four floats of a pack, in shared memory, to the nearest numbers of TF32.
__device__ __forceinline__ void round_pack_tf32(float* place) {
    const Pack<float, 4> pack = load_pack<4>(place);
    float values[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        values[i] = dlrmc_round_tf32(pack.at[i]);
    store_pack<4>(place, values);
}

// Adds the products of `left` with each tile of `right`. Neighbouring products are of different tiles: one
// that adds to the same sums would wait for the one before it.
template <int TILES>
__device__ __forceinline__ void multiply_tf32(const unsigned (&left)[4], const unsigned (&right)[TILES][2],
                                              float (&sums)[TILES][4]) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile)
        mma_m16n8k8_tf32(sums[tile], left, right[tile], sums[tile]);
}

// f32 by three products of TF32: x = x_hi + x_lo and w = w_hi + w_lo, and x * w is x_lo*w_hi + x_hi*w_lo +
// x_hi*w_hi with an error near 2^-23. The upper half is rounded to nearest, so that the lower one is as small
// as can be and of either sign; the tensor core cuts the lower one to 11 bits. A lower half below 2^-126 has
// fewer bits: products of values below about 1e-34 lose some.
struct ThreeTf32 {
    static constexpr bool ADDS_OUTSIDE = true;

    struct Left {
        unsigned high[2][4];
        unsigned low[2][4];
    };

    template <int TILES>
    struct Right {
        unsigned high[2][TILES][2];
        unsigned low[2][TILES][2];
    };

    static __device__ __forceinline__ void split(float value, unsigned& high, unsigned& low) {
        // Not f32_to_tf32, with which kernels of whole products need some 30 registers more.
        high = (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
        low = __float_as_uint(value - __uint_as_float(high));
    }

    static __device__ __forceinline__ void set_left(const Pack<float, 4>& upper, const Pack<float, 4>& lower,
                                                    Left& left) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            split(upper.at[i], left.high[i / 2][i % 2 * 2], left.low[i / 2][i % 2 * 2]);
            split(lower.at[i], left.high[i / 2][i % 2 * 2 + 1], left.low[i / 2][i % 2 * 2 + 1]);
        }
    }

    template <int TILES>
    static __device__ __forceinline__ void set_right(const Pack<float, 4>& pack, int tile,
                                                     Right<TILES>& right) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            split(pack.at[i], right.high[i / 2][tile][i % 2], right.low[i / 2][tile][i % 2]);
    }

    // The small products come first, while the sums are small and what rounding cuts off is too.
    template <int TILES>
    static __device__ __forceinline__ void multiply(const Left& left, const Right<TILES>& right,
                                                    float (&sums)[TILES][4]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            multiply_tf32(left.low[half], right.high[half], sums);
            multiply_tf32(left.high[half], right.low[half], sums);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half)
            multiply_tf32(left.high[half], right.high[half], sums);
    }
};

// One product of TF32: 11 significant bits of each factor.
struct OneTf32 {
    static constexpr bool ADDS_OUTSIDE = false;

    struct Left {
        unsigned at[2][4];
    };

    template <int TILES>
    struct Right {
        unsigned at[2][TILES][2];
    };

    // The tensor core cuts off the 13 lowest bits. Adding 0.35 to 0.7 of what the last bit left is worth
    // makes that a rounding: what TF32 can hold stays as it is, the rest ends up 0.7 of that bit away at most
    // and without a bias. It is one instruction, and infinities and NaNs stay what they are, which adding to
    // the bits would not grant.
    static __device__ __forceinline__ unsigned round(float value) {
        return __float_as_uint(value * 1.0003418f);
    }

    static __device__ __forceinline__ void set_left(const Pack<float, 4>& upper, const Pack<float, 4>& lower,
                                                    Left& left) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            left.at[i / 2][i % 2 * 2] = round(upper.at[i]);
            left.at[i / 2][i % 2 * 2 + 1] = round(lower.at[i]);
        }
    }

    template <int TILES>
    static __device__ __forceinline__ void set_right(const Pack<float, 4>& pack, int tile,
                                                     Right<TILES>& right) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            right.at[i / 2][tile][i % 2] = round(pack.at[i]);
    }

    template <int TILES>
    static __device__ __forceinline__ void multiply(const Left& left, const Right<TILES>& right,
                                                    float (&sums)[TILES][4]) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
            multiply_tf32(left.at[half], right.at[half], sums);
    }
};

// One product of bf16: 8 significant bits of each factor, rounded to nearest.
struct OneBf16 {
    static constexpr bool ADDS_OUTSIDE = false;

    struct Left {
        unsigned at[4];
    };

    template <int TILES>
    struct Right {
        unsigned at[TILES][2];
    };

    // Two neighbours in one register, by one instruction.
    static __device__ __forceinline__ unsigned round(float first, float second) {
        return f32_to_bf16(first) | static_cast<unsigned>(f32_to_bf16(second)) << 16;
    }

    static __device__ __forceinline__ void set_left(const Pack<float, 4>& upper, const Pack<float, 4>& lower,
                                                    Left& left) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            left.at[i * 2] = round(upper.at[i * 2], upper.at[i * 2 + 1]);
            left.at[i * 2 + 1] = round(lower.at[i * 2], lower.at[i * 2 + 1]);
        }
    }

    template <int TILES>
    static __device__ __forceinline__ void set_right(const Pack<float, 4>& pack, int tile,
                                                     Right<TILES>& right) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
            right.at[tile][i] = round(pack.at[i * 2], pack.at[i * 2 + 1]);
    }

    template <int TILES>
    static __device__ __forceinline__ void multiply(const Left& left, const Right<TILES>& right,
                                                    float (&sums)[TILES][4]) {
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile)
            mma_m16n8k16_bf16(sums[tile], left.at, right.at[tile], sums[tile]);
    }
};

#endif  // DLRMC_CODEGEN_CUDA_TENSOR_FRAGMENTS_CUH
