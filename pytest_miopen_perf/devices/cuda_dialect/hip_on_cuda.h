/* The few words in which HIP text and NVRTC differ, put in front of the text. No header of CUDA is needed. */
#pragma once

/* IEEE half as a storage type, converted by the hardware: all that kernels do with it is load and store. */
struct hip_half {
    unsigned short bits;
    hip_half() = default; /* trivial, so that `{}` is zero and a variable may stay unset, as with a built-in type */
    __device__ __forceinline__ hip_half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
    __device__ __forceinline__ hip_half(double value) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value)); }
    __device__ __forceinline__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};
#define _Float16 hip_half

#define __shfl(value, lane) __shfl_sync(0xffffffffu, value, lane)
#define __shfl_xor(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#define __shfl_up(value, delta) __shfl_up_sync(0xffffffffu, value, delta)
#define __shfl_down(value, delta) __shfl_down_sync(0xffffffffu, value, delta)
