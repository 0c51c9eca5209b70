// Winograd convolution F(m x m, 3 x 3), forward and backward data: 3x3 filters, stride 1, dilation 1, any pad and groups.
//
// An image is cut into tiles of TILE x TILE results, each computed from a patch of PATCH x PATCH source elements, where
// PATCH is TILE + 2. Patches and filters are transformed, multiplied element by element and added up over the channels,
// which makes one matrix product for each of the PATCH x PATCH elements, and the sums are transformed back:
//
//   Y = At [ (G g Gt) . (Bt d B) ] A
//
//   patches   [element][source channel][tile]      filters   [element][result channel][source channel of the group]
//   products  [element][result channel][tile]      all of them floats, in the workspace
//
// Backward data is the forward convolution of y with filters that are turned by half a turn. Specialised for one problem
// by the macros of include/convolution.h, by TILE (2 or 4) and BLOCK_SIZE, by WINOGRAD_STEP (0 transforms patches, 1
// filters, 2 products), and by SOURCE_NAME and RESULT_NAME: x and y, or the other way round.
#include "data_directions.h"

#define PATCH (TILE + 2)
#define TILES_H ((RESULT_H + TILE - 1) / TILE)
#define TILES_W ((RESULT_W + TILE - 1) / TILE)
#define TILES (CONV_N * TILES_H * TILES_W)

#if WINOGRAD_STEP == 0
#define WORK_ITEMS (SOURCE_C * TILES)
#elif WINOGRAD_STEP == 1
#define WORK_ITEMS (CONV_K * CONV_C / CONV_GROUPS)
#else
#define WORK_ITEMS (RESULT_C * TILES)
#endif
#include "work.h"

// Bt, G and At are applied to a column or a row, `step` elements apart.
#if TILE == 2
static __device__ __forceinline__ void transform_patch(float* d, int step)
{
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    d[0] = d0 - d2;
    d[step] = d1 + d2;
    d[2 * step] = d2 - d1;
    d[3 * step] = d1 - d3;
}

static __device__ __forceinline__ void transform_filter(float* g, int step)
{
    const float g0 = g[0], g1 = g[step], g2 = g[2 * step];
    g[step] = 0.5f * (g0 + g1 + g2);
    g[2 * step] = 0.5f * (g0 - g1 + g2);
    g[3 * step] = g2;
}

static __device__ __forceinline__ void transform_product(float* p, int step)
{
    const float p0 = p[0], p1 = p[step], p2 = p[2 * step], p3 = p[3 * step];
    p[0] = p0 + p1 + p2;
    p[step] = p1 - p2 - p3;
}
#else
static __device__ __forceinline__ void transform_patch(float* d, int step)
{
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    const float even = d4 - 4.0f * d2, odd = d3 - 4.0f * d1;
    const float even_2 = d4 - d2, odd_2 = 2.0f * (d3 - d1);
    d[0] = 4.0f * d0 - 5.0f * d2 + d4;
    d[step] = even + odd;
    d[2 * step] = even - odd;
    d[3 * step] = even_2 + odd_2;
    d[4 * step] = even_2 - odd_2;
    d[5 * step] = 4.0f * d1 - 5.0f * d3 + d5;
}

static __device__ __forceinline__ void transform_filter(float* g, int step)
{
    const float g0 = g[0], g1 = g[step], g2 = g[2 * step];
    const float near = g0 + g2, far = g0 + 4.0f * g2;
    g[0] = 0.25f * g0;
    g[step] = (-1.0f / 6.0f) * (near + g1);
    g[2 * step] = (-1.0f / 6.0f) * (near - g1);
    g[3 * step] = (1.0f / 24.0f) * (far + 2.0f * g1);
    g[4 * step] = (1.0f / 24.0f) * (far - 2.0f * g1);
    g[5 * step] = g2;
}

static __device__ __forceinline__ void transform_product(float* p, int step)
{
    const float p0 = p[0], p5 = p[5 * step];
    const float sum = p[step] + p[2 * step], difference = p[step] - p[2 * step];
    const float sum_2 = p[3 * step] + p[4 * step], difference_2 = p[3 * step] - p[4 * step];
    p[0] = p0 + sum + sum_2;
    p[step] = difference + 2.0f * difference_2;
    p[2 * step] = sum + 4.0f * sum_2;
    p[3 * step] = difference + 8.0f * difference_2 + p5;
}
#endif

#if WINOGRAD_STEP == 0
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_data(const element_t* __restrict__ SOURCE_NAME, float* __restrict__ patches)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    work_t rest = index;
    const int first_w = take_work_digit(&rest, TILES_W) * TILE - LEAD_W;
    const int first_h = take_work_digit(&rest, TILES_H) * TILE - LEAD_H;
    const int image = take_work_digit(&rest, CONV_N);
    float patch[PATCH * PATCH];
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
    {
        const int h = first_h + i / PATCH, w = first_w + i % PATCH;
        const bool inside = is_inside(h, SOURCE_H) && is_inside(w, SOURCE_W);
        patch[i] = inside ? load(SOURCE_NAME + source_at(image, (int)rest, 0, h, w)) : 0.0f;
    }
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_patch(patch + i, PATCH);
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_patch(patch + i * PATCH, 1);
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
        patches[(index_t)i * WORK_ITEMS + index] = patch[i];
}
#elif WINOGRAD_STEP == 1
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_filter(const element_t* __restrict__ w, float* __restrict__ filters)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    const int source_channel = (int)(index % SOURCE_C_PER_GROUP), result_channel = (int)(index / SOURCE_C_PER_GROUP);
#if CONV_DIRECTION == 1
    const int k = result_channel / C_PER_GROUP * K_PER_GROUP + source_channel, c = result_channel % C_PER_GROUP;
#else
    const int k = result_channel, c = source_channel;
#endif
    const element_t* taps = w + k * W_STRIDE(N) + c * W_STRIDE(C);
    float filter[PATCH * PATCH] = {};
#pragma unroll
    for(int i = 0; i < 9; ++i)
        filter[i / 3 * PATCH + i % 3] =
            load(taps + STORED_TAP(i / 3, 3) * W_STRIDE(H) + STORED_TAP(i % 3, 3) * W_STRIDE(W));
#pragma unroll
    for(int i = 0; i < 3; ++i)
        transform_filter(filter + i, PATCH);
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_filter(filter + i * PATCH, 1);
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
        filters[(index_t)i * WORK_ITEMS + index] = filter[i];
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_output(const float* __restrict__ products, result_t* __restrict__ RESULT_NAME)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    work_t rest = index;
    const int first_w = take_work_digit(&rest, TILES_W) * TILE;
    const int first_h = take_work_digit(&rest, TILES_H) * TILE;
    const int image = take_work_digit(&rest, CONV_N);
    float product[PATCH * PATCH];
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
        product[i] = products[(index_t)i * WORK_ITEMS + index];
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_product(product + i, PATCH);
#pragma unroll
    for(int i = 0; i < TILE; ++i)
        transform_product(product + i * PATCH, 1);
#pragma unroll
    for(int i = 0; i < TILE * TILE; ++i)
    {
        const int h = first_h + i / TILE, w = first_w + i % TILE;
        if(h < RESULT_H && w < RESULT_W)
            store(RESULT_NAME + result_at(image, (int)rest, 0, h, w), product[i / TILE * PATCH + i % TILE]);
    }
}
#endif
