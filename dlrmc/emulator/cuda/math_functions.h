// The math functions of device code (CUDA Math API) on the C library's.
//
// Results may differ from a GPU's in the last bits: CUDA documents up to 2 ulp for most of them, and the `__`
// forms
// (__expf, __fdividef, ...) are less exact there than here.
#ifndef DLRMC_EMULATOR_MATH_FUNCTIONS_H
#define DLRMC_EMULATOR_MATH_FUNCTIONS_H

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))

// double name(double), float namef(float), and CUDA's overload float name(float).
#define DLRMC_UNARY(name)                     \
    extern "C" double name(double) noexcept;  \
    extern "C" float name##f(float) noexcept; \
    inline float name(float x) {              \
        return name##f(x);                    \
    }
#define DLRMC_BINARY(name)                           \
    extern "C" double name(double, double) noexcept; \
    extern "C" float name##f(float, float) noexcept; \
    inline float name(float x, float y) {            \
        return name##f(x, y);                        \
    }

DLRMC_UNARY(acos)
DLRMC_UNARY(acosh)
DLRMC_UNARY(asin)
DLRMC_UNARY(asinh)
DLRMC_UNARY(atan)
DLRMC_UNARY(atanh)
DLRMC_UNARY(cbrt)
DLRMC_UNARY(ceil)
DLRMC_UNARY(cos)
DLRMC_UNARY(cosh)
DLRMC_UNARY(erf)
DLRMC_UNARY(erfc)
DLRMC_UNARY(exp)
DLRMC_UNARY(exp2)
DLRMC_UNARY(expm1)
DLRMC_UNARY(fabs)
DLRMC_UNARY(floor)
DLRMC_UNARY(lgamma)
DLRMC_UNARY(log)
DLRMC_UNARY(log10)
DLRMC_UNARY(log1p)
DLRMC_UNARY(log2)
DLRMC_UNARY(nearbyint)
DLRMC_UNARY(rint)
DLRMC_UNARY(round)
DLRMC_UNARY(sin)
DLRMC_UNARY(sinh)
DLRMC_UNARY(sqrt)
DLRMC_UNARY(tan)
DLRMC_UNARY(tanh)
DLRMC_UNARY(tgamma)
DLRMC_UNARY(trunc)
DLRMC_BINARY(atan2)
DLRMC_BINARY(copysign)
DLRMC_BINARY(fdim)
DLRMC_BINARY(fmax)
DLRMC_BINARY(fmin)
DLRMC_BINARY(fmod)
DLRMC_BINARY(hypot)
DLRMC_BINARY(nextafter)
DLRMC_BINARY(pow)
DLRMC_BINARY(remainder)
#undef DLRMC_UNARY
#undef DLRMC_BINARY

extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
inline float fma(float x, float y, float z) {
    return fmaf(x, y, z);
}

extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;

inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
    return 1.0 / sqrt(x);
}
inline float rsqrt(float x) {
    return rsqrtf(x);
}
inline float exp10f(float x) {
    return powf(10.0f, x);
}
inline float normcdff(float x) {
    return 0.5f * erfcf(-x * 0.70710678118654752440f);
}
inline double normcdf(double x) {
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

inline bool isnan(float x) {
    return __builtin_isnan(x);
}
inline bool isnan(double x) {
    return __builtin_isnan(x);
}
inline bool isinf(float x) {
    return __builtin_isinf(x);
}
inline bool isinf(double x) {
    return __builtin_isinf(x);
}
inline bool isfinite(float x) {
    return __builtin_isfinite(x);
}
inline bool isfinite(double x) {
    return __builtin_isfinite(x);
}
inline bool signbit(float x) {
    return __builtin_signbit(x);
}
inline bool signbit(double x) {
    return __builtin_signbit(x);
}

// ---- the less exact forms
// -------------------------------------------------------------------------------------

inline float __expf(float x) {
    return expf(x);
}
inline float __exp10f(float x) {
    return exp10f(x);
}
inline float __logf(float x) {
    return logf(x);
}
inline float __log2f(float x) {
    return log2f(x);
}
inline float __log10f(float x) {
    return log10f(x);
}
inline float __sinf(float x) {
    return sinf(x);
}
inline float __cosf(float x) {
    return cosf(x);
}
inline float __tanf(float x) {
    return tanf(x);
}
inline float __powf(float x, float y) {
    return powf(x, y);
}
inline float __tanhf(float x) {
    return tanhf(x);
}
inline float __fdividef(float x, float y) {
    return x / y;
}
inline float __saturatef(float x) {
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

// ---- one rounding each, never contracted
// ----------------------------------------------------------------------

inline float __fadd_rn(float x, float y) {
    return x + y;
}
inline float __fsub_rn(float x, float y) {
    return x - y;
}
inline float __fmul_rn(float x, float y) {
    return x * y;
}
inline float __fdiv_rn(float x, float y) {
    return x / y;
}
inline float __frcp_rn(float x) {
    return 1.0f / x;
}
inline float __fsqrt_rn(float x) {
    return sqrtf(x);
}
inline float __frsqrt_rn(float x) {
    return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
}
inline float __fmaf_rn(float x, float y, float z) {
    return fmaf(x, y, z);
}
inline double __dadd_rn(double x, double y) {
    return x + y;
}
inline double __dsub_rn(double x, double y) {
    return x - y;
}
inline double __dmul_rn(double x, double y) {
    return x * y;
}
inline double __ddiv_rn(double x, double y) {
    return x / y;
}
inline double __fma_rn(double x, double y, double z) {
    return fma(x, y, z);
}

// ---- min, max, abs: CUDA's overloads, where a NaN loses against a number
// --------------------------------------

#define DLRMC_MIN_MAX(type)                     \
    inline constexpr type min(type x, type y) { \
        return y < x ? y : x;                   \
    }                                           \
    inline constexpr type max(type x, type y) { \
        return x < y ? y : x;                   \
    }
DLRMC_MIN_MAX(int)
DLRMC_MIN_MAX(unsigned)
DLRMC_MIN_MAX(long)
DLRMC_MIN_MAX(unsigned long)
DLRMC_MIN_MAX(long long)
DLRMC_MIN_MAX(unsigned long long)
#undef DLRMC_MIN_MAX
inline float min(float x, float y) {
    return fminf(x, y);
}
inline float max(float x, float y) {
    return fmaxf(x, y);
}
inline double min(double x, double y) {
    return fmin(x, y);
}
inline double max(double x, double y) {
    return fmax(x, y);
}
inline double min(float x, double y) {
    return fmin(static_cast<double>(x), y);
}
inline double max(float x, double y) {
    return fmax(static_cast<double>(x), y);
}
inline double min(double x, float y) {
    return fmin(x, static_cast<double>(y));
}
inline double max(double x, float y) {
    return fmax(x, static_cast<double>(y));
}
inline constexpr unsigned min(int x, unsigned y) {
    return min(static_cast<unsigned>(x), y);
}
inline constexpr unsigned max(int x, unsigned y) {
    return max(static_cast<unsigned>(x), y);
}
inline constexpr unsigned min(unsigned x, int y) {
    return min(x, static_cast<unsigned>(y));
}
inline constexpr unsigned max(unsigned x, int y) {
    return max(x, static_cast<unsigned>(y));
}

extern "C" int abs(int) noexcept;
extern "C" long long llabs(long long) noexcept;
inline long long abs(long long x) {
    return llabs(x);
}
inline float abs(float x) {
    return fabsf(x);
}
inline double abs(double x) {
    return fabs(x);
}

#endif  // DLRMC_EMULATOR_MATH_FUNCTIONS_H
