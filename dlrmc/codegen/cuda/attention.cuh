// Stage: o[e, m, d] = sum over n of weight(e, m, n) * v[e, n, d], where the weights are the softmax over n of
// score(q[e, m] . k[e, n], e, m, n), or these scores themselves   (IR: bmm, elementwise ops, softmax, bmm)
//
// No score is stored: a thread keeps QUERIES queries and their results in registers, and goes through the
// keys in chunks of KEYS. With NORMALISED it keeps the largest score so far and the sum of the powers, and
// turns what it has to a new largest score once a chunk (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", arXiv:1805.02867). A row all of whose scores are -inf is NaN, as in torch; with
// ZERO_MASKED it is zero.
//
// LANES neighbouring lanes share their queries: each has every LANES-th pack of D and of E, and a butterfly
// of shuffles adds their parts of the products. Threads of one entry read the same keys at the same time,
// which is one broadcast. q, k, v and o are EntryViews; the columns of q and k move in packs of QK_PACK,
// those of v and o in packs of V_PACK. Needs whole warps; any number may run the stage. No barrier.
//
// requires: views.cuh reduce.cuh math.cuh
#ifndef DLRMC_CODEGEN_CUDA_ATTENTION_CUH
#define DLRMC_CODEGEN_CUDA_ATTENTION_CUH

#include "math.cuh"
#include "reduce.cuh"
#include "views.cuh"

// A value [entries, items, columns] whose entries are rows times HEADS.
template <typename T, int HEADS, long long ROW, long long HEAD, long long ITEM, long long COLUMN>
struct EntryView {
    using Element = T;
    T* data;

    __device__ __forceinline__ T* at(int entry, int item, int column) const {
        return data + (entry / HEADS * ROW + entry % HEADS * HEAD + item * ITEM + column * COLUMN);
    }
};

template <typename Sizes>
struct Attention {
    static constexpr int queries = Sizes::QUERIES;
    static constexpr int groups = (Sizes::M + queries - 1) / queries;
    // Packs that a lane has of a query and of a result, the last of which may not exist for every lane.
    static constexpr int q_packs = (Sizes::D / Sizes::QK_PACK + Sizes::LANES - 1) / Sizes::LANES;
    static constexpr int v_packs = (Sizes::E / Sizes::V_PACK + Sizes::LANES - 1) / Sizes::LANES;
    static constexpr bool q_fits = Sizes::D == q_packs * Sizes::QK_PACK * Sizes::LANES;
    static constexpr bool v_fits = Sizes::E == v_packs * Sizes::V_PACK * Sizes::LANES;

    struct Row {
        float q[q_packs * Sizes::QK_PACK];
        float o[v_packs * Sizes::V_PACK];
        float largest;
        float total;
    };

    template <typename Q, typename K, typename V, typename O, typename Score>
    static __device__ __forceinline__ void run(Q q, K k, V v, O o, Score score, int entries, int thread,
                                               int threads) {
        const int lane = thread % 32;
        const int part = lane % Sizes::LANES;
        const int items = entries * groups * Sizes::LANES;
        // All lanes of a warp stay together, for the shuffles; those past the end repeat the last item.
#pragma unroll 1
        for (int first = thread - lane; first < items; first += threads) {
            const int item = min(first + lane, items - 1) / Sizes::LANES;
            const int entry = item / groups;
            const int group = item % groups;
            Row rows[queries];
#pragma unroll
            for (int a = 0; a < queries; ++a)
                start(q, entry, query(group, a), part, rows[a]);
#pragma unroll 1
            for (int n = 0; n < Sizes::N; n += Sizes::KEYS)
                add_keys(k, v, score, entry, group, n, part, rows);
            if (first + lane >= items) continue;
#pragma unroll
            for (int a = 0; a < queries; ++a) {
                if (group + a * groups < Sizes::M) finish(o, entry, group + a * groups, part, rows[a]);
            }
        }
    }

  private:
    // Queries of a thread lie `groups` apart; one that does not exist is the last.
    static __device__ __forceinline__ int query(int group, int a) {
        return Sizes::M % queries == 0 ? group + a * groups : min(group + a * groups, Sizes::M - 1);
    }

    // Where pack number `place` of a lane begins, and whether there is one.
    template <int PACK>
    static __device__ __forceinline__ int column(int place, int part) {
        return (place * Sizes::LANES + part) * PACK;
    }

    template <typename Q>
    static __device__ __forceinline__ void start(Q q, int entry, int m, int part, Row& row) {
#pragma unroll
        for (int p = 0; p < q_packs; ++p) {
            const int d = column<Sizes::QK_PACK>(p, part);
            Pack<float, Sizes::QK_PACK> pack = {};
            if (q_fits || d < Sizes::D) pack = load_pack<Sizes::QK_PACK, float>(q.at(entry, m, d));
#pragma unroll
            for (int i = 0; i < Sizes::QK_PACK; ++i)
                row.q[p * Sizes::QK_PACK + i] = pack.at[i];
        }
#pragma unroll
        for (int i = 0; i < v_packs * Sizes::V_PACK; ++i)
            row.o[i] = 0.0f;
        row.largest = -infinity<float>();
        row.total = 0.0f;
    }

    template <typename K, typename V, typename Score>
    static __device__ __forceinline__ void add_keys(K k, V v, Score score, int entry, int group, int n,
                                                    int part, Row (&rows)[queries]) {
        float weights[queries][Sizes::KEYS];
#pragma unroll
        for (int j = 0; j < Sizes::KEYS; ++j) {
            if (is_key(n + j)) multiply(k, entry, n + j, part, j, rows, weights);
        }
#pragma unroll
        for (int a = 0; a < queries; ++a) {
#pragma unroll
            for (int j = 0; j < Sizes::KEYS; ++j) {
                const float product = over_lanes(is_key(n + j) ? weights[a][j] : 0.0f);
                weights[a][j] =
                    is_key(n + j) ? score(product, entry, query(group, a), n + j) : -infinity<float>();
            }
            if constexpr (Sizes::NORMALISED) raise(weights[a], rows[a]);
        }
#pragma unroll
        for (int j = 0; j < Sizes::KEYS; ++j) {
            if (is_key(n + j)) add_value(v, entry, n + j, part, j, weights, rows);
        }
    }

    static __device__ __forceinline__ bool is_key(int n) {
        return Sizes::N % Sizes::KEYS == 0 || n < Sizes::N;
    }

    template <typename K>
    static __device__ __forceinline__ void multiply(K k, int entry, int n, int part, int j,
                                                    const Row (&rows)[queries],
                                                    float (&products)[queries][Sizes::KEYS]) {
#pragma unroll
        for (int a = 0; a < queries; ++a)
            products[a][j] = 0.0f;
#pragma unroll
        for (int p = 0; p < q_packs; ++p) {
            const int d = column<Sizes::QK_PACK>(p, part);
            if (!q_fits && d >= Sizes::D) continue;
            const auto pack = load_pack<Sizes::QK_PACK, float>(k.at(entry, n, d));
#pragma unroll
            for (int a = 0; a < queries; ++a) {
#pragma unroll
                for (int i = 0; i < Sizes::QK_PACK; ++i)
                    products[a][j] = fmaf(rows[a].q[p * Sizes::QK_PACK + i], pack.at[i], products[a][j]);
            }
        }
    }

    static __device__ __forceinline__ float over_lanes(float product) {
#pragma unroll
        for (int distance = 1; distance < Sizes::LANES; distance *= 2)
            product += __shfl_xor_sync(0xffffffffu, product, distance);
        return product;
    }

    // From scores to powers of e relative to the largest so far, which what the row has is turned to.
    static __device__ __forceinline__ void raise(float (&scores)[Sizes::KEYS], Row& row) {
        float largest = row.largest;
#pragma unroll
        for (int j = 0; j < Sizes::KEYS; ++j)
            largest = Maximum::apply(largest, scores[j]);
        // As long as all scores are -inf, so that no difference of two infinities is taken.
        const float base = largest == -infinity<float>() ? 0.0f : largest;
        const float turn = expf(row.largest - base);
        row.largest = largest;
        row.total *= turn;
#pragma unroll
        for (int i = 0; i < v_packs * Sizes::V_PACK; ++i)
            row.o[i] *= turn;
#pragma unroll
        for (int j = 0; j < Sizes::KEYS; ++j) {
            scores[j] = expf(scores[j] - base);
            row.total += scores[j];
        }
    }

    template <typename V>
    static __device__ __forceinline__ void add_value(V v, int entry, int n, int part, int j,
                                                     const float (&weights)[queries][Sizes::KEYS],
                                                     Row (&rows)[queries]) {
#pragma unroll
        for (int p = 0; p < v_packs; ++p) {
            const int d = column<Sizes::V_PACK>(p, part);
            if (!v_fits && d >= Sizes::E) continue;
            const auto pack = load_pack<Sizes::V_PACK, float>(v.at(entry, n, d));
#pragma unroll
            for (int a = 0; a < queries; ++a) {
#pragma unroll
                for (int i = 0; i < Sizes::V_PACK; ++i) {
                    float& sum = rows[a].o[p * Sizes::V_PACK + i];
                    sum = fmaf(weights[a][j], pack.at[i], sum);
                }
            }
        }
    }

    template <typename O>
    static __device__ __forceinline__ void finish(O o, int entry, int m, int part, const Row& row) {
        float scale = 1.0f;
        if constexpr (Sizes::NORMALISED) {
            const bool is_masked = Sizes::ZERO_MASKED && row.largest == -infinity<float>();
            scale = is_masked ? 1.0f : 1.0f / row.total;
        }
#pragma unroll
        for (int p = 0; p < v_packs; ++p) {
            const int d = column<Sizes::V_PACK>(p, part);
            if (!v_fits && d >= Sizes::E) continue;
            float values[Sizes::V_PACK];
#pragma unroll
            for (int i = 0; i < Sizes::V_PACK; ++i)
                values[i] = row.o[p * Sizes::V_PACK + i] * scale;
            store_pack<Sizes::V_PACK>(o.at(entry, m, d), values);
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_ATTENTION_CUH
