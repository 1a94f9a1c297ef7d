// Device functions behind the elementwise expressions of dlrmc/ir/ops: one for each op that is more than an
// operator or a function of the C math library. Each has torch's meaning, which the op's docstring gives.
//
// T is a compute type: float or double, and for those that say so long long, int, unsigned char, signed char
// or bool. Nothing is approximate: expf, not __expf. Compiles under NVRTC with nothing included before it.
#ifndef DLRMC_CODEGEN_CUDA_MATH_CUH
#define DLRMC_CODEGEN_CUDA_MATH_CUH

// The C math library by overloads, so that the templates below serve float and double.
__device__ __forceinline__ float dlrmc_exp(float x) {
    return expf(x);
}
__device__ __forceinline__ double dlrmc_exp(double x) {
    return exp(x);
}
__device__ __forceinline__ float dlrmc_expm1(float x) {
    return expm1f(x);
}
__device__ __forceinline__ double dlrmc_expm1(double x) {
    return expm1(x);
}
__device__ __forceinline__ float dlrmc_tanh(float x) {
    return tanhf(x);
}
__device__ __forceinline__ double dlrmc_tanh(double x) {
    return tanh(x);
}
__device__ __forceinline__ float dlrmc_erf(float x) {
    return erff(x);
}
__device__ __forceinline__ double dlrmc_erf(double x) {
    return erf(x);
}

// The TF32 number nearest to x, the even one of two. What is not finite, or would be rounded to an infinity,
// stays as it is.
__device__ __forceinline__ float dlrmc_round_tf32(float x) {
    const unsigned bits = __float_as_uint(x);
    const unsigned nearest = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
    return (bits & 0x7fffffffu) < 0x7f7ff000u ? __uint_as_float(nearest) : x;
}

// Activations.

// Also of integers. A NaN is not below 0 and stays.
template <typename T>
__device__ __forceinline__ T dlrmc_relu(T x) {
    return x < T(0) ? T(0) : x;
}

template <typename T>
__device__ __forceinline__ T dlrmc_sigmoid(T x) {
    return T(1) / (T(1) + dlrmc_exp(-x));
}

template <typename T>
__device__ __forceinline__ T dlrmc_silu(T x) {
    return x / (T(1) + dlrmc_exp(-x));
}

template <typename T>
__device__ __forceinline__ T dlrmc_gelu(T x) {
    return x * T(0.5) * (T(1) + dlrmc_erf(x * T(0.70710678118654752440)));
}

template <typename T>
__device__ __forceinline__ T dlrmc_gelu_tanh(T x) {
    const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (T(1) + dlrmc_tanh(inner));
}

template <typename T>
__device__ __forceinline__ T dlrmc_leaky_relu(T x, T slope) {
    return x > T(0) ? x : x * slope;
}

template <typename T>
__device__ __forceinline__ T dlrmc_elu(T x, T alpha) {
    return x > T(0) ? x : alpha * dlrmc_expm1(x);
}

// The larger and the smaller, of every compute type; NaN where either is NaN.

template <typename T>
__device__ __forceinline__ T dlrmc_maximum(T a, T b) {
    return a > b || a != a ? a : b;
}

template <typename T>
__device__ __forceinline__ T dlrmc_minimum(T a, T b) {
    return a < b || a != a ? a : b;
}

// Integers that wrap.

// The unsigned type in which T wraps without undefined behaviour.
template <typename T>
struct DlrmcWrapping {
    using type = unsigned int;
};
template <>
struct DlrmcWrapping<long long> {
    using type = unsigned long long;
};

template <typename T>
__device__ __forceinline__ T dlrmc_add(T a, T b) {
    using U = typename DlrmcWrapping<T>::type;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}

template <typename T>
__device__ __forceinline__ T dlrmc_sub(T a, T b) {
    using U = typename DlrmcWrapping<T>::type;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}

template <typename T>
__device__ __forceinline__ T dlrmc_mul(T a, T b) {
    using U = typename DlrmcWrapping<T>::type;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

// Bits of integers.

template <typename T>
__device__ __forceinline__ T dlrmc_bitwise_and(T a, T b) {
    return static_cast<T>(a & b);
}

template <typename T>
__device__ __forceinline__ T dlrmc_bitwise_or(T a, T b) {
    return static_cast<T>(a | b);
}

template <typename T>
__device__ __forceinline__ T dlrmc_bitwise_xor(T a, T b) {
    return static_cast<T>(a ^ b);
}

// A count below 0, or of T's bits and more, shifts everything out.
template <typename T>
__device__ __forceinline__ bool dlrmc_shifts_out(T count) {
    return count < T(0) || count >= T(8 * sizeof(T));
}

template <typename T>
__device__ __forceinline__ T dlrmc_shift_left(T a, T count) {
    using U = typename DlrmcWrapping<T>::type;
    return dlrmc_shifts_out(count) ? T(0) : static_cast<T>(static_cast<U>(a) << count);
}

template <typename T>
__device__ __forceinline__ T dlrmc_shift_right(T a, T count) {
    if (dlrmc_shifts_out(count)) return a < T(0) ? static_cast<T>(-1) : T(0);
    return static_cast<T>(a >> count);
}

// Powers.

__device__ __forceinline__ float dlrmc_pow(float base, float exponent) {
    return powf(base, exponent);
}
__device__ __forceinline__ double dlrmc_pow(double base, double exponent) {
    return pow(base, exponent);
}

// Of integers, by squaring. A negative power is 0, but for the bases 1 and -1.
template <typename T>
__device__ __forceinline__ T dlrmc_pow(T base, T exponent) {
    const bool is_odd = exponent & 1;
    if (exponent < T(0)) {
        if (base == T(1)) return T(1);
        return base == T(-1) ? (is_odd ? T(-1) : T(1)) : T(0);
    }
    T result = T(1);
    for (T left = exponent; left > T(0); left = static_cast<T>(left >> 1)) {
        if (left & 1) result = dlrmc_mul(result, base);
        base = dlrmc_mul(base, base);
    }
    return result;
}

// Divisions with a rounding mode. An integer divided by 0 gives 0; the lowest one divided by -1 wraps.

// An unsigned number is never -1.
template <typename T>
__device__ __forceinline__ bool dlrmc_is_minus_one(T x) {
    return T(-1) < T(0) && x == T(-1);
}

__device__ __forceinline__ float dlrmc_atan2(float y, float x) {
    return atan2f(y, x);
}
__device__ __forceinline__ double dlrmc_atan2(double y, double x) {
    return atan2(y, x);
}

__device__ __forceinline__ float dlrmc_fmod(float a, float b) {
    return fmodf(a, b);
}
__device__ __forceinline__ double dlrmc_fmod(double a, double b) {
    return fmod(a, b);
}
template <typename T>
__device__ __forceinline__ T dlrmc_fmod(T a, T b) {
    return b == T(0) || dlrmc_is_minus_one(b) ? T(0) : static_cast<T>(a % b);
}

template <typename T>
__device__ __forceinline__ T dlrmc_remainder(T a, T b) {
    const T rest = dlrmc_fmod(a, b);
    return rest != T(0) && (b < T(0)) != (rest < T(0)) ? static_cast<T>(rest + b) : rest;
}

__device__ __forceinline__ float dlrmc_trunc_div(float a, float b) {
    return truncf(a / b);
}
__device__ __forceinline__ double dlrmc_trunc_div(double a, double b) {
    return trunc(a / b);
}
template <typename T>
__device__ __forceinline__ T dlrmc_trunc_div(T a, T b) {
    if (b == T(0)) return T(0);
    return dlrmc_is_minus_one(b) ? dlrmc_sub(T(0), a) : static_cast<T>(a / b);
}

// Of floats, from the exact remainder, as torch does.
template <typename T>
__device__ __forceinline__ T dlrmc_floor_div_of_floats(T a, T b) {
    if (b == T(0)) return a / b;
    const T rest = dlrmc_fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
    if (quotient == T(0)) return copysign(T(0), a / b);
    const T whole = floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
}
__device__ __forceinline__ float dlrmc_floor_div(float a, float b) {
    return dlrmc_floor_div_of_floats(a, b);
}
__device__ __forceinline__ double dlrmc_floor_div(double a, double b) {
    return dlrmc_floor_div_of_floats(a, b);
}
template <typename T>
__device__ __forceinline__ T dlrmc_floor_div(T a, T b) {
    const T quotient = dlrmc_trunc_div(a, b);
    const bool is_above = b != T(0) && dlrmc_fmod(a, b) != T(0) && (a < T(0)) != (b < T(0));
    return is_above ? static_cast<T>(quotient - 1) : quotient;
}

#endif  // DLRMC_CODEGEN_CUDA_MATH_CUH
