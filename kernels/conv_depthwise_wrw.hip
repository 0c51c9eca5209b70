// Depthwise convolution, backward weights: every group has one channel of x and CONV_K / CONV_C of y.
//
// A block computes TAPS_PER_BLOCK taps of the filters of CHANNELS_PER_BLOCK channels of y. The work-items of a channel
// share its output positions, each adding up every LANES-th of them, and halve the number of their sums until one is
// left: always in the same order, so that two runs give the same bits. Neighbouring work-items have neighbouring
// memory: along the row, or along the channels where these come last and CHANNELS_PER_BLOCK is large.
//
// Specialised for one problem by the macros of include/convolution.h.
#include "data_directions.h"

#define MULTIPLIER (CONV_K / CONV_C)
#define LANES (BLOCK_SIZE / CHANNELS_PER_BLOCK) // a power of two
#define CHANNEL_TILES ((CONV_K + CHANNELS_PER_BLOCK - 1) / CHANNELS_PER_BLOCK)
#define POSITIONS (CONV_N * CONV_OUT_D * CONV_OUT_H * CONV_OUT_W)

// A walk over the positions stays below POSITIONS + LANES.
#if POSITIONS + BLOCK_SIZE > 0x7fffffff
typedef unsigned long long position_t;
#else
typedef unsigned int position_t;
#endif

// Where a tap reads, relative to the place of an output position.
struct tap {
    int d, h, w;
};

static __device__ __forceinline__ tap find_tap(int index)
{
    tap found;
    found.w = index % CONV_FIL_W * CONV_DILATION_W - CONV_PAD_W;
    found.h = index / CONV_FIL_W % CONV_FIL_H * CONV_DILATION_H - CONV_PAD_H;
    found.d = index / (CONV_FIL_W * CONV_FIL_H) * CONV_DILATION_D - CONV_PAD_D;
    return found;
}

// Adds the products of every LANES-th output position of a channel.
static __device__ __forceinline__ void
add_positions(accumulator_t* sums, const element_t* x, const element_t* y, int channel, const tap* taps, int lane)
{
    for(position_t position = lane; position < POSITIONS; position += LANES)
    {
        position_t rest = position / CONV_OUT_W;
        const int out_w = (int)(position % CONV_OUT_W);
        const int out_h = (int)(rest % CONV_OUT_H);
        rest /= CONV_OUT_H;
        const int out_d = (int)(rest % CONV_OUT_D);
        const int image = (int)(rest / CONV_OUT_D);
        const accumulator_t dy = load(y + result_at(image, channel, out_d, out_h, out_w));
#pragma unroll
        for(int i = 0; i < TAPS_PER_BLOCK; ++i)
        {
            const int d = out_d * CONV_STRIDE_D + taps[i].d;
            const int h = out_h * CONV_STRIDE_H + taps[i].h;
            const int w = out_w * CONV_STRIDE_W + taps[i].w;
            if(is_inside(d, CONV_IN_D) && is_inside(h, CONV_IN_H) && is_inside(w, CONV_IN_W))
                sums[i] = fmaf(load(x + source_at(image, channel / MULTIPLIER, d, h, w)), dy, sums[i]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
depthwise_conv_wrw(const element_t* __restrict__ x, result_t* __restrict__ w, const element_t* __restrict__ y)
{
    __shared__ accumulator_t shared[TAPS_PER_BLOCK][BLOCK_SIZE];
    const int thread = (int)threadIdx.x;
    const int lane = thread / CHANNELS_PER_BLOCK;
    const int channel = (int)(blockIdx.x % CHANNEL_TILES) * CHANNELS_PER_BLOCK + thread % CHANNELS_PER_BLOCK;
    const int first_tap = (int)(blockIdx.x / CHANNEL_TILES) * TAPS_PER_BLOCK;

    tap taps[TAPS_PER_BLOCK];
#pragma unroll
    for(int i = 0; i < TAPS_PER_BLOCK; ++i)
        taps[i] = find_tap(first_tap + i); // beyond the last one too: what they add up is not stored
    accumulator_t sums[TAPS_PER_BLOCK] = {};
    if(channel < CONV_K)
        add_positions(sums, x, y, channel, taps, lane);
#pragma unroll
    for(int i = 0; i < TAPS_PER_BLOCK; ++i)
        shared[i][thread] = sums[i];

    for(int lanes = LANES / 2; lanes > 0; lanes /= 2)
    {
        __syncthreads();
        if(lane < lanes)
        {
#pragma unroll
            for(int i = 0; i < TAPS_PER_BLOCK; ++i)
                shared[i][thread] += shared[i][thread + lanes * CHANNELS_PER_BLOCK];
        }
    }

    if(lane == 0 && channel < CONV_K)
        for(int i = 0; i < TAPS_PER_BLOCK && first_tap + i < TAPS; ++i)
            store(w + (index_t)channel * TAPS + first_tap + i, shared[i][thread]);
}
