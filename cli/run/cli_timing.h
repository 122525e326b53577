#ifndef CLI_RUN_CLI_TIMING_H
#define CLI_RUN_CLI_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct env; // envs/env.h

// Measures how long a reset and a step of an environment take, and chooses how many environments
// one process should step.
//
// A process steps its environments one after the other. While one of them resets, the others wait:
// 16 environments that each need 2 s to begin an episode make their first step after 32 s. Slow
// environments are therefore spread over more actors.
//
// Threads: any. Plain values; nothing is owned. Times are in seconds.
typedef struct cli_timing {
    bool is_known;  // false: nothing was measured
    bool is_late;   // the first reset took longer than reset_s; nothing else is known
    double reset_s; // the longest reset
    double step_s;  // mean of the steps that ended no episode; 0: there was none
    uint32_t steps; // steps that were made
    // steps after which the environment itself truncates an episode; 0: it never does
    uint32_t limit;
    bool has_ended; // an episode ended within these steps
} cli_timing;

// Resets the environment, which has count 1, and steps it with random actions for about a second:
// until an episode ends, at most 100 steps if the environment has a limit and 10,000 if it has
// none. A failure of the environment ends the measurement; out keeps what was measured before.
void cli_timing_measure(struct env *e, cli_timing *out);

// Sets actor.envs, actor.count and evaluation.envs, unless the user has set them, so that no
// environment waits longer than CLI_TIMING_ROUND_S for the others of its process. Returns true if
// config has changed. It never changes in lock-step or offline, nor if other settings forbid it.
#define CLI_TIMING_ROUND_S 4.0 // seconds
// time limit of a measurement; a longer call would lead to the same choice
#define CLI_TIMING_MS         6000u
#define CLI_TIMING_ACTORS_MAX 8u
bool cli_timing_choose(const cli_timing *timing, config_experiment *config);

// Returns true if no episode ended within all measured steps, and the environment has no limit.
bool cli_timing_is_endless(const cli_timing *timing);

#endif // CLI_RUN_CLI_TIMING_H
