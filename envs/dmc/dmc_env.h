#ifndef ENVS_DMC_DMC_ENV_H
#define ENVS_DMC_DMC_ENV_H

#include "envs/dmc/dmc_sim.h"
#include "include/octet/env.h"

// The Control Suite behind the environment ABI. Options:
//     task=cheetah_run       the task (required; the host writes it for the id dmc:cheetah_run)
//     mjcf_dir=FOLDER|auto   dm_control's model files instead of Octet's
//     max_episode_steps=N    steps after which an episode is truncated (1000; 0: never)
// Observations are float32, rewards from 0 to 1. The physical state of an environment is qpos, qvel
// and the task's values. A step in which MuJoCo meets an error or a warning gives OCTET_ENV_FAILED
// | OCTET_ENV_TRUNCATED; reward, final_obs, ep_return and ep_length are 0.
//
// Threads and ownership: include/octet/env.h.
const octet_env_api *dmc_env_api(void);

// Returns the sim of environment i, for drawing. It is the handle's and must not be changed.
const dmc_sim *dmc_env_sim(const octet_env_handle *handle, uint32_t i);

#endif // ENVS_DMC_DMC_ENV_H
