// Wave intrinsics: one row of y a question.
extern "C" __global__ void shuffles(const int* x, int* y)
{
    const int i = threadIdx.x, n = blockDim.x, v = x[i];
    y[0 * n + i] = __shfl(v, 5);
    y[1 * n + i] = __shfl(v, 3, 16);
    y[2 * n + i] = __shfl_up(v, 2);
    y[3 * n + i] = __shfl_up(v, 3, 8);
    y[4 * n + i] = __shfl_down(v, 2);
    y[5 * n + i] = __shfl_down(v, 3, 8);
    y[6 * n + i] = __shfl_xor(v, 1);
    y[7 * n + i] = __shfl_xor(v, 32);
}

extern "C" __global__ void sum_doubles(const double* x, double* y)
{
    double v = x[threadIdx.x];
    for(int offset = 32; offset > 0; offset >>= 1) v += __shfl_down(v, offset);
    __shared__ double waves[16];
    if(threadIdx.x % warpSize == 0) waves[threadIdx.x / warpSize] = v;
    __syncthreads();
    if(threadIdx.x == 0)
    {
        double sum = 0.0;
        for(unsigned w = 0; w < blockDim.x / warpSize; ++w) sum += waves[w];
        *y = sum;
    }
}

// Waves that shuffle a different number of times before they meet at the barrier.
extern "C" __global__ void uneven(int* y)
{
    const int wave = threadIdx.x / warpSize;
    int v = threadIdx.x;
    for(int i = 0; i <= wave; ++i) v = __shfl_xor(v, 1);
    if(wave == 1 && threadIdx.x % warpSize < 8) v = __shfl_xor(v, 2);
    __syncthreads();
    y[threadIdx.x] = __shfl_xor(v, 4);
}

extern "C" __global__ void votes(const int* x, unsigned long long* masks, int* any, int* all)
{
    masks[threadIdx.x] = __ballot(x[threadIdx.x]);
    any[threadIdx.x] = __any(x[threadIdx.x]);
    all[threadIdx.x] = __all(x[threadIdx.x]);
}
