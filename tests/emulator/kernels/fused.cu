// Four layers of 256 x 256, a sum over the row: nine barriers and ten shuffles a thread. One block, one row.
__device__ __forceinline__ float sum_of_warp(float value) {
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, delta);
    return value;
}

extern "C" __global__ void __launch_bounds__(256)
    fused(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ out) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    __shared__ float partial[8];
    float* row = reinterpret_cast<float*>(dlrmc_shared);
    const int t = static_cast<int>(threadIdx.x);
    float value = x[blockIdx.x * 256 + t];
    for (int layer = 0; layer < 4; ++layer) {
        row[t] = value;
        __syncthreads();
        float sum = 0.0f;
        for (int k = 0; k < 256; ++k)
            sum = fmaf(row[k], w[(layer * 256 + k) * 256 + t], sum);
        __syncthreads();
        value = fmaxf(sum, 0.0f);
    }
    const float sum = sum_of_warp(value);
    if (t % 32 == 0) partial[t / 32] = sum;
    __syncthreads();
    const float total = sum_of_warp(t % 32 < 8 ? partial[t % 32] : 0.0f);
    if (t == 0) out[blockIdx.x] = total;
}
