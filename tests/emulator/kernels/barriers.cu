// Each thread hands its number to the thread opposite, through shared memory.
extern "C" __global__ void __launch_bounds__(1024) exchange(int* out) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    int* cells = reinterpret_cast<int*>(dlrmc_shared);
    cells[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = cells[blockDim.x - 1 - threadIdx.x];
}

// The same with the barrier left out.
extern "C" __global__ void __launch_bounds__(1024) exchange_without_barrier(int* out) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    int* cells = reinterpret_cast<int*>(dlrmc_shared);
    cells[threadIdx.x] = static_cast<int>(threadIdx.x);
    out[blockIdx.x * blockDim.x + threadIdx.x] = cells[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(96) votes(int* out) {
    const int odd = threadIdx.x % 2, large = threadIdx.x > 90, none = 0;
    const int row[4] = {__syncthreads_count(odd), __syncthreads_or(large), __syncthreads_or(none),
                        __syncthreads_and(threadIdx.x < 96)};
    for (int i = 0; i < 4; ++i)
        out[threadIdx.x * 4 + i] = row[i];
}

extern "C" __global__ void __launch_bounds__(64) barrier_in_a_branch(int* out) {
    if (threadIdx.x < 40) __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void __launch_bounds__(64) barriers_in_two_branches(int* out) {
    if (threadIdx.x < 32) {
        __syncthreads();
        out[threadIdx.x] = 1;
    } else {
        __syncthreads();
        out[threadIdx.x] = 2;
    }
}

// Two halves of a block, each with its own barrier and its own number of rounds.
extern "C" __global__ void __launch_bounds__(128) two_halves(int* out) {
    __shared__ int cells[128];
    const int half = static_cast<int>(threadIdx.x) / 64, place = static_cast<int>(threadIdx.x) % 64;
    int value = static_cast<int>(threadIdx.x);
    for (int round = 0; round < 3 + 2 * half; ++round) {
        cells[threadIdx.x] = value;
        named_barrier_sync(1 + half, 64);
        value = cells[half * 64 + (place + 33) % 64];
        named_barrier_sync(1 + half, 64);
    }
    out[threadIdx.x] = value;
}

// The first warp makes a value, the second waits for it; only the second needs to stop.
extern "C" __global__ void __launch_bounds__(64) producer_and_consumer(int* out) {
    __shared__ int cells[32];
    if (threadIdx.x < 32) {
        cells[threadIdx.x] = 100 + static_cast<int>(threadIdx.x);
        named_barrier_arrive(3, 64);
        return;
    }
    named_barrier_sync(3, 64);
    out[threadIdx.x - 32] = cells[threadIdx.x - 32];
}

extern "C" __global__ void __launch_bounds__(128) named_barrier_short_of_a_warp(int* out) {
    if (threadIdx.x < 64) named_barrier_sync(5, 96);
    out[threadIdx.x] = 1;
}

extern "C" __global__ void __launch_bounds__(64) named_barrier_of_two_sizes(int* out) {
    named_barrier_sync(5, threadIdx.x < 32 ? 32 : 64);
    out[threadIdx.x] = 1;
}
