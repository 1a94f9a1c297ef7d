// Row i of the output has lane's results of operation i; 17 rows of 32.
extern "C" __global__ void __launch_bounds__(32) integers(const int* in, int* out) {
    const unsigned all = 0xffffffffu;
    const int lane = static_cast<int>(threadIdx.x), value = in[lane];
    int row = 0;
    out[32 * row++ + lane] = __shfl_sync(all, value, 5);
    out[32 * row++ + lane] = __shfl_sync(all, value, lane * 7);
    out[32 * row++ + lane] = __shfl_sync(all, value, 3, 8);
    out[32 * row++ + lane] = __shfl_up_sync(all, value, 1);
    out[32 * row++ + lane] = __shfl_up_sync(all, value, 3, 16);
    out[32 * row++ + lane] = __shfl_down_sync(all, value, 2);
    out[32 * row++ + lane] = __shfl_down_sync(all, value, 5, 8);
    out[32 * row++ + lane] = __shfl_xor_sync(all, value, 16);
    out[32 * row++ + lane] = __shfl_xor_sync(all, value, 9, 8);
    out[32 * row++ + lane] = static_cast<int>(__ballot_sync(all, value % 3 == 0));
    out[32 * row++ + lane] = __any_sync(all, value == in[7]);
    out[32 * row++ + lane] = __all_sync(all, value != in[7]);
    out[32 * row++ + lane] = __reduce_add_sync(all, value);
    out[32 * row++ + lane] = __reduce_min_sync(all, value);
    out[32 * row++ + lane] = __reduce_max_sync(all, value);
    out[32 * row++ + lane] = static_cast<int>(__match_any_sync(all, value % 3));
    out[32 * row++ + lane] = static_cast<int>(__reduce_xor_sync(all, static_cast<unsigned>(value)));
}

template <typename T>
__device__ __forceinline__ T sum_of_warp(T value) {
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_down_sync(0xffffffffu, value, delta);
    return __shfl_sync(0xffffffffu, value, 0);
}

extern "C" __global__ void __launch_bounds__(64)
    sums(const int* in, unsigned* u, float* f, long long* l, double* d) {
    const int t = static_cast<int>(threadIdx.x);
    u[t] = sum_of_warp(static_cast<unsigned>(in[t]));
    f[t] = sum_of_warp(static_cast<float>(in[t]));
    l[t] = sum_of_warp(in[t] * 10000000000ll);
    d[t] = sum_of_warp(in[t] * 0.5);
}

// Halves of one warp that meet apart, and once together.
extern "C" __global__ void __launch_bounds__(32) halves(const int* in, int* out) {
    const int lane = static_cast<int>(threadIdx.x);
    int value = in[lane];
    if (lane < 16) {
        value = __shfl_xor_sync(0x0000ffffu, value, 1);
        value = __shfl_xor_sync(0x0000ffffu, value, 2);
    } else {
        value = __shfl_xor_sync(0xffff0000u, value, 4);
    }
    __syncwarp();
    out[lane] = __shfl_sync(0xffffffffu, value, 31 - lane);
}

extern "C" __global__ void __launch_bounds__(32) lane_that_never_comes(const int* in, int* out) {
    const int lane = static_cast<int>(threadIdx.x);
    if (lane == 9) return;
    out[lane] = __shfl_sync(0xffffffffu, in[lane], 0);
}

extern "C" __global__ void __launch_bounds__(32) two_operations(const int* in, int* out) {
    const int lane = static_cast<int>(threadIdx.x);
    if (lane < 16) {
        out[lane] = __any_sync(0xffffffffu, in[lane]);
    } else {
        out[lane] = __all_sync(0xffffffffu, in[lane]);
    }
}

extern "C" __global__ void __launch_bounds__(32) mask_without_the_caller(const int* in, int* out) {
    out[threadIdx.x] = __shfl_sync(0x0000ffffu, in[threadIdx.x], 0);
}

// Lanes exchange through shared memory and rely on running in step.
extern "C" __global__ void __launch_bounds__(32) exchange_without_syncwarp(const int* in, int* out) {
    __shared__ int cells[32];
    cells[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = cells[31 - threadIdx.x];
}

// A block of 40: the last warp has 8 lanes.
extern "C" __global__ void __launch_bounds__(40) partial_warp(const int* in, int* out) {
    const int sum = __reduce_add_sync(0xffffffffu, in[threadIdx.x]);
    out[threadIdx.x] = sum + __popc(__ballot_sync(0xffffffffu, 1));
}
