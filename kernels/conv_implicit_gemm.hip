// Implicit GEMM in the three directions: tiles of the matrix product of gathered_gemm.h, whose factors go to shared
// memory on their way from the tensors.
//
// Specialised for one problem by the macros of convolution.h, and for one way of cutting it, in the words of MIOpen's
// V4R4, by: BLOCK_SIZE work-items compute GEMM_M_PER_BLOCK x GEMM_N_PER_BLOCK results in steps of GEMM_K_PER_BLOCK.
// A work-item has REPEAT_M x REPEAT_N sub-tiles of GEMM_M_PER_THREAD x GEMM_N_PER_THREAD, spread evenly over the block's
// tile, so that neighbours read neighbouring vectors of shared memory. It copies runs of VECTOR_WIDTH elements of B along
// the axis on which they lie together: columns, but rows where B's rows are positions that do.
//
// Sums may be taken in parts, by blocks of their own, which hand them on as -DHAND_ON says (gemm_tile.h).
//
// Several work-items keep two stages in shared memory: while one is multiplied, the next one is on its way to the other
// through registers. A lone work-item (BLOCK_SIZE 1: a CPU, whose barriers are dear) has one stage, no barrier, and
// finishes a sub-tile's whole run of k while it lies in vector registers.
#include "gathered_runs.h"
#include "gemm_tile.h"
#include "lanes.h"

#define SUB_TILE_M (GEMM_M_PER_BLOCK / REPEAT_M)
#define SUB_TILE_N (GEMM_N_PER_BLOCK / REPEAT_N)
#define THREADS_N (SUB_TILE_N / GEMM_N_PER_THREAD)
#define VECTORS (GEMM_N_PER_THREAD / LANES)

#if BLOCK_SIZE == 1
#define STAGES 1
#define A_ROW GEMM_K_PER_BLOCK
#define B_ROW GEMM_N_PER_BLOCK
#define A_AT(m, k) [m][k]
#define A_ROWS GEMM_M_PER_BLOCK
#else
#define STAGES 2
// A work-item copies A_STEPS elements of A that share one k. Rows end in a vector of padding against bank conflicts.
#define A_STEP (BLOCK_SIZE / GEMM_K_PER_BLOCK)
#define A_STEPS (GEMM_M_PER_BLOCK / A_STEP)
#define A_ROW (GEMM_M_PER_BLOCK + 4)
#define B_ROW (GEMM_N_PER_BLOCK + (LANES > 4 ? LANES : 4))
#define A_AT(m, k) [k][m]
#define A_ROWS GEMM_K_PER_BLOCK
#endif

#define TILE_ALIGNMENT (LANES % 4 == 0 ? 4 * LANES : 16)

struct alignas(GEMM_M_PER_THREAD % 4 == 0 ? 16 : GEMM_M_PER_THREAD % 2 == 0 ? 8 : 4) m_vector {
    accumulator_t at[GEMM_M_PER_THREAD];
};

typedef accumulator_t a_tile_t[STAGES][A_ROWS][A_ROW];
typedef accumulator_t b_tile_t[STAGES][GEMM_K_PER_BLOCK][B_ROW];
typedef lanes_t sums_t[REPEAT_M][REPEAT_N][GEMM_M_PER_THREAD][VECTORS];

static __device__ __forceinline__ void read_a_part(const accumulator_t (*a)[A_ROW], int m, int k, m_vector* part)
{
#if BLOCK_SIZE == 1
#pragma unroll
    for(int i = 0; i < GEMM_M_PER_THREAD; ++i)
        part->at[i] = a A_AT(m + i, k);
#else
    *part = *(const m_vector*)&a A_AT(m, k);
#endif
}

// Adds k products to every result of a sub-tile, from the first k on.
static __device__ __forceinline__ void multiply_sub_tile(const accumulator_t (*a)[A_ROW],
                                                         const accumulator_t (*b)[B_ROW], int m, int n,
                                                         int first_k, int count,
                                                         lanes_t (*sums)[VECTORS])
{
    lanes_t sum[GEMM_M_PER_THREAD][VECTORS];
#pragma unroll
    for(int i = 0; i < GEMM_M_PER_THREAD; ++i)
#pragma unroll
        for(int j = 0; j < VECTORS; ++j)
            sum[i][j] = sums[i][j];
    for(int k = first_k; k < first_k + count; ++k)
    {
        m_vector a_part;
        lanes_t b_part[VECTORS];
        read_a_part(a, m, k, &a_part);
#pragma unroll
        for(int j = 0; j < VECTORS; ++j)
            b_part[j] = *(const lanes_t*)&b[k][n + j * LANES];
#pragma unroll
        for(int i = 0; i < GEMM_M_PER_THREAD; ++i)
#pragma unroll
            for(int j = 0; j < VECTORS; ++j)
                multiply_add(a_part.at[i], b_part[j], &sum[i][j]);
    }
#pragma unroll
    for(int i = 0; i < GEMM_M_PER_THREAD; ++i)
#pragma unroll
        for(int j = 0; j < VECTORS; ++j)
            sums[i][j] = sum[i][j];
}

static __device__ __forceinline__ void hand_on(result_t* c, accumulator_t* workspace, index_t at, accumulator_t sum)
{
#if HAND_ON == TO_RESULT
    store(c + at, sum);
#elif HAND_ON == TO_WORKSPACE
    workspace[at] = sum;
#else
    atomicAdd(c + at, sum);
#endif
}

#if BLOCK_SIZE == 1
// All of both tiles, for the rows and the k that there are.
static __device__ __forceinline__ void copy_tiles(const element_t* a, const element_t* b, int rows, gemm_k_t first_k,
                                                  int count, const columns* columns,
                                                  accumulator_t (*a_tile)[A_ROW],
                                                  accumulator_t (*b_tile)[B_ROW])
{
    index_t a_offsets[GEMM_K_PER_BLOCK];
    bool is_straight = true;
    for(int k = 0; k < count; ++k)
    {
        a_offsets[k] = find_a(first_k + k);
        is_straight = is_straight && a_offsets[k] == a_offsets[0] + k;
        const place row = find_row(first_k + k);
        for(int run = 0; run < COLUMN_RUNS; ++run)
            read_run(b, row, columns->at[run], columns->reach[run], &b_tile[k][run * VECTOR_WIDTH]);
    }
    for(int m = 0; m < rows; ++m)
    {
        const element_t* from = a + m * A_STRIDE_M;
        if(is_straight)
            for(int k = 0; k < count; ++k)
                a_tile[m][k] = load(from + a_offsets[0] + k);
        else
            for(int k = 0; k < count; ++k)
                a_tile[m][k] = load(from + a_offsets[k]);
    }
}

static __device__ __forceinline__ void multiply_tile(const tile* tile, const element_t* a, const element_t* b,
                                                     a_tile_t a_tile, b_tile_t b_tile, int, int, sums_t sums)
{
    columns columns;
    find_columns(tile->first_n, &columns);
    const int rows = GEMM_M - tile->first_m < GEMM_M_PER_BLOCK ? GEMM_M - tile->first_m : GEMM_M_PER_BLOCK;
    for(gemm_k_t first_k = tile->first_k; first_k < tile->end_k; first_k += GEMM_K_PER_BLOCK)
    {
        const int count = tile->end_k - first_k < GEMM_K_PER_BLOCK ? (int)(tile->end_k - first_k) : GEMM_K_PER_BLOCK;
        copy_tiles(a, b, rows, first_k, count, &columns, a_tile[0], b_tile[0]);
        for(int j = 0; j < REPEAT_N && tile->first_n + j * SUB_TILE_N < GEMM_N; ++j)
            for(int i = 0; i < REPEAT_M && i * SUB_TILE_M < rows; ++i)
                multiply_sub_tile(a_tile[0], b_tile[0], i * SUB_TILE_M, j * SUB_TILE_N, 0, count, sums[i][j]);
    }
}

// Rows of the result one after the other; where neighbouring columns are neighbours in memory, a vector at a time.
static __device__ __forceinline__ void
hand_on_sums(const tile* tile, int, int, const sums_t sums, result_t* c, accumulator_t* workspace)
{
    const int rows = GEMM_M - tile->first_m < GEMM_M_PER_BLOCK ? GEMM_M - tile->first_m : GEMM_M_PER_BLOCK;
    for(int j = 0; j < REPEAT_N; ++j)
    {
        const gemm_n_t first_n = tile->first_n + j * SUB_TILE_N;
        const int count = GEMM_N - first_n < SUB_TILE_N ? (int)(GEMM_N - first_n) : SUB_TILE_N;
        index_t at[SUB_TILE_N];
        bool is_straight = count == SUB_TILE_N;
        for(int i = 0; i < count; ++i)
        {
            at[i] = find_c(first_n + i);
            is_straight = is_straight && at[i] == at[0] + i;
        }
        for(int m = 0; m < rows; ++m)
        {
            const accumulator_t* sum = (const accumulator_t*)sums[m / SUB_TILE_M][j][m % SUB_TILE_M];
            const index_t row = (tile->first_m + m) * C_STRIDE_M;
            if(is_straight)
                for(int i = 0; i < SUB_TILE_N; ++i)
                    hand_on(c, workspace, row + at[0] + i, sum[i]);
            else
                for(int i = 0; i < count; ++i)
                    hand_on(c, workspace, row + at[i], sum[i]);
        }
    }
}
#else
typedef accumulator_t b_runs_t[ROW_RUNS][COLUMN_RUNS][VECTOR_WIDTH];

// The runs of a run of rows, of which `count` are there; the others are 0.
static __device__ __forceinline__ void
read_rows(const element_t* b, gemm_k_t first_k, int count, const columns* columns, accumulator_t (*read)[VECTOR_WIDTH])
{
    place rows[RUN_ROWS];
#pragma unroll
    for(int i = 0; i < RUN_ROWS; ++i)
        rows[i] = find_row(first_k + i);
    const int reach = RUN_ROWS > 1 ? find_reach(rows) : -1;
#pragma unroll
    for(int run = 0; run < COLUMN_RUNS; ++run)
    {
        const place* column = columns->at[run];
        if(count >= RUN_ROWS)
            read_run(b, B_ALONG_K ? column[0] : rows[0], B_ALONG_K ? rows : column,
                     B_ALONG_K ? reach : columns->reach[run], read[run]);
        else
#pragma unroll
            for(int i = 0; i < VECTOR_WIDTH; ++i)
                read[run][i] = i < count ? read_b(b, column[0], rows[B_ALONG_K ? i : 0]) : 0;
    }
}

static __device__ __forceinline__ void write_runs(b_runs_t read, int k, int n, accumulator_t (*b_tile)[B_ROW])
{
#pragma unroll
    for(int i = 0; i < ROW_RUNS; ++i)
#pragma unroll
        for(int j = 0; j < COLUMN_RUNS; ++j)
#pragma unroll
            for(int v = 0; v < VECTOR_WIDTH; ++v)
                b_tile[k + i * ROW_STEP + (B_ALONG_K ? v : 0)][n + j * COLUMN_STEP + (B_ALONG_K ? 0 : v)] =
                    read[i][j][v];
}

static __device__ __forceinline__ void multiply_tile(const tile* tile, const element_t* a, const element_t* b,
                                                     a_tile_t a_tile, b_tile_t b_tile, int m, int n, sums_t sums)
{
    const int thread = (int)threadIdx.x;
    const int a_k = thread % GEMM_K_PER_BLOCK;
    const int a_m = thread / GEMM_K_PER_BLOCK;
    const int along = thread % RUNS_IN_LINE * VECTOR_WIDTH, line = thread / RUNS_IN_LINE;
    const int b_k = B_ALONG_K ? along : line;
    const int b_n = B_ALONG_K ? line : along;
    columns columns;
    find_columns(tile->first_n + b_n, &columns);

    // In the first turn there is nothing to multiply yet, in the last one nothing to copy any more.
    int stage = 0;
    for(gemm_k_t next_k = tile->first_k; next_k < tile->end_k + GEMM_K_PER_BLOCK; next_k += GEMM_K_PER_BLOCK)
    {
        accumulator_t a_next[A_STEPS];
        b_runs_t b_next;
        if(next_k < tile->end_k)
        {
            const bool is_k = next_k + a_k < tile->end_k;
            const index_t a_offset = is_k ? find_a(next_k + a_k) : 0;
#pragma unroll
            for(int i = 0; i < A_STEPS; ++i)
            {
                const int row = a_m + i * A_STEP;
                a_next[i] = is_k && tile->first_m + row < GEMM_M ? load(a + row * A_STRIDE_M + a_offset) : 0;
            }
#pragma unroll
            for(int i = 0; i < ROW_RUNS; ++i)
            {
                const gemm_k_t k = next_k + b_k + i * ROW_STEP;
                read_rows(b, k, tile->end_k - k < RUN_ROWS ? (int)(tile->end_k - k) : RUN_ROWS, &columns, b_next[i]);
            }
        }
        if(next_k > tile->first_k)
        {
#pragma unroll
            for(int k = 0; k < GEMM_K_PER_BLOCK; ++k)
#pragma unroll
                for(int i = 0; i < REPEAT_M; ++i)
#pragma unroll
                    for(int j = 0; j < REPEAT_N; ++j)
                        multiply_sub_tile(a_tile[stage], b_tile[stage], i * SUB_TILE_M + m, j * SUB_TILE_N + n, k, 1,
                                          sums[i][j]);
            stage ^= 1;
        }
        if(next_k < tile->end_k)
        {
#pragma unroll
            for(int i = 0; i < A_STEPS; ++i)
                a_tile[stage] A_AT(a_m + i * A_STEP, a_k) = a_next[i];
            write_runs(b_next, b_k, b_n, b_tile[stage]);
            __syncthreads();
        }
    }
}

static __device__ __forceinline__ void
hand_on_sums(const tile* tile, int m, int n, const sums_t sums, result_t* c, accumulator_t* workspace)
{
#pragma unroll
    for(int j = 0; j < REPEAT_N; ++j)
#pragma unroll
        for(int jn = 0; jn < GEMM_N_PER_THREAD; ++jn)
        {
            const gemm_n_t column = tile->first_n + j * SUB_TILE_N + n + jn;
            if(column >= GEMM_N)
                continue;
            const index_t at = find_c(column);
#pragma unroll
            for(int i = 0; i < REPEAT_M; ++i)
#pragma unroll
                for(int im = 0; im < GEMM_M_PER_THREAD; ++im)
                {
                    const int row = tile->first_m + i * SUB_TILE_M + m + im;
                    if(row < GEMM_M)
                        hand_on(c, workspace, at + row * C_STRIDE_M, lane(&sums[i][j][im][jn / LANES], jn % LANES));
                }
        }
}
#endif

static __device__ __forceinline__ void
implicit_gemm(const element_t* a, const element_t* b, result_t* c, accumulator_t* workspace)
{
    alignas(TILE_ALIGNMENT) __shared__ a_tile_t a_tile;
    alignas(TILE_ALIGNMENT) __shared__ b_tile_t b_tile;
    const tile tile = find_tile(blockIdx.x);
    const int m = (int)threadIdx.x / THREADS_N * GEMM_M_PER_THREAD;
    const int n = (int)threadIdx.x % THREADS_N * GEMM_N_PER_THREAD;
    sums_t sums = {};
    multiply_tile(&tile, a + tile.group * A_STRIDE_GROUP + tile.first_m * A_STRIDE_M, b + tile.group * B_STRIDE_GROUP,
                  a_tile, b_tile, m, n, sums);
    const index_t first_of_group = tile.group * C_STRIDE_GROUP;
    const index_t first_of_part = tile.part * ((index_t)CONV_K * C_PER_GROUP * TAPS);
    hand_on_sums(&tile, m, n, sums, c + first_of_group, workspace + first_of_part + first_of_group);
}

#if CONV_DIRECTION == 0
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_conv_fwd(const element_t* __restrict__ x, const element_t* __restrict__ w, result_t* __restrict__ y)
{
    implicit_gemm(w, x, y, nullptr);
}
#elif CONV_DIRECTION == 1
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_conv_bwd(result_t* __restrict__ x, const element_t* __restrict__ w, const element_t* __restrict__ y)
{
    implicit_gemm(w, y, x, nullptr);
}
#elif HAND_ON == TO_WORKSPACE
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_conv_wrw_parts(const element_t* __restrict__ x, const element_t* __restrict__ y,
                             accumulator_t* __restrict__ workspace)
{
    implicit_gemm(y, x, nullptr, workspace);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_conv_wrw(const element_t* __restrict__ x, result_t* __restrict__ w, const element_t* __restrict__ y)
{
    implicit_gemm(y, x, w, nullptr);
}
#endif
