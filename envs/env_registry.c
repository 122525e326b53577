// The table of native environments by id, and the message for an id that is unknown.
#include "envs/env_registry.h"

#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_nearest.h"

struct row {
    const char *id;
    const octet_env_api *api;
};

#define ROWS(X)                                                                                    \
    X("CartPole-v1", env_cartpole_api)                                                             \
    X("MountainCar-v0", env_mountain_car_api)                                                      \
    X("MountainCarContinuous-v0", env_mountain_car_continuous_api)                                 \
    X("Acrobot-v1", env_acrobot_api)                                                               \
    X("Pendulum-v1", env_pendulum_api)                                                             \
    X("FrozenLake-v1", env_frozen_lake_api)                                                        \
    X("FrozenLake8x8-v1", env_frozen_lake8x8_api)                                                  \
    X("CliffWalking-v1", env_cliff_walking_api)                                                    \
    X("CliffWalkingSlippery-v1", env_cliff_walking_slippery_api)                                   \
    X("Taxi-v4", env_taxi_api)                                                                     \
    X("Blackjack-v1", env_blackjack_api)                                                           \
    X("MinAtar/Breakout-v0", env_minatar_breakout_v0_api)                                          \
    X("MinAtar/Breakout-v1", env_minatar_breakout_v1_api)                                          \
    X("MinAtar/Asterix-v0", env_minatar_asterix_v0_api)                                            \
    X("MinAtar/Asterix-v1", env_minatar_asterix_v1_api)                                            \
    X("MinAtar/Freeway-v0", env_minatar_freeway_v0_api)                                            \
    X("MinAtar/Freeway-v1", env_minatar_freeway_v1_api)                                            \
    X("MinAtar/Seaquest-v0", env_minatar_seaquest_v0_api)                                          \
    X("MinAtar/Seaquest-v1", env_minatar_seaquest_v1_api)                                          \
    X("MinAtar/SpaceInvaders-v0", env_minatar_invaders_v0_api)                                     \
    X("MinAtar/SpaceInvaders-v1", env_minatar_invaders_v1_api)

#define ROW(id, api)    {id, &api},
#define ROW_ID(id, api) id,
static const struct row rows[] = {ROWS(ROW)};
static const char *const row_ids[] = {ROWS(ROW_ID) NULL};

const octet_env_api *
env_registry_find(const char *id)
{
    for (size_t i = 0; i < OCT_COUNTOF(rows); i++) {
        if (strcmp(rows[i].id, id) == 0) {
            return rows[i].api;
        }
    }
    return NULL;
}

void
env_registry_explain(const char *id, oct_reason *why)
{
    const char *nearest = env_nearest(id, row_ids);
    char known[96] = "";
    static const char more[] = ", ... (octet env list)";
    bool full = false;
    for (size_t i = 0; i < OCT_COUNTOF(rows); i++) {
        size_t used = strlen(known);
        if (!full && used + strlen(rows[i].id) + 2 + sizeof(more) > sizeof(known)) {
            snprintf(known + used, sizeof(known) - used, "%s", more);
            full = true;
        } else if (!full) {
            snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", rows[i].id);
        }
    }
    if (nearest != NULL) {
        oct_reason_set(why, "no environment \"%.63s\"; did you mean %s? (known: %s)", id, nearest,
                       known);
    } else {
        oct_reason_set(
            why,
            "no environment \"%.63s\"; known: %s; dmc:TASK; or the path of a plug-in (./name.so)",
            id, known);
    }
}

const char *const *
env_ids(void)
{
    return row_ids;
}
