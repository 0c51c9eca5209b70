// Direct convolution with filters of one tap and without pads, forward and backward data, any stride and groups.
//
// A work-item computes CHANNELS_PER_THREAD channels of PIXELS_PER_THREAD neighbouring results. It reads the source in
// vectors of VECTOR_WIDTH elements: neighbouring pixels, or neighbouring channels where these come last. Neighbouring
// work-items have neighbouring memory in the same sense.
//
// Specialised for one problem by the macros of include/convolution.h.
#include "data_directions.h"

#define RESULT_PIXELS (RESULT_D * RESULT_H * RESULT_W)
#define PIXEL_TILES ((RESULT_PIXELS + PIXELS_PER_THREAD - 1) / PIXELS_PER_THREAD)
#define CHANNEL_TILES ((RESULT_C_PER_GROUP + CHANNELS_PER_THREAD - 1) / CHANNELS_PER_THREAD)
#define WORK_ITEMS (CONV_N * CONV_GROUPS * CHANNEL_TILES * PIXEL_TILES)
#include "work.h"

// A vector is DEPTH channels of PIXELS pixels, of which one is 1.
#if CONV_CHANNELS_LAST
#define DEPTH VECTOR_WIDTH
#define PIXELS 1
#else
#define DEPTH 1
#define PIXELS VECTOR_WIDTH
#endif
#define VECTORS (PIXELS_PER_THREAD / PIXELS)

struct alignas(sizeof(element_t) * VECTOR_WIDTH) vector {
    element_t at[VECTOR_WIDTH];
};

// Where in a source channel the value of a result pixel lies; -1 where the result is zero, or there is none.
static __device__ __forceinline__ index_t find_pixel(int pixel)
{
    if(pixel >= RESULT_PIXELS)
        return -1;
#if CONV_STRIDE_D == 1 && CONV_STRIDE_H == 1 && CONV_STRIDE_W == 1
    return pixel * SOURCE_STRIDE(W);
#else
    int d, h, w;
    if(!find_source(pixel / (RESULT_H * RESULT_W) * RESULT_STEP_D, SPREAD_D, SOURCE_D, &d) ||
       !find_source(pixel / RESULT_W % RESULT_H * RESULT_STEP_H, SPREAD_H, SOURCE_H, &h) ||
       !find_source(pixel % RESULT_W * RESULT_STEP_W, SPREAD_W, SOURCE_W, &w))
        return -1;
    return d * SOURCE_STRIDE(D) + h * SOURCE_STRIDE(H) + w * SOURCE_STRIDE(W);
#endif
}

static __device__ __forceinline__ accumulator_t
find_weight(const element_t* weights, int group, int source_channel, int result_channel)
{
#if CONV_DIRECTION == 1
    return load(weights + (index_t)(group * K_PER_GROUP + source_channel) * C_PER_GROUP + result_channel);
#else
    return load(weights + (index_t)(group * K_PER_GROUP + result_channel) * C_PER_GROUP + source_channel);
#endif
}

static __device__ __forceinline__ void
direct_conv_1x1(const element_t* __restrict__ source, const element_t* __restrict__ weights, result_t* __restrict__ result)
{
    work_t work = own_work();
    if(work >= WORK_ITEMS)
        return;
#if !CONV_CHANNELS_LAST
    const int first_pixel = take_work_digit(&work, PIXEL_TILES) * PIXELS_PER_THREAD;
#endif
    const int first_channel = take_work_digit(&work, CHANNEL_TILES) * CHANNELS_PER_THREAD;
    const int group = take_work_digit(&work, CONV_GROUPS);
#if CONV_CHANNELS_LAST
    const int first_pixel = take_work_digit(&work, PIXEL_TILES) * PIXELS_PER_THREAD;
#endif
    const int image = (int)work;

    index_t offsets[VECTORS];
#pragma unroll
    for(int v = 0; v < VECTORS; ++v)
        offsets[v] = find_pixel(first_pixel + v * PIXELS);
    const element_t* channels = source + source_at(image, group * SOURCE_C_PER_GROUP, 0, 0, 0);

    accumulator_t sums[CHANNELS_PER_THREAD][PIXELS_PER_THREAD] = {};
#ifdef __AMDGCN__ // or all of 32 channels are unrolled, and their weights fill the registers of RDNA
#pragma unroll 4
#endif
    for(int channel = 0; channel < SOURCE_C_PER_GROUP; channel += DEPTH)
    {
        accumulator_t values[DEPTH][PIXELS_PER_THREAD];
#pragma unroll
        for(int v = 0; v < VECTORS; ++v)
        {
            vector read = {};
            if(offsets[v] >= 0)
                read = *(const vector*)(channels + channel * SOURCE_STRIDE(C) + offsets[v]);
#pragma unroll
            for(int i = 0; i < VECTOR_WIDTH; ++i)
                values[i % DEPTH][v * PIXELS + i % PIXELS] = load(&read.at[i]);
        }
#pragma unroll
        for(int j = 0; j < CHANNELS_PER_THREAD; ++j)
        {
            const bool exists = first_channel + j < RESULT_C_PER_GROUP;
#pragma unroll
            for(int i = 0; i < DEPTH; ++i)
            {
                const accumulator_t weight =
                    exists ? find_weight(weights, group, channel + i, first_channel + j) : (accumulator_t)0;
#pragma unroll
                for(int p = 0; p < PIXELS_PER_THREAD; ++p)
                    sums[j][p] += weight * values[i][p];
            }
        }
    }

    result_t* results = result + result_at(image, group * RESULT_C_PER_GROUP + first_channel, 0, 0, 0);
#pragma unroll
    for(int j = 0; j < CHANNELS_PER_THREAD; ++j)
#pragma unroll
        for(int p = 0; p < PIXELS_PER_THREAD; ++p)
            if(first_channel + j < RESULT_C_PER_GROUP && first_pixel + p < RESULT_PIXELS)
                store(results + j * RESULT_STRIDE(C) + (first_pixel + p) * RESULT_STRIDE(W), sums[j][p]);
}

#if CONV_DIRECTION == 0
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
direct_conv_1x1_fwd(const element_t* __restrict__ x, const element_t* __restrict__ w, result_t* __restrict__ y)
{
    direct_conv_1x1(x, w, y);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
direct_conv_1x1_bwd(result_t* __restrict__ x, const element_t* __restrict__ w, const element_t* __restrict__ y)
{
    direct_conv_1x1(y, w, x);
}
#endif
