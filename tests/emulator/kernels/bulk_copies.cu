// One thread asks for all bytes; MADE, ASKED and WAIT leave out what may be forgotten.
template <bool MADE, bool ASKED, bool WAIT>
__device__ __forceinline__ void in_bulk(const int* in, int* out) {
    __shared__ __align__(16) int cells[64];
    __shared__ __align__(8) long long barrier;
    cells[threadIdx.x] = -1;
    __syncthreads();
    if (threadIdx.x == 5) {
        if (MADE) copy_barrier_init(&barrier);
        if (MADE) copy_barrier_expect(&barrier, 256);
        bulk_copy(cells, in, 128, &barrier);
        if (ASKED) bulk_copy(cells + 32, in + 32, 128, &barrier);
    }
    __syncthreads();
    if (WAIT) copy_barrier_wait(&barrier);
    out[threadIdx.x] = cells[63 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(64) copied_in_bulk(const int* in, int* out) {
    in_bulk<true, true, true>(in, out);
}
extern "C" __global__ void __launch_bounds__(64) bulk_without_wait(const int* in, int* out) {
    in_bulk<true, true, false>(in, out);
}
extern "C" __global__ void __launch_bounds__(64) bulk_without_barrier(const int* in, int* out) {
    in_bulk<false, true, true>(in, out);
}
extern "C" __global__ void __launch_bounds__(64) bulk_half_asked(const int* in, int* out) {
    in_bulk<true, false, true>(in, out);
}
