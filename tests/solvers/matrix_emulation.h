/* One matrix instruction of AMD as its documentation has it, by a wave of the CPU device: each lane puts its elements
 * where the documentation says that they lie, and takes its sums from there. Where two lanes hold the same element they
 * must agree. EMULATED_* are expressions of lane and i, written down apart from the header that they test. */
#pragma once

#define COPIES_TAKE_TIME

static float emulated_value(_Float16 element) { return (float)element; }
static float emulated_value(__bf16 element) { return (float)element; }
static float emulated_value(short element) { return __uint_as_float((unsigned)(unsigned short)element << 16); }

template <class Vector, class Sums>
static Sums emulated_matrix(Vector a, Vector b, Sums sums)
{
    static constexpr int elements = sizeof(Vector) / sizeof(a[0]);
    static constexpr int own_sums = sizeof(Sums) / sizeof(float);
    static constexpr int length = EMULATED_WAVE / EMULATED_COPIES * elements / 16;
    __shared__ float factors[EMULATED_WAVES][2][16][length];
    __shared__ int writers[EMULATED_WAVES][2][16][length];
    const int wave = (int)threadIdx.x / EMULATED_WAVE;
    const int lane = (int)threadIdx.x % EMULATED_WAVE;
    for(int i = 0; i < elements; ++i)
        writers[wave][0][EMULATED_ROW][EMULATED_K] = writers[wave][1][EMULATED_ROW][EMULATED_K] = 0;
    __syncwarp();
    for(int i = 0; i < elements; ++i)
    {
        const float values[] = {emulated_value(a[i]), emulated_value(b[i])};
        for(int factor = 0; factor < 2; ++factor)
        {
            float* place = &factors[wave][factor][EMULATED_ROW][EMULATED_K];
            const bool disagrees = writers[wave][factor][EMULATED_ROW][EMULATED_K]++ && *place != values[factor];
            *place = disagrees ? __builtin_nanf("") : values[factor];
        }
    }
    __syncwarp();
    for(int i = 0; i < own_sums; ++i)
        for(int k = 0; k < length; ++k)
            sums[i] += factors[wave][0][EMULATED_M][k] * factors[wave][1][EMULATED_N][k];
    __syncwarp();
    return sums;
}

#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, ...) emulated_matrix(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x8bf16(a, b, c, ...) emulated_matrix(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, ...) emulated_matrix(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, ...) emulated_matrix(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, ...) emulated_matrix(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) emulated_matrix(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) emulated_matrix(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) emulated_matrix(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) emulated_matrix(a, b, c)
