/* The device functions of HIP's math headers that convolution kernels use. A CPU without the instruction calls libm. */
#pragma once

#define HIP_HOST_UNARY(NAME)                                                                                       \
    static inline float NAME##f(float x) { return __builtin_##NAME##f(x); }                                        \
    static inline float NAME(float x) { return __builtin_##NAME##f(x); }                                           \
    static inline double NAME(double x) { return __builtin_##NAME(x); }
#define HIP_HOST_BINARY(NAME)                                                                                      \
    static inline float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }                            \
    static inline float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }                               \
    static inline double NAME(double x, double y) { return __builtin_##NAME(x, y); }
HIP_HOST_UNARY(fabs)
HIP_HOST_UNARY(sqrt)
HIP_HOST_UNARY(floor)
HIP_HOST_UNARY(ceil)
HIP_HOST_UNARY(trunc)
HIP_HOST_UNARY(rint)
HIP_HOST_UNARY(round)
HIP_HOST_UNARY(exp)
HIP_HOST_UNARY(exp2)
HIP_HOST_UNARY(log)
HIP_HOST_UNARY(log2)
HIP_HOST_UNARY(sin)
HIP_HOST_UNARY(cos)
HIP_HOST_UNARY(tanh)
HIP_HOST_UNARY(erf)
HIP_HOST_BINARY(fmax)
HIP_HOST_BINARY(fmin)
HIP_HOST_BINARY(fmod)
HIP_HOST_BINARY(pow)
HIP_HOST_BINARY(copysign)
#undef HIP_HOST_UNARY
#undef HIP_HOST_BINARY

static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline float __expf(float x) { return __builtin_expf(x); }
static inline float __logf(float x) { return __builtin_logf(x); }
static inline bool isnan(float x) { return x != x; }
static inline bool isnan(double x) { return x != x; }
static inline int abs(int x) { return x < 0 ? -x : x; }

#define HIP_HOST_MINMAX(T)                                                                                         \
    static inline T min(T a, T b) { return b < a ? b : a; }                                                        \
    static inline T max(T a, T b) { return a < b ? b : a; }
HIP_HOST_MINMAX(int)
HIP_HOST_MINMAX(unsigned)
HIP_HOST_MINMAX(long)
HIP_HOST_MINMAX(unsigned long)
HIP_HOST_MINMAX(long long)
HIP_HOST_MINMAX(unsigned long long)
#undef HIP_HOST_MINMAX
static inline float min(float a, float b) { return __builtin_fminf(a, b); }
static inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static inline double min(double a, double b) { return __builtin_fmin(a, b); }
static inline double max(double a, double b) { return __builtin_fmax(a, b); }

template <class To, class From>
static inline To hip_host_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits are kept, so the sizes are equal");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
static inline int __float_as_int(float x) { return hip_host_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return hip_host_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return hip_host_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return hip_host_bits<float>(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
