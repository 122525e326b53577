// Plays a number of episodes with a policy and summarises their returns.
#include "actor/actor_evaluate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_obs_encoder.h"
#include "actor/actor_spec.h"
#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"

// One evaluation: its environments and buffers.
struct evaluation {
    env *e;
    policy_scratch *scratch;
    octet_env_io io;
    actor_obs_encoder sight;
    float *outputs;    // [envs][outputs of the policy]
    policy_rng *draws; // [envs]; NULL: greedy
    float *extra;      // [envs][extra_dim], written by policy_sample and not used
    uint32_t envs;
    uint32_t action_repeat; // environment steps per action
    uint32_t actions_max;   // limit of an episode
    uint8_t *over;          // [envs] 1: this step's episode was truncated here, so reset
    struct lane *lanes;     // [envs]
    const actor_evaluate_request *request;
    actor_evaluate_result *result;
    float *returns;    // [episodes]
    uint32_t *lengths; // [episodes]
    uint32_t counted;  // episodes in returns and lengths
    oct_reason *why;   // the caller's
};

// One of the environments that are stepped together.
struct lane {
    uint32_t played;   // episodes that ended whole, counted or beyond its share
    uint32_t failures; // steps and resets since the last whole episode
    bool is_stuck;     // could not be reset, so it has no episode
    // The current episode; a vector environment's own sums may begin elsewhere.
    double sum;
    uint32_t length;
};

// A policy that was trained in other bounds would take other actions. An imported policy is not
// checked here: its bounds are those of its model.
static oct_err
bounds_fit(const policy_spec *spec, const octet_env_spec *task, oct_reason *why)
{
    for (uint32_t i = 0; spec->action_kind == POLICY_BOX && i < spec->action_count; i++) {
        float low = actor_spec_low(&task->action, i), high = actor_spec_high(&task->action, i);
        if (spec->action_low[i] != low || spec->action_high[i] != high) {
            return oct_refuse(why,
                              "the policy (for %s) was trained with action %u in [%g, %g], but %s "
                              "takes it in [%g, %g]",
                              spec->env_id, i, (double)spec->action_low[i],
                              (double)spec->action_high[i], task->id, (double)low, (double)high);
        }
    }
    return OCT_OK;
}

// Returns true if observations are the map that a policy reads: rows x columns x channels, rows x
// columns of one channel, or a sequence of steps x channels, which is a map of one column.
static bool
is_map_of(const policy_conv *conv, const octet_env_space *obs)
{
    const uint32_t *shape = obs->shape, columns = obs->rank > 1 ? shape[1] : 1;
    bool is_picture =
        conv->columns.size == columns && conv->channels == (obs->rank == 3 ? shape[2] : 1);
    bool is_sequence = obs->rank == 2 && conv->columns.size == 1 && conv->channels == columns;
    return obs->rank >= 1 && obs->rank <= 3 && conv->rows.size == shape[0] &&
           (is_picture || is_sequence);
}

oct_err
actor_fits(const policy_spec *spec, const policy_origin *origin, const octet_env_spec *task,
           oct_reason *why)
{
    OCT_TRY(actor_spec_acts(task, why));
    uint32_t obs_count = actor_obs_encoder_count(&task->obs);
    if (spec->obs_count != obs_count || spec->obs_dtype != actor_obs_encoder_dtype(&task->obs)) {
        return oct_refuse(
            why,
            "the policy (for %s) reads %u number%s, but an observation of %s has %u (or "
            "another type)",
            spec->env_id, spec->obs_count, oct_text_plural(spec->obs_count), task->id, obs_count);
    }
    if (spec->layers[0].kind != POLICY_DENSE && !is_map_of(&spec->layers[0].conv, &task->obs)) {
        const policy_conv *conv = &spec->layers[0].conv;
        return oct_refuse(why,
                          "the policy (for %s) reads a map of %u x %u x %u, but observations of %s "
                          "have another shape",
                          spec->env_id, conv->rows.size, conv->columns.size, conv->channels,
                          task->id);
    }
    bool discrete = task->action.n > 0;
    uint32_t actions = discrete ? task->action.n : env_space_count(&task->action);
    if (discrete != (spec->action_kind == POLICY_DISCRETE) || spec->action_count != actions) {
        return oct_refuse(why, "the policy (for %s) gives %u %s, but %s takes %u %s", spec->env_id,
                          spec->action_count,
                          spec->action_kind == POLICY_DISCRETE ? "discrete actions" : "numbers",
                          task->id, actions, discrete ? "discrete actions" : "numbers");
    }
    return policy_origin_is_run(origin) ? bounds_fit(spec, task, why) : OCT_OK;
}

static void
evaluation_reserve(struct evaluation *run, const policy_spec *spec, uint32_t envs,
                   uint32_t max_steps)
{
    uint32_t own_limit = env_spec(run->e)->max_episode_steps; // in actions
    uint32_t steps = max_steps > 0 ? max_steps : ACTOR_EVALUATE_STEPS_MAX;
    uint32_t actions = (steps + run->action_repeat - 1) / run->action_repeat;
    run->actions_max = max_steps == 0 && own_limit > 0 ? own_limit : actions;
    run->over = oct_alloc(envs);
    size_t action_bytes = policy_spec_action_bytes(spec);
    run->envs = envs;
    run->scratch = policy_scratch_create(spec, envs);
    run->outputs = oct_alloc((size_t)envs * policy_spec_outputs(spec) * sizeof(float));
    run->lanes = oct_alloc(envs * sizeof(*run->lanes));
    run->io = (octet_env_io){
        .size = sizeof(octet_env_io),
        .action = oct_alloc(envs * action_bytes),
        .action_stride = (uint32_t)action_bytes,
        .reward = oct_alloc(envs * sizeof(float)),
        .flags = oct_alloc(envs),
        .metrics = oct_alloc((size_t)envs * OCT_METRICS_MAX * sizeof(float)),
    };
    actor_obs_encoder_init(&run->sight, &env_spec(run->e)->obs, envs, false, &run->io);
}

// OCT_EINVAL: the head has no distribution.
static oct_err
sampling_fits(const policy_spec *spec, oct_reason *why)
{
    static const char *const outputs[] = {
        [POLICY_HEAD_VALUES] = "values of actions",
        [POLICY_HEAD_ATOMS] = "distributions of returns",
        [POLICY_HEAD_TANH] = "the actions themselves",
    };
    return policy_spec_extra_dim(spec) > 0
               ? OCT_OK
               : oct_refuse(why,
                            "the policy has no distribution to sample actions from: its outputs "
                            "are %s; it can only act greedily",
                            outputs[spec->head]);
}

static void
sampling_reserve(struct evaluation *run, const policy_spec *spec, uint64_t seed)
{
    uint32_t extra_dim = policy_spec_extra_dim(spec);
    run->extra = oct_alloc((size_t)run->envs * extra_dim * sizeof(float));
    run->draws = oct_alloc(run->envs * sizeof(*run->draws));
    for (uint32_t i = 0; i < run->envs; i++) {
        policy_rng_init(&run->draws[i], seed, i);
    }
}

static void
evaluation_release(struct evaluation *run)
{
    policy_scratch_destroy(run->scratch);
    free(run->outputs);
    free(run->draws);
    free(run->extra);
    free(run->lanes);
    free(run->over);
    free((void *)(uintptr_t)run->io.action);
    actor_obs_encoder_fini(&run->sight);
    free(run->io.reward);
    free(run->io.flags);
    free(run->io.metrics);
    env_close(run->e);
}

// OCT_EINTERNAL: the environment failed too often since its last whole episode.
static oct_err
lane_check(const struct evaluation *run, const struct lane *lane, const char *env_id)
{
    if (lane->failures > ACTOR_EVALUATE_FAILURES_MAX) {
        return oct_fail(run->why, OCT_EINTERNAL, "%s: failed %u times before an episode ended (%s)",
                        env_id, lane->failures, env_failure(run->e));
    }
    return OCT_OK;
}

// Returns true if the current episode of environment i counts. Otherwise the environment is
// stepped only because the vector is.
static bool
lane_is_asked(const struct evaluation *run, uint32_t i, uint32_t episodes)
{
    return (uint64_t)run->lanes[i].played * run->envs + i < episodes;
}

// The row of an environment that is stuck is not an observation.
static void
evaluation_observe(const struct evaluation *run, const actor_evaluate_request *request)
{
    for (uint32_t i = 0; i < run->envs; i++) {
        if (lane_is_asked(run, i, request->episodes) && !run->lanes[i].is_stuck) {
            request->observe(request->observe_arg,
                             (const uint8_t *)run->sight.obs + i * run->sight.bytes);
        }
    }
}

// Counts the step and the episodes that it ended. A step that only began an episode (ENV_BEGINS)
// does not count.
static oct_err
evaluation_collect(struct evaluation *run)
{
    actor_evaluate_result *result = run->result;
    uint32_t metrics = result->metric_names.count;
    for (uint32_t i = 0; i < run->envs; i++) {
        struct lane *lane = &run->lanes[i];
        uint8_t flags = run->io.flags[i];
        if (!lane_is_asked(run, i, run->request->episodes)) {
            continue;
        }
        if ((flags & ENV_BEGINS) != 0) {
            lane->is_stuck = false;
            result->env_steps--;
            continue;
        }
        bool had_episode = !lane->is_stuck, has_failed = (flags & OCTET_ENV_FAILED) != 0;
        bool has_ended = (flags & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0;
        lane->length++;
        lane->sum += (double)run->io.reward[i];
        lane->is_stuck = has_failed && (flags & OCTET_ENV_OBS_IS_RESET) == 0;
        if (has_failed || !had_episode) {
            result->failed += had_episode;
            lane->failures++; // and its sum is not a return
            lane->sum = 0;
            lane->length = 0;
        } else if (has_ended || lane->length >= run->actions_max) {
            run->over[i] = !has_ended;
            result->truncated += !has_ended;
            uint64_t episode = (uint64_t)lane->played * run->envs + i;
            run->returns[episode] = (float)lane->sum;
            run->lengths[episode] = lane->length;
            for (uint32_t k = 0; k < metrics; k++) {
                oct_metric_add(&result->metrics[k], run->io.metrics[(size_t)i * metrics + k]);
            }
            *lane = (struct lane){.played = lane->played + 1,
                                  .is_stuck = has_ended && (flags & OCTET_ENV_OBS_IS_RESET) == 0};
            run->counted++;
            continue;
        }
        OCT_TRY(lane_check(run, lane, run->request->env_id));
    }
    return OCT_OK;
}

// Resets the environments whose episodes were truncated here. A vector environment that cannot
// reset some of its environments continues their episodes.
static void
evaluation_reset_over(struct evaluation *run)
{
    if (memchr(run->over, 1, run->envs) == NULL) {
        return;
    }
    oct_err err = env_reset(run->e, run->over, NULL, &run->io);
    (void)err; // an environment that cannot begin fails in its next step
    memset(run->over, 0, run->envs);
}

static oct_err
env_failed(const struct evaluation *run, const char *env_id)
{
    return oct_fail(run->why, OCT_EINTERNAL, "%s: %s", env_id, env_error(run->e));
}

static void
evaluation_act(struct evaluation *run, const policy_net *net)
{
    const policy_spec *spec = policy_net_spec(net);
    void *actions = (void *)(uintptr_t)run->io.action;
    policy_forward(net, run->scratch, run->sight.obs, run->sight.bytes, run->envs, run->outputs);
    if (run->draws != NULL) {
        policy_sample(spec, policy_net_deviation(net), run->outputs, run->envs, run->draws, actions,
                      run->extra);
    } else {
        policy_act(spec, run->outputs, run->envs, actions);
    }
}

static oct_err
evaluation_play(struct evaluation *run, const policy_net *net)
{
    const actor_evaluate_request *request = run->request;
    const uint32_t env_steps = run->envs * run->action_repeat; // per action
    env_reset_each(run->e, NULL, NULL, &run->io);
    for (uint32_t i = 0; i < run->envs; i++) {
        run->lanes[i].is_stuck = (run->io.flags[i] & OCTET_ENV_FAILED) != 0;
    }
    while (run->counted < request->episodes) {
        if (request->stop != NULL &&
            atomic_load_explicit(request->stop, memory_order_relaxed) != 0) {
            return oct_fail(run->why, OCT_ECLOSED, "stopped");
        }
        actor_obs_encoder_renew(&run->sight);
        if (request->watch != NULL) {
            request->watch(request->watch_arg, run->e, env_steps, run->counted);
        }
        if (request->observe != NULL) {
            evaluation_observe(run, request);
        }
        if (request->look != NULL && !run->lanes[0].is_stuck) {
            OCT_TRY(request->look(request->look_arg, run->e, run->io.obs, run->lanes[0].played,
                                  run->why));
        }
        evaluation_act(run, net);
        if (env_step(run->e, &run->io) != OCT_OK) {
            return env_failed(run, request->env_id);
        }
        run->result->env_steps += env_steps;
        OCT_TRY(evaluation_collect(run));
        evaluation_reset_over(run);
    }
    return OCT_OK;
}

// Clears what evaluation_play counts.
static void
result_begin(actor_evaluate_result *result, const octet_env_spec *task)
{
    result->env_steps = 0;
    result->failed = 0;
    result->truncated = 0;
    result->env_failures = 0;
    memset(result->metrics, 0, sizeof(result->metrics));
    oct_metric_names_of(&result->metric_names, task->metric_names, task->metric_count);
}

static void
result_summarise(actor_evaluate_result *result, const float *returns, const uint32_t *lengths,
                 uint32_t n)
{
    oct_spread spread = oct_spread_of(returns, n);
    result->mean = spread.mean;
    result->std = spread.std;
    result->min = spread.min;
    result->max = spread.max;
    result->mean_length = oct_spread_mean_u32(lengths, n);
    result->episodes = n;
}

oct_err
actor_evaluate(const policy_net *net, const actor_evaluate_request *request,
               actor_evaluate_result *result, oct_reason *why)
{
    OCT_ASSERT(request->episodes > 0);
    const policy_spec *spec = policy_net_spec(net);
    const char *options = request->options != NULL ? request->options : "";
    struct evaluation run = {.request = request,
                             .result = result,
                             .why = why,
                             .action_repeat = oct_action_repeat_of(options)};
    uint32_t envs = OCT_MAX(1u, OCT_MIN(request->envs, request->episodes));
    env_request wanted = {
        .id = request->env_id,
        .options = options,
        .mjcf_dir = request->mjcf_dir,
        .count = envs,
        .seed = request->seed,
        .autoreset = true,
        .takes_begins = true,
    };
    if (request->sampling) {
        OCT_TRY(sampling_fits(spec, why));
    }
    OCT_TRY(env_open(&run.e, &wanted, why));
    oct_err err = actor_fits(spec, policy_net_origin(net), env_spec(run.e), why);
    if (err != OCT_OK) {
        env_close(run.e);
        return err;
    }
    evaluation_reserve(&run, spec, envs, request->max_steps);
    if (request->sampling) {
        sampling_reserve(&run, spec, request->seed);
    }
    run.returns = oct_alloc(request->episodes * sizeof(float));
    run.lengths = oct_alloc(request->episodes * sizeof(uint32_t));
    uint64_t begin_ns = oct_clock_ns();
    result_begin(result, env_spec(run.e));
    result->max_steps = run.actions_max * run.action_repeat;
    err = evaluation_play(&run, net);
    result->env_failures = env_failures(run.e);
    oct_text_copy(result->failure, sizeof(result->failure),
                  result->env_failures > 0 ? env_failure(run.e) : "");
    if (err == OCT_OK) {
        result->seconds = (double)(oct_clock_ns() - begin_ns) * 1e-9;
        result_summarise(result, run.returns, run.lengths, request->episodes);
        if (result->returns != NULL) {
            memcpy(result->returns, run.returns, request->episodes * sizeof(float));
        }
        if (result->lengths != NULL) {
            memcpy(result->lengths, run.lengths, request->episodes * sizeof(uint32_t));
        }
    }
    free(run.returns);
    free(run.lengths);
    evaluation_release(&run);
    return err;
}
