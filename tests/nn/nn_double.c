// A network in double precision, forward and backward, written from the formulas to compare the
// fp32 code with.
#include "tests/nn/nn_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "tests/policy/exact_activation.h"

nn_double *
nn_double_create(const policy_spec *spec, uint32_t rows_max)
{
    nn_double *net = oct_alloc(sizeof(*net));
    size_t rows = rows_max;
    net->spec = *spec;
    net->rows_max = rows_max;
    net->param_count = policy_spec_params(spec);
    net->params = oct_alloc(net->param_count * sizeof(double));
    net->gradient = oct_alloc(net->param_count * sizeof(double));
    net->x[0] = oct_alloc(rows * spec->obs_count * sizeof(double));
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        size_t bytes = rows * spec->layers[l].outputs * sizeof(double);
        net->x[l + 1] = oct_alloc(bytes);
        net->h[l] = oct_alloc(bytes);
        net->unit[l] = oct_alloc(bytes);
        net->deviation[l] = oct_alloc(rows * sizeof(double));
    }
    return net;
}

void
nn_double_destroy(nn_double *net)
{
    for (uint32_t l = 0; l < net->spec.layer_count; l++) {
        free(net->x[l + 1]);
        free(net->h[l]);
        free(net->unit[l]);
        free(net->deviation[l]);
    }
    free(net->x[0]);
    free(net->params);
    free(net->gradient);
    free(net);
}

void
nn_double_set_params(nn_double *net, const float *params)
{
    for (size_t i = 0; i < net->param_count; i++) {
        net->params[i] = (double)params[i];
    }
}

// Whether a layer is the last of a block, which ends with + x of the block.
static bool
ends_block(const nn_double *net, uint32_t l)
{
    return net->residual && l >= 2 && l % 2 == 0 && l + 1 < net->spec.layer_count;
}

static void
row_norm(nn_double *net, uint32_t l, uint32_t row)
{
    policy_offsets at = policy_spec_layer(&net->spec, l);
    uint32_t O = net->spec.layers[l].outputs;
    double *h = net->h[l] + (size_t)row * O;
    double *unit = net->unit[l] + (size_t)row * O;
    double mean = 0, variance = 0;
    for (uint32_t o = 0; o < O; o++) {
        mean += h[o] / O;
    }
    for (uint32_t o = 0; o < O; o++) {
        variance += (h[o] - mean) * (h[o] - mean) / O;
    }
    net->deviation[l][row] = sqrt(variance + 1e-5);
    for (uint32_t o = 0; o < O; o++) {
        unit[o] = (h[o] - mean) / net->deviation[l][row];
        h[o] = unit[o] * net->params[at.gain + o] + net->params[at.offset + o];
    }
}

// Returns the index of the input under number k of the kernel at output position `place`, or -1 for
// a zero around the map.
static long
input_under(const policy_conv *c, uint32_t place, uint32_t k)
{
    const uint32_t across = policy_axis_positions(&c->columns), cell = k / c->channels;
    long row =
        (long)(place / across * c->rows.stride + cell / c->columns.kernel) - (long)c->rows.before;
    long column = (long)(place % across * c->columns.stride + cell % c->columns.kernel) -
                  (long)c->columns.before;
    if (row < 0 || row >= (long)c->rows.size || column < 0 || column >= (long)c->columns.size) {
        return -1;
    }
    return (row * (long)c->columns.size + column) * (long)c->channels + (long)(k % c->channels);
}

// h[outputs] of one row before the activation, by the definition of a convolution (policy_spec.h).
static void
row_convolve(const nn_double *net, uint32_t l, const double *x, double *h)
{
    policy_offsets at = policy_spec_layer(&net->spec, l);
    const policy_layer *layer = &net->spec.layers[l];
    const uint32_t F = layer->conv.filters, columns = policy_layer_columns(layer);
    for (uint32_t o = 0; o < layer->outputs; o++) {
        h[o] = net->params[at.bias + o % F];
        for (uint32_t k = 0; k < columns; k++) {
            long from = input_under(&layer->conv, o / F, k);
            double input = from < 0 ? 0 : x[from];
            h[o] += net->params[at.weight + (size_t)(o % F) * columns + k] * input;
        }
    }
}

// The gradient g[outputs] at the sums of a convolution to its parameters and to below[inputs].
static void
row_convolve_backward(nn_double *net, uint32_t l, const double *x, const double *g, double *below)
{
    policy_offsets at = policy_spec_layer(&net->spec, l);
    const policy_layer *layer = &net->spec.layers[l];
    const uint32_t F = layer->conv.filters, columns = policy_layer_columns(layer);
    for (uint32_t o = 0; o < layer->outputs; o++) {
        net->gradient[at.bias + o % F] += g[o];
        for (uint32_t k = 0; k < columns; k++) {
            long from = input_under(&layer->conv, o / F, k);
            size_t w = at.weight + (size_t)(o % F) * columns + k;
            if (from >= 0) {
                net->gradient[w] += g[o] * x[from];
                below[from] += g[o] * net->params[w];
            }
        }
    }
}

// h[outputs] of one row before the activation, by the definition of a pool. Numbers under the
// kernel are taken in order, and of equal numbers the first is the largest.
static void
row_pool(const policy_layer *layer, const double *x, double *h)
{
    const policy_conv *c = &layer->conv;
    const uint32_t cells = c->rows.kernel * c->columns.kernel, C = c->channels;
    for (uint32_t o = 0; o < layer->outputs; o++) {
        double sum = 0, largest = -INFINITY, count = 0;
        for (uint32_t cell = 0; cell < cells; cell++) {
            long from = input_under(c, o / C, cell * C + o % C);
            if (from >= 0) {
                sum += x[from];
                largest = fmax(largest, x[from]);
                count++;
            }
        }
        h[o] = layer->kind == POLICY_MAX_POOL ? largest : sum / count;
    }
}

// The gradient g[outputs] at the results of a pool to below[inputs].
static void
row_pool_backward(const policy_layer *layer, const double *x, const double *g, double *below)
{
    const policy_conv *c = &layer->conv;
    const uint32_t cells = c->rows.kernel * c->columns.kernel, C = c->channels;
    for (uint32_t o = 0; o < layer->outputs; o++) {
        long under[POLICY_KERNEL_MAX * POLICY_KERNEL_MAX], largest = -1;
        uint32_t count = 0;
        for (uint32_t cell = 0; cell < cells; cell++) {
            long from = input_under(c, o / C, cell * C + o % C);
            if (from >= 0) {
                largest = largest < 0 || x[from] > x[largest] ? from : largest;
                under[count++] = from;
            }
        }
        for (uint32_t i = 0; layer->kind == POLICY_MEAN_POOL && i < count; i++) {
            below[under[i]] += g[o] / count;
        }
        if (layer->kind == POLICY_MAX_POOL) {
            below[largest] += g[o];
        }
    }
}

const double *
nn_double_forward(nn_double *net, const float *x, uint32_t rows)
{
    for (size_t i = 0; i < (size_t)rows * net->spec.obs_count; i++) {
        net->x[0][i] = (double)x[i];
    }
    for (uint32_t l = 0; l < net->spec.layer_count; l++) {
        policy_offsets at = policy_spec_layer(&net->spec, l);
        const policy_layer *layer = &net->spec.layers[l];
        uint32_t I = layer->inputs, O = layer->outputs;
        for (uint32_t row = 0; row < rows; row++) {
            double *h = net->h[l] + (size_t)row * O;
            if (layer->kind == POLICY_CONV) {
                row_convolve(net, l, net->x[l] + (size_t)row * I, h);
            } else if (policy_is_pool(layer->kind)) {
                row_pool(layer, net->x[l] + (size_t)row * I, h);
            }
            for (uint32_t o = 0; layer->kind == POLICY_DENSE && o < O; o++) {
                h[o] = net->params[at.bias + o];
                for (uint32_t i = 0; i < I; i++) {
                    h[o] +=
                        net->params[at.weight + (size_t)o * I + i] * net->x[l][(size_t)row * I + i];
                }
            }
            if (layer->layer_norm) {
                row_norm(net, l, row);
            }
            for (uint32_t o = 0; o < O; o++) {
                size_t at_o = (size_t)row * O + o;
                net->x[l + 1][at_o] = exact_activation(layer->activation, h[o]) +
                                      (ends_block(net, l) ? net->x[l - 1][at_o] : 0);
            }
        }
    }
    return net->x[net->spec.layer_count];
}

// g[O], the gradient at the outputs of a norm, becomes the one at its inputs.
static void
row_norm_backward(nn_double *net, uint32_t l, uint32_t row, double *g)
{
    policy_offsets at = policy_spec_layer(&net->spec, l);
    uint32_t O = net->spec.layers[l].outputs;
    const double *unit = net->unit[l] + (size_t)row * O;
    double mean = 0, along = 0;
    for (uint32_t o = 0; o < O; o++) {
        net->gradient[at.offset + o] += g[o];
        net->gradient[at.gain + o] += g[o] * unit[o];
        g[o] *= net->params[at.gain + o];
        mean += g[o] / O;
        along += g[o] * unit[o] / O;
    }
    for (uint32_t o = 0; o < O; o++) {
        g[o] = (g[o] - mean - unit[o] * along) / net->deviation[l][row];
    }
}

// One row: g[O] at the layer's outputs to below[I].
static void
row_backward(nn_double *net, uint32_t l, uint32_t row, double *g, double *below)
{
    policy_offsets at = policy_spec_layer(&net->spec, l);
    const policy_layer *layer = &net->spec.layers[l];
    uint32_t I = layer->inputs, O = layer->outputs;
    for (uint32_t o = 0; o < O; o++) {
        g[o] *= exact_slope(layer->activation, net->h[l][(size_t)row * O + o]);
    }
    if (layer->layer_norm) {
        row_norm_backward(net, l, row, g);
    }
    memset(below, 0, I * sizeof(*below));
    const double *x = net->x[l] + (size_t)row * I;
    if (layer->kind == POLICY_CONV) {
        row_convolve_backward(net, l, x, g, below);
        return;
    }
    if (policy_is_pool(layer->kind)) {
        row_pool_backward(layer, x, g, below);
        return;
    }
    for (uint32_t o = 0; o < O; o++) {
        net->gradient[at.bias + o] += g[o];
        for (uint32_t i = 0; i < I; i++) {
            size_t w = at.weight + (size_t)o * I + i;
            net->gradient[w] += g[o] * x[i];
            below[i] += g[o] * net->params[w];
        }
    }
}

void
nn_double_backward(nn_double *net, const double *dy, uint32_t rows, double *dx)
{
    uint32_t width = policy_spec_width(&net->spec);
    uint32_t outputs = policy_spec_outputs(&net->spec);
    double *turns[2] = {oct_alloc(width * sizeof(double)), oct_alloc(width * sizeof(double))};
    double *to[POLICY_LAYERS_MAX + 1]; // what else x[l] of the row gets, from the block it begins
    for (uint32_t l = 0; l <= net->spec.layer_count; l++) {
        to[l] = oct_alloc(width * sizeof(double));
    }
    memset(net->gradient, 0, net->param_count * sizeof(double));
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t l = net->spec.layer_count;
        memcpy(turns[l % 2], dy + (size_t)row * outputs, outputs * sizeof(double));
        for (; l > 0; l--) {
            for (uint32_t o = 0; ends_block(net, l + 1) && o < net->spec.layers[l - 1].outputs;
                 o++) {
                turns[l % 2][o] += to[l][o];
            }
            if (ends_block(net, l - 1)) {
                memcpy(to[l - 2], turns[l % 2], width * sizeof(double));
            }
            row_backward(net, l - 1, row, turns[l % 2], turns[(l - 1) % 2]);
        }
        if (dx != NULL) {
            memcpy(dx + (size_t)row * net->spec.obs_count, turns[0],
                   net->spec.obs_count * sizeof(double));
        }
    }
    for (uint32_t l = 0; l <= net->spec.layer_count; l++) {
        free(to[l]);
    }
    free(turns[0]);
    free(turns[1]);
}
