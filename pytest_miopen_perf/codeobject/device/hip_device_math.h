/* The device functions of HIP's math headers that this compiler turns into instructions by itself. */
#pragma once

#define HIP_DEVICE_UNARY(NAME)                                                                                     \
    HIP_DEVICE float NAME##f(float x) { return __builtin_##NAME##f(x); }                                           \
    HIP_DEVICE float NAME(float x) { return __builtin_##NAME##f(x); }
#define HIP_DEVICE_UNARY_DOUBLE(NAME)                                                                              \
    HIP_DEVICE_UNARY(NAME)                                                                                         \
    HIP_DEVICE double NAME(double x) { return __builtin_##NAME(x); }
HIP_DEVICE_UNARY_DOUBLE(fabs)
HIP_DEVICE_UNARY_DOUBLE(sqrt)
HIP_DEVICE_UNARY_DOUBLE(floor)
HIP_DEVICE_UNARY_DOUBLE(ceil)
HIP_DEVICE_UNARY_DOUBLE(trunc)
HIP_DEVICE_UNARY_DOUBLE(rint)
HIP_DEVICE_UNARY_DOUBLE(round)
HIP_DEVICE_UNARY(exp)
HIP_DEVICE_UNARY(exp2)
HIP_DEVICE_UNARY(log)
HIP_DEVICE_UNARY(log2)
HIP_DEVICE_UNARY(sin)
HIP_DEVICE_UNARY(cos)
#undef HIP_DEVICE_UNARY_DOUBLE
#undef HIP_DEVICE_UNARY

#define HIP_DEVICE_BINARY(NAME)                                                                                    \
    HIP_DEVICE float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }                               \
    HIP_DEVICE float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }                                  \
    HIP_DEVICE double NAME(double x, double y) { return __builtin_##NAME(x, y); }
HIP_DEVICE_BINARY(fmax)
HIP_DEVICE_BINARY(fmin)
HIP_DEVICE_BINARY(copysign)
#undef HIP_DEVICE_BINARY

HIP_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HIP_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HIP_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
HIP_DEVICE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HIP_DEVICE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
HIP_DEVICE float __expf(float x) { return __builtin_expf(x); }
HIP_DEVICE float __logf(float x) { return __builtin_logf(x); }
HIP_DEVICE bool isnan(float x) { return x != x; }
HIP_DEVICE bool isnan(double x) { return x != x; }
HIP_DEVICE int abs(int x) { return x < 0 ? -x : x; }

#define HIP_DEVICE_MINMAX(T)                                                                                       \
    HIP_DEVICE T min(T a, T b) { return b < a ? b : a; }                                                           \
    HIP_DEVICE T max(T a, T b) { return a < b ? b : a; }
HIP_DEVICE_MINMAX(int)
HIP_DEVICE_MINMAX(unsigned)
HIP_DEVICE_MINMAX(long)
HIP_DEVICE_MINMAX(unsigned long)
HIP_DEVICE_MINMAX(long long)
HIP_DEVICE_MINMAX(unsigned long long)
#undef HIP_DEVICE_MINMAX
HIP_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
HIP_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
HIP_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
HIP_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }

HIP_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
HIP_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
HIP_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
HIP_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
HIP_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
HIP_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
HIP_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
HIP_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
