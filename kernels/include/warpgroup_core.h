// Matrix cores of Hopper, which four waves, a warpgroup, use at once, and which read both factors from shared memory.
//
//   place_in_rows      where shared memory holds an element of a tile, so that the cores find it
//   factor, further    what the cores are told of a tile, and of a part of it
//   multiply_add_64    sums += A * B for 64 rows of n, all columns of m that the warpgroup has, and PRODUCTS of k, later
//   wait_for_products  until all but the last few groups of products have been added
//
// Each line of a tile is cut into rows of 64 neighbours; their 8 chunks lie in an order that differs from line to line,
// so that 8 lines meet all banks. Needs sm_90a.
#pragma once

#include "matrix_layout.h"

#define ROW 64        // neighbours of a line that lie together
#define ROW_BYTES 128 // the same
#define PRODUCTS 16   // of each sum that one instruction adds up

static __device__ __forceinline__ int place_in_rows(int lines, int line, int at)
{
    return (at / ROW * lines + line) * ROW + (at / 8 ^ line) % 8 * 8 + at % 8;
}

// In units of 16 bytes: where a part begins, how far it is to the rows of the next 64 neighbours, and to 8 lines on.
static __device__ __forceinline__ unsigned long long factor(const element_t* tile, int lines)
{
    const unsigned long long swizzled_128_bytes = 1;
    const unsigned long long start = (unsigned int)__cvta_generic_to_shared(tile) / 16;
    const unsigned long long next_rows = lines * ROW_BYTES / 16;
    const unsigned long long next_lines = 8 * ROW_BYTES / 16;
    return start | next_rows << 16 | next_lines << 32 | swizzled_128_bytes << 62;
}

// How much further a part begins that is `lines_on` lines and `at` neighbours away, in the units of a factor.
static __device__ __forceinline__ unsigned long long further(int lines, int lines_on, int at)
{
    return (unsigned long long)((at / ROW * lines + lines_on) * ROW_BYTES + at % ROW * 2) / 16;
}

static __device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

static __device__ __forceinline__ void close_group_of_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int GROUPS>
static __device__ __forceinline__ void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

// What a work-item has copied is there for the cores too, behind the next barrier.
static __device__ __forceinline__ void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// The registers of an instruction: 8 sums of each 16 columns, then what the names below tell of the factors.
#define TEN(tens)                                                                                                      \
    "%" #tens "0, %" #tens "1, %" #tens "2, %" #tens "3, %" #tens "4, "                                                \
    "%" #tens "5, %" #tens "6, %" #tens "7, %" #tens "8, %" #tens "9, "
#define NAMES_32 TEN() TEN(1) TEN(2) "%30, %31"
#define NAMES_64 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define NAMES_128                                                                                                      \
    TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)                               \
    "%120, %121, %122, %123, %124, %125, %126, %127"

#define SUM(unit, i) "+f"(sums[(unit)*UNIT_STEP].at[i])
#define SUMS_8(unit)                                                                                                   \
    SUM(unit, 0), SUM(unit, 1), SUM(unit, 2), SUM(unit, 3), SUM(unit, 4), SUM(unit, 5), SUM(unit, 6), SUM(unit, 7)
#define SUMS_32(unit) SUMS_8(unit), SUMS_8(unit + 1), SUMS_8(unit + 2), SUMS_8(unit + 3)
#define SUMS_64(unit) SUMS_32(unit), SUMS_32(unit + 4)
#define SUMS_128(unit) SUMS_64(unit), SUMS_64(unit + 8)

#define WGMMA_TYPE_FP16 "f16"
#define WGMMA_TYPE_BF16 "bf16"
#define WGMMA_TYPE ELEMENT_PASTE(WGMMA_TYPE_, ELEMENT)
#define WGMMA(columns, names, b_name, a_name, b_order, a_order, is_sum, ...)                                           \
    asm volatile("{\n.reg .pred is_sum;\nsetp.ne.b32 is_sum, " is_sum ", 0;\n"                                         \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." WGMMA_TYPE "." WGMMA_TYPE                      \
                 " {" names "}, " b_name ", " a_name ", is_sum, 1, 1, " b_order ", " a_order ";\n}"                    \
                 : __VA_ARGS__                                                                                         \
                 : "l"(b), "l"(a), "n"(!IS_B_ALONG_K), "n"(!IS_A_ALONG_K), "r"(1))

// Of the sums, those of every 16 columns stand UNIT_STEP apart.
template <int COLUMNS, bool IS_A_ALONG_K, bool IS_B_ALONG_K, int UNIT_STEP>
static __device__ __forceinline__ void multiply_add_64(unsigned long long a, unsigned long long b, unit_sums* sums)
{
    static_assert(COLUMNS == 64 || COLUMNS == 128 || COLUMNS == 256, "no instruction is written down for so many");
    if constexpr(COLUMNS == 64)
        WGMMA("64", NAMES_32, "%32", "%33", "%34", "%35", "%36", SUMS_32(0));
    else if constexpr(COLUMNS == 128)
        WGMMA("128", NAMES_64, "%64", "%65", "%66", "%67", "%68", SUMS_64(0));
    else
        WGMMA("256", NAMES_128, "%128", "%129", "%130", "%131", "%132", SUMS_128(0));
}
