// Kernels without a barrier: __syncthreads() stands in this comment only.

extern "C" __global__ void turns(int* y, int* counter) { y[threadIdx.x] = atomicAdd(counter, 1); }

extern "C" __global__ void scale(float* y, float factor, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if(i < count) y[i] *= factor;
}

extern "C" __global__ void copy_one(const float* x, float* y, long long from, long long to) { y[to] = x[from]; }

extern "C" __global__ void copy_vector(const float4* x, float4* y) { *y = *x; }

extern "C" __global__ void never_ends(float* y)
{
    volatile float* place = y;
    for(;;) *place = *place + 1.0f;
}

extern "C" __global__ void divide(int* y, int divisor) { y[0] = y[1] / divisor; }

extern "C" __global__ void wild(float* y, long long address) { *y = *reinterpret_cast<const float*>(address); }

extern "C" __global__ void every_kind(double* y, int a, long long b, float c, double d, unsigned e)
{
    y[0] = a; y[1] = (double)b; y[2] = c; y[3] = d; y[4] = e;
}

struct pair { int first, second; };
extern "C" __global__ void takes_pair(float*, pair) {}

extern "C" __global__ void takes_nothing() {}

extern "C" __global__ void lanes_of_many(int* y) { atomicAdd(y + blockIdx.x % 7, 1); }
