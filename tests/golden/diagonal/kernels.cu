// Emitted by dlrmc: 1 kernel for one request.
// input dense : f32[8,5]
// input offsets_0 : i64[8]
// input offsets_1 : i64[8]
// input offsets_2 : i64[8]
// input indices_0 : i64[16]
// input indices_1 : i64[16]
// input indices_2 : i64[16]
// output sigmoid : f32[8,1]
// dlrmc_linear_relu_linear_relu_embedding_bags_1<<<8, 512, 3584>>>
//
// graph @diagonal {
//   input %dense : f32[8,5]
//   input %offsets_0 : i64[8]
//   input %offsets_1 : i64[8]
//   input %offsets_2 : i64[8]
//   input %indices_0 : i64[16]
//   input %indices_1 : i64[16]
//   input %indices_2 : i64[16]
//   weight %emb_0_weight : f32[40,6] = "emb.0.weight"
//   weight %emb_1_weight : f32[40,6] = "emb.1.weight"
//   weight %emb_2_weight : f32[40,6] = "emb.2.weight"
//   weight %bot_0_weight : f32[12,5] = "bot.0.weight"
//   weight %bot_0_bias : f32[12] = "bot.0.bias"
//   weight %bot_2_weight : f32[6,12] = "bot.2.weight"
//   weight %bot_2_bias : f32[6] = "bot.2.bias"
//   weight %top_0_weight : f32[10,16] = "top.0.weight"
//   weight %top_0_bias : f32[10] = "top.0.bias"
//   weight %top_2_weight : f32[1,10] = "top.2.weight"
//   weight %top_2_bias : f32[1] = "top.2.bias"
//   %sigmoid = kernel row_program<batch=8>(%dense, %bot_0_weight, %bot_0_bias, %bot_2_weight, %bot_2_bias, %emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2, %top_0_weight, %top_0_bias, %top_2_weight, %top_2_bias) {
//     %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,12]
//     %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,6]
//     %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : f32[8,3,6]
//     %index = pairwise_dot(%relu_1, %bags) {pairs=lower} : f32[8,10]
//     %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,10]
//     %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : f32[8,1]
//     yield %sigmoid
//   } : f32[8,1]
//   return %sigmoid
// }

// includes views.cuh, weights.cuh, views.cuh, scalars.cuh, math.cuh, faults.cuh, reduce.cuh, embedding_bag.cuh, linear.cuh, pairwise_dot.cuh
// %sigmoid = kernel row_program<batch=8>(%dense, %bot_0_weight, %bot_0_bias, %bot_2_weight, %bot_2_bias, %emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2, %top_0_weight, %top_0_bias, %top_2_weight, %top_2_bias) {
//   %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,12]
//   %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,6]
//   %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : f32[8,3,6]
//   %index = pairwise_dot(%relu_1, %bags) {pairs=lower} : f32[8,10]
//   %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,10]
//   %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : f32[8,1]
//   yield %sigmoid
// } : f32[8,1]
struct dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_kind_0 {
    using Element = float;
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
    static constexpr bool Y_IS_PACKED = false;
};
static __device__ const BagNumbers dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_numbers[3] = {
    {40, 16, 0, -1, 0, 1},
    {40, 16, 0, -1, 2, 3},
    {40, 16, 0, -1, 4, 5},
};
struct dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_sizes {
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
struct dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_1_sizes {
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
struct dlrmc_linear_relu_linear_relu_embedding_bags_1_index_sizes {
    using Element = float;
    static constexpr int F = 4;
    static constexpr int D_PADDED = 8;
    static constexpr int X_ROW = 52;
    static constexpr int X_FEATURE = 12;
    static constexpr int BLOCK = 1;
    static constexpr bool LOWER = true;
    static constexpr bool DIAGONAL = true;
    static constexpr int PRODUCTS = 3;
};
struct dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_2_sizes {
    using Element = float;
    static constexpr int N = 10;
    static constexpr int K = 16;
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
    static constexpr int X_STRIDE = 20;
    static constexpr int W_COLUMN = 20;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 2;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
struct dlrmc_linear_relu_linear_relu_embedding_bags_1_sigmoid_sizes {
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
extern "C" __global__ void __launch_bounds__(512) dlrmc_linear_relu_linear_relu_embedding_bags_1(
        const float* const* __restrict__ dense_in_slot,
        const float* __restrict__ bot_0_weight_in,
        const float* __restrict__ bot_0_bias_in,
        const float* __restrict__ bot_2_weight_in,
        const float* __restrict__ bot_2_bias_in,
        const float* __restrict__ emb_0_weight_in,
        const float* __restrict__ emb_1_weight_in,
        const float* __restrict__ emb_2_weight_in,
        const long long* const* __restrict__ indices_0_in_slot,
        const long long* const* __restrict__ indices_1_in_slot,
        const long long* const* __restrict__ indices_2_in_slot,
        const long long* const* __restrict__ offsets_0_in_slot,
        const long long* const* __restrict__ offsets_1_in_slot,
        const long long* const* __restrict__ offsets_2_in_slot,
        const float* __restrict__ top_0_weight_in,
        const float* __restrict__ top_0_bias_in,
        const float* __restrict__ top_2_weight_in,
        const float* __restrict__ top_2_bias_in,
        float* const* __restrict__ sigmoid_out_slot,
        Faults* __restrict__ faults) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    const float* const __restrict__ dense_in = *dense_in_slot;
    float* const __restrict__ sigmoid_out = *sigmoid_out_slot;
    float* const relu_x_tile = reinterpret_cast<float*>(dlrmc_shared + 3072);
    float* const relu_1_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2304);
    float* const index_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2560);
    float* const relu_2_x_tile = reinterpret_cast<float*>(dlrmc_shared + 1024);
    float* const sigmoid_x_tile = reinterpret_cast<float*>(dlrmc_shared + 3328);
    float* const bags_sources = reinterpret_cast<float*>(dlrmc_shared + 2304);
    float* const relu_2_w = reinterpret_cast<float*>(dlrmc_shared + 0);
    float* const relu_w = reinterpret_cast<float*>(dlrmc_shared + 1024);
    float* const relu_1_w = reinterpret_cast<float*>(dlrmc_shared + 1792);
    float* const sigmoid_w = reinterpret_cast<float*>(dlrmc_shared + 2816);
    {
        BagSource* const sources = reinterpret_cast<BagSource*>(bags_sources);
        const int own_table = threadIdx.x % 32 * 16 + threadIdx.x / 32;
        const BagNumbers own_numbers = dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_numbers[own_table < 3 ? own_table : 0];
        if (threadIdx.x % 32 == 0) {
            switch (threadIdx.x / 32) {
                case 0:
                    sources[0].table = emb_0_weight_in;
                    sources[0].ids = indices_0_in_slot;
                    sources[0].offsets = offsets_0_in_slot;
                    sources[0].weights = nullptr;
                    break;
                case 1:
                    sources[1].table = emb_1_weight_in;
                    sources[1].ids = indices_1_in_slot;
                    sources[1].offsets = offsets_1_in_slot;
                    sources[1].weights = nullptr;
                    break;
                case 2:
                    sources[2].table = emb_2_weight_in;
                    sources[2].ids = indices_2_in_slot;
                    sources[2].offsets = offsets_2_in_slot;
                    sources[2].weights = nullptr;
                    break;
            }
        }
        __syncwarp();
        if (own_table < 3) complete_source<true, true, false>(sources[own_table], own_numbers);
    }
    copy_weights_async<1, 12, 5, 12, 8, 5, 1>(relu_w, bot_0_weight_in, threadIdx.x, 512);
    copy_weights_async<1, 1, 12, 12, 12, 0, 1>(relu_w + 144, bot_0_bias_in, threadIdx.x, 512);
    cp_async_commit_group();
    copy_weights_async<4, 6, 12, 12, 12, 12, 1>(relu_1_w, bot_2_weight_in, threadIdx.x, 512);
    copy_weights_async<1, 1, 6, 6, 6, 0, 1>(relu_1_w + 72, bot_2_bias_in, threadIdx.x, 512);
    cp_async_commit_group();
    __syncthreads();
    const long long first_row = static_cast<long long>(blockIdx.x) * 1;
    const int rows = static_cast<int>(min(1ll, 8ll - first_row));
    {
        const int thread = threadIdx.x;
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
        const int thread = (threadIdx.x + 416) % 512;
        for (int i = thread; i < rows * 5; i += 512) {
            const float v_dense = (dense_in + first_row * 5)[i];
            (relu_x_tile)[i] = v_dense;
        }
    }
    {
        const int thread = (threadIdx.x + 384) % 512;
        #pragma unroll 1
        for (int first = thread; first < 12; first += 512) {
            const BagSource* table_sources[1];
            long long bags[1];
            bool is_used[1];
            float* y[1];
            int first_column = 0;
            #pragma unroll
            for (int i = 0; i < 1; ++i) {
                const int item = first + i * 512;
                const int table = item / 4;
                const int row = item / 4 % 1;
                const int column = item % 4 * 2;
                is_used[i] = item < 12 && row < rows && column < 6;
                table_sources[i] = reinterpret_cast<const BagSource*>(bags_sources) + (is_used[i] ? table : 0);
                bags[i] = row + first_row;
                y[i] = index_x_tile + 12 + row + table * 12 + column;
                first_column = column;
            }
            EmbeddingBag<dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_kind_0>::run_many<1, 2>(table_sources, bags, is_used, y, 8, first_column, first_column == 0, faults);
        }
    }
    copy_weights_async<4, 10, 16, 20, 16, 16, 1>(relu_2_w, top_0_weight_in, threadIdx.x, 512);
    copy_weights_async<1, 1, 10, 10, 10, 0, 1>(relu_2_w + 200, top_0_bias_in, threadIdx.x, 512);
    cp_async_commit_group();
    copy_weights_async<1, 1, 10, 12, 12, 10, 1>(sigmoid_w, top_2_weight_in, threadIdx.x, 512);
    copy_weights_async<1, 1, 1, 1, 1, 0, 1>(sigmoid_w + 12, top_2_bias_in, threadIdx.x, 512);
    cp_async_commit_group();
    cp_async_wait_group<3>();
    __syncthreads();
    {
        const int thread = threadIdx.x;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_sizes>::run(
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
        const int thread = threadIdx.x;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_1_sizes>::run(
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
        const int thread = threadIdx.x;
        for (int i = thread; i < rows * 6; i += 512) {
            const float v_relu_1 = (index_x_tile)[i];
            (relu_2_x_tile)[i] = v_relu_1;
        }
    }
    {
        const int thread = (threadIdx.x + 480) % 512;
        PairwiseDot<dlrmc_linear_relu_linear_relu_embedding_bags_1_index_sizes>::run(
                index_x_tile,
                TileView<float, 1, 0, 1>{relu_2_x_tile + 6},
                rows,
                thread,
                512);
    }
    cp_async_wait_group<1>();
    __syncthreads();
    {
        const int thread = threadIdx.x;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_2_sizes>::run(
                relu_2_x_tile,
                relu_2_w,
                relu_2_w + 200,
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
        const int thread = threadIdx.x;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bags_1_sigmoid_sizes>::run(
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
