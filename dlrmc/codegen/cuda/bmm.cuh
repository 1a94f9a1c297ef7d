// Stage: c[r, m, n] = sum over k of a[r, m, k] * b[r, n, k]   (IR: bmm), one product of small matrices a row.
//
// a and b stand in shared memory in the compute type: [ROWS, M, K] with strides A_ROW and A_ITEM, and [ROWS,
// N, K] with B_ROW and B_ITEM; k is contiguous, the strides are multiples of 4, K is padded with zeros to
// K_PADDED, a multiple of 4, and M and N with rows of any content to multiples of BLOCK_M and BLOCK_N. An odd
// A_ITEM / 4 and B_ITEM / 4 keep reads free of bank conflicts. A thread computes BLOCK_M x BLOCK_N results,
// of rows and columns that lie M_BLOCKS and N_BLOCKS apart, k ascending. Threads take blocks in turn: any
// number may run the stage. `c` is a TileView (row, m, n). No barrier.
//
// requires: views.cuh dot_block.cuh
#ifndef DLRMC_CODEGEN_CUDA_BMM_CUH
#define DLRMC_CODEGEN_CUDA_BMM_CUH

#include "dot_block.cuh"
#include "views.cuh"

template <typename Sizes>
struct BatchProduct {
    using Compute = compute_type<typename Sizes::Element>;
    static constexpr int m_blocks = (Sizes::M + Sizes::BLOCK_M - 1) / Sizes::BLOCK_M;
    static constexpr int n_blocks = (Sizes::N + Sizes::BLOCK_N - 1) / Sizes::BLOCK_N;
    static constexpr int blocks = m_blocks * n_blocks;

    template <typename C>
    static __device__ __forceinline__ void run(const Compute* a, const Compute* b, C c, int rows, int thread,
                                               int threads) {
        for (int item = thread; item < rows * blocks; item += threads) {
            const int row = item / blocks;
            const int m = item % blocks / n_blocks;
            const int n = item % n_blocks;
            Compute sums[Sizes::BLOCK_M][Sizes::BLOCK_N] = {};
            add_dot_block<Sizes::BLOCK_M, Sizes::BLOCK_N, Sizes::K_PADDED, m_blocks * Sizes::A_ITEM,
                          n_blocks * Sizes::B_ITEM>(sums, a + row * Sizes::A_ROW + m * Sizes::A_ITEM,
                                                    b + row * Sizes::B_ROW + n * Sizes::B_ITEM);
            store(sums, c, row, m, n);
        }
    }

  private:
    template <typename C>
    static __device__ __forceinline__ void store(const Compute (&sums)[Sizes::BLOCK_M][Sizes::BLOCK_N], C c,
                                                 int row, int m, int n) {
#pragma unroll
        for (int i = 0; i < Sizes::BLOCK_M; ++i) {
#pragma unroll
            for (int j = 0; j < Sizes::BLOCK_N; ++j) {
                const int c_m = m + i * m_blocks;
                const int c_n = n + j * n_blocks;
                if (c_m >= Sizes::M || c_n >= Sizes::N) continue;
                *c.at(row, c_m, c_n) = from_float<typename C::Element>(sums[i][j]);
            }
        }
    }
};

// The finish of a TiledProduct that is the result itself.
struct PlainFinish {
    template <typename Compute>
    __device__ __forceinline__ Compute operator()(Compute sum, int, int) const {
        return sum;
    }
};

#endif  // DLRMC_CODEGEN_CUDA_BMM_CUH
