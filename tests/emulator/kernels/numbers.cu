extern "C" __global__ void __launch_bounds__(1024) widen_f16(const unsigned short* in, float* out) {
    const int i = static_cast<int>(blockIdx.x * 1024 + threadIdx.x);
    out[i] = f16_to_f32(in[i]);
}
extern "C" __global__ void __launch_bounds__(1024) narrow_f16(const float* in, unsigned short* out) {
    const int i = static_cast<int>(blockIdx.x * 1024 + threadIdx.x);
    out[i] = f32_to_f16(in[i]);
}
extern "C" __global__ void __launch_bounds__(1024) widen_bf16(const unsigned short* in, float* out) {
    const int i = static_cast<int>(blockIdx.x * 1024 + threadIdx.x);
    out[i] = bf16_to_f32(in[i]);
}
extern "C" __global__ void __launch_bounds__(1024) narrow_bf16(const float* in, unsigned short* out) {
    const int i = static_cast<int>(blockIdx.x * 1024 + threadIdx.x);
    out[i] = f32_to_bf16(in[i]);
}
extern "C" __global__ void __launch_bounds__(1024) narrow_tf32(const float* in, unsigned* out) {
    const int i = static_cast<int>(blockIdx.x * 1024 + threadIdx.x);
    out[i] = f32_to_tf32(in[i]);
}

// 12 results for each of 32 inputs.
extern "C" __global__ void __launch_bounds__(32) functions(const float* in, float* out) {
    const float x = in[threadIdx.x];
    float* row = out + 12 * threadIdx.x;
    row[0] = expf(x);
    row[1] = tanhf(x);
    row[2] = erff(x);
    row[3] = rsqrtf(fabsf(x));
    row[4] = fmaf(x, x, -1.0f);
    row[5] = fmaxf(x, NAN);
    row[6] = logf(fabsf(x));
    row[7] = 1.0f / (1.0f + __expf(-x));
    row[8] = __fdividef(x, 3.0f);
    row[9] = min(x, 0.5f) + max(2.0f, 1.0f);
    row[10] = isinf(x * INFINITY) ? 1.0f : 0.0f;
    row[11] = static_cast<float>(erf(static_cast<double>(x)) + sqrt(2.0) + pow(x, 2.0f));
}

extern "C" __global__ void __launch_bounds__(1) integers(const float* in, int* out, long long* wide) {
    out[0] = __float2int_rn(in[0]);
    out[1] = __float2int_rz(in[0]);
    out[2] = __float2int_rd(in[0]);
    out[3] = __float2int_ru(in[0]);
    out[4] = __float2int_rn(in[1]);
    out[5] = __float2int_rn(in[2]);
    out[6] = __float_as_int(in[0]);
    out[7] = __popc(0xf0f0u) + __clz(1) + __clz(0) + __ffs(8);
    out[8] = static_cast<int>(__brev(1u));
    out[9] = static_cast<int>(__umulhi(0x80000000u, 6u));
    out[10] = min(3, -4) + max(3, -4) + abs(-7);
    out[11] = static_cast<int>(__float2uint_rn(in[3]));
    wide[0] = __float2ll_rn(in[1]);
    wide[1] = min(3ll, -4ll);
    wide[2] = __clzll(1) + __popcll(~0ull);
}
