// What a backward-weights convolution whose sums are taken in parts needs before and after them.
//
// Specialised by the macros of convolution.h and by BLOCK, the work-items of a block.
#include "convolution.h"

#define W_ELEMENTS ((index_t)CONV_K * C_PER_GROUP * TAPS)

// w = as many parts, one after the other in the workspace, added up in their order.
extern "C" __global__ void __launch_bounds__(BLOCK)
implicit_gemm_add_parts(const accumulator_t* __restrict__ workspace, result_t* __restrict__ w, int parts)
{
    for(index_t i = first_index(); i < W_ELEMENTS; i += index_step())
    {
        accumulator_t sum = 0;
        for(int part = 0; part < parts; ++part)
            sum += workspace[part * W_ELEMENTS + i];
        store(w + i, sum);
    }
}

// w = 0, for parts that are added atomically.
extern "C" __global__ void __launch_bounds__(BLOCK) implicit_gemm_clear_result(result_t* __restrict__ w)
{
    for(index_t i = first_index(); i < W_ELEMENTS; i += index_step())
        store(w + i, 0);
}
