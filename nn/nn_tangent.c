// Forward-mode differentiation by a net's weights, layer by layer along a tape's forward pass.
#include "nn/nn_tangent.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "nn/nn_kind.h"

void
nn_tangent_init(nn_tangent *tangent, const nn_tape *tape)
{
    const nn_net *net = &tape->net;
    size_t widest = 0;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        OCT_ASSERT(!net->layers[l].skip_end);
        widest = OCT_MAX(widest, (size_t)net->layers[l].outputs);
    }
    size_t outputs = net->layers[net->layer_count - 1].outputs;
    *tangent = (nn_tangent){
        .tape = tape,
        .sum = nn_context_alloc(net->context, net->rows_max * widest * sizeof(float)),
        .dy = nn_context_alloc(net->context, net->rows_max * outputs * sizeof(float)),
    };
}

void
nn_tangent_fini(nn_tangent *tangent)
{
    free(tangent->sum);
    free(tangent->dy);
    *tangent = (nn_tangent){0};
}

// dy at the input of the norm becomes the derivative at its output. With n = (x - mean) / deviation
// and out = n gain + offset: dn = (dx - mean(dx) - n mean(n dx)) / deviation.
static void
norm_forward(const nn_layer *layer, float *dy, const float *gain, const float *dgain,
             const float *doffset, uint32_t rows)
{
    const float *n = layer->normalised;
    for (uint32_t r = 0; r < rows; r++, dy += layer->units, n += layer->units) {
        double mean = 0, along = 0;
        for (uint32_t i = 0; i < layer->units; i++) {
            mean += (double)dy[i];
            along += (double)n[i] * (double)dy[i];
        }
        float centre = (float)(mean / layer->units), slope = (float)(along / layer->units);
        for (uint32_t i = 0; i < layer->units; i++) {
            float dn = (dy[i] - centre - n[i] * slope) * layer->inverse_std[r];
            dy[i] = dn * gain[i] + n[i] * dgain[i] + doffset[i];
        }
    }
}

// dy[rows][outputs] = the derivative of W x + b when W and b move along direction.
static void
weights_tangent(const nn_net *net, const nn_layer *layer, float *dy, const float *x,
                const float *direction, uint32_t rows)
{
    const nn_pass pass = {
        .context = net->context, .layer = layer, .W = direction + layer->at.weight, .rows = rows};
    layer->ops->forward(&pass, dy, x);
    net->vec->bias[POLICY_LINEAR](dy, direction + layer->at.bias, rows * layer->places,
                                  layer->units);
}

// dy[rows][outputs] = the derivative of W x + b when x moves along dx.
static void
inputs_tangent(const nn_net *net, const nn_layer *layer, float *dy, const float *x, const float *dx,
               uint32_t rows)
{
    const nn_pass pass = {.context = net->context,
                          .layer = layer,
                          .W = net->weights + layer->at.weight,
                          .rows = rows};
    if (layer->ops->tangent != NULL) {
        layer->ops->tangent(&pass, dy, dx, x);
    } else {
        layer->ops->forward(&pass, dy, dx);
    }
}

// Computes dy[rows][outputs] of a layer from dx, the derivative of its inputs. dx NULL: the inputs
// do not depend on the weights.
static void
layer_tangent(nn_tangent *tangent, const nn_layer *layer, float *dy, const float *x,
              const float *dx, const float *direction, uint32_t rows)
{
    const nn_net *net = &tangent->tape->net;
    const size_t count = (size_t)rows * layer->outputs;
    if (layer->units == 0) {
        inputs_tangent(net, layer, dy, x, dx, rows);
    } else {
        weights_tangent(net, layer, dy, x, direction, rows);
    }
    if (layer->units > 0 && dx != NULL) {
        inputs_tangent(net, layer, tangent->sum, x, dx, rows);
        net->vec->add(dy, tangent->sum, count);
    }
    if (layer->layer_norm) {
        norm_forward(layer, dy, net->weights + layer->at.gain, direction + layer->at.gain,
                     direction + layer->at.offset, rows);
    }
    // The derivative multiplies the tangent as it does a gradient.
    if (layer->fused != layer->activation) {
        net->vec->curve_backward[layer->activation](dy, layer->kept, count);
    } else if (layer->fused != POLICY_LINEAR) {
        net->vec->backward[layer->fused](dy, layer->y, count);
    }
}

float *
nn_tangent_forward(nn_tangent *tangent, const float *direction, uint32_t rows)
{
    const nn_tape *tape = tangent->tape;
    const nn_net *net = &tape->net;
    OCT_ASSERT(rows >= 1 && rows <= net->rows_max && tape->x != NULL);
    const float *x = tape->x, *dx = NULL;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        bool is_last = l + 1 == net->layer_count;
        float *dy =
            is_last ? tangent->dy : nn_net_rows(net->context, l, (size_t)rows * layer->outputs);
        layer_tangent(tangent, layer, dy, x, dx, direction, rows);
        x = layer->y;
        dx = dy;
    }
    return tangent->dy;
}
