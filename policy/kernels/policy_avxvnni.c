// The kernels for AVX-VNNI: vpdpbusd on 256-bit registers multiplies u8 by s8 and adds four
// products to an int32, exactly.
//
// The instruction has two encodings: VEX on CPUs with AVX-VNNI, EVEX on CPUs with AVX-512 VNNI and
// VL. Programs use the VEX form. The tests compile this file a second time with
// POLICY_AVXVNNI_AS_EVEX, so that a machine that only has AVX-512 can compare everything except
// that encoding with the reference.
#include "policy/kernels/policy_kernels.h"

#include <string.h>

#include "policy/kernels/policy_cpuid.h"

#define POLICY_CODES_AS_BYTES
#include "policy/kernels/policy_simd_avx2.h"

#define UNIT        4
#define CODE_OFFSET 0

static bool
avxvnni_is_supported(void)
{
#ifdef POLICY_AVXVNNI_AS_EVEX
    bool has_dot = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#else
    bool has_dot = policy_cpu_has_avxvnni();
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           policy_cpu_has_f16c() && has_dot;
}

static POLICY_INLINE vint
v_products(vint sum, const vcode *codes, const int8_t *weights)
{
    int32_t four;
    memcpy(&four, codes, sizeof(four));
    const __m256i inputs = _mm256_set1_epi32(four);
    const __m256i *at = (const __m256i *)(const void *)weights;
#ifdef POLICY_AVXVNNI_AS_EVEX
    return (vint){_mm256_dpbusd_epi32(sum.low, inputs, _mm256_load_si256(at)),
                  _mm256_dpbusd_epi32(sum.high, inputs, _mm256_load_si256(at + 1))};
#else
    return (vint){_mm256_dpbusd_avx_epi32(sum.low, inputs, _mm256_load_si256(at)),
                  _mm256_dpbusd_avx_epi32(sum.high, inputs, _mm256_load_si256(at + 1))};
#endif
}

#include "policy/kernels/policy_tiles.h"

const policy_kernels policy_kernels_avxvnni = {
    .isa = POLICY_ISA_AVXVNNI,
    .is_supported = avxvnni_is_supported,
    .lanes = POLICY_LANES,
    .unit = UNIT,
    .code_bytes = sizeof(vcode),
    .quantize = rows_quantize,
    .layer_q8 = tiles_layer_q8,
    .layer_f32 = tiles_layer_floats,
    .layer_half = tiles_layer_floats,
};
