// More private memory than the stack of a work-item has.
extern "C" __global__ void large_frame(float* y)
{
    volatile float frame[16384];
    for(int i = 0; i < 16384; ++i) frame[i] = i;
    __syncthreads();
    y[threadIdx.x] = frame[threadIdx.x];
}
