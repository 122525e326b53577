#ifndef TESTS_POLICY_RANDOM_IMAGE_H
#define TESTS_POLICY_RANDOM_IMAGE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "policy/policy_format.h"
#include "policy/policy_half.h"
#include "policy/policy_words.h"

// Policies of any shape with random tensors, for tests and benchmarks and for programs without a
// test library. The generator is an argument.
//
// widths[count]: observation, hidden layers, outputs. Discrete actions, head of values.
static inline policy_spec
random_spec(const uint32_t *widths, uint32_t count, policy_activation activation,
            bool first_layer_norm)
{
    policy_spec spec = {
        .env_id = "Test-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = widths[0],
        .action_kind = POLICY_DISCRETE,
        .action_count = widths[count - 1],
        .head = POLICY_HEAD_VALUES,
    };
    oct_err err = policy_spec_set_mlp(&spec, widths + 1, count - 2, activation, first_layer_norm,
                                      widths[count - 1]);
    OCT_ASSERT(err == OCT_OK);
    return spec;
}

// Layers by their words (policy_words.h) over maps of rows x columns x channels, then outputs.
static inline policy_spec
random_words_spec(const uint32_t shape[3], const char *text, policy_activation activation,
                  uint32_t outputs)
{
    policy_spec spec = {
        .env_id = "Test-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = shape[0] * shape[1] * shape[2],
        .obs_rank = 3,
        .obs_shape = {shape[0], shape[1], shape[2]},
        .action_kind = POLICY_DISCRETE,
        .action_count = outputs,
        .head = POLICY_HEAD_VALUES,
    };
    policy_words words;
    oct_reason why = {""};
    oct_err err = policy_words_parse(&words, text, &why);
    if (err == OCT_OK) {
        err = policy_spec_set_words(&spec, &words, activation, outputs, &why);
    }
    spec.obs_rank = 0; // as in a policy from a file
    memset(spec.obs_shape, 0, sizeof(spec.obs_shape));
    if (err != OCT_OK || policy_spec_check(&spec, &why) != OCT_OK) {
        (void)fprintf(stderr, "%s: %s\n", text, why.text);
        OCT_ASSERT(false);
    }
    return spec;
}

// Convolutions filters[conv_count] of one square kernel over maps of height x width x channels,
// then dense layers hidden[hidden_count] and outputs.
static inline policy_spec
random_conv_spec(uint32_t height, uint32_t width, uint32_t channels, uint32_t kernel,
                 const uint32_t *filters, uint32_t conv_count, const uint32_t *hidden,
                 uint32_t hidden_count, uint32_t outputs, policy_activation activation)
{
    char text[256] = "";
    size_t end = 0;
    for (uint32_t l = 0; l < conv_count + hidden_count; l++) {
        const char *comma = l > 0 ? ", " : "";
        int length = l < conv_count ? snprintf(text + end, sizeof(text) - end, "%sconv %u %ux%u",
                                               comma, filters[l], kernel, kernel)
                                    : snprintf(text + end, sizeof(text) - end, "%sdense %u", comma,
                                               hidden[l - conv_count]);
        end += (size_t)length;
    }
    return random_words_spec((const uint32_t[]){height, width, channels}, text, activation,
                             outputs);
}

static inline void
random_floats(float *out, size_t count, float amplitude, oct_rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (2.0f * oct_rng_float(rng) - 1.0f) * amplitude;
    }
}

// Codes use the whole range, scales keep the outputs of a layer near 1.
static inline void
random_codes(policy_image *image, uint32_t l, oct_rng *rng)
{
    const policy_layer *layer = &image->spec.layers[l];
    const bool is_int8 = image->precision == POLICY_INT8;
    const uint32_t code_max = is_int8 ? 127 : POLICY_INT4_CODE_MAX;
    for (size_t i = 0; i < policy_layer_weights(layer); i++) {
        int32_t code = (int32_t)oct_rng_below(rng, 2 * code_max + 1) - (int32_t)code_max;
        image->codes[l][i] = (int8_t)code;
    }
    size_t groups = is_int8 ? 0
                            : (size_t)policy_layer_rows(layer) *
                                  policy_int4_groups(policy_layer_columns(layer));
    for (size_t i = 0; i < groups; i++) {
        image->multipliers[l][i] = (uint8_t)(1 + oct_rng_below(rng, POLICY_MULTIPLIER_MAX));
    }
    for (uint32_t j = 0; j < policy_layer_rows(layer); j++) {
        float factor = image->per_tensor ? 1.0f : 0.25f + oct_rng_float(rng);
        image->scales[l][j] = 1.7f / sqrtf((float)policy_layer_columns(layer)) / 127.0f * factor;
    }
}

static inline void
random_layer(policy_image *image, uint32_t l, oct_rng *rng)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t count = policy_layer_weights(layer);
    float spread = 1.7f / sqrtf((float)policy_layer_columns(layer));
    if (policy_is_integer(image->precision)) {
        random_codes(image, l, rng);
    } else if (image->precision == POLICY_FP32) {
        random_floats(image->weights[l], count, spread, rng);
    } else {
        for (size_t i = 0; i < count; i++) {
            float weight = (2.0f * oct_rng_float(rng) - 1.0f) * spread;
            image->halves[l][i] = image->precision == POLICY_BF16 ? policy_bf16_from_float(weight)
                                                                  : policy_fp16_from_float(weight);
        }
    }
    random_floats(image->bias[l], policy_layer_rows(layer), 0.3f, rng);
    if (layer->layer_norm) {
        random_floats(image->gain[l], policy_layer_rows(layer), 2.0f, rng);
        random_floats(image->offset[l], policy_layer_rows(layer), 0.5f, rng);
    }
}

static inline policy_image *
random_image(const policy_spec *spec, policy_precision precision, bool per_tensor, oct_rng *rng)
{
    policy_image *image;
    oct_err err = policy_image_create(&image, spec, precision);
    OCT_ASSERT(err == OCT_OK);
    image->per_tensor = per_tensor;
    image->origin = (policy_origin){
        .run_id = oct_rng_u64(rng),
        .version = 7,
        .updates = 1234,
        .env_steps = 98765,
        .eval_return = 491.5f,
        .run_name = "cartpole-1",
    };
    if (spec->normalise) {
        random_floats(image->obs_mean, spec->obs_count, 1.0f, rng);
        for (uint32_t i = 0; i < spec->obs_count; i++) {
            image->obs_inverse_std[i] = 0.1f + oct_rng_float(rng);
        }
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        random_layer(image, l, rng);
    }
    if (policy_spec_has_deviation(spec)) {
        random_floats(image->deviation, spec->action_count, 1.0f, rng);
    }
    return image;
}

#endif // TESTS_POLICY_RANDOM_IMAGE_H
