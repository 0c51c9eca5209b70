// A block's tile of sums, step of k after step, where warpgroups multiply: warpgroup_core.h.
//
// Specialised by UNITS_M x UNITS_N units of sums a wave, and STAGES, at least three: while the products of one step are
// added and those of the next one begin, copies fill the stage that was multiplied before them.
#pragma once

#include "matrix_tiles.h"

#define STEPS_AHEAD (STAGES - 2)
#define STEP_TURNS (GEMM_K_PER_BLOCK / PRODUCTS)

// The products of a turn: of the 16 rows of n in each 64 that a wave has with its neighbours.
static __device__ __forceinline__ void
multiply_turn(int turn, unsigned long long a, unsigned long long b, sums_t sums)
{
    const int k = turn * PRODUCTS;
UNROLL
    for(int j = 0; j < UNITS_N; ++j)
    {
        const int n = j * ROW;
        multiply_add_64<UNITS_M * UNIT, A_IS_ALONG_K, B_IS_ALONG_K, UNITS_N>(
            a + further(A_LINES, A_IS_ALONG_K ? 0 : k, A_IS_ALONG_K ? k : 0),
            b + further(B_LINES, B_IS_ALONG_K ? n : k, B_IS_ALONG_K ? k : n), &sums[0][j]);
    }
}

static __device__ __forceinline__ void
multiply_tile(const tile* tile, const element_t* a, const element_t* b, element_t* stages, int m, int n, sums_t sums)
{
    const int steps = (int)CEIL_DIV(tile->end_k - tile->first_k, GEMM_K_PER_BLOCK);
    const int first_n = n / ROW * ROW; // of the warpgroup
    const unsigned long long first_a =
        factor(stages, A_LINES) + further(A_LINES, A_IS_ALONG_K ? m : 0, A_IS_ALONG_K ? 0 : m);
    const unsigned long long first_b = factor(stages + A_ELEMENTS, B_LINES) +
                                       further(B_LINES, B_IS_ALONG_K ? first_n : 0, B_IS_ALONG_K ? 0 : first_n);
    columns_t columns;
    a_pieces_t a_pieces;
    b_pieces_t b_pieces;
    find_columns(tile, columns);
UNROLL
    for(int step = 0; step < STEPS_AHEAD; ++step)
    {
        element_t* stage = stages + step * STAGE_ELEMENTS;
        const gemm_k_t k = tile->first_k + step * GEMM_K_PER_BLOCK;
        start_a<1>(0, tile, a, k, stage, a_pieces);
        start_b<1>(0, tile, b, k, columns, stage + A_ELEMENTS, b_pieces);
        close_group_of_copies();
        end_a(stage, a_pieces);
        end_b(stage + A_ELEMENTS, b_pieces);
    }
    int own = 0;
    int next = STEPS_AHEAD;
    for(int step = 0; step < steps; ++step)
    {
        wait_for_copies<STEPS_AHEAD - 1>();
        show_copies();
        // What all have copied is there, and the stage that all have multiplied two steps before is free.
        __syncthreads();
        const unsigned long long stage = own * (STAGE_ELEMENTS * 2 / 16);
        // Beyond the last step, copies are of zeros.
        element_t* next_stage = stages + next * STAGE_ELEMENTS;
        const gemm_k_t next_k = tile->first_k + (gemm_k_t)(step + STEPS_AHEAD) * GEMM_K_PER_BLOCK;
        begin_products();
UNROLL
        for(int turn = 0; turn < STEP_TURNS; ++turn)
        {
            // The cores take few products at a time. A wave that waits for them cannot copy.
            multiply_turn(turn, first_a + stage, first_b + stage, sums);
            start_a<STEP_TURNS>(turn, tile, a, next_k, next_stage, a_pieces);
            start_b<STEP_TURNS>(turn, tile, b, next_k, columns, next_stage + A_ELEMENTS, b_pieces);
        }
        close_group_of_products();
        close_group_of_copies();
        end_a(next_stage, a_pieces);
        end_b(next_stage + A_ELEMENTS, b_pieces);
        wait_for_products<1>();
        own = own + 1 < STAGES ? own + 1 : 0;
        next = next + 1 < STAGES ? next + 1 : 0;
    }
    wait_for_products<0>();
    wait_for_copies<0>();
}
