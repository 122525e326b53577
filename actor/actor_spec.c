// An environment's spec in the wire's words, as a registration carries it.
#include "actor/actor_spec.h"

#include <string.h>

#include "actor/actor_sight.h"
#include "common/oct_base.h"

oct_err
actor_spec_init(actor_spec *out, const octet_env_spec *task)
{
    bool discrete = task->action.n > 0;
    uint32_t actions = discrete ? task->action.n : env_space_count(&task->action);
    if (actions > POLICY_ACTIONS_MAX) {
        return OCT_EINVAL;
    }
    for (uint32_t i = 0; !discrete && i < actions; i++) {
        out->low[i] = task->action.low != NULL ? (float)task->action.low[i] : -1;
        out->high[i] = task->action.high != NULL ? (float)task->action.high[i] : 1;
    }
    out->values = task->obs.n;
    out->wire = (wire_env_spec){
        .env_id = task->id,
        .obs_dtype = actor_sight_dtype(&task->obs),
        .obs_count = actor_sight_count(&task->obs),
        .action_kind = discrete ? POLICY_DISCRETE : POLICY_BOX,
        .action_count = actions,
        .action_low = discrete ? NULL : out->low,
        .action_high = discrete ? NULL : out->high,
        .max_episode_steps = task->max_episode_steps,
        .reward_threshold = task->reward_threshold,
        .obs_rank = task->obs.n > 0 ? 1 : task->obs.rank,
        .obs_shape = task->obs.n > 0 ? &out->values : task->obs.shape,
    };
    return OCT_OK;
}

static bool
begins(const char *key, const char *with)
{
    return strncmp(key, with, strlen(with)) == 0;
}

// run.env_steps, over which noise falls without actor.noise_steps, is not among them: a run that
// goes on with a larger budget is no reason to begin all environments anew with more noise.
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
