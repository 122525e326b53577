#ifndef NN_NN_CATEGORICAL_SHORT_H
#define NN_NN_CATEGORICAL_SHORT_H

// The softmax of rows of a few numbers, for builds with AVX-512. Its bits are those of
// nn_categorical_plain.h.

#include <math.h>

#include "nn/nn_vec_avx512.h"

#if defined(__AVX512F__)

// The longest row for this softmax: the number of lanes that LANES_PARTS folds a row to. Sixteen
// rows are computed side by side, one per lane of x[j], where x[j] holds number j of each row. A
// row shorter than SHORT_MAX has neutral values for the rest: -infinity in the maximum, 0 in the
// sum.
#define SHORT_MAX 8

// Reduces x[0 .. SHORT_MAX) lane by lane, in the order in which rows_totals and rows_greatest halve
// their lanes.
static inline __m512
short_folded(__m512 x[SHORT_MAX], __m512 (*both)(__m512, __m512))
{
    for (size_t half = SHORT_MAX / 2; half > 0; half /= 2) {
        for (size_t j = 0; j < half; j++) {
            x[j] = both(x[j], x[j + half]);
        }
    }
    return x[0];
}

static inline __m512
both_greater(__m512 a, __m512 b)
{
    return _mm512_max_ps(a, b);
}

static inline __m512
both_added(__m512 a, __m512 b)
{
    return _mm512_add_ps(a, b);
}

static inline void
softmax_short(float *restrict p, float *restrict log_total, const float *restrict logits, size_t B,
              size_t N)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i rows_at = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)N));
    for (size_t row = 0; row < B; row += 16, p += 16 * N, logits += 16 * N) {
        const __mmask16 rows = first16(B - row);
        __m512 x[SHORT_MAX], folded[SHORT_MAX], e[SHORT_MAX];
        float totals[16], logs[16];
        for (size_t j = 0; j < SHORT_MAX; j++) {
            const __m512 none = all16(-INFINITY);
            x[j] = j < N ? _mm512_mask_i32gather_ps(none, rows, rows_at, logits + j, 4) : none;
            folded[j] = x[j];
        }
        const __m512 most = short_folded(folded, both_greater);
        for (size_t j = 0; j < SHORT_MAX; j++) {
            e[j] = j < N ? exp16(_mm512_sub_ps(x[j], most)) : _mm512_setzero_ps();
            folded[j] = e[j];
        }
        const __m512 total = short_folded(folded, both_added);
        _mm512_storeu_ps(totals, total);
        for (size_t i = 0; i < 16; i++) { // log_of maps NaN to a number
            logs[i] = log_of(totals[i]) + (totals[i] - totals[i]);
        }
        const __m512 log_of_total = _mm512_add_ps(most, _mm512_loadu_ps(logs));
        _mm512_mask_storeu_ps(log_total + row, rows, log_of_total);
        const __m512 share = _mm512_div_ps(all16(1.0f), total);
        for (size_t j = 0; j < N; j++) {
            _mm512_mask_i32scatter_ps(p + j, rows, rows_at, _mm512_mul_ps(e[j], share), 4);
        }
    }
}

#endif

#endif // NN_NN_CATEGORICAL_SHORT_H
