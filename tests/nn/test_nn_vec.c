// Every table with FMAs must give the bits of the plainest such one; all are compared with double
// arithmetic.
#include <float.h>
#include <stdlib.h>

#include "nn/nn_vec.h"
#include "policy/policy_activate.h"
#include "policy/policy_spec.h"
#include "tests/nn/nn_fixture.h"
#include "tests/policy/exact_activation.h"
#include "tests/support/oct_test.h"

static const uint32_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130};
// Three groups of rows that are computed side by side, the last of them not full.
enum { ROWS = 21, COUNT_MAX = ROWS * 130 };

static const nn_vec_ops *tables[NN_VEC_TABLES_MAX];
static int table_count;

static int
group_setup(void **state)
{
    (void)state;
    table_count = nn_vec_tables(tables);
    return table_count >= 1 ? 0 : -1;
}

// Whose bits table t must give. The plainest of several is for CPUs without FMAs.
static const nn_vec_ops *
same_bits(int t)
{
    return tables[t > 0 ? 1 : 0];
}

// Units in the last place of a float between got and the exact want.
static double
ulps(float got, double want)
{
    float nearest = (float)want;
    double unit = (double)nextafterf(fabsf(nearest), INFINITY) - fabs((double)nearest);
    return fabs((double)got - want) / unit;
}

static void
test_best_table_is_the_last(void **state)
{
    (void)state;
    assert_ptr_equal(nn_vec(), tables[table_count - 1]);
}

// y = activation(y + 0)
static void
activate(const nn_vec_ops *vec, policy_activation activation, float *y, uint32_t n)
{
    static const float zero[COUNT_MAX];
    vec->bias[activation](y, zero, 1, n);
}

static void
test_nan_goes_through_every_fused_activation(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        for (int a = 0; a < NN_FUSED; a++) {
            float y[20];
            for (int i = 0; i < 20; i++) {
                y[i] = NAN;
            }
            activate(tables[t], (policy_activation)a, y, 20);
            for (int i = 0; i < 20; i++) {
                assert_true(isnan(y[i]));
            }
        }
    }
}

static void
test_activations_are_within_a_few_ulp(void **state)
{
    (void)state;
    for (int table = 0; table < table_count; table++) {
        double worst_tanh = 0, worst_elu = 0;
        for (int i = -40000; i <= 40000; i++) {
            // Dense around 0, out to +-100.
            double u = i / 40000.0;
            float x = (float)(100 * u * u * u), t = x, e = x, r = x, l = x;
            activate(tables[table], POLICY_TANH, &t, 1);
            activate(tables[table], POLICY_ELU, &e, 1);
            activate(tables[table], POLICY_RELU, &r, 1);
            activate(tables[table], POLICY_LINEAR, &l, 1);
            worst_tanh = fmax(worst_tanh, ulps(t, tanh((double)x)));
            worst_elu = fmax(worst_elu, ulps(e, x > 0 ? (double)x : expm1((double)x)));
            assert_true(r == (x > 0 ? x : 0));
            assert_true(l == x);
        }
        print_message("%s: tanh %.2f ulp, elu %.2f\n", tables[table]->name, worst_tanh, worst_elu);
        assert_true(worst_tanh < 3);
        assert_true(worst_elu < 1);
    }
}

static void
test_activations_saturate(void **state)
{
    (void)state;
    float t[4] = {-INFINITY, INFINITY, -FLT_MAX, FLT_MAX};
    float e[2] = {-INFINITY, FLT_MAX};
    activate(nn_vec(), POLICY_TANH, t, 4);
    activate(nn_vec(), POLICY_ELU, e, 2);
    assert_memory_equal(t, ((float[]){-1, 1, -1, 1}), sizeof(t));
    assert_memory_equal(e, ((float[]){-1, FLT_MAX}), sizeof(e));
}

static void
check_bias_op(oct_rng *rng, int t, policy_activation activation, uint32_t O)
{
    const nn_vec_ops *vec = tables[t];
    float *y = fixture_floats(rng, ROWS * O, -3, 3);
    float *b = fixture_floats(rng, O, -3, 3);
    float same[COUNT_MAX], apart[COUNT_MAX];
    memcpy(same, y, ROWS * O * sizeof(float));
    for (uint32_t i = 0; i < ROWS * O; i++) {
        apart[i] = y[i] + b[i % O];
    }
    activate(vec, activation, apart, ROWS * O);
    vec->bias[activation](y, b, ROWS, O);
    same_bits(t)->bias[activation](same, b, ROWS, O);
    assert_memory_equal(y, same, ROWS * O * sizeof(float));
    assert_memory_equal(y, apart, ROWS * O * sizeof(float));
    free(y);
    free(b);
}

static void
test_bias_and_activation_equal_the_two_apart(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (int t = 0; t < table_count; t++) {
        for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
            for (int a = 0; a < NN_FUSED; a++) {
                check_bias_op(&rng, t, (policy_activation)a, sizes[s]);
            }
        }
    }
}

static void
test_slopes_are_told_from_the_outputs(void **state)
{
    (void)state;
    const float y[6] = {-0.75f, -0.25f, 0, 0.25f, 0.75f, 2};
    const float want[NN_FUSED][6] = {
        [POLICY_LINEAR] = {2, 2, 2, 2, 2, 2},
        [POLICY_RELU] = {0, 0, 0, 2, 2, 2},
        [POLICY_TANH] = {0.875f, 1.875f, 2, 1.875f, 0.875f, -6},
        [POLICY_ELU] = {0.5f, 1.5f, 2, 2, 2, 2},
    };
    for (int t = 0; t < table_count; t++) {
        for (int a = 0; a < NN_FUSED; a++) {
            float dy[6] = {2, 2, 2, 2, 2, 2};
            tables[t]->backward[a](dy, y, 6);
            assert_memory_equal(dy, want[a], sizeof(dy));
        }
    }
}

// Slopes and sums in one pass, and in two parts of the batch, against the two apart.
static void
check_backward_sums(oct_rng *rng, int t, int activation, uint32_t B, uint32_t O)
{
    const nn_vec_ops *vec = tables[t];
    uint32_t n = B * O, half = B / 2;
    float *y = fixture_floats(rng, n, -1, 1), *dy = fixture_floats(rng, n, -1, 1);
    float *apart = oct_alloc(n * sizeof(float));
    float sums[130], db[130] = {0};
    memcpy(apart, dy, n * sizeof(float));
    same_bits(t)->backward[activation](apart, y, n);
    same_bits(t)->column_sums(sums, apart, B, O);
    vec->backward_sums[activation](dy, db, y, half, O);
    vec->backward_sums[activation](dy + half * O, db, y + half * O, B - half, O);
    assert_memory_equal(dy, apart, n * sizeof(float));
    assert_memory_equal(db, sums, O * sizeof(float));
    free(y);
    free(dy);
    free(apart);
}

static void
test_slopes_and_sums_equal_the_two_apart(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    for (int t = 0; t < table_count; t++) {
        for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
            for (int a = 0; a < NN_FUSED; a++) {
                check_backward_sums(&rng, t, a, 1, sizes[s]);
                check_backward_sums(&rng, t, a, 7, sizes[s]);
                check_backward_sums(&rng, t, a, 16, sizes[s]);
            }
        }
    }
}

static void
test_sums_equal_double_in_every_table(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        uint32_t O = sizes[s];
        float *x = fixture_floats(&rng, ROWS * O, -1, 1);
        float sums[COUNT_MAX];
        double squares = 0;
        for (uint32_t i = 0; i < ROWS * O; i++) {
            squares += (double)x[i] * (double)x[i];
        }
        for (int t = 0; t < table_count; t++) {
            float total = tables[t]->sum_of_squares(x, ROWS * O);
            T_NEAR((double)total, squares, 0, 1e-6);
            assert_true(total == same_bits(t)->sum_of_squares(x, ROWS * O));
            tables[t]->column_sums(sums, x, ROWS, O);
            for (uint32_t o = 0; o < O; o++) {
                double want = 0;
                for (uint32_t row = 0; row < ROWS; row++) {
                    want += (double)x[row * O + o];
                }
                T_NEAR((double)sums[o], want, 2e-6, 0);
            }
        }
        free(x);
    }
    assert_true(nn_vec()->sum_of_squares(NULL, 0) == 0.0f);
}

static void
test_sum_of_squares_of_infinity_or_nan_is_not_finite(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        for (int at = 0; at < 40; at++) {
            float x[40] = {0};
            x[at] = NAN;
            assert_false(isfinite(tables[t]->sum_of_squares(x, 40)));
            x[at] = -INFINITY;
            assert_false(isfinite(tables[t]->sum_of_squares(x, 40)));
        }
    }
}

typedef struct norm_rows {
    float y[COUNT_MAX], unit[COUNT_MAX], inverse[ROWS], dy[COUNT_MAX];
    float dgain[COUNT_MAX], doffset[COUNT_MAX], db[COUNT_MAX];
} norm_rows;

// What the norm gives in double, and that its rows are normalised.
static void
norm_expect(const norm_rows *rows, const float *x, const float *bias, uint32_t O)
{
    const float *gain = bias + O, *offset = bias + 2 * O;
    for (uint32_t row = 0; row < ROWS; row++) {
        double mean = 0, variance = 0;
        for (uint32_t o = 0; o < O; o++) {
            mean += ((double)x[row * O + o] + (double)bias[o]) / O;
        }
        for (uint32_t o = 0; o < O; o++) {
            double from = (double)x[row * O + o] + (double)bias[o] - mean;
            variance += from * from / O;
        }
        for (uint32_t o = 0; o < O; o++) {
            double from = (double)x[row * O + o] + (double)bias[o] - mean;
            double want = from / sqrt(variance + 1e-5) * (double)gain[o] + (double)offset[o];
            T_NEAR((double)rows->y[row * O + o], want, 6e-6, 0);
        }
    }
}

// Forward and backward; activation after the norm, in the same pass or apart, in the order of one
// pass over each.
static void
norm_run(norm_rows *rows, const nn_vec_ops *v, int activation, bool apart, const float *x,
         const float *bias, uint32_t O)
{
    const float *gain = bias + O, *offset = bias + 2 * O;
    const nn_norm_sums sums = {rows->dgain, rows->doffset, rows->db};
    int inside = apart ? POLICY_LINEAR : activation;
    memset(rows, 0, sizeof(*rows));
    memcpy(rows->y, x, ROWS * O * sizeof(float));
    memcpy(rows->dy, x, ROWS * O * sizeof(float));
    v->bias_norm[inside](rows->y, NULL, rows->inverse, bias, gain, offset, ROWS, O);
    float unkept[COUNT_MAX];
    memcpy(unkept, rows->y, sizeof(unkept));
    memcpy(rows->y, x, ROWS * O * sizeof(float));
    v->bias_norm[inside](rows->y, rows->unit, rows->inverse, bias, gain, offset, ROWS, O);
    assert_memory_equal(rows->y, unkept, sizeof(unkept));
    if (apart) {
        norm_expect(rows, x, bias, O);
        activate(v, (policy_activation)activation, rows->y, ROWS * O);
        v->backward[activation](rows->dy, rows->y, ROWS * O);
        // The gradient itself is checked in test_nn_gradient.c: here only that ways agree.
        v->norm_backward[inside](rows->dy, &sums, rows->y, rows->unit, rows->inverse, gain, ROWS,
                                 O);
        v->column_sums(rows->db, rows->dy, ROWS, O);
        return;
    }
    for (uint32_t row = 0; row < ROWS; row++) { // in parts
        v->norm_backward[inside](rows->dy + row * O, &sums, rows->y + row * O, rows->unit + row * O,
                                 rows->inverse + row, gain, 1, O);
    }
}

static void
test_norm_and_activation_equal_the_two_apart_in_every_table(void **state)
{
    (void)state;
    static norm_rows first, rows;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    for (size_t s = 1; s < OCT_COUNTOF(sizes); s++) {
        float *x = fixture_floats(&rng, ROWS * sizes[s], -2, 2);
        float *bias = fixture_floats(&rng, 3 * sizes[s], 0.5f, 1.5f);
        for (int a = 0; a < NN_FUSED; a++) {
            for (int t = 0; t < table_count; t++) {
                norm_run(&first, same_bits(t), a, true, x, bias, sizes[s]);
                norm_run(&rows, tables[t], a, false, x, bias, sizes[s]);
                assert_memory_equal(&rows, &first, sizeof(rows));
            }
        }
        free(x);
        free(bias);
    }
}

static void
test_norm_of_a_constant_row_is_the_offset(void **state)
{
    (void)state;
    float y[8], unit[8], inverse;
    const float zero[8] = {0}, gain[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const float offset[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 8; i++) {
        y[i] = 4.0f;
    }
    nn_vec()->bias_norm[POLICY_LINEAR](y, unit, &inverse, zero, gain, offset, 1, 8);
    assert_memory_equal(y, offset, sizeof(y));
    T_NEAR((double)inverse, 1 / sqrt(1e-5), 0, 1e-6);
}

// ---- curves

// Dense around 0, out to +-100.
enum { CURVE_POINTS = 40001 };
static void
curve_points(float x[CURVE_POINTS])
{
    for (int i = 0; i < CURVE_POINTS; i++) {
        double u = (i - CURVE_POINTS / 2) / (CURVE_POINTS / 2.0);
        x[i] = (float)(100 * u * u * u);
    }
}

static void
test_curves_have_the_bits_of_the_policy_in_every_table(void **state)
{
    (void)state;
    static float x[CURVE_POINTS], y[CURVE_POINTS], kept[CURVE_POINTS];
    curve_points(x);
    for (int t = 0; t < table_count; t++) {
        for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
            memcpy(y, x, sizeof(y));
            tables[t]->curve[a](y, kept, CURVE_POINTS);
            assert_memory_equal(kept, x, sizeof(x));
            for (int i = 0; i < CURVE_POINTS; i++) {
                float want = policy_activate((policy_activation)a, x[i]);
                assert_memory_equal(&y[i], &want, sizeof(want));
            }
            const float nan = NAN;
            memcpy(y, &nan, sizeof(nan));
            tables[t]->curve[a](y, NULL, 1);
            assert_true(isnan(y[0]) == isnan(policy_activate((policy_activation)a, NAN)));
        }
    }
}

static void
test_curves_write_no_more_than_they_are_given(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
            for (size_t n = 0; n < 40; n++) {
                float y[41], kept[41], dy[41];
                for (size_t i = 0; i < 41; i++) {
                    y[i] = 0.1f * (float)i - 2;
                    kept[i] = dy[i] = 7;
                }
                tables[t]->curve[a](y, kept, n);
                tables[t]->curve_backward[a](dy, kept, n);
                for (size_t i = 0; i < 41; i++) {
                    float x = 0.1f * (float)i - 2;
                    float slope = (float)exact_slope((policy_activation)a, (double)x);
                    assert_true(y[i] == (i < n ? policy_activate((policy_activation)a, x) : x));
                    assert_true(kept[i] == (i < n ? x : 7));
                    T_NEAR(dy[i], i < n ? 7 * slope : 7, 2e-5, 0);
                }
            }
        }
    }
}

// Of linear to elu, too, whose fused loops compute the slope from the output.
static void
test_slopes_of_curves_equal_double_in_every_table(void **state)
{
    (void)state;
    static float x[CURVE_POINTS], dy[CURVE_POINTS], same[CURVE_POINTS];
    curve_points(x);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        double worst = 0;
        for (int t = 0; t < table_count; t++) {
            for (int i = 0; i < CURVE_POINTS; i++) {
                dy[i] = 1;
            }
            tables[t]->curve_backward[a](dy, x, CURVE_POINTS);
            if (t == 0) {
                memcpy(same, dy, sizeof(same));
            }
            assert_memory_equal(dy, same, sizeof(same));
            for (int i = 0; i < CURVE_POINTS; i++) {
                double want = exact_slope((policy_activation)a, (double)x[i]);
                worst = fmax(worst, fabs((double)dy[i] - want));
            }
        }
        print_message("%s: %.2g\n", policy_activation_name((policy_activation)a), worst);
        assert_true(worst < 2e-6);
    }
}

static void
test_small_products_with_slopes_become_zero(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
            for (float x = -100; x <= 100; x += 0.5f) {
                float dy[2] = {NN_VEC_SMALL, NAN};
                tables[t]->curve_backward[a](dy, (float[]){x, x}, 2);
                assert_true(dy[0] == 0.0f || fabsf(dy[0]) >= NN_VEC_SMALL);
                assert_true(isnan(dy[1]));
            }
        }
    }
}

static const nn_adam_factors factors = {
    .gradient_scale = 0.5f,
    .beta1 = 0.9f,
    .beta2 = 0.99f,
    .rate = 0.01f,
    .second_moment_factor = 3.0f,
    .epsilon = 1e-3f,
};

static void
test_adam_equals_double_in_every_table(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    for (int t = 0; t < table_count; t++) {
        for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
            uint32_t n = sizes[s];
            float *p = fixture_floats(&rng, n, -1, 1), *m = fixture_floats(&rng, n, -1, 1);
            float *v = fixture_floats(&rng, n, 0, 1), *g = fixture_floats(&rng, n, -1, 1);
            float *was = oct_alloc(3 * n * sizeof(float));
            memcpy(was, p, n * sizeof(float));
            memcpy(was + n, m, n * sizeof(float));
            memcpy(was + 2 * n, v, n * sizeof(float));
            tables[t]->adam(p, m, v, g, n, &factors);
            for (uint32_t i = 0; i < n; i++) {
                double step = 0.5 * (double)g[i];
                double first = 0.9 * (double)was[n + i] + 0.1 * step;
                double second = 0.99 * (double)was[2 * n + i] + 0.01 * step * step;
                T_NEAR((double)m[i], first, 1e-7, 1e-6);
                T_NEAR((double)v[i], second, 1e-8, 1e-5);
                double want = (double)was[i] - 0.01 * first / (3.0 * sqrt(second) + 1e-3);
                T_NEAR((double)p[i], want, 1e-6, 0);
            }
            same_bits(t)->adam(was, was + n, was + 2 * n, g, n, &factors);
            assert_memory_equal(was, p, n * sizeof(float));
            free(p);
            free(m);
            free(v);
            free(g);
            free(was);
        }
    }
}

// The second moment of a tiny gradient is 0 in a float, its first is not: with the smallest epsilon
// that algo.adam_epsilon may have, no step of a beginning is longer than the rate.
static void
test_adam_makes_no_long_steps_for_tiny_gradients(void **state)
{
    (void)state;
    const nn_adam_factors begin = {.gradient_scale = 1.0f,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.999f,
                                   .rate = 0.01f / 0.1f,
                                   .second_moment_factor = 1 / sqrtf(0.001f),
                                   .epsilon = 1e-15f};
    for (int t = 0; t < table_count; t++) {
        for (float g = 1e-37f; g < 1; g *= 1.5f) {
            float p = 0, m = 0, v = 0;
            tables[t]->adam(&p, &m, &v, &g, 1, &begin);
            assert_true(fabsf(p) < 0.0101f);
        }
    }
}

static void
test_adam_moments_never_stay_subnormal(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        float p[20], m[20], v[20], g[20] = {0};
        for (int i = 0; i < 20; i++) {
            p[i] = 1.0f;
            m[i] = i % 2 == 0 ? FLT_MIN : -FLT_MIN;
            v[i] = FLT_MIN;
        }
        tables[t]->adam(p, m, v, g, 20, &factors);
        for (int i = 0; i < 20; i++) {
            assert_true(m[i] == 0.0f && v[i] == 0.0f && p[i] == 1.0f);
        }
    }
}

static void
test_small_parts_of_a_gradient_become_zero(void **state)
{
    (void)state;
    const float x[] = {NN_VEC_SMALL, -NN_VEC_SMALL, NAN, INFINITY, -1e-45f, FLT_MIN, -1e-25f, 1.0f};
    const float want[] = {NN_VEC_SMALL, -NN_VEC_SMALL, NAN, INFINITY, 0, 0, 0, 1.0f};
    for (int t = 0; t < table_count; t++) {
        float some[5 * OCT_COUNTOF(x)];
        for (size_t i = 0; i < OCT_COUNTOF(some); i++) {
            some[i] = x[i % OCT_COUNTOF(x)];
        }
        tables[t]->flush_small(some, OCT_COUNTOF(some) - 1);
        for (size_t i = 0; i < OCT_COUNTOF(some) - 1; i++) {
            float is = want[i % OCT_COUNTOF(x)];
            assert_true(isnan(is) ? isnan(some[i]) : some[i] == is);
        }
        assert_true(some[OCT_COUNTOF(some) - 1] == 1.0f);
    }
}

static void
test_blend_moves_by_the_rate(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        float to[19], from[19];
        for (int i = 0; i < 19; i++) {
            to[i] = 8.0f;
            from[i] = (float)i;
        }
        tables[t]->blend(to, from, 0.125f, 19);
        for (int i = 0; i < 19; i++) {
            assert_true(to[i] == 7.0f + 0.125f * (float)i);
        }
    }
}

static void
test_add_gives_the_same_bits_in_every_table(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        float to[37], from[37];
        for (int i = 0; i < 37; i++) {
            to[i] = 1.0f / (float)(3 + i);
            from[i] = i == 5 ? NAN : 1e3f / (float)(7 + i);
        }
        tables[t]->add(to, from, 36);
        for (int i = 0; i < 37; i++) {
            float was = 1.0f / (float)(3 + i);
            assert_true(i == 5 ? isnan(to[i]) : to[i] == (i < 36 ? was + from[i] : was));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_goes_through_every_fused_activation),
        cmocka_unit_test(test_sum_of_squares_of_infinity_or_nan_is_not_finite),
        cmocka_unit_test(test_activations_saturate),
        cmocka_unit_test(test_norm_of_a_constant_row_is_the_offset),
        cmocka_unit_test(test_adam_makes_no_long_steps_for_tiny_gradients),
        cmocka_unit_test(test_adam_moments_never_stay_subnormal),
        cmocka_unit_test(test_best_table_is_the_last),
        cmocka_unit_test(test_activations_are_within_a_few_ulp),
        cmocka_unit_test(test_bias_and_activation_equal_the_two_apart),
        cmocka_unit_test(test_slopes_are_told_from_the_outputs),
        cmocka_unit_test(test_curves_write_no_more_than_they_are_given),
        cmocka_unit_test(test_small_products_with_slopes_become_zero),
        cmocka_unit_test(test_curves_have_the_bits_of_the_policy_in_every_table),
        cmocka_unit_test(test_slopes_of_curves_equal_double_in_every_table),
        cmocka_unit_test(test_sums_equal_double_in_every_table),
        cmocka_unit_test(test_slopes_and_sums_equal_the_two_apart),
        cmocka_unit_test(test_norm_and_activation_equal_the_two_apart_in_every_table),
        cmocka_unit_test(test_adam_equals_double_in_every_table),
        cmocka_unit_test(test_small_parts_of_a_gradient_become_zero),
        cmocka_unit_test(test_blend_moves_by_the_rate),
        cmocka_unit_test(test_add_gives_the_same_bits_in_every_table),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
