#ifndef POLICY_KERNELS_POLICY_VNNI_QUANTIZE_H
#define POLICY_KERNELS_POLICY_VNNI_QUANTIZE_H

// Rows of floats to codes on AVX-512, in steps: the range, the grid (policy_math.h), the codes.
// Empty unless the file that includes it is compiled for AVX-512. Rows need no padding here:
// numbers from n on are not read, their codes are that of zero, up to the next multiple of 32.
//
// Threads: any. Owns: nothing.

#include "policy/kernels/policy_simd_avx512.h"

#ifdef POLICY_SIMD

#include <string.h>

#include "policy/kernels/policy_rows.h"
#include "policy/kernels/policy_unroll.h"

// Four codes in each lane, as vpdpbusd wants them.
static POLICY_INLINE vint
codes_load(const uint8_t *codes)
{
    int32_t four;
    memcpy(&four, codes, sizeof(four));
    return v_set_int(four);
}

// The range of numbers seen so far, zero included, lane by lane.
typedef struct vrange {
    vfloat lo, hi;
} vrange;

// x[i] to x[i + 15], zero from number n on.
static POLICY_INLINE vfloat
numbers_load(const float *x, uint32_t i, uint32_t n)
{
    if (n >= i + POLICY_LANES) {
        return v_load(x + i);
    }
    uint32_t count = n > i ? n - i : 0;
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1u), x + i);
}

static POLICY_INLINE void
numbers_copy(uint32_t n, const float *from, float *to)
{
    uint32_t i = 0;
    for (; i + POLICY_LANES <= n; i += POLICY_LANES) {
        v_store(to + i, v_load(from + i));
    }
    if (i < n) {
        _mm512_mask_storeu_ps(to + i, (__mmask16)((1u << (n - i)) - 1u), v_load(from + i));
    }
}

// The greater of each two numbers, none of which is negative or NaN: their bits have their order,
// and integers are compared in more pipes than floats.
static POLICY_INLINE vfloat
greater_positive(vfloat a, vfloat b)
{
    return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}

static POLICY_INLINE void
range_add(vrange *range, vfloat a, bool is_positive)
{
    if (is_positive) {
        range->hi = greater_positive(a, range->hi);
    } else {
        range->lo = v_min(a, range->lo);
        range->hi = v_max(a, range->hi);
    }
}

// is_positive: no number is below zero, so only the upper end is looked for. Two chains, so that no
// comparison waits for the last.
static POLICY_INLINE vrange
range_of(uint32_t n, const float *x, bool is_positive)
{
    const vfloat zero = v_set(0.0f);
    vrange a = {zero, zero}, b = {zero, zero};
    uint32_t i = 0;
    for (; i + 2 * POLICY_LANES <= n; i += 2 * POLICY_LANES) {
        range_add(&a, v_load(x + i), is_positive);
        range_add(&b, v_load(x + i + POLICY_LANES), is_positive);
    }
    for (; i < n; i += POLICY_LANES) {
        range_add(&a, numbers_load(x, i, n), is_positive);
    }
    return (vrange){v_min(a.lo, b.lo), v_max(a.hi, b.hi)};
}

static POLICY_INLINE vint
sixteen_codes(vfloat x, vfloat inverse, vint zero, bool is_positive)
{
    vint code = v_round(v_mul(x, inverse));
    return is_positive ? code : v_add_int(code, zero); // the zero point is 0 then
}

// The codes of x[n]; the last 32 at a time, so that short rows do half the work.
static POLICY_INLINE void
codes_of(uint32_t n, const float *x, const policy_affine *affine, bool is_positive, uint8_t *codes)
{
    const vfloat inverse = v_set(affine->inverse);
    const vint zero = v_set_int(affine->zero_point);
    uint32_t i = 0;
#define CODES(at) sixteen_codes(v_load(x + (at)), inverse, zero, is_positive)
    for (; i + 64 <= n; i += 64) {
        v_store_codes4(codes + i, CODES(i), CODES(i + 16), CODES(i + 32), CODES(i + 48));
    }
#undef CODES
#define CODES(at) sixteen_codes(numbers_load(x, (at), n), inverse, zero, is_positive)
    for (; i < n; i += 32) {
        const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
        __m512i words = _mm512_packs_epi32(CODES(i), CODES(i + 16));
        __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(words, words));
        _mm256_storeu_si256((void *)(codes + i), _mm512_castsi512_si256(bytes));
    }
#undef CODES
}

// max(x, +0) for x of a layer whose parameters are finite: a NaN that multiplication or addition
// makes has its sign set, so as an integer it is below zero, as -0 is.
static POLICY_INLINE vfloat
numbers_relu(vfloat x)
{
    return greater_positive(x, v_set(0.0f));
}

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_VNNI_QUANTIZE_H
