// Every table with FMAs must give the bits of the plainest such one; all are compared with the
// definitions in double arithmetic.
#include <stdlib.h>

#include "nn/nn_categorical.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

// The largest is computed row by row, the others some rows side by side.
static const uint32_t sizes[] = {2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 51, 63, 64, 65, 129, 201, 600};
enum { ROWS = 27, COUNT_MAX = ROWS * 600 };

static const nn_categorical_ops *tables[NN_VEC_TABLES_MAX];
static int table_count;

static int
group_setup(void **state)
{
    (void)state;
    table_count = nn_categorical_tables(tables);
    return table_count >= 1 ? 0 : -1;
}

// All inputs, and all that the operations make of them.
typedef struct run {
    nn_support support;
    float logits[COUNT_MAX], reward[ROWS], discount[ROWS], weight[ROWS];
    float p[COUNT_MAX], log_total[ROWS], mean[ROWS];
    float m[COUNT_MAX], loss[ROWS], kl[ROWS], dlogits[COUNT_MAX], dmean[COUNT_MAX];
} run;

static void
fill(oct_rng *rng, float *out, size_t count, float low, float high)
{
    float *x = fixture_floats(rng, count, low, high);
    memcpy(out, x, count * sizeof(*x));
    free(x);
}

// Row 0 ends its episode, row 1 lies beyond the support.
static run *
run_make(oct_rng *rng, uint32_t N)
{
    run *r = oct_alloc(sizeof(*r));
    r->support = (nn_support){.low = -3, .high = 5, .N = N};
    fill(rng, r->logits, (size_t)ROWS * N, -6, 6);
    fill(rng, r->reward, ROWS, -2, 2);
    fill(rng, r->discount, ROWS, 0.5f, 1);
    fill(rng, r->weight, ROWS, 0.25f, 1);
    r->discount[0] = 0;
    r->reward[1] = 100;
    return r;
}

// The target distribution m is the projection of the logits' own: any distribution would do.
static void
run_all(run *r, const nn_categorical_ops *ops)
{
    uint32_t N = r->support.N;
    ops->softmax(r->p, r->log_total, r->logits, ROWS, N);
    ops->mean(r->mean, r->p, &r->support, ROWS);
    ops->project(r->m, r->p, r->reward, r->discount, &r->support, ROWS);
    ops->cross_entropy(r->loss, r->dlogits, r->m, r->logits, r->p, r->log_total, r->weight, ROWS,
                       N);
    ops->divergence(r->kl, r->loss, r->m, ROWS, N);
    ops->mean_backward(r->dmean, r->p, r->mean, 0.5f, &r->support, ROWS);
}

static double
atom(const nn_support *support, uint32_t j)
{
    double low = (double)support->low, high = (double)support->high;
    return low + (high - low) * j / (support->N - 1);
}

// Softmax of a row, its logarithm, and the expectation.
static double
row_double(double *p, double *log_p, const run *r, uint32_t row)
{
    uint32_t N = r->support.N;
    const float *x = r->logits + (size_t)row * N;
    double total = 0, mean = 0;
    for (uint32_t j = 0; j < N; j++) {
        total += exp((double)x[j]);
    }
    for (uint32_t j = 0; j < N; j++) {
        log_p[j] = (double)x[j] - log(total);
        p[j] = exp(log_p[j]);
        mean += p[j] * atom(&r->support, j);
    }
    return mean;
}

// Mass at atom i by the kernel: each image gives max(0, 1 - distance).
static double
mass_double(const run *r, const double *p, uint32_t row, uint32_t i)
{
    const nn_support *s = &r->support;
    double mass = 0, step = atom(s, 1) - atom(s, 0);
    for (uint32_t j = 0; j < s->N; j++) {
        double image = (double)r->reward[row] + (double)r->discount[row] * atom(s, j);
        image = fmin(fmax(image, (double)s->low), (double)s->high);
        mass += p[j] * fmax(0, 1 - fabs(image - atom(s, i)) / step);
    }
    return mass;
}

static void
check_row(const run *r, uint32_t row)
{
    double p[COUNT_MAX], log_p[COUNT_MAX], loss = 0, kl = 0;
    uint32_t N = r->support.N;
    double mean = row_double(p, log_p, r, row);
    T_NEAR((double)r->mean[row], mean, 2e-6, 2e-6);
    for (uint32_t j = 0; j < N; j++) {
        size_t at = (size_t)row * N + j;
        double m = mass_double(r, p, row, j);
        T_NEAR((double)r->p[at], p[j], 1e-8, 2e-6);
        T_NEAR((double)r->m[at], m, 2e-6 * N / 8, 1e-5);
        T_NEAR((double)r->dmean[at], 0.5 * p[j] * (atom(&r->support, j) - mean), 2e-6, 2e-6);
        T_NEAR((double)r->dlogits[at], (double)r->weight[row] / ROWS * (p[j] - (double)r->m[at]),
               1e-7, 2e-6);
        loss -= (double)r->m[at] * log_p[j];
        kl += r->m[at] > 0 ? (double)r->m[at] * (log((double)r->m[at]) - log_p[j]) : 0;
    }
    T_NEAR((double)r->loss[row], loss, 2e-6, 2e-6);
    T_NEAR((double)r->kl[row], kl, 4e-6, 2e-6); // the difference of two sums of up to 15
}

static void
test_every_operation_equals_its_definition_in_every_table(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        run *r = run_make(&rng, sizes[s]);
        run *other = oct_alloc(sizeof(*other));
        *other = *r;
        for (int t = 0; t < table_count; t++) {
            run_all(r, tables[t]);
            for (uint32_t row = 0; row < ROWS; row++) {
                check_row(r, row);
            }
            if (t > 1) {
                assert_memory_equal(r, other, sizeof(*r));
            }
            *other = *r;
        }
        free(r);
        free(other);
    }
}

// Images that are not cut, one or two to an atom: with AVX-512 they are added up all at once. Some
// lie exactly on atoms, some rows are cut or further apart.
static void
test_projections_of_many_kinds_have_the_same_bits_in_every_table(void **state)
{
    (void)state;
    static const float discounts[] = {1, 0.99f, 0.97f, 0.75f, 0.5f, 0.4f, 0, 1.5f};
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    for (int trial = 0; trial < 200; trial++) {
        const uint32_t N = trial % 2 == 0 ? 51 : 2 + oct_rng_below(&rng, 65);
        run *r = run_make(&rng, N), *other = oct_alloc(sizeof(*other));
        for (uint32_t row = 0; row < ROWS; row++) {
            r->discount[row] = discounts[(row + (uint32_t)trial) % OCT_COUNTOF(discounts)];
            r->reward[row] *= row % 3 == 0 ? 0 : 0.1f;
        }
        for (int t = 0; t < table_count; t++) {
            memset(r->m, 0xff, sizeof(r->m));
            run_all(r, tables[t]);
            for (uint32_t row = 0; row < ROWS; row++) {
                check_row(r, row);
            }
            assert_true(isnan(r->m[(size_t)ROWS * N])); // nothing behind the last row
            if (t > 1) {
                assert_memory_equal(r, other, sizeof(*r));
            }
            *other = *r;
        }
        free(r);
        free(other);
    }
}

static void
test_projection_keeps_mass_and_mean_inside_the_support(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    run *r = run_make(&rng, 51);
    for (uint32_t row = 0; row < ROWS; row++) {
        r->discount[row] = 0.5f; // images in -1.5 + reward .. 2.5 + reward
        r->reward[row] = -1.5f + 0.9f * (float)row;
    }
    run_all(r, nn_categorical());
    for (uint32_t row = 0; row < ROWS; row++) {
        double mass = 0, mean = 0;
        for (uint32_t j = 0; j < 51; j++) {
            double m = (double)r->m[row * 51 + j];
            assert_true(m >= 0);
            mass += m;
            mean += m * atom(&r->support, j);
        }
        T_NEAR(mass, 1, 1e-6, 0);
        if (row <= 4) { // with reward 3 the highest images leave the support
            T_NEAR(mean, (double)r->reward[row] + 0.5 * (double)r->mean[row], 1e-5, 0);
        } else {
            assert_true(mean + 1e-3 < (double)r->reward[row] + 0.5 * (double)r->mean[row]);
        }
    }
    free(r);
}

static void
expect_masses(float reward, float discount, const float want[5])
{
    const nn_support support = {.low = -2, .high = 2, .N = 5};
    const float p[5] = {0.125f, 0.125f, 0.5f, 0.125f, 0.125f};
    for (int t = 0; t < table_count; t++) {
        float m[5];
        tables[t]->project(m, p, &reward, &discount, &support, 1);
        for (int j = 0; j < 5; j++) {
            T_NEAR((double)m[j], (double)want[j], 1e-6, 0);
        }
    }
}

static void
test_projection_of_a_last_step_is_its_reward_alone(void **state)
{
    (void)state;
    expect_masses(1, 0, (float[]){0, 0, 0, 1, 0});
    expect_masses(0.25f, 0, (float[]){0, 0, 0.75f, 0.25f, 0});
    expect_masses(2, 0, (float[]){0, 0, 0, 0, 1});
    expect_masses(-2, 0, (float[]){1, 0, 0, 0, 0});
}

static void
test_projection_cuts_what_lies_outside(void **state)
{
    (void)state;
    expect_masses(3, 0, (float[]){0, 0, 0, 0, 1});
    expect_masses(-1e30f, 1, (float[]){1, 0, 0, 0, 0});
    expect_masses(1e30f, 1, (float[]){0, 0, 0, 0, 1});
    expect_masses(1, 1, (float[]){0, 0.125f, 0.125f, 0.5f, 0.25f});
    expect_masses(0, 1, (float[]){0.125f, 0.125f, 0.5f, 0.125f, 0.125f});
}

static void
test_logits_far_apart_stay_finite(void **state)
{
    (void)state;
    const float logits[4] = {-3e38f, 1000, 900, -1000}, m[4] = {0, 0.5f, 0.5f, 0}, weight = 1;
    for (int t = 0; t < table_count; t++) {
        float p[4], log_total, loss, dlogits[4];
        tables[t]->softmax(p, &log_total, logits, 1, 4);
        assert_true(p[1] == 1.0f && p[2] < 1e-30f && p[0] < 1e-30f && p[3] < 1e-30f);
        tables[t]->cross_entropy(&loss, dlogits, m, logits, p, &log_total, &weight, 1, 4);
        T_NEAR((double)loss, 50, 1e-4, 0);
    }
}

static void
test_divergence_from_itself_is_0_and_never_below(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        run *r = run_make(&rng, sizes[s]);
        uint32_t N = sizes[s];
        for (int t = 0; t < table_count; t++) {
            tables[t]->softmax(r->p, r->log_total, r->logits, ROWS, N);
            tables[t]->cross_entropy(r->loss, r->dlogits, r->p, r->logits, r->p, r->log_total,
                                     r->weight, ROWS, N);
            tables[t]->divergence(r->kl, r->loss, r->p, ROWS, N);
            for (uint32_t row = 0; row < ROWS; row++) {
                assert_true(r->kl[row] >= 0 && r->kl[row] < 4e-6f);
            }
        }
        free(r);
    }
    const float m[4] = {0, 1, 0, 0}, loss = 0.25f; // an atom without mass, and no entropy
    float kl;
    nn_categorical()->divergence(&kl, &loss, m, 1, 4);
    T_NEAR((double)kl, 0.25, 0, 0);
}

static void
test_nan_goes_through_every_operation(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    for (uint32_t j = 0; j < 51; j++) {
        for (int t = 0; t < table_count; t++) {
            run *r = run_make(&rng, 51);
            r->logits[51 * 2 + j] = NAN;
            r->reward[3] = NAN;
            r->discount[4] = NAN;
            run_all(r, tables[t]);
            assert_true(isnan(r->mean[2]) && isnan(r->loss[2]) && isnan(r->dlogits[51 * 2]));
            assert_true(isnan(r->kl[2]) && isnan(r->kl[3]) && isfinite(r->kl[1]));
            assert_true(isnan(r->dmean[51 * 2]) && isnan(r->loss[3]) && isnan(r->loss[4]));
            assert_true(isfinite(r->loss[1]) && isfinite(r->loss[5]));
            free(r);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_equals_its_definition_in_every_table),
        cmocka_unit_test(test_projections_of_many_kinds_have_the_same_bits_in_every_table),
        cmocka_unit_test(test_projection_keeps_mass_and_mean_inside_the_support),
        cmocka_unit_test(test_projection_of_a_last_step_is_its_reward_alone),
        cmocka_unit_test(test_projection_cuts_what_lies_outside),
        cmocka_unit_test(test_logits_far_apart_stay_finite),
        cmocka_unit_test(test_divergence_from_itself_is_0_and_never_below),
        cmocka_unit_test(test_nan_goes_through_every_operation),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
