// Moving a policy on to new weights: which codes and scales are kept, and which are renewed.
#include "quantizer/quantizer_convert.h"
#include "tests/quantizer/quantizer_plain.h"

// A policy that moves on: next and previous images of one spec, and the weights of now.
typedef struct sequence {
    policy_spec spec;
    policy_image *previous;
    policy_image *next;
    float *params;
    quantizer_method method;
    quantizer_changes changes;
} sequence;

static void
sequence_init(sequence *s, policy_precision precision, uint32_t inputs, uint32_t outputs)
{
    *s = (sequence){.spec = plain_spec(inputs, outputs), .method = QUANTIZER_METHOD_DEFAULT};
    s->method.drift = 0.05f;
    s->params = plain_params(&s->spec, inputs, 0.1f);
    s->previous = plain_image(&s->spec, precision);
    s->next = plain_image(&s->spec, precision);
}

static void
sequence_fini(sequence *s)
{
    policy_image_destroy(s->previous);
    policy_image_destroy(s->next);
    free(s->params);
}

// next was the newest, so it becomes previous.
static void
sequence_step(sequence *s)
{
    T_OK(quantizer_update(s->next, s->previous, s->params, &s->method, &s->changes));
    policy_image *newest = s->next;
    s->next = s->previous;
    s->previous = newest;
}

static void
test_weights_that_did_not_change_change_nothing(void **state)
{
    (void)state;
    static const float bands[] = {0.5f, 1.0f, 2.0f};
    static const float drifts[] = {0.0f, 0.05f};
    for (size_t c = 0; c < 2 * 3 * 3 * 2; c++) {
        sequence s;
        sequence_init(&s, c % 2 == 0 ? POLICY_INT8 : POLICY_INT4, 75, 40);
        s.params[3] = 0.5f * 0x1p-3f; // and a row of one weight, and one of zeros
        memset(s.params + 75, 0, 75 * sizeof(float));
        memset(s.params + 150, 0, 74 * sizeof(float));
        s.method.range = (quantizer_range)(c / 2 % 3);
        s.method.dead_band = bands[c / 6 % 3];
        s.method.drift = drifts[c / 18];
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        T_OK(quantizer_update(s.next, s.previous, s.params, &s.method, &s.changes));
        assert_true(plain_is_equal(s.next, s.previous));
        assert_int_equal(s.changes.codes, 0);
        assert_int_equal(s.changes.scales, 0);
        assert_int_equal(s.changes.weights, 75 * 40);
        sequence_fini(&s);
    }
}

static void
test_deviations_are_those_of_now(void **state)
{
    (void)state;
    for (int p = POLICY_FP32; p <= POLICY_INT4; p++) {
        sequence s = {.spec = plain_spec(9, 2), .method = QUANTIZER_METHOD_DEFAULT};
        s.spec.action_kind = POLICY_BOX;
        s.spec.head = POLICY_HEAD_GAUSSIAN;
        s.spec.action_high[0] = s.spec.action_high[1] = 1.0f;
        size_t at = policy_spec_deviation(&s.spec);
        s.params = plain_params(&s.spec, 3, 0.1f);
        s.previous = plain_image(&s.spec, (policy_precision)p);
        s.next = plain_image(&s.spec, (policy_precision)p);
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        assert_memory_equal(s.previous->deviation, s.params + at, 2 * sizeof(float));
        s.params[at + 1] = -1.25f;
        T_OK(quantizer_update(s.next, s.previous, s.params, &s.method, NULL));
        assert_memory_equal(s.next->deviation, s.params + at, 2 * sizeof(float));
        s.params[at] = INFINITY;
        T_ERR(quantizer_update(s.next, s.previous, s.params, &s.method, NULL), OCT_EINVAL);
        sequence_fini(&s);
    }
}

static void
test_per_tensor_scales_stay_together(void **state)
{
    (void)state;
    sequence s;
    sequence_init(&s, POLICY_INT8, 30, 6);
    s.method.per_tensor = true;
    T_OK(quantizer_convert(s.previous, s.params, &s.method));
    sequence_step(&s);
    assert_int_equal(s.changes.codes + s.changes.scales, 0);
    assert_true(s.previous->per_tensor);
    s.params[100] = 2.0f;
    sequence_step(&s);
    assert_int_equal(s.changes.scales, 6);
    T_OK(quantizer_convert(s.next, s.params, &s.method));
    assert_true(plain_is_equal(s.next, s.previous));
    sequence_fini(&s);
}

// Small changes: scales stay, and every code is the nearest one for its scale.
static void
test_exact_codes_are_the_nearest_for_the_kept_scale(void **state)
{
    (void)state;
    sequence s;
    sequence_init(&s, POLICY_INT8, 200, 30);
    T_OK(quantizer_convert(s.previous, s.params, &s.method));
    policy_image *first = plain_image(&s.spec, POLICY_INT8);
    policy_image_copy(first, s.previous);
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    for (size_t i = 0; i < 200 * 30; i++) {
        s.params[i] += 1e-3f * oct_rng_normal(&rng);
    }
    sequence_step(&s);
    assert_int_equal(s.changes.scales, 0);
    assert_memory_equal(s.previous->scales[0], first->scales[0], 30 * sizeof(float));
    uint64_t changed = 0;
    for (size_t i = 0; i < 200 * 30; i++) {
        int want = plain_code(s.params[i], first->scales[0][i / 200], 127);
        assert_int_equal(s.previous->codes[0][i], want);
        changed += want != first->codes[0][i];
    }
    assert_int_equal(s.changes.codes, changed);
    assert_true(changed > 1000);
    assert_memory_equal(s.previous->bias[0], s.params + 200 * 30, 30 * sizeof(float));
    policy_image_destroy(first);
    sequence_fini(&s);
}

// Row 0: +-1 and 0.5, in a scale of 1 / 127.
static void
test_a_code_stays_until_its_weight_leaves_the_band(void **state)
{
    (void)state;
    sequence s;
    sequence_init(&s, POLICY_INT8, 3, 1);
    const float start[3] = {1.0f, -1.0f, 0.5f};
    memcpy(s.params, start, sizeof(start));
    s.method.dead_band = 2.0f;
    T_OK(quantizer_convert(s.previous, s.params, &s.method));
    assert_int_equal(s.previous->codes[0][2], 64); // 63.5
    const struct {
        float steps;
        int code;
    } drifts[] = {{64.9f, 64}, {65.9f, 64}, {66.1f, 66}, {64.1f, 66}, {63.9f, 64}, {65.0f, 64}};
    for (size_t i = 0; i < OCT_COUNTOF(drifts); i++) {
        int before = s.previous->codes[0][2];
        s.params[2] = drifts[i].steps / 127.0f;
        sequence_step(&s);
        assert_int_equal(s.previous->codes[0][2], drifts[i].code);
        assert_int_equal(s.changes.codes, drifts[i].code != before);
    }
    sequence_fini(&s);
}

static void
test_a_scale_is_renewed_when_its_range_drifted(void **state)
{
    (void)state;
    static const struct {
        float most;
        bool renewed;
    } cases[] = {{1.04f, false}, {1.06f, true}, {0.96f, false}, {0.94f, true}, {0.0f, true}};
    for (size_t c = 0; c < OCT_COUNTOF(cases); c++) {
        sequence s;
        sequence_init(&s, POLICY_INT8, 4, 2);
        const float start[8] = {1.0f, 0.5f, -0.25f, 0.1f, 1.0f, 0.5f, -0.25f, 0.1f};
        memcpy(s.params, start, sizeof(start));
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        s.params[0] = cases[c].most;
        if (cases[c].most == 0.0f) {
            memset(s.params, 0, 4 * sizeof(float));
        }
        sequence_step(&s);
        assert_int_equal(s.changes.scales, cases[c].renewed);
        float want = cases[c].renewed ? cases[c].most / 127.0f : 1.0f / 127.0f;
        assert_true(s.previous->scales[0][0] == want);
        assert_true(s.previous->scales[0][1] == 1.0f / 127.0f);
        for (size_t k = 0; k < 8; k++) {
            float scale = s.previous->scales[0][k / 4];
            assert_int_equal(s.previous->codes[0][k], plain_code(s.params[k], scale, 127));
        }
        sequence_fini(&s);
    }
}

static void
test_a_row_of_zeros_wakes_up(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++) {
        sequence s;
        sequence_init(&s, p == 0 ? POLICY_INT8 : POLICY_INT4, 40, 2);
        memset(s.params, 0, 40 * sizeof(float));
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        s.params[35] = -0.2f;
        sequence_step(&s);
        assert_int_equal(s.previous->codes[0][35], p == 0 ? -127 : -7);
        assert_int_equal(s.changes.codes, 1);
        assert_int_equal(s.changes.scales, p == 0 ? 1 : 2); // INT4: the scale and one multiplier
        sequence_fini(&s);
    }
}

static void
test_a_row_that_became_zeros_has_no_scale_and_no_multiplier(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++) {
        sequence s;
        sequence_init(&s, p == 0 ? POLICY_INT8 : POLICY_INT4, 40, 2);
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        memset(s.params, 0, 40 * sizeof(float));
        sequence_step(&s);
        assert_int_equal(s.changes.codes, 0); // all are predicted
        assert_int_equal(s.changes.scales, p == 0 ? 1 : 3);
        T_OK(quantizer_convert(s.next, s.params, &s.method));
        assert_true(plain_is_equal(s.next, s.previous));
        sequence_fini(&s);
    }
}

static void
test_everything_drifted_is_as_converted_anew(void **state)
{
    (void)state;
    for (size_t c = 0; c < 6; c++) {
        sequence s;
        sequence_init(&s, c % 2 == 0 ? POLICY_INT8 : POLICY_INT4, 100, 20);
        s.method.range = (quantizer_range)(c / 2);
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        oct_rng rng;
        oct_rng_init(&rng, 8, c);
        for (size_t i = 0; i < 100 * 20; i++) {
            s.params[i] = oct_rng_normal(&rng) * 5.0f;
        }
        sequence_step(&s);
        T_OK(quantizer_convert(s.next, s.params, &s.method));
        assert_true(plain_is_equal(s.next, s.previous));
        sequence_fini(&s);
    }
}

// After a renewal the band is around the value that the old code predicts under the new scale.
static void
test_a_renewed_row_keeps_codes_within_the_band_of_what_is_predicted(void **state)
{
    (void)state;
    sequence s;
    sequence_init(&s, POLICY_INT8, 3, 1);
    const float start[3] = {1.0f, 0.5f, 0.25f};
    memcpy(s.params, start, sizeof(start));
    s.method.dead_band = 1.5f;
    T_OK(quantizer_convert(s.previous, s.params, &s.method)); // 127, 64, 32
    s.params[0] = 2.0f;
    s.params[2] = 0.3f; // 19.05 steps of 2 / 127; predicted 32 / 2
    sequence_step(&s);
    assert_int_equal(s.previous->codes[0][0], 127);
    assert_int_equal(s.previous->codes[0][1], 32); // predicted 64 / 2, and 31.75 is near
    assert_int_equal(s.previous->codes[0][2], 19);
    assert_int_equal(s.changes.codes, 2); // the first was predicted as 64
    sequence_fini(&s);
}

static uint8_t
multiplier_of(const sequence *s, size_t g)
{
    return s->previous->multipliers[0][g];
}

// Two groups of 32 inputs; scale 1, multipliers 15 and 4.
static void
int4_two_groups(sequence *s)
{
    sequence_init(s, POLICY_INT4, 64, 1);
    for (size_t k = 0; k < 64; k++) {
        s->params[k] = k < 32 ? 50.0f : 11.0f;
    }
    s->params[0] = 105.0f;
    s->params[32] = -28.0f;
    T_OK(quantizer_convert(s->previous, s->params, &s->method));
    assert_true(s->previous->scales[0][0] == 1.0f);
    assert_int_equal(multiplier_of(s, 0), 15);
    assert_int_equal(multiplier_of(s, 1), 4);
}

static void
test_a_multiplier_moves_when_its_group_is_cut_or_much_too_wide(void **state)
{
    (void)state;
    static const struct {
        float most;
        int multiplier;
    } cases[] = {{29.9f, 4}, {30.1f, 5}, {90.0f, 13}, {20.1f, 4}, {19.9f, 3}, {0.1f, 1}};
    for (size_t c = 0; c < OCT_COUNTOF(cases); c++) {
        sequence s;
        int4_two_groups(&s);
        for (size_t k = 33; k < 64; k++) {
            s.params[k] = fminf(cases[c].most, 11.0f);
        }
        s.params[32] = -cases[c].most;
        sequence_step(&s);
        assert_int_equal(multiplier_of(&s, 1), cases[c].multiplier);
        assert_int_equal(multiplier_of(&s, 0), 15);
        assert_true(s.previous->scales[0][0] == 1.0f);
        assert_int_equal(s.changes.scales, cases[c].multiplier != 4);
        sequence_fini(&s);
    }
}

static void
test_an_int4_scale_moves_when_no_multiplier_reaches_or_all_are_small(void **state)
{
    (void)state;
    static const struct {
        float most;
        float scale;
    } cases[] = {{112.0f, 1.0f}, {113.0f, 113.0f / 105}, {50.0f, 1.0f}, {48.9f, 48.9f / 105}};
    for (size_t c = 0; c < OCT_COUNTOF(cases); c++) {
        sequence s;
        int4_two_groups(&s);
        for (size_t k = 0; k < 32; k++) {
            s.params[k] = cases[c].most;
        }
        sequence_step(&s);
        T_NEAR(s.previous->scales[0][0], cases[c].scale, 0.0, 1e-6);
        sequence_fini(&s);
    }
}

// A walk of many small updates, then the bounds that hold for every weight: half a step, or what
// is cut when the range has grown by less than the drift.
static void
walk(policy_precision precision, float band, float *worst_steps, double *relative)
{
    sequence s;
    sequence_init(&s, precision, 90, 24);
    s.method.dead_band = band;
    T_OK(quantizer_convert(s.previous, s.params, &s.method));
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    uint64_t codes = 0;
    for (int step = 0; step < 200; step++) {
        for (size_t i = 0; i < 90 * 24; i++) {
            s.params[i] = s.params[i] * 1.002f + 1e-3f * oct_rng_normal(&rng);
        }
        sequence_step(&s);
        codes += s.changes.codes;
    }
    *worst_steps = 0.0f;
    for (size_t i = 0; i < 90 * 24; i++) {
        float step = s.previous->scales[0][i / 90];
        if (precision == POLICY_INT4) {
            step *= (float)s.previous->multipliers[0][i / 90 * 3 + i % 90 / 32];
        }
        float off = fabsf(s.params[i] / step - (float)s.previous->codes[0][i]);
        *worst_steps = fmaxf(*worst_steps, off);
    }
    quantizer_layer_error error;
    quantizer_report(s.previous, s.params, &error);
    *relative = (double)error.relative_l2;
    assert_true(codes > 0);
    sequence_fini(&s);
}

static void
test_a_long_sequence_stays_within_its_bounds(void **state)
{
    (void)state;
    float worst;
    double relative;
    walk(POLICY_INT8, 0.5f, &worst, &relative);
    assert_true(worst <= 127.0f * 0.05f + 0.001f); // cut by less than the drift
    assert_true(relative < 0.012);
    walk(POLICY_INT8, 2.0f, &worst, &relative);
    assert_true(worst <= 127.0f * 0.05f + 0.001f);
    assert_true(relative < 0.03);
    walk(POLICY_INT4, 0.5f, &worst, &relative);
    assert_true(worst <= 0.5001f); // a group that is cut by more gets another multiplier
    assert_true(relative < 0.12);
    walk(POLICY_INT4, 0.75f, &worst, &relative);
    assert_true(worst <= 0.7501f);
    assert_true(relative < 0.16);
}

static void
test_what_is_not_finite_is_refused(void **state)
{
    (void)state;
    for (int p = POLICY_FP32; p <= POLICY_INT4; p++) {
        sequence s;
        sequence_init(&s, (policy_precision)p, 40, 3);
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        s.params[(size_t)p * 17] = p % 2 == 0 ? NAN : -INFINITY;
        T_ERR(quantizer_update(s.next, s.previous, s.params, &s.method, NULL), OCT_EINVAL);
        T_ERR(quantizer_convert(s.next, s.params, &s.method), OCT_EINVAL);
        sequence_fini(&s);
    }
}

static void
test_float_precisions_are_converted_anew(void **state)
{
    (void)state;
    static const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16};
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        sequence s;
        sequence_init(&s, precisions[p], 40, 3);
        T_OK(quantizer_convert(s.previous, s.params, &s.method));
        s.params[7] += 1.0f;
        sequence_step(&s);
        T_OK(quantizer_convert(s.next, s.params, &s.method));
        assert_true(plain_is_equal(s.next, s.previous));
        assert_int_equal(s.changes.codes, 120);
        sequence_fini(&s);
    }
}

static void
test_observation_statistics_come_along(void **state)
{
    (void)state;
    policy_spec spec = plain_spec(5, 2);
    spec.normalise = true;
    float *params = plain_params(&spec, 1, 1.0f);
    policy_image *a = plain_image(&spec, POLICY_INT8), *b = plain_image(&spec, POLICY_INT8);
    T_OK(quantizer_convert(a, params, &QUANTIZER_METHOD_DEFAULT));
    a->obs_mean[4] = 3.0f;
    a->obs_inverse_std[0] = 0.5f;
    b->origin.version = 9;
    T_OK(quantizer_update(b, a, params, &QUANTIZER_METHOD_DEFAULT, NULL));
    assert_true(b->obs_mean[4] == 3.0f && b->obs_inverse_std[0] == 0.5f);
    assert_int_equal(b->origin.version, 9);
    policy_image_destroy(a);
    policy_image_destroy(b);
    free(params);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_that_did_not_change_change_nothing),
        cmocka_unit_test(test_deviations_are_those_of_now),
        cmocka_unit_test(test_per_tensor_scales_stay_together),
        cmocka_unit_test(test_exact_codes_are_the_nearest_for_the_kept_scale),
        cmocka_unit_test(test_a_code_stays_until_its_weight_leaves_the_band),
        cmocka_unit_test(test_a_scale_is_renewed_when_its_range_drifted),
        cmocka_unit_test(test_a_row_of_zeros_wakes_up),
        cmocka_unit_test(test_a_row_that_became_zeros_has_no_scale_and_no_multiplier),
        cmocka_unit_test(test_everything_drifted_is_as_converted_anew),
        cmocka_unit_test(test_a_renewed_row_keeps_codes_within_the_band_of_what_is_predicted),
        cmocka_unit_test(test_a_multiplier_moves_when_its_group_is_cut_or_much_too_wide),
        cmocka_unit_test(test_an_int4_scale_moves_when_no_multiplier_reaches_or_all_are_small),
        cmocka_unit_test(test_a_long_sequence_stays_within_its_bounds),
        cmocka_unit_test(test_what_is_not_finite_is_refused),
        cmocka_unit_test(test_float_precisions_are_converted_anew),
        cmocka_unit_test(test_observation_statistics_come_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
