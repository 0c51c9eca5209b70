// Which lane of a wave holds which elements of the matrices that one matrix instruction takes and gives.
//
// Every form multiplies 16 rows of A (m) and 16 rows of B (n), each of UNIT_K elements, into 16 x 16 sums. Both factors
// lie alike in the lanes, so one set of formulas serves both. Formulas only, no instruction: any compiler takes them,
// and -DMATRIX_CORE=... asks for those of another device than the one that is compiled for.
#pragma once

#include "element.h"

#define MATRIX_LOOPS 0       // no matrix core: a lone work-item has everything
#define MATRIX_MFMA_EARLY 1  // gfx908, whose bfloat16 instruction takes 8 elements of k
#define MATRIX_MFMA 2        // gfx90a, gfx942
#define MATRIX_MFMA_WIDE 3   // gfx950: 32 elements of k
#define MATRIX_WMMA_TWICE 4  // gfx11: lanes 16 to 31 hold the same elements as lanes 0 to 15
#define MATRIX_WMMA 5        // gfx12
#define MATRIX_MMA_SYNC 6    // NVIDIA, from sm_80 on
#define MATRIX_WGMMA 7       // sm_90a, where it is asked for: it does not suit every tile

#if !defined(MATRIX_CORE)
#if defined(__CUDACC__)
#define MATRIX_CORE MATRIX_MMA_SYNC
#elif defined(__gfx908__)
#define MATRIX_CORE MATRIX_MFMA_EARLY
#elif defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define MATRIX_CORE MATRIX_MFMA
#elif defined(__gfx950__)
#define MATRIX_CORE MATRIX_MFMA_WIDE
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__) ||                  \
    defined(__gfx1150__) || defined(__gfx1151__) || defined(__gfx1152__) || defined(__gfx1153__)
#define MATRIX_CORE MATRIX_WMMA_TWICE
#elif defined(__gfx1200__) || defined(__gfx1201__)
#define MATRIX_CORE MATRIX_WMMA
#elif defined(__AMDGCN__)
#error "the matrix cores of this GPU are not known here"
#else
#define MATRIX_CORE MATRIX_LOOPS
#endif
#endif

#define UNIT 16 // rows of either factor

// How many waves multiply together, each with 16 rows of n beside those of the others.
#if MATRIX_CORE == MATRIX_WGMMA
#define WAVES_TOGETHER 4
#else
#define WAVES_TOGETHER 1
#endif

// Lanes of a wave, elements of a factor in a lane, sums in a lane.
#if MATRIX_CORE == MATRIX_LOOPS
#define WAVE 1
#define LANE_ELEMENTS 256
#define LANE_SUMS 256
#elif MATRIX_CORE == MATRIX_MFMA_EARLY
#define LANE_ELEMENTS_FP16 4
#define LANE_ELEMENTS_BF16 2
#define WAVE 64
#define LANE_ELEMENTS ELEMENT_PASTE(LANE_ELEMENTS_, ELEMENT)
#define LANE_SUMS 4
#elif MATRIX_CORE == MATRIX_MFMA
#define WAVE 64
#define LANE_ELEMENTS 4
#define LANE_SUMS 4
#elif MATRIX_CORE == MATRIX_MFMA_WIDE
#define WAVE 64
#define LANE_ELEMENTS 8
#define LANE_SUMS 4
#elif MATRIX_CORE == MATRIX_WMMA_TWICE
#define WAVE 32
#define LANE_ELEMENTS 16
#define LANE_SUMS 8
#else
#define WAVE 32
#define LANE_ELEMENTS 8
#define LANE_SUMS 8
#endif

// How many sums of a lane, neighbours along m, are put down at once.
#define SUMS_TOGETHER (MATRIX_CORE >= MATRIX_MMA_SYNC ? 2 : 1)

#if MATRIX_CORE == MATRIX_WMMA_TWICE
#define UNIT_K 16
#else
#define UNIT_K (WAVE * LANE_ELEMENTS / UNIT)
#endif

// Element i of a lane's part of a factor: its row, and where it stands along k.
static __device__ __forceinline__ int element_row(int lane, int i)
{
#if MATRIX_CORE == MATRIX_LOOPS
    return i % UNIT;
#elif MATRIX_CORE >= MATRIX_MMA_SYNC
    return lane / 4 + i / 2 % 2 * 8;
#else
    return lane % UNIT;
#endif
}

static __device__ __forceinline__ int element_k(int lane, int i)
{
#if MATRIX_CORE == MATRIX_LOOPS
    return i / UNIT;
#elif MATRIX_CORE >= MATRIX_MMA_SYNC
    return lane % 4 * 2 + i % 2 + i / 4 * 8;
#elif MATRIX_CORE == MATRIX_WMMA_TWICE
    return i;
#else
    return lane / UNIT * LANE_ELEMENTS + i;
#endif
}

// Sum i of a lane: its row of A, and its row of B. On NVIDIA the factors change places, so that as everywhere else
// neighbouring sums of a lane differ in m.
static __device__ __forceinline__ int sum_m(int lane, int i)
{
#if MATRIX_CORE == MATRIX_LOOPS
    return i / UNIT;
#elif MATRIX_CORE >= MATRIX_MMA_SYNC
    return element_k(lane, i);
#elif MATRIX_CORE == MATRIX_WMMA_TWICE
    return i * 2 + lane / UNIT;
#else
    return lane / UNIT * LANE_SUMS + i;
#endif
}

static __device__ __forceinline__ int sum_n(int lane, int i)
{
#if MATRIX_CORE == MATRIX_LOOPS || MATRIX_CORE >= MATRIX_MMA_SYNC
    return element_row(lane, i);
#else
    return lane % UNIT;
#endif
}
