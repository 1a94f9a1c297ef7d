// Tells the host of faults without the host waiting.

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
