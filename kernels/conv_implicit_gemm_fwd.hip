// Implicit GEMM, forward, fp32, NCHW or NCDHW: a matrix product whose second factor, the im2col matrix, is never stored
// but looked up element by element while a tile of it goes to shared memory.
//
//   per group:   C[m][n] = sum over k of A[m][k] * B[k][n]
//   m  output channel of the group     k  input channel of the group and filter tap     n  image and output position
//
// Specialised for one problem by the -D macros CONV_*, and for one way of cutting it by those of MIOpen's V4R4:
// BLOCK_SIZE work-items compute GEMM_M_PER_BLOCK x GEMM_N_PER_BLOCK results in steps of GEMM_K_PER_BLOCK. A work-item has
// REPEAT_M x REPEAT_N sub-tiles of GEMM_M_PER_THREAD x GEMM_N_PER_THREAD, spread evenly over the block's tile, so that
// neighbours read neighbouring vectors of shared memory.
//
// Shared memory holds two stages: while one is multiplied, the next one is on its way to the other through registers.
// The grid has one axis, output-channel tiles fastest, so that blocks that run together read the same part of x.
#include "index.h"

#define C_PER_GROUP (CONV_C / CONV_GROUPS)
#define GEMM_M (CONV_K / CONV_GROUPS)
#define GEMM_K (C_PER_GROUP * CONV_FIL_D * CONV_FIL_H * CONV_FIL_W)
#define IN_POSITIONS ((index_t)CONV_IN_D * CONV_IN_H * CONV_IN_W)
#define OUT_POSITIONS ((column_t)CONV_OUT_D * CONV_OUT_H * CONV_OUT_W)
#define GEMM_N (CONV_N * OUT_POSITIONS)

#define TILES_M ((GEMM_M + GEMM_M_PER_BLOCK - 1) / GEMM_M_PER_BLOCK)
#define TILES_N ((int)((GEMM_N + GEMM_N_PER_BLOCK - 1) / GEMM_N_PER_BLOCK))

#define SUB_TILE_M (GEMM_M_PER_BLOCK / REPEAT_M)
#define SUB_TILE_N (GEMM_N_PER_BLOCK / REPEAT_N)
#define THREADS_N (SUB_TILE_N / GEMM_N_PER_THREAD)

// A work-item copies A_STEPS elements of A that share one k, and B_STEPS elements of each of B_COLUMNS columns of B.
#define A_STEP (BLOCK_SIZE / GEMM_K_PER_BLOCK)
#define A_STEPS (GEMM_M_PER_BLOCK / A_STEP)
#if BLOCK_SIZE > GEMM_N_PER_BLOCK
#define B_COLUMNS 1
#define B_STEP (BLOCK_SIZE / GEMM_N_PER_BLOCK)
#else
#define B_COLUMNS (GEMM_N_PER_BLOCK / BLOCK_SIZE)
#define B_STEP 1
#endif
#define B_STEPS (GEMM_K_PER_BLOCK / B_STEP)

// Rows of A in shared memory end in a vector of padding against bank conflicts.
#define A_ROW (GEMM_M_PER_BLOCK + 4)

// Numbers that fit stay in 32 bits; the preprocessor itself counts in 64.
#if CONV_N * CONV_OUT_D * CONV_OUT_H * CONV_OUT_W + GEMM_N_PER_BLOCK > 0x7fffffff
typedef unsigned long long column_t;
#else
typedef unsigned int column_t;
#endif
#if CONV_C * CONV_IN_D * CONV_IN_H * CONV_IN_W > 0x7fffffff
typedef index_t offset_t;
#else
typedef int offset_t;
#endif

#define VECTOR_BYTES(floats) ((floats) % 4 == 0 ? 16 : (floats) % 2 == 0 ? 8 : 4)

struct alignas(VECTOR_BYTES(GEMM_M_PER_THREAD)) m_vector {
    float at[GEMM_M_PER_THREAD];
};

struct alignas(VECTOR_BYTES(GEMM_N_PER_THREAD)) n_vector {
    float at[GEMM_N_PER_THREAD];
};

// Where the filter's window lies that makes one column of B.
struct window {
    const float* input; // of the image and the group
    int d, h, w;
};

static __device__ __forceinline__ window find_window(const float* x, int group, column_t n)
{
    const unsigned int image = (unsigned int)(n / OUT_POSITIONS);
    const column_t position = n % OUT_POSITIONS;
    const int w = (int)(position % CONV_OUT_W);
    const int h = (int)(position / CONV_OUT_W % CONV_OUT_H);
    const int d = (int)(position / ((column_t)CONV_OUT_W * CONV_OUT_H));
    window found;
    found.input = x + ((index_t)image * CONV_C + group * C_PER_GROUP) * IN_POSITIONS;
    found.d = d * CONV_STRIDE_D - CONV_PAD_D;
    found.h = h * CONV_STRIDE_H - CONV_PAD_H;
    found.w = n < GEMM_N ? w * CONV_STRIDE_W - CONV_PAD_W : -0x7fffffff - 1; // outside for every tap
    return found;
}

static __device__ __forceinline__ float read_window(const window* window, unsigned int k)
{
    const int channel = (int)(k / (CONV_FIL_W * CONV_FIL_H * CONV_FIL_D));
    const int d = window->d + (int)(k / (CONV_FIL_W * CONV_FIL_H) % CONV_FIL_D) * CONV_DILATION_D;
    const int h = window->h + (int)(k / CONV_FIL_W % CONV_FIL_H) * CONV_DILATION_H;
    const int w = window->w + (int)(k % CONV_FIL_W) * CONV_DILATION_W;
    if(k >= GEMM_K || !is_inside(d, CONV_IN_D) || !is_inside(h, CONV_IN_H) || !is_inside(w, CONV_IN_W))
        return 0.0f;
    return window->input[(((offset_t)channel * CONV_IN_D + d) * CONV_IN_H + h) * CONV_IN_W + w];
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
implicit_gemm_conv_fwd(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y)
{
    alignas(16) __shared__ float a_tile[2][GEMM_K_PER_BLOCK][A_ROW];
    alignas(16) __shared__ float b_tile[2][GEMM_K_PER_BLOCK][GEMM_N_PER_BLOCK];
    const int thread = (int)threadIdx.x;
    const int tile = (int)blockIdx.x;
    const int group = tile / (TILES_M * TILES_N);
    const int first_m = tile % TILES_M * GEMM_M_PER_BLOCK;
    const column_t first_n = (column_t)(tile / TILES_M % TILES_N) * GEMM_N_PER_BLOCK;

    // What this work-item copies.
    const int a_k = thread % GEMM_K_PER_BLOCK;
    const int a_m = thread / GEMM_K_PER_BLOCK;
    const float* a = w + ((index_t)group * GEMM_M + first_m) * GEMM_K;
    const int b_n = thread % GEMM_N_PER_BLOCK;
    const int b_k = thread / GEMM_N_PER_BLOCK;
    window windows[B_COLUMNS];
#pragma unroll
    for(int j = 0; j < B_COLUMNS; ++j)
        windows[j] = find_window(x, group, first_n + b_n + j * BLOCK_SIZE);

    // What it computes.
    const int m = thread / THREADS_N * GEMM_M_PER_THREAD;
    const int n = thread % THREADS_N * GEMM_N_PER_THREAD;
    float sums[REPEAT_M][GEMM_M_PER_THREAD][REPEAT_N][GEMM_N_PER_THREAD] = {};

    // In the first turn there is nothing to multiply yet, in the last one nothing to copy any more.
    int stage = 0;
    for(int next_k = 0; next_k < GEMM_K + GEMM_K_PER_BLOCK; next_k += GEMM_K_PER_BLOCK)
    {
        float a_next[A_STEPS], b_next[B_STEPS][B_COLUMNS];
        if(next_k < GEMM_K)
        {
#pragma unroll
            for(int i = 0; i < A_STEPS; ++i)
            {
                const int row = a_m + i * A_STEP;
                const bool inside = first_m + row < GEMM_M && next_k + a_k < GEMM_K;
                a_next[i] = inside ? a[(index_t)row * GEMM_K + next_k + a_k] : 0.0f;
            }
#pragma unroll
            for(int i = 0; i < B_STEPS; ++i)
#pragma unroll
                for(int j = 0; j < B_COLUMNS; ++j)
                    b_next[i][j] = read_window(&windows[j], next_k + b_k + i * B_STEP);
        }
        if(next_k > 0)
        {
#pragma unroll
            for(int k = 0; k < GEMM_K_PER_BLOCK; ++k)
            {
                m_vector a_part[REPEAT_M];
                n_vector b_part[REPEAT_N];
#pragma unroll
                for(int i = 0; i < REPEAT_M; ++i)
                    a_part[i] = *(const m_vector*)&a_tile[stage][k][i * SUB_TILE_M + m];
#pragma unroll
                for(int j = 0; j < REPEAT_N; ++j)
                    b_part[j] = *(const n_vector*)&b_tile[stage][k][j * SUB_TILE_N + n];
#pragma unroll
                for(int i = 0; i < REPEAT_M; ++i)
#pragma unroll
                    for(int im = 0; im < GEMM_M_PER_THREAD; ++im)
#pragma unroll
                        for(int j = 0; j < REPEAT_N; ++j)
                            // Left to the compiler: a GPU's unrolls four turns, a CPU's makes vectors of more.
                            for(int jn = 0; jn < GEMM_N_PER_THREAD; ++jn)
                                sums[i][im][j][jn] = fmaf(a_part[i].at[im], b_part[j].at[jn], sums[i][im][j][jn]);
            }
            stage ^= 1;
        }
        if(next_k < GEMM_K)
        {
#pragma unroll
            for(int i = 0; i < A_STEPS; ++i)
                a_tile[stage][a_k][a_m + i * A_STEP] = a_next[i];
#pragma unroll
            for(int i = 0; i < B_STEPS; ++i)
#pragma unroll
                for(int j = 0; j < B_COLUMNS; ++j)
                    b_tile[stage][b_k + i * B_STEP][b_n + j * BLOCK_SIZE] = b_next[i][j];
            __syncthreads();
        }
    }

#pragma unroll
    for(int j = 0; j < REPEAT_N; ++j)
        for(int jn = 0; jn < GEMM_N_PER_THREAD; ++jn)
        {
            const column_t column = first_n + j * SUB_TILE_N + n + jn;
            if(column >= GEMM_N)
                continue;
            const index_t image = (index_t)(column / OUT_POSITIONS);
            float* out = y + (image * CONV_K + group * GEMM_M) * OUT_POSITIONS + column % OUT_POSITIONS;
#pragma unroll
            for(int i = 0; i < REPEAT_M; ++i)
#pragma unroll
                for(int im = 0; im < GEMM_M_PER_THREAD; ++im)
                {
                    const int row = first_m + i * SUB_TILE_M + m + im;
                    if(row < GEMM_M)
                        out[(index_t)row * OUT_POSITIONS] = sums[i][im][j][jn];
                }
        }
}
