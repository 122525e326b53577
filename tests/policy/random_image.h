#ifndef TESTS_POLICY_RANDOM_IMAGE_H
#define TESTS_POLICY_RANDOM_IMAGE_H

#include <math.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "policy/policy_format.h"
#include "policy/policy_half.h"

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

// Convolutions filters[conv_count] over maps of height x width x channels, then dense layers
// hidden[hidden_count] and outputs.
static inline policy_spec
random_conv_spec(uint32_t height, uint32_t width, uint32_t channels, uint32_t kernel,
                 const uint32_t *filters, uint32_t conv_count, const uint32_t *hidden,
                 uint32_t hidden_count, uint32_t outputs, policy_activation activation)
{
    policy_spec spec = {
        .env_id = "Test-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = height * width * channels,
        .action_kind = POLICY_DISCRETE,
        .action_count = outputs,
        .head = POLICY_HEAD_VALUES,
        .layer_count = conv_count + hidden_count + 1,
    };
    policy_conv conv = {height, width, channels, 0, kernel};
    uint32_t inputs = spec.obs_count;
    for (uint32_t l = 0; l < spec.layer_count; l++) {
        bool is_conv = l < conv_count, is_last = l + 1 == spec.layer_count;
        policy_layer *layer = &spec.layers[l];
        *layer = (policy_layer){
            .kind = is_conv ? POLICY_CONV : POLICY_DENSE,
            .inputs = inputs,
            .outputs = is_last   ? outputs
                       : is_conv ? 0
                                 : hidden[l - conv_count],
            .activation = is_last ? POLICY_LINEAR : activation,
        };
        if (is_conv) {
            conv.filters = filters[l];
            layer->conv = conv;
            conv.height -= kernel - 1;
            conv.width -= kernel - 1;
            conv.channels = conv.filters;
            layer->outputs = conv.height * conv.width * conv.channels;
        }
        inputs = layer->outputs;
    }
    OCT_ASSERT(policy_spec_check(&spec, NULL) == OCT_OK);
    return spec;
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
