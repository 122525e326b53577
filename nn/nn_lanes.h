#ifndef NN_NN_LANES_H
#define NN_NN_LANES_H

// Sums over rows, for the files that are built once per instruction set. The order of additions,
// and so the bits, are the same at every vector width with FMAs.
//
// Number i of a row is added to lane i % NN_VEC_LANES. At the end the upper half of the lanes is
// added to the lower half, again and again, until one number is left.

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "nn/nn_vec_math.h"

// A row's NN_VEC_LANES partial sums are two nn_lanes16, and after the first halvings one nn_lanes8,
// at every vector width.
typedef float nn_lanes8 __attribute__((vector_size(32)));
#if defined(__AVX512F__)
typedef struct nn_lanes16 {
    __m512 part[1];
} nn_lanes16;
#define LANES16_PARTS 1
#else
// gcc 12 moves vectors wider than the registers through memory, hence two parts.
typedef struct nn_lanes16 {
    nn_lanes8 part[2];
} nn_lanes16;
#define LANES16_PARTS 2
#endif
#define EACH_PART for (int part = 0; part < LANES16_PARTS; part++)
typedef int32_t nn_mask8 __attribute__((vector_size(32)));
static_assert(NN_VEC_LANES == 32, "sums are two vectors of 16");

#define LANES8(a, b, ...) __builtin_shufflevector((a), (b), __VA_ARGS__)

// Copies part by part, each with one instruction. gcc copies the whole struct in narrower pieces,
// and the wider loads that follow would wait for those stores.
static inline void
lanes_take(nn_lanes16 *to, const float *x)
{
    EACH_PART
    {
        memcpy(&to->part[part], x + part * (16 / LANES16_PARTS), sizeof(to->part[part]));
    }
}

static inline void
lanes_put(float *x, const nn_lanes16 *from)
{
    EACH_PART
    {
        memcpy(x + part * (16 / LANES16_PARTS), &from->part[part], sizeof(from->part[part]));
    }
}

// Loads x[0 .. count), at most 16 numbers, and `others` in the remaining lanes.
static inline void
lanes_load(nn_lanes16 *to, const float *x, size_t count, float others)
{
    if (count == 16) {
        lanes_take(to, x);
        return;
    }
    float all[16];
    for (size_t i = 0; i < 16; i++) {
        all[i] = i < count ? x[i] : others;
    }
    lanes_take(to, all);
}

static inline void
lanes_store(float *x, const nn_lanes16 *from, size_t count)
{
    if (count == 16) {
        lanes_put(x, from);
        return;
    }
    float all[16];
    lanes_put(all, from);
    memcpy(x, all, count * sizeof(*x));
}

// sum += a b
static inline void
lanes_fma(nn_lanes16 *sum, const nn_lanes16 *a, const nn_lanes16 *b)
{
#if defined(__AVX512F__)
    sum->part[0] = _mm512_fmadd_ps(a->part[0], b->part[0], sum->part[0]);
#elif defined(__AVX2__) && defined(__FMA__)
    EACH_PART
    {
        sum->part[part] = (nn_lanes8)_mm256_fmadd_ps((__m256)a->part[part], (__m256)b->part[part],
                                                     (__m256)sum->part[part]);
    }
#else
    EACH_PART
    {
        for (int i = 0; i < 8; i++) {
            sum->part[part][i] = FMA(a->part[part][i], b->part[part][i], sum->part[part][i]);
        }
    }
#endif
}

// lanes_add and lanes_add_products are steps for LANES_PARTS: sum += x, and sum += x y.
static inline void
lanes_add(nn_lanes16 *sum, const float *x, size_t count)
{
    nn_lanes16 a;
    lanes_load(&a, x, count, 0.0f);
    EACH_PART
    {
        sum->part[part] += a.part[part];
    }
}

static inline void
lanes_add_products(nn_lanes16 *sum, const float *x, const float *y, size_t count)
{
    nn_lanes16 a, b;
    lanes_load(&a, x, count, 0.0f);
    lanes_load(&b, y, count, 0.0f);
    lanes_fma(sum, &a, &b);
}

// Halves the lanes of a row's sums from 32 to 8.
static inline void
lanes_fold(nn_lanes8 *folded, const nn_lanes16 sums[2])
{
#if defined(__AVX512F__)
    const __m512 low = _mm512_add_ps(sums[0].part[0], sums[1].part[0]);
    const __m512 high = _mm512_shuffle_f32x4(low, low, 0xee);
    *folded = (nn_lanes8)_mm256_add_ps(_mm512_castps512_ps256(low), _mm512_castps512_ps256(high));
#else
    *folded = (sums[0].part[0] + sums[1].part[0]) + (sums[0].part[1] + sums[1].part[1]);
#endif
}

// The number of rows that are computed side by side, so that the sums of one row do not wait for
// those of another. In a reduction, lane r of the result is the total of row r.
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

// Adds numbers i < n to NN_VEC_LANES partial sums and folds these to the eight lanes of folded.
// next(sums, i, count) adds the terms of numbers [i, i + count), one to each lane.
#define LANES_PARTS(folded, n, next)                                                               \
    do {                                                                                           \
        nn_lanes16 sums_[2] = {{{{0}}}};                                                           \
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

// total = the sum over i < n, as LANES_PARTS, of one row alone.
#define LANES_SUM(total, n, next)                                                                  \
    do {                                                                                           \
        nn_lanes8 rows_[ROWS_ASIDE] = {{0}};                                                       \
        float totals_[ROWS_ASIDE];                                                                 \
        LANES_PARTS(&rows_[0], n, next);                                                           \
        rows_totals(totals_, rows_);                                                               \
        (total) = totals_[0];                                                                      \
    } while (0)

#endif // NN_NN_LANES_H
