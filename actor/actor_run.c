// The acting core: steps a vector of environments with a policy, explores, and fills batches.
#include "actor/actor_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_explore.h"
#include "actor/actor_noise.h"
#include "actor/actor_obs_encoder.h"
#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"

#define ENDED (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)

// Sums of an environment's current episode. Episodes are summed here, because the return that
// counts is that of the rewards that replay gets.
struct episode {
    double sum;     // of the rewards, undiscounted
    uint32_t steps; // actions
};

struct actor_run {
    env *e;
    uint32_t envs;
    uint32_t planned_actors; // actor.count: the ladder's length in actors
    uint32_t action_repeat;  // environment steps per action
    actor_batch_shape shape;
    policy_scratch *scratch;
    const policy_net *net; // borrowed; NULL before the first policy
    float *outputs;        // [envs][outputs of the policy]
    octet_env_io io;       // its columns are this run's
    actor_obs_encoder sight;
    void *actions;            // [envs] int32, or [envs][dim] float
    float *extra;             // [envs][extra_dim]
    uint8_t *random;          // [envs] 1: exploration replaced the policy's action
    bool has_rollouts;        // a batch is one rollout
    bool samples;             // actions are sampled from the policy, and nothing else explores
    bool box;                 // actions are vectors
    policy_rng *draws;        // [envs], if samples
    actor_explore explore;    // if neither samples nor box
    actor_noise noise;        // if box and not samples
    uint64_t *row_next;       // [envs] number of the next row in its stream
    bool *is_first;           // [envs] the next row begins an episode, or follows a rollout
    struct episode *episodes; // [envs]
    actor_seed seed;
    bool started;         // the environments have been reset
    uint32_t stuck_steps; // consecutive steps in which no environment worked or could be reset
    bool *has_failed;     // [envs] since failures_each grew last
    uint32_t sound;       // number of environments with has_failed false
    actor_numbers numbers;
};

static void
run_reserve(actor_run *run, const policy_spec *spec)
{
    run->scratch = policy_scratch_create(spec, run->envs);
    run->outputs = oct_alloc((size_t)run->envs * policy_spec_outputs(spec) * sizeof(float));
    size_t action_bytes = policy_spec_action_bytes(spec);
    run->actions = oct_alloc(run->envs * action_bytes);
    run->extra = oct_alloc(OCT_MAX(1u, run->envs * run->shape.extra_dim) * sizeof(float));
    run->random = oct_alloc(run->envs);
    run->row_next = oct_alloc(run->envs * sizeof(uint64_t));
    run->is_first = oct_alloc(run->envs * sizeof(bool));
    run->episodes = oct_alloc(run->envs * sizeof(*run->episodes));
    run->has_failed = oct_alloc(run->envs * sizeof(bool));
    run->sound = run->envs;
    run->io = (octet_env_io){
        .size = sizeof(octet_env_io),
        .action = run->actions,
        .action_stride = (uint32_t)action_bytes,
        .reward = oct_alloc(run->envs * sizeof(float)),
        .flags = oct_alloc(run->envs),
    };
    actor_obs_encoder_init(&run->sight, &env_spec(run->e)->obs, run->envs, true, &run->io);
    OCT_ASSERT(run->sight.bytes == policy_spec_obs_bytes(spec));
}

static void
run_explore_init(actor_run *run, const config_experiment *config, const policy_spec *spec)
{
    const actor_ladder ladder = {run->seed.actor_index, run->envs, run->planned_actors * run->envs};
    run->samples = run->shape.extra_dim > 0;
    run->box = spec->action_kind == POLICY_BOX;
    if (run->samples) {
        run->draws = oct_alloc(run->envs * sizeof(policy_rng));
        for (uint32_t i = 0; i < run->envs; i++) {
            policy_rng_init(&run->draws[i], actor_seed_of(&run->seed, ACTOR_SEED_SAMPLE, i), i);
        }
    } else if (run->box) {
        uint64_t seed = actor_seed_of(&run->seed, ACTOR_SEED_NOISE, 0);
        actor_noise_init(&run->noise, config, spec, &ladder, seed);
    } else {
        uint64_t seed = actor_seed_of(&run->seed, ACTOR_SEED_EXPLORE, 0);
        actor_explore_init(&run->explore, config, spec->action_count, &ladder, seed);
        double persistence = config->actor.epsilon_persistence;
        actor_explore_set_persistence(&run->explore, isnan(persistence) ? 0 : persistence);
    }
}

oct_err
actor_run_batch_shape(actor_batch_shape *out, const config_experiment *config,
                      const policy_spec *spec, uint32_t envs)
{
    actor_batch_shape shape = {
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(spec),
        .action_bytes = (uint32_t)policy_spec_action_bytes(spec),
        .extra_dim = policy_spec_extra_dim(spec),
        .steps = config->actor.batch_steps,
        .envs = envs,
    };
    bool has_rollouts = config_has_rollouts(config);
    uint32_t rollout_steps = shape.envs * config->algo.sequence_steps;
    shape.steps = has_rollouts ? rollout_steps : shape.steps; // a batch is a rollout
    OCT_TRY(actor_batch_shape_fit(&shape, config_shard_capacity(config)));
    *out = shape;
    return has_rollouts && shape.steps < rollout_steps ? OCT_EINVAL : OCT_OK;
}

oct_err
actor_run_create(actor_run **out, env *take, const config_experiment *config,
                 const policy_spec *spec, const actor_seed *seed)
{
    actor_batch_shape shape;
    OCT_TRY(actor_run_batch_shape(&shape, config, spec, env_count(take)));
    actor_run *run = oct_alloc(sizeof(*run));
    run->e = take;
    run->envs = shape.envs;
    run->planned_actors = OCT_MAX(1u, config->actor.count);
    run->action_repeat = oct_action_repeat_of(config->env.options);
    run->shape = shape;
    run->has_rollouts = config_has_rollouts(config);
    run->seed = *seed;
    run_reserve(run, spec);
    run_explore_init(run, config, spec);
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
    if (run->samples) {
        free(run->draws);
    } else if (run->box) {
        actor_noise_fini(&run->noise);
    } else {
        actor_explore_fini(&run->explore);
    }
    free(run->extra);
    free(run->random);
    free(run->row_next);
    free(run->is_first);
    free(run->episodes);
    free(run->has_failed);
    free(run->outputs);
    free(run->actions);
    actor_obs_encoder_fini(&run->sight);
    free(run->io.reward);
    free(run->io.flags);
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
    run->numbers.policy_version = policy_net_origin(net)->version;
}

void
actor_run_open_batch(actor_run *run, actor_batch *batch)
{
    actor_batch_begin(batch, run->row_next);
}

void
actor_run_end_rollout(actor_run *run, actor_batch *batch)
{
    uint32_t before = batch->count;
    // random is free until the next step.
    actor_batch_end_rollout(batch, run->sight.obs, run->sight.bytes, run->random);
    for (uint32_t i = 0; i < run->envs; i++) {
        run->row_next[i] += run->random[i];
        run->is_first[i] |= run->random[i] != 0;
        run->random[i] = 0;
    }
    run->numbers.rows += batch->count - before;
}

static const void *
column_row(const void *base, uint32_t stride, uint32_t i)
{
    return (const uint8_t *)base + (size_t)i * stride;
}

// Estimates the environment steps of the whole run: those of this actor times the planned number
// of actors, or the learner's count when it published the policy, whichever is larger.
static uint64_t
run_env_steps(const actor_run *run)
{
    uint64_t own = run->numbers.env_steps * run->planned_actors;
    return OCT_MAX(own, policy_net_origin(run->net)->env_steps);
}

// Chooses actions for the current observations, and sets extra and random.
static void
run_act(actor_run *run)
{
    const policy_spec *spec = policy_net_spec(run->net);
    policy_forward(run->net, run->scratch, run->sight.obs, run->sight.bytes, run->envs,
                   run->outputs);
    if (run->samples) {
        policy_sample(spec, policy_net_deviation(run->net), run->outputs, run->envs, run->draws,
                      run->actions, run->extra);
        return;
    }
    policy_act(spec, run->outputs, run->envs, run->actions);
    if (run->box) {
        actor_noise_apply(&run->noise, run->actions, run_env_steps(run), run->random);
    } else {
        actor_explore_apply(&run->explore, run->actions, run_env_steps(run), run->random);
    }
}

// Resets what belongs to one episode of environment i.
static void
run_begin_episode(actor_run *run, uint32_t i)
{
    run->is_first[i] = true;
    run->episodes[i] = (struct episode){0};
    if (run->samples) {
        return;
    }
    if (run->box) {
        actor_noise_begin(&run->noise, i);
    } else {
        actor_explore_begin(&run->explore, i);
    }
}

// ---- collecting

// Adds a finished episode to the next report.
static void
numbers_episode(actor_numbers *numbers, const struct episode *episode)
{
    if (numbers->episode_count == ACTOR_EPISODES_MAX) {
        numbers->episodes_lost++;
        return;
    }
    numbers->episode_return[numbers->episode_count] = (float)episode->sum;
    numbers->episode_length[numbers->episode_count] = episode->steps;
    numbers->episode_count++;
}

// Counts a failed step of environment i, and in failures_each a failure of every environment.
static void
failure_count(actor_run *run, uint32_t i)
{
    run->numbers.failures++;
    run->sound -= !run->has_failed[i];
    run->has_failed[i] = true;
    if (run->sound == 0) {
        run->numbers.failures_each++;
        memset(run->has_failed, 0, run->envs * sizeof(bool));
        run->sound = run->envs;
    }
}

// Ends the episode of environment i with the last true observation. An episode without a row
// leaves no trace.
static void
collect_failure(actor_run *run, actor_batch *batch, uint32_t i, uint32_t version)
{
    failure_count(run, i);
    snprintf(run->numbers.failure, sizeof(run->numbers.failure), "%s", env_failure(run->e));
    if (!run->is_first[i]) {
        actor_batch_fail(batch, i, version);
        run->row_next[i]++;
    }
    run_begin_episode(run, i);
}

// Records the outcome of a step in the batch, which holds the observations before it. A row whose
// environment only began an episode (ENV_BEGINS) is no step.
static void
run_collect(actor_run *run, actor_batch *batch)
{
    uint32_t version = (uint32_t)run->numbers.policy_version, extra_dim = run->shape.extra_dim;
    for (uint32_t i = 0; i < run->envs; i++) {
        uint8_t flags = run->io.flags[i];
        if ((flags & OCTET_ENV_FAILED) != 0) {
            collect_failure(run, batch, i, version);
            continue;
        }
        if ((flags & ENV_BEGINS) != 0) {
            run->numbers.env_steps--;
            continue;
        }
        bool begins = run->has_rollouts && batch->rows[i] == 0;
        uint8_t row = (run->is_first[i] ? WIRE_FIRST : 0) | (begins ? WIRE_ROLLOUT : 0) |
                      (run->random[i] ? WIRE_RANDOM : 0) |
                      ((flags & OCTET_ENV_TERMINATED) != 0 ? WIRE_TERMINATED : 0) |
                      ((flags & OCTET_ENV_TRUNCATED) != 0 ? WIRE_TRUNCATED : 0);
        const actor_batch_step step = {version, row, run->io.reward[i],
                                       column_row(run->actions, run->io.action_stride, i),
                                       run->extra + (size_t)i * extra_dim};
        actor_batch_add(batch, i, &step);
        run->row_next[i]++;
        run->is_first[i] = false;
        run->episodes[i].sum += (double)run->io.reward[i];
        run->episodes[i].steps++;
        if ((flags & ENDED) != 0) {
            actor_batch_end(batch, i, version, actor_obs_encoder_final(&run->sight, i));
            run->row_next[i]++;
            run->numbers.ended++;
            numbers_episode(&run->numbers, &run->episodes[i]);
            run_begin_episode(run, i);
        }
    }
}

// Returns true if every environment failed and could not be reset.
static bool
none_has_begun(const actor_run *run)
{
    for (uint32_t i = 0; i < run->envs; i++) {
        uint8_t flags = run->io.flags[i];
        if ((flags & OCTET_ENV_FAILED) == 0 || (flags & OCTET_ENV_OBS_IS_RESET) != 0) {
            return false;
        }
    }
    return true;
}

// Resets all environments. Environments that fail try again in the next step, unless all fail.
static oct_err
run_start(actor_run *run)
{
    uint64_t *seeds = oct_alloc(run->envs * sizeof(uint64_t));
    for (uint32_t i = 0; i < run->envs; i++) {
        seeds[i] = actor_seed_of(&run->seed, ACTOR_SEED_ENV, i);
        run_begin_episode(run, i);
    }
    env_reset_each(run->e, NULL, seeds, &run->io);
    free(seeds);
    if (none_has_begun(run)) {
        return OCT_EINTERNAL;
    }
    actor_obs_encoder_renew(&run->sight);
    run->started = true;
    return OCT_OK;
}

// Returns true if no environment could be reset in ACTOR_STUCK_STEPS_MAX consecutive steps.
static bool
run_is_stuck(actor_run *run)
{
    run->stuck_steps = none_has_begun(run) ? run->stuck_steps + 1 : 0;
    return run->stuck_steps >= ACTOR_STUCK_STEPS_MAX;
}

oct_err
actor_run_step(actor_run *run, actor_batch *batch)
{
    OCT_ASSERT(run->net != NULL && actor_batch_has_room(batch, &run->shape));
    if (!run->started) {
        OCT_TRY(run_start(run));
    }
    // collect_s is the time outside policy and environments: copying observations before the step,
    // and rows after it.
    uint64_t begin_ns = oct_clock_ns();
    run_act(run);
    uint64_t acted_ns = oct_clock_ns();
    actor_batch_observe(batch, run->sight.obs, run->sight.bytes);
    uint64_t observed_ns = oct_clock_ns();
    OCT_TRY(env_step(run->e, &run->io));
    uint64_t stepped_ns = oct_clock_ns();
    actor_obs_encoder_renew(&run->sight);
    run->numbers.env_steps += run->envs * run->action_repeat;
    uint32_t before = batch->count;
    run_collect(run, batch);
    run->numbers.rows += batch->count - before;
    batch->env_steps = run->numbers.env_steps;
    run->numbers.infer_s += (double)(acted_ns - begin_ns) * 1e-9;
    run->numbers.env_s += (double)(stepped_ns - observed_ns) * 1e-9;
    run->numbers.collect_s += (double)(oct_clock_ns() - stepped_ns + observed_ns - acted_ns) * 1e-9;
    return run_is_stuck(run) ? OCT_EINTERNAL : OCT_OK;
}

const char *
actor_run_error(const actor_run *run)
{
    return run->stuck_steps >= ACTOR_STUCK_STEPS_MAX ? env_failure(run->e) : env_error(run->e);
}

actor_numbers *
actor_run_numbers(actor_run *run)
{
    return &run->numbers;
}
