// Kernels of the runtime itself: they point a captured graph at this call's tensors and report faults to the
// host.

// As in the emitted sources; dlrmc/runtime/faults.py has the same layout.
struct Faults {
    unsigned int count;
    int site;
    long long position;
    long long value;
    long long limit;
};

// Device memory: how many calls have run, and how many faults the host has been told of.
struct Progress {
    unsigned long long calls;
    unsigned long long told;
};

// Host memory that the device can write: the first fault and the number of all; count is written last.
struct Published {
    unsigned int count;
    int site;
    long long position;
    long long value;
    long long limit;
    long long call;
};

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

extern "C" __global__ void __launch_bounds__(32)
    dlrmc_write_pointers_32(unsigned long long* table, const __grid_constant__ Pointers<32> pointers,
                            int first, int count) {
    write_pointers(table, pointers, first, count);
}

extern "C" __global__ void __launch_bounds__(128)
    dlrmc_write_pointers_400(unsigned long long* table, const __grid_constant__ Pointers<400> pointers,
                             int first, int count) {
    write_pointers(table, pointers, first, count);
}

// One thread, after the last kernel of a call that checks bounds. Writes to the host only where there is
// news.
extern "C" __global__ void __launch_bounds__(32)
    dlrmc_publish_faults(const Faults* faults, Progress* progress, Published* published) {
    if (threadIdx.x != 0) return;
    unsigned long long call = atomicAdd(&progress->calls, 1ull) + 1;
    unsigned int count = faults->count;
    if (count == progress->told) return;
    if (progress->told == 0) {
        published->site = faults->site;
        published->position = faults->position;
        published->value = faults->value;
        published->limit = faults->limit;
        published->call = (long long)call;
    }
    progress->told = count;
    __threadfence_system();
    *(volatile unsigned int*)&published->count = count;
}
