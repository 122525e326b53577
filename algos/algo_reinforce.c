// REINFORCE (Williams 1992) with a learned baseline (Sutton and Barto 2018, section 13.4) over
// whole episodes. Importance weights correct for older policies and for eight-bit policies.
#include <stdlib.h>
#include <string.h>

#include "algos/algo_sequence.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

#define INIT_STREAM 0x7266u // stream of the seed for the first weights

typedef struct algo_reinforce {
    algo_sequence on;
    float discount;
} algo_reinforce;

static oct_err
reinforce_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
                    oct_reason *why)
{
    return algo_sequence_make_spec(config, 0, spec, wants, why);
}

// ---- create and destroy

static void
reinforce_randomise(algo_pair *pair, uint64_t seed, double deviation)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    algo_randomise_policy(&pair->policy.tape.net, &rng);
    nn_net_randomise(&pair->value.tape.net, &rng);
    algo_pair_set_deviation(pair, deviation);
}

static oct_err
reinforce_create(algo **out, nn_context *context, const config_experiment *config,
                 const policy_spec *spec, uint64_t seed)
{
    algo_reinforce *rf = oct_alloc(sizeof(*rf));
    oct_err err = algo_sequence_init(&rf->on, context, config, spec);
    if (err != OCT_OK) {
        free(rf);
        return err;
    }
    rf->on.base.ops = &algo_reinforce_ops;
    rf->discount = (float)config->algo.discount;
    if (!nn_context_measures(context)) {
        reinforce_randomise(&rf->on.pair, seed, (double)(float)config->algo.initial_deviation);
    }
    *out = &rf->on.base;
    return OCT_OK;
}

static void
reinforce_destroy(algo *a)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    algo_sequence_fini(&rf->on);
    free(rf);
}

// ---- the update

// Sets target to the return, the rewards until the end of the episode or of the window, where V
// follows; advantage = target - V.
static void
update_target(algo_reinforce *rf, const float *v)
{
    const algo_rows *rows = &rf->on.rows;
    float *target = rf->on.target;
    for (uint32_t n = rows->N; n-- > 0;) {
        uint32_t behind = rows->behind[n];
        float rest = behind == ALGO_BEHIND_NOTHING ? 0.0f
                     : behind == ALGO_BEHIND_NEXT  ? target[n + 1]
                                                   : v[behind];
        target[n] = rows->reward[n] + rf->discount * rest;
        rf->on.advantage[n] = target[n] - v[n];
    }
}

static oct_err
reinforce_gradient(algo *a, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    float now[ALGO_PG_NUMBERS];
    OCT_TRY(algo_sequence_begin(&rf->on, batch));
    const float *v = algo_sequence_v(&rf->on);
    update_target(rf, v);
    algo_sequence_value(&rf->on, v, now);
    algo_sequence_policy(&rf->on, now);
    OCT_TRY(algo_sequence_end(&rf->on, batch, priorities, now));
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

static void
reinforce_apply(algo *a, float learning_rate)
{
    algo_sequence *on = &((algo_reinforce *)a)->on;
    algo_sequence_step(on, learning_rate, nn_clip_scale(on->value_norm, on->grad_norm_max),
                       nn_clip_scale(on->policy_norm, on->grad_norm_max));
}

// ---- state

static void
reinforce_save(const algo *a, oct_writer *writer)
{
    algo_pair_save(&((const algo_reinforce *)a)->on.pair, writer);
}

static oct_err
reinforce_load(algo *a, oct_reader *reader)
{
    algo_pair *pair = &((algo_reinforce *)a)->on.pair;
    algo_pair_view view;
    OCT_TRY(algo_pair_read(&view, pair, reader));
    if (reader->left != 0) {
        return OCT_EPROTO;
    }
    algo_pair_apply(pair, &view);
    return OCT_OK;
}

const algo_ops algo_reinforce_ops = {
    .name = "reinforce",
    .numbers = algo_pg_numbers,
    .number_count = ALGO_PG_NUMBERS,
    .splits = true,
    .make_spec = reinforce_make_spec,
    .create = reinforce_create,
    .destroy = reinforce_destroy,
    .gradient = reinforce_gradient,
    .apply = reinforce_apply,
    .share = algo_sequence_share,
    .set_projection = algo_sequence_set_projection,
    .networks = algo_sequence_networks,
    .policy_params = algo_sequence_policy_params,
    .save = reinforce_save,
    .load = reinforce_load,
};
