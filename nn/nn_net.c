// Networks in fp32: layout of the parameters in one block, initial weights, forward pass, Polyak
// average.
#include "nn/nn_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "nn/nn_gemm.h"
#include "nn/nn_kind.h"

#define CARVE_ALIGN 64 // a cache line, and the widest vector

static const nn_kind_ops *const kinds[] = {
    [POLICY_DENSE] = &nn_dense,
    [POLICY_CONV] = &nn_conv,
    [POLICY_MAX_POOL] = &nn_max_pool,
    [POLICY_MEAN_POOL] = &nn_mean_pool,
};

float *
nn_carver_floats(nn_carver *carver, size_t count)
{
    size_t bytes = (count * sizeof(float) + CARVE_ALIGN - 1) & ~(size_t)(CARVE_ALIGN - 1);
    char *at = carver->base == NULL ? NULL : carver->base + carver->used;
    carver->used += bytes;
    return (float *)(void *)at;
}

// Returns true if the hidden layers can be a first layer and blocks of two: an odd number, all
// dense and equally wide.
static bool
has_blocks(const policy_spec *spec)
{
    bool has = spec->layer_count % 2 == 0;
    for (uint32_t l = 0; l + 1 < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        has &= layer->kind == POLICY_DENSE && layer->outputs == spec->layers[0].outputs;
    }
    return has;
}

oct_err
nn_net_make_residual(policy_spec *spec)
{
    if (!has_blocks(spec)) {
        return OCT_EINVAL;
    }
    for (uint32_t l = 0; l + 1 < spec->layer_count; l++) {
        policy_layer *layer = &spec->layers[l];
        layer->layer_norm = true;
        layer->activation = l > 0 && l % 2 == 0 ? POLICY_LINEAR : layer->activation;
    }
    return OCT_OK;
}

// Marks the layers of blocks. The outputs of layers 0, 2, 4, ... bypass the next block and must
// survive while that block computes, so they alternate between two spaces: NN_SPACE_SKIP for
// layers 0, 4, 8, ..., and NN_SPACE_EVEN for the others. Layers 1, 3, 5, ... use NN_SPACE_ODD.
static void
layer_shape_block(nn_net *net, uint32_t l, uint32_t layer_count)
{
    nn_layer *layer = &net->layers[l];
    bool gives = l % 2 == 0 && l + 1 < layer_count;
    layer->skip_end = gives && l > 0;
    layer->skip_begin = gives && l + 3 < layer_count;
    OCT_ASSERT(!gives || layer->layer_norm);
    OCT_ASSERT(!layer->skip_end || layer->activation == POLICY_LINEAR);
    layer->space = gives && l % 4 == 0 ? NN_SPACE_SKIP : layer->space;
    (void)nn_context_space(net->context, NN_SPACE_SKIP, (size_t)net->rows_max * layer->outputs);
}

void
nn_net_shape(nn_net *net, nn_context *context, const nn_shape *shape)
{
    const policy_spec *spec = shape->spec;
    uint32_t rows_max = shape->rows_max;
    OCT_ASSERT(!shape->residual || has_blocks(spec));
    OCT_ASSERT(policy_spec_check(spec, NULL) == OCT_OK && rows_max >= 1);
    *net = (nn_net){
        .context = context,
        .vec = nn_vec(),
        .rows_max = rows_max,
        .layer_count = spec->layer_count,
        .param_count = shape->param_count,
        .weight_count = policy_spec_params(spec),
    };
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        net->layers[l] = (nn_layer){
            .inputs = layer->inputs,
            .outputs = layer->outputs,
            .activation = layer->activation,
            .fused = layer->activation < NN_FUSED ? layer->activation : POLICY_LINEAR,
            .layer_norm = layer->layer_norm,
            .units = policy_layer_rows(layer),
            .columns = policy_layer_columns(layer),
            .places = policy_layer_places(layer),
            .kind = layer->kind,
            .ops = kinds[layer->kind],
            .conv = layer->conv,
            .at = policy_spec_layer(spec, l),
            .space = l % 2 == 0 ? NN_SPACE_EVEN : NN_SPACE_ODD,
        };
        if (shape->residual) {
            layer_shape_block(net, l, spec->layer_count);
        }
        // A layer's values may be in either space: forward uses the space of this layer, backward
        // the other.
        (void)nn_net_rows(context, l, (size_t)rows_max * layer->outputs);
        (void)nn_net_rows(context, l + 1, (size_t)rows_max * layer->outputs);
        net->layers[l].ops->reserve(context, &net->layers[l], rows_max);
    }
}

float *
nn_net_rows(nn_context *context, uint32_t turn, size_t count)
{
    return nn_context_space(context, turn % 2 == 0 ? NN_SPACE_EVEN : NN_SPACE_ODD, count);
}

void
nn_net_carve_params(nn_net *net, nn_carver *carver)
{
    net->params = nn_carver_floats(carver, net->param_count);
    net->fetched = net->params;
    net->weights = net->param_count == net->weight_count ? net->fetched : NULL;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        nn_layer *layer = &net->layers[l];
        layer->panels.room = nn_gemm_panel_units(net->context, layer->units, layer->columns);
        layer->panels.units = (uint32_t *)(void *)nn_carver_floats(carver, layer->panels.room);
    }
}

// Without a tape only the outputs of the last layer are kept, and all layers share one inverse_std.
static void
net_carve(nn_net *net, nn_carver *carver)
{
    size_t rows = net->rows_max;
    nn_layer *last = &net->layers[net->layer_count - 1];
    nn_net_carve_params(net, carver);
    float *inverse_std = nn_carver_floats(carver, rows);
    for (uint32_t l = 0; l < net->layer_count; l++) {
        net->layers[l].inverse_std = inverse_std;
    }
    last->y = nn_carver_floats(carver, rows * last->outputs);
}

static void
net_init(nn_net *net, nn_context *context, const nn_shape *shape)
{
    nn_net_shape(net, context, shape);
    nn_carver carver = {0};
    net_carve(net, &carver);
    net->block = nn_context_alloc(context, carver.used);
    carver = (nn_carver){.base = net->block};
    net_carve(net, &carver);
}

void
nn_net_init(nn_net *net, nn_context *context, const policy_spec *spec, uint32_t rows_max)
{
    net_init(net, context, &(nn_shape){spec, false, policy_spec_params(spec), rows_max});
}

void
nn_net_init_params(nn_net *net, nn_context *context, const policy_spec *spec, size_t param_count,
                   uint32_t rows_max)
{
    net_init(net, context, &(nn_shape){spec, false, param_count, rows_max});
}

void
nn_net_init_residual(nn_net *net, nn_context *context, const policy_spec *spec, uint32_t rows_max)
{
    net_init(net, context, &(nn_shape){spec, true, policy_spec_params(spec), rows_max});
}

void
nn_net_fini(nn_net *net)
{
    free(net->block);
    *net = (nn_net){0};
}

// A standard normal number with |x| <= 2.
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

// Returns the sum of a[i] * b[i]: element i is added to lane i mod 8, then the lanes in order.
static double
lanes_dot(const double *restrict a, const double *restrict b, uint32_t n)
{
    double lanes[8] = {0}, sum = 0;
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (uint32_t lane = 0; lane < 8; lane++) {
            lanes[lane] += a[i + lane] * b[i + lane];
        }
    }
    for (uint32_t lane = 0; i + lane < n; lane++) {
        lanes[lane] += a[i + lane] * b[i + lane];
    }
    for (uint32_t lane = 0; lane < 8; lane++) {
        sum += lanes[lane];
    }
    return sum;
}

// Makes the rows of x[rows][columns], rows <= columns, orthogonal and of length 1: Gram-Schmidt,
// twice for each row (Giraud et al. 2005: twice is enough).
static void
rows_orthogonalise(double *x, uint32_t rows, uint32_t columns)
{
    for (uint32_t pass = 0; pass < 2 * rows; pass++) {
        double *row = x + (size_t)(pass / 2) * columns;
        for (uint32_t k = 0; k < pass / 2; k++) {
            const double *other = x + (size_t)k * columns;
            double dot = lanes_dot(row, other, columns);
            for (uint32_t i = 0; i < columns; i++) {
                row[i] -= dot * other[i];
            }
        }
        double scale = 1 / sqrt(lanes_dot(row, row, columns));
        for (uint32_t i = 0; i < columns; i++) {
            row[i] *= scale;
        }
    }
}

static void
layer_orthogonalise(const nn_layer *layer, float *params, oct_rng *rng, float gain)
{
    uint32_t units = layer->units, columns = layer->columns;
    bool is_tall = units > columns;
    uint32_t few = is_tall ? columns : units, many = is_tall ? units : columns;
    double *x = oct_alloc((size_t)few * many * sizeof(double));
    for (size_t i = 0; i < (size_t)few * many; i++) {
        x[i] = (double)oct_rng_normal(rng);
    }
    rows_orthogonalise(x, few, many);
    float *weight = params + layer->at.weight;
    for (uint32_t o = 0; o < units; o++) {
        for (uint32_t i = 0; i < columns; i++) {
            double entry = is_tall ? x[(size_t)i * many + o] : x[(size_t)o * many + i];
            weight[(size_t)o * columns + i] = gain * (float)entry;
        }
    }
    free(x);
}

void
nn_net_orthogonalise(nn_net *net, oct_rng *rng, float gain, float last_gain)
{
    OCT_ASSERT(net->param_count == net->weight_count);
    memset(net->params, 0, net->param_count * sizeof(*net->params));
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        bool is_last = l + 1 == net->layer_count;
        layer_orthogonalise(layer, net->params, rng, is_last ? last_gain : gain);
        for (size_t i = layer->at.gain; i < layer->at.offset; i++) {
            net->params[i] = 1.0f;
        }
    }
}

// What layer_finish needs to complete a product.
typedef struct unfinished {
    const nn_vec_ops *vec;
    const nn_layer *layer;
    float *y;          // [rows][outputs] of the whole batch
    const float *skip; // [rows][outputs], the block's inputs; NULL: the layer closes no block
    const float *weights;
} unfinished;

// Applies a fused activation without a bias.
static void
activate(const nn_vec_ops *vec, policy_activation activation, float *y, size_t count)
{
    static const float zeros[512];
    for (size_t at = 0; activation != POLICY_LINEAR && at < count; at += OCT_COUNTOF(zeros)) {
        vec->bias[activation](y + at, zeros, 1, (uint32_t)OCT_MIN(count - at, OCT_COUNTOF(zeros)));
    }
}

// Completes rows that hold W x: adds the bias, normalises, activates, and adds the block's inputs.
// Rows of a pool are activated only.
static void
layer_finish(void *arg, uint32_t first, uint32_t rows)
{
    const unfinished *u = arg;
    const nn_layer *layer = u->layer;
    const float *bias = u->weights + layer->at.bias;
    const size_t at = (size_t)first * layer->outputs;
    float *y = u->y + at;
    if (layer->layer_norm) {
        float *normalised = layer->normalised == NULL ? NULL : layer->normalised + at;
        u->vec->bias_norm[layer->fused](y, normalised, layer->inverse_std + first, bias,
                                        u->weights + layer->at.gain, u->weights + layer->at.offset,
                                        rows, layer->units);
    } else if (layer->units > 0) {
        u->vec->bias[layer->fused](y, bias, rows * layer->places, layer->units);
    } else {
        activate(u->vec, layer->fused, y, (size_t)rows * layer->outputs);
    }
    if (layer->fused != layer->activation) {
        u->vec->curve[layer->activation](y, layer->kept == NULL ? NULL : layer->kept + at,
                                         (size_t)rows * layer->outputs);
    }
    if (u->skip != NULL) {
        u->vec->add(y, u->skip + at, (size_t)rows * layer->outputs);
    }
}

void
nn_net_changed(nn_net *net)
{
    for (uint32_t l = 0; l < net->layer_count; l++) {
        net->layers[l].panels.ops = NULL;
    }
}

const float *
nn_net_forward(nn_net *net, const float *x, uint32_t rows)
{
    nn_net_changed(net);
    return nn_net_forward_again(net, x, rows);
}

const float *
nn_net_forward_again(nn_net *net, const float *x, uint32_t rows)
{
    OCT_ASSERT(rows >= 1 && rows <= net->rows_max && net->weights != NULL);
    const float *skip = NULL; // the inputs of the previous layer
    for (uint32_t l = 0; l < net->layer_count; l++) {
        nn_layer *layer = &net->layers[l];
        float *y = layer->y != NULL ? layer->y
                                    : nn_context_space(net->context, layer->space,
                                                       (size_t)rows * layer->outputs);
        unfinished u = {.vec = net->vec,
                        .layer = layer,
                        .y = y,
                        .skip = layer->skip_end ? skip : NULL,
                        .weights = net->weights};
        const nn_pass pass = {.context = net->context,
                              .layer = layer,
                              .W = net->weights + layer->at.weight,
                              .panels = &layer->panels,
                              .rows = rows,
                              .then = layer_finish,
                              .arg = &u};
        layer->ops->forward(&pass, y, x);
        skip = x;
        x = y;
    }
    return x;
}

void
nn_net_share(nn_net *net, nn_carver *carver, bool is_first)
{
    size_t bytes = net->param_count * sizeof(*net->params);
    float *shared = nn_carver_floats(carver, net->param_count);
    if (shared == NULL) {
        return;
    }
    if (is_first) {
        memcpy(shared, net->params, bytes);
    }
    net->params = shared;
}

// A target network stays the same over many fetches, so the packed weights are kept if nothing
// changed.
void
nn_net_fetch(nn_net *net)
{
    size_t bytes = net->param_count * sizeof(*net->params);
    if (net->params != net->fetched && memcmp(net->fetched, net->params, bytes) != 0) {
        memcpy(net->fetched, net->params, bytes);
        nn_net_changed(net);
    }
}

void
nn_net_polyak(nn_net *to, const nn_net *from, float rate)
{
    OCT_ASSERT(to->param_count == from->param_count);
    if (rate == 1.0f) {
        memcpy(to->params, from->params, to->param_count * sizeof(*to->params));
    } else {
        to->vec->blend(to->params, from->params, rate, to->param_count);
    }
}
