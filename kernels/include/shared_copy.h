// Elements of 16 bits on their way from a tensor to shared memory, in pieces of 1, 2, 4 or 8 neighbours.
//
// A copy starts, something else is computed, and then it ends: meanwhile it is on its way through registers, or, on
// NVIDIA, past them, where it ends by itself: after `wait_for_copies` the groups of copies but the last few have ended.
// On a CPU nothing can happen meanwhile; the copy ends where it starts.
#pragma once

#include "element.h"

template <int COUNT>
struct alignas(2 * COUNT) piece {
    element_t at[COUNT];
};

#if defined(__CUDACC__) || defined(__AMDGCN__) || defined(COPIES_TAKE_TIME)
#define COPIES_END_LATER 1
#else
#define COPIES_END_LATER 0
#endif

template <int COUNT>
static __device__ __forceinline__ piece<COUNT> read_piece(const element_t* from, bool is_there)
{
    piece<COUNT> read = {};
    if(is_there)
        read = *(const piece<COUNT>*)from;
    return read;
}

#if defined(__CUDACC__)
// Of `from`, `bytes` are read and the rest of the piece is zero.
static __device__ __forceinline__ void
copy_past_registers(piece<8>* to, const element_t* from, unsigned int to_shared, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_shared), "l"(from), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void
copy_past_registers(piece<4>* to, const element_t* from, unsigned int to_shared, int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to_shared), "l"(from), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void
copy_past_registers(piece<2>* to, const element_t* from, unsigned int to_shared, int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to_shared), "l"(from), "r"(bytes) : "memory");
}

template <int COUNT>
static __device__ __forceinline__ void
start_copy(piece<COUNT>* to, const element_t* from, bool is_there, piece<COUNT>* on_its_way)
{
    if constexpr(COUNT > 1)
        copy_past_registers(to, from, (unsigned int)__cvta_generic_to_shared(to), is_there ? 2 * COUNT : 0);
    else
        *on_its_way = read_piece<COUNT>(from, is_there);
}

template <int COUNT>
static __device__ __forceinline__ void end_copy(piece<COUNT>* to, const piece<COUNT>* on_its_way)
{
    if constexpr(COUNT == 1)
        *to = *on_its_way;
}

static __device__ __forceinline__ void close_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int GROUPS>
static __device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}
#else
template <int COUNT>
static __device__ __forceinline__ void
start_copy(piece<COUNT>* to, const element_t* from, bool is_there, piece<COUNT>* on_its_way)
{
    *(COPIES_END_LATER ? on_its_way : to) = read_piece<COUNT>(from, is_there);
}

template <int COUNT>
static __device__ __forceinline__ void end_copy(piece<COUNT>* to, const piece<COUNT>* on_its_way)
{
    if(COPIES_END_LATER)
        *to = *on_its_way;
}

static __device__ __forceinline__ void close_group_of_copies() {}

template <int GROUPS>
static __device__ __forceinline__ void wait_for_copies()
{
}
#endif
