// Implicit GEMM on matrix cores, in the three directions: tiles of the product of gathered_gemm.h in FP16 or BF16, added
// up in float.
//
// Specialised for one problem by the macros of convolution.h, for one cut into tiles by those of gemm_tile.h, and by:
// WAVES_M x WAVES_N waves share a block's tile, STAGES steps of k lie in shared memory at a time, and a block has
// BLOCK_SIZE work-items. Parts of sums are handed on TO_RESULT or TO_WORKSPACE.
//
// The steps of k of a tile are here for waves that multiply on their own, in warpgroup_steps.h for those that do it in
// fours.
#include "matrix_tiles.h"

#define UNITS_M (GEMM_M_PER_BLOCK / WAVES_M / UNIT)
#define UNITS_N (GEMM_N_PER_BLOCK / WAVES_N / UNIT)
typedef unit_sums sums_t[UNITS_M][UNITS_N];

// Waves that multiply together take turns along n, a unit each.
#define N_STEP (UNIT * WAVES_TOGETHER)

#if WAVES_TOGETHER > 1
#include "warpgroup_steps.h"
#else
// Copies of B start between the products of a step, so that they do not stand in the way of its first fragments.
#define START_B_AT (GEMM_K_PER_BLOCK > UNIT_K ? UNIT_K : 0)

// A wave's parts of both factors, whose first row and column are m and n, for the products from k on.
struct fragments {
    a_fragment a[UNITS_M];
    b_fragment b[UNITS_N];
};

static __device__ __forceinline__ void load_fragments(const element_t* stage, int m, int n, int k, fragments* read)
{
UNROLL
    for(int i = 0; i < UNITS_M; ++i)
#if A_IS_ALONG_K
        load_rows(stage + (m + i * UNIT) * PITCH(A_LINE) + k, PITCH(A_LINE), &read->a[i]);
#else
        load_columns(stage + k * PITCH(A_LINE) + m + i * UNIT, PITCH(A_LINE), &read->a[i]);
#endif
UNROLL
    for(int j = 0; j < UNITS_N; ++j)
#if B_IS_ALONG_K
        load_rows(stage + A_ELEMENTS + (n + j * UNIT) * PITCH(B_LINE) + k, PITCH(B_LINE), &read->b[j]);
#else
        load_columns(stage + A_ELEMENTS + k * PITCH(B_LINE) + n + j * UNIT, PITCH(B_LINE), &read->b[j]);
#endif
}

static __device__ __forceinline__ void multiply_fragments(const fragments* read, sums_t sums)
{
UNROLL
    for(int i = 0; i < UNITS_M; ++i)
UNROLL
        for(int j = 0; j < UNITS_N; ++j)
            multiply_add(&read->a[i], &read->b[j], &sums[i][j]);
}

static __device__ __forceinline__ void
multiply_tile(const tile* tile, const element_t* a, const element_t* b, element_t* stages, int m, int n, sums_t sums)
{
    const int steps = (int)CEIL_DIV(tile->end_k - tile->first_k, GEMM_K_PER_BLOCK);
    columns_t columns;
    a_pieces_t a_pieces;
    b_pieces_t b_pieces;
    find_columns(tile, columns);
UNROLL
    for(int step = 0; step < STAGES - 1; ++step)
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
    int next = STAGES - 1;
    for(int step = 0; step < steps; ++step)
    {
        wait_for_copies<STAGES - 2>();
        // What all have copied is there, and the stage that all have multiplied before is free.
        __syncthreads();
        // Beyond the last step, copies are of zeros: without a branch, their arithmetic fills gaps between products.
        const element_t* stage = stages + own * STAGE_ELEMENTS;
        element_t* next_stage = stages + next * STAGE_ELEMENTS;
        const gemm_k_t next_k = tile->first_k + (gemm_k_t)(step + STAGES - 1) * GEMM_K_PER_BLOCK;
        fragments read[FRAGMENTS_AHEAD + 1];
        load_fragments(stage, m, n, 0, &read[0]);
UNROLL
        for(int k = 0; k < GEMM_K_PER_BLOCK; k += UNIT_K)
        {
            const int unit = k / UNIT_K;
            if(FRAGMENTS_AHEAD && k + UNIT_K < GEMM_K_PER_BLOCK)
                load_fragments(stage, m, n, k + UNIT_K, &read[(unit + 1) % (FRAGMENTS_AHEAD + 1)]);
            if(k == 0)
                start_a<1>(0, tile, a, next_k, next_stage, a_pieces);
            if(k == START_B_AT)
            {
                start_b<1>(0, tile, b, next_k, columns, next_stage + A_ELEMENTS, b_pieces);
                close_group_of_copies();
            }
            multiply_fragments(&read[unit % (FRAGMENTS_AHEAD + 1)], sums);
            if(!FRAGMENTS_AHEAD && k + UNIT_K < GEMM_K_PER_BLOCK)
                load_fragments(stage, m, n, k + UNIT_K, &read[0]);
        }
        end_a(next_stage, a_pieces);
        end_b(next_stage + A_ELEMENTS, b_pieces);
        own = own + 1 < STAGES ? own + 1 : 0;
        next = next + 1 < STAGES ? next + 1 : 0;
    }
    wait_for_copies<0>();
}
#endif

#if HAND_ON == TO_RESULT
// Results take the way through shared memory, so that neighbours in memory are written together.
static __device__ __forceinline__ void put_down_sums(element_t* results, int m, int n, const sums_t sums)
{
    const int lane = own_lane();
UNROLL
    for(int i = 0; i < UNITS_M; ++i)
UNROLL
        for(int j = 0; j < UNITS_N; ++j)
UNROLL
            for(int q = 0; q < LANE_SUMS; q += SUMS_TOGETHER)
            {
                const int row = m + i * UNIT + sum_m(lane, q);
                const int column = n + j * N_STEP + sum_n(lane, q);
                piece<SUMS_TOGETHER> rounded;
UNROLL
                for(int r = 0; r < SUMS_TOGETHER; ++r)
                    store(rounded.at + r, sums[i][j].at[q + r]);
                if(C_IS_ALONG_M)
                    *(piece<SUMS_TOGETHER>*)(results + column * PITCH(C_LINE) + row) = rounded;
                else
UNROLL
                    for(int r = 0; r < SUMS_TOGETHER; ++r)
                        results[(row + r) * PITCH(C_LINE) + column] = rounded.at[r];
            }
}

static __device__ __forceinline__ void write_results(const tile* tile, const element_t* results, element_t* c)
{
UNROLL
    for(int run = 0; run < RUNS(C_LINE); ++run)
UNROLL_SOME
        for(int j = 0; j < LINES_EACH(C_LINES, C_LINE); ++j)
        {
            const int line = find_line(j, C_LINE);
            if(!is_line(j, C_LINES, C_LINE))
                continue;
UNROLL
            for(int i = 0; i < CHUNK / C_PIECE; ++i)
            {
                const int at = find_chunk(run, C_LINE) + i * C_PIECE;
                const int m = tile->first_m + (C_IS_ALONG_M ? at : line);
                const gemm_n_t n = tile->first_n + (C_IS_ALONG_M ? line : at);
                if(m < GEMM_M && n < GEMM_N)
                    *(piece<C_PIECE>*)(c + m * C_STRIDE_M + offset_along_n(n)) =
                        *(const piece<C_PIECE>*)(results + line * PITCH(C_LINE) + at);
            }
        }
}
#else
static __device__ __forceinline__ void
write_parts(const tile* tile, int m, int n, const sums_t sums, accumulator_t* workspace)
{
    const int lane = own_lane();
UNROLL
    for(int j = 0; j < UNITS_N; ++j)
UNROLL
        for(int i = 0; i < UNITS_M; ++i)
UNROLL
            for(int q = 0; q < LANE_SUMS; ++q)
            {
                const int row = tile->first_m + m + i * UNIT + sum_m(lane, q);
                const gemm_n_t column = tile->first_n + n + j * N_STEP + sum_n(lane, q);
                if(row < GEMM_M && column < GEMM_N)
                    workspace[row * C_STRIDE_M + offset_along_n(column)] = sums[i][j].at[q];
            }
}
#endif

static __device__ __forceinline__ void
implicit_gemm(const element_t* a, const element_t* b, element_t* c, accumulator_t* workspace)
{
    extern __shared__ shared_rows shared[];
    element_t* stages = shared[0].at;
    const tile tile = find_tile(blockIdx.x);
    const int wave = (int)threadIdx.x / WAVE;
    const int m = wave / WAVES_N * UNITS_M * UNIT;
    const int n = wave % WAVES_N / WAVES_TOGETHER * UNITS_N * N_STEP + wave % WAVES_TOGETHER * UNIT;
    sums_t sums = {};
    multiply_tile(&tile, a + tile.group * A_STRIDE_GROUP, b + tile.group * B_STRIDE_GROUP, stages, m, n, sums);
    const index_t first_of_group = tile.group * C_STRIDE_GROUP;
#if HAND_ON == TO_RESULT
    __syncthreads();
    put_down_sums(stages, m, n, sums);
    __syncthreads();
    write_results(&tile, stages, c + first_of_group);
#else
    write_parts(&tile, m, n, sums, workspace + tile.part * ((index_t)CONV_K * C_PER_GROUP * TAPS) + first_of_group);
#endif
}

#if CONV_DIRECTION == 0
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_matrix_fwd(const element_t* __restrict__ x, const element_t* __restrict__ w, result_t* __restrict__ y)
{
    implicit_gemm(w, x, y, nullptr);
}
#elif CONV_DIRECTION == 1
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_matrix_bwd(result_t* __restrict__ x, const element_t* __restrict__ w, const element_t* __restrict__ y)
{
    implicit_gemm(w, y, x, nullptr);
}
#elif HAND_ON == TO_WORKSPACE
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_matrix_wrw_parts(const element_t* __restrict__ x, const element_t* __restrict__ y,
                               accumulator_t* __restrict__ workspace)
{
    implicit_gemm(y, x, nullptr, workspace);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_matrix_wrw(const element_t* __restrict__ x, result_t* __restrict__ w, const element_t* __restrict__ y)
{
    implicit_gemm(y, x, w, nullptr);
}
#endif
