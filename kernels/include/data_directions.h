// What forward and backward data have in common: a result, a source, and one walk from the one to the other.
//
// Result position r meets the source through tap f at
//
//   r * RESULT_STEP - LEAD + f * DILATION,    counted in steps of 1 / SPREAD of a source element,
//
// where backward data counts its taps from the filter's end. So forward reads x with SPREAD 1, and backward data reads y
// as if stride - 1 zeros stood behind each of its elements. LEAD may be negative. In backward weights, which computes
// neither, x is the source and y the result.
#pragma once

#include "convolution.h"

#define CHANNELS_LAST_NCDHW 0
#define CHANNELS_LAST_NDHWC 1
#define CONV_CHANNELS_LAST ELEMENT_PASTE(CHANNELS_LAST_, CONV_X_LAYOUT) // for #if, which takes no strides

#if CONV_DIRECTION == 1
#define RESULT_C CONV_C
#define RESULT_D CONV_IN_D
#define RESULT_H CONV_IN_H
#define RESULT_W CONV_IN_W
#define SOURCE_C CONV_K
#define SOURCE_D CONV_OUT_D
#define SOURCE_H CONV_OUT_H
#define SOURCE_W CONV_OUT_W
#define RESULT_STRIDE(axis) X_STRIDE(axis)
#define SOURCE_STRIDE(axis) Y_STRIDE(axis)
#define RESULT_STEP_D 1
#define RESULT_STEP_H 1
#define RESULT_STEP_W 1
#define LEAD_D ((CONV_FIL_D - 1) * CONV_DILATION_D - CONV_PAD_D)
#define LEAD_H ((CONV_FIL_H - 1) * CONV_DILATION_H - CONV_PAD_H)
#define LEAD_W ((CONV_FIL_W - 1) * CONV_DILATION_W - CONV_PAD_W)
#define SPREAD_D CONV_STRIDE_D
#define SPREAD_H CONV_STRIDE_H
#define SPREAD_W CONV_STRIDE_W
#define STORED_TAP(tap, size) ((size) - 1 - (tap))
#else
#define RESULT_C CONV_K
#define RESULT_D CONV_OUT_D
#define RESULT_H CONV_OUT_H
#define RESULT_W CONV_OUT_W
#define SOURCE_C CONV_C
#define SOURCE_D CONV_IN_D
#define SOURCE_H CONV_IN_H
#define SOURCE_W CONV_IN_W
#define RESULT_STRIDE(axis) Y_STRIDE(axis)
#define SOURCE_STRIDE(axis) X_STRIDE(axis)
#define RESULT_STEP_D CONV_STRIDE_D
#define RESULT_STEP_H CONV_STRIDE_H
#define RESULT_STEP_W CONV_STRIDE_W
#define LEAD_D CONV_PAD_D
#define LEAD_H CONV_PAD_H
#define LEAD_W CONV_PAD_W
#define SPREAD_D 1
#define SPREAD_H 1
#define SPREAD_W 1
#define STORED_TAP(tap, size) (tap)
#endif

#define RESULT_C_PER_GROUP (RESULT_C / CONV_GROUPS)
#define SOURCE_C_PER_GROUP (SOURCE_C / CONV_GROUPS)

// Where an element lies.
static __device__ __forceinline__ index_t source_at(int image, int channel, int d, int h, int w)
{
    return image * SOURCE_STRIDE(N) + channel * SOURCE_STRIDE(C) + d * SOURCE_STRIDE(D) + h * SOURCE_STRIDE(H) +
           w * SOURCE_STRIDE(W);
}

static __device__ __forceinline__ index_t result_at(int image, int channel, int d, int h, int w)
{
    return image * RESULT_STRIDE(N) + channel * RESULT_STRIDE(C) + d * RESULT_STRIDE(D) + h * RESULT_STRIDE(H) +
           w * RESULT_STRIDE(W);
}

// The source element at a place counted in steps of 1 / spread; false where a zero stands.
static __device__ __forceinline__ bool find_source(int place, int spread, int size, int* position)
{
    *position = place / spread;
    return place >= 0 && *position * spread == place && *position < size;
}
