#ifndef ENVS_ENV_REPLAY_COLUMNS_H
#define ENVS_ENV_REPLAY_COLUMNS_H

#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_csv.h"

// The meaning of each column in a file of recorded trajectories (env_replay.h lists the columns).
// Threads: one user at a time. Owns: its arrays, freed by env_replay_columns_fini; borrows the
// file's names.

#define ENV_REPLAY_NONE UINT32_MAX // no such column

// The columns of a vector.
typedef struct env_replay_run_of {
    uint32_t *at; // [count] columns; ENV_REPLAY_NONE: the number has no column
    uint32_t count;
} env_replay_run_of;

typedef struct env_replay_columns {
    uint32_t ep, t, reward;
    uint32_t terminated, truncated; // ENV_REPLAY_NONE: not compared
    env_replay_run_of action;
    env_replay_run_of state; // count 0: the environment has no state
    env_replay_run_of obs;   // count 0: bits has the observation
    uint32_t bits;           // column state_hex; ENV_REPLAY_NONE: obs has the observation
    uint32_t tape; // column random_tape; ENV_REPLAY_NONE: the environment uses its own generator
    char ignored[200];    // names of columns without a meaning, "a, b"
    char unrecorded[200]; // numbers of the environment that have no column and need none
} env_replay_columns;

// Finds the columns, and marks columns of words in csv. OCT_EINVAL with the reason:
//   needed columns are missing; reason names them all. Columns of the observation may be missing if
//   partial, or if the environment names them and at least half are there
//   a column has no meaning, and the environment names no columns of its own
OCT_CHECKED oct_err env_replay_columns_init(env_replay_columns *out, env_csv *csv,
                                            const octet_env_spec *spec, bool partial,
                                            oct_reason *why);
void env_replay_columns_fini(env_replay_columns *columns);
// Returns true for the column of a state's number that only an episode's first row has.
bool env_replay_is_of_start(const char *name);

#endif // ENVS_ENV_REPLAY_COLUMNS_H
