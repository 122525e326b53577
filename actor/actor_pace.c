// How many batches an actor makes with each version of the policy, and how long it waits for the
// next one.
#include "actor/actor_pace.h"

#include "common/oct_base.h"

void
actor_pace_init(actor_pace *pace, const config_experiment *config)
{
    bool has_rollouts = config_has_rollouts(config);
    *pace = (actor_pace){
        .is_on = config_actors_wait(config),
        .has_rollouts = has_rollouts,
        .most = has_rollouts ? 1 + config->algo.rollout_lag : 1,
        .wait_s = config->actor.rollout_wait_s,
    };
}

void
actor_pace_version(actor_pace *pace, uint64_t before, uint64_t now, uint64_t now_ns)
{
    uint64_t more = now > before ? now - before : 1;
    pace->due = (uint32_t)(before == 0 ? pace->most : OCT_MIN(pace->due + more, pace->most));
    if (pace->asked_ns != 0) {
        pace->version_s[pace->versions++ % ACTOR_PACE_VERSIONS] =
            (double)(now_ns - pace->asked_ns) * 1e-9;
        pace->asked_ns = 0;
    }
}

// Returns the shortest of the last times; 0: none was measured.
static double
quickest_s(const actor_pace *pace)
{
    double quickest = pace->version_s[0];
    for (uint32_t i = 1; i < OCT_MIN(pace->versions, ACTOR_PACE_VERSIONS); i++) {
        quickest = OCT_MIN(quickest, pace->version_s[i]);
    }
    return quickest;
}

bool
actor_pace_is_due(actor_pace *pace, uint64_t now_ns)
{
    double since_s = (double)(now_ns - pace->paused_ns) * 1e-9;
    double wait_s = OCT_MAX(pace->wait_s, ACTOR_PACE_WAITS * quickest_s(pace));
    if (pace->due == 0 && pace->has_rollouts && since_s >= wait_s) {
        pace->due = 1;
    }
    return !pace->is_on || pace->due > 0;
}

void
actor_pace_made(actor_pace *pace, uint64_t now_ns)
{
    if (pace->is_on) {
        OCT_ASSERT(pace->due > 0);
        pace->due--;
        pace->paused_ns = now_ns;
        pace->asked_ns = pace->asked_ns != 0 ? pace->asked_ns : now_ns;
    }
}
