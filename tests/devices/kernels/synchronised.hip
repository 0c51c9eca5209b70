// Two steps through one tile, so that every barrier guards something. -DWITHOUT=N leaves barrier N out.
#ifndef WITHOUT
#define WITHOUT 0
#endif
#define BARRIER(N)                                                                                                     \
    if(N != WITHOUT) __syncthreads()

// y = x reversed inside the block, plus the neighbour to the right (cyclic) of what that gave.
extern "C" __global__ void reverse_then_shift(const int* x, int* y)
{
    __shared__ int tile[64];
    const int i = threadIdx.x, last = blockDim.x - 1;
    const int first = blockIdx.x * blockDim.x;
    tile[i] = x[first + i];
    BARRIER(1);
    const int reversed = tile[last - i];
    BARRIER(2);
    tile[i] = reversed;
    BARRIER(3);
    const int next = tile[i == last ? 0 : i + 1];
    BARRIER(4);
    tile[i] = next;
    BARRIER(5);
    y[first + i] = reversed + tile[last - i];
}

// When each work-item had its turn, before the barrier and behind it.
extern "C" __global__ void turns(int* y)
{
    __shared__ int turn;
    y[threadIdx.x] = atomicAdd(&turn, 1);
    __syncthreads();
    y[blockDim.x + threadIdx.x] = atomicAdd(&turn, 1);
}

extern "C" __global__ void some_leave(float* y, int leaving, int bad_block)
{
    if((int)blockIdx.y == bad_block && (int)threadIdx.x < leaving) return;
    __syncthreads();
    y[threadIdx.x] = 1.0f;
}
