// Points a captured graph at the tensors of this call.

template <int N>
struct Pointers {
    unsigned long long at[N];
};

// Pointers arrive by value, so nothing on the host has to outlive the launch. __grid_constant__ keeps the
// compiler from copying the parameter to local memory for the sake of the variable index.
template <int N>
__device__ void write_pointers(unsigned long long* table, const Pointers<N>& pointers, int first, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        table[first + i] = pointers.at[i];
}

extern "C" __global__ void __launch_bounds__(128)
    dlrmc_write_pointers_32(unsigned long long* table, const __grid_constant__ Pointers<32> pointers,
                            int first, int count) {
    write_pointers(table, pointers, first, count);
}

extern "C" __global__ void __launch_bounds__(128)
    dlrmc_write_pointers_128(unsigned long long* table, const __grid_constant__ Pointers<128> pointers,
                             int first, int count) {
    write_pointers(table, pointers, first, count);
}

extern "C" __global__ void __launch_bounds__(128)
    dlrmc_write_pointers_400(unsigned long long* table, const __grid_constant__ Pointers<400> pointers,
                             int first, int count) {
    write_pointers(table, pointers, first, count);
}
