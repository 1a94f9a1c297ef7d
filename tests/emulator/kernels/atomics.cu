extern "C" __global__ void __launch_bounds__(64)
    count(const int* in, int* i, unsigned* u, unsigned long long* l, float* f) {
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&i[0], value);
    atomicMax(&i[1], value);
    atomicMin(&i[2], value);
    atomicAdd(&u[0], 1u);
    atomicOr(&u[1], 1u << (value & 31));
    atomicAdd(&l[0], 1ull << 33);
    atomicAdd(&f[0], 1.0f);
}

// A list without holes in the order of arrival; then the first to come claims the flag.
extern "C" __global__ void __launch_bounds__(64)
    claim(unsigned* counter, unsigned* winners, unsigned* places) {
    const unsigned place = atomicAdd(&counter[0], 1u);
    places[place] = 1u;
    if (atomicCAS(&counter[1], 0u, 7u) == 0u) atomicAdd(&winners[0], 1u);
    if (atomicExch(&counter[2], 1u) == 0u) atomicAdd(&winners[1], 1u);
}

// The last block to finish adds up what all have written.
extern "C" __global__ void __launch_bounds__(32)
    last_block(const int* in, int* partial, unsigned* done, int* out) {
    __shared__ bool last;
    const int sum = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x != 0) return;
    int total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b)
        total += __ldcg(&partial[b]);
    out[0] = total;
}

// Each thread writes when it came.
extern "C" __global__ void __launch_bounds__(64)
    arrival(unsigned* counter, unsigned* unused, unsigned* when) {
    when[threadIdx.x] = atomicAdd(&counter[0], 1u) + unused[0];
}
