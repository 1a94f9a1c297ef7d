// Emitted by dlrmc: 6 kernels for one request.
// input dense : bf16[8,5]
// input offsets_0 : i64[8]
// input offsets_1 : i64[8]
// input offsets_2 : i64[8]
// input indices_0 : i64[16]
// input indices_1 : i64[16]
// input indices_2 : i64[16]
// output sigmoid : bf16[8,1]
// dlrmc_linear_relu_1<<<8, 32, 32>>>
// dlrmc_linear_relu_2<<<8, 32, 48>>>
// dlrmc_embedding_bags_1<<<3, 32, 0>>>
// dlrmc_pairwise_dot_1<<<8, 32, 240>>>
// dlrmc_linear_relu_3<<<8, 32, 48>>>
// dlrmc_linear_sigmoid_1<<<1, 32, 384>>>
//
// graph @bf16 {
//   input %dense : bf16[8,5]
//   input %offsets_0 : i64[8]
//   input %offsets_1 : i64[8]
//   input %offsets_2 : i64[8]
//   input %indices_0 : i64[16]
//   input %indices_1 : i64[16]
//   input %indices_2 : i64[16]
//   weight %emb_0_weight : bf16[40,6] = "emb.0.weight"
//   weight %emb_1_weight : bf16[40,6] = "emb.1.weight"
//   weight %emb_2_weight : bf16[40,6] = "emb.2.weight"
//   weight %bot_0_weight : bf16[12,5] = "bot.0.weight"
//   weight %bot_0_bias : bf16[12] = "bot.0.bias"
//   weight %bot_2_weight : bf16[6,12] = "bot.2.weight"
//   weight %bot_2_bias : bf16[6] = "bot.2.bias"
//   weight %top_0_weight : bf16[10,12] = "top.0.weight"
//   weight %top_0_bias : bf16[10] = "top.0.bias"
//   weight %top_2_weight : bf16[1,10] = "top.2.weight"
//   weight %top_2_bias : bf16[1] = "top.2.bias"
//   %relu = kernel linear(%dense, %bot_0_weight, %bot_0_bias) {
//     %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : bf16[8,12]
//     yield %relu
//   } : bf16[8,12]
//   %relu_1 = kernel linear(%relu, %bot_2_weight, %bot_2_bias) {
//     %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : bf16[8,6]
//     yield %relu_1
//   } : bf16[8,6]
//   %bags = kernel embedding_bag(%emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2) {
//     %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : bf16[8,3,6]
//     yield %bags
//   } : bf16[8,3,6]
//   %index = kernel pairwise_dot(%relu_1, %bags) {
//     %index = pairwise_dot(%relu_1, %bags) : bf16[8,6]
//     yield %index
//   } : bf16[8,6]
//   %relu_2 = kernel linear(%relu_1, %index, %top_0_weight, %top_0_bias) {
//     %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : bf16[8,10]
//     yield %relu_2
//   } : bf16[8,10]
//   %sigmoid = kernel linear(%relu_2, %top_2_weight, %top_2_bias) {
//     %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : bf16[8,1]
//     yield %sigmoid
//   } : bf16[8,1]
//   return %sigmoid
// }

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu = kernel linear(%dense, %bot_0_weight, %bot_0_bias) {
//   %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : bf16[8,12]
//   yield %relu
// } : bf16[8,12]
struct dlrmc_linear_relu_1_sizes {
    using Element = bf16;
    static constexpr int N = 12;
    static constexpr int K = 5;
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
    static constexpr int X_STRIDE = 8;
    static constexpr int W_COLUMN = 5;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 1;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_1(
        const bf16* const* __restrict__ dense_in_slot,
        const bf16* __restrict__ bot_0_weight_in,
        const bf16* __restrict__ bot_0_bias_in,
        bf16* __restrict__ relu_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const bf16* const __restrict__ dense_in = *dense_in_slot;
    const int first_column = blockIdx.x % 1 * 16;
    const long long first_row = static_cast<long long>(blockIdx.x / 1) * 1;
    constexpr int rows = 1;
    load_tile<1>(
            TileSize<1, 1, 5>(),
            TileView<const bf16, 5, 0, 1>{dense_in + first_row * 5},
            TileView<float, 8>{shared},
            rows,
            threadIdx.x,
            32);
    zero_columns<1, 1, 5, 8>(TileView<float, 8>{shared}, threadIdx.x, 32);
    LinearRows<dlrmc_linear_relu_1_sizes>::run(
            shared,
            bot_0_weight_in,
            bot_0_bias_in,
            TileView<bf16, 12, 0, 1>{relu_out + first_row * 12},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu_1 = kernel linear(%relu, %bot_2_weight, %bot_2_bias) {
//   %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : bf16[8,6]
//   yield %relu_1
// } : bf16[8,6]
struct dlrmc_linear_relu_2_sizes {
    using Element = bf16;
    static constexpr int N = 6;
    static constexpr int K = 12;
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
    static constexpr int X_STRIDE = 12;
    static constexpr int W_COLUMN = 12;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_2(
        const bf16* __restrict__ relu_in,
        const bf16* __restrict__ bot_2_weight_in,
        const bf16* __restrict__ bot_2_bias_in,
        bf16* __restrict__ relu_1_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const int first_column = blockIdx.x % 1 * 8;
    const long long first_row = static_cast<long long>(blockIdx.x / 1) * 1;
    constexpr int rows = 1;
    load_tile<4>(
            TileSize<1, 1, 12>(),
            TileView<const bf16, 12, 0, 1>{relu_in + first_row * 12},
            TileView<float, 12>{shared},
            rows,
            threadIdx.x,
            32);
    LinearRows<dlrmc_linear_relu_2_sizes>::run(
            shared,
            bot_2_weight_in,
            bot_2_bias_in,
            TileView<bf16, 6, 0, 1>{relu_1_out + first_row * 6},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes embedding_bag.cuh, kernel_chain.cuh
// %bags = kernel embedding_bag(%emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2) {
//   %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : bf16[8,3,6]
//   yield %bags
// } : bf16[8,3,6]
struct dlrmc_embedding_bags_1_kind_0 {
    using Element = bf16;
    using Id = long long;
    using Offset = long long;
    static constexpr BagMode MODE = BagMode::sum;
    static constexpr bool HAS_OFFSETS = true;
    static constexpr bool INCLUDE_LAST_OFFSET = false;
    static constexpr bool HAS_PADDING = false;
    static constexpr bool HAS_WEIGHTS = false;
    static constexpr long long TABLE_ROW = 6;
    static constexpr long long TABLE_COLUMN = 1;
    static constexpr long long ID_STRIDE = 1;
    static constexpr long long OFFSET_STRIDE = 1;
    static constexpr long long WEIGHT_BAG = 0;
    static constexpr long long WEIGHT_STRIDE = 0;
    static constexpr int IN_FLIGHT = 2;
    static constexpr int VECTOR = 2;
    static constexpr long long Y_COLUMN = 1;
    static constexpr bool Y_IS_PACKED = true;
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_embedding_bags_1(
        const bf16* __restrict__ emb_0_weight_in,
        const bf16* __restrict__ emb_1_weight_in,
        const bf16* __restrict__ emb_2_weight_in,
        const long long* const* __restrict__ indices_0_in_slot,
        const long long* const* __restrict__ indices_1_in_slot,
        const long long* const* __restrict__ indices_2_in_slot,
        const long long* const* __restrict__ offsets_0_in_slot,
        const long long* const* __restrict__ offsets_1_in_slot,
        const long long* const* __restrict__ offsets_2_in_slot,
        bf16* __restrict__ bags_out,
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
    const int column = threadIdx.x % 4 * 2;
    if (bag < 8 && column < 6) {
        int table;
        BagSource source;
        switch (blockIdx.x / 1) {
            case 0: table = 0; source = BagSource{emb_0_weight_in, indices_0_in, offsets_0_in, nullptr, 40, 16, 0, -1, 0, 1, 0}; break;
            case 1: table = 1; source = BagSource{emb_1_weight_in, indices_1_in, offsets_1_in, nullptr, 40, 16, 0, -1, 2, 3, 0}; break;
            default: table = 2; source = BagSource{emb_2_weight_in, indices_2_in, offsets_2_in, nullptr, 40, 16, 0, -1, 4, 5, 0}; break;
        }
        bf16* const y = bags_out + bag * 18 + static_cast<long long>(table) * 6 + column;
        EmbeddingBag<dlrmc_embedding_bags_1_kind_0>::run(source, bag, 8, column, column == 0, y, faults);
    }
    __syncthreads();
    if (threadIdx.x == 0) end_block(faults);
}

// includes pairwise_dot.cuh, kernel_chain.cuh
// %index = kernel pairwise_dot(%relu_1, %bags) {
//   %index = pairwise_dot(%relu_1, %bags) : bf16[8,6]
//   yield %index
// } : bf16[8,6]
struct dlrmc_pairwise_dot_1_sizes {
    using Element = bf16;
    static constexpr int F = 4;
    static constexpr int D_PADDED = 8;
    static constexpr int X_ROW = 52;
    static constexpr int X_FEATURE = 12;
    static constexpr int BLOCK = 2;
    static constexpr bool LOWER = true;
    static constexpr bool DIAGONAL = false;
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_pairwise_dot_1(
        const bf16* __restrict__ relu_1_in,
        const bf16* __restrict__ bags_in,
        bf16* __restrict__ index_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const long long first_row = static_cast<long long>(blockIdx.x) * 1;
    constexpr int rows = 1;
    load_tile<2>(
            TileSize<1, 1, 6>(),
            TileView<const bf16, 6, 0, 1>{relu_1_in + first_row * 6},
            TileView<float, 52, 12>{shared + 0 * 12},
            rows,
            threadIdx.x,
            32);
    load_tile<2>(
            TileSize<1, 3, 6>(),
            TileView<const bf16, 18, 6, 1>{bags_in + first_row * 18},
            TileView<float, 52, 12>{shared + 1 * 12},
            rows,
            threadIdx.x,
            32);
    zero_columns<1, 4, 6, 8>(TileView<float, 52, 12>{shared}, threadIdx.x, 32);
    __syncthreads();
    PairwiseDot<dlrmc_pairwise_dot_1_sizes>::run(
            shared,
            TileView<float, 8>{shared + 52},
            rows,
            threadIdx.x,
            32);
    __syncthreads();
    store_tile<2>(
            TileSize<1, 1, 6>(),
            TileView<float, 8>{shared + 52},
            TileView<bf16, 6, 0, 1>{index_out + first_row * 6},
            rows,
            threadIdx.x,
            32);
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %relu_2 = kernel linear(%relu_1, %index, %top_0_weight, %top_0_bias) {
//   %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : bf16[8,10]
//   yield %relu_2
// } : bf16[8,10]
struct dlrmc_linear_relu_3_sizes {
    using Element = bf16;
    static constexpr int N = 10;
    static constexpr int K = 12;
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
    static constexpr int X_STRIDE = 12;
    static constexpr int W_COLUMN = 12;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 2;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_relu_3(
        const bf16* __restrict__ relu_1_in,
        const bf16* __restrict__ index_in,
        const bf16* __restrict__ top_0_weight_in,
        const bf16* __restrict__ top_0_bias_in,
        bf16* __restrict__ relu_2_out) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    const int first_column = blockIdx.x % 1 * 16;
    const long long first_row = static_cast<long long>(blockIdx.x / 1) * 1;
    constexpr int rows = 1;
    load_tile<2>(
            TileSize<1, 1, 6>(),
            TileView<const bf16, 6, 0, 1>{relu_1_in + first_row * 6},
            TileView<float, 12>{shared},
            rows,
            threadIdx.x,
            32);
    load_tile<2>(
            TileSize<1, 1, 6>(),
            TileView<const bf16, 6, 0, 1>{index_in + first_row * 6},
            TileView<float, 12>{shared + 6},
            rows,
            threadIdx.x,
            32);
    LinearRows<dlrmc_linear_relu_3_sizes>::run(
            shared,
            top_0_weight_in,
            top_0_bias_in,
            TileView<bf16, 10, 0, 1>{relu_2_out + first_row * 10},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}

// includes linear.cuh, tiled_product.cuh, kernel_chain.cuh
// %sigmoid = kernel linear(%relu_2, %top_2_weight, %top_2_bias) {
//   %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : bf16[8,1]
//   yield %sigmoid
// } : bf16[8,1]
struct dlrmc_linear_sigmoid_1_sizes {
    using Element = bf16;
    static constexpr int N = 1;
    static constexpr int K = 10;
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
    static constexpr int X_STRIDE = 12;
    static constexpr int W_COLUMN = 0;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 2;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_sigmoid(value);
    }
};
extern "C" __global__ void __launch_bounds__(32) dlrmc_linear_sigmoid_1(
        const bf16* __restrict__ relu_2_in,
        const bf16* __restrict__ top_2_weight_in,
        const bf16* __restrict__ top_2_bias_in,
        bf16* const* __restrict__ sigmoid_out_slot) {
    wait_for_kernel_before();
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    float* const shared = reinterpret_cast<float*>(dlrmc_shared);
    bf16* const __restrict__ sigmoid_out = *sigmoid_out_slot;
    const int first_column = blockIdx.x % 1 * 1;
    const long long first_row = static_cast<long long>(blockIdx.x / 1) * 8;
    constexpr int rows = 8;
    load_tile<2>(
            TileSize<8, 1, 10>(),
            TileView<const bf16, 10, 0, 1>{relu_2_in + first_row * 10},
            TileView<float, 12>{shared},
            rows,
            threadIdx.x,
            32);
    zero_columns<8, 1, 10, 12>(TileView<float, 12>{shared}, threadIdx.x, 32);
    LinearRows<dlrmc_linear_sigmoid_1_sizes>::run(
            shared,
            top_2_weight_in,
            top_2_bias_in,
            TileView<bf16, 1, 0, 1>{sigmoid_out + first_row},
            first_column,
            rows,
            threadIdx.x,
            32,
            BlockIsReady(),
            epilogue_operands());
}
