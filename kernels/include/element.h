// Element types of convolution tensors: what lies in memory, and its way to and from the accumulator.
//
//   -DELEMENT=FP32 | FP16 | BF16 | INT8     what x, w and y are made of; an INT8 convolution writes 32-bit integers
//   -DACCUMULATOR=double | float | int      what products are added up in; int belongs to INT8
//
// A store rounds once to float and once to the element, both times to nearest, ties to even.
#pragma once

struct bfloat16 {
    unsigned short bits;
};

typedef float element_FP32;
typedef _Float16 element_FP16;
typedef bfloat16 element_BF16;
typedef signed char element_INT8;

typedef float result_FP32;
typedef _Float16 result_FP16;
typedef bfloat16 result_BF16;
typedef int result_INT8;

#define ELEMENT_PASTE_(a, b) a##b
#define ELEMENT_PASTE(a, b) ELEMENT_PASTE_(a, b)

typedef ELEMENT_PASTE(element_, ELEMENT) element_t;
typedef ELEMENT_PASTE(result_, ELEMENT) result_t;
typedef ACCUMULATOR accumulator_t;

union float_bits {
    float value;
    unsigned int bits;
};

static __device__ __forceinline__ accumulator_t load(const float* p) { return (accumulator_t)*p; }

static __device__ __forceinline__ accumulator_t load(const _Float16* p) { return (accumulator_t)(float)*p; }

static __device__ __forceinline__ accumulator_t load(const bfloat16* p)
{
    float_bits f;
    f.bits = (unsigned int)p->bits << 16;
    return (accumulator_t)f.value;
}

static __device__ __forceinline__ accumulator_t load(const signed char* p) { return (accumulator_t)*p; }

static __device__ __forceinline__ void store(float* p, accumulator_t value) { *p = (float)value; }

static __device__ __forceinline__ void store(_Float16* p, accumulator_t value) { *p = (_Float16)(float)value; }

static __device__ __forceinline__ void store(bfloat16* p, accumulator_t value)
{
    float_bits f;
    f.value = (float)value;
    const unsigned int magnitude = f.bits & 0x7fffffffu;
    const unsigned int rounded = f.bits + 0x7fffu + ((f.bits >> 16) & 1u);
    const unsigned int quiet_nan = f.bits | 0x00400000u; // rounding could carry a NaN's payload away
    p->bits = (unsigned short)((magnitude > 0x7f800000u ? quiet_nan : rounded) >> 16);
}

static __device__ __forceinline__ void store(int* p, accumulator_t value) { *p = (int)value; }
