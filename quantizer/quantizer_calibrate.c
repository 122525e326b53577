// Corrects the biases of a quantised policy on observations, layer by layer. Both networks run side
// by side in fp32, and the quantised one continues with its corrected outputs, so a layer is
// corrected for the errors that remain of the layers before it.

#include "quantizer/quantizer_calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_activate.h"
#include "policy/policy_math.h"
#include "policy/policy_pool.h"
#include "quantizer/quantizer_convert.h"

#define ROWS QUANTIZER_CALIBRATE_ROWS

// The state of one network while it runs on all rows at once. Arrays are [unit][ROWS], because a
// loop along the rows has independent sums and can be vectorised.
typedef struct flow {
    float *params; // [policy_spec_params]
    float *x;      // [inputs][ROWS], the inputs of the current layer
    float *h;      // [outputs][ROWS], the current layer before its activation
} flow;

static flow
flow_begin(const policy_image *image)
{
    size_t width = policy_spec_width(&image->spec);
    flow f = {
        .params = oct_alloc(policy_spec_params(&image->spec) * sizeof(float)),
        .x = oct_alloc(width * ROWS * sizeof(float)),
        .h = oct_alloc(width * ROWS * sizeof(float)),
    };
    quantizer_dequantize(image, f.params);
    return f;
}

static void
flow_end(flow *f)
{
    free(f->params);
    free(f->x);
    free(f->h);
}

// Sets the inputs of layer 0 to the normalised observations. Rows beyond `rows` stay 0.
static void
flow_observe(flow *f, const policy_image *image, const float *obs, uint32_t rows)
{
    uint32_t count = image->spec.obs_count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t r = 0; r < rows; r++) {
            float x = obs[(size_t)r * count + i];
            f->x[(size_t)i * ROWS + r] =
                image->obs_mean == NULL ? x : (x - image->obs_mean[i]) * image->obs_inverse_std[i];
        }
    }
}

#define NO_INPUT SIZE_MAX // a zero around the map

// Returns the index of the input that column k of the weights multiplies at one output position,
// which is 0 for dense layers and row * width + column of the output map for convolutions.
static size_t
input_at(const policy_layer *layer, uint32_t place, uint32_t k)
{
    const policy_axis *rows = &layer->conv.rows, *columns = &layer->conv.columns;
    const uint32_t channels = layer->conv.channels;
    if (layer->kind == POLICY_DENSE) {
        return k;
    }
    uint32_t across = policy_axis_positions(columns), cell = k / channels;
    // Numbers on zeros before the map become larger than every size.
    uint32_t row = place / across * rows->stride + cell / columns->kernel - rows->before;
    uint32_t column = place % across * columns->stride + cell % columns->kernel - columns->before;
    bool is_inside = row < rows->size && column < columns->size;
    return is_inside ? ((size_t)row * columns->size + column) * channels + k % channels : NO_INPUT;
}

// h = W x + b, or the pool of x
static void
flow_multiply(flow *f, const policy_spec *spec, uint32_t l)
{
    const policy_layer *layer = &spec->layers[l];
    policy_offsets at = policy_spec_layer(spec, l);
    uint32_t units = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    if (policy_is_pool(layer->kind)) {
        policy_pool_map(layer, ROWS, f->x, f->h);
        return;
    }
    for (uint32_t o = 0; o < layer->outputs; o++) {
        float *restrict h = f->h + (size_t)o * ROWS;
        const float *weights = f->params + at.weight + (size_t)(o % units) * columns;
        for (int r = 0; r < ROWS; r++) {
            h[r] = f->params[at.bias + o % units];
        }
        for (uint32_t k = 0; k < columns; k++) {
            size_t input = input_at(layer, o / units, k);
            const float *restrict x = f->x + (input == NO_INPUT ? 0 : input) * ROWS;
            float w = input == NO_INPUT ? 0.0f : weights[k];
            for (int r = 0; r < ROWS; r++) {
                h[r] += w * x[r];
            }
        }
    }
}

static void
flow_norm(flow *f, const policy_spec *spec, uint32_t l)
{
    policy_offsets at = policy_spec_layer(spec, l);
    uint32_t n = spec->layers[l].outputs;
    for (uint32_t r = 0; r < ROWS; r++) {
        float sum = 0, squares = 0;
        for (uint32_t j = 0; j < n; j++) {
            sum += f->h[(size_t)j * ROWS + r];
        }
        float mean = sum / (float)n;
        for (uint32_t j = 0; j < n; j++) {
            float d = f->h[(size_t)j * ROWS + r] - mean;
            squares += d * d;
        }
        float inverse = policy_norm_inverse(squares, n);
        for (uint32_t j = 0; j < n; j++) {
            float *h = &f->h[(size_t)j * ROWS + r];
            *h = (*h - mean) * inverse * f->params[at.gain + j] + f->params[at.offset + j];
        }
    }
}

// Computes the inputs of the next layer from h of layer l.
static void
flow_pass(flow *f, const policy_spec *spec, uint32_t l)
{
    const policy_layer *layer = &spec->layers[l];
    if (layer->layer_norm) {
        flow_norm(f, spec, l);
    }
    for (size_t i = 0; i < (size_t)layer->outputs * ROWS; i++) {
        f->x[i] = policy_activate(layer->activation, f->h[i]);
    }
}

// Adds to the bias of unit j, and to its outputs in `from`, the difference of the mean outputs of
// `to` and `from` over all rows and output positions. Changes nothing if an output overflowed,
// because there is no mean then.
static void
unit_correct(flow *from, const flow *to, const policy_layer *layer, uint32_t j, uint32_t rows,
             float *bias)
{
    const uint32_t units = policy_layer_rows(layer), places = policy_layer_places(layer);
    double sum = 0;
    for (size_t o = j; o < layer->outputs; o += units) {
        for (uint32_t r = 0; r < rows; r++) {
            sum += (double)to->h[o * ROWS + r] - (double)from->h[o * ROWS + r];
        }
    }
    float shift = (float)(sum / rows / places);
    if (!isfinite(*bias + shift)) {
        return;
    }
    *bias += shift;
    for (size_t o = j; o < layer->outputs; o += units) {
        for (uint32_t r = 0; r < ROWS; r++) {
            from->h[o * ROWS + r] += shift;
        }
    }
}

void
quantizer_calibrate(policy_image *image, const policy_image *fp32, const float *obs, uint32_t rows)
{
    const policy_spec *spec = &image->spec;
    OCT_ASSERT(rows >= 1 && policy_spec_equal(spec, &fp32->spec));
    rows = OCT_MIN(rows, ROWS);
    flow from = flow_begin(image), to = flow_begin(fp32);
    flow_observe(&from, image, obs, rows);
    flow_observe(&to, fp32, obs, rows);
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        policy_offsets at = policy_spec_layer(spec, l);
        flow_multiply(&from, spec, l);
        flow_multiply(&to, spec, l);
        uint32_t units = policy_layer_rows(&spec->layers[l]);
        for (uint32_t j = 0; j < units; j++) {
            unit_correct(&from, &to, &spec->layers[l], j, rows, &from.params[at.bias + j]);
        }
        memcpy(image->bias[l], from.params + at.bias, units * sizeof(float));
        flow_pass(&from, spec, l);
        flow_pass(&to, spec, l);
    }
    flow_end(&from);
    flow_end(&to);
}
