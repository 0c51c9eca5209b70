// Blocks on several OS threads meet at the same addresses.
extern "C" __global__ void atomics(int* i, unsigned long long* l, float* f, double* d)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], 1);
    atomicMax(&i[1], n);
    atomicMin(&i[2], -n);
    atomicAdd(l, 1ull << 33);
    atomicAdd(&f[0], 1.0f);
    atomicMax(&f[1], (float)n);
    atomicAdd(d, 0.5);
    int seen = i[3];
    while(atomicCAS(&i[3], seen, seen + 1) != seen) seen = i[3];
    __threadfence();
}
