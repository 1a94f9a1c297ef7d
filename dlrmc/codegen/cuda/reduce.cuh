// Reductions: the operators, and their combination over the 32 lanes of a warp.
#ifndef DLRMC_CODEGEN_CUDA_REDUCE_CUH
#define DLRMC_CODEGEN_CUDA_REDUCE_CUH

// Sums and products of integers wrap, as in torch; signed overflow is undefined in C++.
struct Sum {
    static __device__ __forceinline__ long long apply(long long a, long long b) {
        return static_cast<long long>(static_cast<unsigned long long>(a) +
                                      static_cast<unsigned long long>(b));
    }
    template <typename T>
    static __device__ __forceinline__ T apply(T a, T b) {
        return a + b;
    }
};

struct Product {
    static __device__ __forceinline__ long long apply(long long a, long long b) {
        return static_cast<long long>(static_cast<unsigned long long>(a) *
                                      static_cast<unsigned long long>(b));
    }
    template <typename T>
    static __device__ __forceinline__ T apply(T a, T b) {
        return a * b;
    }
};

// A NaN on either side wins, as in torch.amax and torch.amin.
struct Maximum {
    template <typename T>
    static __device__ __forceinline__ T apply(T a, T b) {
        return a != a || a > b ? a : b;
    }
};

struct Minimum {
    template <typename T>
    static __device__ __forceinline__ T apply(T a, T b) {
        return a != a || a < b ? a : b;
    }
};

// Whether a stands before b in a sorted list. A NaN is larger than any number.
template <bool DESCENDING, typename T>
__device__ __forceinline__ bool sorts_before(T a, T b) {
    return DESCENDING ? a > b || (a != a && b == b) : a < b || (a == a && b != b);
}

// The combination of all 32 lanes' values, in every lane. All lanes of the warp must call it; T has 4 or 8
// bytes.
template <typename Operator, typename T>
__device__ __forceinline__ T warp_reduce(T value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        value = Operator::apply(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    return value;
}

#endif  // DLRMC_CODEGEN_CUDA_REDUCE_CUH
