#include "nn/nn_net.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "nn/nn_conv.h"
#include "nn/nn_gemm.h"

#define CARVE_ALIGN 64

float *
nn_carver_floats(nn_carver *carver, size_t count)
{
    size_t bytes = (count * sizeof(float) + CARVE_ALIGN - 1) & ~(size_t)(CARVE_ALIGN - 1);
    char *at = carver->base == NULL ? NULL : carver->base + carver->used;
    carver->used += bytes;
    return (float *)(void *)at;
}

void
nn_net_shape(nn_net *net, const policy_spec *spec, size_t param_count, uint32_t rows_max)
{
    OCT_ASSERT(policy_spec_check(spec, NULL, 0) == OCT_OK && rows_max >= 1);
    *net = (nn_net){
        .vec = nn_vec(),
        .rows_max = rows_max,
        .layer_count = spec->layer_count,
        .param_count = param_count,
        .weight_count = policy_spec_params(spec),
    };
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        net->layers[l] = (nn_layer){
            .inputs = layer->inputs,
            .outputs = layer->outputs,
            .activation = layer->activation,
            .layer_norm = layer->layer_norm,
            .units = policy_layer_rows(layer),
            .columns = policy_layer_columns(layer),
            .places = policy_layer_places(layer),
            .conv = layer->conv,
            .at = policy_spec_layer(spec, l),
        };
        nn_gemm_reserve(rows_max * policy_layer_places(layer), policy_layer_rows(layer),
                        policy_layer_columns(layer));
    }
}

void
nn_net_carve_params(nn_net *net, nn_carver *carver)
{
    net->params = nn_carver_floats(carver, net->param_count);
    net->weights = net->param_count == net->weight_count ? net->params : NULL;
}

// Without a tape, layers write into two buffers by turns; a layer norm keeps nothing.
static void
net_carve(nn_net *net, const policy_spec *spec, nn_carver *carver)
{
    size_t rows = net->rows_max;
    size_t width = policy_spec_width(spec);
    nn_net_carve_params(net, carver);
    float *turns[2] = {nn_carver_floats(carver, rows * width),
                       nn_carver_floats(carver, rows * width)};
    float *normalised = nn_carver_floats(carver, rows * width);
    float *inverse_std = nn_carver_floats(carver, rows);
    net->patches = nn_carver_floats(carver, nn_conv_patch_floats(spec, net->rows_max));
    for (uint32_t l = 0; l < net->layer_count; l++) {
        net->layers[l].y = turns[l % 2];
        net->layers[l].normalised = normalised;
        net->layers[l].inverse_std = inverse_std;
    }
}

void
nn_net_init_params(nn_net *net, const policy_spec *spec, size_t param_count, uint32_t rows_max)
{
    nn_net_shape(net, spec, param_count, rows_max);
    nn_carver carver = {0};
    net_carve(net, spec, &carver);
    net->block = oct_alloc(carver.used);
    carver = (nn_carver){.base = net->block};
    net_carve(net, spec, &carver);
}

void
nn_net_init(nn_net *net, const policy_spec *spec, uint32_t rows_max)
{
    nn_net_init_params(net, spec, policy_spec_params(spec), rows_max);
}

void
nn_net_fini(nn_net *net)
{
    free(net->block);
    *net = (nn_net){0};
}

static float
cut_normal(oct_rng *rng)
{
    float x;
    do {
        x = oct_rng_normal(rng);
    } while (fabsf(x) > 2.0f);
    return x;
}

void
nn_net_randomise(nn_net *net, oct_rng *rng)
{
    OCT_ASSERT(net->param_count == net->weight_count);
    memset(net->params, 0, net->param_count * sizeof(*net->params));
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        float deviation = 1.0f / sqrtf((float)layer->columns);
        for (size_t i = layer->at.weight; i < layer->at.bias; i++) {
            net->params[i] = deviation * cut_normal(rng);
        }
        for (size_t i = layer->at.gain; i < layer->at.offset; i++) {
            net->params[i] = 1.0f;
        }
    }
}

static_assert(POLICY_LINEAR == 0 && POLICY_RELU == 1 && POLICY_TANH == 2 && POLICY_ELU == 3,
              "nn_vec_ops' arrays have policy_activation's order");

typedef struct unfinished {
    const nn_vec_ops *vec;
    const nn_layer *layer;
    const float *weights;
} unfinished;

// Bias, norm and activation of rows of the batch that hold W x.
static void
layer_finish(void *arg, uint32_t first, uint32_t rows)
{
    const unfinished *u = arg;
    const nn_layer *layer = u->layer;
    const float *bias = u->weights + layer->at.bias;
    float *y = layer->y + (size_t)first * layer->outputs;
    if (layer->layer_norm) {
        float *normalised = layer->normalised + (size_t)first * layer->outputs;
        u->vec->bias_norm[layer->activation](y, normalised, layer->inverse_std + first, bias,
                                             u->weights + layer->at.gain,
                                             u->weights + layer->at.offset, rows, layer->units);
    } else {
        u->vec->bias[layer->activation](y, bias, rows * layer->places, layer->units);
    }
}

const float *
nn_net_forward(nn_net *net, const float *x, uint32_t rows)
{
    OCT_ASSERT(rows >= 1 && rows <= net->rows_max && net->weights != NULL);
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        const float *weight = net->weights + layer->at.weight;
        unfinished u = {.vec = net->vec, .layer = layer, .weights = net->weights};
        if (layer->conv.kernel > 0) {
            nn_conv_forward(layer, layer->y, x, weight, net->patches, rows);
            layer_finish(&u, 0, rows);
        } else {
            nn_gemm_nt_then(layer->y, x, weight, rows, layer->outputs, layer->inputs, layer_finish,
                            &u);
        }
        x = layer->y;
    }
    return x;
}

void
nn_net_follow(nn_net *to, const nn_net *from, float rate)
{
    OCT_ASSERT(to->param_count == from->param_count);
    if (rate == 1.0f) {
        memcpy(to->params, from->params, to->param_count * sizeof(*to->params));
    } else {
        to->vec->blend(to->params, from->params, rate, to->param_count);
    }
}
