#include "actor/actor_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "actor/actor_explore.h"
#include "actor/actor_noise.h"
#include "actor/actor_nstep.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"

#define ENDED (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)

struct actor_run {
    env *e;
    uint32_t envs;
    uint32_t planned_actors;
    actor_batch_shape shape;
    policy_scratch *scratch;
    const policy_net *net;
    float *outputs; // [envs][outputs]
    octet_env_io io;
    void *actions; // [envs] int32, or [envs][dim] float
    bool box;
    actor_explore explore; // discrete actions
    actor_noise noise;     // actions in a box
    actor_nstep *nstep;
    uint64_t obs_next; // number of the next batch's first observation
    bool started;
    actor_news news;
};

static void
run_reserve(actor_run *run, const policy_spec *spec)
{
    size_t obs_bytes = policy_spec_obs_bytes(spec);
    run->scratch = policy_scratch_create(spec, run->envs);
    run->outputs = oct_alloc((size_t)run->envs * policy_spec_outputs(spec) * sizeof(float));
    size_t action_bytes = policy_spec_action_bytes(spec);
    run->actions = oct_alloc(run->envs * action_bytes);
    run->io = (octet_env_io){
        .size = sizeof(octet_env_io),
        .action = run->actions,
        .action_stride = (uint32_t)action_bytes,
        .obs = oct_alloc(run->envs * obs_bytes),
        .obs_stride = (uint32_t)obs_bytes,
        .final_obs = oct_alloc(run->envs * obs_bytes),
        .final_obs_stride = (uint32_t)obs_bytes,
        .reward = oct_alloc(run->envs * sizeof(float)),
        .flags = oct_alloc(run->envs),
        .ep_return = oct_alloc(run->envs * sizeof(float)),
        .ep_length = oct_alloc(run->envs * sizeof(int32_t)),
    };
}

static void
run_explore_init(actor_run *run, const oct_config *config, const policy_spec *spec,
                 uint32_t actor_index, uint64_t seed)
{
    uint32_t total = run->planned_actors * run->envs;
    run->box = spec->action_kind == POLICY_BOX;
    if (run->box) {
        actor_noise_init(&run->noise, config, spec, seed, actor_index, run->envs, total);
        return;
    }
    actor_explore_init(&run->explore, seed, actor_index, run->envs, total, spec->action_count,
                       config->actor.epsilon_base, config->actor.epsilon_power,
                       config->actor.epsilon_anneal_steps);
    double persistence = config->actor.epsilon_persistence;
    actor_explore_set_persistence(&run->explore, isnan(persistence) ? 0 : persistence);
}

oct_err
actor_run_create(actor_run **out, env *take, const oct_config *config, const policy_spec *spec,
                 uint32_t actor_index, uint64_t session)
{
    actor_batch_shape shape = {
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(spec),
        .action_bytes = (uint32_t)policy_spec_action_bytes(spec),
        .transitions = config->actor.batch_transitions,
        .envs = env_count(take),
        .n_step = config->algo.n_step,
    };
    OCT_TRY(actor_batch_shape_fit(&shape));
    actor_run *run = oct_alloc(sizeof(*run));
    run->e = take;
    run->envs = shape.envs;
    run->planned_actors = OCT_MAX(1u, config->actor.count);
    run->shape = shape;
    run_reserve(run, spec);
    run_explore_init(run, config, spec, actor_index, config->run.seed ^ session);
    run->nstep = actor_nstep_create(run->envs, config->algo.n_step, config->algo.discount,
                                    config->algo.reward_clip, run->shape.action_bytes);
    *out = run;
    return OCT_OK;
}

void
actor_run_destroy(actor_run *run)
{
    if (run == NULL) {
        return;
    }
    policy_scratch_destroy(run->scratch);
    if (run->box) {
        actor_noise_fini(&run->noise);
    } else {
        actor_explore_fini(&run->explore);
    }
    actor_nstep_destroy(run->nstep);
    free(run->outputs);
    free(run->actions);
    free(run->io.obs);
    free(run->io.final_obs);
    free(run->io.reward);
    free(run->io.flags);
    free(run->io.ep_return);
    free(run->io.ep_length);
    env_close(run->e);
    free(run);
}

const actor_batch_shape *
actor_run_shape(const actor_run *run)
{
    return &run->shape;
}

void
actor_run_set_policy(actor_run *run, const policy_net *net)
{
    run->net = net;
    run->news.policy_version = policy_net_origin(net)->version;
}

void
actor_run_open_batch(actor_run *run, actor_batch *batch)
{
    actor_batch_begin(batch, run->obs_next);
}

static const uint8_t *
obs_row(const void *base, uint32_t stride, uint32_t i)
{
    return (const uint8_t *)base + (size_t)i * stride;
}

static const void *
action_row(const actor_run *run, uint32_t i)
{
    return obs_row(run->actions, run->io.action_stride, i);
}

// The run's steps as far as this actor can tell: its own times the planned actors, or what the
// learner had heard of when it published.
static uint64_t
run_env_steps(const actor_run *run)
{
    uint64_t own = run->news.env_steps * run->planned_actors;
    return OCT_MAX(own, policy_net_origin(run->net)->env_steps);
}

static void
run_explore(actor_run *run)
{
    if (run->box) {
        actor_noise_apply(&run->noise, run->actions, run_env_steps(run));
    } else {
        actor_explore_apply(&run->explore, run->actions, run_env_steps(run));
    }
}

static void
news_episode(actor_news *news, float episode_return, int32_t length)
{
    if (news->episode_count == ACTOR_EPISODES_MAX) {
        news->episodes_lost++;
        return;
    }
    news->episode_return[news->episode_count] = episode_return;
    news->episode_length[news->episode_count] = (uint32_t)OCT_MAX(length, 0);
    news->episode_count++;
}

// Environment i has a new episode, which begins with obs.
static void
run_begin_episode(actor_run *run, actor_batch *batch, uint32_t i, const uint8_t *obs)
{
    actor_nstep_begin(run->nstep, batch, i, obs);
    if (!run->box) {
        actor_explore_begin(&run->explore, i);
    }
}

// The step's outcome into the batch: each observation once, windows closed where episodes ended.
static void
run_collect(actor_run *run, actor_batch *batch)
{
    for (uint32_t i = 0; i < run->envs; i++) {
        uint8_t flags = run->io.flags[i];
        const uint8_t *obs = obs_row(run->io.obs, run->io.obs_stride, i);
        if ((flags & OCTET_ENV_FAILED) != 0) {
            run->news.failures++;
            snprintf(run->news.failure, sizeof(run->news.failure), "%s", env_failure(run->e));
            run_begin_episode(run, batch, i, obs);
            continue;
        }
        if ((flags & ENDED) == 0) {
            actor_nstep_step(run->nstep, batch, i, action_row(run, i), run->io.reward[i], 0, obs);
            continue;
        }
        uint8_t ended = ((flags & OCTET_ENV_TERMINATED) != 0 ? WIRE_TERMINATED : 0) |
                        ((flags & OCTET_ENV_TRUNCATED) != 0 ? WIRE_TRUNCATED : 0);
        actor_nstep_step(run->nstep, batch, i, action_row(run, i), run->io.reward[i], ended,
                         obs_row(run->io.final_obs, run->io.final_obs_stride, i));
        run_begin_episode(run, batch, i, obs);
        news_episode(&run->news, run->io.ep_return[i], run->io.ep_length[i]);
    }
}

static oct_err
run_start(actor_run *run, actor_batch *batch)
{
    OCT_TRY(env_reset(run->e, NULL, NULL, &run->io));
    for (uint32_t i = 0; i < run->envs; i++) {
        actor_nstep_begin(run->nstep, batch, i, obs_row(run->io.obs, run->io.obs_stride, i));
    }
    run->started = true;
    return OCT_OK;
}

oct_err
actor_run_step(actor_run *run, actor_batch *batch)
{
    OCT_ASSERT(run->net != NULL && actor_batch_has_room(batch, &run->shape));
    if (!run->started) {
        OCT_TRY(run_start(run, batch));
    }
    uint64_t begin_ns = oct_clock_ns();
    policy_forward(run->net, run->scratch, run->io.obs, run->io.obs_stride, run->envs,
                   run->outputs);
    policy_act(policy_net_spec(run->net), run->outputs, run->envs, run->actions);
    run_explore(run);
    uint64_t acted_ns = oct_clock_ns();
    OCT_TRY(env_step(run->e, &run->io));
    uint64_t stepped_ns = oct_clock_ns();
    run->news.env_steps += run->envs;
    uint32_t before = batch->count;
    run_collect(run, batch);
    run->news.transitions += batch->count - before;
    batch->policy_version = run->news.policy_version;
    batch->env_steps = run->news.env_steps;
    run->obs_next = batch->obs_first + batch->obs_count;
    run->news.infer_s += (double)(acted_ns - begin_ns) * 1e-9;
    run->news.env_s += (double)(stepped_ns - acted_ns) * 1e-9;
    run->news.collect_s += (double)(oct_clock_ns() - stepped_ns) * 1e-9;
    return OCT_OK;
}

const char *
actor_run_error(const actor_run *run)
{
    return env_error(run->e);
}

actor_news *
actor_run_news(actor_run *run)
{
    return &run->news;
}
