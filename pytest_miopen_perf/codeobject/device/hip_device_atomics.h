/* Atomics on global and shared memory, relaxed and as wide as the device, as HIP's are. */
#pragma once

#define HIP_DEVICE_ATOMIC(NAME, OPERATION, T)                                                                      \
    HIP_DEVICE T NAME(T* p, T v) { return OPERATION(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }

#define HIP_DEVICE_ATOMICS(T)                                                                                      \
    HIP_DEVICE_ATOMIC(atomicAdd, __hip_atomic_fetch_add, T)                                                        \
    HIP_DEVICE_ATOMIC(atomicMax, __hip_atomic_fetch_max, T)                                                        \
    HIP_DEVICE_ATOMIC(atomicMin, __hip_atomic_fetch_min, T)                                                        \
    HIP_DEVICE_ATOMIC(atomicExch, __hip_atomic_exchange, T)
HIP_DEVICE_ATOMICS(int)
HIP_DEVICE_ATOMICS(unsigned)
HIP_DEVICE_ATOMICS(unsigned long long)
HIP_DEVICE_ATOMICS(float)
HIP_DEVICE_ATOMICS(double)
#undef HIP_DEVICE_ATOMICS

#define HIP_DEVICE_INTEGER_ATOMICS(T)                                                                              \
    HIP_DEVICE T atomicSub(T* p, T v) { return atomicAdd(p, (T)(0 - v)); }                                         \
    HIP_DEVICE_ATOMIC(atomicAnd, __hip_atomic_fetch_and, T)                                                        \
    HIP_DEVICE_ATOMIC(atomicOr, __hip_atomic_fetch_or, T)                                                          \
    HIP_DEVICE T atomicCAS(T* p, T expected, T v) {                                                                \
        __hip_atomic_compare_exchange_strong(p, &expected, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED,                  \
                                             __HIP_MEMORY_SCOPE_AGENT);                                            \
        return expected;                                                                                           \
    }
HIP_DEVICE_INTEGER_ATOMICS(int)
HIP_DEVICE_INTEGER_ATOMICS(unsigned)
HIP_DEVICE_INTEGER_ATOMICS(unsigned long long)
#undef HIP_DEVICE_INTEGER_ATOMICS
#undef HIP_DEVICE_ATOMIC

/* One instruction where the memory is the device's own; elsewhere the result is undefined, as the name says. */
HIP_DEVICE float unsafeAtomicAdd(float* p, float v) {
#if __has_extension(clang_atomic_attributes)
    [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] { return atomicAdd(p, v); }
#else
    return atomicAdd(p, v);
#endif
}
