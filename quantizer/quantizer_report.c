#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_half.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_values.h"

// What an image stands for, and how far that is from what it was made of.

static void
codes_values(float *restrict values, const int8_t *restrict codes, size_t count, float step)
{
    for (size_t k = 0; k < count; k++) {
        values[k] = step * (float)codes[k];
    }
}

// The kernels multiply the scale by the whole number multiplier * code.
static void
group_values(float *restrict values, const int8_t *restrict codes, size_t count, float scale,
             int32_t multiplier)
{
    for (size_t k = 0; k < count; k++) {
        values[k] = scale * (float)(multiplier * codes[k]);
    }
}

static void
row4_values(const policy_image *image, uint32_t l, size_t j, float *values)
{
    size_t inputs = image->spec.layers[l].inputs;
    const uint8_t *multipliers = image->multipliers[l] + j * policy_int4_groups((uint32_t)inputs);
    const int8_t *codes = image->codes[l] + j * inputs;
    for (size_t k = 0; k < inputs; k += POLICY_INT4_GROUP) {
        size_t count = OCT_MIN(inputs - k, (size_t)POLICY_INT4_GROUP);
        group_values(values + k, codes + k, count, image->scales[l][j],
                     multipliers[k / POLICY_INT4_GROUP]);
    }
}

void
quantizer_row_values(const policy_image *image, uint32_t l, size_t j, float *values)
{
    size_t inputs = image->spec.layers[l].inputs;
    switch (image->precision) {
    case POLICY_FP32:
        memcpy(values, image->weights[l] + j * inputs, inputs * sizeof(float));
        break;
    case POLICY_INT8:
        codes_values(values, image->codes[l] + j * inputs, inputs, image->scales[l][j]);
        break;
    case POLICY_INT4:
        row4_values(image, l, j, values);
        break;
    case POLICY_BF16:
        for (size_t k = 0; k < inputs; k++) {
            values[k] = policy_bf16_to_float(image->halves[l][j * inputs + k]);
        }
        break;
    case POLICY_FP16:
        for (size_t k = 0; k < inputs; k++) {
            values[k] = policy_fp16_to_float(image->halves[l][j * inputs + k]);
        }
        break;
    }
}

void
quantizer_dequantize(const policy_image *image, float *params)
{
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        policy_offsets at = policy_spec_layer(&image->spec, l);
        size_t bytes = layer->outputs * sizeof(float);
        for (size_t j = 0; j < layer->outputs; j++) {
            quantizer_row_values(image, l, j, params + at.weight + j * layer->inputs);
        }
        memcpy(params + at.bias, image->bias[l], bytes);
        if (layer->layer_norm) {
            memcpy(params + at.gain, image->gain[l], bytes);
            memcpy(params + at.offset, image->offset[l], bytes);
        }
    }
}

// ---- report

#define LANES 8

typedef struct sums {
    double norm[LANES];
    double error[LANES];
    float most[LANES];
} sums;

static void
sums_add(sums *s, const float *restrict w, const float *restrict kept, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t lane = i % LANES;
        double d = (double)w[i] - (double)kept[i];
        float a = fabsf((float)d);
        s->norm[lane] += (double)w[i] * (double)w[i];
        s->error[lane] += d * d;
        s->most[lane] = a > s->most[lane] ? a : s->most[lane];
    }
}

static quantizer_layer_error
layer_report(const policy_image *image, uint32_t l, const float *w)
{
    const policy_layer *layer = &image->spec.layers[l];
    float values[POLICY_WIDTH_MAX];
    sums s = {0};
    for (size_t j = 0; j < layer->outputs; j++) {
        quantizer_row_values(image, l, j, values);
        sums_add(&s, w + j * layer->inputs, values, layer->inputs);
    }
    double norm = 0.0, error = 0.0;
    float most = 0.0f;
    for (size_t lane = 0; lane < LANES; lane++) {
        norm += s.norm[lane];
        error += s.error[lane];
        most = s.most[lane] > most ? s.most[lane] : most;
    }
    return (quantizer_layer_error){
        .relative_l2 = norm > 0.0 ? (float)sqrt(error / norm) : 0.0f,
        .max_abs = most,
    };
}

void
quantizer_report(const policy_image *image, const float *params, quantizer_layer_error *errors)
{
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        errors[l] = layer_report(image, l, params + policy_spec_layer(&image->spec, l).weight);
    }
}
