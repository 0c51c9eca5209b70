// A batch of matrices, each of them turned: [batch][row][column] becomes [batch][column][row].
//
// That is how a tensor changes its layout: NCHW is a batch of images of C rows and HW columns, of which NHWC is the
// turned one, and CHWN is one matrix of CHW rows and N columns, which turned is NCHW. A volume has DHW in the place of
// HW.
//
//   TRANSPOSE_BATCH TRANSPOSE_ROWS TRANSPOSE_COLUMNS    of the source
//   TRANSPOSE_ELEMENT_BYTES                             1, 2 or 4: bits are moved, whatever they mean
//   BLOCK_SIZE                                          work-items of a block, a divisor of 1024
//
// A block takes tiles of 32 x 32 through shared memory, so that it reads along the rows of the source and writes along
// those of the target; where there are more tiles than a grid has blocks, blocks take turns.
#include "index.h"

#define TILE 32
#define COPIES (TILE * TILE / BLOCK_SIZE)
#define TILES_ACROSS (((index_t)TRANSPOSE_COLUMNS + TILE - 1) / TILE)
#define TILES_DOWN (((index_t)TRANSPOSE_ROWS + TILE - 1) / TILE)
#define TILES (TRANSPOSE_BATCH * TILES_DOWN * TILES_ACROSS)
#define MATRIX ((index_t)TRANSPOSE_ROWS * TRANSPOSE_COLUMNS)

#if TRANSPOSE_ELEMENT_BYTES == 1
typedef unsigned char moved_t;
#elif TRANSPOSE_ELEMENT_BYTES == 2
typedef unsigned short moved_t;
#else
typedef unsigned int moved_t;
#endif

static __device__ __forceinline__ void transpose(const moved_t* source, moved_t* target)
{
    __shared__ moved_t tile[TILE][TILE + 1]; // a column more than needed, against bank conflicts
    for(index_t number = blockIdx.x; number < TILES; number += gridDim.x)
    {
        const index_t first_column = number % TILES_ACROSS * TILE;
        const index_t first_row = number / TILES_ACROSS % TILES_DOWN * TILE;
        const index_t matrix = number / TILES_ACROSS / TILES_DOWN * MATRIX;
#pragma unroll
        for(int i = 0; i < COPIES; ++i)
        {
            const int element = i * BLOCK_SIZE + (int)threadIdx.x;
            const index_t row = first_row + element / TILE, column = first_column + element % TILE;
            if(row < TRANSPOSE_ROWS && column < TRANSPOSE_COLUMNS)
                tile[element / TILE][element % TILE] = source[matrix + row * TRANSPOSE_COLUMNS + column];
        }
        __syncthreads();
#pragma unroll
        for(int i = 0; i < COPIES; ++i)
        {
            const int element = i * BLOCK_SIZE + (int)threadIdx.x;
            const index_t row = first_row + element % TILE, column = first_column + element / TILE;
            if(row < TRANSPOSE_ROWS && column < TRANSPOSE_COLUMNS)
                target[matrix + column * TRANSPOSE_ROWS + row] = tile[element % TILE][element / TILE];
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
batched_transpose_32x32_byte(const moved_t* __restrict__ source, moved_t* __restrict__ target)
{
    transpose(source, target);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
batched_transpose_32x32_half(const moved_t* __restrict__ source, moved_t* __restrict__ target)
{
    transpose(source, target);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
batched_transpose_32x32_dword(const moved_t* __restrict__ source, moved_t* __restrict__ target)
{
    transpose(source, target);
}
