// The kernels for AVX-512 with VNNI: the table, and which part serves one row or many. vpdpbusd
// multiplies u8 by s8 and adds four products to an int32, exactly.
#include "policy/kernels/policy_vnni.h"

#include "policy/kernels/policy_simd_avx512.h"

#include "policy/kernels/policy_rows.h"

static bool
vnni_is_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

static void
vnni_forward_q8(const policy_dense *layers, uint32_t count, const policy_batch *obs,
                const policy_work *work, float *out)
{
    if (obs->rows == 1) {
        policy_vnni_forward_row(layers, count, obs->at, work, out);
    } else {
        policy_vnni_forward_rows(layers, count, obs, work, out);
    }
}

const policy_kernels policy_kernels_vnni = {
    .isa = POLICY_ISA_VNNI,
    .is_supported = vnni_is_supported,
    .lanes = POLICY_LANES,
    .unit = POLICY_VNNI_UNIT,
    .block = POLICY_VNNI_BLOCK,
    .code_bytes = sizeof(vcode),
    .quantize = rows_quantize,
    .layer_q8 = policy_vnni_layer_q8,
    .layer_f32 = policy_vnni_layer_f32,
    .layer_half = policy_vnni_layer_half,
    .forward_q8 = vnni_forward_q8,
    .q4_bytes = policy_vnni_q4_bytes,
    .pack_q4 = policy_vnni_pack_q4,
};
