#ifndef POLICY_KERNELS_POLICY_VNNI_QUANTIZE_H
#define POLICY_KERNELS_POLICY_VNNI_QUANTIZE_H

// Quantises rows of floats on AVX-512 in three steps: the range, the grid (policy_math.h), the
// codes. Empty unless the including file is compiled for AVX-512. Rows need no padding: numbers
// from index n are not read, and up to the next multiple of 32 they get the code of zero.
//
// Threads: any. Owns: nothing.

#include "policy/kernels/policy_simd_avx512.h"

#ifdef POLICY_SIMD

#include <string.h>

#include "policy/kernels/policy_rows.h"
#include "policy/kernels/policy_unroll.h"

// Returns four codes in each lane, the operand of vpdpbusd.
static POLICY_INLINE vint
codes_load(const uint8_t *codes)
{
    int32_t four;
    memcpy(&four, codes, sizeof(four));
    return v_set_int(four);
}

// The range of the numbers so far, including zero, lane by lane.
typedef struct vrange {
    vfloat lo, hi;
} vrange;

// Returns x[i .. i + 15], with zeros from index n.
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

// Returns the larger of each two numbers, if none is negative or NaN. Their bits have the same
// order as integers, and the CPU compares integers in more pipes than floats.
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

// Returns the range of x[n]. is_positive: no number is below zero, so only the upper end is found.
// Two chains keep a comparison from waiting for the one before it.
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
    return is_positive ? code : v_add_int(code, zero); // if is_positive, the zero point is 0
}

// Computes the codes of x[n], 64 at a time, and the rest 32 at a time, so that short rows need half
// the work.
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

// Returns max(x, +0) for outputs of a layer with finite parameters. On x86, a NaN from a
// multiplication or an addition has its sign bit set, so as an integer it is below zero, like -0,
// and becomes +0.
static POLICY_INLINE vfloat
numbers_relu(vfloat x)
{
    return greater_positive(x, v_set(0.0f));
}

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_VNNI_QUANTIZE_H
