// Converts fp32 parameters to a new policy image in any precision.
#include "quantizer/quantizer_convert.h"

#include <string.h>

#include "common/oct_base.h"
#include "quantizer/quantizer_copy.h"
#include "quantizer/quantizer_int4.h"
#include "quantizer/quantizer_range.h"

static oct_err
int8_convert(policy_image *image, uint32_t l, const float *w, const quantizer_rows *rows,
             const quantizer_method *method)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t inputs = policy_layer_columns(layer), count = inputs * policy_layer_rows(layer);
    float scale = 0.0f;
    if (image->per_tensor && count > 0) {
        uint32_t most = rows->most(w, count);
        if (!quantizer_is_finite(most)) {
            return OCT_EINVAL;
        }
        scale = quantizer_scale8(rows, method, w, count, most);
    }
    for (size_t j = 0; j < policy_layer_rows(layer); j++) {
        const float *row = w + j * inputs;
        int8_t *codes = image->codes[l] + j * inputs;
        if (!image->per_tensor) {
            uint32_t most = rows->most(row, inputs);
            if (!quantizer_is_finite(most)) {
                return OCT_EINVAL;
            }
            scale = quantizer_scale8(rows, method, row, inputs, most);
        }
        image->scales[l][j] = scale;
        if (scale > 0.0f) {
            rows->codes8(codes, row, inputs, scale, count - (j + 1) * inputs);
        } else {
            memset(codes, 0, inputs);
        }
    }
    return OCT_OK;
}

static oct_err
int4_convert(policy_image *image, uint32_t l, const float *w, const quantizer_rows *rows,
             const quantizer_method *method)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t inputs = policy_layer_columns(layer),
           groups = policy_int4_groups(policy_layer_columns(layer));
    uint32_t bits[POLICY_WIDTH_MAX / POLICY_INT4_GROUP];
    for (size_t j = 0; j < policy_layer_rows(layer); j++) {
        quantizer_row4 row = {.w = w + j * inputs, .inputs = inputs, .groups = bits};
        uint8_t *multipliers = image->multipliers[l] + j * groups;
        row.most = rows->most4(bits, row.w, inputs);
        if (!quantizer_is_finite(row.most)) {
            return OCT_EINVAL;
        }
        float scale = 0.0f;
        if (row.most == 0) {
            memset(multipliers, 0, groups);
        } else {
            scale = quantizer_fit4(rows, method, &row, multipliers);
        }
        image->scales[l][j] = scale;
        rows->codes4(image->codes[l] + j * inputs, row.w, inputs, scale, multipliers);
    }
    return OCT_OK;
}

// Converts the weights of layer l to FP32, BF16 or FP16.
static oct_err
float_convert(policy_image *image, uint32_t l, const float *w, const quantizer_rows *rows)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t inputs = policy_layer_columns(layer), count = inputs * policy_layer_rows(layer);
    for (size_t i = 0; i < count; i += inputs) {
        if (!quantizer_is_finite(rows->most(w + i, inputs))) {
            return OCT_EINVAL;
        }
        if (image->precision == POLICY_FP32) {
            memcpy(image->weights[l] + i, w + i, inputs * sizeof(float));
        } else if (image->precision == POLICY_BF16) {
            rows->bf16(image->halves[l] + i, w + i, inputs);
        } else {
            rows->fp16(image->halves[l] + i, w + i, inputs);
        }
    }
    return OCT_OK;
}

oct_err
quantizer_convert_layers(policy_image *image, const quantizer_layers *layers,
                         const quantizer_method *method)
{
    const policy_spec *spec = &image->spec;
    const quantizer_rows *rows = quantizer_rows_best();
    image->per_tensor = method->per_tensor && image->precision == POLICY_INT8;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const float *w = layers->at[l];
        if (image->precision == POLICY_INT8) {
            OCT_TRY(int8_convert(image, l, w, rows, method));
        } else if (image->precision == POLICY_INT4) {
            OCT_TRY(int4_convert(image, l, w, rows, method));
        } else {
            OCT_TRY(float_convert(image, l, w, rows));
        }
        OCT_TRY(quantizer_copy_vectors(image, l, w, rows));
    }
    return quantizer_copy_deviation(image, layers->deviation, rows);
}

oct_err
quantizer_convert(policy_image *image, const float *params, const quantizer_method *method)
{
    quantizer_layers layers = quantizer_layers_of(&image->spec, params);
    return quantizer_convert_layers(image, &layers, method);
}
