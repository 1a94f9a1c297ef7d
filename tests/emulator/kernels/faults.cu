extern "C" __global__ void __launch_bounds__(32) trap(int* x) {
    if (blockIdx.x == 2 && threadIdx.x == 5) __trap();
    x[threadIdx.x] = 1;
}
extern "C" __global__ void __launch_bounds__(32) failed_assertion(int* x) {
    assert(x[threadIdx.x] < 31);
}
extern "C" __global__ void __launch_bounds__(32) null_address(int* x) {
    int* nowhere = reinterpret_cast<int*>(static_cast<long long>(x[0]));
    *nowhere = 1;
}
extern "C" __global__ void __launch_bounds__(32) division_by_zero(int* x) {
    x[threadIdx.x] = 7 / x[threadIdx.x];
}
__device__ __noinline__ int deep(int* x, int depth) {
    volatile int frame[512];
    frame[depth & 511] = x[0];
    if (depth > 1000000) return frame[0];
    return deep(x, depth + 1) + frame[depth & 511];
}
extern "C" __global__ void __launch_bounds__(32) deep_recursion(int* x) {
    x[0] = deep(x, 0);
}
extern "C" __global__ void __launch_bounds__(32) past_the_end(int* x) {
    x[threadIdx.x + 1] = 1;
}
extern "C" __global__ void __launch_bounds__(32) before_the_start(int* x) {
    x[static_cast<int>(threadIdx.x) - 1] = 1;
}
extern "C" __global__ void __launch_bounds__(32) signed_overflow(int* x) {
    x[threadIdx.x] += 2147483647;
}
extern "C" __global__ void __launch_bounds__(1) misaligned_vector(float* x) {
    const float4* four = reinterpret_cast<const float4*>(x + 1);
    x[0] = four->x + four->w;
}
extern "C" __global__ void __launch_bounds__(1) shift_too_far(int* x) {
    x[0] = 1 << x[1];
}
__device__ __noinline__ int read(const int* cells, int index) {
    return cells[index];
}
extern "C" __global__ void __launch_bounds__(32) past_a_local_array(int* x) {
    int cells[4];
    for (int i = 0; i < 4; ++i)
        cells[i] = x[i];
    __syncthreads();
    x[threadIdx.x] = read(cells, x[31]);
}
extern "C" __global__ void __launch_bounds__(32) nothing_wrong(int* x, int** slot) {
    (*slot)[threadIdx.x] = x[31 - threadIdx.x] + 1;
}
