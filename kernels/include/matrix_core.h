// Matrix cores: what one wave multiplies at once, in the form of the device that is compiled for.
//
//   load_rows     a lane's part of 16 rows of a factor in shared memory, where k is the fast axis
//   load_columns  the same, where k is the slow axis
//   multiply_add  sums += A * B of a unit: 16 x 16 sums over UNIT_K products
//
// matrix_layout.h says which elements and sums a lane has. Elements are FP16 or BF16, sums are float. All lanes of a
// wave call these together. Where four waves multiply at once, what they call is in warpgroup_core.h.
#pragma once

#include "matrix_layout.h"

// In front of loops whose counters index registers; a lone work-item keeps nothing there, and its text would explode.
#if MATRIX_CORE == MATRIX_LOOPS
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

// In front of loops whose rounds are best begun a few together: where nobody else fills the time that a load takes.
#if WAVES_TOGETHER > 1
#define UNROLL_SOME _Pragma("unroll 4")
#else
#define UNROLL_SOME
#endif

// How many fragments are best loaded before they are multiplied: where the compiler may not move loads, the text must.
#ifndef FRAGMENTS_AHEAD
#if MATRIX_CORE == MATRIX_MMA_SYNC
#define FRAGMENTS_AHEAD 1
#else
#define FRAGMENTS_AHEAD 0
#endif
#endif

struct alignas(16) unit_sums {
    float at[LANE_SUMS];
};

#if MATRIX_CORE == MATRIX_MMA_SYNC
// Two elements a word. A word belongs to one of the four 8 x 8 quarters of a unit, which the instruction wants in
// neighbouring registers: of B all four, by rows first, of A two at a time, by k first.
struct a_fragment {
    unsigned int quarters[4];
};
struct b_fragment {
    unsigned int quarters[4];
};

static __device__ __forceinline__ int own_lane() { return (int)(threadIdx.x % WAVE); }

static __device__ __forceinline__ void load_quarters(const element_t* from, unsigned int* to)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned int)__cvta_generic_to_shared(from))
                 : "memory");
}

static __device__ __forceinline__ void load_quarters_transposed(const element_t* from, unsigned int* to)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned int)__cvta_generic_to_shared(from))
                 : "memory");
}

// Each lane names one line of a quarter: lanes 0 to 7 those of the first, and so on.
static __device__ __forceinline__ void load_rows(const element_t* tile, int pitch, a_fragment* read)
{
    const int lane = own_lane();
    load_quarters(tile + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8, read->quarters);
}

static __device__ __forceinline__ void load_rows(const element_t* tile, int pitch, b_fragment* read)
{
    const int lane = own_lane();
    load_quarters(tile + lane % 16 * pitch + lane / 16 * 8, read->quarters);
}

static __device__ __forceinline__ void load_columns(const element_t* tile, int pitch, a_fragment* read)
{
    const int lane = own_lane();
    load_quarters_transposed(tile + lane % 16 * pitch + lane / 16 * 8, read->quarters);
}

static __device__ __forceinline__ void load_columns(const element_t* tile, int pitch, b_fragment* read)
{
    const int lane = own_lane();
    load_quarters_transposed(tile + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8, read->quarters);
}

#define MMA_SYNC(type)                                                                                                 \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                                                 \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                              \
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                                   \
        : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(a_low), "r"(a_high))

static __device__ __forceinline__ void
multiply_half(const _Float16*, unsigned int a_low, unsigned int a_high, const unsigned int* b, float* sums)
{
    MMA_SYNC("f16");
}

static __device__ __forceinline__ void
multiply_half(const bfloat16*, unsigned int a_low, unsigned int a_high, const unsigned int* b, float* sums)
{
    MMA_SYNC("bf16");
}

static __device__ __forceinline__ void multiply_add(const a_fragment* a, const b_fragment* b, unit_sums* sums)
{
    const element_t* type = nullptr;
    multiply_half(type, a->quarters[0], a->quarters[1], b->quarters, sums->at);
    multiply_half(type, a->quarters[2], a->quarters[3], b->quarters, sums->at + 4);
}
#elif MATRIX_CORE == MATRIX_WGMMA
static __device__ __forceinline__ int own_lane() { return (int)(threadIdx.x % WAVE); }

#include "warpgroup_core.h"
#elif MATRIX_CORE == MATRIX_LOOPS
struct fragment {
    float at[LANE_ELEMENTS];
};
typedef fragment a_fragment;
typedef fragment b_fragment;

static __device__ __forceinline__ int own_lane() { return 0; }

static __device__ __forceinline__ void load_rows(const element_t* tile, int pitch, fragment* read)
{
    for(int i = 0; i < LANE_ELEMENTS; ++i)
        read->at[i] = (float)load(tile + element_row(0, i) * pitch + element_k(0, i));
}

static __device__ __forceinline__ void load_columns(const element_t* tile, int pitch, fragment* read)
{
    for(int i = 0; i < LANE_ELEMENTS; ++i)
        read->at[i] = (float)load(tile + element_k(0, i) * pitch + element_row(0, i));
}

static __device__ __forceinline__ void multiply_add(const fragment* a, const fragment* b, unit_sums* sums)
{
    for(int k = 0; k < UNIT_K; ++k)
        for(int m = 0; m < UNIT; ++m)
            for(int n = 0; n < UNIT; ++n)
                sums->at[m * UNIT + n] += a->at[k * UNIT + m] * b->at[k * UNIT + n];
}
#else
// A lane's elements are neighbours along k.
struct alignas(LANE_ELEMENTS >= 8 ? 16 : LANE_ELEMENTS * 2) fragment {
    element_t at[LANE_ELEMENTS];
};
typedef fragment a_fragment;
typedef fragment b_fragment;

static __device__ __forceinline__ int own_lane() { return (int)(threadIdx.x % WAVE); }

static __device__ __forceinline__ void load_rows(const element_t* tile, int pitch, fragment* read)
{
    const int lane = own_lane();
    *read = *(const fragment*)(tile + element_row(lane, 0) * pitch + element_k(lane, 0));
}

static __device__ __forceinline__ void load_columns(const element_t* tile, int pitch, fragment* read)
{
    const int lane = own_lane();
UNROLL
    for(int i = 0; i < LANE_ELEMENTS; ++i)
        read->at[i] = tile[element_k(lane, i) * pitch + element_row(lane, i)];
}

#define VECTOR_OF(type, count) __attribute__((vector_size(sizeof(type) * (count)))) type
typedef VECTOR_OF(float, LANE_SUMS) sums_vector;

#if MATRIX_CORE == MATRIX_MFMA_EARLY
typedef VECTOR_OF(_Float16, 4) halves;
typedef VECTOR_OF(short, 2) bfloats;
#define MATRIX_FP16(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, sums, 0, 0, 0)
#define MATRIX_BF16(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x8bf16(a, b, sums, 0, 0, 0)
#elif MATRIX_CORE == MATRIX_MFMA
typedef VECTOR_OF(_Float16, 4) halves;
typedef VECTOR_OF(short, 4) bfloats;
#define MATRIX_FP16(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, sums, 0, 0, 0)
#define MATRIX_BF16(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, sums, 0, 0, 0)
#elif MATRIX_CORE == MATRIX_MFMA_WIDE
typedef VECTOR_OF(_Float16, 8) halves;
typedef VECTOR_OF(__bf16, 8) bfloats;
#define MATRIX_FP16(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, sums, 0, 0, 0)
#define MATRIX_BF16(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, sums, 0, 0, 0)
#elif MATRIX_CORE == MATRIX_WMMA_TWICE
typedef VECTOR_OF(_Float16, 16) halves;
typedef VECTOR_OF(short, 16) bfloats;
#define MATRIX_FP16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sums)
#define MATRIX_BF16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sums)
#else
typedef VECTOR_OF(_Float16, 8) halves;
typedef VECTOR_OF(short, 8) bfloats;
#define MATRIX_FP16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sums)
#define MATRIX_BF16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sums)
#endif

#define MATRIX_VECTOR_FP16 halves
#define MATRIX_VECTOR_BF16 bfloats
typedef ELEMENT_PASTE(MATRIX_VECTOR_, ELEMENT) fragment_vector;

static __device__ __forceinline__ void multiply_add(const fragment* a, const fragment* b, unit_sums* sums)
{
    fragment_vector a_lanes, b_lanes;
    sums_vector sum;
    __builtin_memcpy(&a_lanes, a->at, sizeof(a_lanes));
    __builtin_memcpy(&b_lanes, b->at, sizeof(b_lanes));
    __builtin_memcpy(&sum, sums->at, sizeof(sum));
    sum = ELEMENT_PASTE(MATRIX_, ELEMENT)(a_lanes, b_lanes, sum);
    __builtin_memcpy(sums->at, &sum, sizeof(sum));
}
#endif
