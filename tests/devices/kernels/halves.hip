// Conversions of 16-bit floats, which a CPU may or may not have instructions for.
extern "C" __global__ void half_to_float(const _Float16* x, float* y, int count)
{
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = x[i];
}
extern "C" __global__ void float_to_half(const float* x, _Float16* y, int count)
{
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = (_Float16)x[i];
}
extern "C" __global__ void double_to_half(const double* x, _Float16* y, int count)
{
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = (_Float16)x[i];
}
extern "C" __global__ void half_to_double(const _Float16* x, double* y, int count)
{
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = x[i];
}
extern "C" __global__ void half_arithmetic(const _Float16* x, _Float16* y, int count)
{
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = x[i] * (_Float16)3 + (_Float16)0.25;
}
#if defined(__clang__) && __clang_major__ >= 18
extern "C" __global__ void float_to_bf16(const float* x, __bf16* y, int count)
{
    for(int i = threadIdx.x; i < count; i += blockDim.x) y[i] = (__bf16)x[i];
}
#endif
