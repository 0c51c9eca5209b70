// What every kernel of this project uses, in a few lines: does this compiler manage it for a target?
extern "C" __global__ void __launch_bounds__(256) probe(const float* __restrict__ x, double* __restrict__ y, int n)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = threadIdx.x + blockIdx.x * blockDim.x < (unsigned)n ? x[threadIdx.x] : 0.0f;
    __syncthreads();
    double sum = gridDim.x;
    for(int i = 0; i < 16; ++i)
        sum += (double)fmaf(tile[i], tile[threadIdx.x ^ i], __shfl_xor(tile[i], 1)) + (float)(_Float16)tile[i];
    y[threadIdx.x] = sum;
}
