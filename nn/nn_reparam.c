// Dueling and noisy networks: maps the learned numbers to the weights of a plain network, and
// gradients back.
#include "nn/nn_reparam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// ---- layout

static void
block_add(nn_reparam *map, uint32_t inputs, uint32_t outputs, size_t weight)
{
    map->blocks[map->block_count++] = (nn_reparam_block){
        .inputs = inputs,
        .outputs = outputs,
        .weight = weight,
        .bias = weight + (size_t)inputs * outputs,
        .noise = map->noise_count,
    };
    map->noise_count += (size_t)inputs + outputs;
}

static size_t
block_end(const nn_reparam_block *block)
{
    return block->bias + block->outputs;
}

// Appends the last layer's blocks; sets mean_count.
static void
last_shape(nn_reparam *map, const policy_spec *spec)
{
    const policy_layer *last = &spec->layers[spec->layer_count - 1];
    if (!map->dueling) {
        block_add(map, last->inputs, last->outputs, map->last);
    } else {
        OCT_ASSERT(last->inputs % 2 == 0);
        map->stream = last->inputs / 2;
        map->actions = spec->action_count;
        map->atoms = last->outputs / spec->action_count;
        block_add(map, map->stream, map->atoms, map->last);
        block_add(map, map->stream, last->outputs, block_end(&map->blocks[map->block_count - 1]));
    }
    map->mean_count = block_end(&map->blocks[map->block_count - 1]);
}

void
nn_reparam_init(nn_reparam *map, nn_context *context, const policy_spec *spec,
                const nn_reparam_options *options)
{
    OCT_ASSERT(policy_spec_check(spec, NULL) == OCT_OK);
    OCT_ASSERT(spec->head == POLICY_HEAD_VALUES || spec->head == POLICY_HEAD_ATOMS);
    uint32_t last = spec->layer_count - 1;
    OCT_ASSERT(spec->layers[last].kind == POLICY_DENSE && !spec->layers[last].layer_norm);
    *map = (nn_reparam){
        .dueling = options->dueling,
        .noisy = options->noisy,
        .sigma = options->sigma,
        .weight_count = policy_spec_params(spec),
        .last = policy_spec_layer(spec, last).weight,
    };
    for (uint32_t l = 0; l < last; l++) {
        const policy_layer *layer = &spec->layers[l];
        if (layer->kind == POLICY_DENSE) {
            block_add(map, layer->inputs, layer->outputs, policy_spec_layer(spec, l).weight);
        }
    }
    last_shape(map, spec);
    map->param_count = map->mean_count * (map->noisy ? 2 : 1);
    if (map->noisy) {
        map->scratch = nn_context_alloc(context, map->mean_count * sizeof(*map->scratch));
    } else {
        map->noise_count = 0;
    }
}

void
nn_reparam_fini(nn_reparam *map)
{
    free(map->scratch);
    *map = (nn_reparam){0};
}

// ---- first values

static void
dueling_begin(const nn_reparam *map, float *params, const float *weights)
{
    const nn_reparam_block *value = &map->blocks[map->block_count - 2];
    const nn_reparam_block *advantage = value + 1;
    size_t H = map->stream;
    const float scale = sqrtf(2.0f);
    for (size_t o = 0; o < advantage->outputs; o++) {
        const float *row = weights + map->last + o * 2 * H;
        for (size_t i = 0; i < H; i++) {
            if (o < value->outputs) {
                params[value->weight + o * H + i] = scale * row[i];
            }
            params[advantage->weight + o * H + i] = scale * row[H + i];
        }
    }
    memset(params + value->bias, 0, value->outputs * sizeof(*params));
    memset(params + advantage->bias, 0, advantage->outputs * sizeof(*params));
}

static void
deviations_begin(const nn_reparam *map, float *deviations)
{
    memset(deviations, 0, map->mean_count * sizeof(*deviations));
    for (uint32_t b = 0; b < map->block_count; b++) {
        const nn_reparam_block *block = &map->blocks[b];
        float deviation = map->sigma / sqrtf((float)block->inputs);
        for (size_t i = block->weight; i < block_end(block); i++) {
            deviations[i] = deviation;
        }
    }
}

void
nn_reparam_begin(const nn_reparam *map, float *params, const float *weights)
{
    if (map->dueling) {
        memcpy(params, weights, map->last * sizeof(*params));
        dueling_begin(map, params, weights);
    } else {
        memcpy(params, weights, map->weight_count * sizeof(*params));
    }
    if (map->noisy) {
        deviations_begin(map, params + map->mean_count);
    }
}

// ---- noise

void
nn_reparam_draw(const nn_reparam *map, float *noise, oct_rng *rng)
{
    for (size_t i = 0; i < map->noise_count; i++) {
        float e = oct_rng_normal(rng);
        noise[i] = copysignf(sqrtf(fabsf(e)), e);
    }
}

// out = mu + sigma * e over one block.
static void
block_perturb(const nn_reparam_block *block, float *out, const float *mu, const float *sigma,
              const float *noise)
{
    size_t I = block->inputs;
    const float *in = noise + block->noise, *outer = in + I;
    for (size_t o = 0; o < block->outputs; o++) {
        size_t row = block->weight + o * I;
        for (size_t i = 0; i < I; i++) {
            out[row + i] = mu[row + i] + sigma[row + i] * (outer[o] * in[i]);
        }
        out[block->bias + o] = mu[block->bias + o] + sigma[block->bias + o] * outer[o];
    }
}

// dsigma = dmean * e over one block.
static void
block_unperturb(const nn_reparam_block *block, float *dsigma, const float *dmean,
                const float *noise)
{
    size_t I = block->inputs;
    const float *in = noise + block->noise, *outer = in + I;
    for (size_t o = 0; o < block->outputs; o++) {
        size_t row = block->weight + o * I;
        for (size_t i = 0; i < I; i++) {
            dsigma[row + i] = dmean[row + i] * (outer[o] * in[i]);
        }
        dsigma[block->bias + o] = dmean[block->bias + o] * outer[o];
    }
}

// ---- dueling

// out[a][i] -= the mean of out[.][i] over all actions, for i < n; rows are stride numbers apart.
// The map is its own transpose, so gradients use it too.
static void
subtract_mean(float *out, size_t stride, uint32_t actions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (uint32_t a = 0; a < actions; a++) {
            sum += out[a * stride + i];
        }
        float mean = sum / (float)actions;
        for (uint32_t a = 0; a < actions; a++) {
            out[a * stride + i] -= mean;
        }
    }
}

// Computes the chain's last layer from the weights and biases of the two streams.
static void
dueling_fold(const nn_reparam *map, float *weights, const float *params)
{
    const nn_reparam_block *value = &map->blocks[map->block_count - 2];
    const nn_reparam_block *advantage = value + 1;
    size_t H = map->stream, N = map->atoms, outputs = advantage->outputs;
    float *W = weights + map->last, *bias = W + outputs * 2 * H;
    for (size_t o = 0; o < outputs; o++) {
        memcpy(W + o * 2 * H, params + value->weight + o % N * H, H * sizeof(*W));
        memcpy(W + o * 2 * H + H, params + advantage->weight + o * H, H * sizeof(*W));
        bias[o] = params[advantage->bias + o];
    }
    for (size_t n = 0; n < N; n++) {
        subtract_mean(W + n * 2 * H + H, N * 2 * H, map->actions, H);
    }
    subtract_mean(bias, N, map->actions, N);
    for (size_t o = 0; o < outputs; o++) {
        bias[o] += params[value->bias + o % N];
    }
}

// The transpose of dueling_fold.
static void
dueling_unfold(const nn_reparam *map, float *dparams, const float *dweights)
{
    const nn_reparam_block *value = &map->blocks[map->block_count - 2];
    const nn_reparam_block *advantage = value + 1;
    size_t H = map->stream, N = map->atoms, outputs = advantage->outputs;
    const float *dW = dweights + map->last, *dbias = dW + outputs * 2 * H;
    float *dvalue = dparams + value->weight, *dadvantage = dparams + advantage->weight;
    memset(dvalue, 0, (N * H + N) * sizeof(*dvalue));
    for (size_t o = 0; o < outputs; o++) {
        for (size_t i = 0; i < H; i++) {
            dvalue[o % N * H + i] += dW[o * 2 * H + i];
        }
        dparams[value->bias + o % N] += dbias[o];
        memcpy(dadvantage + o * H, dW + o * 2 * H + H, H * sizeof(*dadvantage));
    }
    memcpy(dparams + advantage->bias, dbias, outputs * sizeof(*dparams));
    subtract_mean(dadvantage, N * H, map->actions, N * H);
    subtract_mean(dparams + advantage->bias, N, map->actions, N);
}

// ---- both

void
nn_reparam_map(const nn_reparam *map, float *weights, const float *params, const float *noise)
{
    const float *means = params;
    if (map->noisy && noise != NULL) {
        memcpy(map->scratch, params, map->mean_count * sizeof(*params));
        for (uint32_t b = 0; b < map->block_count; b++) {
            block_perturb(&map->blocks[b], map->scratch, params, params + map->mean_count, noise);
        }
        means = map->scratch;
    }
    if (map->dueling) {
        memcpy(weights, means, map->last * sizeof(*weights));
        dueling_fold(map, weights, means);
    } else {
        memcpy(weights, means, map->weight_count * sizeof(*weights));
    }
}

void
nn_reparam_back(const nn_reparam *map, float *dparams, const float *dweights, const float *noise)
{
    if (map->dueling) {
        memcpy(dparams, dweights, map->last * sizeof(*dparams));
        dueling_unfold(map, dparams, dweights);
    } else {
        memcpy(dparams, dweights, map->weight_count * sizeof(*dparams));
    }
    if (!map->noisy) {
        return;
    }
    OCT_ASSERT(noise != NULL);
    float *deviations = dparams + map->mean_count;
    memset(deviations, 0, map->mean_count * sizeof(*deviations));
    for (uint32_t b = 0; b < map->block_count; b++) {
        block_unperturb(&map->blocks[b], deviations, dparams, noise);
    }
}
