#ifndef ENVS_ENV_REGISTRY_H
#define ENVS_ENV_REGISTRY_H

#include <stddef.h>

#include "common/oct_reason.h"
#include "include/octet/env.h"

// The native environments by id. Threads: any. A new environment needs its file, a line here and a
// row in env_registry.c.
extern const octet_env_api env_cartpole_api;
extern const octet_env_api env_mountain_car_api;
extern const octet_env_api env_mountain_car_continuous_api;
extern const octet_env_api env_acrobot_api;
extern const octet_env_api env_pendulum_api;
extern const octet_env_api env_frozen_lake_api;
extern const octet_env_api env_frozen_lake8x8_api;
extern const octet_env_api env_cliff_walking_api;
extern const octet_env_api env_cliff_walking_slippery_api;
extern const octet_env_api env_taxi_api;
extern const octet_env_api env_blackjack_api;
// v0 has all six actions, v1 the minimal set of the game.
extern const octet_env_api env_minatar_breakout_v0_api;
extern const octet_env_api env_minatar_breakout_v1_api;
extern const octet_env_api env_minatar_asterix_v0_api;
extern const octet_env_api env_minatar_asterix_v1_api;
extern const octet_env_api env_minatar_freeway_v0_api;
extern const octet_env_api env_minatar_freeway_v1_api;
extern const octet_env_api env_minatar_seaquest_v0_api;
extern const octet_env_api env_minatar_seaquest_v1_api;
extern const octet_env_api env_minatar_invaders_v0_api;
extern const octet_env_api env_minatar_invaders_v1_api;

const octet_env_api *env_registry_find(const char *id); // NULL: not registered
// Writes one line for a person: id is unknown, the nearest ids, and how to name a plug-in.
void env_registry_explain(const char *id, oct_reason *why);

#endif // ENVS_ENV_REGISTRY_H
