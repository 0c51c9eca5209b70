// How the product of gathered_gemm.h is cut into tiles, and which of them a block has.
//
// Specialised by GEMM_M_PER_BLOCK x GEMM_N_PER_BLOCK results of a tile, steps of GEMM_K_PER_BLOCK products, and SPLIT_K
// parts of every sum. The grid has one axis, tiles of m fastest, so that blocks that run together gather the same part
// of B. -DHAND_ON says what becomes of a part:
//   TO_RESULT      the one part is the result
//   TO_WORKSPACE   parts lie one after the other in the workspace, in the order of w, for add_parts
//   ATOMICALLY     parts are added to a result that clear_result has zeroed
#pragma once

#include "gathered_gemm.h"

#define TO_RESULT 0
#define TO_WORKSPACE 1
#define ATOMICALLY 2

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define TILES_M CEIL_DIV(GEMM_M, GEMM_M_PER_BLOCK)
#define TILES_N ((int)CEIL_DIV(GEMM_N, GEMM_N_PER_BLOCK))
#define K_STEPS CEIL_DIV(GEMM_K, GEMM_K_PER_BLOCK)
#define K_PER_PART (CEIL_DIV(K_STEPS, SPLIT_K) * GEMM_K_PER_BLOCK)

struct tile {
    int group, first_m;
    gemm_n_t first_n;
    gemm_k_t first_k, end_k;
    int part;
};

static __device__ __forceinline__ tile find_tile(unsigned int block)
{
    const unsigned int rest = block / TILES_M;
    const unsigned int of_group = rest / TILES_N;
    tile found;
    found.first_m = (int)(block % TILES_M) * GEMM_M_PER_BLOCK;
    found.first_n = (gemm_n_t)(rest % TILES_N) * GEMM_N_PER_BLOCK;
    found.group = (int)(of_group % CONV_GROUPS);
    found.part = (int)(of_group / CONV_GROUPS);
    found.first_k = (gemm_k_t)found.part * K_PER_PART;
    found.end_k = GEMM_K - found.first_k < K_PER_PART ? GEMM_K : found.first_k + K_PER_PART;
    return found;
}
