// Compiled once per instruction set; NN_CATEGORICAL_TABLE is the name of the table
// (nn/meson.build).
#include "nn/nn_categorical.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/nn_vec_math.h"
#include "nn/nn_vec_tables.h"

// Atoms whose images are computed together before their masses are added one by one.
#define IMAGES 64
// Numbers that are copied at a time.
#define COPIED 16

static inline float
step_of(const nn_support *support)
{
    return (support->high - support->low) / (float)(support->N - 1);
}

// A row is copied to where numbers that add nothing follow the atoms: no step ends with single
// numbers.
#define ATOMS_MAX NN_CATEGORICAL_ATOMS_MAX
static_assert(ATOMS_MAX % NN_VEC_LANES == 0, "rows are padded to whole lanes");

// Atoms with what follows them.
static inline size_t
padded_count(uint32_t N)
{
    return ((size_t)N + NN_VEC_LANES - 1) / NN_VEC_LANES * NN_VEC_LANES;
}

// Sixteen numbers at a time, the last of them together with some before: no single numbers are
// left.
static inline void
row_copy(float *restrict to, const float *restrict from, uint32_t N)
{
    if (N < COPIED) {
        memcpy(to, from, N * sizeof(*to));
        return;
    }
    for (size_t i = 0; i + COPIED <= N; i += COPIED) {
        memcpy(to + i, from + i, COPIED * sizeof(*to));
    }
    memcpy(to + N - COPIED, from + N - COPIED, COPIED * sizeof(*to));
}

// to[N] = from[N] scale, likewise.
static inline void
row_scaled(float *restrict to, const float *restrict from, float scale, uint32_t N)
{
    nn_lanes16 some;
    for (size_t i = 0; N < COPIED && i < N; i++) {
        to[i] = from[i] * scale;
    }
    for (size_t i = 0; i + COPIED <= N; i += COPIED) {
        memcpy(&some, from + i, sizeof(some));
        some *= scale;
        memcpy(to + i, &some, sizeof(some));
    }
    if (N >= COPIED) {
        memcpy(&some, from + N - COPIED, sizeof(some));
        some *= scale;
        memcpy(to + N - COPIED, &some, sizeof(some));
    }
}

static inline void
pad(float *restrict to, const float *restrict from, uint32_t N, float with)
{
    size_t count = padded_count(N);
    for (size_t i = count - NN_VEC_LANES; i < count; i++) {
        to[i] = with;
    }
    row_copy(to, from, N);
}

// Rows that are computed side by side; one where so many would not fit.
static inline size_t
rows_aside(size_t count)
{
    return count <= ATOMS_MAX / ROWS_ASIDE ? ROWS_ASIDE : 1;
}

// The largest of each of x[rows][count]; any when there is a NaN.
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

// x[rows][count] becomes exp(x - most); total is each row's sum.
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

static void
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
            // A total that is NaN stays NaN.
            most[i] += log_of(total[i]) + (total[i] - total[i]);
        }
        memcpy(log_total + first, most, rows * sizeof(*most));
        for (size_t i = 0; i < rows; i++) {
            row_scaled(p + (first + i) * N, x + i * count, share[i], N);
        }
    }
}

static void
categorical_mean(float *restrict mean, const float *restrict p, const nn_support *support,
                 uint32_t B)
{
    const float low = support->low, step = step_of(support);
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

static void
categorical_mean_backward(float *restrict dlogits, const float *restrict p,
                          const float *restrict mean, float scale, const nn_support *support,
                          uint32_t B)
{
    const float low = support->low, step = step_of(support);
    const uint32_t N = support->N;
    for (size_t row = 0; row < B; row++) {
        const float *restrict at = p + row * N;
        float *restrict out = dlogits + row * N;
        for (size_t j = 0; j < N; j++) {
            out[j] = scale * at[j] * (FMA((float)(int32_t)j, step, low) - mean[row]);
        }
    }
}

// Where count atoms from first on come to lie, of masses p: stays[j] of atom first + j goes to
// below[j], and moves[j] to the atom after that. NaN keeps to atom 0 and is in what moves.
static inline void
images(int32_t *restrict below, float *restrict stays, float *restrict moves,
       const float *restrict p, size_t first, size_t count, float reward, float discount,
       const nn_support *support)
{
    const float low = support->low, high = support->high, step = step_of(support);
    const float per_step = 1.0f / step, last = (float)(support->N - 1);
    const int32_t below_max = (int32_t)support->N - 2;
    for (size_t j = 0; j < count; j++) {
        float z = FMA(discount, FMA((float)(int32_t)(first + j), step, low), reward);
        z = z < low ? low : z;
        z = z > high ? high : z;
        float at = (z - low) * per_step;
        at = at > last ? last : at;
        int32_t whole = (int32_t)(at > 0.0f ? at : 0.0f);
        below[j] = whole < below_max ? whole : below_max;
        moves[j] = p[j] * (at - (float)below[j]);
        stays[j] = p[j] - moves[j];
    }
}

// What stays and what moves is added up apart: an atom need not wait for what the one before has
// just moved to the same place.
static void
categorical_project(float *restrict m, const float *restrict p, const float *restrict reward,
                    const float *restrict discount, const nn_support *support, uint32_t B)
{
    const uint32_t N = support->N;
    int32_t below[IMAGES];
    float stays[IMAGES], moves[IMAGES], stayed[ATOMS_MAX], moved[ATOMS_MAX];
    for (size_t row = 0; row < B; row++) {
        memset(stayed, 0, N * sizeof(*stayed));
        memset(moved, 0, N * sizeof(*moved));
        for (size_t first = 0; first < N; first += IMAGES) {
            size_t count = N - first < IMAGES ? N - first : IMAGES;
            images(below, stays, moves, p + row * N + first, first, count, reward[row],
                   discount[row], support);
            for (size_t j = 0; j < count; j++) {
                stayed[below[j]] += stays[j];
                moved[below[j]] += moves[j];
            }
        }
        float *to = m + row * N;
        to[0] = stayed[0];
        for (size_t j = 1; j < N; j++) {
            to[j] = stayed[j] + moved[j - 1];
        }
    }
}

// sum += -m log p, sixteen terms
static inline void
add_terms(nn_lanes16 *sum, const float *m, const float *logits, float log_total)
{
    nn_lanes16 targets, x;
    memcpy(&targets, m, sizeof(targets));
    memcpy(&x, logits, sizeof(x));
    *sum += targets * (log_total - x);
}

static void
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

// Where nearly all of the loss is m's own entropy rounding may leave a little less than nothing.
static void
categorical_divergence(float *restrict kl, const float *restrict loss, const float *restrict m,
                       uint32_t B, uint32_t N)
{
    const size_t count = padded_count(N), aside = rows_aside(count);
    float targets[ATOMS_MAX], logs[ATOMS_MAX], negentropy[ROWS_ASIDE];
    for (size_t first = 0; first < B; first += aside) {
        const size_t rows = B - first < aside ? B - first : aside;
        nn_lanes8 parts[ROWS_ASIDE] = {{0}};
        for (size_t i = 0; i < rows; i++) {
            pad(targets + i * count, m + (first + i) * N, N, 0.0f);
        }
        for (size_t i = 0; i < rows; i++) {
            const float *target_row = targets + i * count;
            for (size_t j = 0; j < count; j++) {
                logs[j] = log_of(target_row[j]);
            }
#define ADD_TERMS(sum, j, more) lanes_add_products(sum, target_row + (j), logs + (j), more)
            LANES_PARTS(&parts[i], count, ADD_TERMS);
#undef ADD_TERMS
        }
        rows_totals(negentropy, parts);
        for (size_t i = 0; i < rows; i++) {
            const float excess = loss[first + i] + negentropy[i];
            kl[first + i] = excess < 0.0f ? 0.0f : excess;
        }
    }
}

#define NAME_TEXT(name)  #name
#define NAME_VALUE(name) NAME_TEXT(name)

const nn_categorical_ops NN_CATEGORICAL_TABLE = {
    .name = NAME_VALUE(NN_CATEGORICAL_TABLE),
    .softmax = categorical_softmax,
    .mean = categorical_mean,
    .mean_backward = categorical_mean_backward,
    .project = categorical_project,
    .cross_entropy = categorical_cross_entropy,
    .divergence = categorical_divergence,
};
