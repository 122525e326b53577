#ifndef ENVS_ENV_REPLAY_H
#define ENVS_ENV_REPLAY_H

#include "common/oct_reason.h"
#include "envs/env.h"

// Compares an environment with recorded trajectories, a CSV file whose rows t are state,
// observation and so on after step t of episode ep. The first row of an episode is its start (its
// action, reward and flags are ignored): the environment is put into the recorded state, or
// reset with the recorded random numbers, and then stepped with the recorded actions. The columns:
//     ep, t          whole numbers
//     action         or action0.., or u0..
//     s0..           or spec.state_names; none when the environment has no set_state. "model.*" is
//                    needed in an episode's first row only
//     o0..           or spec.obs_names; or, of bytes that are 0 or 1, state_hex (env_tape_bits)
//     reward         or spec.reward_name
//     terminated, truncated   0 or 1; without the column not compared. terminal is terminated
//     random_tape    the numbers drawn by the reset or step of this row (env_tape_read), for an
//                    environment with set_draws
// Other columns are ignored if the spec names its own columns, otherwise refused. If the spec names
// the observation, up to half of its columns may be missing, and those numbers are not compared.
//
// Two numbers agree when |got - want| <= tolerance * max(1, |want|); with tolerance 0 when they
// have the same bits. A float32 observation is compared with the recorded number rounded to float,
// and with a tolerance above 0 may also be the neighbouring float, because 1e-7 is less than the
// step between floats.
//
// Threads: one user at a time. Owns: nothing.
#define ENV_REPLAY_TOLERANCE (-1.0) // default: 0, or 1e-7 for an environment that names its state
#define ENV_REPLAY_TOLERANCE_NAMED                                                                 \
    1e-7 // a simulator's: other machines round sin and exp differently

typedef struct env_replay_request {
    const char *path;
    double tolerance; // or ENV_REPLAY_TOLERANCE; flags are always compared exactly
    bool one_step;    // put the environment into the recorded state before every step
    bool partial;     // any number of the observation may lack a column
} env_replay_request;

typedef struct env_replay_result {
    uint64_t rows; // rows compared, starts included
    uint64_t episodes;
    uint64_t rows_differing;
    // The first difference; valid if rows_differing > 0.
    uint32_t line;
    char column[64];
    double got, want;
    double worst;     // largest |got - want| of state, observation and reward
    double tolerance; // the tolerance that was applied
    // Lists such as "a, b": columns without a meaning here; numbers of the environment without a
    // column.
    char ignored[200];
    char unrecorded[200];
} env_replay_result;

// Compares e, one environment that was opened without autoreset. OCT_EINVAL, OCT_ENOTFOUND,
// OCT_EIO, with one line in reason: the file is malformed or does not fit the environment.
OCT_CHECKED oct_err env_replay_run(env_replay_result *out, env *e,
                                   const env_replay_request *request, oct_reason *why);

#endif // ENVS_ENV_REPLAY_H
