// Winograd convolution F(m x m, 3 x 3), in the three directions: 3x3 filters, stride 1, dilation 1, any pad and groups.
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
// Backward data is the forward convolution of y with filters that are turned by half a turn. Backward weights is the
// gradient of the same formula, F(3 x 3, m x m): the tiles of y are spread to patches, and sums over the tiles are
// gathered to filters,
//
//   g = Gt [ (A Y At) . (Bt d B) ] G
//
//   patches   [part][element][c][tile]             spread    [part][element][k][tile]
//   products  [part][element][k][c of the group]
//
// where the tiles are dealt out to PARTS of PART_TILES each, beyond the last tile zeros; other directions have one part.
//
// Specialised for one problem by the macros of include/convolution.h, by TILE (2 or 4), PARTS, PART_TILES and
// BLOCK_SIZE, by WINOGRAD_STEP (0 transforms patches, 1 filters, in backward weights tiles of y, 2 products), and by
// SOURCE_NAME and RESULT_NAME: x and y, or the other way round.
#include "data_directions.h"

#define PATCH (TILE + 2)
#define TILES_H ((RESULT_H + TILE - 1) / TILE)
#define TILES_W ((RESULT_W + TILE - 1) / TILE)
#define FILTERS (1ll * CONV_K * CONV_C / CONV_GROUPS)

#if WINOGRAD_STEP == 0
#define WORK_ITEMS (1ll * SOURCE_C * PARTS * PART_TILES)
#elif (WINOGRAD_STEP == 1) == (CONV_DIRECTION == 2)
#define WORK_ITEMS (1ll * RESULT_C * PARTS * PART_TILES)
#else
#define WORK_ITEMS FILTERS
#endif
#include "work.h"

// Where a tile's first position is, where the first of its transformed elements lies, and how far the next one is.
struct tile {
    int channel, image, h, w;
    index_t first, step;
};

// Beyond the last tile there is no image.
static __device__ __forceinline__ tile find_tile(work_t work, int channels)
{
    const int of_part = take_work_digit(&work, PART_TILES);
    const int part = take_work_digit(&work, PARTS);
    const int index = part * PART_TILES + of_part;
    tile found;
    found.channel = (int)work;
    found.image = index / (TILES_H * TILES_W);
    found.h = index / TILES_W % TILES_H * TILE;
    found.w = index % TILES_W * TILE;
    found.step = (index_t)channels * PART_TILES;
    found.first = part * (PATCH * PATCH) * found.step + (index_t)found.channel * PART_TILES + of_part;
    return found;
}

// Bt, G and At, and the transposes A and Gt, are applied to a column or a row, `step` elements apart.
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

static __device__ __forceinline__ void spread_results(float* y, int step)
{
    const float y0 = y[0], y1 = y[step];
    y[step] = y0 + y1;
    y[2 * step] = y0 - y1;
    y[3 * step] = -y1;
}

static __device__ __forceinline__ void gather_filter(float* p, int step)
{
    const float p1 = p[step], p2 = p[2 * step];
    p[0] += 0.5f * (p1 + p2);
    p[step] = 0.5f * (p1 - p2);
    p[2 * step] = 0.5f * (p1 + p2) + p[3 * step];
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

static __device__ __forceinline__ void spread_results(float* y, int step)
{
    const float y0 = y[0], y1 = y[step], y2 = y[2 * step], y3 = y[3 * step];
    const float even = y0 + y2, odd = y1 + y3, even_2 = y0 + 4.0f * y2, odd_2 = 2.0f * y1 + 8.0f * y3;
    y[step] = even + odd;
    y[2 * step] = even - odd;
    y[3 * step] = even_2 + odd_2;
    y[4 * step] = even_2 - odd_2;
    y[5 * step] = y3;
}

static __device__ __forceinline__ void gather_filter(float* p, int step)
{
    const float near = (-1.0f / 6.0f) * (p[step] + p[2 * step]), far = (1.0f / 24.0f) * (p[3 * step] + p[4 * step]);
    p[step] = (-1.0f / 6.0f) * (p[step] - p[2 * step]) + (1.0f / 12.0f) * (p[3 * step] - p[4 * step]);
    p[0] = 0.25f * p[0] + near + far;
    p[2 * step] = near + 4.0f * far + p[5 * step];
}
#endif

#if WINOGRAD_STEP == 0
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_data(const element_t* __restrict__ SOURCE_NAME, float* __restrict__ patches)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    const tile tile = find_tile(index, SOURCE_C);
    float patch[PATCH * PATCH];
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
    {
        const int h = tile.h - LEAD_H + i / PATCH, w = tile.w - LEAD_W + i % PATCH;
        const bool inside = tile.image < CONV_N && is_inside(h, SOURCE_H) && is_inside(w, SOURCE_W);
        patch[i] = inside ? load(SOURCE_NAME + source_at(tile.image, tile.channel, 0, h, w)) : 0.0f;
    }
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_patch(patch + i, PATCH);
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_patch(patch + i * PATCH, 1);
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
        patches[tile.first + i * tile.step] = patch[i];
}
#elif WINOGRAD_STEP == 1 && CONV_DIRECTION == 2
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_results(const element_t* __restrict__ RESULT_NAME, float* __restrict__ spread)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    const tile tile = find_tile(index, RESULT_C);
    float result[PATCH * PATCH] = {};
#pragma unroll
    for(int i = 0; i < TILE * TILE; ++i)
    {
        const int h = tile.h + i / TILE, w = tile.w + i % TILE;
        const bool inside = tile.image < CONV_N && h < RESULT_H && w < RESULT_W;
        result[i / TILE * PATCH + i % TILE] =
            inside ? load(RESULT_NAME + result_at(tile.image, tile.channel, 0, h, w)) : 0.0f;
    }
#pragma unroll
    for(int i = 0; i < TILE; ++i)
        spread_results(result + i, PATCH);
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        spread_results(result + i * PATCH, 1);
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
        spread[tile.first + i * tile.step] = result[i];
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
#elif CONV_DIRECTION == 2
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_weights(const float* __restrict__ products, result_t* __restrict__ w)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    float filter[PATCH * PATCH] = {};
    const float* element = products + index;
#pragma unroll 1 // or addresses of many parts fill the registers
    for(int part = 0; part < PARTS; ++part)
#pragma unroll
        for(int i = 0; i < PATCH * PATCH; ++i, element += FILTERS)
            filter[i] += *element;
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        gather_filter(filter + i, PATCH);
#pragma unroll
    for(int i = 0; i < 3; ++i)
        gather_filter(filter + i * PATCH, 1);
    result_t* taps = w + (int)(index / C_PER_GROUP) * W_STRIDE(N) + (int)(index % C_PER_GROUP) * W_STRIDE(C);
#pragma unroll
    for(int i = 0; i < 9; ++i)
        store(taps + i / 3 * W_STRIDE(H) + i % 3 * W_STRIDE(W), filter[i / 3 * PATCH + i % 3]);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
winograd_transform_output(const float* __restrict__ products, result_t* __restrict__ RESULT_NAME)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    const tile tile = find_tile(index, RESULT_C);
    float product[PATCH * PATCH];
#pragma unroll
    for(int i = 0; i < PATCH * PATCH; ++i)
        product[i] = products[tile.first + i * tile.step];
#pragma unroll
    for(int i = 0; i < PATCH; ++i)
        transform_product(product + i, PATCH);
#pragma unroll
    for(int i = 0; i < TILE; ++i)
        transform_product(product + i * PATCH, 1);
#pragma unroll
    for(int i = 0; i < TILE * TILE; ++i)
    {
        const int h = tile.h + i / TILE, w = tile.w + i % TILE;
        if(h < RESULT_H && w < RESULT_W)
            store(RESULT_NAME + result_at(tile.image, tile.channel, 0, h, w), product[i / TILE * PATCH + i % TILE]);
    }
}
#endif
