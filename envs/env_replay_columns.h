#ifndef ENVS_ENV_REPLAY_COLUMNS_H
#define ENVS_ENV_REPLAY_COLUMNS_H

#include "envs/env.h"
#include "envs/env_csv.h"

// What each column of a file of recorded trajectories means to an environment (env_replay.h says
// which there are). Threads: one user at a time. Owns: its arrays, freed by
// env_replay_columns_fini; borrows the file's names.

#define ENV_REPLAY_NONE UINT32_MAX // no such column

typedef struct env_replay_run_of {
    uint32_t *at; // [count] columns; ENV_REPLAY_NONE: the number is in no file
    uint32_t count;
} env_replay_run_of;

typedef struct env_replay_columns {
    uint32_t ep, t, reward;
    uint32_t terminated, truncated; // ENV_REPLAY_NONE: not compared
    env_replay_run_of action;
    env_replay_run_of state; // count 0: the environment has none
    env_replay_run_of obs;   // count 0: bits has it
    uint32_t bits;           // state_hex; ENV_REPLAY_NONE: obs has it
    uint32_t tape;           // random_tape; ENV_REPLAY_NONE: the environment's own generator
    char ignored[200];       // names of columns without a meaning, "a, b"
    char unrecorded[200];    // what the environment has and the file has not, and need not
} env_replay_columns;

// OCT_EINVAL with the reason: columns that are needed are missing (all of them named; those of the
// observation may, if partial, or if the environment names them and at least half of them are
// there), or one has no meaning and the environment names none of its own.
// Columns of words are marked in csv.
OCT_CHECKED oct_err env_replay_columns_init(env_replay_columns *out, env_csv *csv,
                                            const octet_env_spec *spec, bool partial, char *reason,
                                            size_t reason_size);
void env_replay_columns_fini(env_replay_columns *columns);
// The column of a state's number that only an episode's first row has.
bool env_replay_is_of_start(const char *name);

#endif // ENVS_ENV_REPLAY_COLUMNS_H
