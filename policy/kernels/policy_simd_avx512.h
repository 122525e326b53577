#ifndef POLICY_KERNELS_POLICY_SIMD_AVX512_H
#define POLICY_KERNELS_POLICY_SIMD_AVX512_H

// Sixteen lanes as one AVX-512 register, with the names that policy_rows.h uses. Empty unless the
// including file is compiled for AVX-512.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__)

#include <immintrin.h>
#include <stdint.h>

#define POLICY_SIMD 1

typedef __m512 vfloat;
typedef __m512i vint;

static inline vfloat
v_load(const float *at)
{
    return _mm512_loadu_ps(at);
}

static inline void
v_store(float *at, vfloat a)
{
    _mm512_storeu_ps(at, a);
}

static inline vfloat
v_set(float value)
{
    return _mm512_set1_ps(value);
}

static inline vfloat
v_add(vfloat a, vfloat b)
{
    return _mm512_add_ps(a, b);
}

static inline vfloat
v_sub(vfloat a, vfloat b)
{
    return _mm512_sub_ps(a, b);
}

static inline vfloat
v_mul(vfloat a, vfloat b)
{
    return _mm512_mul_ps(a, b);
}

static inline vfloat
v_div(vfloat a, vfloat b)
{
    return _mm512_div_ps(a, b);
}

// a < b ? a : b, which is b if either is NaN.
static inline vfloat
v_min(vfloat a, vfloat b)
{
    return _mm512_min_ps(a, b);
}

// a > b ? a : b, which is b if either is NaN.
static inline vfloat
v_max(vfloat a, vfloat b)
{
    return _mm512_max_ps(a, b);
}

// The sign bits of a.
static inline vfloat
v_sign(vfloat a)
{
    return _mm512_and_ps(a, _mm512_set1_ps(-0.0f));
}

static inline vfloat
v_xor(vfloat a, vfloat b)
{
    return _mm512_xor_ps(a, b);
}

// a > b ? c : d
static inline vfloat
v_if_greater(vfloat a, vfloat b, vfloat c, vfloat d)
{
    return _mm512_mask_mov_ps(d, _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), c);
}

// Returns the lanes below count (at most 16), and zero in the others.
static inline vfloat
v_head(vfloat a, uint32_t count)
{
    return _mm512_maskz_mov_ps((__mmask16)((1u << count) - 1u), a);
}

// Rounds to nearest even. NaN and numbers outside int32 give INT32_MIN.
static inline vint
v_round(vfloat a)
{
    return _mm512_cvtps_epi32(a);
}

static inline vfloat
v_float(vint a)
{
    return _mm512_cvtepi32_ps(a);
}

// 2^n as a float.
static inline vfloat
v_power(vint n)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}

static inline vint
v_set_int(int32_t value)
{
    return _mm512_set1_epi32(value);
}

static inline vint
v_add_int(vint a, vint b)
{
    return _mm512_add_epi32(a, b);
}

// The tree over lanes of the specification: 16 to 8 to 4 to 2 to 1, lane i with lane i + half.
#define TREE(name, operation256, operation128)                                                     \
    static inline float name(vfloat a)                                                             \
    {                                                                                              \
        __m256 eight = operation256(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));      \
        __m128 four =                                                                              \
            operation128(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));          \
        __m128 two = operation128(four, _mm_movehl_ps(four, four));                                \
        return _mm_cvtss_f32(operation128(two, _mm_movehdup_ps(two)));                             \
    }
TREE(v_sum, _mm256_add_ps, _mm_add_ps)
TREE(v_least, _mm256_min_ps, _mm_min_ps)
TREE(v_greatest, _mm256_max_ps, _mm_max_ps)
#undef TREE

// Activation codes are bytes for vpdpbusd, clamped to 0..255.
typedef uint8_t vcode;

static inline void
v_store_codes(vcode *at, vint a)
{
    __m512i positive = _mm512_max_epi32(a, _mm512_setzero_si512());
    _mm_storeu_si128((__m128i *)at, _mm512_cvtusepi32_epi8(positive));
}

// Stores four times sixteen codes. The saturating packs clamp, and a permutation restores the
// order.
static inline void
v_store_codes4(vcode *at, vint a, vint b, vint c, vint d)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    _mm512_storeu_si512(at, _mm512_permutexvar_epi32(order, bytes));
}

#endif // AVX-512 F, DQ, BW

#endif // POLICY_KERNELS_POLICY_SIMD_AVX512_H
