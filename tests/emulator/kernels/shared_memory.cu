// What shared memory holds before anyone has written it, in every block.
extern "C" __global__ void __launch_bounds__(32) read_unwritten(unsigned* out) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    __shared__ unsigned cells[32];
    const unsigned* dynamic = reinterpret_cast<const unsigned*>(dlrmc_shared);
    const unsigned fixed = cells[threadIdx.x], free = dynamic[threadIdx.x];
    __syncthreads();
    cells[threadIdx.x] = 1;
    reinterpret_cast<unsigned*>(dlrmc_shared)[threadIdx.x] = 1;
    out[(blockIdx.x * 2) * 32 + threadIdx.x] = fixed;
    out[(blockIdx.x * 2 + 1) * 32 + threadIdx.x] = free;
}

template <int N>
__device__ __forceinline__ int reversed(int value) {
    __shared__ int cells[N];
    cells[threadIdx.x] = value;
    __syncthreads();
    return cells[N - 1 - threadIdx.x];
}

// Static arrays in two instances of a template are two arrays.
extern "C" __global__ void __launch_bounds__(64) of_templates(int* out) {
    const int value = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
    const int once = reversed<64>(value);
    const int padded = threadIdx.x < 64 ? reversed<65>(once) : 0;
    out[value] = padded;
}

extern "C" __global__ void __launch_bounds__(32) write_past_dynamic(int* out) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    reinterpret_cast<int*>(dlrmc_shared)[threadIdx.x + 1] = 0;
    out[threadIdx.x] = 1;
}

__device__ __noinline__ void write(int* cells, int index) {
    cells[index] = 1;
}

extern "C" __global__ void __launch_bounds__(32) write_past_static(int* out) {
    __shared__ int before[32];
    __shared__ int cells[32];
    __shared__ int after[32];
    before[threadIdx.x] = after[threadIdx.x] = 0;
    write(cells, *out + static_cast<int>(threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = before[31 - threadIdx.x] + cells[31 - threadIdx.x] + after[31 - threadIdx.x];
}
