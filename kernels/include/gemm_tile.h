// How the product of gathered_gemm.h is cut into tiles, and which of them a block has.
//
// Specialised by GEMM_M_PER_BLOCK x GEMM_N_PER_BLOCK results of a tile and steps of GEMM_K_PER_BLOCK products. The grid
// has one axis, tiles of m fastest, so that blocks that run together gather the same part of B. It has as many blocks as
// tiles for every part of the sums: their number is the launch's, so that searches compile one kernel for all of them.
// -DHAND_ON says what becomes of a part:
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
#define TILES ((unsigned int)TILES_M * TILES_N * CONV_GROUPS)
#define K_STEPS CEIL_DIV(GEMM_K, GEMM_K_PER_BLOCK)
#define PARTS (HAND_ON == TO_RESULT ? 1 : (gemm_k_t)(gridDim.x / TILES))

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
    const gemm_k_t k_per_part = CEIL_DIV(K_STEPS, PARTS) * GEMM_K_PER_BLOCK;
    tile found;
    found.first_m = (int)(block % TILES_M) * GEMM_M_PER_BLOCK;
    found.first_n = (gemm_n_t)(rest % TILES_N) * GEMM_N_PER_BLOCK;
    found.group = (int)(of_group % CONV_GROUPS);
    found.part = (int)(of_group / CONV_GROUPS);
    found.first_k = (gemm_k_t)found.part * k_per_part;
    found.end_k = GEMM_K - found.first_k < k_per_part ? GEMM_K : found.first_k + k_per_part;
    return found;
}
