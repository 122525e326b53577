// After bias correction, outputs have the means that the fp32 policy gives on the same
// observations, and nothing but biases has changed.
#include "quantizer/quantizer_calibrate.h"

#include "quantizer/quantizer_convert.h"
#include "tests/policy/random_policy.h"

enum { OBS = 6, OUTPUTS = 3, ROWS = 256 };

typedef struct trial {
    policy_image *fp32;
    policy_image *int4;
    float obs[ROWS][OBS];
} trial;

static policy_image *
converted(const policy_image *fp32, policy_precision precision)
{
    quantizer_method method = QUANTIZER_METHOD_DEFAULT;
    policy_image *image;
    float *params = oct_alloc(policy_spec_params(&fp32->spec) * sizeof(float));
    quantizer_dequantize(fp32, params);
    T_OK(policy_image_create(&image, &fp32->spec, precision));
    if (fp32->spec.normalise) {
        memcpy(image->obs_mean, fp32->obs_mean, OBS * sizeof(float));
        memcpy(image->obs_inverse_std, fp32->obs_inverse_std, OBS * sizeof(float));
    }
    T_OK(quantizer_convert(image, params, &method));
    free(params);
    return image;
}

// Observations far from centred, as positions and angles are.
static trial
trial_of(policy_spec spec)
{
    trial t;
    oct_rng rng;
    oct_rng_init(&rng, 7, 1);
    t.fp32 = random_image(&spec, POLICY_FP32, false, &rng);
    t.int4 = converted(t.fp32, POLICY_INT4);
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < OBS; i++) {
            t.obs[r][i] = (float)i - 1 + oct_rng_float(&rng);
        }
    }
    return t;
}

static trial
trial_make(policy_activation activation, bool layer_norm, bool normalise)
{
    const uint32_t widths[] = {OBS, 40, 33, OUTPUTS};
    policy_spec spec = random_spec(widths, 4, activation, layer_norm);
    spec.normalise = normalise;
    return trial_of(spec);
}

// Maps of 3 x 2, so filters of 2 x 2 have two places.
static const char *const convolutions[] = {
    "conv 9 2x2, dense 33",
    "conv 9 3x2/2x1+1, pool 2x2, dense 33",
    "conv 9 2x2+1, mean 3x2/2x1+1 tanh, dense 33",
};

static trial
trial_make_conv(const char *words, policy_activation activation)
{
    const uint32_t shape[3] = {3, 2, 1};
    return trial_of(random_words_spec(shape, words, activation, OUTPUTS));
}

static void
trial_free(trial *t)
{
    policy_image_destroy(t->fp32);
    policy_image_destroy(t->int4);
}

// Means of the outputs, with activations in fp32.
static void
means_of(const trial *t, const policy_image *image, double *mean)
{
    policy_image *plain = converted(image, POLICY_FP32);
    policy_net *net;
    T_OK(policy_net_create(&net, plain, POLICY_ISA_REF));
    policy_scratch *scratch = policy_scratch_create(&plain->spec, ROWS);
    static float y[ROWS][OUTPUTS];
    policy_forward(net, scratch, t->obs, sizeof(t->obs[0]), ROWS, y[0]);
    for (int j = 0; j < OUTPUTS; j++) {
        mean[j] = 0;
        for (int r = 0; r < ROWS; r++) {
            mean[j] += (double)y[r][j] / ROWS;
        }
    }
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    policy_image_destroy(plain);
}

static double
apart(const trial *t)
{
    double want[OUTPUTS], got[OUTPUTS], most = 0;
    means_of(t, t->fp32, want);
    means_of(t, t->int4, got);
    for (int j = 0; j < OUTPUTS; j++) {
        most = fmax(most, fabs(want[j] - got[j]));
    }
    return most;
}

static void
test_outputs_get_the_means_of_fp32(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * POLICY_ACTIVATION_COUNT; i++) {
        trial t = trial_make((policy_activation)(i / 2), i / 2 % 2 == 1, i % 2 == 1);
        assert_true(apart(&t) > 1e-3);
        quantizer_calibrate(t.int4, t.fp32, t.obs[0], ROWS);
        T_NEAR(apart(&t), 0, 2e-5, 0);
        trial_free(&t);
    }
}

// The same; and a filter's shift is one for all its places.
static void
test_outputs_of_convolutions_get_the_means_of_fp32(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(convolutions) * POLICY_ACTIVATION_COUNT; i++) {
        trial t = trial_make_conv(convolutions[i % OCT_COUNTOF(convolutions)],
                                  (policy_activation)(i / OCT_COUNTOF(convolutions)));
        assert_true(apart(&t) > 1e-3);
        quantizer_calibrate(t.int4, t.fp32, t.obs[0], ROWS);
        T_NEAR(apart(&t), 0, 2e-5, 0);
        trial_free(&t);
    }
}

// What a filter's outputs lack, as a mean over rows and places: later layers would hide it.
static void
test_a_filter_gets_the_mean_over_its_places(void **state)
{
    (void)state;
    trial t = trial_make_conv(convolutions[0], POLICY_RELU);
    const policy_spec *spec = &t.fp32->spec;
    const policy_conv *conv = &spec->layers[0].conv;
    uint32_t columns = policy_layer_columns(&spec->layers[0]);
    uint32_t places = policy_layer_places(&spec->layers[0]),
             across = policy_axis_positions(&conv->columns);
    assert_int_equal(places, 2);
    assert_int_equal(conv->channels, 1);
    float *want = oct_alloc(policy_spec_params(spec) * sizeof(float));
    float *got = oct_alloc(policy_spec_params(spec) * sizeof(float));
    quantizer_dequantize(t.fp32, want);
    quantizer_dequantize(t.int4, got);
    quantizer_calibrate(t.int4, t.fp32, t.obs[0], ROWS);
    for (uint32_t j = 0; j < policy_layer_rows(&spec->layers[0]); j++) {
        double lacks = 0;
        for (uint32_t k = 0; k < columns; k++) {
            double x = 0;
            for (uint32_t place = 0; place < places; place++) {
                uint32_t row = place / across + k / conv->columns.kernel;
                uint32_t column = place % across + k % conv->columns.kernel;
                for (int r = 0; r < ROWS; r++) {
                    x += (double)t.obs[r][row * conv->columns.size + column] / ROWS / places;
                }
            }
            lacks += (double)(want[j * columns + k] - got[j * columns + k]) * x;
        }
        T_NEAR(t.int4->bias[0][j] - t.fp32->bias[0][j], lacks, 1e-5, 0); // float sums of 512
    }
    free(want);
    free(got);
    trial_free(&t);
}

static void
test_nothing_but_biases_changes(void **state)
{
    (void)state;
    trial t = trial_make(POLICY_RELU, true, false);
    policy_image *before = converted(t.fp32, POLICY_INT4);
    quantizer_calibrate(t.int4, t.fp32, t.obs[0], ROWS);
    assert_memory_equal(t.int4->codes[1], before->codes[1], (size_t)33 * 40);
    assert_memory_equal(t.int4->scales[1], before->scales[1], 33 * sizeof(float));
    assert_memory_equal(t.int4->gain[0], before->gain[0], 40 * sizeof(float));
    assert_memory_equal(t.int4->offset[0], before->offset[0], 40 * sizeof(float));
    assert_memory_not_equal(t.int4->bias[1], before->bias[1], 33 * sizeof(float));
    policy_image_destroy(before);
    trial_free(&t);
}

// Outputs beyond the largest float have no mean.
static void
test_biases_of_outputs_that_overflow_stay(void **state)
{
    (void)state;
    trial t = trial_make(POLICY_RELU, false, false);
    for (int i = 0; i < 40 * OBS; i++) {
        t.fp32->weights[0][i] *= 1e20f;
    }
    for (int i = 0; i < 33 * 40; i++) {
        t.fp32->weights[1][i] *= 1e20f;
    }
    policy_image_destroy(t.int4);
    t.int4 = converted(t.fp32, POLICY_INT4);
    quantizer_calibrate(t.int4, t.fp32, t.obs[0], ROWS);
    for (int l = 0; l < 3; l++) {
        for (uint32_t j = 0; j < t.int4->spec.layers[l].outputs; j++) {
            assert_true(isfinite(t.int4->bias[l][j]));
        }
    }
    assert_memory_not_equal(t.int4->bias[0], t.fp32->bias[0], 40 * sizeof(float));
    assert_memory_equal(t.int4->bias[2], t.fp32->bias[2], OUTPUTS * sizeof(float));
    trial_free(&t);
}

static void
test_equal_policies_stay_equal(void **state)
{
    (void)state;
    trial t = trial_make(POLICY_ELU, false, true);
    policy_image *same = converted(t.fp32, POLICY_FP32);
    quantizer_calibrate(same, t.fp32, t.obs[0], 1);
    for (int l = 0; l < 3; l++) {
        assert_memory_equal(same->bias[l], t.fp32->bias[l],
                            same->spec.layers[l].outputs * sizeof(float));
    }
    policy_image_destroy(same);
    trial_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_get_the_means_of_fp32),
        cmocka_unit_test(test_outputs_of_convolutions_get_the_means_of_fp32),
        cmocka_unit_test(test_a_filter_gets_the_mean_over_its_places),
        cmocka_unit_test(test_nothing_but_biases_changes),
        cmocka_unit_test(test_biases_of_outputs_that_overflow_stay),
        cmocka_unit_test(test_equal_policies_stay_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
