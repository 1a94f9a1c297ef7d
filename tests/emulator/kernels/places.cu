// Adds up over the blocks of one x, of which there are four, where each thread stands.
extern "C" __global__ void __launch_bounds__(64) places(int* out) {
    const int t = static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
    const int place =
        static_cast<int>(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x);
    atomicAdd(&out[blockIdx.x * 64 + t], place);
}
