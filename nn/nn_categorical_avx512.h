#ifndef NN_NN_CATEGORICAL_AVX512_H
#define NN_NN_CATEGORICAL_AVX512_H

// The functions of nn_categorical_plain.h for builds with AVX-512: the same names and the same
// operations in the same order, hence the same bits. Rows are read and written in place, with masks
// at their ends. Groups of rows are interleaved step by step, so that no group waits for its own
// sums.

#include <math.h>

#include "nn/nn_atoms.h"
#include "nn/nn_categorical_short.h"
#include "nn/nn_vec_avx512.h"
#include "policy/kernels/policy_unroll.h"

#if defined(__AVX512F__)

// A group of rows that are computed side by side: rows [first, first + rows) of the batch.
typedef struct atom_group {
    size_t first, rows;
} atom_group;

static inline atom_group
group_of(size_t group, size_t aside, size_t B)
{
    const size_t first = group * aside;
    return (atom_group){first, B - first < aside ? B - first : aside};
}

// Loops over some rows. Each function with such a loop is called with a constant for a whole group,
// which the compiler unrolls, and with a variable for the last, smaller group.
#define SOME_ROWS for (size_t r = 0; r < rows; r++)

// totals[r] = the sum of row r's even and odd vectors, for r < rows.
static POLICY_INLINE void
some_totals(float totals[ROWS_ASIDE], __m512 sums[2][ROWS_ASIDE], const size_t rows)
{
    nn_lanes8 parts[ROWS_ASIDE] = {{0}};
    SOME_ROWS
    {
        const nn_lanes16 both[2] = {{{sums[0][r]}}, {{sums[1][r]}}};
        lanes_fold(&parts[r], both);
    }
    rows_totals(totals, parts);
}

// most[r] = the largest logit of row r; unspecified if the row has a NaN.
static POLICY_INLINE void
softmax_most(float most[ROWS_ASIDE], const float *logits, const size_t rows, size_t N)
{
    nn_lanes8 parts[ROWS_ASIDE] = {{0}};
    __m512 greatest[ROWS_ASIDE] = {{0}};
    SOME_ROWS
    {
        greatest[r] = all16(-INFINITY);
    }
    for (size_t j = 0; j < N; j += 16) {
        const __mmask16 atoms = first16(N - j);
        SOME_ROWS
        {
            const __m512 x = _mm512_mask_loadu_ps(greatest[r], atoms, logits + r * N + j);
            greatest[r] = _mm512_max_ps(greatest[r], x);
        }
    }
    SOME_ROWS
    {
        const __m512 high = _mm512_shuffle_f32x4(greatest[r], greatest[r], 0xee);
        parts[r] = (nn_lanes8)_mm512_castps512_ps256(_mm512_max_ps(greatest[r], high));
    }
    rows_greatest(most, parts);
}

// x[rows][count] = exp(logits - most); total[r] = the sum of row r.
static POLICY_INLINE void
softmax_exp(float total[ROWS_ASIDE], float *x, const float *logits, const float most[ROWS_ASIDE],
            const size_t rows, size_t N)
{
    const size_t count = padded_count((uint32_t)N);
    __m512 sums[2][ROWS_ASIDE] = {{{0}}};
    POLICY_UNROLL
    for (size_t half = 0; half < 2; half++) {
        for (size_t j = 16 * half; j < count; j += NN_VEC_LANES) {
            const __mmask16 atoms = first16(j < N ? N - j : 0);
            SOME_ROWS
            {
                __m512 e = _mm512_mask_loadu_ps(all16(-INFINITY), atoms, logits + r * N + j);
                e = exp16(_mm512_sub_ps(e, all16(most[r])));
                _mm512_storeu_ps(x + r * count + j, e);
                sums[half][r] = _mm512_add_ps(sums[half][r], e);
            }
        }
    }
    some_totals(total, sums, rows);
}

// Exponentials of one group: share[r] = 1 / sum of row r, and log_total of its rows. most becomes
// log_total.
static inline void
softmax_exp_group(float share[ROWS_ASIDE], float *log_total, float *x, const float *logits,
                  float most[ROWS_ASIDE], size_t rows, size_t N)
{
    float total[ROWS_ASIDE];
    if (rows == ROWS_ASIDE) {
        softmax_exp(total, x, logits, most, ROWS_ASIDE, N);
    } else {
        softmax_exp(total, x, logits, most, rows, N);
    }
    for (size_t i = 0; i < ROWS_ASIDE; i++) {
        share[i] = 1.0f / total[i];
        // log_of maps NaN to a number; total - total brings the NaN back.
        most[i] += log_of(total[i]) + (total[i] - total[i]);
    }
    memcpy(log_total, most, rows * sizeof(*most));
}

// p[rows][N] = x[rows][count] * share.
static inline void
softmax_scale(float *p, const float *x, const float share[ROWS_ASIDE], size_t rows, size_t N)
{
    const size_t count = padded_count((uint32_t)N);
    for (size_t row = 0; row < rows; row++, p += N, x += count) {
        const __m512 scale = all16(share[row]);
        size_t j = 0;
        for (; j + 16 <= N; j += 16) {
            _mm512_storeu_ps(p + j, _mm512_mul_ps(_mm512_loadu_ps(x + j), scale));
        }
        if (j < N) {
            const __m512 last = _mm512_mul_ps(_mm512_loadu_ps(x + j), scale);
            _mm512_mask_storeu_ps(p + j, first16(N - j), last);
        }
    }
}

static inline void
categorical_softmax(float *restrict p, float *restrict log_total, const float *restrict logits,
                    uint32_t B, uint32_t N)
{
    if (N <= SHORT_MAX) {
        softmax_short(p, log_total, logits, B, N);
        return;
    }
    const size_t aside = rows_aside(padded_count(N)), groups = (B + aside - 1) / aside;
    float x[2][ATOMS_MAX], most[2][ROWS_ASIDE], share[2][ROWS_ASIDE];
    // Three groups are in work at a time, each one step behind the next: maxima, exponentials,
    // scaling.
    for (size_t group = 0; group < groups + 2; group++) {
        if (group < groups) {
            const atom_group g = group_of(group, aside, B);
            if (g.rows == ROWS_ASIDE) {
                softmax_most(most[group % 2], logits + g.first * N, ROWS_ASIDE, N);
            } else {
                softmax_most(most[group % 2], logits + g.first * N, g.rows, N);
            }
        }
        if (group >= 1 && group - 1 < groups) {
            const atom_group g = group_of(group - 1, aside, B);
            const size_t at = (group - 1) % 2;
            softmax_exp_group(share[at], log_total + g.first, x[at], logits + g.first * N, most[at],
                              g.rows, N);
        }
        if (group >= 2) {
            const atom_group g = group_of(group - 2, aside, B);
            softmax_scale(p + g.first * N, x[group % 2], share[group % 2], g.rows, N);
        }
    }
}

// The values of sixteen atoms, starting at atom j.
static inline __m512
values16(size_t j, const nn_support *support)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 at = _mm512_cvtepi32_ps(_mm512_add_epi32(lane, _mm512_set1_epi32((int)j)));
    return _mm512_fmadd_ps(at, all16(nn_support_step(support)), all16(support->low));
}

static POLICY_INLINE void
mean_of_rows(float total[ROWS_ASIDE], const float *p, const size_t rows, const nn_support *support)
{
    const size_t N = support->N, count = padded_count(support->N);
    __m512 sums[2][ROWS_ASIDE] = {{{0}}};
    POLICY_UNROLL
    for (size_t half = 0; half < 2; half++) {
        for (size_t j = 16 * half; j < count; j += NN_VEC_LANES) {
            const __m512 z = values16(j, support);
            const __mmask16 atoms = first16(j < N ? N - j : 0);
            SOME_ROWS
            {
                const __m512 mass = _mm512_maskz_loadu_ps(atoms, p + r * N + j);
                sums[half][r] = _mm512_fmadd_ps(mass, z, sums[half][r]);
            }
        }
    }
    some_totals(total, sums, rows);
}

static inline void
categorical_mean(float *restrict mean, const float *restrict p, const nn_support *support,
                 uint32_t B)
{
    for (size_t first = 0; first < B; first += ROWS_ASIDE) {
        const size_t rows = B - first < ROWS_ASIDE ? B - first : ROWS_ASIDE;
        const float *at = p + first * support->N;
        float total[ROWS_ASIDE];
        if (rows == ROWS_ASIDE) {
            mean_of_rows(total, at, ROWS_ASIDE, support);
        } else {
            mean_of_rows(total, at, rows, support);
        }
        memcpy(mean + first, total, rows * sizeof(*mean));
    }
}

static inline void
categorical_mean_backward(float *restrict dlogits, const float *restrict p,
                          const float *restrict mean, float scale, const nn_support *support,
                          uint32_t B)
{
    const size_t N = support->N;
    for (size_t j = 0; j < N; j += 16) {
        const __m512 z = values16(j, support);
        const __mmask16 atoms = first16(N - j);
        for (size_t row = 0; row < B; row++) {
            const __m512 at = _mm512_maskz_loadu_ps(atoms, p + row * N + j);
            const __m512 above = _mm512_sub_ps(z, all16(mean[row]));
            const __m512 d = _mm512_mul_ps(_mm512_mul_ps(all16(scale), at), above);
            _mm512_mask_storeu_ps(dlogits + row * N + j, atoms, d);
        }
    }
}

// The operands of categorical_cross_entropy, starting at one row; B is the size of the whole batch.
typedef struct entropy_rows {
    float *dlogits;
    const float *m, *logits, *p, *log_total, *weight;
    float B;
} entropy_rows;

// total[r] = the cross entropy of row r; writes the rows' dlogits in the same pass.
static POLICY_INLINE void
entropy_of_rows(float total[ROWS_ASIDE], const entropy_rows *of, const size_t rows, size_t N)
{
    const size_t count = padded_count((uint32_t)N);
    __m512 sums[2][ROWS_ASIDE] = {{{0}}};
    POLICY_UNROLL
    for (size_t half = 0; half < 2; half++) {
        for (size_t j = 16 * half; j < count; j += NN_VEC_LANES) {
            const __mmask16 atoms = first16(j < N ? N - j : 0);
            SOME_ROWS
            {
                const size_t at = r * N + j;
                const __m512 target = _mm512_maskz_loadu_ps(atoms, of->m + at);
                const __m512 x = _mm512_maskz_loadu_ps(atoms, of->logits + at);
                const __m512 p = _mm512_maskz_loadu_ps(atoms, of->p + at);
                const __m512 above = _mm512_sub_ps(all16(of->log_total[r]), x);
                sums[half][r] = _mm512_add_ps(sums[half][r], _mm512_mul_ps(target, above));
                const __m512 scale = all16(of->weight[r] / of->B);
                _mm512_mask_storeu_ps(of->dlogits + at, atoms,
                                      _mm512_mul_ps(scale, _mm512_sub_ps(p, target)));
            }
        }
    }
    some_totals(total, sums, rows);
}

static inline void
categorical_cross_entropy(float *restrict loss, float *restrict dlogits, const float *restrict m,
                          const float *restrict logits, const float *restrict p,
                          const float *restrict log_total, const float *restrict weight, uint32_t B,
                          uint32_t N)
{
    for (size_t first = 0; first < B; first += ROWS_ASIDE) {
        const size_t rows = B - first < ROWS_ASIDE ? B - first : ROWS_ASIDE, at = first * N;
        const entropy_rows of = {dlogits + at,      m + at,         logits + at, p + at,
                                 log_total + first, weight + first, (float)B};
        float total[ROWS_ASIDE];
        if (rows == ROWS_ASIDE) {
            entropy_of_rows(total, &of, ROWS_ASIDE, N);
        } else {
            entropy_of_rows(total, &of, rows, N);
        }
        memcpy(loss + first, total, rows * sizeof(*loss));
    }
}

#endif // __AVX512F__

#endif // NN_NN_CATEGORICAL_AVX512_H
