// Conversion from fp32 to codes: scales, rounding, extreme rows, and the error that is reported.
#include "quantizer/quantizer_convert.h"

#include <stdlib.h>

#include "common/oct_rng.h"
#include "policy/policy_net.h"
#include "tests/support/oct_test.h"

// A net of 3 inputs, one layer of 4 outputs, layer norm.
static policy_spec
small_spec(void)
{
    policy_spec spec = {
        .env_id = "Test-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = 3,
        .action_kind = POLICY_DISCRETE,
        .action_count = 4,
        .head = POLICY_HEAD_VALUES,
        .layer_count = 1,
        .layers = {{.kind = POLICY_DENSE, .inputs = 3, .outputs = 4, .layer_norm = true}},
    };
    return spec;
}

// W [4][3], b, gain, offset.
static const float small_params[24] = {
    1.0f,  -0.5f,  0.25f,                // scale 1 / 127
    0.0f,  0.0f,   0.0f,                 // a zero row
    -2.0f, 1.999f, 2.0f,                 // the sign of the largest
    1e-3f, 5e-4f,  -1e-3f * 0.3f,        // small rows keep their precision
    0.1f,  0.2f,   0.3f,          0.4f,  // bias
    1.0f,  1.1f,   1.2f,          1.3f,  // gain
    -1.0f, -2.0f,  -3.0f,         -4.0f, // offset
};

static policy_image *
small_image(policy_precision precision, bool per_tensor)
{
    policy_spec spec = small_spec();
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, precision));
    T_OK(quantizer_convert(image, small_params, &(quantizer_method){.per_tensor = per_tensor}));
    return image;
}

static void
test_a_parameter_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    policy_spec spec = small_spec();
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    for (size_t i = 0; i < OCT_COUNTOF(small_params) * OCT_COUNTOF(bad); i++) {
        float params[OCT_COUNTOF(small_params)];
        memcpy(params, small_params, sizeof(params));
        params[i / OCT_COUNTOF(bad)] = bad[i % OCT_COUNTOF(bad)];
        T_ERR(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT), OCT_EINVAL);
    }
    policy_image_destroy(image);
}

static void
test_each_row_has_its_scale_and_codes_round_to_even(void **state)
{
    (void)state;
    policy_image *image = small_image(POLICY_INT8, false);
    // -0.5 * 127 = -63.5 and 0.25 * 127 = 31.75.
    const int8_t want[12] = {127, -64, 32, 0, 0, 0, -127, 127, 127, 127, 64, -38};
    assert_memory_equal(image->codes[0], want, sizeof(want));
    assert_true(image->scales[0][0] == 1.0f / 127.0f);
    assert_true(image->scales[0][1] == 0.0f);
    assert_true(image->scales[0][2] == 2.0f / 127.0f);
    assert_true(image->scales[0][3] == 1e-3f / 127.0f);
    assert_false(image->per_tensor);
    policy_image_destroy(image);
}

static void
test_per_tensor_gives_all_rows_the_largest_scale(void **state)
{
    (void)state;
    policy_image *image = small_image(POLICY_INT8, true);
    for (uint32_t j = 0; j < 4; j++) {
        assert_true(image->scales[0][j] == 2.0f / 127.0f);
    }
    assert_int_equal(image->codes[0][0], 64); // 63.5 to even
    assert_int_equal(image->codes[0][9], 0);
    assert_true(image->per_tensor);
    policy_image_destroy(image);
}

static void
test_biases_gains_and_offsets_stay_as_they_are(void **state)
{
    (void)state;
    policy_image *image = small_image(POLICY_INT8, false);
    assert_memory_equal(image->bias[0], small_params + 12, 4 * sizeof(float));
    assert_memory_equal(image->gain[0], small_params + 16, 4 * sizeof(float));
    assert_memory_equal(image->offset[0], small_params + 20, 4 * sizeof(float));
    policy_image_destroy(image);
}

static void
test_fp32_keeps_the_weights_and_reports_no_error(void **state)
{
    (void)state;
    policy_image *image = small_image(POLICY_FP32, true);
    quantizer_layer_error error = {1.0f, 1.0f};
    assert_memory_equal(image->weights[0], small_params, 12 * sizeof(float));
    assert_false(image->per_tensor);
    quantizer_report(image, small_params, &error);
    assert_true(error.relative_l2 == 0.0f && error.max_abs == 0.0f);
    policy_image_destroy(image);
}

static void
test_denormal_and_huge_rows_give_codes_in_range(void **state)
{
    (void)state;
    float params[24];
    memcpy(params, small_params, sizeof(params));
    const float rows[12] = {
        1e-45f, -1e-45f,           0.0f, 3e-43f, -2.9e-43f, 1.5e-43f, 0x1.fffffep+127f, -3e38f,
        1e-30f, -0x1.fffffep+127f, 0.0f, 1.0f};
    memcpy(params, rows, sizeof(rows));
    policy_spec spec = small_spec();
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
    const int8_t zero[3] = {0};
    assert_memory_equal(image->codes[0], zero, 3);
    for (uint32_t i = 0; i < 12; i++) {
        assert_true(image->codes[0][i] >= -127);
    }
    assert_true(image->codes[0][3] > 100); // the scale itself is rounded to a denormal
    assert_int_equal(image->codes[0][6], 127);
    assert_int_equal(image->codes[0][9], -127);
    policy_image_destroy(image);
}

// Each weight is off by at most half a scale and the rounding of the code and the product.
static void
test_the_error_is_at_most_half_a_step_and_reported_truly(void **state)
{
    (void)state;
    policy_spec spec = small_spec();
    spec.layers[0] = (policy_layer){.kind = POLICY_DENSE, .inputs = 100, .outputs = 33};
    spec.obs_count = 100;
    spec.action_count = 33;
    float *params = oct_alloc(policy_spec_params(&spec) * sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    for (size_t i = 0; i < policy_spec_params(&spec); i++) {
        params[i] = oct_rng_normal(&rng);
    }
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
    double worst = 0.0, error = 0.0, norm = 0.0;
    for (uint32_t i = 0; i < 3300; i++) {
        double scale = (double)image->scales[0][i / 100];
        double d = fabs((double)params[i] - scale * image->codes[0][i]);
        assert_true(d <= scale * 0.5 * (1.0 + 1e-4));
        worst = fmax(worst, d);
        error += d * d;
        norm += (double)params[i] * (double)params[i];
    }
    quantizer_layer_error report;
    quantizer_report(image, params, &report);
    T_NEAR(report.max_abs, worst, 0.0, 1e-6);
    T_NEAR(report.relative_l2, sqrt(error / norm), 0.0, 1e-6);
    // A normal row of 100 peaks near 2.5 sigma: steps of 2.5 / 127, uniform error of a step /
    // sqrt(12).
    assert_true(report.relative_l2 > 0.003f && report.relative_l2 < 0.012f);
    policy_image_destroy(image);
    free(params);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_parameter_that_is_not_finite_is_refused),
        cmocka_unit_test(test_each_row_has_its_scale_and_codes_round_to_even),
        cmocka_unit_test(test_per_tensor_gives_all_rows_the_largest_scale),
        cmocka_unit_test(test_biases_gains_and_offsets_stay_as_they_are),
        cmocka_unit_test(test_fp32_keeps_the_weights_and_reports_no_error),
        cmocka_unit_test(test_denormal_and_huge_rows_give_codes_in_range),
        cmocka_unit_test(test_the_error_is_at_most_half_a_step_and_reported_truly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
