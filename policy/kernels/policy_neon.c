// The kernels for NEON with the dot product (ARMv8.2). sdot multiplies signed bytes and adds four
// products to an int32, exactly. Codes are stored minus 128, and the missing 128 times the sum of
// an output's weights is corrected together with the zero point.
#include "policy/kernels/policy_kernels.h"

#include <string.h>
#include <sys/auxv.h>

#include "policy/kernels/policy_simd_neon.h"

#define UNIT        4
#define CODE_OFFSET 128

static bool
neon_is_supported(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

static POLICY_INLINE vint
v_products(vint sum, const vcode *codes, const int8_t *weights)
{
    int32_t four;
    memcpy(&four, codes, sizeof(four));
    const int8x16_t inputs = vreinterpretq_s8_s32(vdupq_n_s32(four));
    POLICY_UNROLL
    for (int i = 0; i < 4; i++) {
        sum.part[i] = vdotq_s32(sum.part[i], inputs, vld1q_s8(weights + 16 * i));
    }
    return sum;
}

#include "policy/kernels/policy_tiles.h"

const policy_kernels policy_kernels_neon = {
    .isa = POLICY_ISA_NEON,
    .is_supported = neon_is_supported,
    .lanes = POLICY_LANES,
    .unit = UNIT,
    .code_bytes = sizeof(vcode),
    .quantize = rows_quantize,
    .layer_q8 = tiles_layer_q8,
    .layer_f32 = tiles_layer_floats,
    .layer_half = tiles_layer_floats,
};
