// Emitted by dlrmc: 7 kernels for one request.
// input dense : f32[8,3]
// input offsets_0 : i64[8]
// input offsets_1 : i64[8]
// input offsets_2 : i64[8]
// input indices_0 : i64[16]
// input indices_1 : i64[16]
// input indices_2 : i64[16]
// output sigmoid : f32[8,1]
// dlrmc_linear_relu_1<<<16, 32, 16>>>
// dlrmc_linear_relu_2<<<16, 32, 256>>>
// dlrmc_embedding_bags_1<<<3, 32, 0>>>
// dlrmc_pairwise_dot_1<<<8, 32, 368>>>
// dlrmc_linear_relu_3<<<32, 32, 96>>>
// dlrmc_linear_relu_4<<<32, 32, 256>>>
// dlrmc_linear_sigmoid_1<<<1, 32, 1024>>>
//
// graph @plain {
//   input %dense : f32[8,3]
//   input %offsets_0 : i64[8]
//   input %offsets_1 : i64[8]
//   input %offsets_2 : i64[8]
//   input %indices_0 : i64[16]
//   input %indices_1 : i64[16]
//   input %indices_2 : i64[16]
//   weight %emb_0_weight : f32[64,16] = "emb.0.weight"
//   weight %emb_1_weight : f32[64,16] = "emb.1.weight"
//   weight %emb_2_weight : f32[64,16] = "emb.2.weight"
//   weight %bot_0_weight : f32[64,3] = "bot.0.weight"
//   weight %bot_0_bias : f32[64] = "bot.0.bias"
//   weight %bot_2_weight : f32[16,64] = "bot.2.weight"
//   weight %bot_2_bias : f32[16] = "bot.2.bias"
//   weight %top_0_weight : f32[64,22] = "top.0.weight"
//   weight %top_0_bias : f32[64] = "top.0.bias"
//   weight %top_2_weight : f32[32,64] = "top.2.weight"
//   weight %top_2_bias : f32[32] = "top.2.bias"
//   weight %top_4_weight : f32[1,32] = "top.4.weight"
//   weight %top_4_bias : f32[1] = "top.4.bias"
//   %relu = kernel linear(%dense, %bot_0_weight, %bot_0_bias) {
//     %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,64]
//     yield %relu
//   } : f32[8,64]
//   %relu_1 = kernel linear(%relu, %bot_2_weight, %bot_2_bias) {
//     %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,16]
//     yield %relu_1
//   } : f32[8,16]
//   %bags = kernel embedding_bag(%emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2) {
//     %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : f32[8,3,16]
//     yield %bags
//   } : f32[8,3,16]
//   %index = kernel pairwise_dot(%relu_1, %bags) {
//     %index = pairwise_dot(%relu_1, %bags) : f32[8,6]
//     yield %index
//   } : f32[8,6]
//   %relu_2 = kernel linear(%relu_1, %index, %top_0_weight, %top_0_bias) {
//     %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,64]
//     yield %relu_2
//   } : f32[8,64]
//   %relu_3 = kernel linear(%relu_2, %top_2_weight, %top_2_bias) {
//     %relu_3 = linear(%relu_2, %top_2_weight, %top_2_bias) {act=relu} : f32[8,32]
//     yield %relu_3
//   } : f32[8,32]
//   %sigmoid = kernel linear(%relu_3, %top_4_weight, %top_4_bias) {
//     %sigmoid = linear(%relu_3, %top_4_weight, %top_4_bias) {act=sigmoid} : f32[8,1]
//     yield %sigmoid
//   } : f32[8,1]
//   return %sigmoid
// }

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu = kernel linear(%dense, %bot_0_weight, %bot_0_bias) {
//   %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,64]
//   yield %relu
// } : f32[8,64]
struct dlrmc_linear_relu_1_sizes {
    using Element = float;
    static constexpr int N = 64;
    static constexpr int K = 3;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 1;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 1;
    static constexpr int BLOCK_COLUMNS = 32;
    static constexpr int ROWS_PER_LANE = 1;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 1;
    static constexpr int LANES_OVER_COLUMNS = 32;
    static constexpr int LANES_OVER_K = 1;
    static constexpr int X_STRIDE = 4;
    static constexpr int W_COLUMN = 3;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 1;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_1(
        const float* const* __restrict__ dense_in_slot,
        const float* __restrict__ bot_0_weight_in,
        const float* __restrict__ bot_0_bias_in,
        float* __restrict__ relu_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const float* const __restrict__ dense_in = *dense_in_slot;
    const int first_column = blockIdx.x % 2 * 32;
    const long long first_row = static_cast<long long>(blockIdx.x / 2) * 1;
    constexpr int rows = 1;
    load_tile<1>(
            TileSize<1, 1, 3>(),
            TileView<const float, 3, 0, 1>{dense_in + first_row * 3},
            TileView<float, 4>{shared},
            rows,
            threadIdx.x,
            32);
    zero_columns<1, 1, 3, 4>(TileView<float, 4>{shared}, threadIdx.x, 32);
    LinearRows<dlrmc_linear_relu_1_sizes>::run(
            shared,
            bot_0_weight_in,
            bot_0_bias_in,
            TileView<float, 64, 0, 1>{relu_out + first_row * 64},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu_1 = kernel linear(%relu, %bot_2_weight, %bot_2_bias) {
//   %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,16]
//   yield %relu_1
// } : f32[8,16]
struct dlrmc_linear_relu_2_sizes {
    using Element = float;
    static constexpr int N = 16;
    static constexpr int K = 64;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 1;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 1;
    static constexpr int BLOCK_COLUMNS = 8;
    static constexpr int ROWS_PER_LANE = 1;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 1;
    static constexpr int LANES_OVER_COLUMNS = 8;
    static constexpr int LANES_OVER_K = 4;
    static constexpr int X_STRIDE = 64;
    static constexpr int W_COLUMN = 64;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 4;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_2(
        const float* __restrict__ relu_in,
        const float* __restrict__ bot_2_weight_in,
        const float* __restrict__ bot_2_bias_in,
        float* __restrict__ relu_1_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const int first_column = blockIdx.x % 2 * 8;
    const long long first_row = static_cast<long long>(blockIdx.x / 2) * 1;
    constexpr int rows = 1;
    load_tile<4>(
            TileSize<1, 1, 64>(),
            TileView<const float, 64, 0, 1>{relu_in + first_row * 64},
            TileView<float, 64>{shared},
            rows,
            threadIdx.x,
            32);
    LinearRows<dlrmc_linear_relu_2_sizes>::run(
            shared,
            bot_2_weight_in,
            bot_2_bias_in,
            TileView<float, 16, 0, 1>{relu_1_out + first_row * 16},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes embedding_bag.cuh, kernel_chain.cuh
// %bags = kernel embedding_bag(%emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2) {
//   %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : f32[8,3,16]
//   yield %bags
// } : f32[8,3,16]
struct dlrmc_embedding_bags_1_kind_0 {
    using Element = float;
    using Id = long long;
    using Offset = long long;
    static constexpr BagMode MODE = BagMode::sum;
    static constexpr bool HAS_OFFSETS = true;
    static constexpr bool INCLUDE_LAST_OFFSET = false;
    static constexpr bool HAS_PADDING = false;
    static constexpr bool HAS_WEIGHTS = false;
    static constexpr long long TABLE_ROW = 16;
    static constexpr long long TABLE_COLUMN = 1;
    static constexpr long long ID_STRIDE = 1;
    static constexpr long long OFFSET_STRIDE = 1;
    static constexpr long long WEIGHT_BAG = 0;
    static constexpr long long WEIGHT_STRIDE = 0;
    static constexpr int IN_FLIGHT = 2;
    static constexpr int VECTOR = 4;
    static constexpr long long Y_COLUMN = 1;
    static constexpr bool Y_IS_PACKED = true;
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_embedding_bags_1(
        const float* __restrict__ emb_0_weight_in,
        const float* __restrict__ emb_1_weight_in,
        const float* __restrict__ emb_2_weight_in,
        const long long* const* __restrict__ indices_0_in_slot,
        const long long* const* __restrict__ indices_1_in_slot,
        const long long* const* __restrict__ indices_2_in_slot,
        const long long* const* __restrict__ offsets_0_in_slot,
        const long long* const* __restrict__ offsets_1_in_slot,
        const long long* const* __restrict__ offsets_2_in_slot,
        float* __restrict__ bags_out,
        Faults* __restrict__ faults) {
    wait_for_kernel_before();
    const long long* const __restrict__ indices_0_in = *indices_0_in_slot;
    const long long* const __restrict__ indices_1_in = *indices_1_in_slot;
    const long long* const __restrict__ indices_2_in = *indices_2_in_slot;
    const long long* const __restrict__ offsets_0_in = *offsets_0_in_slot;
    const long long* const __restrict__ offsets_1_in = *offsets_1_in_slot;
    const long long* const __restrict__ offsets_2_in = *offsets_2_in_slot;
    const long long group = (static_cast<long long>(blockIdx.x % 1) * 32 + threadIdx.x) / 4;
    const long long bag = group;
    const int column = threadIdx.x % 4 * 4;
    if (bag < 8 && column < 16) {
        int table;
        BagSource source;
        switch (blockIdx.x / 1) {
            case 0: table = 0; source = BagSource{emb_0_weight_in, indices_0_in, offsets_0_in, nullptr, 64, 16, 0, -1, 0, 1, 0}; break;
            case 1: table = 1; source = BagSource{emb_1_weight_in, indices_1_in, offsets_1_in, nullptr, 64, 16, 0, -1, 2, 3, 0}; break;
            default: table = 2; source = BagSource{emb_2_weight_in, indices_2_in, offsets_2_in, nullptr, 64, 16, 0, -1, 4, 5, 0}; break;
        }
        float* const y = bags_out + bag * 48 + static_cast<long long>(table) * 16 + column;
        EmbeddingBag<dlrmc_embedding_bags_1_kind_0>::run(source, bag, 8, column, column == 0, y, faults);
    }
    __syncthreads();
    if (threadIdx.x == 0) end_block(faults);
}

// includes pairwise_dot.cuh, kernel_chain.cuh
// %index = kernel pairwise_dot(%relu_1, %bags) {
//   %index = pairwise_dot(%relu_1, %bags) : f32[8,6]
//   yield %index
// } : f32[8,6]
struct dlrmc_pairwise_dot_1_sizes {
    using Element = float;
    static constexpr int F = 4;
    static constexpr int D_PADDED = 16;
    static constexpr int X_ROW = 84;
    static constexpr int X_FEATURE = 20;
    static constexpr int BLOCK = 2;
    static constexpr bool LOWER = true;
    static constexpr bool DIAGONAL = false;
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_pairwise_dot_1(
        const float* __restrict__ relu_1_in,
        const float* __restrict__ bags_in,
        float* __restrict__ index_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const long long first_row = static_cast<long long>(blockIdx.x) * 1;
    constexpr int rows = 1;
    load_tile<4>(
            TileSize<1, 1, 16>(),
            TileView<const float, 16, 0, 1>{relu_1_in + first_row * 16},
            TileView<float, 84, 20>{shared + 0 * 20},
            rows,
            threadIdx.x,
            32);
    load_tile<4>(
            TileSize<1, 3, 16>(),
            TileView<const float, 48, 16, 1>{bags_in + first_row * 48},
            TileView<float, 84, 20>{shared + 1 * 20},
            rows,
            threadIdx.x,
            32);
    __syncthreads();
    PairwiseDot<dlrmc_pairwise_dot_1_sizes>::run(
            shared,
            TileView<float, 8>{shared + 84},
            rows,
            threadIdx.x,
            32);
    __syncthreads();
    store_tile<2>(
            TileSize<1, 1, 6>(),
            TileView<float, 8>{shared + 84},
            TileView<float, 6, 0, 1>{index_out + first_row * 6},
            rows,
            threadIdx.x,
            32);
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu_2 = kernel linear(%relu_1, %index, %top_0_weight, %top_0_bias) {
//   %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,64]
//   yield %relu_2
// } : f32[8,64]
struct dlrmc_linear_relu_3_sizes {
    using Element = float;
    static constexpr int N = 64;
    static constexpr int K = 22;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 1;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 1;
    static constexpr int BLOCK_COLUMNS = 16;
    static constexpr int ROWS_PER_LANE = 1;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 1;
    static constexpr int LANES_OVER_COLUMNS = 16;
    static constexpr int LANES_OVER_K = 2;
    static constexpr int X_STRIDE = 24;
    static constexpr int W_COLUMN = 22;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 2;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 3;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_3(
        const float* __restrict__ relu_1_in,
        const float* __restrict__ index_in,
        const float* __restrict__ top_0_weight_in,
        const float* __restrict__ top_0_bias_in,
        float* __restrict__ relu_2_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const int first_column = blockIdx.x % 4 * 16;
    const long long first_row = static_cast<long long>(blockIdx.x / 4) * 1;
    constexpr int rows = 1;
    load_tile<4>(
            TileSize<1, 1, 16>(),
            TileView<const float, 16, 0, 1>{relu_1_in + first_row * 16},
            TileView<float, 24>{shared},
            rows,
            threadIdx.x,
            32);
    load_tile<2>(
            TileSize<1, 1, 6>(),
            TileView<const float, 6, 0, 1>{index_in + first_row * 6},
            TileView<float, 24>{shared + 16},
            rows,
            threadIdx.x,
            32);
    zero_columns<1, 1, 22, 24>(TileView<float, 24>{shared}, threadIdx.x, 32);
    LinearRows<dlrmc_linear_relu_3_sizes>::run(
            shared,
            top_0_weight_in,
            top_0_bias_in,
            TileView<float, 64, 0, 1>{relu_2_out + first_row * 64},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu_3 = kernel linear(%relu_2, %top_2_weight, %top_2_bias) {
//   %relu_3 = linear(%relu_2, %top_2_weight, %top_2_bias) {act=relu} : f32[8,32]
//   yield %relu_3
// } : f32[8,32]
struct dlrmc_linear_relu_4_sizes {
    using Element = float;
    static constexpr int N = 32;
    static constexpr int K = 64;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 1;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 1;
    static constexpr int BLOCK_COLUMNS = 8;
    static constexpr int ROWS_PER_LANE = 1;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 1;
    static constexpr int LANES_OVER_COLUMNS = 8;
    static constexpr int LANES_OVER_K = 4;
    static constexpr int X_STRIDE = 64;
    static constexpr int W_COLUMN = 64;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 4;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_4(
        const float* __restrict__ relu_2_in,
        const float* __restrict__ top_2_weight_in,
        const float* __restrict__ top_2_bias_in,
        float* __restrict__ relu_3_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const int first_column = blockIdx.x % 4 * 8;
    const long long first_row = static_cast<long long>(blockIdx.x / 4) * 1;
    constexpr int rows = 1;
    load_tile<4>(
            TileSize<1, 1, 64>(),
            TileView<const float, 64, 0, 1>{relu_2_in + first_row * 64},
            TileView<float, 64>{shared},
            rows,
            threadIdx.x,
            32);
    LinearRows<dlrmc_linear_relu_4_sizes>::run(
            shared,
            top_2_weight_in,
            top_2_bias_in,
            TileView<float, 32, 0, 1>{relu_3_out + first_row * 32},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %sigmoid = kernel linear(%relu_3, %top_4_weight, %top_4_bias) {
//   %sigmoid = linear(%relu_3, %top_4_weight, %top_4_bias) {act=sigmoid} : f32[8,1]
//   yield %sigmoid
// } : f32[8,1]
struct dlrmc_linear_sigmoid_1_sizes {
    using Element = float;
    static constexpr int N = 1;
    static constexpr int K = 32;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 0;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 8;
    static constexpr int BLOCK_COLUMNS = 1;
    static constexpr int ROWS_PER_LANE = 4;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 2;
    static constexpr int LANES_OVER_COLUMNS = 1;
    static constexpr int LANES_OVER_K = 16;
    static constexpr int X_STRIDE = 32;
    static constexpr int W_COLUMN = 0;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_sigmoid(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_sigmoid_1(
        const float* __restrict__ relu_3_in,
        const float* __restrict__ top_4_weight_in,
        const float* __restrict__ top_4_bias_in,
        float* const* __restrict__ sigmoid_out_slot) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    float* const __restrict__ sigmoid_out = *sigmoid_out_slot;
    const int first_column = blockIdx.x % 1 * 1;
    const long long first_row = static_cast<long long>(blockIdx.x / 1) * 8;
    constexpr int rows = 8;
    load_tile<4>(
            TileSize<8, 1, 32>(),
            TileView<const float, 32, 0, 1>{relu_3_in + first_row * 32},
            TileView<float, 32>{shared},
            rows,
            threadIdx.x,
            32);
    LinearRows<dlrmc_linear_sigmoid_1_sizes>::run(
            shared,
            top_4_weight_in,
            top_4_bias_in,
            TileView<float, 1, 0, 1>{sigmoid_out + first_row},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}
