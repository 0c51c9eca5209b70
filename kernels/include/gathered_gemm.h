// A convolution as a matrix product a group, in each direction, with no matrix ever stored:
//
//   C[m][n] = sum over k of A[m][k] * B[k][n]
//
//                     m               n                      k                      A    B               C
//   forward           output channel  image, output position input channel, tap     w    x, gathered     y
//   backward data     input channel   image, input position  output channel, tap    w    y, gathered     x
//   backward weights  output channel  input channel, tap     image, output position y    x, gathered     w
//
// An element of B lies where a position and a tap meet. Both are found once, by `find_position` and `find_tap`, as an
// offset and three coordinates; their sums are the element's. Backward data looks for the output positions that read an
// input position: there, a sum counts steps of one input element and must be a multiple of the stride.
#pragma once

#include "convolution.h"

#if CONV_DIRECTION == 1
#define GEMM_M C_PER_GROUP
#define CHANNELS K_PER_GROUP
#define POSITIONS_D CONV_IN_D
#define POSITIONS_H CONV_IN_H
#define POSITIONS_W CONV_IN_W
#define SOURCE_D CONV_OUT_D
#define SOURCE_H CONV_OUT_H
#define SOURCE_W CONV_OUT_W
#define SOURCE_STRIDE(axis) Y_STRIDE(axis)
#define STEP_D CONV_STRIDE_D
#define STEP_H CONV_STRIDE_H
#define STEP_W CONV_STRIDE_W
#define SOURCE_ELEMENTS CONV_N * CONV_K * CONV_OUT_D * CONV_OUT_H * CONV_OUT_W
#define REACHES_OUTSIDE(axis)                                                                                          \
    (CONV_PAD_##axis > 0 || CONV_FIL_##axis > 1 || CONV_STRIDE_##axis > 1 || CONV_IN_##axis > CONV_OUT_##axis)
#else
#define GEMM_M K_PER_GROUP
#define CHANNELS C_PER_GROUP
#define POSITIONS_D CONV_OUT_D
#define POSITIONS_H CONV_OUT_H
#define POSITIONS_W CONV_OUT_W
#define SOURCE_D CONV_IN_D
#define SOURCE_H CONV_IN_H
#define SOURCE_W CONV_IN_W
#define SOURCE_STRIDE(axis) X_STRIDE(axis)
#define STEP_D 1
#define STEP_H 1
#define STEP_W 1
#define SOURCE_ELEMENTS CONV_N * CONV_C * CONV_IN_D * CONV_IN_H * CONV_IN_W
#define LAST_TAP(axis) ((CONV_OUT_##axis - 1) * CONV_STRIDE_##axis + (CONV_FIL_##axis - 1) * CONV_DILATION_##axis)
#define REACHES_OUTSIDE(axis) (CONV_PAD_##axis > 0 || LAST_TAP(axis) >= CONV_IN_##axis)
#endif

// Numbers that fit stay in 32 bits; the preprocessor itself counts in 64.
#if CONV_N * POSITIONS_D * POSITIONS_H * POSITIONS_W > 0x3fffffff
typedef index_t position_t;
#else
typedef int position_t;
#endif
#if SOURCE_ELEMENTS > 0x3fffffff
typedef index_t offset_t;
#else
typedef int offset_t;
#endif

#define POSITIONS ((position_t)CONV_N * POSITIONS_D * POSITIONS_H * POSITIONS_W)
#if CONV_DIRECTION == 2
#define GEMM_N (CHANNELS * TAPS)
#define GEMM_K POSITIONS
typedef int gemm_n_t;
typedef position_t gemm_k_t;
#else
#define GEMM_N POSITIONS
#define GEMM_K (CHANNELS * TAPS)
typedef position_t gemm_n_t;
typedef int gemm_k_t;
#endif

struct place {
    offset_t offset;
    int d, h, w;
};

// Along an axis with steps, offsets are known only when position and tap have met.
#define DIRECT_STRIDE(axis) ((offset_t)(STEP_##axis == 1 ? SOURCE_STRIDE(axis) : 0))

static __device__ __forceinline__ void
take_position(position_t index, position_t* image, int* d, int* h, int* w)
{
    *w = (int)(index % POSITIONS_W);
    *h = (int)(index / POSITIONS_W % POSITIONS_H);
    *d = (int)(index / (POSITIONS_W * POSITIONS_H) % POSITIONS_D);
    *image = index / ((position_t)POSITIONS_W * POSITIONS_H * POSITIONS_D);
}

// Neighbours in memory are neighbours in the order of channels and taps.
static __device__ __forceinline__ void take_tap(int index, int* channel, int* d, int* h, int* w)
{
    const bool is_channel_last = SOURCE_STRIDE(C) == 1;
    *channel = is_channel_last ? index % CHANNELS : index / TAPS;
    const int tap = is_channel_last ? index / CHANNELS : index % TAPS;
    *w = tap % CONV_FIL_W;
    *h = tap / CONV_FIL_W % CONV_FIL_H;
    *d = tap / (CONV_FIL_W * CONV_FIL_H);
}

static __device__ __forceinline__ place find_position(position_t index)
{
    position_t image;
    place found;
    take_position(index, &image, &found.d, &found.h, &found.w);
#if CONV_DIRECTION == 1
    found.d += CONV_PAD_D;
    found.h += CONV_PAD_H;
    found.w += CONV_PAD_W;
#else
    found.d = found.d * CONV_STRIDE_D - CONV_PAD_D;
    found.h = found.h * CONV_STRIDE_H - CONV_PAD_H;
    found.w = found.w * CONV_STRIDE_W - CONV_PAD_W;
#endif
    found.offset = (offset_t)(image * SOURCE_STRIDE(N)) + found.d * DIRECT_STRIDE(D) + found.h * DIRECT_STRIDE(H) +
                   found.w * DIRECT_STRIDE(W);
    return found;
}

static __device__ __forceinline__ place find_tap(int index)
{
    const int sign = CONV_DIRECTION == 1 ? -1 : 1;
    int channel;
    place found;
    take_tap(index, &channel, &found.d, &found.h, &found.w);
    found.d *= sign * CONV_DILATION_D;
    found.h *= sign * CONV_DILATION_H;
    found.w *= sign * CONV_DILATION_W;
    found.offset = (offset_t)(channel * SOURCE_STRIDE(C)) + found.d * DIRECT_STRIDE(D) + found.h * DIRECT_STRIDE(H) +
                   found.w * DIRECT_STRIDE(W);
    return found;
}

#if CONV_DIRECTION == 2
static __device__ __forceinline__ place find_column(gemm_n_t n) { return find_tap(n); }
static __device__ __forceinline__ place find_row(gemm_k_t k) { return find_position(k); }
#else
static __device__ __forceinline__ place find_column(gemm_n_t n) { return find_position(n); }
static __device__ __forceinline__ place find_row(gemm_k_t k) { return find_tap(k); }
#endif

#define IS_INSIDE(axis, at)                                                                                            \
    (!REACHES_OUTSIDE(axis) ||                                                                                         \
     (STEP_##axis == 1 ? is_inside(at, SOURCE_##axis)                                                                  \
                       : (at) >= 0 && (at) % STEP_##axis == 0 && (at) / STEP_##axis < SOURCE_##axis))
#define LATE_OFFSET(axis, at) (STEP_##axis == 1 ? (offset_t)0 : (offset_t)((at) / STEP_##axis * SOURCE_STRIDE(axis)))

// B[k][n]; 0 where the tap reaches outside. Nothing looks at what was read, so that nobody has to wait for it yet.
static __device__ __forceinline__ accumulator_t read_b(const element_t* b, place row, place column)
{
    const int d = row.d + column.d;
    const int h = row.h + column.h;
    const int w = row.w + column.w;
    const bool inside = (bool)(IS_INSIDE(D, d) & IS_INSIDE(H, h) & IS_INSIDE(W, w));
    const offset_t offset = row.offset + column.offset + LATE_OFFSET(D, d) + LATE_OFFSET(H, h) + LATE_OFFSET(W, w);
    return inside ? load(b + offset) : (accumulator_t)0;
}

// A[m][k] is a[m * A_STRIDE_M + find_a(k)], C[m][n] is c[m * C_STRIDE_M + find_c(n)].
#if CONV_DIRECTION == 0
#define A_STRIDE_M W_STRIDE(N)
#define C_STRIDE_M Y_STRIDE(C)
#elif CONV_DIRECTION == 1
#define A_STRIDE_M W_STRIDE(C)
#define C_STRIDE_M X_STRIDE(C)
#else
#define A_STRIDE_M Y_STRIDE(C)
#define C_STRIDE_M W_STRIDE(N)
#endif

static __device__ __forceinline__ index_t offset_in_w(int index)
{
    int channel, d, h, w;
    take_tap(index, &channel, &d, &h, &w);
    return channel * (CONV_DIRECTION == 1 ? W_STRIDE(N) : W_STRIDE(C)) + d * W_STRIDE(D) + h * W_STRIDE(H) +
           w * W_STRIDE(W);
}

// Of a position in the tensor that is walked, not gathered: y, but x in backward data.
static __device__ __forceinline__ index_t offset_of_position(position_t index)
{
    position_t image;
    int d, h, w;
    take_position(index, &image, &d, &h, &w);
#if CONV_DIRECTION == 1
    return image * X_STRIDE(N) + d * X_STRIDE(D) + h * X_STRIDE(H) + w * X_STRIDE(W);
#else
    return image * Y_STRIDE(N) + d * Y_STRIDE(D) + h * Y_STRIDE(H) + w * Y_STRIDE(W);
#endif
}

#if CONV_DIRECTION == 2
static __device__ __forceinline__ index_t find_a(gemm_k_t k) { return offset_of_position(k); }
static __device__ __forceinline__ index_t find_c(gemm_n_t n) { return offset_in_w(n); }
#else
static __device__ __forceinline__ index_t find_a(gemm_k_t k) { return offset_in_w(k); }
static __device__ __forceinline__ index_t find_c(gemm_n_t n) { return offset_of_position(n); }
#endif

// Where a group's part of A, B and C begins.
#define A_STRIDE_GROUP ((index_t)K_PER_GROUP * (CONV_DIRECTION == 2 ? Y_STRIDE(C) : W_STRIDE(N)))
#define B_STRIDE_GROUP ((index_t)CHANNELS * SOURCE_STRIDE(C))
#define C_STRIDE_GROUP ((index_t)GEMM_M * C_STRIDE_M)
