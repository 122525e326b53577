#ifndef POLICY_POLICY_VNNI_TILE_H
#define POLICY_POLICY_VNNI_TILE_H

// A tile of ROWS rows by GROUPS groups of outputs of an INT8 layer, in registers. Each weight that
// is loaded multiplies all rows. The limit is one vpdpbusd of 64 products a clock (on Zen 4), so a
// tile has the fewest other instructions beside it, and up to sixteen sums in flight.
// Include policy_simd_avx512.h before.
//
// Threads: any. Owns: nothing.

#ifdef POLICY_SIMD

#include <string.h>

#include "policy/policy_vnni.h"
#include "policy/policy_vnni_quantize.h"

#define POLICY_TILE_GROUPS 4
#define POLICY_TILE_SUMS   16

// A multiple of policy_kernels.h's unit of codes, in each lane.
static POLICY_INLINE vint
codes_load(const uint8_t *codes)
{
    int32_t four;
    memcpy(&four, codes, sizeof(four));
    return v_set_int(four);
}

// acc[ROWS][GROUPS], outputs of group g on. Unless ahead is a constant NULL, meanwhile one cache
// line for each UNIT inputs is asked for from there on.
static POLICY_INLINE void
tile_sums(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
          const uint8_t *restrict codes, size_t q_stride, const int8_t *ahead, vint *acc)
{
    const size_t K = dense->inputs_padded;
    const int8_t *w = (const int8_t *)dense->weights + g * K * POLICY_LANES;
    POLICY_UNROLL
    for (int i = 0; i < ROWS * GROUPS; i++) {
        acc[i] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < K; k += POLICY_VNNI_UNIT) {
        vint weights[POLICY_TILE_GROUPS];
        if (ahead != NULL) {
            _mm_prefetch(ahead + k * POLICY_LANES, _MM_HINT_T1);
        }
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            weights[i] = _mm512_load_si512(w + ((size_t)i * K + k) * POLICY_LANES);
            POLICY_PIN(weights[i]); // loaded once, not for each row
        }
        POLICY_UNROLL
        for (int i = 0; i < ROWS * GROUPS; i++) {
            vint four = codes_load(codes + (size_t)(i / GROUPS) * q_stride + k);
            acc[i] = _mm512_dpbusd_epi32(acc[i], four, weights[i % GROUPS]);
            POLICY_PIN(acc[i]);
        }
    }
}

// out[ROWS][GROUPS] from the sums: all that follows but layer norm and what is not a plain relu.
static POLICY_INLINE void
tile_finish(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
            const policy_row *restrict rows, const vint *acc, vfloat *out)
{
    int32_t any_zero_point = 0; // none after relu
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        any_zero_point |= rows[r].zero_point;
    }
    const bool is_relu = policy_has_plain_relu(dense);
    POLICY_UNROLL
    for (int i = 0; i < ROWS * GROUPS; i++) {
        const policy_row *row = &rows[i / GROUPS];
        const size_t at = (g + (size_t)(i % GROUPS)) * POLICY_LANES;
        vint sum = acc[i];
        if (any_zero_point != 0) {
            vint row_sums = _mm512_load_si512(dense->row_sums + at);
            sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(v_set_int(row->zero_point), row_sums));
        }
        vfloat scale = v_mul(v_set(row->scale), v_load(dense->scales + at));
        vfloat x = v_add(v_mul(v_float(sum), scale), v_load(dense->bias + at));
        out[i] = is_relu ? numbers_relu(x) : x;
    }
}

#endif // POLICY_SIMD

#endif // POLICY_POLICY_VNNI_TILE_H
