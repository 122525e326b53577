#ifndef NN_NN_VEC_MATH_H
#define NN_NN_VEC_MATH_H

#include <assert.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "nn/nn_vec.h"

// What the files that are built once per instruction set share: exponentials and sums without
// calls and branches, that give the same bits at every vector width with FMAs.

// a b + c, rounded once. Where the instruction set has no such instruction it is rounded twice, as
// a call for each number would cost more than all else.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

#define LOG2_E 1.44269504f
#define LN2    0.693147182f
// ln 2 in two parts: products of the first with integers below 2^15 are exact.
#define LN2_HIGH 0.693359375f
#define LN2_LOW  -2.12194440e-4f
// Adding it leaves no fraction bits, and the whole number plus 127 in the lowest ones:
// 1.5 * 2^23 + 127.
#define ROUND_TO_EXPONENT 12583039.0f

static inline uint32_t
bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float
float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

// 2^k, from ROUND_TO_EXPONENT + k.
static inline float
power_of(float shifted)
{
    return float_of(bits_of(shifted) << 23);
}

// exp(r) - 1 for |r| <= ln 2 / 2: r + r^2 p(r), where p is the polynomial of the smallest largest
// relative error (1.4e-8).
static inline float
expm1_near_0(float r)
{
    // In two halves, which a CPU computes side by side.
    float square = r * r;
    float low = FMA(r, 0.16666542f, 0.49999997f);
    float high = FMA(r, 0.00836664718f, 0.0416672044f);
    float p = FMA(square, FMA(square, 0.00138824969f, high), low);
    return FMA(square, p, r);
}

// exp(x) - 1 for -87 <= x <= 0, within 1 ulp. x = k ln 2 + r, where r is at most half of ln 2; 2^k
// by the exponent. What ln 2 loses by being one float is lost in the 1. Any number for other x,
// NaN included: the caller chooses.
static inline float
expm1_below_0(float x)
{
    float shifted = FMA(x, LOG2_E, ROUND_TO_EXPONENT);
    float r = FMA(shifted - ROUND_TO_EXPONENT, -LN2, x);
    float power = power_of(shifted);
    return FMA(power, expm1_near_0(r), power - 1.0f);
}

// exp(x) for x <= 0, clamped at -87; within 1 ulp. As expm1_below_0, with more of ln 2.
static inline float
exp_of(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float shifted = FMA(x, LOG2_E, ROUND_TO_EXPONENT);
    float k = shifted - ROUND_TO_EXPONENT;
    float r = FMA(k, -LN2_LOW, FMA(k, -LN2_HIGH, x));
    float power = power_of(shifted);
    return FMA(power, expm1_near_0(r), power);
}

// log(x) for x > 0, clamped below at the smallest normal number; within 1 ulp, or 4e-8 near 1. x =
// 2^k (1 + r), 1 + r between the roots of 1/2 and 2; the polynomial is that of the Cephes library's
// logf (Moshier). A finite number for NaN and what is not above 0: the caller's product tells.
static inline float
log_of(float x)
{
    const uint32_t root_half = 0x3f3504f3u;
    x = x > 1.17549435e-38f ? x : 1.17549435e-38f;
    const int32_t exponent = (int32_t)(bits_of(x) - root_half) >> 23;
    const float k = (float)exponent;
    const float r = float_of(bits_of(x) - ((uint32_t)exponent << 23)) - 1.0f;
    float p = FMA(r, 7.0376836292e-2f, -1.1514610310e-1f);
    p = FMA(r, p, 1.1676998740e-1f);
    p = FMA(r, p, -1.2420140846e-1f);
    p = FMA(r, p, 1.4249322787e-1f);
    p = FMA(r, p, -1.6668057665e-1f);
    p = FMA(r, p, 2.0000714765e-1f);
    p = FMA(r, p, -2.4999993993e-1f);
    p = FMA(r, p, 3.3333331174e-1f);
    const float square = r * r;
    float low = FMA(square * r, p, k * LN2_LOW);
    low = FMA(square, -0.5f, low);
    return FMA(k, LN2_HIGH, r + low);
}

// above / x for 1 <= x <= 2, within 1.2 ulp (2 without FMAs), in less time than a division takes:
// the quadratic of the smallest largest relative error of 1 / x (1/99, of Chebyshev's T3), and a
// step of fourth order from it.
static inline float
divided_by_1_to_2(float above, float x)
{
    float near = FMA(x, FMA(x, 32.0f / 99.0f, -144.0f / 99.0f), 210.0f / 99.0f);
    float error = FMA(-x, near, 1.0f);
    float more = FMA(error, FMA(error, error, error), error);
    float y = above * near;
    return FMA(y, more, y);
}

// A row's NN_VEC_LANES partial sums, in two vectors whatever the instruction set's width. They are
// added pairwise, so that the order is the same for all: the upper half to the lower one until one
// number is left.
typedef float nn_lanes16 __attribute__((vector_size(64)));
typedef float nn_lanes8 __attribute__((vector_size(32)));
typedef int32_t nn_mask8 __attribute__((vector_size(32)));
static_assert(NN_VEC_LANES == 32, "sums are two vectors of 16");

#define LANES8(a, b, ...) __builtin_shufflevector((a), (b), __VA_ARGS__)

// x[count], at most 16, and others where there are fewer.
static inline void
lanes_load(nn_lanes16 *to, const float *x, size_t count, float others)
{
    if (count == 16) {
        memcpy(to, x, sizeof(*to));
        return;
    }
    float all[16];
    for (size_t i = 0; i < 16; i++) {
        all[i] = i < count ? x[i] : others;
    }
    memcpy(to, all, sizeof(*to));
}

static inline void
lanes_store(float *x, const nn_lanes16 *from, size_t count)
{
    memcpy(x, from, count * sizeof(*x));
}

// sum += a b
static inline void
lanes_fma(nn_lanes16 *sum, const nn_lanes16 *a, const nn_lanes16 *b)
{
#if defined(__AVX512F__)
    *sum = (nn_lanes16)_mm512_fmadd_ps((__m512)*a, (__m512)*b, (__m512)*sum);
#else
    float x[16], y[16], to[16];
    memcpy(x, a, sizeof(x));
    memcpy(y, b, sizeof(y));
    memcpy(to, sum, sizeof(to));
    for (size_t i = 0; i < 16; i++) {
        to[i] = FMA(x[i], y[i], to[i]);
    }
    memcpy(sum, to, sizeof(to));
#endif
}

// The steps of LANES_PARTS.
static inline void
lanes_add(nn_lanes16 *sum, const float *x, size_t count)
{
    nn_lanes16 a;
    lanes_load(&a, x, count, 0.0f);
    *sum += a;
}

static inline void
lanes_add_products(nn_lanes16 *sum, const float *x, const float *y, size_t count)
{
    nn_lanes16 a, b;
    lanes_load(&a, x, count, 0.0f);
    lanes_load(&b, y, count, 0.0f);
    lanes_fma(sum, &a, &b);
}

// The first halvings of a row's sums.
static inline void
lanes_fold(nn_lanes8 *folded, const nn_lanes16 sums[2])
{
    nn_lanes16 low = sums[0] + sums[1];
    *folded =
        LANES8(low, low, 0, 1, 2, 3, 4, 5, 6, 7) + LANES8(low, low, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Rows that are computed side by side, so that one's sums need not wait for another's: lane r of
// the result is what is left of row r.
#define ROWS_ASIDE 8

static inline void
lanes_greater(nn_lanes8 *result, const nn_lanes8 *a, const nn_lanes8 *b)
{
    nn_mask8 is_greater = *a > *b;
    *result = (nn_lanes8)((is_greater & (nn_mask8)*a) | (~is_greater & (nn_mask8)*b));
}

static inline void
lanes_sum(nn_lanes8 *result, const nn_lanes8 *a, const nn_lanes8 *b)
{
    *result = *a + *b;
}

#define ROWS_REDUCED(name, operation)                                                              \
    static inline void name(float result[ROWS_ASIDE], const nn_lanes8 rows[ROWS_ASIDE])            \
    {                                                                                              \
        nn_lanes8 four[4], two[2], low, high; /* lanes of rows i and i + 4, .. */                  \
        for (int i = 0; i < 4; i++) {                                                              \
            low = LANES8(rows[i], rows[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);                          \
            high = LANES8(rows[i], rows[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);                       \
            operation(&four[i], &low, &high);                                                      \
        }                                                                                          \
        for (int i = 0; i < 2; i++) {                                                              \
            low = LANES8(four[2 * i], four[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13);                  \
            high = LANES8(four[2 * i], four[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);               \
            operation(&two[i], &low, &high);                                                       \
        }                                                                                          \
        low = LANES8(two[0], two[1], 0, 2, 8, 10, 4, 6, 12, 14);                                   \
        high = LANES8(two[0], two[1], 1, 3, 9, 11, 5, 7, 13, 15);                                  \
        operation(&low, &low, &high);                                                              \
        memcpy(result, &low, sizeof(low));                                                         \
    }
ROWS_REDUCED(rows_totals, lanes_sum)
ROWS_REDUCED(rows_greatest, lanes_greater)
#undef ROWS_REDUCED

// folded = a sum over i < n in NN_VEC_LANES partial sums, of which eight are left; next(sums, i,
// count) adds what the count numbers from i on add, one to each lane.
#define LANES_PARTS(folded, n, next)                                                               \
    do {                                                                                           \
        nn_lanes16 sums_[2] = {{0}, {0}};                                                          \
        size_t i_ = 0;                                                                             \
        for (; i_ + NN_VEC_LANES <= (n); i_ += NN_VEC_LANES) {                                     \
            next(&sums_[0], i_, 16);                                                               \
            next(&sums_[1], i_ + 16, 16);                                                          \
        }                                                                                          \
        if (i_ + 16 <= (n)) {                                                                      \
            next(&sums_[0], i_, 16);                                                               \
        } else if (i_ < (n)) {                                                                     \
            next(&sums_[0], i_, (n)-i_);                                                           \
        }                                                                                          \
        if (i_ + 16 < (n)) {                                                                       \
            next(&sums_[1], i_ + 16, (n)-i_ - 16);                                                 \
        }                                                                                          \
        lanes_fold((folded), sums_);                                                               \
    } while (0)

// The same of one row alone, whole.
#define LANES_SUM(total, n, next)                                                                  \
    do {                                                                                           \
        nn_lanes8 rows_[ROWS_ASIDE] = {{0}};                                                       \
        float totals_[ROWS_ASIDE];                                                                 \
        LANES_PARTS(&rows_[0], n, next);                                                           \
        rows_totals(totals_, rows_);                                                               \
        (total) = totals_[0];                                                                      \
    } while (0)

#endif // NN_NN_VEC_MATH_H
