// Emitted by dlrmc: 1 kernel for one request.
// input dense : f32[8,5]
// input offsets_0 : i64[8]
// input offsets_1 : i64[8]
// input offsets_2 : i64[8]
// input indices_0 : i64[16]
// input indices_1 : i64[16]
// input indices_2 : i64[16]
// output sigmoid : f32[8,1]
// dlrmc_linear_relu_linear_relu_embedding_bags_1<<<8, 512, 3840>>>
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

// includes kernel_pointers.cuh, views.cuh, weights.cuh, views.cuh, ptx.cuh, linear.cuh, warp_bags.cuh, scalars.cuh, math.cuh, faults.cuh, reduce.cuh, pairwise_dot.cuh
// %sigmoid = kernel row_program<batch=8>(%dense, %bot_0_weight, %bot_0_bias, %bot_2_weight, %bot_2_bias, %emb_0_weight, %emb_1_weight, %emb_2_weight, %indices_0, %indices_1, %indices_2, %offsets_0, %offsets_1, %offsets_2, %top_0_weight, %top_0_bias, %top_2_weight, %top_2_bias) {
//   %relu = linear(%dense, %bot_0_weight, %bot_0_bias) {act=relu} : f32[8,12]
//   %relu_1 = linear(%relu, %bot_2_weight, %bot_2_bias) {act=relu} : f32[8,6]
//   %bags = embedding_bag_group([%emb_0_weight, %emb_1_weight, %emb_2_weight], [%indices_0, %indices_1, %indices_2], [%offsets_0, %offsets_1, %offsets_2], []) : f32[8,3,6]
//   %index = pairwise_dot(%relu_1, %bags) {pairs=lower} : f32[8,10]
//   %relu_2 = linear([%relu_1, %index], %top_0_weight, %top_0_bias) {act=relu} : f32[8,10]
//   %sigmoid = linear(%relu_2, %top_2_weight, %top_2_bias) {act=sigmoid} : f32[8,1]
//   yield %sigmoid
// } : f32[8,1]
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
    static constexpr int IN_FLIGHT = 8;
    static constexpr int TABLES = 3;
    static constexpr int ENTRIES = 1;
    static constexpr int BAGS = 8;
    static constexpr int PACKS = 3;
    static constexpr int IDS = 1;
    static constexpr int AT_ONCE = 2;
    static constexpr int UNITS_OF_WARP = 1;
    static constexpr int SOURCES = 3;
    static constexpr int VECTOR = 2;
    static constexpr long long Y_COLUMN = 1;
    static constexpr bool Y_IS_PACKED = false;
};
static __device__ const BagNumbers dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_numbers[3] = {
    {40, 16, 2, -1, 0, 1},
    {40, 16, 2, -1, 2, 3},
    {40, 16, 2, -1, 4, 5},
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
    static constexpr int W_COLUMN = 16;
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
        const __grid_constant__ KernelPointers<20> pointers) {
    const float* const* const __restrict__ dense_in_slot = static_cast<const float* const*>(pointers.at[0]);
    const float* const __restrict__ bot_0_weight_in = static_cast<const float*>(pointers.at[1]);
    const float* const __restrict__ bot_0_bias_in = static_cast<const float*>(pointers.at[2]);
    const float* const __restrict__ bot_2_weight_in = static_cast<const float*>(pointers.at[3]);
    const float* const __restrict__ bot_2_bias_in = static_cast<const float*>(pointers.at[4]);
    const float* const __restrict__ top_0_weight_in = static_cast<const float*>(pointers.at[14]);
    const float* const __restrict__ top_0_bias_in = static_cast<const float*>(pointers.at[15]);
    const float* const __restrict__ top_2_weight_in = static_cast<const float*>(pointers.at[16]);
    const float* const __restrict__ top_2_bias_in = static_cast<const float*>(pointers.at[17]);
    float* const* const __restrict__ sigmoid_out_slot = static_cast<float* const*>(pointers.at[18]);
    Faults* const __restrict__ faults = static_cast<Faults*>(pointers.at[19]);
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    const float* const __restrict__ dense_in = read_slot_early(dense_in_slot);
    float* const __restrict__ sigmoid_out = read_slot_early(sigmoid_out_slot);
    float* const relu_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2816);
    float* const relu_1_x_tile = reinterpret_cast<float*>(dlrmc_shared + 3072);
    float* const index_x_tile = reinterpret_cast<float*>(dlrmc_shared + 2304);
    float* const relu_2_x_tile = reinterpret_cast<float*>(dlrmc_shared + 768);
    float* const sigmoid_x_tile = reinterpret_cast<float*>(dlrmc_shared + 3328);
    float* const bags_sources = reinterpret_cast<float*>(dlrmc_shared + 2048);
    float* const relu_2_w = reinterpret_cast<float*>(dlrmc_shared + 0);
    float* const relu_w = reinterpret_cast<float*>(dlrmc_shared + 768);
    float* const relu_1_w = reinterpret_cast<float*>(dlrmc_shared + 1536);
    float* const sigmoid_w = reinterpret_cast<float*>(dlrmc_shared + 2560);
    {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x / 32;
        const int table = warp * 8 / 1 + lane;
        const bool is_own = warp < 1 && lane < 3 && table < 3;
        if (is_own) {
            const BagPointers own = {pointers.at[5 + table], pointers.at[8 + table], pointers.at[11 + table], nullptr};
            BagSource* const sources = reinterpret_cast<BagSource*>(bags_sources) + warp * 3;
            sources[lane] = bag_source<true, true, false>(own, dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_numbers[table]);
        }
        __syncwarp();
    }
    const long long first_row = static_cast<long long>(blockIdx.x) * 1;
    constexpr int rows = 1;
    copy_weights_async<1, 12, 5, 12, 8, 5, 1>(relu_w, bot_0_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 12, 12, 12, 0, 1>(relu_w + 144, bot_0_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    Pack<float, 1> relu_x_tile_0 = {};
    if (const int i = threadIdx.x; i < rows * 5) relu_x_tile_0 = load_pack_early<1>(dense_in + first_row * 5 + i);
    WarpBags<dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_kind_0> dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_work;
    if (const int unit = threadIdx.x % 512 / 32 * 1; unit < 1) dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_work.begin(reinterpret_cast<const BagSource*>(bags_sources), unit, 0 + first_row, rows, 8, faults);
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
    copy_weights_async<4, 10, 16, 16, 16, 16, 1>(relu_2_w, top_0_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 10, 10, 10, 0, 1>(relu_2_w + 160, top_0_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    copy_weights_async<1, 1, 10, 12, 12, 10, 1>(sigmoid_w, top_2_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 1, 1, 1, 0, 1>(sigmoid_w + 12, top_2_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    cp_async_wait_group<3>();
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
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
        const int thread = threadIdx.x % 512;
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
    {
        if (const int unit = threadIdx.x % 512 / 32 * 1; unit < 1) dlrmc_linear_relu_linear_relu_embedding_bags_1_bags_work.finish(reinterpret_cast<const BagSource*>(bags_sources), unit, rows, TileView<float, 1, 12, 1>{index_x_tile + 12}, faults);
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
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_embedding_bags_1_relu_2_sizes>::run(
                relu_2_x_tile,
                relu_2_w,
                relu_2_w + 160,
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
