// Plain HIP text, nothing made easy for the CPU: templates, shared memory in a device function and in a nested scope.
#include <hip/hip_runtime.h>

__constant__ float weights[2] = {1.0f, 2.0f};

template <class T, int TILE>
__device__ float block_sum(const T* values, int count)
{
    __shared__ float part[TILE];
    float sum = 0.0f;
    for(int i = threadIdx.x; i < count; i += blockDim.x) sum += static_cast<float>(values[i]);
    part[threadIdx.x] = sum;
    __syncthreads();
    for(int width = TILE / 2; width > 0; width >>= 1)
    {
        if(static_cast<int>(threadIdx.x) < width) part[threadIdx.x] += part[threadIdx.x + width];
        __syncthreads();
    }
    const float total = part[0];
    __syncthreads();
    return total;
}

template <class T>
__device__ void sum_rows(const T* x, float* y, int count)
{
    const float sum = block_sum<T, 64>(x + static_cast<size_t>(blockIdx.x) * count, count);
    if(threadIdx.x == 0)
    {
        __shared__ float one;
        one = sum;
        y[blockIdx.x] = one;
    }
}

extern "C" __global__ void __launch_bounds__(64) sum_floats(const float* __restrict__ x, float* __restrict__ y, int count)
{
    sum_rows(x, y, count);
}

extern "C" __global__ void __launch_bounds__(64) sum_halves(const _Float16* x, float* y, int count) { sum_rows(x, y, count); }

// Every index and size that a work-item can ask for, 12 numbers each.
extern "C" __global__ void where_am_i(int* y)
{
    const uint3 t = threadIdx;
    const dim3 size = {blockDim.x, blockDim.y, blockDim.z};
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int item = (t.z * size.y + t.y) * size.x + t.x;
    int* out = y + 12 * (block * (int)(size.x * size.y * size.z) + item);
    const unsigned values[12] = {t.x, t.y, t.z, blockIdx.x, blockIdx.y, blockIdx.z,
                                 size.x, size.y, size.z, gridDim.x, gridDim.y, gridDim.z};
    for(int i = 0; i < 12; ++i) out[i] = (int)values[i];
}

struct __align__(16) four { float v[4]; };

extern "C" __global__ void vectors(const float4* x, float2* y, int4* sizes)
{
    const float4 a = x[threadIdx.x];
    y[threadIdx.x] = make_float2(a.x * weights[0] + a.y, a.z * weights[1] + a.w);
    sizes[threadIdx.x] = {(int)sizeof(float4), (int)alignof(float4), (int)alignof(four), (int)sizeof(uint3)};
}

// What the math functions make of x, one row a function.
extern "C" __global__ void math(const float* x, float* y, int count)
{
    const int i = threadIdx.x;
    const float v = x[i];
    const float values[] = {fmaf(v, v, 1.0f), fmaxf(v, 0.5f), fminf(v, 0.5f), sqrtf(fabsf(v)), floorf(v), ceilf(v),
                            rintf(v), expf(v), tanhf(v), max(v, 0.25f), min(v, 0.25f), (float)max((int)v, 1)};
    for(int row = 0; row < (int)(sizeof(values) / sizeof(float)); ++row) y[row * count + i] = values[row];
}
