// Converts an image back to floats, and reports its errors against the weights from which it was
// made.
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_half.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_rows.h"

#define VALUES 2048 // weights that are converted together, a multiple of POLICY_INT4_GROUP

static void
codes_values(float *restrict values, const int8_t *restrict codes, size_t count, float step)
{
    for (size_t k = 0; k < count; k++) {
        values[k] = step * (float)codes[k];
    }
}

// Multiplies as the kernels do: the scale by the whole number multiplier * code.
static void
group_values(float *restrict values, const int8_t *restrict codes, size_t count, float scale,
             int32_t multiplier)
{
    for (size_t k = 0; k < count; k++) {
        values[k] = scale * (float)(multiplier * codes[k]);
    }
}

// row_values of INT4.
static void
row4_values(const policy_image *image, uint32_t l, size_t j, size_t from, size_t count,
            float *values)
{
    size_t inputs = policy_layer_columns(&image->spec.layers[l]);
    const uint8_t *multipliers = image->multipliers[l] + j * policy_int4_groups((uint32_t)inputs);
    const int8_t *codes = image->codes[l] + j * inputs + from;
    for (size_t k = 0; k < count; k += POLICY_INT4_GROUP) {
        size_t few = OCT_MIN(count - k, (size_t)POLICY_INT4_GROUP);
        group_values(values + k, codes + k, few, image->scales[l][j],
                     multipliers[(from + k) / POLICY_INT4_GROUP]);
    }
}

// values[count] = the weights of row j of layer l from column `from`, which is the first of a
// group.
static void
row_values(const policy_image *image, uint32_t l, size_t j, size_t from, size_t count,
           float *values)
{
    size_t at = j * policy_layer_columns(&image->spec.layers[l]) + from;
    switch (image->precision) {
    case POLICY_FP32:
        memcpy(values, image->weights[l] + at, count * sizeof(float));
        break;
    case POLICY_INT8:
        codes_values(values, image->codes[l] + at, count, image->scales[l][j]);
        break;
    case POLICY_INT4:
        row4_values(image, l, j, from, count, values);
        break;
    case POLICY_BF16:
        for (size_t k = 0; k < count; k++) {
            values[k] = policy_bf16_to_float(image->halves[l][at + k]);
        }
        break;
    case POLICY_FP16:
        for (size_t k = 0; k < count; k++) {
            values[k] = policy_fp16_to_float(image->halves[l][at + k]);
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
        size_t bytes = policy_layer_rows(layer) * sizeof(float);
        for (size_t j = 0; j < policy_layer_rows(layer); j++) {
            row_values(image, l, j, 0, policy_layer_columns(layer),
                       params + at.weight + j * policy_layer_columns(layer));
        }
        memcpy(params + at.bias, image->bias[l], bytes);
        if (layer->layer_norm) {
            memcpy(params + at.gain, image->gain[l], bytes);
            memcpy(params + at.offset, image->offset[l], bytes);
        }
    }
    if (policy_spec_has_deviation(&image->spec)) {
        memcpy(params + policy_spec_deviation(&image->spec), image->deviation,
               image->spec.action_count * sizeof(float));
    }
}

// ---- report

static quantizer_layer_error
layer_report(const policy_image *image, uint32_t l, const float *w, const quantizer_rows *rows)
{
    const policy_layer *layer = &image->spec.layers[l];
    quantizer_sums sums = {0};
    float values[VALUES];
    for (size_t j = 0; j < policy_layer_rows(layer); j++) {
        for (size_t k = 0; k < policy_layer_columns(layer); k += VALUES) {
            size_t count = OCT_MIN(policy_layer_columns(layer) - k, (size_t)VALUES);
            row_values(image, l, j, k, count, values);
            rows->compare(&sums, w + j * policy_layer_columns(layer) + k, values, count);
        }
    }
    return (quantizer_layer_error){
        .relative_l2 = sums.norm > 0.0 ? (float)sqrt(sums.error / sums.norm) : 0.0f,
        .max_abs = sums.most,
    };
}

void
quantizer_report_layers(const policy_image *image, const quantizer_layers *layers,
                        quantizer_layer_error *errors)
{
    const quantizer_rows *rows = quantizer_rows_best();
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        errors[l] = layer_report(image, l, layers->at[l], rows);
    }
}

void
quantizer_report(const policy_image *image, const float *params, quantizer_layer_error *errors)
{
    quantizer_layers layers = quantizer_layers_of(&image->spec, params);
    quantizer_report_layers(image, &layers, errors);
}
