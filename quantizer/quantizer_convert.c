#include "quantizer/quantizer_convert.h"

#include <math.h>
#include <string.h>

// Adding 1.5 * 2^23 leaves ulp 1, so the sum is v rounded to nearest even; |v| stays far below.
static float
round_even(float v)
{
    return (v + 0x1.8p23f) - 0x1.8p23f;
}

static bool
is_all_finite(const float *restrict values, size_t count)
{
    // x - x is 0 for finite x, else NaN: a sum without branches that the compiler vectorises.
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad += !(values[i] - values[i] == 0.0f);
    }
    return bad == 0;
}

static float
max_abs(const float *restrict values, size_t count)
{
    float most = 0.0f;
    for (size_t i = 0; i < count; i++) {
        float a = fabsf(values[i]);
        most = a > most ? a : most;
    }
    return most;
}

static void
row_convert(int8_t *restrict codes, const float *restrict w, size_t count, float scale)
{
    if (scale == 0.0f) {
        memset(codes, 0, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        // The quotient can pass 127 when the scale is denormal; -128 is no code.
        float q = w[i] / scale;
        q = q > -127.0f ? q : -127.0f;
        q = q < 127.0f ? q : 127.0f;
        codes[i] = (int8_t)(int32_t)round_even(q);
    }
}

static void
layer_convert(policy_image *image, uint32_t l, const float *w)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t inputs = layer->inputs;
    float whole = image->per_tensor ? max_abs(w, inputs * layer->outputs) / 127.0f : 0.0f;
    for (uint32_t j = 0; j < layer->outputs; j++) {
        const float *row = w + j * inputs;
        float scale = image->per_tensor ? whole : max_abs(row, inputs) / 127.0f;
        image->scales[l][j] = scale;
        row_convert(image->codes[l] + j * inputs, row, inputs, scale);
    }
}

oct_err
quantizer_convert(policy_image *image, const float *params, const quantizer_method *method)
{
    const policy_spec *spec = &image->spec;
    if (!is_all_finite(params, policy_spec_params(spec))) {
        return OCT_EINVAL;
    }
    image->per_tensor = method->per_tensor && image->precision == POLICY_INT8;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        policy_offsets at = policy_spec_layer(spec, l);
        size_t row_bytes = layer->outputs * sizeof(float);
        if (image->precision == POLICY_INT8) {
            layer_convert(image, l, params + at.weight);
        } else {
            memcpy(image->weights[l], params + at.weight, layer->inputs * row_bytes);
        }
        memcpy(image->bias[l], params + at.bias, row_bytes);
        if (layer->layer_norm) {
            memcpy(image->gain[l], params + at.gain, row_bytes);
            memcpy(image->offset[l], params + at.offset, row_bytes);
        }
    }
    return OCT_OK;
}

static quantizer_layer_error
layer_report(const policy_image *image, uint32_t l, const float *w)
{
    const policy_layer *layer = &image->spec.layers[l];
    double norm = 0.0, error = 0.0, most = 0.0;
    for (uint32_t j = 0; j < layer->outputs; j++) {
        for (uint32_t k = 0; k < layer->inputs; k++) {
            size_t i = (size_t)j * layer->inputs + k;
            double kept = (double)image->scales[l][j] * image->codes[l][i];
            double d = fabs((double)w[i] - kept);
            norm += (double)w[i] * (double)w[i];
            error += d * d;
            most = d > most ? d : most;
        }
    }
    return (quantizer_layer_error){
        .relative_l2 = norm > 0.0 ? (float)sqrt(error / norm) : 0.0f,
        .max_abs = (float)most,
    };
}

void
quantizer_report(const policy_image *image, const float *params, quantizer_layer_error *errors)
{
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        policy_offsets at = policy_spec_layer(&image->spec, l);
        bool is_int8 = image->precision == POLICY_INT8;
        errors[l] =
            is_int8 ? layer_report(image, l, params + at.weight) : (quantizer_layer_error){0};
    }
}
