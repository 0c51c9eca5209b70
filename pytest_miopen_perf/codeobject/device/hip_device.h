/* HIP kernel text for AMD GPUs with no ROCm on the machine: the language extensions as bare clang has them.
 *
 * What is left out is what needs AMD's device libraries (tanh, erf and the like): a kernel that calls it does not
 * link, and says so. Code objects are of version 5, whose hidden arguments begin with the counts of work-groups. */
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

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

/* One number: the most work-items of a block. A second one: the fewest waves that a SIMD shall hold. */
#define __launch_bounds__(...) HIP_DEVICE_BOUNDS(__VA_ARGS__, HIP_DEVICE_BOUNDS_2, HIP_DEVICE_BOUNDS_1)(__VA_ARGS__)
#define HIP_DEVICE_BOUNDS(block, waves, chosen, ...) chosen
#define HIP_DEVICE_BOUNDS_1(block) __attribute__((amdgpu_flat_work_group_size(1, block)))
#define HIP_DEVICE_BOUNDS_2(block, waves) HIP_DEVICE_BOUNDS_1(block) __attribute__((amdgpu_waves_per_eu(waves)))

#define HIP_DEVICE static __device__ __forceinline__

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
#define HIP_DEVICE_VECTOR(T, NAME)                                                                                 \
    struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                                             \
    struct NAME##3 { T x, y, z; };                                                                                 \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };                             \
    HIP_DEVICE NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                                 \
    HIP_DEVICE NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                                         \
    HIP_DEVICE NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
HIP_DEVICE_VECTOR(float, float)
HIP_DEVICE_VECTOR(double, double)
HIP_DEVICE_VECTOR(int, int)
HIP_DEVICE_VECTOR(short, short)
HIP_DEVICE_VECTOR(unsigned short, ushort)
#undef HIP_DEVICE_VECTOR
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };

HIP_DEVICE uint3 hip_device_thread() {
    return {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()};
}
HIP_DEVICE uint3 hip_device_block() {
    return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()};
}
HIP_DEVICE uint3 hip_device_block_size() {
    return {__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z()};
}
HIP_DEVICE uint3 hip_device_grid_size() {
    const auto* counts = (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr();
    return {counts[0], counts[1], counts[2]};
}
#define threadIdx (hip_device_thread())
#define blockIdx (hip_device_block())
#define blockDim (hip_device_block_size())
#define gridDim (hip_device_grid_size())
#define warpSize ((int)__builtin_amdgcn_wavefrontsize())

HIP_DEVICE void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
HIP_DEVICE void __syncwarp() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
HIP_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
HIP_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
HIP_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

#include "hip_device_math.h"
#include "hip_device_wave.h"
#include "hip_device_atomics.h"
