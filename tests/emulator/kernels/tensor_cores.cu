// To the 10 explicit bits of TF32, to nearest.
static __device__ __forceinline__ unsigned to_tf32(float value) {
    return (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
}

// D[16,8] = A[16,8] * B[8,8] + C[16,8], one warp, all row-major.
extern "C" __global__ void __launch_bounds__(32)
    tf32(const float* a, const float* b, const float* c, float* d) {
    const int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    const unsigned fragment_a[4] = {to_tf32(a[g * 8 + t]), to_tf32(a[(g + 8) * 8 + t]),
                                    to_tf32(a[g * 8 + t + 4]), to_tf32(a[(g + 8) * 8 + t + 4])};
    const unsigned fragment_b[2] = {to_tf32(b[t * 8 + g]), to_tf32(b[(t + 4) * 8 + g])};
    float sum[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t],
                    c[(g + 8) * 8 + 2 * t + 1]};
    mma_m16n8k8_tf32(sum, fragment_a, fragment_b, sum);
    d[g * 8 + 2 * t] = sum[0];
    d[g * 8 + 2 * t + 1] = sum[1];
    d[(g + 8) * 8 + 2 * t] = sum[2];
    d[(g + 8) * 8 + 2 * t + 1] = sum[3];
}

// D[16,8] = A[16,16] * B[16,8] + C[16,8] in bf16; B is stored column by column, as pairs want it.
extern "C" __global__ void __launch_bounds__(32)
    bf16(const unsigned* a, const unsigned* b, const float* c, float* d) {
    const int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    const unsigned fragment_a[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4],
                                    a[(g + 8) * 8 + t + 4]};
    const unsigned fragment_b[2] = {b[g * 8 + t], b[g * 8 + t + 4]};
    const float old[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t],
                          c[(g + 8) * 8 + 2 * t + 1]};
    float sum[4];
    mma_m16n8k16_bf16(sum, fragment_a, fragment_b, old);
    d[g * 8 + 2 * t] = sum[0];
    d[g * 8 + 2 * t + 1] = sum[1];
    d[(g + 8) * 8 + 2 * t] = sum[2];
    d[(g + 8) * 8 + 2 * t + 1] = sum[3];
}
