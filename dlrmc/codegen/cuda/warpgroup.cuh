// Products of one warpgroup, 128 neighbouring threads, on tensor cores: wgmma   (PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions")
//
// D += A * B for A of 64 rows x 8 k of TF32, in registers or in shared memory, and B of 8 k x 8 * TILES
// columns of TF32 in shared memory; D in f32. Warp w of the group holds rows 16 w to 16 w + 15, in fragments
// as those of mma.sync: with g = lane / 4 and t = lane % 4
//   a: (g, t) (g + 8, t) (g, t + 4) (g + 8, t + 4)    d[tile]: (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t +
//   1)
// The hardware cuts off the 13 lowest bits of a value.
//
// Shared memory holds tiles of rows of 32 k, 128 bytes: rows of A, columns of B. The eight packs of a row of
// 4 k stand at place (pack ^ row % 8), "128-byte swizzle", so that eight rows' packs of one k are all 32
// banks once.
//
// Compiles for sm_90a alone. Under DLRMC_EMULATED a product is done at once, by the emulated mma.sync.
//
// requires: ptx.cuh
#ifndef DLRMC_CODEGEN_CUDA_WARPGROUP_CUH
#define DLRMC_CODEGEN_CUDA_WARPGROUP_CUH

#include "ptx.cuh"

constexpr int swizzled_depth = 32;

// Where pack `pack` of row `row` of a tile stands, in floats.
__device__ __forceinline__ int swizzled_place(int row, int pack) {
    return row * swizzled_depth + (pack ^ row % 8) * 4;
}

#ifdef DLRMC_EMULATED

struct WarpgroupTile {
    const float* start;
    int first_k = 0;

    explicit WarpgroupTile(const float* tile) : start(tile) {}
    WarpgroupTile from(int k) const {
        WarpgroupTile tile(start);
        tile.first_k = k;
        return tile;
    }
};

template <int TILES>
inline void warpgroup_multiply(float (&d)[TILES][4], const unsigned (&a)[4], WarpgroupTile b, bool adds,
                               int line = __builtin_LINE()) {
    const int lane = threadIdx.x % 32;
    for (int tile = 0; tile < TILES; ++tile) {
        unsigned values[2];
        for (int i = 0; i < 2; ++i) {
            const int k = b.first_k + i * 4 + lane % 4;
            values[i] = __float_as_uint(b.start[swizzled_place(tile * 8 + lane / 4, k / 4) + k % 4]);
        }
        const float zeros[4] = {};
        const float sums[4] = {d[tile][0], d[tile][1], d[tile][2], d[tile][3]};
        mma_m16n8k8_tf32(d[tile], a, values, adds ? sums : zeros, line);
    }
}

template <int TILES>
inline void warpgroup_multiply(float (&d)[TILES][4], WarpgroupTile a, WarpgroupTile b, bool adds,
                               int line = __builtin_LINE()) {
    const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    unsigned values[4];
    for (int i = 0; i < 4; ++i) {
        const int k = a.first_k + i / 2 * 4 + threadIdx.x % 4;
        values[i] = __float_as_uint(a.start[swizzled_place(row + i % 2 * 8, k / 4) + k % 4]);
    }
    warpgroup_multiply(d, values, b, adds, line);
}

inline void warpgroup_fence() {}
inline void warpgroup_commit() {}
template <int PENDING>
inline void warpgroup_wait() {}
inline void fence_shared_for_warpgroups() {}
template <int TILES>
inline void keep_order(float (&)[TILES][4]) {}

#else

// The matrix descriptor of a tile that starts at a multiple of 1024 bytes: address, 1024 bytes from eight
// rows to the next eight, 128-byte swizzle (PTX ISA, "Matrix Descriptor Format").
struct WarpgroupTile {
    unsigned long long descriptor;

    __device__ __forceinline__ explicit WarpgroupTile(const float* tile)
        : descriptor((shared_address(tile) & 0x3ffffull) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62) {}
    // From k on, a multiple of 8.
    __device__ __forceinline__ WarpgroupTile from(int k) const {
        WarpgroupTile tile(*this);
        tile.descriptor += k / 4;
        return tile;
    }
};

// `adds` says whether D holds sums already; else it starts at zero. D and A belong to the tensor cores until
// warpgroup_wait.
// Lists of the registers of D, for the text of an instruction and for its operands.
#define DLRMC_D_32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define DLRMC_D_64 \
    DLRMC_D_32     \
    ","            \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define DLRMC_D_128                                                                \
    DLRMC_D_64                                                                     \
    ","                                                                            \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50," \
    "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define DLRMC_TILE(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define DLRMC_4_TILES(i) DLRMC_TILE(i), DLRMC_TILE(i + 1), DLRMC_TILE(i + 2), DLRMC_TILE(i + 3)
#define DLRMC_8_TILES DLRMC_4_TILES(0), DLRMC_4_TILES(4)
#define DLRMC_16_TILES DLRMC_8_TILES, DLRMC_4_TILES(8), DLRMC_4_TILES(12)

__device__ __forceinline__ void warpgroup_multiply(float (&d)[4][4], const unsigned (&a)[4], WarpgroupTile b,
                                                   bool adds) {
    asm volatile(
        "{ .reg .pred adds; setp.ne.b32 adds, %21, 0; "
        "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {" DLRMC_D_32
        "}, {%16, %17, %18, %19}, %20, adds, 1, 1; }"
        : DLRMC_4_TILES(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.descriptor), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ void warpgroup_multiply(float (&d)[4][4], WarpgroupTile a, WarpgroupTile b,
                                                   bool adds) {
    asm volatile(
        "{ .reg .pred adds; setp.ne.b32 adds, %18, 0; "
        "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {" DLRMC_D_32 "}, %16, %17, adds, 1, 1; }"
        : DLRMC_4_TILES(0)
        : "l"(a.descriptor), "l"(b.descriptor), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ void warpgroup_multiply(float (&d)[8][4], const unsigned (&a)[4], WarpgroupTile b,
                                                   bool adds) {
    asm volatile(
        "{ .reg .pred adds; setp.ne.b32 adds, %37, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" DLRMC_D_64
        "}, {%32, %33, %34, %35}, %36, adds, 1, 1; }"
        : DLRMC_8_TILES
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.descriptor), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ void warpgroup_multiply(float (&d)[8][4], WarpgroupTile a, WarpgroupTile b,
                                                   bool adds) {
    asm volatile(
        "{ .reg .pred adds; setp.ne.b32 adds, %34, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" DLRMC_D_64 "}, %32, %33, adds, 1, 1; }"
        : DLRMC_8_TILES
        : "l"(a.descriptor), "l"(b.descriptor), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ void warpgroup_multiply(float (&d)[16][4], const unsigned (&a)[4], WarpgroupTile b,
                                                   bool adds) {
    asm volatile(
        "{ .reg .pred adds; setp.ne.b32 adds, %69, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" DLRMC_D_128
        "}, {%64, %65, %66, %67}, %68, adds, 1, 1; }"
        : DLRMC_16_TILES
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.descriptor), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ void warpgroup_multiply(float (&d)[16][4], WarpgroupTile a, WarpgroupTile b,
                                                   bool adds) {
    asm volatile(
        "{ .reg .pred adds; setp.ne.b32 adds, %66, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" DLRMC_D_128 "}, %64, %65, adds, 1, 1; }"
        : DLRMC_16_TILES
        : "l"(a.descriptor), "l"(b.descriptor), "r"(static_cast<int>(adds)));
}

#undef DLRMC_D_32
#undef DLRMC_D_64
#undef DLRMC_D_128
#undef DLRMC_TILE
#undef DLRMC_4_TILES
#undef DLRMC_8_TILES
#undef DLRMC_16_TILES

// Before the first product, and before one whose registers were written by other instructions.
__device__ __forceinline__ void warpgroup_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void warpgroup_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most PENDING of the newest groups of products are still under way.
template <int PENDING>
__device__ __forceinline__ void warpgroup_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Between what a thread, or its cp.async, has written to shared memory and the barrier behind which products
// read it. It waits for all copies of the thread that are under way.
__device__ __forceinline__ void fence_shared_for_warpgroups() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Keeps reads of sums behind the wait before it.
template <int TILES>
__device__ __forceinline__ void keep_order(float (&d)[TILES][4]) {
#pragma unroll
    for (int i = 0; i < TILES * 4; ++i)
        asm volatile("" : "+f"(d[i / 4][i % 4])::"memory");
}

#endif  // DLRMC_EMULATED
#endif  // DLRMC_CODEGEN_CUDA_WARPGROUP_CUH
