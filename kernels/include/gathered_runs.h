// What a work-item copies of B, the gathered factor of gathered_gemm.h: runs of elements that lie together if they can.
//
// Specialised by BLOCK_SIZE work-items that share GEMM_K_PER_BLOCK x GEMM_N_PER_BLOCK elements, in runs of VECTOR_WIDTH.
#pragma once

#include "gathered_gemm.h"

// A work-item has ROW_RUNS x COLUMN_RUNS runs, RUN_ROWS x RUN_COLUMNS elements each. Lines are what runs follow each
// other in, and what the work-items share first.
#define B_ALONG_K (BLOCK_SIZE > 1 && CONV_DIRECTION == 2 && SOURCE_STRIDE(W) == 1)
#define RUNS_IN_LINE ((B_ALONG_K ? GEMM_K_PER_BLOCK : GEMM_N_PER_BLOCK) / VECTOR_WIDTH)
#define LINE_STEP (BLOCK_SIZE > RUNS_IN_LINE ? BLOCK_SIZE / RUNS_IN_LINE : 1)
#define LINES ((B_ALONG_K ? GEMM_N_PER_BLOCK : GEMM_K_PER_BLOCK) / LINE_STEP)
#define OWN_RUNS_IN_LINE (BLOCK_SIZE > RUNS_IN_LINE ? 1 : RUNS_IN_LINE / BLOCK_SIZE)
#define ROW_RUNS (B_ALONG_K ? OWN_RUNS_IN_LINE : LINES)
#define COLUMN_RUNS (B_ALONG_K ? LINES : OWN_RUNS_IN_LINE)
#define RUN_ROWS (B_ALONG_K ? VECTOR_WIDTH : 1)
#define RUN_COLUMNS (B_ALONG_K ? 1 : VECTOR_WIDTH)
#define ROW_STEP (B_ALONG_K ? BLOCK_SIZE * VECTOR_WIDTH : LINE_STEP)
#define COLUMN_STEP (B_ALONG_K ? LINE_STEP : BLOCK_SIZE * VECTOR_WIDTH)

// How far a run goes along w if it is straight: its places are neighbours in memory, wherever they are met. Else -1.
static __device__ __forceinline__ int find_reach(const place* run)
{
    const place first = run[0], last = run[VECTOR_WIDTH - 1];
    const int reach = last.w - first.w;
    const bool is_straight = last.offset - first.offset == VECTOR_WIDTH - 1 && last.d == first.d && last.h == first.h;
    return is_straight && (reach == 0 || reach == VECTOR_WIDTH - 1) ? reach : -1;
}

// The columns of B that a work-item copies.
struct columns {
    place at[COLUMN_RUNS][RUN_COLUMNS];
    int reach[COLUMN_RUNS];
};

static __device__ __forceinline__ void find_columns(gemm_n_t first_n, columns* found)
{
#pragma unroll
    for(int run = 0; run < COLUMN_RUNS; ++run)
    {
#pragma unroll
        for(int i = 0; i < RUN_COLUMNS; ++i)
        {
            const gemm_n_t n = first_n + run * COLUMN_STEP + i;
            found->at[run][i] = find_column(n < GEMM_N ? n : GEMM_N - 1); // beyond the last one nobody looks
        }
        found->reach[run] = RUN_COLUMNS > 1 ? find_reach(found->at[run]) : -1;
    }
}

// The elements where a run of rows meets one column, or a run of columns one row.
static __device__ __forceinline__ void
read_run(const element_t* b, place met, const place* run, int reach, accumulator_t* read)
{
    if(VECTOR_WIDTH > 1 && reach >= 0)
    {
        const int d = met.d + run[0].d;
        const int h = met.h + run[0].h;
        const int w = met.w + run[0].w;
        if(!IS_INSIDE(D, d) || !IS_INSIDE(H, h))
        {
#pragma unroll
            for(int i = 0; i < VECTOR_WIDTH; ++i)
                read[i] = 0;
            return;
        }
        if(IS_INSIDE(W, w) && IS_INSIDE(W, w + reach))
        {
            const element_t* from = b + (met.offset + run[0].offset + LATE_OFFSET(D, d) + LATE_OFFSET(H, h));
#pragma unroll
            for(int i = 0; i < VECTOR_WIDTH; ++i)
                read[i] = load(from + i);
            return;
        }
    }
#pragma unroll
    for(int i = 0; i < VECTOR_WIDTH; ++i)
        read[i] = read_b(b, met, run[i]);
}
