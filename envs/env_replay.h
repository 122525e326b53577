#ifndef ENVS_ENV_REPLAY_H
#define ENVS_ENV_REPLAY_H

#include "envs/env.h"

// Compares an environment with recorded trajectories: a CSV file with the columns
//     ep, t, action (or action0.. or u0..), s0.., o0.., reward, terminated, truncated
// whose rows t are the state, observation and so on after step t; the first row of an episode is
// its start (its action, reward and flags are not looked at). The environment is put into the
// recorded start state and stepped with the recorded actions; every number has to be the same bit
// for bit, or within tolerance.
//
// Threads: one user at a time. Owns: nothing.
typedef struct env_replay_request {
    const char *path;
    double tolerance; // 0: the same bits; flags are always compared exactly
    bool one_step;    // put the environment into the recorded state before every step
} env_replay_request;

typedef struct env_replay_result {
    uint64_t rows; // compared, starts included
    uint64_t episodes;
    uint64_t rows_differing;
    // The first difference.
    uint32_t line;
    char column[48];
    double got, want;
    double worst; // largest |got - want| of state, observation and reward
} env_replay_result;

// e: one environment, opened without autoreset. OCT_EINVAL, OCT_ENOTFOUND, OCT_EIO with one line in
// reason: the file is malformed or does not fit the environment.
OCT_CHECKED oct_err env_replay_run(env_replay_result *out, env *e,
                                   const env_replay_request *request, char *reason,
                                   size_t reason_size);

#endif // ENVS_ENV_REPLAY_H
