// Four-bit rows: multipliers of groups, the choice between absmax and mse, and their errors.
#include "quantizer/quantizer_int4.h"

#include "tests/quantizer/quantizer_plain.h"

static const quantizer_method absmax = {.range = QUANTIZER_ABSMAX, .drift = 0.05f};
static const quantizer_method mse = {.range = QUANTIZER_MSE, .drift = 0.05f};

static policy_image *
int4_make(const policy_spec *spec, const float *params, const quantizer_method *method)
{
    policy_image *image = plain_image(spec, POLICY_INT4);
    T_OK(quantizer_convert(image, params, method));
    return image;
}

static size_t
group_count(uint32_t inputs, size_t g)
{
    return OCT_MIN(inputs - g * 32, (size_t)32);
}

// Calls visit for each group of the image's layer.
typedef void visit_fn(const policy_image *image, size_t j, size_t g, const float *w, size_t count);
static void
for_each_group(const policy_image *image, const float *params, visit_fn *visit)
{
    const policy_layer *layer = &image->spec.layers[0];
    for (size_t j = 0; j < layer->outputs; j++) {
        for (size_t g = 0; g < policy_int4_groups(layer->inputs); g++) {
            visit(image, j, g, params + j * layer->inputs + g * 32, group_count(layer->inputs, g));
        }
    }
}

static uint8_t
multiplier_at(const policy_image *image, size_t j, size_t g)
{
    return image->multipliers[0][j * policy_int4_groups(image->spec.layers[0].inputs) + g];
}

static void
absmax_group_check(const policy_image *image, size_t j, size_t g, const float *w, size_t count)
{
    uint32_t inputs = image->spec.layers[0].inputs;
    const int8_t *codes = image->codes[0] + j * inputs + g * 32;
    float scale = image->scales[0][j], step = scale * (float)multiplier_at(image, j, g);
    double most = plain_absmax(w, count);
    // The smallest multiplier whose seven steps reach the largest weight.
    double want = fmin(15.0, ceil(most / (double)scale / 7.0 * (1.0 - 1e-6)));
    assert_int_equal(multiplier_at(image, j, g), (int)want);
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(codes[k], plain_code(w[k], step, 7));
        double d = fabs((double)w[k] - (double)scale * multiplier_at(image, j, g) * codes[k]);
        assert_true(d <= (double)step * 0.5 * (1.0 + 1e-5));
    }
}

static void
test_absmax_cuts_nothing_with_the_smallest_multipliers(void **state)
{
    (void)state;
    static const uint32_t inputs[] = {1, 2, 31, 32, 33, 64, 65, 100, 512};
    for (size_t i = 0; i < OCT_COUNTOF(inputs); i++) {
        policy_spec spec = plain_spec(inputs[i], 9);
        float *params = plain_params(&spec, i, 0.1f);
        policy_image *image = int4_make(&spec, params, &absmax);
        for (size_t j = 0; j < 9; j++) {
            double most = plain_absmax(params + j * inputs[i], inputs[i]);
            assert_true(image->scales[0][j] == (float)most / 105.0f);
        }
        for_each_group(image, params, absmax_group_check);
        policy_image_destroy(image);
        free(params);
    }
}

static void
test_rows_and_groups_of_zeros_have_no_scale_and_no_multiplier(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(70, 3);
    static const quantizer_range ranges[] = {QUANTIZER_ABSMAX, QUANTIZER_PERCENTILE, QUANTIZER_MSE};
    for (size_t r = 0; r < OCT_COUNTOF(ranges); r++) {
        float *params = plain_params(&spec, 3, 0.1f);
        memset(params, 0, 70 * sizeof(float));           // row 0
        memset(params + 70 + 32, 0, 32 * sizeof(float)); // row 1, group 1
        quantizer_method method = {.range = ranges[r], .percentile = 99.0};
        policy_image *image = int4_make(&spec, params, &method);
        assert_true(image->scales[0][0] == 0.0f && image->scales[0][1] > 0.0f);
        for (size_t g = 0; g < 3; g++) {
            assert_int_equal(multiplier_at(image, 0, g), 0);
        }
        assert_true(multiplier_at(image, 1, 0) > 0 && multiplier_at(image, 1, 2) > 0);
        assert_int_equal(multiplier_at(image, 1, 1), 0);
        const int8_t zero[70] = {0};
        assert_memory_equal(image->codes[0], zero, 70);
        assert_memory_equal(image->codes[0] + 70 + 32, zero, 32);
        policy_image_destroy(image);
        free(params);
    }
}

// The tiny group's weights are far below a step of its row; its codes are 0, its multiplier is not.
static void
test_a_group_far_below_its_row_has_codes_of_zero(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(64, 1);
    float *params = plain_params(&spec, 4, 1.0f);
    for (size_t k = 32; k < 64; k++) {
        params[k] *= 1e-6f;
    }
    policy_image *image = int4_make(&spec, params, &absmax);
    assert_int_equal(multiplier_at(image, 0, 1), 1);
    const int8_t zero[32] = {0};
    assert_memory_equal(image->codes[0] + 32, zero, 32);
    policy_image_destroy(image);
    free(params);
}

static void
mse_group_check(const policy_image *image, size_t j, size_t g, const float *w, size_t count)
{
    double scale = (double)image->scales[0][j], least = INFINITY;
    for (int m = 1; m <= 15; m++) {
        least = fmin(least, plain_error(w, count, scale * m, 7));
    }
    double got = plain_error(w, count, scale * multiplier_at(image, j, g), 7);
    T_NEAR(got, least, 1e-12, 1e-4);
}

static void
test_mse_takes_the_best_of_all_multipliers(void **state)
{
    (void)state;
    static const uint32_t inputs[] = {1, 5, 33, 100, 256};
    for (size_t i = 0; i < OCT_COUNTOF(inputs); i++) {
        policy_spec spec = plain_spec(inputs[i], 5);
        float *params = plain_params(&spec, i, 0.1f);
        policy_image *image = int4_make(&spec, params, &mse);
        for_each_group(image, params, mse_group_check);
        policy_image_destroy(image);
        free(params);
    }
}

static double
relative_l2(const policy_image *image, const float *params)
{
    quantizer_layer_error error;
    quantizer_report(image, params, &error);
    return (double)error.relative_l2;
}

// Sixteen levels over +-2.2 deviations (the largest of 32): a step of 0.31 deviations makes a
// relative error of 0.31 / sqrt(12) = 0.09.
static void
test_mse_is_better_than_absmax_and_both_are_near_theory(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(512, 64);
    float *params = plain_params(&spec, 5, 0.1f);
    policy_image *a = int4_make(&spec, params, &absmax), *b = int4_make(&spec, params, &mse);
    double plain = relative_l2(a, params), best = relative_l2(b, params);
    assert_true(plain > 0.08 && plain < 0.12);
    assert_true(best < 0.95 * plain && best > 0.07);
    policy_image_destroy(a);
    policy_image_destroy(b);
    free(params);
}

// Two groups of equal weights, the first of which needs the largest multiplier, at a scale of 1.
static uint32_t
refit_two(float second, uint8_t old, uint8_t *now)
{
    float w[64];
    uint32_t bits[2];
    uint8_t multipliers[2] = {POLICY_MULTIPLIER_MAX, old};
    const quantizer_rows *rows = quantizer_rows_best();
    for (size_t i = 0; i < 64; i++) {
        w[i] = i < 32 ? 7.0f * POLICY_MULTIPLIER_MAX : second;
    }
    quantizer_row4 row = {.w = w, .inputs = 64, .groups = bits};
    row.most = rows->most4(bits, w, 64);
    uint32_t changed = quantizer_refit4(rows, &mse, &row, 1.0f, multipliers);
    *now = multipliers[1];
    return changed;
}

// 7 gives 21, 5 gives 20: of 32 weights a square error that is 1.6 times less may be chance.
static void
test_an_mse_multiplier_stays_until_another_is_clearly_better(void **state)
{
    (void)state;
    uint8_t now;
    assert_int_equal(refit_two(20.54f, 5, &now), 0); // 0.29 to 0.21
    assert_int_equal(now, 5);
    assert_int_equal(refit_two(20.6f, 5, &now), 1); // 0.36 to 0.16
    assert_int_equal(now, 7);
}

// A row that has become so small that half of its multipliers are of no use.
static void
test_an_mse_scale_is_renewed_when_all_multipliers_are_small(void **state)
{
    (void)state;
    float w[32];
    uint32_t bits[1];
    const quantizer_rows *rows = quantizer_rows_best();
    static const struct {
        float weight;
        uint32_t changed;
        uint8_t multiplier;
    } cases[] = {{21.0f, UINT32_MAX, 7}, {24.0f, 1, 12}}; // the largest that is exact
    for (size_t c = 0; c < OCT_COUNTOF(cases); c++) {
        uint8_t multiplier = 9;
        for (size_t i = 0; i < 32; i++) {
            w[i] = cases[c].weight;
        }
        quantizer_row4 row = {.w = w, .inputs = 32, .groups = bits};
        row.most = rows->most4(bits, w, 32);
        assert_int_equal(quantizer_refit4(rows, &mse, &row, 1.0f, &multiplier), cases[c].changed);
        assert_int_equal(multiplier, cases[c].multiplier);
    }
}

static void
test_a_row_is_its_multiplier_times_its_nibble(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(45, 2);
    float *params = plain_params(&spec, 6, 0.1f), *values = oct_alloc(92 * sizeof(float));
    policy_image *image = int4_make(&spec, params, &absmax);
    quantizer_dequantize(image, values);
    int8_t row[45];
    policy_image_row(image, 0, 1, row);
    for (size_t k = 0; k < 45; k++) {
        assert_true(abs(row[k]) <= 105);
        assert_true(values[45 + k] == image->scales[0][1] * (float)row[k]);
    }
    policy_image_destroy(image);
    free(params);
    free(values);
}

// Rows longer than what is looked at in one piece.
static void
test_the_error_of_long_rows_is_reported_truly(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(5000, 3);
    float *params = plain_params(&spec, 8, 0.1f);
    policy_image *image = int4_make(&spec, params, &absmax);
    double norm = 0.0, sum = 0.0, most = 0.0;
    for (size_t j = 0; j < 3; j++) {
        int8_t row[5000];
        policy_image_row(image, 0, (uint32_t)j, row);
        for (size_t k = 0; k < 5000; k++) {
            double w = (double)params[j * 5000 + k];
            double d = fabs(w - (double)image->scales[0][j] * row[k]);
            norm += w * w;
            sum += d * d;
            most = fmax(most, d);
        }
    }
    quantizer_layer_error error;
    quantizer_report(image, params, &error);
    T_NEAR(error.relative_l2, sqrt(sum / norm), 0.0, 1e-5);
    T_NEAR(error.max_abs, most, 0.0, 1e-5);
    policy_image_destroy(image);
    free(params);
}

static void
test_denormal_and_huge_rows_have_codes_in_range(void **state)
{
    (void)state;
    static const float sizes[] = {1e-45f, 2e-43f, 1e-38f, 1e-30f, 1e30f, 0x1.fffffep+127f};
    policy_spec spec = plain_spec(40, 1);
    for (size_t i = 0; i < OCT_COUNTOF(sizes) * 3; i++) {
        float *params = oct_alloc(policy_spec_params(&spec) * sizeof(float));
        for (size_t k = 0; k < 40; k++) {
            params[k] = sizes[i / 3] * (k % 2 == 0 ? 1.0f : -0.5f);
        }
        quantizer_method method = {.range = (quantizer_range)(i % 3), .percentile = 99.0};
        policy_image *image = int4_make(&spec, params, &method);
        assert_true(isfinite(image->scales[0][0]));
        for (size_t k = 0; k < 40; k++) {
            assert_true(abs(image->codes[0][k]) <= 7);
            assert_true(image->scales[0][0] > 0.0f || image->codes[0][k] == 0);
        }
        assert_true(multiplier_at(image, 0, 0) <= 15 && multiplier_at(image, 0, 1) <= 15);
        policy_image_destroy(image);
        free(params);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absmax_cuts_nothing_with_the_smallest_multipliers),
        cmocka_unit_test(test_rows_and_groups_of_zeros_have_no_scale_and_no_multiplier),
        cmocka_unit_test(test_a_group_far_below_its_row_has_codes_of_zero),
        cmocka_unit_test(test_mse_takes_the_best_of_all_multipliers),
        cmocka_unit_test(test_an_mse_multiplier_stays_until_another_is_clearly_better),
        cmocka_unit_test(test_an_mse_scale_is_renewed_when_all_multipliers_are_small),
        cmocka_unit_test(test_mse_is_better_than_absmax_and_both_are_near_theory),
        cmocka_unit_test(test_a_row_is_its_multiplier_times_its_nibble),
        cmocka_unit_test(test_the_error_of_long_rows_is_reported_truly),
        cmocka_unit_test(test_denormal_and_huge_rows_have_codes_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
