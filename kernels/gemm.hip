// A batch of matrix products, C = A * B or C = P + A * B, that is added up in ACCUMULATOR.
//
//   GEMM_M GEMM_N GEMM_K GEMM_BATCH                     sizes
//   A_TYPE A_STEP_BATCH A_STEP_M A_STEP_K, likewise B (K, N) and C (M, N)
//                                                       what lies in memory, and elements from one to the next
//   BLOCK_SIZE M_PER_BLOCK N_PER_BLOCK K_PER_BLOCK M_PER_THREAD N_PER_THREAD LANES
//                                                       how it is cut; a block has one work-item a sub-tile, whose
//                                                       columns are held LANES at a time
//
// A sub-tile's vectors are spread evenly over the block's tile, so that neighbours read neighbouring vectors of shared
// memory.
//
//   A_RUN B_RUN                                         neighbours in memory that a work-item copies together
//   A_ALIGNED B_ALIGNED                                 1 where every run begins at a multiple of its length
//   A_NAME B_NAME C_NAME                                what the factors and the product are in the convolution
//
// Each comes with the number of its first element, so that one binary serves every image.
//
// Shared memory holds two stages: while one is multiplied, the next one is on its way through registers. Work-items
// copy runs along whichever axis of A and B lies together in memory. P, if there is one, lies as C does, in floats.
// Types are those of include/element.h.
#include "element.h"
#include "index.h"
#include "lanes.h"

typedef ELEMENT_PASTE(element_, A_TYPE) a_t;
typedef ELEMENT_PASTE(element_, B_TYPE) b_t;
typedef ELEMENT_PASTE(element_, C_TYPE) c_t;

#define TILES_M ((GEMM_M + M_PER_BLOCK - 1) / M_PER_BLOCK)
#define TILES_N ((GEMM_N + N_PER_BLOCK - 1) / N_PER_BLOCK)
#define THREADS_N (N_PER_BLOCK / N_PER_THREAD)
#define A_RUNS (M_PER_BLOCK * K_PER_BLOCK / (BLOCK_SIZE * A_RUN))
#define B_RUNS (N_PER_BLOCK * K_PER_BLOCK / (BLOCK_SIZE * B_RUN))
#define A_ALONG_K (A_STEP_K == 1)
#define B_ALONG_K (B_STEP_K == 1)

// Rows in shared memory end in a vector of padding against bank conflicts.
#define A_ROW (M_PER_BLOCK + 4)
#define B_ROW (N_PER_BLOCK + LANES)
#define VECTORS (N_PER_THREAD / LANES)
#define M_RUN (M_PER_THREAD % 4 == 0 ? 4 : M_PER_THREAD % 2 == 0 ? 2 : 1)
#define OWN_ROW(i) ((i) / M_RUN * (M_PER_BLOCK / (M_PER_THREAD / M_RUN)) + (i) % M_RUN)
#define OWN_COLUMN(j) ((j) / LANES * (N_PER_BLOCK / VECTORS) + (j) % LANES)
#define TILE_ALIGNMENT (LANES % 4 == 0 ? 4 * LANES : 16)

// Of the runs of a tile of `rows` x K_PER_BLOCK, where the one begins that a work-item copies in its turn-th turn.
static __device__ __forceinline__ void find_run(int turn, int rows, int run, bool along_k, int* row, int* k)
{
    const int index = (turn * BLOCK_SIZE + (int)threadIdx.x) * run;
    *k = along_k ? index % K_PER_BLOCK : index / rows;
    *row = along_k ? index / K_PER_BLOCK : index % rows;
}

// What a work-item copies of a stage, on its way through registers.
struct copies {
    accumulator_t a[A_RUNS][A_RUN], b[B_RUNS][B_RUN];
};

template <int RUN, class T>
struct alignas(RUN * sizeof(T)) aligned_run {
    T at[RUN];
};

// Reads a run of which `existing` elements lie before the end of the matrix; the others are 0.
template <int RUN, bool IS_ALIGNED, class T>
static __device__ __forceinline__ void read_run(accumulator_t* to, const T* from, index_t step, int existing)
{
    if(existing >= RUN)
    {
        if(IS_ALIGNED && step == 1)
        {
            const aligned_run<RUN, T> read = *(const aligned_run<RUN, T>*)from;
#pragma unroll
            for(int j = 0; j < RUN; ++j)
                to[j] = load(&read.at[j]);
            return;
        }
#pragma unroll
        for(int j = 0; j < RUN; ++j)
            to[j] = load(from + j * step);
        return;
    }
#pragma unroll
    for(int j = 0; j < RUN; ++j)
        to[j] = j < existing ? load(from + j * step) : (accumulator_t)0;
}

static __device__ __forceinline__ copies read_stage(const a_t* a, const b_t* b, int first_m, int first_n, int first_k)
{
    copies read;
    int row, k;
#pragma unroll
    for(int i = 0; i < A_RUNS; ++i)
    {
        find_run(i, M_PER_BLOCK, A_RUN, A_ALONG_K, &row, &k);
        const int rows = GEMM_M - (first_m + row), depth = GEMM_K - (first_k + k);
        read_run<A_RUN, A_ALIGNED>(
            read.a[i], a + (index_t)(first_m + row) * A_STEP_M + (index_t)(first_k + k) * A_STEP_K,
            A_ALONG_K ? A_STEP_K : A_STEP_M, A_ALONG_K ? (rows > 0 ? depth : 0) : (depth > 0 ? rows : 0));
    }
#pragma unroll
    for(int i = 0; i < B_RUNS; ++i)
    {
        find_run(i, N_PER_BLOCK, B_RUN, B_ALONG_K, &row, &k);
        const int rows = GEMM_N - (first_n + row), depth = GEMM_K - (first_k + k);
        read_run<B_RUN, B_ALIGNED>(
            read.b[i], b + (index_t)(first_n + row) * B_STEP_N + (index_t)(first_k + k) * B_STEP_K,
            B_ALONG_K ? B_STEP_K : B_STEP_N, B_ALONG_K ? (rows > 0 ? depth : 0) : (depth > 0 ? rows : 0));
    }
    return read;
}

static __device__ __forceinline__ void
write_stage(const copies* read, accumulator_t (*a_tile)[A_ROW], accumulator_t (*b_tile)[B_ROW])
{
    int row, k;
#pragma unroll
    for(int i = 0; i < A_RUNS; ++i)
    {
        find_run(i, M_PER_BLOCK, A_RUN, A_ALONG_K, &row, &k);
#pragma unroll
        for(int j = 0; j < A_RUN; ++j)
            a_tile[A_ALONG_K ? k + j : k][A_ALONG_K ? row : row + j] = read->a[i][j];
    }
#pragma unroll
    for(int i = 0; i < B_RUNS; ++i)
    {
        find_run(i, N_PER_BLOCK, B_RUN, B_ALONG_K, &row, &k);
#pragma unroll
        for(int j = 0; j < B_RUN; ++j)
            b_tile[B_ALONG_K ? k + j : k][B_ALONG_K ? row : row + j] = read->b[i][j];
    }
}

struct alignas(4 * M_RUN) m_run {
    accumulator_t at[M_RUN];
};

struct sub_tile {
    lanes_t sums[M_PER_THREAD][VECTORS];
};

static __device__ __forceinline__ void
multiply_stage(sub_tile* results, accumulator_t (*a_tile)[A_ROW], accumulator_t (*b_tile)[B_ROW], int m, int n)
{
    sub_tile local = *results; // which no store to shared memory can be thought to change
#pragma unroll 2
    for(int k = 0; k < K_PER_BLOCK; ++k)
    {
        lanes_t b_part[VECTORS];
        m_run a_part[M_PER_THREAD / M_RUN];
#pragma unroll
        for(int j = 0; j < VECTORS; ++j)
            b_part[j] = *(const lanes_t*)&b_tile[k][n + OWN_COLUMN(j * LANES)];
#pragma unroll
        for(int i = 0; i < M_PER_THREAD / M_RUN; ++i)
            a_part[i] = *(const m_run*)&a_tile[k][m + OWN_ROW(i * M_RUN)];
#pragma unroll
        for(int i = 0; i < M_PER_THREAD; ++i)
#pragma unroll
            for(int j = 0; j < VECTORS; ++j)
                multiply_add(a_part[i / M_RUN].at[i % M_RUN], b_part[j], &local.sums[i][j]);
    }
    *results = local;
}

static __device__ __forceinline__ void
multiply(sub_tile* results, const a_t* a, const b_t* b, int first_m, int first_n, int m, int n)
{
    alignas(TILE_ALIGNMENT) __shared__ accumulator_t a_tile[2][K_PER_BLOCK][A_ROW];
    alignas(TILE_ALIGNMENT) __shared__ accumulator_t b_tile[2][K_PER_BLOCK][B_ROW];
    copies next = read_stage(a, b, first_m, first_n, 0);
    int stage = 0;
    for(int first_k = 0; first_k < GEMM_K; first_k += K_PER_BLOCK)
    {
        write_stage(&next, a_tile[stage], b_tile[stage]);
        __syncthreads();
        if(first_k + K_PER_BLOCK < GEMM_K)
            next = read_stage(a, b, first_m, first_n, first_k + K_PER_BLOCK);
        multiply_stage(results, a_tile[stage], b_tile[stage], m, n);
        stage ^= 1;
    }
}

static __device__ __forceinline__ void gemm(const a_t* a, const b_t* b, const float* partial, c_t* c)
{
    const int tile = (int)(blockIdx.x % (TILES_M * TILES_N));
    const index_t batch = blockIdx.x / (TILES_M * TILES_N);
    const int first_m = tile % TILES_M * M_PER_BLOCK;
    const int first_n = tile / TILES_M * N_PER_BLOCK;
    const int m = (int)threadIdx.x / THREADS_N * M_RUN;
    const int n = (int)threadIdx.x % THREADS_N * LANES;
    sub_tile results = {};
    multiply(&results, a + batch * A_STEP_BATCH, b + batch * B_STEP_BATCH, first_m, first_n, m, n);

    const index_t first = batch * C_STEP_BATCH + (index_t)(first_m + m) * C_STEP_M + (index_t)(first_n + n) * C_STEP_N;
#pragma unroll
    for(int i = 0; i < M_PER_THREAD; ++i)
#pragma unroll
        for(int j = 0; j < N_PER_THREAD; ++j)
        {
            if(first_m + m + OWN_ROW(i) >= GEMM_M || first_n + n + OWN_COLUMN(j) >= GEMM_N)
                continue;
            const index_t at = first + (index_t)OWN_ROW(i) * C_STEP_M + (index_t)OWN_COLUMN(j) * C_STEP_N;
            const accumulator_t sum = lane(&results.sums[i][j / LANES], j % LANES);
            store(c + at, partial ? partial[at] + sum : sum);
        }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
gemm_conv(const a_t* __restrict__ A_NAME, const b_t* __restrict__ B_NAME, c_t* __restrict__ C_NAME, index_t first_a,
          index_t first_b, index_t first_c)
{
    gemm(A_NAME + first_a, B_NAME + first_b, nullptr, C_NAME + first_c);
}

// P may be C itself.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
gemm_conv_add(const a_t* __restrict__ A_NAME, const b_t* __restrict__ B_NAME, const float* partial, c_t* C_NAME,
              index_t first_a, index_t first_b, index_t first_c)
{
    gemm(A_NAME + first_a, B_NAME + first_b, partial + first_c, C_NAME + first_c);
}
