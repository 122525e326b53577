// A published network with folded scaling acts as the trained one does: exactly in fp32, and closer
// than without folding in low precision.
#include "quantizer/quantizer_fold.h"

#include <malloc.h>

#include "policy/policy_net.h"
#include "policy/policy_words.h"
#include "quantizer/quantizer_calibrate.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_project.h"
#include "tests/quantizer/quantizer_plain.h"

#define OBS  12
#define ROWS 200

static float mean[OBS], deviation[OBS];
static float obs[ROWS * OBS];
static const quantizer_scaling scaling = {.mean = mean, .deviation = deviation};

// Entries whose deviations are from 2^-5 to 2^5, as 1 to 1000, about means of some deviations.
static int
setup(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    for (int i = 0; i < OBS; i++) {
        deviation[i] = exp2f((float)(i % 11 - 5));
        mean[i] = 3.0f * deviation[i] * oct_rng_normal(&rng);
    }
    for (int i = 0; i < ROWS * OBS; i++) {
        obs[i] = mean[i % OBS] + deviation[i % OBS] * oct_rng_normal(&rng);
    }
    return 0;
}

typedef enum head { VALUES, LOGITS, ATOMS, BOX, HEADS } head;

static policy_spec
spec_of(head which, bool layer_norm)
{
    enum { ACTIONS = 4, N = 11 };
    const uint32_t hidden[] = {64, 32};
    policy_spec spec = plain_spec(OBS, ACTIONS);
    spec.normalise = true;
    spec.head = which == LOGITS ? POLICY_HEAD_LOGITS : POLICY_HEAD_VALUES;
    if (which == ATOMS) {
        spec.head = POLICY_HEAD_ATOMS;
        spec.atoms = N;
        spec.value_min = -10.0f;
        spec.value_max = 10.0f;
    }
    if (which == BOX) {
        spec.head = POLICY_HEAD_TANH;
        spec.action_kind = POLICY_BOX;
        for (int i = 0; i < ACTIONS; i++) {
            spec.action_low[i] = -1.0f;
            spec.action_high[i] = 1.0f;
        }
    }
    T_OK(policy_spec_set_mlp(&spec, hidden, 2, POLICY_ELU, layer_norm,
                             which == ATOMS ? ACTIONS * N : ACTIONS));
    T_OK(policy_spec_check(&spec, NULL));
    return spec;
}

// The first layer as learning leaves it: its weights are the smaller, the larger their entry.
static void
first_of(const policy_spec *spec, float *params)
{
    for (uint32_t j = 0; j < spec->layers[0].outputs; j++) {
        for (uint32_t i = 0; i < OBS; i++) {
            params[j * OBS + i] *= 1.5f / deviation[i];
        }
    }
}

// With values that all actions share most of.
static float *
params_of(const policy_spec *spec, uint64_t seed)
{
    float *params = plain_params(spec, seed, 0.2f);
    first_of(spec, params);
    const policy_layer *last = &spec->layers[spec->layer_count - 1];
    policy_offsets at = policy_spec_layer(spec, spec->layer_count - 1);
    for (uint32_t j = 0; spec->action_kind == POLICY_DISCRETE && j < last->outputs; j++) {
        for (uint32_t i = 0; i < last->inputs; i++) {
            params[at.weight + j * last->inputs + i] *= 0.05f;
            params[at.weight + j * last->inputs + i] += sinf((float)i);
        }
        params[at.bias + j] += 5.0f;
    }
    return params;
}

// Values of which what all actions share is a little more than what they differ by, as measured on
// MinAtar.
static float *
shared_params_of(const policy_spec *spec, uint64_t seed)
{
    float *params = plain_params(spec, seed, 0.2f);
    oct_rng rng;
    oct_rng_init(&rng, seed, 2);
    first_of(spec, params);
    const policy_layer *last = &spec->layers[spec->layer_count - 1];
    float *w = params + policy_spec_layer(spec, spec->layer_count - 1).weight;
    for (uint32_t i = 0; i < last->inputs; i++) {
        float shared = 0.3f * oct_rng_normal(&rng);
        for (uint32_t j = 0; j < last->outputs; j++) {
            w[j * last->inputs + i] += shared;
        }
    }
    return params;
}

static float *
outputs_of(const policy_image *image)
{
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(&image->spec, ROWS);
    float *y = oct_alloc((size_t)ROWS * policy_spec_outputs(&image->spec) * sizeof(float));
    policy_forward(net, scratch, obs, OBS * sizeof(float), ROWS, y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return y;
}

// params as they are, on observations as they are.
static policy_image *
raw_image(policy_spec spec, policy_precision precision, const float *params)
{
    spec.normalise = false;
    policy_image *image = plain_image(&spec, precision);
    T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
    return image;
}

static policy_image *
folded_image(const policy_spec *spec, policy_precision precision, const float *params)
{
    policy_image *image = plain_image(spec, precision);
    T_OK(quantizer_convert_folded(image, params, &scaling, &QUANTIZER_METHOD_DEFAULT));
    return image;
}

static double
largest(const float *y, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)y[i]));
    }
    return most;
}

static void
test_fp32_gives_the_outputs_of_the_learner(void **state)
{
    (void)state;
    for (int which = 0; which < HEADS; which++) {
        for (int norm = 0; norm < 2; norm++) {
            policy_spec spec = spec_of((head)which, norm != 0);
            float *params = params_of(&spec, 1);
            policy_image *raw = raw_image(spec, POLICY_FP32, params);
            policy_image *folded = folded_image(&spec, POLICY_FP32, params);
            float *want = outputs_of(raw), *got = outputs_of(folded);
            size_t count = (size_t)ROWS * policy_spec_outputs(&spec);
            double most = largest(want, count);
            for (size_t i = 0; i < count; i++) {
                T_NEAR(got[i], want[i], 1e-5 * most, 0);
            }
            policy_image_destroy(raw);
            policy_image_destroy(folded);
            free(params);
            free(want);
            free(got);
        }
    }
}

static double
divergence_of(const policy_image *image, const policy_image *fp32)
{
    // The probe wants one spec: the raw policy as one that is normalised by nothing.
    policy_image one = *image, two = *fp32;
    float zeros[OBS] = {0}, ones[OBS];
    for (int i = 0; i < OBS; i++) {
        ones[i] = 1.0f;
    }
    if (!one.spec.normalise) {
        one.spec.normalise = true;
        one.obs_mean = zeros;
        one.obs_inverse_std = ones;
    }
    quantizer_divergence out;
    T_OK(quantizer_probe(&out, &one, &two, obs, ROWS));
    return out.relative_l2;
}

// Ranges of 1 to 1000 in one observation, int8 and int4 weights on eight bits of activations.
static void
test_scaled_observations_lose_less(void **state)
{
    (void)state;
    policy_spec spec = spec_of(BOX, false);
    float *params = params_of(&spec, 2);
    policy_image *fp32 = folded_image(&spec, POLICY_FP32, params);
    policy_image *plain = raw_image(spec, POLICY_INT8, params);
    policy_image *scaled = folded_image(&spec, POLICY_INT8, params);
    double without = divergence_of(plain, fp32), with = divergence_of(scaled, fp32);
    assert_true(with < without / 5);
    assert_true(with < 0.05);
    policy_image_destroy(fp32);
    policy_image_destroy(plain);
    policy_image_destroy(scaled);
    free(params);
}

// Whatever an optimum would choose is chosen, and values that all actions share cost no bits.
static void
test_centred_values_keep_the_choice_and_lose_less(void **state)
{
    (void)state;
    static const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4};
    for (int which = VALUES; which <= ATOMS; which++) {
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            policy_spec spec = spec_of((head)which, false);
            float *params = params_of(&spec, 3);
            policy_image *fp32 = folded_image(&spec, POLICY_FP32, params);
            policy_image *centred = folded_image(&spec, precisions[p], params);
            policy_image *plain = plain_image(&spec, precisions[p]);
            quantizer_fold *whole = quantizer_fold_create(&spec, POLICY_FP32); // does not centre
            quantizer_layers layers = quantizer_fold_layers(whole, params, &scaling);
            quantizer_scaling_set(plain, &scaling);
            T_OK(quantizer_convert_layers(plain, &layers, &QUANTIZER_METHOD_DEFAULT));
            assert_true(divergence_of(centred, fp32) < divergence_of(plain, fp32) / 2);
            quantizer_fold_destroy(whole);
            policy_image_destroy(fp32);
            policy_image_destroy(plain);
            policy_image_destroy(centred);
            free(params);
        }
    }
}

// Output error of one policy, its values centred or as they are, biases corrected or not.
static double
error_of(const policy_spec *spec, policy_precision precision, const float *params, bool centred,
         bool calibrated)
{
    policy_image *fp32 = folded_image(spec, POLICY_FP32, params);
    policy_image *image = plain_image(spec, precision);
    quantizer_fold *fold = quantizer_fold_create(spec, centred ? precision : POLICY_FP32);
    quantizer_layers layers = quantizer_fold_layers(fold, params, &scaling);
    quantizer_scaling_set(image, &scaling);
    T_OK(quantizer_convert_layers(image, &layers, &QUANTIZER_METHOD_DEFAULT));
    if (calibrated) {
        quantizer_calibrate(image, fp32, obs, ROWS);
    }
    double error = divergence_of(image, fp32);
    quantizer_fold_destroy(fold);
    policy_image_destroy(fp32);
    policy_image_destroy(image);
    return error;
}

// After relus the rounding of a row is mostly an offset, and which policy gets a large one is
// chance: at four bits one policy in some loses by centring. Over many it gains, and bias
// correction, which takes the offset out, gains again.
static void
test_centring_and_calibrating_gain_over_many_policies(void **state)
{
    (void)state;
    enum { POLICIES = 24 };
    static const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4};
    for (int which = VALUES; which <= ATOMS; which += ATOMS - VALUES) {
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            policy_spec spec = spec_of((head)which, false);
            spec.layers[0].activation = POLICY_RELU;
            spec.layers[1].activation = POLICY_RELU;
            double centred = 0, calibrated = 0;
            for (uint64_t seed = 0; seed < POLICIES; seed++) {
                float *params = shared_params_of(&spec, 100 + seed);
                double plain = error_of(&spec, precisions[p], params, false, false);
                double less = error_of(&spec, precisions[p], params, true, false);
                double least = error_of(&spec, precisions[p], params, true, true);
                centred += log(less / plain) / POLICIES;
                calibrated += log(least / less) / POLICIES;
                free(params);
            }
            assert_true(exp(centred) < 0.9);
            assert_true(exp(calibrated) < 0.8);
        }
    }
}

// The layers that are centred choose, in fp32, what the others choose.
static void
test_centring_is_exact_before_it_is_rounded(void **state)
{
    (void)state;
    for (int which = VALUES; which <= ATOMS; which++) {
        policy_spec spec = spec_of((head)which, false);
        float *params = params_of(&spec, 4);
        policy_image *whole = folded_image(&spec, POLICY_FP32, params);
        policy_image *centred = plain_image(&spec, POLICY_FP32);
        quantizer_fold *fold = quantizer_fold_create(&spec, POLICY_INT8);
        quantizer_layers layers = quantizer_fold_layers(fold, params, &scaling);
        quantizer_scaling_set(centred, &scaling);
        T_OK(quantizer_convert_layers(centred, &layers, &QUANTIZER_METHOD_DEFAULT));
        quantizer_divergence out;
        T_OK(quantizer_probe(&out, centred, whole, obs, ROWS));
        assert_true(out.agreement == 1.0 && out.relative_l2 < 1e-4);
        float *y = outputs_of(centred);
        uint32_t group = which == ATOMS ? spec.atoms : spec.action_count;
        for (size_t i = 0; i < (size_t)ROWS * policy_spec_outputs(&spec); i += group) {
            double sum = 0;
            for (uint32_t k = 0; k < group; k++) {
                sum += (double)y[i + k];
            }
            T_NEAR(sum / group, 0, 1e-4, 0);
        }
        free(y);
        quantizer_fold_destroy(fold);
        policy_image_destroy(whole);
        policy_image_destroy(centred);
        free(params);
    }
}

// Of two numbers, of which the small one alone says which action is right.
static void
test_a_small_number_decides_beside_large_noise(void **state)
{
    (void)state;
    enum { SEEN = 600, UNITS = 16 };
    const float small = 1e-4f, large = 1e5f;
    const uint32_t hidden[] = {UNITS};
    policy_spec spec = plain_spec(2, 2);
    spec.normalise = true;
    spec.head = POLICY_HEAD_LOGITS;
    T_OK(policy_spec_set_mlp(&spec, hidden, 1, POLICY_RELU, false, 2));
    float *params = plain_params(&spec, 6, 0.2f), seen[SEEN * 2], y[SEEN * 2];
    float *last = params + policy_spec_layer(&spec, 1).weight;
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    for (size_t j = 0; j < UNITS; j++) { // units for either sign, which noise moves a little
        params[2 * j] = (j % 2 == 0 ? 1.0f : -1.0f) / small;
        params[2 * j + 1] *= 1.0f / large;
        last[j] = j % 2 == 0 ? -1.0f : 1.0f;
        last[UNITS + j] = -last[j];
    }
    for (size_t r = 0; r < SEEN; r++) {
        seen[2 * r] = oct_rng_normal(&rng) > 0 ? small : -small;
        seen[2 * r + 1] = large * (2 * oct_rng_float(&rng) - 1);
    }
    quantizer_observed *observed = quantizer_observed_create(2);
    quantizer_observed_add(observed, seen, SEEN);
    assert_true(quantizer_observed_renew(observed));
    quantizer_scaling of_seen = quantizer_observed_scaling(observed);
    quantizer_fold *fold = quantizer_fold_create(&spec, POLICY_INT8);
    quantizer_layers layers = quantizer_fold_layers(fold, params, &of_seen);
    policy_image *image = plain_image(&spec, POLICY_INT8);
    quantizer_scaling_set(image, &of_seen);
    T_OK(quantizer_convert_layers(image, &layers, &QUANTIZER_METHOD_DEFAULT));
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(&spec, SEEN);
    policy_forward(net, scratch, seen, 2 * sizeof(float), SEEN, y);
    for (size_t r = 0; r < SEEN; r++) {
        assert_true((y[2 * r + 1] > y[2 * r]) == (seen[2 * r] > 0));
    }
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    policy_image_destroy(image);
    quantizer_fold_destroy(fold);
    quantizer_observed_destroy(observed);
    free(params);
}

// What learning sees of the rounding is what ships: the same image, and, of raw observations in
// fp32, outputs that differ by nothing but what all actions share, which the learner keeps.
static void
test_a_projection_is_the_published_policy(void **state)
{
    (void)state;
    for (int which = 0; which < HEADS; which++) {
        policy_spec spec = spec_of((head)which, true);
        float *params = params_of(&spec, 5);
        size_t bytes = policy_spec_params(&spec) * sizeof(float);
        float *out = oct_alloc(bytes), *folded = oct_alloc(bytes);
        quantizer_projector *projector;
        T_OK(quantizer_projector_create(&projector, &spec, POLICY_INT4));
        T_OK(quantizer_project(projector, &QUANTIZER_METHOD_DEFAULT, &scaling, params, out));
        policy_image *image = folded_image(&spec, POLICY_INT4, params);
        assert_true(plain_is_equal(image, quantizer_projector_image(projector)));
        quantizer_dequantize(image, folded);
        policy_image *shipped = plain_image(&spec, POLICY_FP32);
        quantizer_scaling_set(shipped, &scaling);
        T_OK(quantizer_convert(shipped, folded, &QUANTIZER_METHOD_DEFAULT));
        policy_image *learned = raw_image(spec, POLICY_FP32, out);
        assert_true(divergence_of(learned, shipped) < 1e-4);
        if (which != BOX) { // the value itself is not lost: it is about what fp32 computes
            policy_image *fp32 = raw_image(spec, POLICY_FP32, params);
            float *want = outputs_of(fp32), *got = outputs_of(learned);
            T_NEAR(got[0], want[0], 0, 0.25);
            policy_image_destroy(fp32);
            free(want);
            free(got);
        }
        quantizer_projector_destroy(projector);
        policy_image_destroy(image);
        policy_image_destroy(shipped);
        policy_image_destroy(learned);
        free(params);
        free(out);
        free(folded);
    }
}

// What the budget is told is what create reserves, but for its own few fields and the allocator's.
// Sanitizers have a heap of their own, of which mallinfo2 knows nothing. It counts small blocks as
// used that were freed and wait to be used again: hence wide layers, and a bound on both sides.
enum { SIDE = 4, CHANNELS = 3, PIXELS = SIDE * SIDE * CHANNELS };

static policy_spec
conv_spec(void)
{
    policy_spec spec = plain_spec(PIXELS, 2);
    const policy_word conv = {.kind = POLICY_CONV, .units = 5, .kernel = {2, 2}, .stride = {1, 1}};
    spec.normalise = true;
    spec.obs_rank = 3;
    memcpy(spec.obs_shape, (uint32_t[]){SIDE, SIDE, CHANNELS}, 3 * sizeof(uint32_t));
    T_OK(policy_spec_set_words(&spec, &(policy_words){.count = 1, .word = {conv}}, POLICY_RELU, 2,
                               NULL));
    T_OK(policy_spec_check(&spec, NULL));
    return spec;
}

static void
conv_outputs(const policy_image *image, const float *maps, uint32_t rows, float *y)
{
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(&image->spec, rows);
    policy_forward(net, scratch, maps, PIXELS * sizeof(float), rows, y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

// With a mean and a deviation for each channel, there and back.
static void
test_a_convolution_is_scaled_by_channel(void **state)
{
    (void)state;
    enum { MAPS = 20 };
    policy_spec spec = conv_spec();
    float means[PIXELS], deviations[PIXELS], maps[MAPS * PIXELS], want[MAPS * 2], got[MAPS * 2];
    const quantizer_scaling by_channel = {.mean = means, .deviation = deviations};
    float *params = plain_params(&spec, 4, 0.2f), *back = plain_params(&spec, 4, 0.2f);
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    for (int i = 0; i < PIXELS; i++) {
        means[i] = (float[]){0.3f, -2.0f, 0.1f}[i % CHANNELS];
        deviations[i] = (float[]){0.5f, 4.0f, 0.25f}[i % CHANNELS];
    }
    for (int i = 0; i < MAPS * PIXELS; i++) {
        maps[i] = means[i % CHANNELS] + deviations[i % CHANNELS] * oct_rng_normal(&rng);
    }
    assert_true(quantizer_is_foldable(&spec, &by_channel));
    policy_image *raw = raw_image(spec, POLICY_FP32, params);
    policy_image *folded = plain_image(&spec, POLICY_FP32);
    T_OK(quantizer_convert_folded(folded, params, &by_channel, &QUANTIZER_METHOD_DEFAULT));
    conv_outputs(raw, maps, MAPS, want);
    conv_outputs(folded, maps, MAPS, got);
    double most = largest(want, MAPS * 2);
    for (size_t i = 0; i < MAPS * 2; i++) {
        T_NEAR(got[i], want[i], 1e-5 * most, 0);
    }
    quantizer_fold *fold = quantizer_fold_create(&spec, POLICY_FP32);
    quantizer_dequantize(folded, back);
    assert_true(back[0] != params[0]);
    quantizer_unfold(fold, &by_channel, back);
    for (size_t i = 0; i < policy_spec_params(&spec); i++) {
        T_NEAR(back[i], params[i], 1e-5, 0);
    }
    means[PIXELS - 1] += 0.5f; // of one place
    assert_false(quantizer_is_foldable(&spec, &by_channel));
    means[PIXELS - 1] = means[CHANNELS - 1];
    deviations[CHANNELS] *= 2.0f;
    assert_false(quantizer_is_foldable(&spec, &by_channel));
    deviations[CHANNELS] = deviations[0];
    spec.layers[0].conv.rows.after = 1; // a zero there would become another number
    assert_false(quantizer_is_foldable(&spec, &by_channel));
    memset(means, 0, sizeof(means));
    assert_true(quantizer_is_foldable(&spec, &by_channel));
    policy_spec dense = spec_of(VALUES, false);
    assert_true(quantizer_is_foldable(&dense, &scaling));
    quantizer_fold_destroy(fold);
    policy_image_destroy(raw);
    policy_image_destroy(folded);
    free(params);
    free(back);
}

static void
test_the_work_space_is_what_the_budget_says(void **state)
{
    (void)state;
    static const policy_precision precisions[] = {POLICY_FP32, POLICY_INT8};
    for (head h = 0; h < HEADS; h++) {
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            const uint32_t hidden[] = {512, 256};
            policy_spec spec = spec_of(h, false);
            T_OK(policy_spec_set_mlp(&spec, hidden, 2, POLICY_ELU, false,
                                     policy_spec_outputs(&spec)));
            size_t said = quantizer_fold_bytes(&spec, precisions[p]);
            size_t before = mallinfo2().uordblks;
            quantizer_fold *fold = quantizer_fold_create(&spec, precisions[p]);
            size_t used = mallinfo2().uordblks - before;
            size_t own = sizeof(policy_spec), small = 4 * 1032;
            assert_true(said > 4 * small);
            quantizer_fold_destroy(fold);
            if (used > 0) {
                assert_in_range(used, said + own - small, said + own + small);
            }
        }
    }
    policy_spec plain = spec_of(BOX, false);
    plain.normalise = false;
    assert_int_equal(quantizer_fold_bytes(&plain, POLICY_INT8), 0);
    plain.normalise = true;
    assert_int_equal(quantizer_fold_bytes(&plain, POLICY_INT8), 64 * (OBS + 1) * sizeof(float));
}

// Convolutions and bytes stay as they are.
static void
test_only_floats_into_a_dense_layer_are_scaled(void **state)
{
    (void)state;
    policy_spec spec = spec_of(VALUES, false);
    assert_true(quantizer_is_scalable(&spec));
    spec.obs_dtype = POLICY_U8;
    assert_false(quantizer_is_scalable(&spec));
    spec.obs_dtype = POLICY_F32;
    spec.layers[0].kind = POLICY_CONV;
    assert_false(quantizer_is_scalable(&spec));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_work_space_is_what_the_budget_says),
        cmocka_unit_test(test_only_floats_into_a_dense_layer_are_scaled),
        cmocka_unit_test(test_fp32_gives_the_outputs_of_the_learner),
        cmocka_unit_test(test_a_convolution_is_scaled_by_channel),
        cmocka_unit_test(test_scaled_observations_lose_less),
        cmocka_unit_test(test_centring_is_exact_before_it_is_rounded),
        cmocka_unit_test(test_centred_values_keep_the_choice_and_lose_less),
        cmocka_unit_test(test_centring_and_calibrating_gain_over_many_policies),
        cmocka_unit_test(test_a_small_number_decides_beside_large_noise),
        cmocka_unit_test(test_a_projection_is_the_published_policy),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
