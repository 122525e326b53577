// Operations on distributions over atoms. Compiled once per instruction set; NN_CATEGORICAL_TABLE
// is the name of the table (nn/meson.build).
#include "nn/nn_categorical.h"

#if defined(__AVX512F__)
#include "nn/nn_categorical_avx512.h"
#else
#include "nn/nn_categorical_plain.h"
#endif
#include "nn/nn_project.h"
#include "nn/nn_vec_tables.h"

static void
categorical_project(float *restrict m, const float *restrict p, const float *restrict reward,
                    const float *restrict discount, const nn_support *support, uint32_t B)
{
    const size_t N = support->N;
#if defined(__AVX512F__)
    project_plan plan;
    project_plan_init(&plan, support);
#endif
    for (size_t row = 0; row < B; row++) {
        const project_row at = {m + row * N, p + row * N, reward[row], discount[row]};
#if defined(__AVX512F__)
        if (project_steady(&at, &plan, (B - row) * N)) {
            continue;
        }
#endif
        project_any(&at, support);
    }
}

// If nearly all of the loss is the entropy of m, rounding may leave slightly less than 0; the
// result is then 0.
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
