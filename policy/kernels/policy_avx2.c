// The kernels for AVX2. vpmaddubsw would saturate its sums of two products. Codes are therefore
// widened to 16 bits (activations when they are quantised, weights when they are loaded), and
// vpmaddwd adds pairs of products exactly.
#include "policy/kernels/policy_kernels.h"

#include <string.h>

#include "policy/kernels/policy_cpuid.h"
#include "policy/kernels/policy_simd_avx2.h"

#define UNIT        2
#define CODE_OFFSET 0

static bool
avx2_is_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && policy_cpu_has_f16c();
}

static POLICY_INLINE vint
v_products(vint sum, const vcode *codes, const int8_t *weights)
{
    int32_t two;
    memcpy(&two, codes, sizeof(two));
    const __m256i pair = _mm256_set1_epi32(two);
    const __m128i *at = (const __m128i *)(const void *)weights;
    __m256i low = _mm256_cvtepi8_epi16(_mm_load_si128(at));
    __m256i high = _mm256_cvtepi8_epi16(_mm_load_si128(at + 1));
    return (vint){
        _mm256_add_epi32(sum.low, _mm256_madd_epi16(pair, low)),
        _mm256_add_epi32(sum.high, _mm256_madd_epi16(pair, high)),
    };
}

#include "policy/kernels/policy_tiles.h"

const policy_kernels policy_kernels_avx2 = {
    .isa = POLICY_ISA_AVX2,
    .is_supported = avx2_is_supported,
    .lanes = POLICY_LANES,
    .unit = UNIT,
    .code_bytes = sizeof(vcode),
    .quantize = rows_quantize,
    .layer_q8 = tiles_layer_q8,
    .layer_f32 = tiles_layer_floats,
    .layer_half = tiles_layer_floats,
};
