// Implicit GEMM on matrix cores, in the three directions: tiles of the product of gathered_gemm.h in FP16 or BF16, added
// up in float.
//
// Specialised for one problem by the macros of convolution.h, for one cut into tiles by those of gemm_tile.h, and by:
// WAVES_M x WAVES_N waves share a block's tile, STAGES steps of k lie in shared memory at a time, and a block has
// BLOCK_SIZE work-items. Parts of sums are handed on TO_RESULT or TO_WORKSPACE.
//
// In shared memory a factor lies as it does in its tensor: the lines of a tile run along k where k is the fast axis in
// memory, else along m or n. A work-item copies chunks of 8 neighbours, in pieces as large as the layout allows: 16
// bytes where the channels of a group are a multiple of 8 and lie together, single elements where nothing is known.
#include "gemm_elements.h"
#include "matrix_core.h"
#include "shared_copy.h"

#define UNITS_M (GEMM_M_PER_BLOCK / WAVES_M / UNIT)
#define UNITS_N (GEMM_N_PER_BLOCK / WAVES_N / UNIT)

// Copies of B start between the products of a step, so that they do not stand in the way of its first fragments.
#define START_B_AT (GEMM_K_PER_BLOCK > UNIT_K ? UNIT_K : 0)

// How many of the chunk's neighbours lie together: the largest power of two up to 8 that divides the channels.
#define CHUNK 8
#define TOGETHER(channels) ((channels) % 8 == 0 ? 8 : (channels) % 4 == 0 ? 4 : (channels) % 2 == 0 ? 2 : 1)
#define GATHERED_TOGETHER (SOURCE_STRIDE(C) == 1 ? TOGETHER(CHANNELS) : 1)
#if CONV_DIRECTION == 0
#define A_PIECE (W_STRIDE(C) == 1 ? GATHERED_TOGETHER : 1)
#define C_PIECE (C_IS_ALONG_M ? TOGETHER(GEMM_M) : 1)
#elif CONV_DIRECTION == 1
#define A_PIECE (W_STRIDE(C) == 1 ? TOGETHER(GEMM_M) : 1)
#define C_PIECE (C_IS_ALONG_M ? TOGETHER(GEMM_M) : 1)
#else
#define A_PIECE (Y_STRIDE(C) == 1 ? TOGETHER(GEMM_M) : 1)
#define C_PIECE (W_STRIDE(C) == 1 ? GATHERED_TOGETHER : 1)
#endif
#define B_PIECE GATHERED_TOGETHER

// The lines of the three tiles, and a chunk more against bank conflicts.
#define C_IS_ALONG_M (CONV_DIRECTION != 2 && C_STRIDE_M == 1)
#define A_LINE (A_IS_ALONG_K ? GEMM_K_PER_BLOCK : GEMM_M_PER_BLOCK)
#define B_LINE (B_IS_ALONG_K ? GEMM_K_PER_BLOCK : GEMM_N_PER_BLOCK)
#define C_LINE (C_IS_ALONG_M ? GEMM_M_PER_BLOCK : GEMM_N_PER_BLOCK)
#define A_LINES (A_IS_ALONG_K ? GEMM_M_PER_BLOCK : GEMM_K_PER_BLOCK)
#define B_LINES (B_IS_ALONG_K ? GEMM_N_PER_BLOCK : GEMM_K_PER_BLOCK)
#define C_LINES (C_IS_ALONG_M ? GEMM_N_PER_BLOCK : GEMM_M_PER_BLOCK)
#define PITCH(line) ((line) + CHUNK)
#define A_ELEMENTS (A_LINES * PITCH(A_LINE))
#define STAGE_ELEMENTS (A_ELEMENTS + B_LINES * PITCH(B_LINE))

// A work-item copies RUNS chunks of a line, in every STEP-th line, LINES_EACH times.
#define CHUNKS(line) ((line) / CHUNK)
#define RUNS(line) (CHUNKS(line) > BLOCK_SIZE ? CHUNKS(line) / BLOCK_SIZE : 1)
#define STEP(line) (CHUNKS(line) > BLOCK_SIZE ? 1 : BLOCK_SIZE / CHUNKS(line))
#define LINES_EACH(lines, line) CEIL_DIV(lines, STEP(line))

typedef piece<A_PIECE> a_pieces_t[RUNS(A_LINE)][LINES_EACH(A_LINES, A_LINE)][CHUNK / A_PIECE];
typedef piece<B_PIECE> b_pieces_t[RUNS(B_LINE)][LINES_EACH(B_LINES, B_LINE)][CHUNK / B_PIECE];
typedef unit_sums sums_t[UNITS_M][UNITS_N];

static __device__ __forceinline__ int find_chunk(int run, int line)
{
    return ((int)threadIdx.x % CHUNKS(line) + run * BLOCK_SIZE) * CHUNK;
}

static __device__ __forceinline__ int find_line(int i, int line)
{
    return (int)threadIdx.x / CHUNKS(line) + i * STEP(line);
}

static __device__ __forceinline__ bool is_line(int i, int lines, int line)
{
    return lines % STEP(line) == 0 || find_line(i, line) < lines;
}

// Zeros stand for what lies beyond the last row of A, the last column of B and the last k.
static __device__ __forceinline__ bool is_m(int m) { return GEMM_M % GEMM_M_PER_BLOCK == 0 || m < GEMM_M; }

static __device__ __forceinline__ bool is_n(gemm_n_t n) { return GEMM_N % GEMM_N_PER_BLOCK == 0 || n < GEMM_N; }

static __device__ __forceinline__ void
start_a(const tile* tile, const element_t* a, gemm_k_t first_k, element_t* stage, a_pieces_t on_their_way)
{
UNROLL
    for(int run = 0; run < RUNS(A_LINE); ++run)
    {
        const int chunk = find_chunk(run, A_LINE);
        index_t offsets[CHUNK / A_PIECE];
UNROLL
        for(int i = 0; i < CHUNK / A_PIECE; ++i)
            offsets[i] = A_IS_ALONG_K ? offset_along_k(first_k, chunk + i * A_PIECE)
                                      : (tile->first_m + chunk + i * A_PIECE) * A_STRIDE_M;
UNROLL
        for(int j = 0; j < LINES_EACH(A_LINES, A_LINE); ++j)
        {
            const int line = find_line(j, A_LINE);
            if(!is_line(j, A_LINES, A_LINE))
                continue;
            const index_t offset =
                A_IS_ALONG_K ? (tile->first_m + line) * A_STRIDE_M : offset_along_k(first_k, line);
UNROLL
            for(int i = 0; i < CHUNK / A_PIECE; ++i)
            {
                const int at = chunk + i * A_PIECE;
                const bool is_there = is_m(tile->first_m + (A_IS_ALONG_K ? line : at)) &
                                      (first_k + (A_IS_ALONG_K ? at : line) < tile->end_k);
                start_copy((piece<A_PIECE>*)(stage + line * PITCH(A_LINE) + at), a + (offset + offsets[i]), is_there,
                           &on_their_way[run][j][i]);
            }
        }
    }
}

static __device__ __forceinline__ void end_a(element_t* stage, const a_pieces_t on_their_way)
{
UNROLL
    for(int run = 0; run < RUNS(A_LINE); ++run)
UNROLL
        for(int j = 0; j < LINES_EACH(A_LINES, A_LINE); ++j)
UNROLL
            for(int i = 0; i < CHUNK / A_PIECE; ++i)
                if(is_line(j, A_LINES, A_LINE))
                    end_copy((piece<A_PIECE>*)(stage + find_line(j, A_LINE) * PITCH(A_LINE) +
                                               find_chunk(run, A_LINE) + i * A_PIECE),
                             &on_their_way[run][j][i]);
}

// The columns that a work-item copies from: one a line, or, where lines run along n, one a piece of a chunk.
typedef b_column columns_t[B_IS_ALONG_K ? 1 : RUNS(B_LINE)]
                          [B_IS_ALONG_K ? LINES_EACH(B_LINES, B_LINE) : CHUNK / B_PIECE];

static __device__ __forceinline__ void find_columns(const tile* tile, columns_t columns)
{
#if B_IS_ALONG_K
UNROLL
    for(int j = 0; j < LINES_EACH(B_LINES, B_LINE); ++j)
        columns[0][j] = find_b_column(tile->first_n + find_line(j, B_LINE));
#else
UNROLL
    for(int run = 0; run < RUNS(B_LINE); ++run)
UNROLL
        for(int i = 0; i < CHUNK / B_PIECE; ++i)
            columns[run][i] = find_b_column(tile->first_n + find_chunk(run, B_LINE) + i * B_PIECE);
#endif
}

static __device__ __forceinline__ void start_b(const tile* tile, const element_t* b, gemm_k_t first_k,
                                               const columns_t columns, element_t* stage, b_pieces_t on_their_way)
{
UNROLL
    for(int run = 0; run < RUNS(B_LINE); ++run)
    {
        const int chunk = find_chunk(run, B_LINE);
        b_row rows[CHUNK / B_PIECE];
        if(B_IS_ALONG_K)
UNROLL
            for(int i = 0; i < CHUNK / B_PIECE; ++i)
                rows[i] = find_b_row(first_k, chunk + i * B_PIECE);
UNROLL
        for(int j = 0; j < LINES_EACH(B_LINES, B_LINE); ++j)
        {
            const int line = find_line(j, B_LINE);
            if(!is_line(j, B_LINES, B_LINE))
                continue;
            if(!B_IS_ALONG_K)
                rows[0] = find_b_row(first_k, line);
UNROLL
            for(int i = 0; i < CHUNK / B_PIECE; ++i)
            {
                const int at = chunk + i * B_PIECE;
                offset_t offset;
                const bool is_inside = B_IS_ALONG_K ? find_element(rows[i], columns[0][j], &offset)
                                                    : find_element(rows[0], columns[run][i], &offset);
                const bool is_there = is_inside & is_n(tile->first_n + (B_IS_ALONG_K ? line : at)) &
                                      (first_k + (B_IS_ALONG_K ? at : line) < tile->end_k);
                start_copy((piece<B_PIECE>*)(stage + line * PITCH(B_LINE) + at), b + offset, is_there,
                           &on_their_way[run][j][i]);
            }
        }
    }
}

static __device__ __forceinline__ void end_b(element_t* stage, const b_pieces_t on_their_way)
{
UNROLL
    for(int run = 0; run < RUNS(B_LINE); ++run)
UNROLL
        for(int j = 0; j < LINES_EACH(B_LINES, B_LINE); ++j)
UNROLL
            for(int i = 0; i < CHUNK / B_PIECE; ++i)
                if(is_line(j, B_LINES, B_LINE))
                    end_copy((piece<B_PIECE>*)(stage + find_line(j, B_LINE) * PITCH(B_LINE) +
                                               find_chunk(run, B_LINE) + i * B_PIECE),
                             &on_their_way[run][j][i]);
}

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
        start_a(tile, a, k, stage, a_pieces);
        start_b(tile, b, k, columns, stage + A_ELEMENTS, b_pieces);
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
                start_a(tile, a, next_k, next_stage, a_pieces);
            if(k == START_B_AT)
            {
                start_b(tile, b, next_k, columns, next_stage + A_ELEMENTS, b_pieces);
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
            for(int q = 0; q < LANE_SUMS; ++q)
            {
                const int row = m + i * UNIT + sum_m(lane, q);
                const int column = n + j * UNIT + sum_n(lane, q);
                const int at = C_IS_ALONG_M ? column * PITCH(C_LINE) + row : row * PITCH(C_LINE) + column;
                store(results + at, sums[i][j].at[q]);
            }
}

static __device__ __forceinline__ void write_results(const tile* tile, const element_t* results, element_t* c)
{
UNROLL
    for(int run = 0; run < RUNS(C_LINE); ++run)
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
                    *(piece<C_PIECE>*)(c + m * C_STRIDE_M + find_c(n)) =
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
                const gemm_n_t column = tile->first_n + n + j * UNIT + sum_n(lane, q);
                if(row < GEMM_M && column < GEMM_N)
                    workspace[row * C_STRIDE_M + find_c(column)] = sums[i][j].at[q];
            }
}
#endif

static __device__ __forceinline__ void
implicit_gemm(const element_t* a, const element_t* b, element_t* c, accumulator_t* workspace)
{
    extern __shared__ piece<CHUNK> shared[];
    element_t* stages = shared[0].at;
    const tile tile = find_tile(blockIdx.x);
    const int wave = (int)threadIdx.x / WAVE;
    const int m = wave / WAVES_N * UNITS_M * UNIT;
    const int n = wave % WAVES_N * UNITS_N * UNIT;
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
