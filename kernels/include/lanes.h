// LANES accumulators side by side: a vector register of a CPU, a few registers of a GPU's work-item.
//
// Specialised by -DLANES, a power of two, beside what element.h needs.
#pragma once

#include "element.h"

#if defined(__CUDACC__)
struct alignas(LANES % 4 == 0 ? 16 : LANES % 2 == 0 ? 8 : 4) lanes_t {
    accumulator_t at[LANES];
};

static __device__ __forceinline__ void multiply_add(accumulator_t a, lanes_t b, lanes_t* sum)
{
#pragma unroll
    for(int i = 0; i < LANES; ++i)
        sum->at[i] += a * b.at[i];
}

static __device__ __forceinline__ accumulator_t lane(const lanes_t* lanes, int i) { return lanes->at[i]; }
#else
typedef accumulator_t lanes_t __attribute__((vector_size(sizeof(accumulator_t) * LANES)));

static __device__ __forceinline__ void multiply_add(accumulator_t a, lanes_t b, lanes_t* sum) { *sum += a * b; }

static __device__ __forceinline__ accumulator_t lane(const lanes_t* lanes, int i) { return (*lanes)[i]; }
#endif
