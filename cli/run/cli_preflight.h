#ifndef CLI_RUN_CLI_PREFLIGHT_H
#define CLI_RUN_CLI_PREFLIGHT_H

#include <stdint.h>

#include "algos/algo.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_timing.h"
#include "common/oct_reason.h"
#include "learner/learner_init_from.h"
#include "proto/wire_env.h"

// Finds what the daemons would refuse before there is a run folder: an environment that does not
// exist, cannot be loaded or refuses its options; an algorithm or a network that does not suit it;
// a data set from another environment or without what the algorithm learns from; a replay.path
// where no table can be kept. The environment is opened in a child process, because a plug-in may
// crash or hang.
//
// Threads: main thread, before any other starts.

#define CLI_PREFLIGHT_MS 60000u // to open an environment; a longer open counts as hanging

// The spec of the environment, packed for the learner (wire_env.h).
typedef struct cli_environment {
    size_t length;
    uint8_t bytes[WIRE_ENV_BYTES_MAX];
} cli_environment;

// The parts of the preflight, separate for configurations that share an environment.
// cli_preflight_open opens the environment, which may take long. cli_preflight_suits checks that
// algorithm, network and data set suit it. Errors, with one line in reason that names the key:
//   OCT_EINTERNAL  the environment crashed or hung when it was opened
//   OCT_EINVAL and others  the environment, or a check, refuses the configuration
// timing: NULL, or gets what a reset and a step take, as far as timeout_ms and CLI_TIMING_MS allow
// and the environment can be stepped.
OCT_CHECKED oct_err cli_preflight_open(cli_environment *out, const config_experiment *config,
                                       uint32_t timeout_ms, cli_timing *timing, oct_reason *why);
OCT_CHECKED oct_err cli_preflight_suits(const cli_environment *environment,
                                        const config_experiment *config, oct_reason *why);
// Makes the network that the learner makes for the environment, and what its algorithm learns from.
// OCT_EINVAL: reason says why there is none.
OCT_CHECKED oct_err cli_preflight_spec(policy_spec *spec, algo_wants *wants,
                                       const cli_environment *environment,
                                       const config_experiment *config, oct_reason *why);
// Checks that learner.init_from has layers that fit; tell is called with a line for each.
OCT_CHECKED oct_err cli_preflight_init(const cli_environment *environment,
                                       const config_experiment *config, learner_init_from_fn tell,
                                       oct_reason *why);
// Runs all checks. tell receives which layers the run takes over, and which it freezes. A new run
// in a slow environment that does not come with Octet gets more actors with fewer environments each
// (cli_timing.h), which is printed. False: the reason was printed after the position of its key.
OCT_CHECKED bool cli_preflight_passes(cli_environment *out, const cli_experiment *experiment,
                                      config_experiment *config, learner_init_from_fn tell);
// The same for a run that is about to begin: prints the layers, and on a failure ends the process
// with CLI_EXIT_USAGE.
void cli_preflight(cli_environment *out, const cli_experiment *experiment,
                   config_experiment *config);

#endif // CLI_RUN_CLI_PREFLIGHT_H
