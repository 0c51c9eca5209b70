// The convolution that a kernel is compiled for, from the -D macros CONV_*: strides, counts and the element types.
//
//   CONV_DIRECTION                            0 forward, 1 backward data, 2 backward weights
//   CONV_N  CONV_C  CONV_K  CONV_GROUPS       images, all input channels, all output channels
//   CONV_IN_D ... CONV_DILATION_W             sizes of input, output and filter, pads, strides, dilations by axis
//   CONV_X_LAYOUT  CONV_W_LAYOUT  CONV_Y_LAYOUT    the order of the axes in memory: NCDHW, NDHWC or CDHWN
//
// A plane is a volume of depth 1. The axes of w are k and c / groups in the places of n and c.
#pragma once

#include "element.h"
#include "index.h"

#define C_PER_GROUP (CONV_C / CONV_GROUPS)
#define K_PER_GROUP (CONV_K / CONV_GROUPS)
#define TAPS (CONV_FIL_D * CONV_FIL_H * CONV_FIL_W)

#define STRIDE_NCDHW_N(n, c, d, h, w) ((index_t)(c) * (d) * (h) * (w))
#define STRIDE_NCDHW_C(n, c, d, h, w) ((index_t)(d) * (h) * (w))
#define STRIDE_NCDHW_D(n, c, d, h, w) ((index_t)(h) * (w))
#define STRIDE_NCDHW_H(n, c, d, h, w) ((index_t)(w))
#define STRIDE_NCDHW_W(n, c, d, h, w) ((index_t)1)

#define STRIDE_NDHWC_N(n, c, d, h, w) ((index_t)(c) * (d) * (h) * (w))
#define STRIDE_NDHWC_C(n, c, d, h, w) ((index_t)1)
#define STRIDE_NDHWC_D(n, c, d, h, w) ((index_t)(c) * (h) * (w))
#define STRIDE_NDHWC_H(n, c, d, h, w) ((index_t)(c) * (w))
#define STRIDE_NDHWC_W(n, c, d, h, w) ((index_t)(c))

#define STRIDE_CDHWN_N(n, c, d, h, w) ((index_t)1)
#define STRIDE_CDHWN_C(n, c, d, h, w) ((index_t)(n) * (d) * (h) * (w))
#define STRIDE_CDHWN_D(n, c, d, h, w) ((index_t)(n) * (h) * (w))
#define STRIDE_CDHWN_H(n, c, d, h, w) ((index_t)(n) * (w))
#define STRIDE_CDHWN_W(n, c, d, h, w) ((index_t)(n))

#define STRIDE_PASTE(layout, axis) STRIDE_##layout##_##axis
#define STRIDE_OF(layout, axis) STRIDE_PASTE(layout, axis)
#define X_STRIDE(axis) STRIDE_OF(CONV_X_LAYOUT, axis)(CONV_N, CONV_C, CONV_IN_D, CONV_IN_H, CONV_IN_W)
#define W_STRIDE(axis) STRIDE_OF(CONV_W_LAYOUT, axis)(CONV_K, C_PER_GROUP, CONV_FIL_D, CONV_FIL_H, CONV_FIL_W)
#define Y_STRIDE(axis) STRIDE_OF(CONV_Y_LAYOUT, axis)(CONV_N, CONV_K, CONV_OUT_D, CONV_OUT_H, CONV_OUT_W)
