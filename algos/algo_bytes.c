// Converts between policies that read bytes and policies that read scaled observations.
#include "algos/algo_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

void
algo_bytes_init(algo_bytes *b, nn_context *context, const policy_spec *policy)
{
    *b = (algo_bytes){
        .unit = policy_byte_unit(policy->obs_high),
        .first = policy->layers[0],
        .params = policy_spec_params(policy),
    };
    if (b->unit != 1.0f) {
        b->raw = nn_context_alloc(context, b->params * sizeof(float));
        b->projecting = nn_context_alloc(context, b->params * sizeof(float));
    }
}

void
algo_bytes_fini(algo_bytes *b)
{
    free(b->raw);
    free(b->projecting);
    *b = (algo_bytes){0};
}

// Copies params and scales the weights of the first layer, which come first in the block.
static const float *
bytes_read(const algo_bytes *b, const float *params, float *out)
{
    memcpy(out, params, b->params * sizeof(*out));
    policy_layer_scale(&b->first, out, b->unit);
    return out;
}

const float *
algo_bytes_raw(const algo_bytes *b, const float *params)
{
    return b->raw != NULL ? bytes_read(b, params, b->raw) : params;
}

void
algo_bytes_learn(const algo_bytes *b, float *params)
{
    policy_layer_scale(&b->first, params, 1 / b->unit);
}

static void
bytes_project(void *arg, const float *params, float *out)
{
    const algo_bytes *b = arg;
    b->projection.project(b->projection.arg, bytes_read(b, params, b->projecting), out);
    algo_bytes_learn(b, out);
}

algo_projection
algo_bytes_projection(algo_bytes *b, const algo_projection *projection)
{
    b->projection = *projection;
    return b->raw != NULL ? (algo_projection){.arg = b, .project = bytes_project} : *projection;
}
