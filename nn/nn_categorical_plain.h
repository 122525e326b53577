#ifndef NN_NN_CATEGORICAL_PLAIN_H
#define NN_NN_CATEGORICAL_PLAIN_H

// Operations on rows of atoms (nn_categorical.h) as plain loops that the compiler vectorises: for
// builds without AVX-512, and the reference for nn_categorical_avx512.h.

#include <math.h>

#include "nn/nn_atoms.h"

// to[N] = from[N] * scale, sixteen numbers at a time as in row_copy.
static inline void
row_scaled(float *restrict to, const float *restrict from, float scale, uint32_t N)
{
    nn_lanes16 some;
    for (size_t i = 0; N < COPIED && i < N; i++) {
        to[i] = from[i] * scale;
    }
    for (size_t i = 0; i + COPIED <= N; i += COPIED) {
        lanes_take(&some, from + i);
        EACH_PART
        {
            some.part[part] *= scale;
        }
        lanes_put(to + i, &some);
    }
    if (N >= COPIED) {
        lanes_take(&some, from + N - COPIED);
        EACH_PART
        {
            some.part[part] *= scale;
        }
        lanes_put(to + N - COPIED, &some);
    }
}

// most[r] = the largest number of row r of x[rows][count]; unspecified if the row has a NaN.
static inline void
rows_max(float most[ROWS_ASIDE], const float *x, size_t rows, size_t count)
{
    nn_lanes8 parts[ROWS_ASIDE] = {{0}};
    for (size_t row = 0; row < rows; row++, x += count) {
        float lanes[NN_VEC_LANES];
        memcpy(lanes, x, sizeof(lanes));
        for (size_t base = NN_VEC_LANES; base < count; base += NN_VEC_LANES) {
            for (size_t lane = 0; lane < NN_VEC_LANES; lane++) {
                float value = x[base + lane];
                lanes[lane] = value > lanes[lane] ? value : lanes[lane];
            }
        }
        for (size_t half = NN_VEC_LANES / 2; half >= 8; half /= 2) {
            for (size_t lane = 0; lane < half; lane++) {
                lanes[lane] = lanes[lane + half] > lanes[lane] ? lanes[lane + half] : lanes[lane];
            }
        }
        memcpy(&parts[row], lanes, sizeof(parts[row]));
    }
    rows_greatest(most, parts);
}

// x[rows][count] becomes exp(x - most); total[r] is the sum of row r.
static inline void
rows_exp(float total[ROWS_ASIDE], float *restrict x, const float most[ROWS_ASIDE], size_t rows,
         size_t count)
{
    nn_lanes8 parts[ROWS_ASIDE] = {{0}};
    for (size_t row = 0; row < rows; row++, x += count) {
        for (size_t j = 0; j < count; j++) {
            x[j] = exp_of(x[j] - most[row]);
        }
#define ADD(sum, j, more) lanes_add(sum, x + (j), more)
        LANES_PARTS(&parts[row], count, ADD);
#undef ADD
    }
    rows_totals(total, parts);
}

static inline void
categorical_softmax(float *restrict p, float *restrict log_total, const float *restrict logits,
                    uint32_t B, uint32_t N)
{
    const size_t count = padded_count(N), aside = rows_aside(count);
    float x[ATOMS_MAX], most[ROWS_ASIDE], total[ROWS_ASIDE], share[ROWS_ASIDE];
    for (size_t first = 0; first < B; first += aside) {
        const size_t rows = B - first < aside ? B - first : aside;
        for (size_t i = 0; i < rows; i++) {
            pad(x + i * count, logits + (first + i) * N, N, -INFINITY);
        }
        rows_max(most, x, rows, count);
        rows_exp(total, x, most, rows, count);
        for (size_t i = 0; i < ROWS_ASIDE; i++) {
            share[i] = 1.0f / total[i];
            // log_of maps NaN to a number; total - total brings the NaN back.
            most[i] += log_of(total[i]) + (total[i] - total[i]);
        }
        memcpy(log_total + first, most, rows * sizeof(*most));
        for (size_t i = 0; i < rows; i++) {
            row_scaled(p + (first + i) * N, x + i * count, share[i], N);
        }
    }
}

static inline void
categorical_mean(float *restrict mean, const float *restrict p, const nn_support *support,
                 uint32_t B)
{
    const float low = support->low, step = nn_support_step(support);
    const uint32_t N = support->N;
    const size_t count = padded_count(N), aside = rows_aside(count);
    float z[ATOMS_MAX], at[ATOMS_MAX], total[ROWS_ASIDE];
    for (size_t j = 0; j < count; j++) {
        z[j] = FMA((float)(int32_t)j, step, low);
    }
    for (size_t first = 0; first < B; first += aside) {
        const size_t rows = B - first < aside ? B - first : aside;
        nn_lanes8 parts[ROWS_ASIDE] = {{0}};
        for (size_t i = 0; i < rows; i++) {
            pad(at + i * count, p + (first + i) * N, N, 0.0f);
        }
        for (size_t i = 0; i < rows; i++) {
            const float *row = at + i * count;
#define ADD_ATOMS(sum, j, more) lanes_add_products(sum, row + (j), z + (j), more)
            LANES_PARTS(&parts[i], count, ADD_ATOMS);
#undef ADD_ATOMS
        }
        rows_totals(total, parts);
        memcpy(mean + first, total, rows * sizeof(*mean));
    }
}

static inline void
categorical_mean_backward(float *restrict dlogits, const float *restrict p,
                          const float *restrict mean, float scale, const nn_support *support,
                          uint32_t B)
{
    const float low = support->low, step = nn_support_step(support);
    const uint32_t N = support->N;
    for (size_t row = 0; row < B; row++) {
        const float *restrict at = p + row * N;
        float *restrict out = dlogits + row * N;
        for (size_t j = 0; j < N; j++) {
            out[j] = scale * at[j] * (FMA((float)(int32_t)j, step, low) - mean[row]);
        }
    }
}

// sum += -m log p, for sixteen atoms.
static inline void
add_terms(nn_lanes16 *sum, const float *m, const float *logits, float log_total)
{
    nn_lanes16 targets, x;
    lanes_take(&targets, m);
    lanes_take(&x, logits);
    EACH_PART
    {
        sum->part[part] += targets.part[part] * (log_total - x.part[part]);
    }
}

static inline void
categorical_cross_entropy(float *restrict loss, float *restrict dlogits, const float *restrict m,
                          const float *restrict logits, const float *restrict p,
                          const float *restrict log_total, const float *restrict weight, uint32_t B,
                          uint32_t N)
{
    const size_t count = padded_count(N), aside = rows_aside(count);
    float targets[ATOMS_MAX], x[ATOMS_MAX], total[ROWS_ASIDE];
    for (size_t first = 0; first < B; first += aside) {
        const size_t rows = B - first < aside ? B - first : aside;
        nn_lanes8 parts[ROWS_ASIDE] = {{0}};
        for (size_t i = 0; i < rows; i++) {
            pad(targets + i * count, m + (first + i) * N, N, 0.0f);
            pad(x + i * count, logits + (first + i) * N, N, 0.0f);
        }
        for (size_t i = 0; i < rows; i++) {
            const float *target_row = targets + i * count, *logit = x + i * count;
#define ADD_TERMS(sum, j, more) add_terms(sum, target_row + (j), logit + (j), log_total[first + i])
            LANES_PARTS(&parts[i], count, ADD_TERMS);
#undef ADD_TERMS
        }
        rows_totals(total, parts);
        memcpy(loss + first, total, rows * sizeof(*loss));
    }
    for (size_t row = 0; row < B; row++) {
        const float scale = weight[row] / (float)B;
        for (size_t j = row * N; j < (row + 1) * N; j++) {
            dlogits[j] = scale * (p[j] - m[j]);
        }
    }
}

#endif // NN_NN_CATEGORICAL_PLAIN_H
