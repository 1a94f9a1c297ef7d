// The vector types of CUDA that the stages use (CUDA C++ Programming Guide, "Built-in Vector Types"), with
// their alignment.
#ifndef DLRMC_EMULATOR_VECTOR_TYPES_H
#define DLRMC_EMULATOR_VECTOR_TYPES_H

#define DLRMC_VECTOR_TYPES(name, scalar)                                              \
    struct name##1 {                                                                  \
        scalar x;                                                                     \
    };                                                                                \
    struct alignas(2 * sizeof(scalar)) name##2 {                                      \
        scalar x, y;                                                                  \
    };                                                                                \
    struct name##3 {                                                                  \
        scalar x, y, z;                                                               \
    };                                                                                \
    struct alignas(4 * sizeof(scalar) < 16 ? 4 * sizeof(scalar) : 16) name##4 {       \
        scalar x, y, z, w;                                                            \
    };                                                                                \
    inline constexpr name##1 make_##name##1(scalar x) {                               \
        return {x};                                                                   \
    }                                                                                 \
    inline constexpr name##2 make_##name##2(scalar x, scalar y) {                     \
        return {x, y};                                                                \
    }                                                                                 \
    inline constexpr name##3 make_##name##3(scalar x, scalar y, scalar z) {           \
        return {x, y, z};                                                             \
    }                                                                                 \
    inline constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { \
        return {x, y, z, w};                                                          \
    }

DLRMC_VECTOR_TYPES(char, signed char)
DLRMC_VECTOR_TYPES(uchar, unsigned char)
DLRMC_VECTOR_TYPES(short, short)
DLRMC_VECTOR_TYPES(ushort, unsigned short)
DLRMC_VECTOR_TYPES(int, int)
DLRMC_VECTOR_TYPES(uint, unsigned)
DLRMC_VECTOR_TYPES(longlong, long long)
DLRMC_VECTOR_TYPES(ulonglong, unsigned long long)
DLRMC_VECTOR_TYPES(float, float)
DLRMC_VECTOR_TYPES(double, double)
#undef DLRMC_VECTOR_TYPES

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

#endif  // DLRMC_EMULATOR_VECTOR_TYPES_H
