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

// The weights of row j of layer l in count columns, of which `from` is the first, and the first of
// a group.
struct part {
    uint32_t l;
    size_t j, from, count;
};

// part_values of INT4.
static void
part4_values(const policy_image *image, struct part p, float *values)
{
    size_t inputs = policy_layer_columns(&image->spec.layers[p.l]);
    const uint8_t *multipliers =
        image->multipliers[p.l] + p.j * policy_int4_groups((uint32_t)inputs);
    const int8_t *codes = image->codes[p.l] + p.j * inputs + p.from;
    for (size_t k = 0; k < p.count; k += POLICY_INT4_GROUP) {
        size_t few = OCT_MIN(p.count - k, (size_t)POLICY_INT4_GROUP);
        group_values(values + k, codes + k, few, image->scales[p.l][p.j],
                     multipliers[(p.from + k) / POLICY_INT4_GROUP]);
    }
}

static void
part_values(const policy_image *image, struct part p, float *values)
{
    const uint32_t l = p.l;
    size_t at = p.j * policy_layer_columns(&image->spec.layers[l]) + p.from;
    switch (image->precision) {
    case POLICY_FP32:
        memcpy(values, image->weights[l] + at, p.count * sizeof(float));
        break;
    case POLICY_INT8:
        codes_values(values, image->codes[l] + at, p.count, image->scales[l][p.j]);
        break;
    case POLICY_INT4:
        part4_values(image, p, values);
        break;
    case POLICY_BF16:
        for (size_t k = 0; k < p.count; k++) {
            values[k] = policy_bf16_to_float(image->halves[l][at + k]);
        }
        break;
    case POLICY_FP16:
        for (size_t k = 0; k < p.count; k++) {
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
            size_t columns = policy_layer_columns(layer);
            part_values(image, (struct part){l, j, 0, columns}, params + at.weight + j * columns);
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
            part_values(image, (struct part){l, j, k, count}, values);
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
