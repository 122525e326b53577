// The forward pass that keeps the values between layers, and the backward pass through them.
//
// Forward is nn_net_forward on layers that keep their outputs y, the inputs of an activation that
// is a curve (nn_vec.h) and, with a layer norm, the normalised rows and 1 / deviation. Backward
// then goes from the last layer to the first:
//
// 1. flush_small clears parts of the gradient dy that are too small to change a weight.
// 2. layer_unfinish turns rows of dy at a layer's outputs into the gradient at W x + b, in place:
//    it undoes the bypass of a block, the activation and the norm. It also adds the rows' sums to
//    the gradient of bias, gain and offset.
// 3. layer_gradient computes dW = dy^T x from the layer's inputs x, if the caller wants a gradient.
// 4. backward_inputs of the layer's kind (nn_kind.h) computes dx = dy W. It passes each block of
//    finished rows to layer_unfinish of the layer before, while the rows are still in a near cache.
//    So step 2 of that layer is done when it returns, and the loop continues with step 3.
// 5. At the first layer dx is computed only if the caller wants it, in inputs_backward.
//
// Gradients between layers alternate between two spaces of the context. In a residual net the
// gradient at the outputs of a block is kept in a third space while it also goes through the block,
// and is added at the block's inputs.
//
// Nothing here fails. A value that is not finite makes the returned sum of squares not finite; the
// caller checks this norm before it takes a step. x and the weights must not change between forward
// and backward: backward reads both.
#include "nn/nn_tape.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "nn/nn_gemm.h"
#include "nn/nn_kind.h"

static void
tape_carve(nn_tape *tape, const policy_spec *spec, nn_carver *carver)
{
    nn_net *net = &tape->net;
    size_t rows = net->rows_max;
    nn_net_carve_params(net, carver);
    for (uint32_t l = 0; l < net->layer_count; l++) {
        nn_layer *layer = &net->layers[l];
        layer->y = nn_carver_floats(carver, rows * layer->outputs);
        if (layer->layer_norm) {
            layer->normalised = nn_carver_floats(carver, rows * layer->outputs);
            layer->inverse_std = nn_carver_floats(carver, rows);
        }
        if (layer->fused != layer->activation) {
            layer->kept = nn_carver_floats(carver, rows * layer->outputs);
        }
    }
    tape->spare = nn_carver_floats(carver, 3 * (size_t)policy_spec_width(spec));
}

void
nn_tape_init_shape(nn_tape *tape, nn_context *context, const nn_shape *shape)
{
    const nn_layer *first = &tape->net.layers[0];
    *tape = (nn_tape){0};
    nn_net_shape(&tape->net, context, shape);
    (void)nn_context_space(context, NN_SPACE_COLUMNS, (size_t)first->units * first->columns);
    nn_carver carver = {0};
    tape_carve(tape, shape->spec, &carver);
    tape->block = nn_context_alloc(context, carver.used);
    carver = (nn_carver){.base = tape->block};
    tape_carve(tape, shape->spec, &carver);
}

void
nn_tape_init(nn_tape *tape, nn_context *context, const policy_spec *spec, uint32_t rows_max)
{
    nn_tape_init_shape(tape, context, &(nn_shape){spec, false, policy_spec_params(spec), rows_max});
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

const float *
nn_tape_forward_again(nn_tape *tape, const float *x, uint32_t rows)
{
    tape->x = x;
    return nn_net_forward_again(&tape->net, x, rows);
}

// The layer whose outputs receive a gradient from the product of the layer after it.
typedef struct upstream {
    const nn_net *net;
    const nn_layer *layer;
    float *dy;   // [rows][outputs], at the layer's outputs
    float *skip; // [rows][outputs], the gradient at the outputs of the following block; NULL: not
                 // in a block
    float *gradient;   // NULL: not wanted
    nn_norm_sums sums; // of the whole batch; every call of layer_unfinish adds its rows
} upstream;

// Clears the sums that go into gradient. Without a gradient they go to tape->spare and mean
// nothing.
static void
upstream_init(upstream *up, const nn_tape *tape, const nn_layer *layer, float *dy, float *gradient)
{
    float *spare = tape->spare;
    *up = (upstream){.net = &tape->net, .layer = layer, .dy = dy, .gradient = gradient};
    if (layer->skip_begin || layer->skip_end) {
        up->skip = nn_context_space(tape->net.context, NN_SPACE_SKIP,
                                    (size_t)tape->net.rows_max * layer->outputs);
    }
    up->sums = (nn_norm_sums){spare, spare + layer->outputs, spare + 2 * (size_t)layer->outputs};
    if (gradient != NULL) {
        float *from = gradient + layer->at.bias;
        up->sums = (nn_norm_sums){gradient + layer->at.gain, gradient + layer->at.offset, from};
        memset(from, 0, (layer->at.end - layer->at.bias) * sizeof(*from));
    }
}

// Adds the gradient that bypassed the following block to dy, which came through that block. If the
// layer closes a block itself, the sum bypasses this block, too.
static void
around_unfinish(const upstream *up, float *dy, size_t at, size_t count)
{
    if (up->layer->skip_begin) {
        up->net->vec->add(dy, up->skip + at, count);
    }
    if (up->layer->skip_end) {
        memcpy(up->skip + at, dy, count * sizeof(*dy));
    }
}

// Turns rows of dy at the layer's outputs into the gradient at W x + b, and adds their sums.
static void
layer_unfinish(void *arg, uint32_t first, uint32_t rows)
{
    const upstream *up = arg;
    const nn_layer *layer = up->layer;
    const nn_vec_ops *vec = up->net->vec;
    size_t at = (size_t)first * layer->outputs;
    float *dy = up->dy + at;
    const float *y = layer->y + at;
    if (up->skip != NULL) {
        around_unfinish(up, dy, at, (size_t)rows * layer->outputs);
    }
    if (layer->fused != layer->activation) {
        vec->curve_backward[layer->activation](dy, layer->kept + at, (size_t)rows * layer->outputs);
    }
    if (layer->layer_norm) {
        vec->norm_backward[layer->fused](dy, &up->sums, y, layer->normalised + at,
                                         layer->inverse_std + first,
                                         up->net->weights + layer->at.gain, rows, layer->units);
    } else if (up->gradient != NULL && layer->units > 0) {
        vec->backward_sums[layer->fused](dy, up->sums.db, y, rows * layer->places, layer->units);
    } else if (layer->fused != POLICY_LINEAR) {
        vec->backward[layer->fused](dy, y, (size_t)rows * layer->outputs);
    }
}

// Computes the gradient of a layer's weights from dy at W x + b and the layer's inputs x. Returns
// the sum of squares of all the layer's parameters: layer_unfinish has written the others.
static float
layer_gradient(const nn_net *net, const nn_layer *layer, float *gradient, const float *dy,
               const float *x, uint32_t rows)
{
    float *dW = gradient + layer->at.weight;
    const nn_pass pass = {.context = net->context, .layer = layer, .rows = rows};
    if (layer->ops->backward_weights != NULL) {
        layer->ops->backward_weights(&pass, dW, dy, x);
    }
    return net->vec->sum_of_squares(dW, layer->at.end - layer->at.weight);
}

// Returns the pass that computes dx of a layer from dy at W x + b.
static nn_pass
pass_back(const nn_net *net, const nn_layer *layer, uint32_t rows)
{
    const float *W = net->weights + layer->at.weight;
    return (nn_pass){.context = net->context, .layer = layer, .W = W, .rows = rows};
}

// Computes dx[rows][inputs - first] of a net's first layer, for its inputs from number first on. A
// part of the columns is copied, because the product wants a dense matrix.
static void
inputs_backward(const nn_tape *tape, float *dx, const float *dy, uint32_t rows, uint32_t first)
{
    const nn_net *net = &tape->net;
    const nn_layer *layer = &net->layers[0];
    const uint32_t count = layer->inputs - first;
    if (first == 0) {
        const nn_pass pass = pass_back(net, layer, rows);
        layer->ops->backward_inputs(&pass, dx, dy, tape->x);
        return;
    }
    OCT_ASSERT(layer->kind == POLICY_DENSE && first < layer->inputs);
    float *columns =
        nn_context_space(net->context, NN_SPACE_COLUMNS, (size_t)layer->outputs * count);
    const float *weight = net->weights + layer->at.weight + first;
    for (size_t unit = 0; unit < layer->outputs; unit++) {
        memcpy(columns + unit * count, weight + unit * layer->inputs, count * sizeof(*columns));
    }
    nn_gemm_nn(net->context, dx, dy, columns, rows, count, layer->outputs);
}

static float
tape_backward(nn_tape *tape, float *dy, uint32_t rows, float *gradient, float *dx, uint32_t first)
{
    const nn_net *net = &tape->net;
    OCT_ASSERT(rows >= 1 && rows <= net->rows_max && tape->x != NULL);
    float squares = 0;
    upstream up;
    // A softmax that is nearly deterministic has most of its probabilities below the smallest
    // normal number, and products with subnormal numbers take up to a hundred times as long.
    net->vec->flush_small(dy, (size_t)rows * net->layers[net->layer_count - 1].outputs);
    upstream_init(&up, tape, &net->layers[net->layer_count - 1], dy, gradient);
    layer_unfinish(&up, 0, rows);
    for (uint32_t l = net->layer_count; l-- > 0;) {
        const nn_layer *layer = &net->layers[l];
        const float *x = l > 0 ? net->layers[l - 1].y : tape->x;
        dy = up.dy;
        if (gradient != NULL) {
            squares += layer_gradient(net, layer, gradient, dy, x, rows);
        }
        if (l > 0) {
            float *below = nn_net_rows(net->context, l, (size_t)rows * layer->inputs);
            upstream_init(&up, tape, layer - 1, below, gradient);
            nn_pass pass = pass_back(net, layer, rows);
            pass.then = layer_unfinish;
            pass.arg = &up;
            layer->ops->backward_inputs(&pass, up.dy, dy, x);
        } else if (dx != NULL) {
            inputs_backward(tape, dx, dy, rows, first);
        }
    }
    return squares;
}

float
nn_tape_backward(nn_tape *tape, float *dy, uint32_t rows, float *gradient, float *dx)
{
    return tape_backward(tape, dy, rows, gradient, dx, 0);
}

void
nn_tape_backward_inputs(nn_tape *tape, float *dy, uint32_t rows, float *dx, uint32_t first)
{
    (void)tape_backward(tape, dy, rows, NULL, dx, first);
}
