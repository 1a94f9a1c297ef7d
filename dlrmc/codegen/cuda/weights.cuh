// Stage: a copy of weights [N, K] into shared memory, [N, STRIDE], that lands while other stages run.
//
// Element (n, k) stands at from[n * ROW + k * COLUMN]. Columns K to PADDED become zero. PACK is 4 where packs
// of 4 neighbouring k are contiguous and 16-byte aligned, else 1. The copies belong to the calling thread's
// current group: the caller commits it, and waits for it and a barrier before the weights are read.
//
// requires: ptx.cuh
#ifndef DLRMC_CODEGEN_CUDA_WEIGHTS_CUH
#define DLRMC_CODEGEN_CUDA_WEIGHTS_CUH

#include "ptx.cuh"

template <int PACK, int N, int K, int STRIDE, int PADDED, long long ROW, long long COLUMN>
__device__ __forceinline__ void copy_weights_async(float* to, const float* from, int thread, int threads) {
    constexpr int packs = K / PACK;
    static_assert(K % PACK == 0, "a pack may not cross the end of a row");
    // Not unrolled, here and below: code that runs once costs more to fetch than it saves.
#pragma unroll 1
    for (int item = thread; item < N * packs; item += threads) {
        const int n = item / packs;
        const int k = item % packs * PACK;
        if constexpr (PACK == 4) {
            cp_async_16(to + n * STRIDE + k, from + n * ROW + k);
        } else {
            cp_async_4(to + n * STRIDE + k, from + n * ROW + k * COLUMN);
        }
    }
    if constexpr (PADDED > K) {
        constexpr int columns = PADDED - K;
#pragma unroll 1
        for (int item = thread; item < N * columns; item += threads)
            to[item / columns * STRIDE + K + item % columns] = 0.0f;
    }
}

#endif  // DLRMC_CODEGEN_CUDA_WEIGHTS_CUH
