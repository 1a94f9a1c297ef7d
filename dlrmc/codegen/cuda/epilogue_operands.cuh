// What the epilogue of a product reads beside sum and bias: values of the shape of y, or broadcast to it.
//
// Each is a view with strides of y's rows and columns, 0 where it broadcasts, from the same row and column on
// as the view of y. They are loaded with the results that they belong to, in the compute type, and handed to
// Sizes::activation (linear.cuh).
//
// requires: views.cuh
#ifndef DLRMC_CODEGEN_CUDA_EPILOGUE_OPERANDS_CUH
#define DLRMC_CODEGEN_CUDA_EPILOGUE_OPERANDS_CUH

#include "views.cuh"

// The values of COUNT operands for one result.
template <typename Compute, int COUNT>
struct EpilogueValues {
    Compute at[COUNT > 0 ? COUNT : 1];
};

// One operand, of which PACK neighbouring columns may be loaded together.
template <int PACK, typename View>
struct EpilogueOperand {
    using Element = typename RemoveConst<typename View::Element>::type;
    View view;

    // Columns `column` to `column + N` of a row; FITS says that all of them exist, of `columns` in all.
    template <bool FITS, int N, typename Compute>
    __device__ __forceinline__ void load(long long row, int column, int columns, Compute (&values)[N]) const {
        constexpr int pack = PACK < N ? PACK : N;
#pragma unroll
        for (int j = 0; j < N; j += pack) {
            Pack<Element, pack> loaded = {};
            if (FITS || column + j < columns)
                loaded = load_pack_early<pack, Element>(view.at(row, 0, column + j));
#pragma unroll
            for (int i = 0; i < pack; ++i)
                values[j + i] = to_float(loaded.at[i]);
        }
    }
};

template <typename... Operands>
struct EpilogueOperands {
    static constexpr int count = 0;

    template <bool FITS, int PLACE = 0, typename Values, int N>
    __device__ __forceinline__ void load(long long, int, int, Values (&)[N]) const {}
};

template <typename First, typename... Rest>
struct EpilogueOperands<First, Rest...> {
    static constexpr int count = 1 + sizeof...(Rest);
    First first;
    EpilogueOperands<Rest...> rest;

    // The values of the operands, number PLACE and those behind it, for N neighbouring columns of a row.
    template <bool FITS, int PLACE = 0, typename Compute, int COUNT, int N>
    __device__ __forceinline__ void load(long long row, int column, int columns,
                                         EpilogueValues<Compute, COUNT> (&values)[N]) const {
        Compute own[N];
        first.template load<FITS>(row, column, columns, own);
#pragma unroll
        for (int j = 0; j < N; ++j)
            values[j].at[PLACE] = own[j];
        rest.template load<FITS, PLACE + 1>(row, column, columns, values);
    }
};

template <int PACK, typename View>
__device__ __forceinline__ EpilogueOperand<PACK, View> epilogue_operand(View view) {
    return {view};
}

__device__ __forceinline__ EpilogueOperands<> epilogue_operands() {
    return {};
}

template <typename First, typename... Rest>
__device__ __forceinline__ EpilogueOperands<First, Rest...> epilogue_operands(First first, Rest... rest) {
    return {first, epilogue_operands(rest...)};
}

#endif  // DLRMC_CODEGEN_CUDA_EPILOGUE_OPERANDS_CUH
