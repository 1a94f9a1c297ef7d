// Stage: y[b, d] = the sum over the positions p of bag b of weight[p] * (scale * code[d] + bias), of rows
// ids[p] of a table of bytes or nibbles with scale and bias at the end of each row (IR:
// quantized_embedding_bag).
//
// Lanes, columns, ids and offsets are those of embedding_bag.cuh, and so is `Kind`, with Element the unsigned
// char of the table, TABLE_ROW and TABLE_COLUMN in bytes, and besides:
//     CODES        codes in a byte: 1, or 2 with the low nibble first
//     WIDTH        codes of a row
//     ROW_PACK     bytes that may move together: what every row's address is a multiple of
// A row after another, in float: y = fma(weight * scale, code, y + weight * bias), which are the bits that
// torch gives on the CPU. Rows need no alignment. All lanes are independent. No barrier, no shared memory.
//
// requires: views.cuh bag_checks.cuh
#ifndef DLRMC_CODEGEN_CUDA_QUANTIZED_BAG_CUH
#define DLRMC_CODEGEN_CUDA_QUANTIZED_BAG_CUH

#include "bag_checks.cuh"
#include "views.cuh"

// Bits of a stored scale or bias to float: two bytes are an f16, four a float.
__device__ __forceinline__ float stored_number(unsigned int bits, Pack<unsigned char, 2>) {
    return f16_to_f32(static_cast<unsigned short>(bits));
}
__device__ __forceinline__ float stored_number(unsigned int bits, Pack<unsigned char, 4>) {
    return __uint_as_float(bits);
}

template <typename Kind>
struct QuantizedBag {
    using Checks = BagChecks<Kind>;
    static constexpr int ROW_BYTES = Kind::VECTOR / Kind::CODES;
    static constexpr int NUMBER_BYTES = Kind::CODES == 1 ? 4 : 2;

    // Columns first_column to first_column + VECTOR of bag `bag` to `y`.
    static __device__ __forceinline__ void run(const BagSource& source, long long bag, long long bags,
                                               int first_column, bool reports, float* y, Faults* faults) {
        const BagBounds bounds =
            Checks::checked(source, bag, bags, Checks::load_bounds(source, bag, bags), reports, faults);
        float values[Kind::VECTOR] = {};
        bool is_bad = false;
        long long at = bounds.begin;
#pragma unroll 1
        for (; at + Kind::IN_FLIGHT <= bounds.end; at += Kind::IN_FLIGHT) {
            add_places<Kind::IN_FLIGHT>(source, bag, at, first_column, values, is_bad);
        }
        if constexpr (Kind::IN_FLIGHT > 1) {
            add_rest<Kind::IN_FLIGHT / 2>(source, bag, at, bounds.end, first_column, values, is_bad);
        }
        if (is_bad && reports) {
            const long long first = Kind::HAS_OFFSETS ? 0 : bag * source.id_count;
            Checks::report_ids(Checks::ids_of(source, bag), bounds, first, source.row_count,
                               source.padding_id, source.id_site, faults);
        }
        store(values, y);
    }

  private:
    // A row, as stored, and the weight of its place.
    struct Row {
        Pack<unsigned char, ROW_BYTES> codes;
        float scale;
        float bias;
        float weight;
    };

    // The places from `at` to `end`, fewer than 2 * N, in steps of N, N / 2, ... places.
    template <int N>
    static __device__ __forceinline__ void add_rest(const BagSource& source, long long bag, long long at,
                                                    long long end, int first_column,
                                                    float (&values)[Kind::VECTOR], bool& is_bad) {
        if (at + N <= end) {
            add_places<N>(source, bag, at, first_column, values, is_bad);
            at += N;
        }
        if constexpr (N > 1) add_rest<N / 2>(source, bag, at, end, first_column, values, is_bad);
    }

    // N places that are all there. Without a condition on any of them the compiler asks for all rows before
    // it adds the first.
    template <int N>
    static __device__ __forceinline__ void add_places(const BagSource& source, long long bag, long long at,
                                                      int first_column, float (&values)[Kind::VECTOR],
                                                      bool& is_bad) {
        const typename Kind::Id* const ids = Checks::ids_of(source, bag);
        long long id[N];
        bool is_clean = true;
#pragma unroll
        for (int i = 0; i < N; ++i)
            id[i] = static_cast<long long>(ids[(at + i) * Kind::ID_STRIDE]);
#pragma unroll
        for (int i = 0; i < N; ++i)
            is_clean &= Checks::is_below(id[i], source.row_count);
        if (is_clean) {
            Row rows[N];
#pragma unroll
            for (int i = 0; i < N; ++i)
                load_row(source, bag, at + i, id[i], first_column, rows[i]);
#pragma unroll
            for (int i = 0; i < N; ++i)
                add_row(rows[i], values);
            return;
        }
        is_bad = true;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (!Checks::is_below(id[i], source.row_count)) continue;
            Row row;
            load_row(source, bag, at + i, id[i], first_column, row);
            add_row(row, values);
        }
    }

    static __device__ __forceinline__ void load_row(const BagSource& source, long long bag, long long at,
                                                    long long id, int first_column, Row& loaded) {
        const unsigned char* const row =
            static_cast<const unsigned char*>(source.table) + id * Kind::TABLE_ROW;
        loaded.codes = load_bytes<ROW_BYTES>(row, first_column / Kind::CODES);
        loaded.scale = number(row, 0);
        loaded.bias = number(row, 1);
        loaded.weight = 1.0f;
        if constexpr (Kind::HAS_WEIGHTS) {
            const float* const weights =
                static_cast<const float*>(source.weights) + (Kind::HAS_OFFSETS ? 0 : bag * Kind::WEIGHT_BAG);
            loaded.weight = weights[at * Kind::WEIGHT_STRIDE];
        }
    }

    static __device__ __forceinline__ void add_row(const Row& row, float (&values)[Kind::VECTOR]) {
        // Never one operation with the sum that follows: the bits are those of two.
        const float scale = __fmul_rn(row.weight, row.scale), bias = __fmul_rn(row.weight, row.bias);
#pragma unroll
        for (int j = 0; j < Kind::VECTOR; ++j) {
            const int byte = row.codes.at[j / Kind::CODES];
            const int code = Kind::CODES == 1 ? byte : j % 2 == 0 ? byte & 15 : byte >> 4;
            values[j] = fmaf(scale, static_cast<float>(code), values[j] + bias);
        }
    }

    // The scale (0) or the bias (1) of a row.
    static __device__ __forceinline__ float number(const unsigned char* row, int which) {
        const Pack<unsigned char, NUMBER_BYTES> bytes =
            load_bytes<NUMBER_BYTES>(row, Kind::WIDTH / Kind::CODES + which * NUMBER_BYTES);
        unsigned int bits = 0;
#pragma unroll
        for (int i = 0; i < NUMBER_BYTES; ++i)
            bits |= static_cast<unsigned int>(bytes.at[i]) << 8 * i;
        return stored_number(bits, bytes);
    }

    // Bytes first to first + N of a row, in pieces that its alignment allows.
    template <int N>
    static __device__ __forceinline__ Pack<unsigned char, N> load_bytes(const unsigned char* row, int first) {
        constexpr int piece = N < Kind::ROW_PACK ? N : Kind::ROW_PACK;
        Pack<unsigned char, N> bytes;
#pragma unroll
        for (int i = 0; i < N; i += piece) {
            const auto part = load_pack<piece>(row + (first + i) * Kind::TABLE_COLUMN);
#pragma unroll
            for (int j = 0; j < piece; ++j)
                bytes.at[i + j] = part.at[j];
        }
        return bytes;
    }

    static __device__ __forceinline__ void store(const float (&values)[Kind::VECTOR], float* y) {
        if constexpr (Kind::Y_IS_PACKED) {
            store_pack<Kind::VECTOR>(y, values);
        } else {
#pragma unroll
            for (int i = 0; i < Kind::VECTOR; ++i)
                y[i * Kind::Y_COLUMN] = values[i];
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_QUANTIZED_BAG_CUH
