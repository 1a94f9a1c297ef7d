// Emitted by dlrmc: 1 kernel for one request.
// input dense : f32[8,5]
// input indices : i64[48]
// output sigmoid : f32[8,1]
// dlrmc_linear_relu_linear_relu_embedding_bag_1<<<8, 512, 3584>>>
//
// graph @stacked_table {
//   input %dense : f32[8,5]
//   input %indices : i64[48]
//   weight %table : f32[120,6] = "table"
//   weight %bot_0_weight : f32[12,5] = "bot.0.weight"
//   weight %bot_0_bias : f32[12] = "bot.0.bias"
//   weight %bot_2_weight : f32[6,12] = "bot.2.weight"
//   weight %bot_2_bias : f32[6] = "bot.2.bias"
//   weight %top_0_weight : f32[10,12] = "top.0.weight"
//   weight %top_0_bias : f32[10] = "top.0.bias"
//   weight %top_2_weight : f32[1,10] = "top.2.weight"
//   weight %top_2_bias : f32[1] = "top.2.bias"
//   %sigmoid = kernel row_program<batch=8>(%dense, %bot_0_weight, %bot_0_bias, %bot_2_weight, %bot_2_bias, %indices, %table, %top_0_weight, %top_0_bias, %top_2_weight, %top_2_bias) {
//     %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,12]
//     %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,6]
//     %view_1 = view(%indices) {shape=[24,2]} : i64[24,2]
//     %embedding_bag = embedding_bag(%table, %view_1) : f32[24,6]
//     %sum_1 = view(%embedding_bag) {shape=[8,3,6]} : f32[8,3,6]
//     %index = pairwise_dot(%relu_1, %sum_1) : f32[8,6]
//     %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,10]
//     %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : f32[8,1]
//     yield %sigmoid
//   } : f32[8,1]
//   return %sigmoid
// }

// includes kernel_pointers.cuh, views.cuh, weights.cuh, views.cuh, ptx.cuh, embedding_bag.cuh, linear.cuh, scalars.cuh, math.cuh, faults.cuh, reduce.cuh, pairwise_dot.cuh
// %sigmoid = kernel row_program<batch=8>(%dense, %bot_0_weight, %bot_0_bias, %bot_2_weight, %bot_2_bias, %indices, %table, %top_0_weight, %top_0_bias, %top_2_weight, %top_2_bias) {
//   %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,12]
//   %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,6]
//   %view_1 = view(%indices) {shape=[24,2]} : i64[24,2]
//   %embedding_bag = embedding_bag(%table, %view_1) : f32[24,6]
//   %sum_1 = view(%embedding_bag) {shape=[8,3,6]} : f32[8,3,6]
//   %index = pairwise_dot(%relu_1, %sum_1) : f32[8,6]
//   %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,10]
//   %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : f32[8,1]
//   yield %sigmoid
// } : f32[8,1]
struct dlrmc_linear_relu_linear_relu_embedding_bag_1_embedding_bag_kind_0 {
    using Element = float;
    using Id = long long;
    using Offset = long long;
    static constexpr BagMode MODE = BagMode::sum;
    static constexpr bool HAS_OFFSETS = false;
    static constexpr bool INCLUDE_LAST_OFFSET = false;
    static constexpr bool HAS_PADDING = false;
    static constexpr bool HAS_WEIGHTS = false;
    static constexpr long long TABLE_ROW = 6;
    static constexpr long long TABLE_COLUMN = 1;
    static constexpr long long ID_STRIDE = 1;
    static constexpr long long OFFSET_STRIDE = 0;
    static constexpr long long WEIGHT_BAG = 0;
    static constexpr long long WEIGHT_STRIDE = 0;
    static constexpr int IN_FLIGHT = 2;
    static constexpr int VECTOR = 2;
    static constexpr long long Y_COLUMN = 1;
    static constexpr bool Y_IS_PACKED = true;
};
struct dlrmc_linear_relu_linear_relu_embedding_bag_1_relu_sizes {
    using Element = float;
    static constexpr int N = 12;
    static constexpr int K = 8;
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
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
struct dlrmc_linear_relu_linear_relu_embedding_bag_1_relu_1_sizes {
    using Element = float;
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
struct dlrmc_linear_relu_linear_relu_embedding_bag_1_index_sizes {
    using Element = float;
    static constexpr int F = 4;
    static constexpr int D_PADDED = 8;
    static constexpr int X_ROW = 52;
    static constexpr int X_FEATURE = 12;
    static constexpr int BLOCK = 1;
    static constexpr bool LOWER = true;
    static constexpr bool DIAGONAL = false;
    static constexpr int PRODUCTS = 3;
};
struct dlrmc_linear_relu_linear_relu_embedding_bag_1_relu_2_sizes {
    using Element = float;
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
struct dlrmc_linear_relu_linear_relu_embedding_bag_1_sigmoid_sizes {
    using Element = float;
    static constexpr int N = 1;
    static constexpr int K = 12;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 0;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 1;
    static constexpr int BLOCK_COLUMNS = 1;
    static constexpr int ROWS_PER_LANE = 1;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 1;
    static constexpr int LANES_OVER_COLUMNS = 1;
    static constexpr int LANES_OVER_K = 32;
    static constexpr int X_STRIDE = 12;
    static constexpr int W_COLUMN = 12;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_sigmoid(value);
    }
};
extern "C" __global__ void __launch_bounds__(512) dlrmc_linear_relu_linear_relu_embedding_bag_1(
        const float* const* __restrict__ dense_in_slot,
        const float* __restrict__ bot_0_weight_in,
        const float* __restrict__ bot_0_bias_in,
        const float* __restrict__ bot_2_weight_in,
        const float* __restrict__ bot_2_bias_in,
        const long long* const* __restrict__ indices_in_slot,
        const float* __restrict__ table_in,
        const float* __restrict__ top_0_weight_in,
        const float* __restrict__ top_0_bias_in,
        const float* __restrict__ top_2_weight_in,
        const float* __restrict__ top_2_bias_in,
        float* const* __restrict__ sigmoid_out_slot,
        Faults* __restrict__ faults) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    const float* const __restrict__ dense_in = read_slot_early(dense_in_slot);
    const long long* const __restrict__ indices_in = read_slot_early(indices_in_slot);
    float* const __restrict__ sigmoid_out = read_slot_early(sigmoid_out_slot);
    float* const relu_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2560);
    float* const relu_1_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2816);
    float* const index_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2048);
    float* const relu_2_x_tile = reinterpret_cast<float*>(dlrmc_shared + 0);
    float* const sigmoid_x_tile = reinterpret_cast<float*>(dlrmc_shared + 3072);
    float* const relu_w = reinterpret_cast<float*>(dlrmc_shared + 0);
    float* const relu_2_w = reinterpret_cast<float*>(dlrmc_shared + 768);
    float* const relu_1_w = reinterpret_cast<float*>(dlrmc_shared + 1536);
    float* const sigmoid_w = reinterpret_cast<float*>(dlrmc_shared + 2304);
    const long long first_row = static_cast<long long>(blockIdx.x) * 1;
    constexpr int rows = 1;
    copy_weights_async<1, 12, 5, 12, 8, 5, 1>(relu_w, bot_0_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 12, 12, 12, 0, 1>(relu_w + 144, bot_0_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    Pack<float, 1> relu_x_tile_0 = {};
    if (const int i = threadIdx.x; i < rows * 5) relu_x_tile_0 = load_pack_early<1>(dense_in + first_row * 5 + i);
    copy_weights_async<4, 6, 12, 12, 12, 12, 1>(relu_1_w, bot_2_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 6, 6, 6, 0, 1>(relu_1_w + 72, bot_2_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    {
        const int thread = threadIdx.x % 512;
        zero_columns<1, 1, 5, 8>(TileView<float, 12, 0>{relu_x_tile}, thread, 512);
    }
    {
        const int thread = (threadIdx.x + 480) % 512;
        zero_columns<1, 4, 6, 8>(TileView<float, 52, 12>{index_x_tile}, thread, 512);
    }
    {
        const int thread = (threadIdx.x + 448) % 512;
        zero_columns<1, 1, 10, 12>(TileView<float, 12, 0>{sigmoid_x_tile}, thread, 512);
    }
    {
        if (const int i = threadIdx.x; i < rows * 5) (relu_x_tile)[i] = relu_x_tile_0.at[0];
    }
    {
        const int thread = (threadIdx.x + 416) % 512;
        for (int item = thread; item < 12; item += 512) {
            const int row = item / 4 % 3;
            const int column = item % 4 * 2;
            if (!(row < rows * 3 && column < 6)) continue;
            const BagSource source = BagSource{table_in, *indices_in_slot, nullptr, nullptr, 120, 2, 2, -1, 0, 0, 0};
            const long long bag = row + first_row * 3;
            float* const y = index_x_tile + 12 + row * 12 + column;
            EmbeddingBag<dlrmc_linear_relu_linear_relu_embedding_bag_1_embedding_bag_kind_0>::run(source, bag, 24, column, column == 0, y, faults);
        }
    }
    copy_weights_async<4, 10, 12, 12, 12, 12, 1>(relu_2_w, top_0_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 10, 10, 10, 0, 1>(relu_2_w + 120, top_0_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    copy_weights_async<1, 1, 10, 12, 12, 10, 1>(sigmoid_w, top_2_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 1, 1, 1, 0, 1>(sigmoid_w + 12, top_2_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    cp_async_wait_group<3>();
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bag_1_relu_sizes>::run(
                relu_x_tile,
                relu_w,
                relu_w + 144,
                TileView<float, 0, 0, 1>{relu_1_x_tile},
                0,
                rows,
                thread,
                512,
                IsReady());
    }
    cp_async_wait_group<2>();
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bag_1_relu_1_sizes>::run(
                relu_1_x_tile,
                relu_1_w,
                relu_1_w + 72,
                TileView<float, 0, 0, 1>{index_x_tile},
                0,
                rows,
                thread,
                512,
                IsReady());
    }
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
        if (const int i = thread; i < rows * 6) {
            const float v_relu_1 = (index_x_tile)[i];
            (relu_2_x_tile)[i] = v_relu_1;
        }
    }
    {
        const int thread = (threadIdx.x + 480) % 512;
        PairwiseDot<dlrmc_linear_relu_linear_relu_embedding_bag_1_index_sizes>::run(
                index_x_tile,
                TileView<float, 1, 0, 1>{relu_2_x_tile + 6},
                rows,
                thread,
                512);
    }
    cp_async_wait_group<1>();
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bag_1_relu_2_sizes>::run(
                relu_2_x_tile,
                relu_2_w,
                relu_2_w + 120,
                TileView<float, 0, 0, 1>{sigmoid_x_tile},
                0,
                rows,
                thread,
                512,
                IsReady());
    }
    cp_async_wait_group<0>();
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bag_1_sigmoid_sizes>::run(
                sigmoid_x_tile,
                sigmoid_w,
                sigmoid_w + 12,
                TileView<float, 0, 0, 1>{sigmoid_out + first_row},
                0,
                rows,
                thread,
                512,
                IsReady());
    }
    __syncthreads();
    if (threadIdx.x == 0) end_block(faults);
}
