// Running mean and deviation of observations, and the conversion of first layers to normalised
// observations and back.
#include "algos/algo_normaliser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

#define ALL ((1u << ALGO_NETWORKS_MAX) - 1) // bits of all networks

oct_err
algo_normaliser_check(const config_experiment *config, const policy_spec *spec, oct_reason *why)
{
    const config_ints *freeze = &config->learner.freeze;
    bool is_off = !config->algo.normalise_observations;
    if (!is_off && (spec->obs_dtype != POLICY_F32 || config_has_maps(config))) {
        return oct_refuse(why,
                          "algo.normalise_observations: only float32 observations into a dense "
                          "first layer are normalised");
    }
    for (uint32_t i = 0; !is_off && i < freeze->count; i++) {
        if (freeze->value[i] == 0) {
            return oct_refuse(why, "learner.freeze: layer 0 changes with the statistics of "
                                   "algo.normalise_observations");
        }
    }
    return OCT_OK;
}

void
algo_normaliser_init(algo_normaliser *n, nn_context *context, uint32_t count)
{
    size_t each = 1 + 2 * (size_t)count, doubles = 4 * (size_t)count + GROUP_SIZE_MAX * each;
    double *block =
        nn_context_alloc(context, doubles * sizeof(double) + 2 * (size_t)count * sizeof(float));
    if (block == NULL) { // the context only measures
        *n = (algo_normaliser){.count = count};
        return;
    }
    *n = (algo_normaliser){
        .count = count,
        .seen = {.count = count, .mean = block, .squares = block + count},
        .next = {.count = count,
                 .mean = block + 2 * (size_t)count,
                 .squares = block + 3 * (size_t)count},
        .gathered = block + 4 * (size_t)count,
        .offset = (float *)(block + doubles),
        .scale = (float *)(block + doubles) + count,
        .block = block,
    };
    for (uint32_t i = 0; i < count; i++) {
        n->scale[i] = 1.0f;
    }
}

void
algo_normaliser_fini(algo_normaliser *n)
{
    free(n->block);
    *n = (algo_normaliser){0};
}

// ---- statistics

// Returns views of a rank's rows, means and squares in gathered.
static oct_columns
gathered_of(const algo_normaliser *n, uint32_t rank)
{
    double *at = n->gathered + rank * (1 + 2 * (size_t)n->count);
    return (oct_columns){
        .count = n->count, .rows = at[0], .mean = at + 1, .squares = at + 1 + n->count};
}

static void
columns_copy(oct_columns *to, const oct_columns *from)
{
    memcpy(to->mean, from->mean, from->count * sizeof(*to->mean));
    memcpy(to->squares, from->squares, from->count * sizeof(*to->squares));
    to->rows = from->rows;
}

void
algo_normaliser_take(algo_normaliser *n, group *all, float *x, uint32_t rows)
{
    oct_columns own = gathered_of(n, group_rank(all));
    double *at = own.mean - 1;
    oct_columns_measure(&own, x, rows);
    at[0] = own.rows;
    group_gather_all(all, at, n->gathered, (1 + 2 * (size_t)n->count) * sizeof(*at));
    columns_copy(&n->next, &n->seen);
    for (uint32_t r = 0; r < group_size(all); r++) {
        const oct_columns part = gathered_of(n, r);
        oct_columns_join(&n->next, &part);
    }
    algo_normaliser_apply(n, x, rows);
}

void
algo_normaliser_apply(const algo_normaliser *n, float *x, uint32_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < n->count; i++) {
            float *number = &x[r * n->count + i];
            *number = (*number - n->offset[i]) * n->scale[i];
        }
    }
}

uint32_t
algo_normaliser_kept(const algo_normaliser *n)
{
    return n->seen.rows < ALGO_NORMALISER_SETTLED ? n->keeps : 0;
}

void
algo_normaliser_renew(algo_normaliser *n)
{
    columns_copy(&n->seen, &n->next);
    double *scales = n->gathered; // free again: the gathered numbers are in the statistics
    oct_columns_scales(&n->seen, scales);
    for (uint32_t i = 0; i < n->count; i++) {
        n->offset[i] = (float)n->seen.mean[i];
        n->scale[i] = (float)(1 / scales[i]);
    }
}

void
algo_normaliser_follow(algo_normaliser *n, const algo_normaliser *from)
{
    OCT_ASSERT(n->count == from->count);
    columns_copy(&n->next, &from->seen);
    algo_normaliser_renew(n);
}

// ---- networks

// Converts the first layer. In both directions the bias changes by the sum of weight * offset, with
// the weights of raw observations.
static void
first_layer_bring(const algo_normaliser *n, const nn_net *net, float *params, bool enters)
{
    const nn_layer *first = &net->layers[0];
    for (uint32_t u = 0; u < first->units; u++) {
        float *weight = params + first->at.weight + (size_t)u * first->columns;
        double sum = 0;
        for (uint32_t i = 0; i < n->count; i++) {
            double scale = (double)n->scale[i];
            double raw = enters ? (double)weight[i] : (double)weight[i] * scale;
            sum += raw * (double)n->offset[i];
            weight[i] = (float)(enters ? raw / scale : raw);
        }
        float *bias = &params[first->at.bias + u];
        *bias = (float)((double)*bias + (enters ? sum : -sum));
    }
}

void
algo_normaliser_enter(const algo_normaliser *n, const nn_net *net, float *params)
{
    first_layer_bring(n, net, params, true);
}

void
algo_normaliser_leave(const algo_normaliser *n, const nn_net *net, float *params)
{
    first_layer_bring(n, net, params, false);
}

const float *
algo_normaliser_raw(const algo_normaliser *n, const nn_net *net, float *raw)
{
    memcpy(raw, net->fetched, net->param_count * sizeof(*raw));
    algo_normaliser_leave(n, net, raw);
    return raw;
}

void
algo_normaliser_project(const algo_normaliser *n, const algo_projection *projection,
                        const nn_net *net, float *raw, float *weights)
{
    const float *params = n != NULL ? algo_normaliser_raw(n, net, raw) : net->fetched;
    projection->project(projection->arg, params, weights);
    if (n != NULL) {
        algo_normaliser_enter(n, net, weights);
    }
}

// ---- state

size_t
algo_normaliser_bytes(const algo_normaliser *n)
{
    return 1 + (1 + 2 * (size_t)n->count) * sizeof(double);
}

void
algo_normaliser_save(const algo_normaliser *n, oct_writer *writer)
{
    oct_write_u8(writer, (uint8_t)(n->keeps << 1));
    oct_write_f64(writer, n->seen.rows);
    oct_write_bytes(writer, n->seen.mean, 2 * (size_t)n->count * sizeof(double)); // and squares
}

oct_err
algo_normaliser_read(algo_normaliser *n, oct_reader *reader)
{
    uint8_t saved = oct_read_u8(reader);
    uint32_t keeps = saved >> 1;
    double rows = oct_read_f64(reader);
    bool sound = keeps <= ALL && saved % 2 == 0 && isfinite(rows) && rows >= 0;
    for (uint32_t i = 0; i < 2 * n->count; i++) {
        double number = oct_read_f64(reader);
        n->next.mean[i] = number; // squares follow mean; next is not needed between updates
        sound = sound && isfinite(number) && (i < n->count || number >= 0);
    }
    if (reader->failed || !sound) {
        return OCT_EPROTO;
    }
    n->keeps = keeps;
    n->next.rows = rows;
    algo_normaliser_renew(n);
    return OCT_OK;
}
