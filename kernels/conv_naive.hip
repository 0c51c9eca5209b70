// Direct convolution in the three directions, one work-item per element of the result: the definition, and nothing else.
//
// Two and three spatial dimensions (two is three with depth 1), any pad, stride, dilation and groups, and any layout:
// sizes and strides are arguments, so one binary per element type serves every problem.
// Specialised by -DELEMENT, -DACCUMULATOR (include/element.h) and -DBLOCK, the work-items of a block.
//
//   x[n][c][d][h][w]    w[k][c / groups][z][y][x]    y[n][k][out_d][out_h][out_w]
//
// Every reduction is a walk of two pointers with fixed steps, the index arithmetic being done outside of it.
#include "element.h"
#include "index.h"

// Channels are per group; strides count elements, in the order of the logical axes above.
#define GEOMETRY                                                                                                     \
    int n, int groups, int c, int k, int in_d, int in_h, int in_w, int out_d, int out_h, int out_w, int fil_d,       \
        int fil_h, int fil_w, int pad_d, int pad_h, int pad_w, int stride_d, int stride_h, int stride_w,             \
        int dilation_d, int dilation_h, int dilation_w, index_t x_n, index_t x_c, index_t x_d, index_t x_h,          \
        index_t x_w, index_t w_k, index_t w_c, index_t w_d, index_t w_h, index_t w_w, index_t y_n, index_t y_k,      \
        index_t y_d, index_t y_h, index_t y_w

static __device__ __forceinline__ accumulator_t
add_products(accumulator_t sum, const element_t* a, index_t a_step, const element_t* b, index_t b_step, int count)
{
    for(int i = 0; i < count; ++i)
        sum += load(a + i * a_step) * load(b + i * b_step);
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
naive_conv_fwd(const element_t* __restrict__ x, const element_t* __restrict__ w, result_t* __restrict__ y, GEOMETRY)
{
    const index_t total = (index_t)n * groups * k * out_d * out_h * out_w;
    for(index_t index = first_index(); index < total; index += index_step())
    {
        index_t rest = index;
        const int ow = take_digit(&rest, out_w);
        const int oh = take_digit(&rest, out_h);
        const int od = take_digit(&rest, out_d);
        const int channel = take_digit(&rest, groups * k);
        const element_t* image = x + rest * x_n + (channel / k) * c * x_c;
        const element_t* filter = w + channel * w_k;
        accumulator_t sum = 0;
        for(int fd = 0; fd < fil_d; ++fd)
        {
            const int id = od * stride_d - pad_d + fd * dilation_d;
            if(!is_inside(id, in_d))
                continue;
            for(int fh = 0; fh < fil_h; ++fh)
            {
                const int ih = oh * stride_h - pad_h + fh * dilation_h;
                if(!is_inside(ih, in_h))
                    continue;
                for(int fw = 0; fw < fil_w; ++fw)
                {
                    const int iw = ow * stride_w - pad_w + fw * dilation_w;
                    if(!is_inside(iw, in_w))
                        continue;
                    sum = add_products(sum, image + id * x_d + ih * x_h + iw * x_w, x_c,
                                       filter + fd * w_d + fh * w_h + fw * w_w, w_c, c);
                }
            }
        }
        store(y + rest * y_n + channel * y_k + od * y_d + oh * y_h + ow * y_w, sum);
    }
}

// The output position that reads input position `in` through the filter tap at `offset`; false when there is none.
static __device__ __forceinline__ bool find_output(int in, int pad, int offset, int stride, int out_size, int* out)
{
    const int scaled = in + pad - offset;
    *out = scaled / stride;
    return scaled >= 0 && *out * stride == scaled && *out < out_size;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
naive_conv_bwd(result_t* __restrict__ x, const element_t* __restrict__ w, const element_t* __restrict__ y, GEOMETRY)
{
    const index_t total = (index_t)n * groups * c * in_d * in_h * in_w;
    for(index_t index = first_index(); index < total; index += index_step())
    {
        index_t rest = index;
        const int iw = take_digit(&rest, in_w);
        const int ih = take_digit(&rest, in_h);
        const int id = take_digit(&rest, in_d);
        const int channel = take_digit(&rest, groups * c);
        const int group = channel / c;
        const element_t* image = y + rest * y_n + group * k * y_k;
        const element_t* filter = w + group * k * w_k + (channel - group * c) * w_c;
        accumulator_t sum = 0;
        for(int fd = 0; fd < fil_d; ++fd)
        {
            int od;
            if(!find_output(id, pad_d, fd * dilation_d, stride_d, out_d, &od))
                continue;
            for(int fh = 0; fh < fil_h; ++fh)
            {
                int oh;
                if(!find_output(ih, pad_h, fh * dilation_h, stride_h, out_h, &oh))
                    continue;
                for(int fw = 0; fw < fil_w; ++fw)
                {
                    int ow;
                    if(!find_output(iw, pad_w, fw * dilation_w, stride_w, out_w, &ow))
                        continue;
                    sum = add_products(sum, image + od * y_d + oh * y_h + ow * y_w, y_k,
                                       filter + fd * w_d + fh * w_h + fw * w_w, w_k, k);
                }
            }
        }
        store(x + rest * x_n + channel * x_c + id * x_d + ih * x_h + iw * x_w, sum);
    }
}

// The first output position whose input position, through the filter tap at `offset`, is `in` or later.
static __device__ __forceinline__ int output_at_or_after(int in, int pad, int offset, int stride)
{
    const int scaled = in + pad - offset;
    return scaled <= 0 ? 0 : (scaled - 1) / stride + 1;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
naive_conv_wrw(const element_t* __restrict__ x, result_t* __restrict__ w, const element_t* __restrict__ y, GEOMETRY)
{
    const index_t total = (index_t)groups * k * c * fil_d * fil_h * fil_w;
    for(index_t index = first_index(); index < total; index += index_step())
    {
        index_t rest = index;
        const int fw = take_digit(&rest, fil_w);
        const int fh = take_digit(&rest, fil_h);
        const int fd = take_digit(&rest, fil_d);
        const int channel = take_digit(&rest, c);
        const int out_channel = (int)rest;
        const element_t* inputs = x + ((index_t)(out_channel / k) * c + channel) * x_c;
        const element_t* outputs = y + out_channel * y_k;
        const int first = output_at_or_after(0, pad_w, fw * dilation_w, stride_w);
        const int after = output_at_or_after(in_w, pad_w, fw * dilation_w, stride_w);
        const int count = (after < out_w ? after : out_w) - first;
        const int iw = first * stride_w - pad_w + fw * dilation_w;
        accumulator_t sum = 0;
        for(int image = 0; image < n; ++image)
            for(int od = 0; od < out_d; ++od)
            {
                const int id = od * stride_d - pad_d + fd * dilation_d;
                if(!is_inside(id, in_d))
                    continue;
                for(int oh = 0; oh < out_h; ++oh)
                {
                    const int ih = oh * stride_h - pad_h + fh * dilation_h;
                    if(!is_inside(ih, in_h))
                        continue;
                    sum = add_products(sum, inputs + image * x_n + id * x_d + ih * x_h + iw * x_w, stride_w * x_w,
                                       outputs + image * y_n + od * y_d + oh * y_h + first * y_w, y_w, count);
                }
            }
        store(w + out_channel * w_k + channel * w_c + fd * w_d + fh * w_h + fw * w_w, sum);
    }
}
