// The tiles of both factors of gathered_gemm.h in shared memory, and how the work-items of a block copy them there.
//
// Specialised by what gemm_tile.h and matrix_core.h need, and by the BLOCK_SIZE work-items of a block.
//
// A factor lies as it does in its tensor: the lines of a tile run along k where k is the fast axis in memory, else along
// m or n. A work-item copies chunks of 8 neighbours, in pieces as large as the layout allows: 16 bytes where the channels
// of a group are a multiple of 8 and lie together, single elements where nothing is known.
#pragma once

#include "gemm_elements.h"
#include "matrix_core.h"
#include "shared_copy.h"

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

// The lines of the three tiles.
#define C_IS_ALONG_M (CONV_DIRECTION != 2 && C_STRIDE_M == 1)
#define A_LINE (A_IS_ALONG_K ? GEMM_K_PER_BLOCK : GEMM_M_PER_BLOCK)
#define B_LINE (B_IS_ALONG_K ? GEMM_K_PER_BLOCK : GEMM_N_PER_BLOCK)
#define C_LINE (C_IS_ALONG_M ? GEMM_M_PER_BLOCK : GEMM_N_PER_BLOCK)
#define A_LINES (A_IS_ALONG_K ? GEMM_M_PER_BLOCK : GEMM_K_PER_BLOCK)
#define B_LINES (B_IS_ALONG_K ? GEMM_N_PER_BLOCK : GEMM_K_PER_BLOCK)
#define C_LINES (C_IS_ALONG_M ? GEMM_N_PER_BLOCK : GEMM_M_PER_BLOCK)

// Where an element of a tile lies. Against bank conflicts lines are a chunk longer than they need to be, but where the
// matrix cores themselves read shared memory chunks lie where those look for them, counted from a multiple of 1024 bytes.
#define PITCH(line) ((line) + CHUNK)
#if MATRIX_CORE == MATRIX_WGMMA
struct alignas(1024) shared_rows {
    element_t at[8 * ROW];
};
#define TILE_ELEMENTS(lines, line) ((lines) * (line))
#define PLACE(lines, line, number, at) place_in_rows(lines, number, at)
#else
typedef piece<CHUNK> shared_rows;
#define TILE_ELEMENTS(lines, line) ((lines)*PITCH(line))
#define PLACE(lines, line, number, at) ((number)*PITCH(line) + (at))
#endif
#define A_ELEMENTS TILE_ELEMENTS(A_LINES, A_LINE)
#define STAGE_ELEMENTS (A_ELEMENTS + TILE_ELEMENTS(B_LINES, B_LINE))

// A work-item copies RUNS chunks of a line, in every STEP-th line, LINES_EACH times.
#define CHUNKS(line) ((line) / CHUNK)
#define RUNS(line) (CHUNKS(line) > BLOCK_SIZE ? CHUNKS(line) / BLOCK_SIZE : 1)
#define STEP(line) (CHUNKS(line) > BLOCK_SIZE ? 1 : BLOCK_SIZE / CHUNKS(line))
#define LINES_EACH(lines, line) CEIL_DIV(lines, STEP(line))

typedef piece<A_PIECE> a_pieces_t[RUNS(A_LINE)][LINES_EACH(A_LINES, A_LINE)][CHUNK / A_PIECE];
typedef piece<B_PIECE> b_pieces_t[RUNS(B_LINE)][LINES_EACH(B_LINES, B_LINE)][CHUNK / B_PIECE];

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

// Copies of a step start in turns, between which something else may begin: the first of a line, then every TURNS-th one.
template <int TURNS>
static __device__ __forceinline__ void
start_a(int turn, const tile* tile, const element_t* a, gemm_k_t first_k, element_t* stage, a_pieces_t on_their_way)
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
            if(j % TURNS != turn || !is_line(j, A_LINES, A_LINE))
                continue;
            const index_t offset =
                A_IS_ALONG_K ? (tile->first_m + line) * A_STRIDE_M : offset_along_k(first_k, line);
UNROLL
            for(int i = 0; i < CHUNK / A_PIECE; ++i)
            {
                const int at = chunk + i * A_PIECE;
                const bool is_there = is_m(tile->first_m + (A_IS_ALONG_K ? line : at)) &
                                      (first_k + (A_IS_ALONG_K ? at : line) < tile->end_k);
                start_copy((piece<A_PIECE>*)(stage + PLACE(A_LINES, A_LINE, line, at)), a + (offset + offsets[i]), is_there,
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
                    end_copy((piece<A_PIECE>*)(stage + PLACE(A_LINES, A_LINE, find_line(j, A_LINE),
                                                     find_chunk(run, A_LINE) + i * A_PIECE)),
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

template <int TURNS>
static __device__ __forceinline__ void start_b(int turn, const tile* tile, const element_t* b, gemm_k_t first_k,
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
            if(j % TURNS != turn || !is_line(j, B_LINES, B_LINE))
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
                start_copy((piece<B_PIECE>*)(stage + PLACE(B_LINES, B_LINE, line, at)), b + offset, is_there,
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
                    end_copy((piece<B_PIECE>*)(stage + PLACE(B_LINES, B_LINE, find_line(j, B_LINE),
                                                     find_chunk(run, B_LINE) + i * B_PIECE)),
                             &on_their_way[run][j][i]);
}
