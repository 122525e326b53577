#include "nn/nn_tape.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "nn/nn_conv.h"
#include "nn/nn_gemm.h"

static void
tape_carve(nn_tape *tape, const policy_spec *spec, nn_carver *carver)
{
    nn_net *net = &tape->net;
    size_t rows = net->rows_max;
    size_t width = policy_spec_width(spec);
    net->params = nn_carver_floats(carver, net->param_count);
    net->weights = net->params;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        nn_layer *layer = &net->layers[l];
        layer->y = nn_carver_floats(carver, rows * layer->outputs);
        if (layer->layer_norm) {
            layer->normalised = nn_carver_floats(carver, rows * layer->outputs);
            layer->inverse_std = nn_carver_floats(carver, rows);
        }
    }
    net->patches = nn_carver_floats(carver, nn_conv_patch_floats(spec, net->rows_max));
    tape->delta[0] = nn_carver_floats(carver, rows * width);
    tape->delta[1] = nn_carver_floats(carver, rows * width);
    tape->spare = nn_carver_floats(carver, 2 * width);
}

void
nn_tape_init(nn_tape *tape, const policy_spec *spec, uint32_t rows_max)
{
    *tape = (nn_tape){0};
    nn_net_shape(&tape->net, spec, rows_max);
    nn_carver carver = {0};
    tape_carve(tape, spec, &carver);
    tape->block = oct_alloc(carver.used);
    carver = (nn_carver){.base = tape->block};
    tape_carve(tape, spec, &carver);
}

void
nn_tape_fini(nn_tape *tape)
{
    free(tape->block);
    *tape = (nn_tape){0};
}

const float *
nn_tape_forward(nn_tape *tape, const float *x, uint32_t rows)
{
    tape->x = x;
    return nn_net_forward(&tape->net, x, rows);
}

// dy[rows][outputs] at the layer's outputs becomes the gradient at W x + b.
static void
layer_unfinish(const nn_net *net, const nn_layer *layer, float *dy, uint32_t rows, float *gradient,
               float *spare)
{
    const nn_vec_ops *vec = net->vec;
    size_t count = (size_t)rows * layer->outputs;
    switch (layer->activation) {
    case POLICY_LINEAR:
        break;
    case POLICY_RELU:
        vec->relu_backward(dy, layer->y, count);
        break;
    case POLICY_TANH:
        vec->tanh_backward(dy, layer->y, count);
        break;
    case POLICY_ELU:
        vec->elu_backward(dy, layer->y, count);
        break;
    }
    if (layer->layer_norm) {
        float *dgain = gradient != NULL ? gradient + layer->at.gain : spare;
        float *doffset = gradient != NULL ? gradient + layer->at.offset : spare + layer->outputs;
        vec->norm_backward(dy, dgain, doffset, layer->normalised, layer->inverse_std,
                           net->weights + layer->at.gain, rows, layer->outputs);
    }
}

// The gradients of a layer's weights and inputs (NULL: not wanted) from dy at W x + b.
static void
layer_backward(const nn_net *net, const nn_layer *layer, const float *dy, const float *x,
               uint32_t rows, float *gradient, float *dx)
{
    const float *weight = net->weights + layer->at.weight;
    float *dweight = gradient != NULL ? gradient + layer->at.weight : NULL;
    if (gradient != NULL) {
        net->vec->column_sums(gradient + layer->at.bias, dy, rows * layer->places, layer->units);
    }
    if (layer->conv.kernel > 0) {
        nn_conv_backward(layer, dweight, dx, dy, x, weight, net->patches, rows);
        return;
    }
    if (dweight != NULL) {
        nn_gemm_tn(dweight, dy, x, layer->outputs, layer->inputs, rows);
    }
    if (dx != NULL) {
        nn_gemm_nn(dx, dy, weight, rows, layer->inputs, layer->outputs);
    }
}

void
nn_tape_backward(nn_tape *tape, float *dy, uint32_t rows, float *gradient, float *dx)
{
    const nn_net *net = &tape->net;
    OCT_ASSERT(rows >= 1 && rows <= net->rows_max && tape->x != NULL);
    for (uint32_t l = net->layer_count; l-- > 0;) {
        const nn_layer *layer = &net->layers[l];
        const float *x = l > 0 ? net->layers[l - 1].y : tape->x;
        float *below = l > 0 ? tape->delta[l % 2] : dx;
        layer_unfinish(net, layer, dy, rows, gradient, tape->spare);
        layer_backward(net, layer, dy, x, rows, gradient, below);
        dy = below;
    }
}
