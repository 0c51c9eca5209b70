// Which piece of the work a work-item has, where every work-item has one: WORK_ITEMS pieces, counted over a grid of one
// axis of blocks of BLOCK_SIZE. Both are macros that stand before this header is included; numbers that fit stay in 32
// bits, the preprocessor itself counts in 64.
#pragma once

#if WORK_ITEMS > 0x7fffffff
typedef unsigned long long work_t;
#else
typedef unsigned int work_t;
#endif

static __device__ __forceinline__ work_t own_work() { return (work_t)blockIdx.x * BLOCK_SIZE + threadIdx.x; }

// The last digit of a mixed-radix number, which is taken off it.
static __device__ __forceinline__ int take_work_digit(work_t* work, unsigned int radix)
{
    const work_t rest = *work / radix;
    const int digit = (int)(*work - rest * radix);
    *work = rest;
    return digit;
}
