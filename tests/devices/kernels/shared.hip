// Dynamic shared memory in the ways in which HIP text declares it; static shared memory of -DKILOBYTES.
#ifndef KILOBYTES
#define KILOBYTES 1
#endif

extern "C" __global__ void reverse(const float* x, float* y, int count)
{
    extern __shared__ float values[];
    for(int i = threadIdx.x; i < count; i += blockDim.x) values[i] = x[i];
    __syncthreads();
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = values[count - 1 - i];
}

template <class T>
__device__ T* tile()
{
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T*>(bytes);
}

template <class T>
__device__ T swapped(T value)
{
    HIP_DYNAMIC_SHARED(int, words)
    T* place = reinterpret_cast<T*>(words);
    place[threadIdx.x] = value;
    __syncthreads();
    return place[threadIdx.x ^ 1];
}
extern "C" __global__ void swap_neighbours(const short* x, short* y) { y[threadIdx.x] = swapped(x[threadIdx.x]); }

// A device function, a nested scope and a macro name the same bytes.
extern "C" __global__ void three_names(const float* x, float* y)
{
    tile<float>()[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if(threadIdx.x < 64)
    {
        extern __shared__ float values[];
        HIP_DYNAMIC_SHARED(int, words)
        y[threadIdx.x] = values[threadIdx.x ^ 1] == __int_as_float(words[threadIdx.x ^ 1]) ? values[threadIdx.x ^ 1] : -1.0f;
    }
}

extern "C" __global__ void read_before_write(float* y)
{
    extern __shared__ float values[];
    y[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void static_kilobytes(float* y)
{
    __shared__ float tile[256 * KILOBYTES];
    for(int i = threadIdx.x; i < 256 * KILOBYTES; i += blockDim.x) tile[i] = i;
    __syncthreads();
    y[threadIdx.x] = tile[256 * KILOBYTES - 1 - threadIdx.x];
}
