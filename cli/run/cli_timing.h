#ifndef CLI_RUN_CLI_TIMING_H
#define CLI_RUN_CLI_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_config.h"

struct env; // envs/env.h

// How long a reset and a step of an environment take, and how many environments one process should
// step for that.
//
// A process steps its environments one after the other. While one of them resets, the others wait:
// 16 environments that each need 2 s to begin an episode make their first step after 32 s. Slow
// environments are therefore spread over more actors.
//
// Threads: any. Plain values; nothing is owned. Times are in seconds.
typedef struct cli_timing {
    bool is_known;  // false: nothing was measured
    bool is_late;   // the first reset had not ended after reset_s; nothing else is known
    double reset_s; // the longest reset
    double step_s;  // mean of the steps that end no episode; 0: there was none
    uint32_t steps; // that were made
    uint32_t limit; // steps after which the environment truncates an episode itself; 0: none
    bool has_ended; // an episode ended in these steps
} cli_timing;

// Resets the environment, of count 1, and steps it with random actions for about a second: until
// an episode ends, or 10,000 steps if the environment has no limit. An environment that fails ends
// the measurement; what was measured until then is in out.
void cli_timing_measure(struct env *e, cli_timing *out);

// Sets actor.envs, actor.count and evaluation.envs, as far as nobody has set them, so that no
// environment waits longer than CLI_TIMING_ROUND_S for the others of its process. Returns whether
// config has changed: never in lock-step, and not if the other settings forbid it.
#define CLI_TIMING_ROUND_S    4.0
#define CLI_TIMING_MS         6000u // to measure in: a longer call leads to the same choice
#define CLI_TIMING_ACTORS_MAX 8u
bool cli_timing_choose(const cli_timing *timing, oct_config *config);

// No episode ended in all these steps, and the environment has no limit.
bool cli_timing_is_endless(const cli_timing *timing);

#endif // CLI_RUN_CLI_TIMING_H
