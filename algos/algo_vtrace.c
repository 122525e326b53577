// V-trace, the off-policy actor-critic of IMPALA (Espeholt et al. 2018). It learns from each
// sequence once; the policies that acted may be a few versions older than the policy that learns,
// and in eight bits. Actors never wait.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_advantage.h"
#include "algos/algo_sequence.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

#define INIT_STREAM 0x7674u // stream of the seed for the first weights

typedef struct algo_vtrace {
    algo_sequence on;
    algo_vtrace_rule rule;
    bool scale_rewards;
    algo_reward_scale scale;
    float *reward; // [N], scaled rewards
} algo_vtrace;

// Sequences with a stride of T rows: every row with an action is in exactly one window, and each
// window also has the observation after its last row, with which the next window begins.
static oct_err
vtrace_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
                 oct_reason *why)
{
    return algo_sequence_make_spec(config, config->algo.sequence_steps, spec, wants, why);
}

// ---- create and destroy

static void
vtrace_configure(algo_vtrace *vt, const config_experiment *config)
{
    vt->on.base.ops = &algo_vtrace_ops;
    vt->rule = (algo_vtrace_rule){
        .discount = (float)config->algo.discount,
        .lambda = (float)config->algo.gae_lambda,
        .ratio_max = (float)config->algo.ratio_max,
        .trace_max = (float)config->algo.trace_max,
    };
    vt->scale_rewards = config->algo.scale_rewards;
}

static void
vtrace_randomise(algo_pair *pair, uint64_t seed, double deviation)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    algo_pair_orthogonalise(pair, &rng, deviation);
}

static oct_err
vtrace_create(algo **out, nn_context *context, const config_experiment *config,
              const policy_spec *spec, uint64_t seed)
{
    algo_vtrace *vt = oct_alloc(sizeof(*vt));
    oct_err err = algo_sequence_init(&vt->on, context, config, spec);
    if (err != OCT_OK) {
        free(vt);
        return err;
    }
    vtrace_configure(vt, config);
    vt->reward = nn_context_alloc(context, (size_t)vt->on.rows.windows_max * vt->on.rows.steps *
                                               sizeof(float));
    if (!nn_context_measures(context)) {
        vtrace_randomise(&vt->on.pair, seed, config->algo.initial_deviation);
    }
    *out = &vt->on.base;
    return OCT_OK;
}

static void
vtrace_destroy(algo *a)
{
    algo_vtrace *vt = (algo_vtrace *)a;
    algo_sequence_fini(&vt->on);
    free(vt->reward);
    free(vt);
}

// ---- the update

static void
update_targets(algo_vtrace *vt, const float *v)
{
    algo_sequence *on = &vt->on;
    const float *reward = on->rows.reward;
    if (vt->scale_rewards) {
        algo_reward_scale_apply(&vt->scale, on->base.group, &on->rows, vt->rule.discount,
                                vt->reward);
        reward = vt->reward;
    }
    const algo_estimates e = {reward, v, on->advantage, on->target};
    algo_vtrace_targets(&on->rows, &vt->rule, on->ratio, e);
}

static oct_err
vtrace_gradient(algo *a, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_vtrace *vt = (algo_vtrace *)a;
    float now[ALGO_PG_NUMBERS];
    OCT_TRY(algo_sequence_begin(&vt->on, batch));
    const algo_reward_scale scale = vt->scale;
    const float *v = algo_sequence_v(&vt->on);
    update_targets(vt, v);
    algo_sequence_value(&vt->on, v, now);
    algo_sequence_policy(&vt->on, now);
    oct_err err = algo_sequence_end(&vt->on, batch, priorities, now);
    if (err != OCT_OK) {
        vt->scale = scale;
        return err;
    }
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

static void
vtrace_apply(algo *a, float learning_rate)
{
    algo_sequence *on = &((algo_vtrace *)a)->on;
    double both = hypot((double)on->policy_norm, (double)on->value_norm);
    float clip = nn_clip_scale((float)both, on->grad_norm_max);
    algo_sequence_step(on, learning_rate, clip, clip);
}

// ---- state

static void
vtrace_save(const algo *a, oct_writer *writer)
{
    const algo_vtrace *vt = (const algo_vtrace *)a;
    algo_pair_save(&vt->on.pair, writer);
    algo_reward_scale_save(&vt->scale, writer);
}

static oct_err
vtrace_load(algo *a, oct_reader *reader)
{
    algo_vtrace *vt = (algo_vtrace *)a;
    algo_pair_view view;
    algo_reward_scale scale;
    OCT_TRY(algo_pair_read(&view, &vt->on.pair, reader));
    OCT_TRY(algo_reward_scale_read(&scale, reader));
    if (reader->left != 0) {
        return OCT_EPROTO;
    }
    algo_pair_apply(&vt->on.pair, &view);
    vt->scale = scale;
    return OCT_OK;
}

const algo_ops algo_vtrace_ops = {
    .name = "vtrace",
    .numbers = algo_pg_numbers,
    .number_count = ALGO_PG_NUMBERS,
    .splits = true,
    .make_spec = vtrace_make_spec,
    .create = vtrace_create,
    .destroy = vtrace_destroy,
    .gradient = vtrace_gradient,
    .apply = vtrace_apply,
    .share = algo_sequence_share,
    .set_projection = algo_sequence_set_projection,
    .networks = algo_sequence_networks,
    .policy_params = algo_sequence_policy_params,
    .save = vtrace_save,
    .load = vtrace_load,
};
