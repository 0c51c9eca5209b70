// Where the elements of A and B lie, for kernels that copy neighbours along the axis that is the fast one in memory: as
// gathered_gemm.h has it, with less arithmetic where the problem or the step of k allows it.
#pragma once

#include "gemm_tile.h"

// Along k runs the fast axis of w in forward, of the gathered tensor but in backward weights, where positions are slow.
#define A_IS_ALONG_K (CONV_DIRECTION == 0)
#define B_IS_ALONG_K (CONV_DIRECTION != 2)

// All of a step belongs to one tap.
#define IS_ONE_TAP_STEP (SOURCE_STRIDE(C) == 1 && CHANNELS % GEMM_K_PER_BLOCK == 0)

// Of A in the order of k, as find_a: a tensor that is packed in that order is simply walked.
#if CONV_DIRECTION == 0
#define IS_PACKED_ALONG_K ((W_STRIDE(C) == 1) == (SOURCE_STRIDE(C) == 1) && (W_STRIDE(W) == 1 || W_STRIDE(C) == 1))
#define PACKED_STRIDE_K 1
#else
#define IS_PACKED_ALONG_K (CONV_DIRECTION == 2 && Y_STRIDE(C) == 1 && Y_STRIDE(W) == CONV_K)
#define PACKED_STRIDE_K CONV_K
#endif

static __device__ __forceinline__ index_t offset_along_k(gemm_k_t first_k, int k)
{
    if(IS_PACKED_ALONG_K)
        return (index_t)(first_k + k) * PACKED_STRIDE_K;
    if(CONV_DIRECTION == 1 && IS_ONE_TAP_STEP)
        return find_a(first_k) + k * W_STRIDE(N);
    return find_a(first_k + k);
}

// Of C in the order of n, as find_c: a tensor that is packed in that order is simply walked.
#if CONV_DIRECTION == 0
#define IS_PACKED_ALONG_N (Y_STRIDE(C) == 1 && Y_STRIDE(W) == CONV_K)
#define PACKED_STRIDE_N CONV_K
#elif CONV_DIRECTION == 1
#define IS_PACKED_ALONG_N (X_STRIDE(C) == 1 && X_STRIDE(W) == CONV_C)
#define PACKED_STRIDE_N CONV_C
#else
#define IS_PACKED_ALONG_N ((W_STRIDE(C) == 1) == (SOURCE_STRIDE(C) == 1) && (W_STRIDE(W) == 1 || W_STRIDE(C) == 1))
#define PACKED_STRIDE_N 1
#endif

static __device__ __forceinline__ index_t offset_along_n(gemm_n_t n)
{
    return IS_PACKED_ALONG_N ? (index_t)n * PACKED_STRIDE_N : find_c(n);
}

// A row and a column of B, and where they meet. Where neighbours of a few taps are copied at every step, each column
// remembers which of the taps reach inside.
#define HAS_TAP_BITS (B_IS_ALONG_K && TAPS <= 32 && STEP_D * STEP_H * STEP_W == 1)
#if HAS_TAP_BITS
struct b_row {
    offset_t offset;
    int tap;
};
struct b_column {
    offset_t offset;
    unsigned int inside;
};

static __device__ __forceinline__ b_row find_b_row(gemm_k_t first_k, int k)
{
    const gemm_k_t at = IS_ONE_TAP_STEP ? first_k : first_k + k;
    const b_row found = {find_tap(at).offset + (offset_t)(IS_ONE_TAP_STEP ? k : 0),
                         SOURCE_STRIDE(C) == 1 ? at / CHANNELS : at % TAPS};
    return found;
}

#define TAP_STEP(axis) (CONV_DIRECTION == 1 ? -CONV_DILATION_##axis : CONV_DILATION_##axis)

static __device__ __forceinline__ b_column find_b_column(gemm_n_t n)
{
    const place column = find_position(n);
    b_column found = {column.offset, 0};
    unsigned int row = 0;
    for(int tap = 0; tap < CONV_FIL_W; ++tap)
        row |= (unsigned int)IS_INSIDE(W, column.w + tap * TAP_STEP(W)) << tap;
    for(int tap = 0; tap < CONV_FIL_D * CONV_FIL_H; ++tap)
        if(IS_INSIDE(D, column.d + tap / CONV_FIL_H * TAP_STEP(D)) &
           IS_INSIDE(H, column.h + tap % CONV_FIL_H * TAP_STEP(H)))
            found.inside |= row << tap * CONV_FIL_W;
    return found;
}

static __device__ __forceinline__ bool find_element(b_row row, b_column column, offset_t* offset)
{
    *offset = row.offset + column.offset;
    return !(REACHES_OUTSIDE(D) || REACHES_OUTSIDE(H) || REACHES_OUTSIDE(W)) || (column.inside >> (row.tap & 31) & 1);
}
#else
typedef place b_row;
typedef place b_column;

static __device__ __forceinline__ b_row find_b_row(gemm_k_t first_k, int k) { return find_row(first_k + k); }

static __device__ __forceinline__ b_column find_b_column(gemm_n_t n) { return find_column(n); }

static __device__ __forceinline__ bool find_element(b_row row, b_column column, offset_t* offset)
{
    const int d = row.d + column.d;
    const int h = row.h + column.h;
    const int w = row.w + column.w;
    *offset = row.offset + column.offset + LATE_OFFSET(D, d) + LATE_OFFSET(H, h) + LATE_OFFSET(W, w);
    return (bool)(IS_INSIDE(D, d) & IS_INSIDE(H, h) & IS_INSIDE(W, w));
}
#endif
