// Depthwise convolution, forward and backward data: every group has one channel of x and CONV_K / CONV_C of y.
//
// A work-item computes ROWS_PER_THREAD x PIXELS_PER_THREAD results of one channel. It walks over the source rows that
// they need, holds a segment of each in registers, and adds it to every result row that it belongs to. Filters wider
// than 8 are taken 8 taps at a time. Neighbouring work-items have neighbouring memory: along the row, or along the
// channels where these come last.
//
// Specialised for one problem by the macros of include/convolution.h.
#include "data_directions.h"

#define MULTIPLIER (CONV_K / CONV_C)
#if CONV_DIRECTION == 1
#define SOURCES MULTIPLIER // source channels of a result channel
#else
#define SOURCES 1
#endif

#define COLUMN_TILES ((RESULT_W + PIXELS_PER_THREAD - 1) / PIXELS_PER_THREAD)
#define ROW_TILES ((RESULT_H + ROWS_PER_THREAD - 1) / ROWS_PER_THREAD)
#define WORK_ITEMS (CONV_N * RESULT_C * RESULT_D * ROW_TILES * COLUMN_TILES)
#include "work.h"

#define MOST_TAPS (CONV_FIL_W < 8 ? CONV_FIL_W : 8)
#define SEGMENT ((PIXELS_PER_THREAD - 1) * RESULT_STEP_W + (MOST_TAPS - 1) * CONV_DILATION_W + 1)
#define SOURCE_ROWS ((ROWS_PER_THREAD - 1) * RESULT_STEP_H + (CONV_FIL_H - 1) * CONV_DILATION_H + 1)

struct tile {
    accumulator_t sums[ROWS_PER_THREAD][PIXELS_PER_THREAD];
};

// Adds the products of one source row, the row-th of those that the tile needs, with a plane of the filter.
static __device__ __forceinline__ void
add_row(tile* results, const element_t* line, int place, int row, const element_t* filter)
{
    for(int first_tap = 0; first_tap < CONV_FIL_W; first_tap += MOST_TAPS)
    {
        accumulator_t segment[SEGMENT];
#pragma unroll
        for(int i = 0; i < SEGMENT; ++i)
        {
            int w;
            const bool inside = find_source(place + first_tap * CONV_DILATION_W + i, SPREAD_W, SOURCE_W, &w);
            segment[i] = inside ? load(line + w * SOURCE_STRIDE(W)) : (accumulator_t)0;
        }
#pragma unroll
        for(int r = 0; r < ROWS_PER_THREAD; ++r)
        {
            const int offset = row - r * RESULT_STEP_H;
            const int tap_h = offset / CONV_DILATION_H;
            if(offset < 0 || tap_h * CONV_DILATION_H != offset || tap_h >= CONV_FIL_H)
                continue;
            const element_t* taps = filter + STORED_TAP(tap_h, CONV_FIL_H) * CONV_FIL_W;
#pragma unroll
            for(int tap = 0; tap < MOST_TAPS; ++tap)
            {
                if(first_tap + tap >= CONV_FIL_W)
                    continue;
                const accumulator_t weight = load(taps + STORED_TAP(first_tap + tap, CONV_FIL_W));
#pragma unroll
                for(int p = 0; p < PIXELS_PER_THREAD; ++p)
                    results->sums[r][p] =
                        fmaf(weight, segment[p * RESULT_STEP_W + tap * CONV_DILATION_W], results->sums[r][p]);
            }
        }
    }
}

static __device__ __forceinline__ void
depthwise_conv(const element_t* __restrict__ source, const element_t* __restrict__ weights, result_t* __restrict__ result)
{
    work_t work = own_work();
    if(work >= WORK_ITEMS)
        return;
#if CONV_CHANNELS_LAST
    const int channel = take_work_digit(&work, RESULT_C);
#endif
    const int column = take_work_digit(&work, COLUMN_TILES) * PIXELS_PER_THREAD;
    const int first_row = take_work_digit(&work, ROW_TILES) * ROWS_PER_THREAD;
    const int depth = take_work_digit(&work, RESULT_D);
#if !CONV_CHANNELS_LAST
    const int channel = take_work_digit(&work, RESULT_C);
#endif
    const int image = (int)work;

    tile results = {};
    for(int i = 0; i < SOURCES; ++i)
    {
#if CONV_DIRECTION == 1
        const int source_channel = channel * MULTIPLIER + i, filter_channel = source_channel;
#else
        const int source_channel = channel / MULTIPLIER, filter_channel = channel;
#endif
        for(int tap_d = 0; tap_d < CONV_FIL_D; ++tap_d)
        {
            int d;
            if(!find_source(depth * RESULT_STEP_D - LEAD_D + tap_d * CONV_DILATION_D, SPREAD_D, SOURCE_D, &d))
                continue;
            const element_t* filter =
                weights + ((index_t)filter_channel * CONV_FIL_D + STORED_TAP(tap_d, CONV_FIL_D)) * CONV_FIL_H * CONV_FIL_W;
            for(int row = 0; row < SOURCE_ROWS; ++row)
            {
                int h;
                if(find_source(first_row * RESULT_STEP_H - LEAD_H + row, SPREAD_H, SOURCE_H, &h))
                    add_row(&results, source + source_at(image, source_channel, d, h, 0),
                            column * RESULT_STEP_W - LEAD_W, row, filter);
            }
        }
    }

#pragma unroll
    for(int r = 0; r < ROWS_PER_THREAD; ++r)
#pragma unroll
        for(int p = 0; p < PIXELS_PER_THREAD; ++p)
            if(first_row + r < RESULT_H && column + p < RESULT_W)
                store(result + result_at(image, channel, depth, first_row + r, column + p), results.sums[r][p]);
}

#if CONV_DIRECTION == 0
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
depthwise_conv_fwd(const element_t* __restrict__ x, const element_t* __restrict__ w, result_t* __restrict__ y)
{
    depthwise_conv(x, w, y);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
depthwise_conv_bwd(result_t* __restrict__ x, const element_t* __restrict__ w, const element_t* __restrict__ y)
{
    depthwise_conv(y, w, x);
}
#endif
