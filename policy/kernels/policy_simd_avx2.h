#ifndef POLICY_KERNELS_POLICY_SIMD_AVX2_H
#define POLICY_KERNELS_POLICY_SIMD_AVX2_H

// Sixteen lanes as two AVX2 registers, with the names that policy_rows.h and policy_tiles.h use.
// Empty unless the including file is compiled for AVX2, FMA and F16C. Codes of activations are
// 16-bit words for vpmaddwd, or bytes if POLICY_CODES_AS_BYTES is defined.
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <immintrin.h>
#include <stdint.h>

#include "policy/kernels/policy_unroll.h"

#define POLICY_SIMD 1

typedef struct vfloat {
    __m256 low, high;
} vfloat;
typedef struct vint {
    __m256i low, high;
} vint;

// Applies an operation to both halves.
#define PAIR(operation, a, b) ((vfloat){operation((a).low, (b).low), operation((a).high, (b).high)})

static inline vfloat
v_load(const float *at)
{
    return (vfloat){_mm256_loadu_ps(at), _mm256_loadu_ps(at + 8)};
}

// Returns sixteen bf16 as floats.
static inline vfloat
v_load_bf16(const uint16_t *at)
{
    const __m128i *from = (const __m128i *)(const void *)at;
    __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
    __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128(from + 1));
    return (vfloat){_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
                    _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}

// Returns sixteen fp16 as floats.
static inline vfloat
v_load_fp16(const uint16_t *at)
{
    const __m128i *from = (const __m128i *)(const void *)at;
    return (vfloat){_mm256_cvtph_ps(_mm_loadu_si128(from)),
                    _mm256_cvtph_ps(_mm_loadu_si128(from + 1))};
}

static inline void
v_store(float *at, vfloat a)
{
    _mm256_storeu_ps(at, a.low);
    _mm256_storeu_ps(at + 8, a.high);
}

static inline vfloat
v_set(float value)
{
    return (vfloat){_mm256_set1_ps(value), _mm256_set1_ps(value)};
}

static inline vfloat
v_add(vfloat a, vfloat b)
{
    return PAIR(_mm256_add_ps, a, b);
}

static inline vfloat
v_sub(vfloat a, vfloat b)
{
    return PAIR(_mm256_sub_ps, a, b);
}

static inline vfloat
v_mul(vfloat a, vfloat b)
{
    return PAIR(_mm256_mul_ps, a, b);
}

// a * b + c with one rounding.
static inline vfloat
v_fma(vfloat a, vfloat b, vfloat c)
{
    return (vfloat){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

static inline vfloat
v_div(vfloat a, vfloat b)
{
    return PAIR(_mm256_div_ps, a, b);
}

// a < b ? a : b, which is b if either is NaN.
static inline vfloat
v_min(vfloat a, vfloat b)
{
    return PAIR(_mm256_min_ps, a, b);
}

// a > b ? a : b, which is b if either is NaN.
static inline vfloat
v_max(vfloat a, vfloat b)
{
    return PAIR(_mm256_max_ps, a, b);
}

// The sign bits of a.
static inline vfloat
v_sign(vfloat a)
{
    return PAIR(_mm256_and_ps, a, v_set(-0.0f));
}

static inline vfloat
v_xor(vfloat a, vfloat b)
{
    return PAIR(_mm256_xor_ps, a, b);
}

// a > b ? c : d
static inline vfloat
v_if_greater(vfloat a, vfloat b, vfloat c, vfloat d)
{
    __m256 low = _mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ);
    __m256 high = _mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ);
    return (vfloat){_mm256_blendv_ps(d.low, c.low, low), _mm256_blendv_ps(d.high, c.high, high)};
}

// Returns the lanes below count, and zero in the others.
static inline vfloat
v_head(vfloat a, uint32_t count)
{
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i all = _mm256_set1_epi32((int32_t)count);
    __m256i low = _mm256_cmpgt_epi32(all, index);
    __m256i high = _mm256_cmpgt_epi32(all, _mm256_add_epi32(index, _mm256_set1_epi32(8)));
    return (vfloat){_mm256_and_ps(a.low, _mm256_castsi256_ps(low)),
                    _mm256_and_ps(a.high, _mm256_castsi256_ps(high))};
}

// Rounds to nearest even. NaN and numbers outside int32 give INT32_MIN.
static inline vint
v_round(vfloat a)
{
    return (vint){_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)};
}

static inline vfloat
v_float(vint a)
{
    return (vfloat){_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)};
}

// 2^n as a float.
static inline vfloat
v_power(vint n)
{
    const __m256i bias = _mm256_set1_epi32(127);
    return (vfloat){
        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.low, bias), 23)),
        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.high, bias), 23)),
    };
}

static inline vint
v_set_int(int32_t value)
{
    return (vint){_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
}

static inline vint
v_load_int(const int32_t *at)
{
    return (vint){_mm256_loadu_si256((const __m256i *)(const void *)at),
                  _mm256_loadu_si256((const __m256i *)(const void *)(at + 8))};
}

static inline vint
v_add_int(vint a, vint b)
{
    return (vint){_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

// a - b * c
static inline vint
v_less_product(vint a, vint b, vint c)
{
    return (vint){_mm256_sub_epi32(a.low, _mm256_mullo_epi32(b.low, c.low)),
                  _mm256_sub_epi32(a.high, _mm256_mullo_epi32(b.high, c.high))};
}

// Keeps a in its registers (see POLICY_PIN).
#define V_PIN(a)                                                                                   \
    do {                                                                                           \
        POLICY_PIN((a).low);                                                                       \
        POLICY_PIN((a).high);                                                                      \
    } while (0)

// The tree over lanes of the specification: 16 to 8 to 4 to 2 to 1, lane i with lane i + half.
#define TREE(name, operation256, operation128)                                                     \
    static inline float name(vfloat a)                                                             \
    {                                                                                              \
        __m256 eight = operation256(a.low, a.high);                                                \
        __m128 four =                                                                              \
            operation128(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));          \
        __m128 two = operation128(four, _mm_movehl_ps(four, four));                                \
        return _mm_cvtss_f32(operation128(two, _mm_movehdup_ps(two)));                             \
    }
TREE(v_sum, _mm256_add_ps, _mm_add_ps)
TREE(v_least, _mm256_min_ps, _mm_min_ps)
TREE(v_greatest, _mm256_max_ps, _mm_max_ps)
#undef TREE
#undef PAIR

// Store sixteen, or four times sixteen, activation codes, clamped to 0..255.
#ifdef POLICY_CODES_AS_BYTES

typedef uint8_t vcode;

// The saturating packs clamp. They work within 128-bit halves, and a permutation restores the
// order.
static inline __m256i
v_codes_pack(vint a, vint b)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i words_a = _mm256_packs_epi32(a.low, a.high);
    __m256i words_b = _mm256_packs_epi32(b.low, b.high);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words_a, words_b), order);
}

static inline void
v_store_codes(vcode *at, vint a)
{
    _mm_storeu_si128((__m128i *)(void *)at, _mm256_castsi256_si128(v_codes_pack(a, a)));
}

static inline void
v_store_codes4(vcode *at, vint a, vint b, vint c, vint d)
{
    _mm256_storeu_si256((__m256i *)(void *)at, v_codes_pack(a, b));
    _mm256_storeu_si256((__m256i *)(void *)(at + 32), v_codes_pack(c, d));
}

#else

typedef uint16_t vcode;

static inline void
v_store_codes(vcode *at, vint a)
{
    __m256i words = _mm256_packus_epi32(a.low, a.high); // negative numbers become 0
    words = _mm256_permute4x64_epi64(words, 0xd8);      // the pack works within halves
    _mm256_storeu_si256((__m256i *)at, _mm256_min_epu16(words, _mm256_set1_epi16(255)));
}

static inline void
v_store_codes4(vcode *at, vint a, vint b, vint c, vint d)
{
    v_store_codes(at, a);
    v_store_codes(at + 16, b);
    v_store_codes(at + 32, c);
    v_store_codes(at + 48, d);
}

#endif // POLICY_CODES_AS_BYTES

#endif // AVX2, FMA, F16C

#endif // POLICY_KERNELS_POLICY_SIMD_AVX2_H
