// Emitted by dlrmc: 1 kernel for one request.
// input input : f32[8,5]
// output sigmoid : f32[8,1]
// dlrmc_linear_relu_linear_relu_linear_sigmoid_1<<<8, 512, 1792>>>
//
// graph @mlp {
//   input %input : f32[8,5]
//   weight %_0_weight : f32[8,5] = "0.weight"
//   weight %_0_bias : f32[8] = "0.bias"
//   weight %_2_weight : f32[4,8] = "2.weight"
//   weight %_2_bias : f32[4] = "2.bias"
//   weight %_4_weight : f32[1,4] = "4.weight"
//   weight %_4_bias : f32[1] = "4.bias"
//   %sigmoid = kernel row_program<batch=8>(%input, %_0_weight, %_0_bias, %_2_weight, %_2_bias, %_4_weight, %_4_bias) {
//     %relu = linear(%input, %_0_weight, %_0_bias) {act=relu} : f32[8,8]
//     %relu_1 = linear(%relu, %_2_weight, %_2_bias) {act=relu} : f32[8,4]
//     %sigmoid = linear(%relu_1, %_4_weight, %_4_bias) {act=sigmoid} : f32[8,1]
//     yield %sigmoid
//   } : f32[8,1]
//   return %sigmoid
// }

// includes kernel_pointers.cuh, views.cuh, weights.cuh, views.cuh, ptx.cuh, linear.cuh
// %sigmoid = kernel row_program<batch=8>(%input, %_0_weight, %_0_bias, %_2_weight, %_2_bias, %_4_weight, %_4_bias) {
//   %relu = linear(%input, %_0_weight, %_0_bias) {act=relu} : f32[8,8]
//   %relu_1 = linear(%relu, %_2_weight, %_2_bias) {act=relu} : f32[8,4]
//   %sigmoid = linear(%relu_1, %_4_weight, %_4_bias) {act=sigmoid} : f32[8,1]
//   yield %sigmoid
// } : f32[8,1]
struct dlrmc_linear_relu_linear_relu_linear_sigmoid_1_relu_sizes {
    using Element = float;
    static constexpr int N = 8;
    static constexpr int K = 8;
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
struct dlrmc_linear_relu_linear_relu_linear_sigmoid_1_relu_1_sizes {
    using Element = float;
    static constexpr int N = 4;
    static constexpr int K = 8;
    static constexpr bool HAS_BIAS = true;
    static constexpr int BIAS_ROW = 0;
    static constexpr int BIAS_COLUMN = 1;
    static constexpr float ALPHA = 1.0f;
    static constexpr float BETA = 1.0f;
    static constexpr int ROWS = 1;
    static constexpr int BLOCK_COLUMNS = 4;
    static constexpr int ROWS_PER_LANE = 1;
    static constexpr int COLUMNS_PER_LANE = 1;
    static constexpr int LANES_OVER_ROWS = 1;
    static constexpr int LANES_OVER_COLUMNS = 4;
    static constexpr int LANES_OVER_K = 8;
    static constexpr int X_STRIDE = 12;
    static constexpr int W_COLUMN = 8;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_relu(value);
    }
};
struct dlrmc_linear_relu_linear_relu_linear_sigmoid_1_sigmoid_sizes {
    using Element = float;
    static constexpr int N = 1;
    static constexpr int K = 4;
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
    static constexpr int X_STRIDE = 4;
    static constexpr int W_COLUMN = 4;
    static constexpr int W_K = 1;
    static constexpr int W_VECTOR = 4;
    static constexpr int Y_VECTOR = 1;
    static constexpr int UNROLL = 1;
    static __device__ __forceinline__ float activation(float value) {
        return dlrmc_sigmoid(value);
    }
};
extern "C" __global__ void __launch_bounds__(512) dlrmc_linear_relu_linear_relu_linear_sigmoid_1(
        const float* const* __restrict__ input_in_slot,
        const float* __restrict__ _0_weight_in,
        const float* __restrict__ _0_bias_in,
        const float* __restrict__ _2_weight_in,
        const float* __restrict__ _2_bias_in,
        const float* __restrict__ _4_weight_in,
        const float* __restrict__ _4_bias_in,
        float* const* __restrict__ sigmoid_out_slot) {
    extern __shared__ __align__(16) unsigned char dlrmc_shared[];
    const float* const __restrict__ input_in = read_slot_early(input_in_slot);
    float* const __restrict__ sigmoid_out = read_slot_early(sigmoid_out_slot);
    float* const relu_x_tile = reinterpret_cast<float*>(dlrmc_shared + 768);
    float* const relu_1_x_tile = reinterpret_cast<float*>(dlrmc_shared + 1024);
    float* const sigmoid_x_tile = reinterpret_cast<float*>(dlrmc_shared + 0);
    float* const relu_w = reinterpret_cast<float*>(dlrmc_shared + 0);
    float* const relu_1_w = reinterpret_cast<float*>(dlrmc_shared + 512);
    float* const sigmoid_w = reinterpret_cast<float*>(dlrmc_shared + 1280);
    long long* const copy_barriers = reinterpret_cast<long long*>(dlrmc_shared + 1536);
    const long long first_row = static_cast<long long>(blockIdx.x) * 1;
    constexpr int rows = 1;
    copy_weights_async<1, 8, 5, 12, 8, 5, 1>(relu_w, _0_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 8, 8, 8, 0, 1>(relu_w + 96, _0_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    Pack<float, 1> relu_x_tile_0 = {};
    if (const int i = threadIdx.x; i < rows * 5) relu_x_tile_0 = load_pack_early<1>(input_in + first_row * 5 + i);
    if (threadIdx.x == 416) {
        copy_barrier_init(copy_barriers + 2);
        copy_barrier_expect(copy_barriers + 2, 144);
        bulk_copy(relu_1_w, _2_weight_in, 128, copy_barriers + 2);
        bulk_copy(relu_1_w + 32, _2_bias_in, 16, copy_barriers + 2);
    }
    {
        const int thread = threadIdx.x % 512;
        zero_columns<1, 1, 5, 8>(TileView<float, 12, 0>{relu_x_tile}, thread, 512);
    }
    {
        if (const int i = threadIdx.x; i < rows * 5) (relu_x_tile)[i] = relu_x_tile_0.at[0];
    }
    copy_weights_async<4, 1, 4, 4, 4, 4, 1>(sigmoid_w, _4_weight_in, threadIdx.x % 512, 512);
    copy_weights_async<1, 1, 1, 1, 1, 0, 1>(sigmoid_w + 4, _4_bias_in, threadIdx.x % 512, 512);
    cp_async_commit_group();
    cp_async_wait_group<1>();
    __syncthreads();
    {
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_linear_sigmoid_1_relu_sizes>::run(
                relu_x_tile,
                relu_w,
                relu_w + 96,
                TileView<float, 0, 0, 1>{relu_1_x_tile},
                0,
                rows,
                thread,
                512,
                IsReady());
    }
    __syncthreads();
    copy_barrier_wait(copy_barriers + 2);
    {
        const int thread = threadIdx.x % 512;
        LinearRows<dlrmc_linear_relu_linear_relu_linear_sigmoid_1_relu_1_sizes>::run(
                relu_1_x_tile,
                relu_1_w,
                relu_1_w + 32,
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
        LinearRows<dlrmc_linear_relu_linear_relu_linear_sigmoid_1_sigmoid_sizes>::run(
                sigmoid_x_tile,
                sigmoid_w,
                sigmoid_w + 4,
                TileView<float, 0, 0, 1>{sigmoid_out + first_row},
                0,
                rows,
                thread,
                512,
                IsReady());
    }
}
