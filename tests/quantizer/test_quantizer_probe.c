// The measured divergence between a policy and its quantised form, for each kind of head.
#include "quantizer/quantizer_probe.h"

#include "tests/quantizer/quantizer_plain.h"

// One layer of two inputs; W and b by hand, so that every figure is worked out here.
static policy_image *
image_make(const policy_spec *spec, const float *params)
{
    policy_image *image = plain_image(spec, POLICY_FP32);
    T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
    return image;
}

static quantizer_divergence
probe(const policy_spec *spec, const float *params, const float *want, const float *obs,
      uint32_t rows)
{
    policy_image *a = image_make(spec, params), *b = image_make(spec, want);
    quantizer_divergence out;
    T_OK(quantizer_probe(&out, a, b, obs, rows));
    policy_image_destroy(a);
    policy_image_destroy(b);
    return out;
}

static const float identity[6] = {1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f}; // W, b
static const float shifted[6] = {1.0f, 0.0f, 0.0f, 1.0f, 0.5f, 0.0f};
// Greedy 0, 1, 1, 0; with 0.5 on action 0: 0, 1, 0, 0.
static const float observed[8] = {2.0f, 1.0f, 0.0f, 1.0f, 0.75f, 1.0f, 3.0f, 0.0f};

static void
test_equal_policies_do_not_diverge(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(2, 2);
    quantizer_divergence out = probe(&spec, identity, identity, observed, 4);
    assert_int_equal(out.rows, 4);
    assert_true(out.relative_l2 == 0.0 && out.max_abs == 0.0 && out.agreement == 1.0);
    assert_true(out.kl == 0.0 && isnan(out.action_l2));
}

static double
kl_of_two(double want, double got) // of the differences of two logits
{
    double p = 1.0 / (1.0 + exp(-want)), q = 1.0 / (1.0 + exp(-got));
    return p * log(p / q) + (1.0 - p) * log((1.0 - p) / (1.0 - q));
}

static void
test_logits_are_compared_as_distributions(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(2, 2);
    spec.head = POLICY_HEAD_LOGITS;
    quantizer_divergence out = probe(&spec, shifted, identity, observed, 4);
    double kl = 0.0;
    for (size_t r = 0; r < 4; r++) {
        double d = (double)observed[2 * r] - (double)observed[2 * r + 1];
        kl += kl_of_two(d, d + 0.5) / 4.0;
    }
    T_NEAR(out.kl, kl, 1e-12, 1e-9);
    T_NEAR(out.agreement, 0.75, 0.0, 0.0);
    // Less the mean of both logits, 0.5 on one is 0.25 on each, and the differences 1, 1, 0.25 and
    // 3 of the observations, which are the outputs, are half of that on each.
    T_NEAR(out.max_abs, 0.25, 0.0, 0.0);
    T_NEAR(out.relative_l2, sqrt(4 * 0.125 / ((1 + 1 + 0.0625 + 9) / 2)), 0.0, 1e-12);
}

// Where an output overflows there is no distance, rather than none.
static void
test_outputs_that_overflow_have_no_divergence(void **state)
{
    (void)state;
    static const float huge[6] = {3e38f, 3e38f, 0.0f, 1.0f, 0.0f, 0.0f};
    for (policy_head head = POLICY_HEAD_VALUES; head <= POLICY_HEAD_LOGITS; head++) {
        policy_spec spec = plain_spec(2, 2);
        spec.head = head;
        for (int i = 0; i < 2; i++) {
            quantizer_divergence out =
                probe(&spec, i == 0 ? huge : identity, i == 0 ? identity : huge, observed, 4);
            assert_true(isnan(out.relative_l2) && isnan(out.max_abs) && isnan(out.kl));
            T_NEAR(out.agreement, 0.5, 0.0, 0.0);
        }
    }
}

// What ships of values is right up to what all actions share: moving all outputs is no divergence.
static void
test_what_all_actions_share_is_no_divergence(void **state)
{
    (void)state;
    static const float moved[6] = {1.0f, 0.0f, 0.0f, 1.0f, 2.0f, 2.0f};
    policy_spec spec = plain_spec(2, 2);
    quantizer_divergence out = probe(&spec, moved, identity, observed, 4);
    assert_true(out.relative_l2 == 0.0 && out.max_abs == 0.0 && out.agreement == 1.0);
    T_NEAR(out.kl, 0.0, 1e-12, 0.0);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    spec.action_high[0] = spec.action_high[1] = 1.0f;
    T_NEAR(probe(&spec, moved, identity, observed, 4).max_abs, 2.0, 0.0, 0.0);
}

static void
test_values_are_compared_at_the_temperature_of_their_spread(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(2, 2);
    quantizer_divergence out = probe(&spec, shifted, identity, observed, 4);
    double t = (1.0 + 1.0 + 0.25 + 3.0) / 4.0, kl = 0.0;
    for (size_t r = 0; r < 4; r++) {
        double d = (double)observed[2 * r] - (double)observed[2 * r + 1];
        kl += kl_of_two(d / t, (d + 0.5) / t) / 4.0;
    }
    T_NEAR(out.kl, kl, 1e-12, 1e-9);
}

static void
test_box_actions_are_compared_in_units_of_their_deviation(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(2, 2);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    spec.action_low[0] = -1.0f;
    spec.action_high[0] = 3.0f;
    spec.action_low[1] = 0.0f;
    spec.action_high[1] = 1.0f;
    quantizer_divergence out = probe(&spec, shifted, identity, observed, 4);
    double mean = 0.0, square = 0.0, distance = 0.0;
    int agreed = 0;
    for (size_t r = 0; r < 4; r++) {
        mean += tanh((double)observed[2 * r]) / 4.0;
    }
    for (size_t r = 0; r < 4; r++) {
        double d = tanh((double)observed[2 * r]) - mean;
        square += d * d / 4.0;
    }
    for (size_t r = 0; r < 4; r++) {
        double x = (double)observed[2 * r], d = fabs(tanh(x + 0.5) - tanh(x)) / sqrt(square);
        distance += d / sqrt(2.0) / 4.0; // one of two dimensions moves
        agreed += d < 0.1;
    }
    assert_int_equal(agreed, 2); // tanh(2) and tanh(3) are nearly flat
    T_NEAR(out.action_l2, distance, 1e-6, 0.0);
    T_NEAR(out.agreement, 0.5, 0.0, 0.0);
    assert_true(isnan(out.kl));
}

// The same error is the same distance, whatever the bounds are, and bounds may be infinite.
static void
test_the_width_of_bounds_changes_no_distance(void **state)
{
    (void)state;
    quantizer_divergence out[2];
    float got[8] = {0}, want[8] = {0}; // the last two are log deviations
    memcpy(got, shifted, sizeof(shifted));
    memcpy(want, identity, sizeof(identity));
    for (size_t i = 0; i < 2; i++) {
        policy_spec spec = plain_spec(2, 2);
        spec.action_kind = POLICY_BOX;
        spec.head = POLICY_HEAD_GAUSSIAN;
        spec.action_direct = true;
        for (size_t k = 0; k < 2; k++) {
            spec.action_low[k] = i == 0 ? -100.0f : -INFINITY;
            spec.action_high[k] = i == 0 ? 100.0f : INFINITY;
        }
        out[i] = probe(&spec, got, want, observed, 4);
    }
    assert_true(out[0].action_l2 > 0.1 && out[0].action_l2 == out[1].action_l2);
    assert_true(out[0].agreement == 0.0 && out[1].agreement == 0.0);
}

static void
test_atoms_are_compared_by_their_expected_values(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(2, 4);
    spec.action_count = 2;
    spec.head = POLICY_HEAD_ATOMS;
    spec.atoms = 2;
    spec.value_min = -1.0f;
    spec.value_max = 1.0f;
    // Logits of an action are (0, x): expected value tanh(x / 2).
    const float want[12] = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    const float got[12] = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0.5f, 0, 0};
    quantizer_divergence out = probe(&spec, got, want, observed, 4);
    double t = 0.0, kl = 0.0;
    int agreed = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < 4; r++) {
            double a = tanh((double)observed[2 * r] / 2), b = tanh((double)observed[2 * r + 1] / 2);
            double moved = tanh(((double)observed[2 * r] + 0.5) / 2);
            t += pass == 0 ? fabs(a - b) / 4.0 : 0.0;
            kl += pass == 1 ? kl_of_two((a - b) / t, (moved - b) / t) / 4.0 : 0.0;
            agreed += pass == 1 && (a > b) == (moved > b);
        }
    }
    T_NEAR(out.kl, kl, 1e-7, 1e-5);
    T_NEAR(out.agreement, agreed / 4.0, 0.0, 0.0);
}

static void
test_bytes_are_observed_as_bytes(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(2, 2);
    spec.obs_dtype = POLICY_U8;
    const float obs[6] = {255.0f, 0.0f, 3.0f, 7.0f, 128.0f, 1.0f};
    quantizer_divergence out = probe(&spec, shifted, identity, obs, 3);
    T_NEAR(out.max_abs, 0.25, 0.0, 0.0);
    double norm = (255.0 * 255 + 4 * 4 + 127 * 127) / 2;
    T_NEAR(out.relative_l2, sqrt(3 * 0.125 / norm), 0.0, 1e-9);
}

static void
test_a_quantised_policy_diverges_by_its_weights_error(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(64, 8);
    float *params = plain_params(&spec, 1, 0.2f);
    static float obs[256 * 64];
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    for (size_t i = 0; i < OCT_COUNTOF(obs); i++) {
        obs[i] = oct_rng_normal(&rng);
    }
    policy_image *fp32 = image_make(&spec, params);
    static const policy_precision precisions[] = {POLICY_FP16, POLICY_BF16, POLICY_INT8,
                                                  POLICY_INT4};
    double last = 0.0;
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        policy_image *image = plain_image(&spec, precisions[p]);
        T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
        quantizer_layer_error error;
        quantizer_report(image, params, &error);
        quantizer_divergence out;
        oct_err err = quantizer_probe(&out, image, fp32, obs, 256);
        if (err == OCT_ENOTFOUND && precisions[p] != POLICY_INT8) {
            policy_image_destroy(image); // no kernel for it in this build
            continue;
        }
        T_OK(err);
        assert_true(out.relative_l2 > last);
        assert_true(out.relative_l2 > 0.5 * (double)error.relative_l2);
        assert_true(out.agreement > 0.8 && out.kl >= 0.0 && out.kl < 0.1);
        last = out.relative_l2;
        policy_image_destroy(image);
    }
    policy_image_destroy(fp32);
    free(params);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_policies_do_not_diverge),
        cmocka_unit_test(test_logits_are_compared_as_distributions),
        cmocka_unit_test(test_outputs_that_overflow_have_no_divergence),
        cmocka_unit_test(test_what_all_actions_share_is_no_divergence),
        cmocka_unit_test(test_values_are_compared_at_the_temperature_of_their_spread),
        cmocka_unit_test(test_box_actions_are_compared_in_units_of_their_deviation),
        cmocka_unit_test(test_the_width_of_bounds_changes_no_distance),
        cmocka_unit_test(test_atoms_are_compared_by_their_expected_values),
        cmocka_unit_test(test_bytes_are_observed_as_bytes),
        cmocka_unit_test(test_a_quantised_policy_diverges_by_its_weights_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
