// Indices that may pass 2^31, and the walk of a one-dimensional grid over more elements than it has work-items.
#pragma once

typedef long long index_t;

static __device__ __forceinline__ index_t first_index() { return (index_t)blockIdx.x * blockDim.x + threadIdx.x; }

static __device__ __forceinline__ index_t index_step() { return (index_t)gridDim.x * blockDim.x; }

// The last digit of a mixed-radix number, which is taken off it. Neither is negative: a signed division would keep so
// many signs in scalar registers that the naive kernels spilled them on gfx90a.
static __device__ __forceinline__ int take_digit(index_t* number, int radix)
{
    const index_t rest = (unsigned long long)*number / (unsigned)radix;
    const int digit = (int)(*number - rest * radix);
    *number = rest;
    return digit;
}

static __device__ __forceinline__ bool is_inside(int position, int size)
{
    return (unsigned int)position < (unsigned int)size;
}
