// An environment's spec as the wire has it, and the checks that a policy can act and be trained in
// it.
#include "actor/actor_spec.h"

#include <math.h>
#include <string.h>

#include "actor/actor_obs_encoder.h"
#include "common/oct_base.h"
#include "common/oct_metric.h"
#include "common/oct_reason.h"
#include "envs/gym/env_gym.h"

// Number of discrete actions, or of numbers in an action.
static uint32_t
actions_of(const octet_env_space *space)
{
    return space->n > 0 ? space->n : env_space_count(space);
}

float
actor_spec_low(const octet_env_space *space, uint32_t i)
{
    return space->low != NULL ? (float)space->low[i] : -INFINITY;
}

float
actor_spec_high(const octet_env_space *space, uint32_t i)
{
    return space->high != NULL ? (float)space->high[i] : INFINITY;
}

// As policy_spec's obs_high: the highest byte value, rounded up; 0 if it is unknown or at most 1.
// Without bounds it is unknown, because many environments have maps of 0 and 1.
static uint32_t
high_of(const octet_env_space *space)
{
    bool has_bytes = space->n == 0 && space->dtype == OCTET_ENV_U8 && space->high != NULL;
    double high = 0;
    for (uint32_t i = 0; has_bytes && i < env_space_count(space); i++) {
        high = fmax(high, ceil(fmin(space->high[i], UINT8_MAX)));
    }
    return high > 1 ? (uint32_t)high : 0;
}

oct_err
actor_spec_acts(const octet_env_spec *task, oct_reason *why)
{
    if (!actor_obs_encoder_is_known(&task->obs)) {
        return oct_refuse(
            why, "observations of %s are %s; policies read f32, u8 or discrete observations",
            task->id, task->obs.dtype == OCTET_ENV_F64 ? "f64" : "i32");
    }
    if (task->action.n == 0 && task->action.dtype != OCTET_ENV_F32) {
        return oct_refuse(why, "actions of %s are f64; policies give f32 or discrete actions",
                          task->id);
    }
    return OCT_OK;
}

// OCT_EINVAL: a bound is missing, not finite, or the range overflows a float.
static oct_err
bounds_check(const octet_env_spec *task, oct_reason *why)
{
    for (uint32_t i = 0; task->action.n == 0 && i < env_space_count(&task->action); i++) {
        float low = actor_spec_low(&task->action, i), high = actor_spec_high(&task->action, i);
        if (!isfinite(low) || !isfinite(high) || !(low < high) || !isfinite(high - low)) {
            return oct_refuse(why,
                              "%s bounds action %u to [%g, %g]; a policy needs finite bounds, low "
                              "below high and no more than 3.4e38 apart",
                              task->id, i, (double)low, (double)high);
        }
    }
    return OCT_OK;
}

oct_err
actor_spec_trains(const octet_env_spec *task, oct_reason *why)
{
    OCT_TRY(actor_spec_acts(task, why));
    uint32_t numbers = actor_obs_encoder_count(&task->obs), actions = actions_of(&task->action);
    if (numbers > POLICY_WIDTH_MAX) {
        return oct_refuse(why, "an observation of %s has %u %s; allowed are 1 .. %d", task->id,
                          numbers, task->obs.n > 0 ? "values" : "numbers", POLICY_WIDTH_MAX);
    }
    if (actions > POLICY_ACTIONS_MAX) {
        return oct_refuse(why, "%s has %u %s; allowed are 1 .. %d%s", task->id, actions,
                          task->action.n > 0 ? "actions" : "numbers in an action",
                          POLICY_ACTIONS_MAX,
                          task->action.n > 0 && env_gym_has(task->id)
                              ? "; a MultiDiscrete or MultiBinary has one for each combination of "
                                "its parts (of MultiBinary(9) 2^9), a Box one number for each part"
                              : "");
    }
    if (isinf(task->reward_threshold)) {
        return oct_refuse(
            why, "%s has the reward_threshold %g; allowed are a finite number and NaN (none)",
            task->id, task->reward_threshold);
    }
    return bounds_check(task, why);
}

oct_err
actor_spec_init(actor_spec *out, const octet_env_spec *task, oct_reason *why)
{
    OCT_TRY(actor_spec_trains(task, why));
    bool discrete = task->action.n > 0;
    uint32_t actions = actions_of(&task->action);
    for (uint32_t i = 0; !discrete && i < actions; i++) {
        out->low[i] = actor_spec_low(&task->action, i);
        out->high[i] = actor_spec_high(&task->action, i);
    }
    out->values = task->obs.n;
    out->wire = (wire_env_spec){
        .env_id = task->id,
        .obs_dtype = actor_obs_encoder_dtype(&task->obs),
        .obs_count = actor_obs_encoder_count(&task->obs),
        .action_kind = discrete ? POLICY_DISCRETE : POLICY_BOX,
        .action_count = actions,
        .action_low = discrete ? NULL : out->low,
        .action_high = discrete ? NULL : out->high,
        .max_episode_steps = task->max_episode_steps,
        .reward_threshold = task->reward_threshold,
        .obs_rank = task->obs.n > 0 ? 1 : task->obs.rank,
        .obs_shape = task->obs.n > 0 ? &out->values : task->obs.shape,
        .obs_high = high_of(&task->obs),
        .metric_count = task->metric_count,
        .metric_name = task->metric_names,
    };
    return OCT_OK;
}

// Copies count bounds to at, makes *bounds point to the copy, and returns the next free position.
static double *
bounds_copy(const double **bounds, uint32_t count, double *at)
{
    if (*bounds == NULL) {
        return at;
    }
    memcpy(at, *bounds, count * sizeof(*at));
    *bounds = at;
    return at + count;
}

octet_env_spec *
actor_spec_copy(const octet_env_spec *task)
{
    uint32_t obs = task->obs.n > 0 ? 0 : env_space_count(&task->obs);
    uint32_t actions = task->action.n > 0 ? 0 : env_space_count(&task->action);
    struct {
        octet_env_spec spec;
        oct_metric_names metrics;
        const char *metric_names[OCT_METRICS_MAX]; // [i] points to metrics.name[i]
        double bounds[];
    } * copy;
    size_t id_bytes = strlen(task->id) + 1;
    size_t numbers = 2 * ((size_t)obs + actions);
    copy = oct_alloc(sizeof(*copy) + numbers * sizeof(double) + id_bytes);
    copy->spec = (octet_env_spec){
        .size = sizeof(copy->spec),
        .obs = task->obs,
        .action = task->action,
        .max_episode_steps = task->max_episode_steps,
        .reward_threshold = task->reward_threshold,
        .metric_count = task->metric_count,
        .metric_names = copy->metric_names,
    };
    oct_metric_names_of(&copy->metrics, task->metric_names, task->metric_count);
    for (uint32_t i = 0; i < task->metric_count; i++) {
        copy->metric_names[i] = copy->metrics.name[i];
    }
    double *at = bounds_copy(&copy->spec.obs.low, obs, copy->bounds);
    at = bounds_copy(&copy->spec.obs.high, obs, at);
    at = bounds_copy(&copy->spec.action.low, actions, at);
    at = bounds_copy(&copy->spec.action.high, actions, at);
    copy->spec.id = memcpy(at, task->id, id_bytes);
    return &copy->spec;
}

static bool
begins(const char *key, const char *with)
{
    return strncmp(key, with, strlen(with)) == 0;
}

// Keys that an actor in training reads. run.env_steps is not among them, although the noise
// depends on it without actor.noise_steps: a run that is resumed with a larger budget should not
// restart all environments.
static bool
is_of_acting(const char *key)
{
    static const char *const keys[] = {"run.deterministic", "algo.window", "algo.sequence_steps",
                                       "algo.rollout_lag"};
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return begins(key, "actor.");
}

bool
actor_goes_by(const char *key, bool evaluates)
{
    return begins(key, "env.") || strcmp(key, "run.seed") == 0 ||
           (evaluates ? begins(key, "evaluation.") : is_of_acting(key));
}
