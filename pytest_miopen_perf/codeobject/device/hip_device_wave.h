/* Wave intrinsics. A value of up to 8 bytes travels between lanes in words of 4. */
#pragma once

HIP_DEVICE int __lane_id() { return (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

template <class T>
HIP_DEVICE T hip_device_exchange(T value, int lane) {
    static_assert(sizeof(T) <= 8, "a wave exchanges values of up to 8 bytes");
    int words[2] = {0, 0};
    __builtin_memcpy(words, &value, sizeof(T));
    words[0] = __builtin_amdgcn_ds_bpermute(lane * 4, words[0]);
    if constexpr(sizeof(T) > 4) words[1] = __builtin_amdgcn_ds_bpermute(lane * 4, words[1]);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

template <class T>
HIP_DEVICE T __shfl(T value, int source, int width = warpSize) {
    return hip_device_exchange(value, (__lane_id() & -width) + (source & (width - 1)));
}
template <class T>
HIP_DEVICE T __shfl_up(T value, unsigned delta, int width = warpSize) {
    const int self = __lane_id(), lane = self - (int)delta;
    return hip_device_exchange(value, lane < (self & -width) ? self : lane);
}
template <class T>
HIP_DEVICE T __shfl_down(T value, unsigned delta, int width = warpSize) {
    const int self = __lane_id(), lane = self + (int)delta;
    return hip_device_exchange(value, lane >= (self & -width) + width ? self : lane);
}
template <class T>
HIP_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
    const int self = __lane_id(), lane = self ^ mask;
    return hip_device_exchange(value, lane >= (self & -width) + width ? self : lane);
}

HIP_DEVICE unsigned long long __ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate != 0); }
HIP_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
HIP_DEVICE int __all(int predicate) { return __ballot(!predicate) == 0; }
