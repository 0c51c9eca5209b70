// Depthwise convolution, backward weights: every group has one channel of x and CONV_K / CONV_C of y.
//
// A block adds up a tile of taps of the filters of CHANNELS_PER_BLOCK channels of y, over one of PARTS parts of the
// output positions. Its work-items go over tiles of ROWS_PER_THREAD x PIXELS_PER_THREAD positions of
// CHANNELS_PER_THREAD channels: they hold the tile of y and all of their sums in registers, and load each segment of a
// row of x that the tile needs once, for all of the taps that read it. Then the work-items of a channel halve the
// number of their sums until one is left: always in the same order, so that two runs give the same bits. A kernel of
// conv_implicit_gemm_parts.hip adds up the parts.
//
// Neighbouring work-items have neighbouring memory: along the row, or along the channels where these come last and
// CHANNELS_PER_BLOCK is large. Beyond the edges both x and y are zero.
//
// Specialised for one problem by the macros of include/convolution.h, and by TAP_ROWS x TAP_COLUMNS, the tile of taps.
// More than one channel of a work-item suits channels that come last, of the same number in x and y, in whole packs.
#include "data_directions.h"

#define MULTIPLIER (CONV_K / CONV_C)
#define CEIL_DIVIDE(a, b) (((a) + (b) - 1) / (b))
#define CHANNEL_LANES (CHANNELS_PER_BLOCK / CHANNELS_PER_THREAD)
#define LANES (BLOCK_SIZE / CHANNEL_LANES) // a power of two
#define CHANNEL_TILES CEIL_DIVIDE(CONV_K, CHANNELS_PER_BLOCK)
#define TAP_ROW_TILES CEIL_DIVIDE(CONV_FIL_H, TAP_ROWS)
#define TAP_COLUMN_TILES CEIL_DIVIDE(CONV_FIL_W, TAP_COLUMNS)
#define TAP_TILES (TAP_COLUMN_TILES * TAP_ROW_TILES * CONV_FIL_D)
#define COLUMN_TILES CEIL_DIVIDE(CONV_OUT_W, PIXELS_PER_THREAD)
#define ROW_TILES CEIL_DIVIDE(CONV_OUT_H, ROWS_PER_THREAD)
#define TILES (CONV_N * CONV_OUT_D * ROW_TILES * COLUMN_TILES)

// What lies between two taps is of no use to a single row, or a single position of a row.
#define ROW_STEP (ROWS_PER_THREAD == 1 ? CONV_DILATION_H : 1)
#define COLUMN_STEP (PIXELS_PER_THREAD == 1 ? CONV_DILATION_W : 1)
#define SOURCE_ROWS (((ROWS_PER_THREAD - 1) * CONV_STRIDE_H + (TAP_ROWS - 1) * CONV_DILATION_H) / ROW_STEP + 1)
#define SEGMENT (((PIXELS_PER_THREAD - 1) * CONV_STRIDE_W + (TAP_COLUMNS - 1) * CONV_DILATION_W) / COLUMN_STEP + 1)

// A walk over the tiles stays below TILES + LANES * PARTS.
#if TILES + BLOCK_SIZE * PARTS > 0x7fffffff
typedef unsigned long long tile_t;
#else
typedef unsigned int tile_t;
#endif
#define ALL_TILES ((tile_t)CONV_N * CONV_OUT_D * ROW_TILES * COLUMN_TILES) // of TILES, which only #if counts in 64 bits

#if PARTS > 1
typedef accumulator_t stored_t;
#else
typedef result_t stored_t;
#endif

// The channels of a work-item, side by side in memory; one load, and of what is computed a register each.
struct alignas(sizeof(element_t) * CHANNELS_PER_THREAD) pack {
    element_t at[CHANNELS_PER_THREAD];
};

struct channels {
    accumulator_t at[CHANNELS_PER_THREAD];
};

struct tap_sums {
    channels at[TAP_ROWS][TAP_COLUMNS];
};

static __device__ __forceinline__ channels load_inside(const element_t* p, bool inside)
{
    channels loaded = {};
    if(inside)
    {
        const pack packed = *(const pack*)p;
#pragma unroll
        for(int v = 0; v < CHANNELS_PER_THREAD; ++v)
            loaded.at[v] = load(packed.at + v);
    }
    return loaded;
}

static __device__ __forceinline__ void multiply_add(channels* sums, const channels* a, const channels* b)
{
#pragma unroll
    for(int v = 0; v < CHANNELS_PER_THREAD; ++v)
        sums->at[v] = fmaf(a->at[v], b->at[v], sums->at[v]);
}

// Adds the products of a tile of positions. The places of its first position and first tap are those in x and y.
static __device__ __forceinline__ void
add_tile(tap_sums* sums, const element_t* x, const element_t* y, int out_h, int out_w, int first_h, int first_w)
{
    channels dy[ROWS_PER_THREAD][PIXELS_PER_THREAD];
#pragma unroll
    for(int r = 0; r < ROWS_PER_THREAD; ++r)
#pragma unroll
        for(int p = 0; p < PIXELS_PER_THREAD; ++p)
            dy[r][p] = load_inside(y + (out_h + r) * RESULT_STRIDE(H) + (out_w + p) * RESULT_STRIDE(W),
                                   out_h + r < CONV_OUT_H && out_w + p < CONV_OUT_W);
#pragma unroll
    for(int i = 0; i < SOURCE_ROWS; ++i)
    {
        const int h = first_h + i * ROW_STEP;
        channels segment[SEGMENT];
#pragma unroll
        for(int j = 0; j < SEGMENT; ++j)
        {
            const int w = first_w + j * COLUMN_STEP;
            segment[j] = load_inside(x + h * SOURCE_STRIDE(H) + w * SOURCE_STRIDE(W),
                                     is_inside(h, CONV_IN_H) && is_inside(w, CONV_IN_W));
        }
#pragma unroll
        for(int r = 0; r < ROWS_PER_THREAD; ++r)
        {
            const int offset = i * ROW_STEP - r * CONV_STRIDE_H;
            const int row = offset / CONV_DILATION_H;
            if(offset < 0 || row * CONV_DILATION_H != offset || row >= TAP_ROWS)
                continue;
#pragma unroll
            for(int p = 0; p < PIXELS_PER_THREAD; ++p)
#pragma unroll
                for(int tap = 0; tap < TAP_COLUMNS; ++tap)
                    multiply_add(&sums->at[row][tap],
                                 segment + (p * CONV_STRIDE_W + tap * CONV_DILATION_W) / COLUMN_STEP, &dy[r][p]);
        }
    }
}

// Adds up what a lane has of a part: every (LANES * PARTS)-th tile, from the first on.
static __device__ __forceinline__ void add_tiles(
    tap_sums* sums, const element_t* x, const element_t* y, tile_t first, int channel, int tap_d, int tap_h, int tap_w)
{
    for(tile_t tile = first; tile < ALL_TILES; tile += LANES * PARTS)
    {
        tile_t rest = tile / COLUMN_TILES;
        const int out_w = (int)(tile % COLUMN_TILES) * PIXELS_PER_THREAD;
        const int out_h = (int)(rest % ROW_TILES) * ROWS_PER_THREAD;
        rest /= ROW_TILES;
        const int out_d = (int)(rest % CONV_OUT_D);
        const int image = (int)(rest / CONV_OUT_D);
        const int d = out_d * CONV_STRIDE_D - CONV_PAD_D + tap_d * CONV_DILATION_D;
        if(is_inside(d, CONV_IN_D))
            add_tile(sums, x + source_at(image, channel / MULTIPLIER, d, 0, 0),
                     y + result_at(image, channel, out_d, 0, 0), out_h, out_w,
                     out_h * CONV_STRIDE_H - CONV_PAD_H + tap_h * CONV_DILATION_H,
                     out_w * CONV_STRIDE_W - CONV_PAD_W + tap_w * CONV_DILATION_W);
    }
}

static __device__ __forceinline__ void
depthwise_conv(const element_t* __restrict__ x, const element_t* __restrict__ y, stored_t* __restrict__ result)
{
    __shared__ accumulator_t shared[TAP_COLUMNS * CHANNELS_PER_THREAD][BLOCK_SIZE];
    const int thread = (int)threadIdx.x;
    const int lane = thread / CHANNEL_LANES;
    int block = (int)blockIdx.x;
    const int channel = block % CHANNEL_TILES * CHANNELS_PER_BLOCK + thread % CHANNEL_LANES * CHANNELS_PER_THREAD;
    block /= CHANNEL_TILES;
    const int tap_w = block % TAP_COLUMN_TILES * TAP_COLUMNS;
    const int tap_h = block / TAP_COLUMN_TILES % TAP_ROW_TILES * TAP_ROWS;
    const int tap_d = block / (TAP_COLUMN_TILES * TAP_ROW_TILES) % CONV_FIL_D;
    const int part = block / TAP_TILES;

    tap_sums sums = {}; // of taps beyond the filter's end too: they are not stored
    if(channel < CONV_K)
        add_tiles(&sums, x, y, (tile_t)part * LANES + lane, channel, tap_d, tap_h, tap_w);

    result += (index_t)part * CONV_K * TAPS;
#pragma unroll
    for(int row = 0; row < TAP_ROWS; ++row)
    {
        if(row > 0)
            __syncthreads();
#pragma unroll
        for(int i = 0; i < TAP_COLUMNS * CHANNELS_PER_THREAD; ++i)
            shared[i][thread] = sums.at[row][i / CHANNELS_PER_THREAD].at[i % CHANNELS_PER_THREAD];
        for(int lanes = LANES / 2; lanes > 0; lanes /= 2)
        {
            __syncthreads();
            if(lane < lanes)
            {
#pragma unroll
                for(int i = 0; i < TAP_COLUMNS * CHANNELS_PER_THREAD; ++i)
                    shared[i][thread] += shared[i][thread + lanes * CHANNEL_LANES];
            }
        }
        if(lane > 0 || channel >= CONV_K || tap_h + row >= CONV_FIL_H)
            continue;
        stored_t* line = result + (index_t)channel * TAPS + (tap_d * CONV_FIL_H + tap_h + row) * CONV_FIL_W + tap_w;
        for(int i = 0; i < TAP_COLUMNS * CHANNELS_PER_THREAD; ++i)
            if(tap_w + i / CHANNELS_PER_THREAD < CONV_FIL_W)
                store(line + i % CHANNELS_PER_THREAD * (index_t)TAPS + i / CHANNELS_PER_THREAD, shared[i][thread]);
    }
}

#if PARTS > 1
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) depthwise_conv_wrw_parts(
    const element_t* __restrict__ x, const element_t* __restrict__ y, accumulator_t* __restrict__ workspace)
{
    depthwise_conv(x, y, workspace);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
depthwise_conv_wrw(const element_t* __restrict__ x, result_t* __restrict__ w, const element_t* __restrict__ y)
{
    depthwise_conv(x, y, w);
}
#endif
