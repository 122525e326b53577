#ifndef POLICY_KERNELS_POLICY_VNNI_TILE_H
#define POLICY_KERNELS_POLICY_VNNI_TILE_H

// A tile of an INT8 layer, ROWS rows by GROUPS groups of outputs, whose sums are in registers. Each
// weight is loaded once and multiplies all rows. The speed limit is one vpdpbusd of 64 products per
// clock (on Zen 4), so a tile has as few other instructions as possible and up to sixteen sums in
// flight.
// Empty unless the including file is compiled for AVX-512.
//
// Threads: any. Owns: nothing.

#include "policy/kernels/policy_simd_avx512.h"

#ifdef POLICY_SIMD

#include "policy/kernels/policy_vnni.h"
#include "policy/kernels/policy_vnni_quantize.h"

#define POLICY_TILE_GROUPS POLICY_VNNI_BLOCK
#define POLICY_TILE_SUMS   16

// A tile: its first group of outputs, and its first row in each array.
typedef struct tile {
    const policy_dense *dense;
    size_t g;
    const uint8_t *codes;
    size_t q_stride;
    const policy_row *rows;
    float *y;
    size_t y_stride;
    float (*hi)[POLICY_LANES];
} tile;

// acc[ROWS][GROUPS] = the sums of a tile. If ahead is not NULL, also prefetches the memory at
// ahead, one cache line for each POLICY_VNNI_UNIT inputs.
static POLICY_INLINE void
tile_sums(const int ROWS, const int GROUPS, const tile *t, const int8_t *ahead, vint *acc)
{
    const policy_dense *dense = t->dense;
    const size_t g = t->g, q_stride = t->q_stride;
    const uint8_t *restrict codes = t->codes;
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
            const size_t at = k * (size_t)GROUPS + (size_t)(i * POLICY_VNNI_UNIT);
            weights[i] = _mm512_load_si512(w + at * POLICY_LANES);
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

// Subtracts the part of the zero points from acc[ROWS][GROUPS]. After a ReLU all zero points are 0.
static POLICY_INLINE void
tile_correct(const int ROWS, const int GROUPS, const tile *t, vint *acc)
{
    const policy_row *restrict rows = t->rows;
    int32_t any_zero_point = 0;
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        any_zero_point |= rows[r].zero_point;
    }
    if (any_zero_point != 0) {
        POLICY_UNROLL
        for (int i = 0; i < ROWS * GROUPS; i++) {
            const int32_t *sums = t->dense->row_sums + (t->g + (size_t)(i % GROUPS)) * POLICY_LANES;
            vint zero = v_set_int(rows[i / GROUPS].zero_point);
            acc[i] = _mm512_sub_epi32(acc[i], _mm512_mullo_epi32(zero, _mm512_load_si512(sums)));
        }
    }
}

// Computes y[ROWS][GROUPS * 16] from the sums: scale, bias and a plain ReLU, but no layer norm and
// no other activation. After a plain ReLU, hi[ROWS][16] holds the largest outputs so far, lane by
// lane; group 0 resets it.
static POLICY_INLINE void
tile_store(const int ROWS, const int GROUPS, const tile *t, const vint *acc)
{
    const policy_dense *dense = t->dense;
    const size_t at = t->g * POLICY_LANES;
    const policy_row *restrict rows = t->rows;
    float *restrict y = t->y, (*restrict hi)[POLICY_LANES] = t->hi;
    const float *restrict scales = dense->scales + at, *restrict bias = dense->bias + at;
    // A plain ReLU is the maximum with 0, as integers. The maximum with INT32_MIN changes nothing.
    const vint floor = v_set_int(policy_has_plain_relu(dense) ? 0 : INT32_MIN);
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        const vfloat scale = v_set(rows[r].scale);
        vint most = t->g == 0 ? _mm512_setzero_si512() : _mm512_loadu_si512(hi[r]);
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            vfloat factor = v_mul(scale, v_load(scales + i * POLICY_LANES));
            vfloat x = v_mul(v_float(acc[r * GROUPS + i]), factor);
            x = v_add(x, v_load(bias + i * POLICY_LANES));
            vint bits = _mm512_max_epi32(_mm512_castps_si512(x), floor);
            _mm512_storeu_si512(y + (size_t)r * t->y_stride + at + (size_t)i * POLICY_LANES, bits);
            most = _mm512_max_epi32(bits, most);
        }
        _mm512_storeu_si512(hi[r], most);
    }
}

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_VNNI_TILE_H
