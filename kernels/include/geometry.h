// The geometry of a convolution as -D macros, and what forward and backward data have in common.
//
//   CONV_DIRECTION         0 forward, 1 backward data, 2 backward weights
//   CONV_X_LAYOUT          of all tensors, NCDHW or NDHWC
//   CONV_N C K GROUPS      images, channels of x and of y over all groups, groups
//   CONV_IN OUT FIL PAD STRIDE DILATION, each _D _H _W; a plane is a volume of depth 1
//
// Both data directions are one walk: result position r meets the source through tap f at
//
//   r * RESULT_STEP - LEAD + f * DILATION,    counted in steps of 1 / SPREAD of a source element,
//
// where backward data counts its taps from the filter's end. So forward reads x with SPREAD 1, and backward data reads y
// as if stride - 1 zeros stood behind each of its elements. LEAD may be negative.
#pragma once

#include "index.h"

#define GEOMETRY_PASTE_(a, b) a##b
#define GEOMETRY_PASTE(a, b) GEOMETRY_PASTE_(a, b)
#define CHANNELS_LAST_NCDHW 0
#define CHANNELS_LAST_NDHWC 1
#define CONV_CHANNELS_LAST GEOMETRY_PASTE(CHANNELS_LAST_, CONV_X_LAYOUT)

#define CONV_C_PER_GROUP (CONV_C / CONV_GROUPS)
#define CONV_K_PER_GROUP (CONV_K / CONV_GROUPS)
#define CONV_TAPS (CONV_FIL_D * CONV_FIL_H * CONV_FIL_W)

#if CONV_DIRECTION == 1
#define RESULT_C CONV_C
#define RESULT_D CONV_IN_D
#define RESULT_H CONV_IN_H
#define RESULT_W CONV_IN_W
#define SOURCE_C CONV_K
#define SOURCE_D CONV_OUT_D
#define SOURCE_H CONV_OUT_H
#define SOURCE_W CONV_OUT_W
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

// Elements from one channel, and from one position of a row, to the next.
#if CONV_CHANNELS_LAST
#define SOURCE_C_STEP 1
#define RESULT_C_STEP 1
#define SOURCE_W_STEP SOURCE_C
#define RESULT_W_STEP RESULT_C
#else
#define SOURCE_C_STEP ((index_t)SOURCE_D * SOURCE_H * SOURCE_W)
#define RESULT_C_STEP ((index_t)RESULT_D * RESULT_H * RESULT_W)
#define SOURCE_W_STEP 1
#define RESULT_W_STEP 1
#endif

// Where an element of a packed tensor of `channels` x `depth` x `height` x `width` a sample lies.
static __device__ __forceinline__ index_t
element_at(int sample, int channels, int channel, int depth, int d, int height, int h, int width, int w)
{
#if CONV_CHANNELS_LAST
    return ((((index_t)sample * depth + d) * height + h) * width + w) * channels + channel;
#else
    return ((((index_t)sample * channels + channel) * depth + d) * height + h) * width + w;
#endif
}

static __device__ __forceinline__ index_t source_at(int image, int channel, int d, int h, int w)
{
    return element_at(image, SOURCE_C, channel, SOURCE_D, d, SOURCE_H, h, SOURCE_W, w);
}

static __device__ __forceinline__ index_t result_at(int image, int channel, int d, int h, int w)
{
    return element_at(image, RESULT_C, channel, RESULT_D, d, RESULT_H, h, RESULT_W, w);
}

// The source element at a place counted in steps of 1 / spread; false where a zero stands.
static __device__ __forceinline__ bool find_source(int place, int spread, int size, int* position)
{
    *position = place / spread;
    return place >= 0 && *position * spread == place && *position < size;
}
