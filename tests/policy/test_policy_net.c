// A whole network computes what its definition says, on every instruction set and precision.
#include "policy/policy_net.h"

#include "tests/policy/exact_activation.h"
#include "tests/policy/random_policy.h"

static const policy_isa isas[] = {POLICY_ISA_REF, POLICY_ISA_AVX2, POLICY_ISA_AVXVNNI,
                                  POLICY_ISA_VNNI, POLICY_ISA_NEON};
static const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8,
                                              POLICY_INT4};

// Outputs of image for obs[B], rows stride bytes apart, on one instruction set; NULL when the CPU
// lacks it.
static float *
forward_strided(const policy_image *image, policy_isa isa, const void *obs, size_t stride,
                uint32_t B)
{
    policy_net *net;
    if (policy_net_create(&net, image, isa) == OCT_ENOTFOUND) {
        return NULL;
    }
    assert_int_equal(policy_net_isa(net), isa);
    policy_scratch *scratch = policy_scratch_create(&image->spec, B);
    float *y = oct_alloc((size_t)B * policy_spec_outputs(&image->spec) * sizeof(float));
    policy_forward(net, scratch, obs, stride, B, y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return y;
}

static float *
forward(const policy_image *image, policy_isa isa, const float *obs, uint32_t B)
{
    return forward_strided(image, isa, obs, image->spec.obs_count * sizeof(float), B);
}

static void
test_an_unknown_instruction_set_is_refused(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    const uint32_t widths[] = {4, 8, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
    policy_net *net = NULL;
    setenv("OCTET_ISA", "sse9", 1);
    T_ERR(policy_net_create(&net, image, POLICY_ISA_BEST), OCT_EINVAL);
    setenv("OCTET_ISA", "best", 1);
    T_ERR(policy_net_create(&net, image, POLICY_ISA_BEST), OCT_EINVAL);
    T_ERR(policy_net_create(&net, image, (policy_isa)9), OCT_ENOTFOUND);
    assert_null(net);
    setenv("OCTET_ISA", "ref", 1);
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    assert_int_equal(policy_net_isa(net), POLICY_ISA_REF);
    assert_string_equal(policy_isa_name(policy_net_isa(net)), "ref");
    unsetenv("OCTET_ISA");
    policy_net_destroy(net);
    policy_image_destroy(image);
}

// One layer of 2 inputs and 2 outputs, worked by hand.
static void
test_the_reference_computes_what_architecture_says(void **state)
{
    (void)state;
    const uint32_t widths[] = {2, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    const int8_t codes[] = {127, -127, 10, 20};
    memcpy(image->codes[0], codes, sizeof(codes));
    image->scales[0][0] = 0.5f;
    image->scales[0][1] = 0.25f;
    image->bias[0][0] = 1.0f;
    image->bias[0][1] = -1.0f;
    // lo -1, hi 2: scale 3 / 255, zero point round(85) = 85, codes 85 - 85 = 0 and 255.
    const float obs[] = {-1.0f, 2.0f};
    float *y = forward(image, POLICY_ISA_REF, obs, 1);
    float scale = 3.0f / 255.0f;
    float first = (float)(255 * -127 - 85 * (127 - 127)) * (scale * 0.5f) + 1.0f;
    float second = (float)(255 * 20 - 85 * (10 + 20)) * (scale * 0.25f) + -1.0f;
    assert_true(y[0] == first);
    assert_true(y[1] == second);
    free(y);
    policy_image_destroy(image);
}

static double
exact_weight(const policy_image *image, uint32_t l, uint32_t j, uint32_t k)
{
    uint32_t inputs = image->spec.layers[l].inputs;
    size_t i = (size_t)j * inputs + k;
    size_t group = (size_t)j * policy_int4_groups(inputs) + k / POLICY_INT4_GROUP;
    switch (image->precision) {
    case POLICY_FP32:
        return (double)image->weights[l][i];
    case POLICY_BF16:
        return (double)policy_bf16_to_float(image->halves[l][i]);
    case POLICY_FP16:
        return (double)policy_fp16_to_float(image->halves[l][i]);
    case POLICY_INT4:
        return (double)image->scales[l][j] * image->multipliers[l][group] * image->codes[l][i];
    case POLICY_INT8:
        break;
    }
    return (double)image->scales[l][j] * image->codes[l][i];
}

// The same net in double, quantised weights taken as they are, activations not quantised.
static void
exact_forward(const policy_image *image, const double *obs, double *y)
{
    const policy_spec *spec = &image->spec;
    double x[512], h[512];
    for (uint32_t i = 0; i < spec->obs_count; i++) {
        x[i] = !spec->normalise
                   ? obs[i]
                   : (obs[i] - (double)image->obs_mean[i]) * (double)image->obs_inverse_std[i];
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        double mean = 0.0, variance = 0.0;
        for (uint32_t j = 0; j < layer->outputs; j++) {
            h[j] = (double)image->bias[l][j];
            for (uint32_t k = 0; k < layer->inputs; k++) {
                h[j] += exact_weight(image, l, j, k) * x[k];
            }
            mean += h[j] / layer->outputs;
        }
        for (uint32_t j = 0; layer->layer_norm && j < layer->outputs; j++) {
            variance += (h[j] - mean) * (h[j] - mean) / layer->outputs;
        }
        for (uint32_t j = 0; j < layer->outputs; j++) {
            double v = h[j];
            if (layer->layer_norm) {
                v = (v - mean) / sqrt(variance + 1e-5) * (double)image->gain[l][j] +
                    (double)image->offset[l][j];
            }
            x[j] = exact_activation(layer->activation, v);
        }
    }
    memcpy(y, x, policy_spec_outputs(spec) * sizeof(double));
}

// ||got - exact|| / ||exact|| over B rows, on the given instruction set; -1 when the CPU lacks it.
static double
relative_error(const policy_image *image, policy_isa isa, uint32_t B, oct_rng *rng)
{
    uint32_t count = image->spec.obs_count, outputs = policy_spec_outputs(&image->spec);
    float *obs = oct_alloc((size_t)B * count * sizeof(float));
    random_floats(obs, (size_t)B * count, 2.0f, rng);
    float *got = forward(image, isa, obs, B);
    double error = 0.0, norm = 0.0;
    for (uint32_t b = 0; got != NULL && b < B; b++) {
        double x[512], y[512];
        for (uint32_t i = 0; i < count; i++) {
            x[i] = (double)obs[b * count + i];
        }
        exact_forward(image, x, y);
        for (uint32_t j = 0; j < outputs; j++) {
            error += ((double)got[b * outputs + j] - y[j]) * ((double)got[b * outputs + j] - y[j]);
            norm += y[j] * y[j];
        }
    }
    double relative = got == NULL ? -1.0 : sqrt(error / norm);
    free(obs);
    free(got);
    return relative;
}

static policy_spec
net_spec(policy_activation activation, bool norm)
{
    const uint32_t widths[] = {17, 120, 65, 6};
    policy_spec spec = random_spec(widths, 4, activation, norm);
    spec.normalise = norm;
    return spec;
}

// -1 where the CPU lacks the instructions.
static void
test_floats_agree_with_double_on_every_instruction_set(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 21, 1);
    for (size_t c = 0; c < 2 * POLICY_ACTIVATION_COUNT * 3 * OCT_COUNTOF(isas); c++) {
        policy_spec spec = net_spec((policy_activation)(c % POLICY_ACTIVATION_COUNT),
                                    c / POLICY_ACTIVATION_COUNT % 2 == 1);
        policy_image *image =
            random_image(&spec, precisions[c / (2 * POLICY_ACTIVATION_COUNT) % 3], false, &rng);
        // Contract 2: sums of 120 products of single precision.
        assert_true(relative_error(image, isas[c / (2 * POLICY_ACTIVATION_COUNT * 3)], 19, &rng) <
                    1e-6);
        policy_image_destroy(image);
    }
}

// Three layers, each adds an error of (range / 255) / sqrt(12) to inputs of about a fifth of the
// range: 0.6 % each. Twice the sum as bound; half a bit less precision would break it.
static void
test_integers_are_near_double_by_the_width_of_their_steps(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 22, 1);
    for (size_t c = 0; c < 4 * POLICY_ACTIVATION_COUNT; c++) {
        policy_spec spec = net_spec((policy_activation)(c % POLICY_ACTIVATION_COUNT),
                                    c / POLICY_ACTIVATION_COUNT % 2 == 1);
        policy_precision precision = c < 2 * POLICY_ACTIVATION_COUNT ? POLICY_INT8 : POLICY_INT4;
        policy_image *image = random_image(&spec, precision, false, &rng);
        double error = relative_error(image, POLICY_ISA_REF, 50, &rng);
        assert_true(error > 1e-4 && error < 0.025);
        policy_image_destroy(image);
    }
}

// widths[4] on B rows that are stride bytes apart: the bits of the reference everywhere.
static void
expect_reference(const uint32_t *widths, policy_precision precision, policy_activation activation,
                 uint32_t B, size_t gap, oct_rng *rng)
{
    policy_spec spec = random_spec(widths, 4, activation, activation == POLICY_ELU);
    policy_image *image = random_image(&spec, precision, false, rng);
    size_t stride = widths[0] * sizeof(float) + gap;
    uint8_t *obs = oct_alloc(B * stride);
    for (uint32_t b = 0; b < B; b++) {
        float row[1100];
        random_floats(row, widths[0], 2.0f, rng);
        memcpy(obs + b * stride, row, widths[0] * sizeof(float));
    }
    float *want = forward_strided(image, POLICY_ISA_REF, obs, stride, B);
    for (size_t i = 1; i < OCT_COUNTOF(isas); i++) {
        float *got = forward_strided(image, isas[i], obs, stride, B);
        if (got != NULL) {
            assert_memory_equal(got, want, B * widths[3] * sizeof(float));
        }
        free(got);
    }
    free(want);
    free(obs);
    policy_image_destroy(image);
}

// Layers past the sizes at which kernels change their way: nibbles from 16 KB on, weights asked
// for ahead from 512 KB on, tiles of more rows; with rests of rows, outputs and inputs.
static void
test_large_layers_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 26, 1);
    static const uint32_t widths[][4] = {
        {1025, 520, 1033, 9}, {33, 600, 40, 17}, {500, 97, 255, 8}, {31, 130, 257, 33}};
    static const uint32_t batches[] = {1, 2, 7, 13, 37};
    for (size_t w = 0; w < OCT_COUNTOF(widths); w++) {
        for (size_t b = 0; b < OCT_COUNTOF(batches); b++) {
            uint32_t rows = w == 0 ? batches[b] % 14 : batches[b];
            for (int integer = 0; integer < 2; integer++) {
                expect_reference(
                    widths[w], integer == 0 ? POLICY_INT8 : POLICY_INT4,
                    (policy_activation)((w * OCT_COUNTOF(batches) + b) % POLICY_ACTIVATION_COUNT),
                    rows, 0, &rng);
            }
        }
    }
}

static void
test_observations_may_lie_at_any_byte(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 27, 1);
    static const uint32_t widths[] = {19, 64, 64, 6};
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        for (size_t gap = 1; gap < 8; gap += 2) {
            expect_reference(widths, precisions[p], POLICY_RELU, 3, gap, &rng);
        }
    }
}

// A packed net depends on its image alone, not on what its memory held before.
static void
test_packing_writes_all_that_is_read(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 28, 1);
    static const uint32_t widths[] = {45, 150, 131, 5};
    policy_spec spec = random_spec(widths, 4, POLICY_RELU, true);
    float obs[3 * 45];
    random_floats(obs, 3 * 45, 1.0f, &rng);
    for (size_t c = 0; c < OCT_COUNTOF(precisions) * OCT_COUNTOF(isas); c++) {
        policy_image *image = random_image(&spec, precisions[c / 5], false, &rng);
        float *want = forward(image, isas[c % 5], obs, 3);
        for (int dirty = 0; want != NULL && dirty < 2; dirty++) {
            for (size_t bytes = 4096; bytes < 300000; bytes *= 2) {
                void *before = malloc(bytes);
                memset(before, dirty == 0 ? 0xff : 0x7f, bytes);
                free(before);
            }
            float *got = forward(image, isas[c % 5], obs, 3);
            assert_memory_equal(got, want, 3 * 5 * sizeof(float));
            free(got);
        }
        free(want);
        policy_image_destroy(image);
    }
}

static void
test_bytes_are_read_as_numbers_and_rows_by_their_stride(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 23, 1);
    policy_spec spec = net_spec(POLICY_RELU, true);
    policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
    uint8_t bytes[9][40];
    float floats[9][17], y[9 * 6];
    for (uint32_t i = 0; i < 9 * 40; i++) {
        bytes[i / 40][i % 40] = (uint8_t)oct_rng_below(&rng, 256);
        if (i % 40 < 17) {
            floats[i / 40][i % 40] = (float)bytes[i / 40][i % 40];
        }
    }
    float *want = forward(image, POLICY_ISA_REF, &floats[0][0], 9);
    image->spec.obs_dtype = POLICY_U8;
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_image_destroy(image); // the net has its own copy
    policy_scratch *scratch = policy_scratch_create(policy_net_spec(net), 9);
    policy_forward(net, scratch, bytes, 40, 9, y);
    assert_memory_equal(y, want, sizeof(y));
    assert_int_equal(policy_net_origin(net)->version, 7);
    assert_int_equal(policy_net_precision(net), POLICY_INT8);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    free(want);
}

static void
test_per_tensor_equals_per_row_with_equal_scales(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 24, 1);
    policy_spec spec = net_spec(POLICY_TANH, false);
    policy_image *image = random_image(&spec, POLICY_INT8, true, &rng);
    float obs[5 * 17];
    random_floats(obs, 5 * 17, 1.0f, &rng);
    float *first = forward(image, POLICY_ISA_REF, obs, 5);
    image->per_tensor = false;
    float *second = forward(image, POLICY_ISA_REF, obs, 5);
    assert_memory_equal(first, second, 5 * 6 * sizeof(float));
    free(first);
    free(second);
    policy_image_destroy(image);
}

static void
test_an_empty_batch_writes_nothing(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 25, 1);
    policy_spec spec = net_spec(POLICY_RELU, false);
    policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(&spec, 1);
    float y = 3.0f;
    policy_forward(net, scratch, NULL, 0, 0, &y);
    assert_true(y == 3.0f);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    policy_image_destroy(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_unknown_instruction_set_is_refused),
        cmocka_unit_test(test_an_empty_batch_writes_nothing),
        cmocka_unit_test(test_the_reference_computes_what_architecture_says),
        cmocka_unit_test(test_floats_agree_with_double_on_every_instruction_set),
        cmocka_unit_test(test_integers_are_near_double_by_the_width_of_their_steps),
        cmocka_unit_test(test_large_layers_give_the_bits_of_the_reference),
        cmocka_unit_test(test_observations_may_lie_at_any_byte),
        cmocka_unit_test(test_packing_writes_all_that_is_read),
        cmocka_unit_test(test_bytes_are_read_as_numbers_and_rows_by_their_stride),
        cmocka_unit_test(test_per_tensor_equals_per_row_with_equal_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
