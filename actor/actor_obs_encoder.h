#ifndef ACTOR_ACTOR_OBS_ENCODER_H
#define ACTOR_ACTOR_OBS_ENCODER_H

#include "envs/env.h"
#include "policy/policy_spec.h"

// Observations as policies read them. A discrete observation with n values becomes a one-hot row
// of n bytes, so that a linear layer over it is a table with one column for each value. Other
// observations stay as they are. The wire, replay and the policy see only these bytes.
//
// Threads: one user at a time. Owns: its rows, reserved by init. The environment writes to the
// rows that init set in io.
typedef struct actor_obs_encoder {
    uint32_t n; // values of a discrete observation; 0: not discrete
    uint32_t rows;
    size_t bytes;                 // of one row, as policies read it
    void *obs;                    // [rows][bytes]
    void *final;                  // [rows][bytes]; NULL: no final observations
    int32_t *index, *final_index; // [rows] what the environment writes; NULL unless discrete
} actor_obs_encoder;

// The type and the count of numbers in an observation, as policies read it.
policy_dtype actor_obs_encoder_dtype(const octet_env_space *space);
uint32_t actor_obs_encoder_count(const octet_env_space *space);
// Returns true if policies can read observations of this space: f32, u8 or discrete.
bool actor_obs_encoder_is_known(const octet_env_space *space);

// Reserves rows rows of this space. Sets obs and final_obs (NULL unless has_final) of io, and
// their strides.
void actor_obs_encoder_init(actor_obs_encoder *sight, const octet_env_space *space, uint32_t rows,
                            bool has_final, octet_env_io *io);
void actor_obs_encoder_fini(actor_obs_encoder *sight);
// Updates obs after the environment has written its rows.
void actor_obs_encoder_renew(actor_obs_encoder *sight);
// Returns the final observation of row i, after a step that ended its episode.
const void *actor_obs_encoder_final(actor_obs_encoder *sight, uint32_t i);

#endif // ACTOR_ACTOR_OBS_ENCODER_H
