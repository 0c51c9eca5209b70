/* HIP kernel text on the CPU: the language extensions, as freestanding C++17 (no libc, no libstdc++, no ROCm headers).
 *
 * One shared object holds one kernel. A block runs on one OS thread; blocks spread over threads, which take them from
 * one counter. A kernel that synchronises (HIP_HOST_FIBERS=1) runs its work-items as fibers that switch at
 * __syncthreads() and at the wave intrinsics; any other kernel is called once a work-item, without stacks of its own.
 * Shared memory is thread-local storage: one OS thread runs one block at a time. */
#pragma once

typedef __SIZE_TYPE__ size_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
/* Nothing is initialised at run time: said aloud, it spares an extern array its wrapper function. To g++ an option says
 * so: its __constinit does not reach arrays of unknown size. */
#if defined(__clang__)
#define __shared__ __attribute__((require_constant_initialization)) thread_local
#else
#define __shared__ thread_local
#endif
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
#define HIP_HOST_VECTOR(T, NAME)                                                                                   \
    struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                                             \
    struct NAME##3 { T x, y, z; };                                                                                 \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };                             \
    static inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                              \
    static inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                                      \
    static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
HIP_HOST_VECTOR(float, float)
HIP_HOST_VECTOR(double, double)
HIP_HOST_VECTOR(int, int)
HIP_HOST_VECTOR(short, short)
HIP_HOST_VECTOR(unsigned short, ushort)
#undef HIP_HOST_VECTOR
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };

struct hip_host_worker;
/* Who runs now on this OS thread. 64 bytes, 64-aligned: what else the object's TLS segment holds is the kernel's. */
struct alignas(64) hip_host_item {
    uint3 thread, block, block_dim, grid_dim;
    hip_host_worker* worker;
};
static __thread hip_host_item hip_host_now;
#define threadIdx (hip_host_now.thread)
#define blockIdx (hip_host_now.block)
#define blockDim (hip_host_now.block_dim)
#define gridDim (hip_host_now.grid_dim)
static constexpr int warpSize = 64;

/* One launch, shared by the OS threads that run it. The same structure is declared in host_kernel.py. */
struct hip_host_job {
    void** params;
    unsigned grid[3], block[3];
    unsigned long long blocks, next, chunk; /* next: the first block that nobody has taken */
    int order;                              /* 0 forward, 1 reverse, 2 strided */
    unsigned shared_bytes;                  /* dynamic shared memory that the launch asks for */
    int watched;                            /* a guarded launch: check that a block keeps to those bytes */
    int failure;                            /* 0 none, 1 divergence at a barrier, 2 dynamic shared memory overrun */
    unsigned failed_block[3];
};

/* Which work-item runs at each step of a phase. The strided order differs from phase to phase. */
struct hip_host_turns {
    int order, watched;
    unsigned count, stride;
    unsigned at(unsigned step, unsigned long long phase) const {
        if(order == 0) return step;
        if(order == 1) return count - 1 - step;
        return (unsigned)(((unsigned long long)step * stride + phase) % count);
    }
};

#include "hip_host_math.h"
#include "hip_host_atomics.h"
#include "hip_host_half.h"
#if HIP_HOST_FIBERS
#include "hip_host_wave.h"
#endif
