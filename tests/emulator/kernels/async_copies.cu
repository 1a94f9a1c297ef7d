// Copies 32 x 16 bytes and hands each thread what its neighbour has copied.
template <bool WAIT, bool BARRIER>
__device__ __forceinline__ void through_shared(const float4* in, float4* out) {
    __shared__ __align__(16) float4 cells[64];
    cells[threadIdx.x] = make_float4(-1.0f, -1.0f, -1.0f, -1.0f);
    __syncthreads();
    cp_async_16(&cells[threadIdx.x], &in[threadIdx.x]);
    cp_async_commit_group();
    if (WAIT) cp_async_wait_group<0>();
    if (BARRIER) __syncthreads();
    out[threadIdx.x] = cells[63 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(64) copied(const float4* in, float4* out) {
    through_shared<true, true>(in, out);
}
extern "C" __global__ void __launch_bounds__(64) copied_without_wait(const float4* in, float4* out) {
    through_shared<false, true>(in, out);
}
extern "C" __global__ void __launch_bounds__(64) copied_without_barrier(const float4* in, float4* out) {
    through_shared<true, false>(in, out);
}

// Three groups under way; each wait lets one more in. The output has, after each wait, what the three places
// hold.
extern "C" __global__ void __launch_bounds__(1) groups(const int* in, int* out) {
    __shared__ __align__(16) int cells[3];
    for (int i = 0; i < 3; ++i)
        cells[i] = -1;
    for (int i = 0; i < 3; ++i) {
        cp_async_4(&cells[i], &in[i]);
        cp_async_commit_group();
    }
    cp_async_wait_group<2>();
    for (int i = 0; i < 3; ++i)
        out[i] = cells[i];
    cp_async_wait_group<1>();
    for (int i = 0; i < 3; ++i)
        out[3 + i] = cells[i];
    cp_async_wait_group<0>();
    for (int i = 0; i < 3; ++i)
        out[6 + i] = cells[i];
}

extern "C" __global__ void __launch_bounds__(1) sizes(const int* in, int* out) {
    __shared__ __align__(16) int cells[12];
    for (int i = 0; i < 12; ++i)
        cells[i] = -1;
    cp_async_4(&cells[0], &in[0]);
    cp_async_8(&cells[2], &in[2]);
    cp_async_16_zero_fill(&cells[4], &in[4], 12);
    cp_async_16_zero_fill(&cells[8], in, 0);
    cp_async_wait_all();
    for (int i = 0; i < 12; ++i)
        out[i] = cells[i];
}

extern "C" __global__ void __launch_bounds__(1) misaligned(const int* in, int* out) {
    __shared__ __align__(16) int cells[8];
    cp_async_16(&cells[1], in);
    cp_async_wait_all();
    out[0] = cells[1];
}

extern "C" __global__ void __launch_bounds__(1) not_to_shared(const int* in, int* out) {
    cp_async_4(out, in);
    cp_async_wait_all();
}

// Two words loaded and stored at once.
extern "C" __global__ void __launch_bounds__(1) words(const int* in, int* out) {
    unsigned pair[2];
    load_global_early(pair, in + 2);
    store_global(out + 4, pair);
}
extern "C" __global__ void __launch_bounds__(1) misaligned_load(const int* in, int* out) {
    unsigned pair[2];
    load_global_early(pair, in + 1);
    store_global(out, pair);
}
extern "C" __global__ void __launch_bounds__(1) misaligned_store(const int* in, int* out) {
    unsigned pair[2];
    load_global_early(pair, in);
    store_global(out + 1, pair);
}
