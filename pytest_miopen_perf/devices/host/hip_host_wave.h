/* Wave intrinsics over waves of 64 work-items, as on a CDNA GPU: each offers a value, waits for its wave, and reads
 * what the lane of its choice has offered. A lane that did not take part counts as 0, as with ds_bpermute. */
#pragma once

#include "hip_host_fibers.h"

static inline unsigned hip_host_index() { return (unsigned)(hip_host_now.worker->current - hip_host_now.worker->fibers); }
static inline int __lane_id() { return (int)(hip_host_index() % warpSize); }

/* Offers the value and waits; returns the phase in which the wave's offers were made. */
template <class T>
static inline unsigned long long hip_host_offer(T value) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a wave exchanges values of up to 8 bytes");
    hip_host_worker* worker = hip_host_now.worker;
    const unsigned long long phase = worker->phase;
    hip_host_slot* slot = &worker->current->slots[phase & 1];
    slot->phase = phase;
    slot->value = 0;
    __builtin_memcpy(&slot->value, &value, sizeof(T));
    hip_host_wait(HIP_HOST_AT_WAVE);
    return phase;
}
/* The lane's offer of that phase; null when it did not take part. */
static inline const hip_host_slot* hip_host_offered(unsigned long long phase, int lane) {
    const hip_host_worker* worker = hip_host_now.worker;
    const unsigned index = hip_host_index() / warpSize * warpSize + (unsigned)lane;
    if(index >= worker->count) return nullptr;
    const hip_host_slot* slot = &worker->fibers[index].slots[phase & 1];
    return slot->phase == phase ? slot : nullptr;
}
template <class T>
static inline T hip_host_exchange(T value, int lane) {
    const unsigned long long phase = hip_host_offer(value);
    T taken = T();
    if(const hip_host_slot* slot = hip_host_offered(phase, lane)) __builtin_memcpy(&taken, &slot->value, sizeof(T));
    return taken;
}

template <class T>
static inline T __shfl(T value, int source, int width = warpSize) {
    return hip_host_exchange(value, (__lane_id() & -width) + (source & (width - 1)));
}
template <class T>
static inline T __shfl_up(T value, unsigned delta, int width = warpSize) {
    const int self = __lane_id(), lane = self - (int)delta;
    return hip_host_exchange(value, lane < (self & -width) ? self : lane);
}
template <class T>
static inline T __shfl_down(T value, unsigned delta, int width = warpSize) {
    const int self = __lane_id(), lane = self + (int)delta;
    return hip_host_exchange(value, lane >= (self & -width) + width ? self : lane);
}
template <class T>
static inline T __shfl_xor(T value, int mask, int width = warpSize) {
    const int self = __lane_id(), lane = self ^ mask;
    return hip_host_exchange(value, lane >= (self & -width) + width ? self : lane);
}

static inline unsigned long long __ballot(int predicate) {
    const unsigned long long phase = hip_host_offer(predicate != 0);
    unsigned long long lanes = 0;
    for(int lane = 0; lane < warpSize; ++lane)
        if(const hip_host_slot* slot = hip_host_offered(phase, lane)) lanes |= slot->value << lane;
    return lanes;
}
static inline int __any(int predicate) { return __ballot(predicate) != 0; }
static inline int __all(int predicate) { return __ballot(!predicate) == 0; }
static inline void __syncwarp() { hip_host_offer(0); }
