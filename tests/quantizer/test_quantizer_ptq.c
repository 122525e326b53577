// Post-training quantisation: what a converted policy keeps, bias correction on demand, scaling of
// what was observed, and the error of each layer.
#include "quantizer/quantizer_ptq.h"

#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_scaling.h"
#include "tests/policy/random_policy.h"

enum { OBS = 4, OUTPUTS = 3, ROWS = 300 };

static policy_image *
fp32_make(bool normalise)
{
    const uint32_t widths[] = {OBS, 24, OUTPUTS};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    spec.normalise = normalise;
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    return random_image(&spec, POLICY_FP32, false, &rng);
}

// Entries of different ranges, none centred but the first.
static void
observations(float obs[ROWS * OBS])
{
    static const float deviations[OBS] = {0.5f, 0.5f, 100.0f, 3.0f};
    static const float means[OBS] = {0.0f, 7.0f, 20.0f, -1.0f};
    oct_rng rng;
    oct_rng_init(&rng, 11, 0);
    for (int i = 0; i < ROWS * OBS; i++) {
        obs[i] = oct_rng_normal(&rng) * deviations[i % OBS] + means[i % OBS];
    }
}

static quantizer_reservoir *
reservoir_of(const policy_spec *spec, const float *obs, uint32_t rows)
{
    quantizer_reservoir *reservoir = quantizer_reservoir_create(spec, ROWS, 1);
    quantizer_reservoir_add(reservoir, obs, OBS * sizeof(float), rows);
    return reservoir;
}

static policy_image *
converted(const policy_image *fp32, policy_precision precision,
          const quantizer_reservoir *calibration)
{
    policy_image *image = NULL;
    T_OK(quantizer_ptq_convert(&image, fp32, precision, &QUANTIZER_METHOD_DEFAULT, calibration));
    return image;
}

static void
test_a_weight_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    policy_image *fp32 = fp32_make(false), *image = NULL, *scaled = NULL;
    float obs[ROWS * OBS];
    observations(obs);
    quantizer_reservoir *observed = reservoir_of(&fp32->spec, obs, ROWS);
    fp32->weights[1][2] = NAN;
    T_ERR(quantizer_ptq_convert(&image, fp32, POLICY_INT8, &QUANTIZER_METHOD_DEFAULT, NULL),
          OCT_EINVAL);
    T_ERR(quantizer_ptq_scale(&scaled, fp32, observed), OCT_EINVAL);
    assert_null(image);
    assert_null(scaled);
    quantizer_reservoir_destroy(observed);
    policy_image_destroy(fp32);
}

static void
test_a_converted_policy_keeps_all_but_the_return(void **state)
{
    (void)state;
    static const policy_precision all[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8,
                                           POLICY_INT4};
    policy_image *fp32 = fp32_make(true);
    for (size_t i = 0; i < OCT_COUNTOF(all); i++) {
        policy_image *image = converted(fp32, all[i], NULL);
        assert_int_equal(image->precision, all[i]);
        assert_true(policy_spec_equal(&image->spec, &fp32->spec));
        assert_int_equal(image->origin.version, fp32->origin.version);
        assert_int_equal(image->origin.run_id, fp32->origin.run_id);
        assert_true(isnan(image->origin.eval_return));
        assert_memory_equal(image->obs_mean, fp32->obs_mean, OBS * sizeof(float));
        assert_memory_equal(image->obs_inverse_std, fp32->obs_inverse_std, OBS * sizeof(float));
        policy_image_destroy(image);
    }
    policy_image_destroy(fp32);
}

static void
test_biases_move_where_there_is_something_to_calibrate_on(void **state)
{
    (void)state;
    policy_image *fp32 = fp32_make(false);
    float obs[ROWS * OBS];
    observations(obs);
    quantizer_reservoir *calibration = reservoir_of(&fp32->spec, obs, ROWS);
    policy_image *plain = converted(fp32, POLICY_INT4, NULL);
    policy_image *corrected = converted(fp32, POLICY_INT4, calibration);
    policy_image *same = converted(fp32, POLICY_FP32, calibration);
    assert_memory_equal(plain->bias[0], fp32->bias[0], 24 * sizeof(float));
    assert_memory_not_equal(corrected->bias[0], fp32->bias[0], 24 * sizeof(float));
    assert_memory_equal(same->bias[0], fp32->bias[0], 24 * sizeof(float));
    policy_image_destroy(plain);
    policy_image_destroy(corrected);
    policy_image_destroy(same);
    quantizer_reservoir_destroy(calibration);
    policy_image_destroy(fp32);
}

static void
outputs_of(const policy_image *image, const float *obs, float y[OUTPUTS])
{
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_REF));
    policy_scratch *scratch = policy_scratch_create(&image->spec, 1);
    policy_forward(net, scratch, obs, 0, 1, y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

static void
test_too_few_observations_scale_nothing(void **state)
{
    (void)state;
    policy_image *fp32 = fp32_make(false), *scaled = NULL;
    float obs[ROWS * OBS];
    observations(obs);
    quantizer_reservoir *few = reservoir_of(&fp32->spec, obs, QUANTIZER_OBSERVED_LEAST - 1);
    T_ERR(quantizer_ptq_scale(&scaled, fp32, few), OCT_EAGAIN);
    assert_null(scaled);
    quantizer_reservoir_destroy(few);
    policy_image_destroy(fp32);
}

// The same function of raw observations, by weights of another size.
static void
test_a_scaled_policy_is_the_same_function(void **state)
{
    (void)state;
    policy_image *fp32 = fp32_make(false), *scaled = NULL;
    float obs[ROWS * OBS], want[OUTPUTS], got[OUTPUTS];
    observations(obs);
    quantizer_reservoir *observed = reservoir_of(&fp32->spec, obs, ROWS);
    T_OK(quantizer_ptq_scale(&scaled, fp32, observed));
    assert_true(scaled->spec.normalise && scaled->obs_inverse_std[2] == 1.0f / 128);
    assert_int_equal(scaled->origin.version, fp32->origin.version);
    for (int r = 0; r < ROWS; r++) {
        outputs_of(fp32, obs + r * OBS, want);
        outputs_of(scaled, obs + r * OBS, got);
        for (int i = 0; i < OUTPUTS; i++) {
            T_NEAR(got[i], want[i], 1e-3, 1e-5); // two sums of fp32 in another order
        }
    }
    policy_image *again;
    assert_true(quantizer_ptq_is_scaled(&scaled->spec, &fp32->spec));
    assert_false(quantizer_ptq_is_scaled(&scaled->spec, &scaled->spec));
    assert_false(quantizer_ptq_is_scaled(&fp32->spec, &fp32->spec));
    T_OK(quantizer_ptq_scale_as(&again, fp32, scaled));
    assert_memory_equal(again->weights[0], scaled->weights[0], 24 * OBS * sizeof(float));
    assert_memory_equal(again->bias[0], scaled->bias[0], 24 * sizeof(float));
    assert_memory_equal(again->obs_inverse_std, scaled->obs_inverse_std, OBS * sizeof(float));
    policy_image_destroy(again);
    quantizer_reservoir_destroy(observed);
    policy_image_destroy(fp32);
    policy_image_destroy(scaled);
}

static void
test_errors_are_of_rounding_alone(void **state)
{
    (void)state;
    policy_image *fp32 = fp32_make(false);
    policy_image *same = converted(fp32, POLICY_FP32, NULL);
    policy_image *int8 = converted(fp32, POLICY_INT8, NULL);
    quantizer_layer_error none[2], errors[2];
    quantizer_ptq_errors(same, fp32, none);
    quantizer_ptq_errors(int8, fp32, errors);
    for (int l = 0; l < 2; l++) {
        assert_true(none[l].relative_l2 == 0 && none[l].max_abs == 0);
        assert_true(errors[l].relative_l2 > 0 && errors[l].relative_l2 < 0.01f);
    }
    // Half a step at most, where nothing was centred.
    float most = 0;
    for (int j = 0; j < 24; j++) {
        most = fmaxf(most, int8->scales[0][j]);
    }
    assert_true(errors[0].max_abs <= 0.5001f * most);
    policy_image_destroy(fp32);
    policy_image_destroy(same);
    policy_image_destroy(int8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_weight_that_is_not_finite_is_refused),
        cmocka_unit_test(test_a_converted_policy_keeps_all_but_the_return),
        cmocka_unit_test(test_biases_move_where_there_is_something_to_calibrate_on),
        cmocka_unit_test(test_too_few_observations_scale_nothing),
        cmocka_unit_test(test_a_scaled_policy_is_the_same_function),
        cmocka_unit_test(test_errors_are_of_rounding_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
