/* Conversions that a compiler turns into calls of its run-time library on CPUs without F16C or AVX512-BF16.
 * The shared object links no library, so they are here; integers only, rounding to nearest, ties to even. */
#pragma once

#include "hip_host_math.h"

#define HIP_HOST_RUNTIME extern "C" __attribute__((weak, visibility("hidden")))

/* Every float is a double, so one rounding serves both. */
static inline unsigned short hip_host_half_of(double value) {
    const unsigned long long bits = hip_host_bits<unsigned long long>(value);
    const unsigned short sign = (unsigned short)(bits >> 48 & 0x8000u);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const unsigned long long fraction = bits & 0xfffffffffffffull;
    if(exponent == 1024 && fraction) return (unsigned short)(sign | 0x7e00u | (unsigned)(fraction >> 42));
    if(exponent > 15) return (unsigned short)(sign | 0x7c00u);
    if(exponent < -25) return sign;
    /* Below 2^-14 a half has no hidden bit and loses one more bit a step. */
    const int dropped = exponent >= -14 ? 42 : 42 + (-14 - exponent);
    const unsigned long long significand = fraction | 1ull << 52;
    unsigned long long kept = significand >> dropped;
    const unsigned long long rest = significand & ((1ull << dropped) - 1), tie = 1ull << (dropped - 1);
    if(rest > tie || (rest == tie && (kept & 1))) ++kept;
    /* A carry out of the fraction moves on into the exponent, up to infinity, as it should. */
    const unsigned long long biased = exponent >= -14 ? (unsigned long long)(exponent + 14) << 10 : 0;
    return (unsigned short)(sign | (biased + kept));
}

HIP_HOST_RUNTIME float __extendhfsf2(_Float16 half) {
    const unsigned bits = hip_host_bits<unsigned short>(half);
    const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if(exponent == 31) return hip_host_bits<float>(sign | 0x7f800000u | (fraction ? 0x400000u : 0u) | fraction << 13);
    if(exponent) return hip_host_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = (float)fraction * 0x1p-24f;
    return hip_host_bits<float>(sign | hip_host_bits<unsigned>(magnitude));
}
HIP_HOST_RUNTIME double __extendhfdf2(_Float16 half) { return __extendhfsf2(half); }
HIP_HOST_RUNTIME _Float16 __truncdfhf2(double value) { return hip_host_bits<_Float16>(hip_host_half_of(value)); }
HIP_HOST_RUNTIME _Float16 __truncsfhf2(float value) { return hip_host_bits<_Float16>(hip_host_half_of(value)); }

#if defined(__clang__)
HIP_HOST_RUNTIME __bf16 __truncsfbf2(float value) {
    const unsigned bits = hip_host_bits<unsigned>(value);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const unsigned rounded = nan ? (bits >> 16 | 0x40u) : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return hip_host_bits<__bf16>((unsigned short)rounded);
}
#endif
#undef HIP_HOST_RUNTIME
