// Images as matrices, and back, NCHW or NCDHW, one image a launch.
//
//   columns[channel of x, tap][output position]
//
// Im2d2Col and Im3d2Col copy to where each output position has the inputs that it is computed from. Col2Im2dU and
// Col2Im3dU add up, for each input, what lies in its places: they gather, so no two work-items write the same element.
// Their columns are floats whatever the tensors are, since sums of numbers that were rounded to 16 bits are not right to
// 16 bits. Specialised for one problem by the macros of include/convolution.h, and by BLOCK_SIZE.
#include "data_directions.h"

#define IMAGE ((index_t)CONV_C * CONV_IN_D * CONV_IN_H * CONV_IN_W)
#define OUT_POSITIONS ((index_t)CONV_OUT_D * CONV_OUT_H * CONV_OUT_W)

#if CONV_DIRECTION == 1
#define WORK_ITEMS (CONV_C * CONV_IN_D * CONV_IN_H * CONV_IN_W)
#else
#define WORK_ITEMS (CONV_C * TAPS * CONV_OUT_D * CONV_OUT_H * CONV_OUT_W)
#endif
#include "work.h"

#if CONV_DIRECTION == 1
static __device__ __forceinline__ void col2im(const float* columns, result_t* x, int image)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    work_t rest = index;
    const int in_w = take_work_digit(&rest, CONV_IN_W);
    const int in_h = take_work_digit(&rest, CONV_IN_H);
    const int in_d = take_work_digit(&rest, CONV_IN_D);
    const float* channel = columns + (index_t)rest * TAPS * OUT_POSITIONS;
    float sum = 0;
    for(int tap_d = 0; tap_d < CONV_FIL_D; ++tap_d)
        for(int tap_h = 0; tap_h < CONV_FIL_H; ++tap_h)
            for(int tap_w = 0; tap_w < CONV_FIL_W; ++tap_w)
            {
                int d, h, w;
                if(!find_source(in_d - LEAD_D + tap_d * CONV_DILATION_D, SPREAD_D, SOURCE_D, &d) ||
                   !find_source(in_h - LEAD_H + tap_h * CONV_DILATION_H, SPREAD_H, SOURCE_H, &h) ||
                   !find_source(in_w - LEAD_W + tap_w * CONV_DILATION_W, SPREAD_W, SOURCE_W, &w))
                    continue;
                const int tap = TAPS - 1 - ((tap_d * CONV_FIL_H + tap_h) * CONV_FIL_W + tap_w);
                sum += channel[tap * OUT_POSITIONS + ((index_t)d * CONV_OUT_H + h) * CONV_OUT_W + w];
            }
    store(x + image * IMAGE + index, sum);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
Col2Im2dU(const float* __restrict__ columns, result_t* __restrict__ x, int image)
{
    col2im(columns, x, image);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
Col2Im3dU(const float* __restrict__ columns, result_t* __restrict__ x, int image)
{
    col2im(columns, x, image);
}
#else
static __device__ __forceinline__ void im2col(const element_t* x, element_t* columns, int image)
{
    const work_t index = own_work();
    if(index >= WORK_ITEMS)
        return;
    work_t rest = index;
    const int out_w = take_work_digit(&rest, CONV_OUT_W);
    const int out_h = take_work_digit(&rest, CONV_OUT_H);
    const int out_d = take_work_digit(&rest, CONV_OUT_D);
    const int tap_w = take_work_digit(&rest, CONV_FIL_W);
    const int tap_h = take_work_digit(&rest, CONV_FIL_H);
    const int tap_d = take_work_digit(&rest, CONV_FIL_D);
    const int d = out_d * CONV_STRIDE_D - CONV_PAD_D + tap_d * CONV_DILATION_D;
    const int h = out_h * CONV_STRIDE_H - CONV_PAD_H + tap_h * CONV_DILATION_H;
    const int w = out_w * CONV_STRIDE_W - CONV_PAD_W + tap_w * CONV_DILATION_W;
    element_t value = {};
    if(is_inside(d, CONV_IN_D) && is_inside(h, CONV_IN_H) && is_inside(w, CONV_IN_W))
        value = x[image * IMAGE + (((index_t)rest * CONV_IN_D + d) * CONV_IN_H + h) * CONV_IN_W + w];
    columns[index] = value;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
Im2d2Col(const element_t* __restrict__ x, element_t* __restrict__ columns, int image)
{
    im2col(x, columns, image);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
Im3d2Col(const element_t* __restrict__ x, element_t* __restrict__ columns, int image)
{
    im2col(x, columns, image);
}
#endif
