#ifndef ENVS_ENV_CHECK_RIG_H
#define ENVS_ENV_CHECK_RIG_H

#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "envs/env_instance.h"

// A handle under test: every row lies between guard bytes and is filled with a poison byte before
// each call, so that a write outside the rows and a number that was not written both show. Calls go
// to the environment's own table, not through the host's guards.
//
// Threads: one user at a time. Owns: the handle and the rows.
typedef struct env_check_rig {
    env_instance its;
    uint32_t count;
    uint8_t poison; // fills the rows before each call
    uint32_t obs_bytes, obs_stride, action_bytes, action_stride;
    uint8_t *obs_block, *final_block, *action_block; // with the guards around the rows
    uint8_t *obs, *final_obs, *action;               // the first row in each block
    float *reward, *ep_return, *metrics;
    uint8_t *flags;
    int32_t *ep_length;
    double *reward64;
    octet_env_io io;
    oct_rng rng; // draws the actions
} env_check_rig;

OCT_CHECKED oct_err env_check_rig_init(env_check_rig *out, const env_request *request,
                                       uint8_t poison, oct_reason *why);
void env_check_rig_fini(env_check_rig *rig);
// Both return what the environment returns. A step uses the actions in the rows.
int env_check_rig_reset(env_check_rig *rig, const uint8_t *mask, const uint64_t *seeds);
int env_check_rig_step(env_check_rig *rig);
// Draws random actions of the space into the rows.
void env_check_rig_draw(env_check_rig *rig);
// Return the row of environment i.
const uint8_t *env_check_rig_obs(const env_check_rig *rig, uint32_t i);
const uint8_t *env_check_rig_final(const env_check_rig *rig, uint32_t i);
// Returns the name of the first buffer that was written outside its rows; NULL: none.
const char *env_check_rig_trespass(const env_check_rig *rig);

#endif // ENVS_ENV_CHECK_RIG_H
