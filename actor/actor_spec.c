#include "actor/actor_spec.h"

oct_err
actor_spec_init(actor_spec *out, const octet_env_spec *facts)
{
    bool discrete = facts->action.n > 0;
    uint32_t actions = discrete ? facts->action.n : env_space_count(&facts->action);
    if (actions > POLICY_ACTIONS_MAX) {
        return OCT_EINVAL;
    }
    for (uint32_t i = 0; !discrete && i < actions; i++) {
        out->low[i] = facts->action.low != NULL ? (float)facts->action.low[i] : -1;
        out->high[i] = facts->action.high != NULL ? (float)facts->action.high[i] : 1;
    }
    out->wire = (wire_env_spec){
        .env_id = facts->id,
        .obs_dtype = facts->obs.dtype == OCTET_ENV_U8 ? POLICY_U8 : POLICY_F32,
        .obs_count = env_space_count(&facts->obs),
        .action_kind = discrete ? POLICY_DISCRETE : POLICY_BOX,
        .action_count = actions,
        .action_low = discrete ? NULL : out->low,
        .action_high = discrete ? NULL : out->high,
        .max_episode_steps = facts->max_episode_steps,
        .reward_threshold = facts->reward_threshold,
        .obs_rank = facts->obs.rank,
        .obs_shape = facts->obs.shape,
    };
    return OCT_OK;
}
