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

static inline void
pad(float *restrict to, const float *restrict from, uint32_t N, float with)
{
    size_t count = padded_count(N);
    for (size_t i = count - NN_VEC_LANES; i < count; i++) {
        to[i] = with;
    }
    memcpy(to, from, N * sizeof(*to));
}

// Rows that are computed side by side, so that one's sums need not wait for another's; one where so
// many would not fit.
#define ROWS_ASIDE 8
static inline size_t
rows_aside(size_t count)
{
    return count <= ATOMS_MAX / ROWS_ASIDE ? ROWS_ASIDE : 1;
}

// The largest of x[count]; any when there is a NaN.
static inline float
row_max(const float *x, size_t count)
{
    float lanes[NN_VEC_LANES];
    memcpy(lanes, x, sizeof(lanes));
    for (size_t base = NN_VEC_LANES; base < count; base += NN_VEC_LANES) {
        for (size_t lane = 0; lane < NN_VEC_LANES; lane++) {
            float value = x[base + lane];
            lanes[lane] = value > lanes[lane] ? value : lanes[lane];
        }
    }
    for (size_t half = NN_VEC_LANES / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; lane++) {
            lanes[lane] = lanes[lane + half] > lanes[lane] ? lanes[lane + half] : lanes[lane];
        }
    }
    return lanes[0];
}

// x[count] becomes exp(x - most); returns their sum.
static inline float
row_exp(float *restrict x, float most, size_t count)
{
    float total;
#define ADD_EXP(sum, i) ((sum) + (x[i] = exp_of(x[i] - most)))
    LANES_SUM(total, count, ADD_EXP);
#undef ADD_EXP
    return total;
}

static void
categorical_softmax(float *restrict p, float *restrict log_total, const float *restrict logits,
                    uint32_t B, uint32_t N)
{
    const size_t count = padded_count(N), aside = rows_aside(count);
    float x[ATOMS_MAX], most[ROWS_ASIDE], total[ROWS_ASIDE];
    for (size_t first = 0; first < B; first += aside) {
        const size_t rows = B - first < aside ? B - first : aside;
        for (size_t i = 0; i < rows; i++) {
            pad(x + i * count, logits + (first + i) * N, N, -INFINITY);
        }
        for (size_t i = 0; i < rows; i++) {
            most[i] = row_max(x + i * count, count);
        }
        for (size_t i = 0; i < rows; i++) {
            total[i] = row_exp(x + i * count, most[i], count);
        }
        for (size_t i = 0; i < rows; i++) {
            const float share = 1.0f / total[i];
            log_total[first + i] = most[i] + logf(total[i]);
            for (size_t j = 0; j < N; j++) {
                p[(first + i) * N + j] = x[i * count + j] * share;
            }
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
    float z[ATOMS_MAX], at[ATOMS_MAX];
    for (size_t j = 0; j < count; j++) {
        z[j] = FMA((float)(int32_t)j, step, low);
    }
    for (size_t first = 0; first < B; first += aside) {
        const size_t rows = B - first < aside ? B - first : aside;
        for (size_t i = 0; i < rows; i++) {
            pad(at + i * count, p + (first + i) * N, N, 0.0f);
        }
        for (size_t i = 0; i < rows; i++) {
            const float *row = at + i * count;
#define ADD_ATOM(sum, j) FMA(row[j], z[j], sum)
            LANES_SUM(mean[first + i], count, ADD_ATOM);
#undef ADD_ATOM
        }
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

static void
categorical_cross_entropy(float *restrict loss, float *restrict dlogits, const float *restrict m,
                          const float *restrict logits, const float *restrict p,
                          const float *restrict log_total, const float *restrict weight, uint32_t B,
                          uint32_t N)
{
    for (size_t row = 0; row < B; row++) {
        const float *restrict want = m + row * N;
        const float *restrict x = logits + row * N;
        const float *restrict have = p + row * N;
        float *restrict out = dlogits + row * N;
        const float total = log_total[row], scale = weight[row] / (float)B;
#define ADD_TERM(sum, j) ((sum) + want[j] * (total - x[j]))
        LANES_SUM(loss[row], N, ADD_TERM);
#undef ADD_TERM
        for (size_t j = 0; j < N; j++) {
            out[j] = scale * (have[j] - want[j]);
        }
    }
}

// Where nearly all of the loss is m's own entropy rounding may leave a little less than nothing.
static void
categorical_divergence(float *restrict kl, const float *restrict loss, const float *restrict m,
                       uint32_t B, uint32_t N)
{
    for (size_t row = 0; row < B; row++) {
        const float *restrict want = m + row * N;
        float negentropy;
#define ADD_TERM(sum, j) FMA(want[j], log_of(want[j]), sum)
        LANES_SUM(negentropy, N, ADD_TERM);
#undef ADD_TERM
        const float excess = loss[row] + negentropy;
        kl[row] = excess < 0.0f ? 0.0f : excess;
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
