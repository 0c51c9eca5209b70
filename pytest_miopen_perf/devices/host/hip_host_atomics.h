/* Atomics on global and shared memory. Real ones: the blocks of a launch run on several OS threads at once. */
#pragma once

#include "hip_host_math.h"

template <class T> struct hip_host_word;
template <> struct hip_host_word<float> { typedef unsigned type; };
template <> struct hip_host_word<double> { typedef unsigned long long type; };

/* *address = combine(*address) in one step; returns the value before, as every HIP atomic does. */
template <class T, class Combine>
static inline T hip_host_atomic_update(T* address, Combine combine) {
    typedef typename hip_host_word<T>::type word;
    word* place = reinterpret_cast<word*>(address);
    word seen = __atomic_load_n(place, __ATOMIC_RELAXED), wanted;
    do {
        wanted = hip_host_bits<word>(combine(hip_host_bits<T>(seen)));
    } while(!__atomic_compare_exchange_n(place, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return hip_host_bits<T>(seen);
}

#define HIP_HOST_FLOATING(T)                                                                                       \
    static inline T atomicAdd(T* p, T v) { return hip_host_atomic_update(p, [v](T old) { return old + v; }); }     \
    static inline T atomicMax(T* p, T v) { return hip_host_atomic_update(p, [v](T old) { return old < v ? v : old; }); } \
    static inline T atomicMin(T* p, T v) { return hip_host_atomic_update(p, [v](T old) { return v < old ? v : old; }); }
HIP_HOST_FLOATING(float)
HIP_HOST_FLOATING(double)
#undef HIP_HOST_FLOATING
static inline float unsafeAtomicAdd(float* p, float v) { return atomicAdd(p, v); }

#define HIP_HOST_INTEGER(T)                                                                                        \
    static inline T atomicAdd(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }                    \
    static inline T atomicSub(T* p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }                    \
    static inline T atomicAnd(T* p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }                    \
    static inline T atomicOr(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }                      \
    static inline T atomicExch(T* p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }                  \
    static inline T atomicCAS(T* p, T expected, T v) {                                                             \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                   \
        return expected;                                                                                           \
    }                                                                                                              \
    static inline T atomicMax(T* p, T v) {                                                                         \
        T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                              \
        while(old < v && !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}    \
        return old;                                                                                                \
    }                                                                                                              \
    static inline T atomicMin(T* p, T v) {                                                                         \
        T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                              \
        while(v < old && !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}    \
        return old;                                                                                                \
    }
HIP_HOST_INTEGER(int)
HIP_HOST_INTEGER(unsigned)
HIP_HOST_INTEGER(unsigned long long)
#undef HIP_HOST_INTEGER

static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
