// The inner product of the matrix stages: a block of dot products in the registers of one thread.
//
// requires: views.cuh
#ifndef DLRMC_CODEGEN_CUDA_DOT_BLOCK_CUH
#define DLRMC_CODEGEN_CUDA_DOT_BLOCK_CUH

#include "views.cuh"

// sums[a][b] += sum over k < K of x[a * X_STEP + k] * y[b * Y_STEP + k], k ascending, by fused multiply-adds.
// K and the steps are multiples of 4, x and y 16-byte aligned.
template <int ROWS, int COLUMNS, int K, int X_STEP, int Y_STEP, typename Compute>
__device__ __forceinline__ void add_dot_block(Compute (&sums)[ROWS][COLUMNS], const Compute* x,
                                              const Compute* y) {
    static_assert(K % 4 == 0 && X_STEP % 4 == 0 && Y_STEP % 4 == 0, "packs of 4");
#pragma unroll 4
    for (int k = 0; k < K; k += 4) {
        Pack<Compute, 4> columns[COLUMNS];
#pragma unroll
        for (int b = 0; b < COLUMNS; ++b)
            columns[b] = load_pack<4>(y + b * Y_STEP + k);
#pragma unroll
        for (int a = 0; a < ROWS; ++a) {
            const Pack<Compute, 4> row = load_pack<4>(x + a * X_STEP + k);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int b = 0; b < COLUMNS; ++b) {
                    sums[a][b] = multiply_add(row.at[i], columns[b].at[i], sums[a][b]);
                }
            }
        }
    }
}

#endif  // DLRMC_CODEGEN_CUDA_DOT_BLOCK_CUH
