#ifndef ACTOR_ACTOR_SIGHT_H
#define ACTOR_ACTOR_SIGHT_H

#include "envs/env.h"
#include "policy/policy_spec.h"

// Observations as policies read them. A discrete one of n values becomes n bytes, 1 at the index
// and 0 elsewhere (one-hot), so that a linear layer over it is a table with a column for each
// value; others are what they are. On the wire, in replay and in the policy there are only those
// bytes.
//
// Threads: one user at a time. Owns: its rows, reserved by init. The rows that the environment
// writes are the io's, set by init.
typedef struct actor_sight {
    uint32_t n; // values of a discrete observation; 0: rows are the environment's own
    uint32_t rows;
    size_t bytes;                 // of one row that a policy reads
    void *obs;                    // [rows][bytes]
    void *final;                  // [rows][bytes], NULL without final observations
    int32_t *index, *final_index; // [rows], of discrete ones; else NULL
} actor_sight;

policy_dtype actor_sight_dtype(const octet_env_space *space);
uint32_t actor_sight_count(const octet_env_space *space);
// Whether there is a way to give such observations to a policy at all.
bool actor_sight_is_known(const octet_env_space *space);

// For that many environments with this space. Sets io's obs and final_obs (where has_final) and
// their strides.
void actor_sight_init(actor_sight *sight, const octet_env_space *space, uint32_t rows,
                      bool has_final, octet_env_io *io);
void actor_sight_fini(actor_sight *sight);
// After the environment has written its rows: sight->obs is what a policy reads.
void actor_sight_renew(actor_sight *sight);
// The final observation of row i, after a step that ended its episode.
const void *actor_sight_final(actor_sight *sight, uint32_t i);

#endif // ACTOR_ACTOR_SIGHT_H
