#ifndef CLI_RUN_CLI_PREFLIGHT_H
#define CLI_RUN_CLI_PREFLIGHT_H

#include <stdint.h>

#include "algos/algo.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_timing.h"
#include "learner/learner_init.h"
#include "proto/wire_env.h"

// What the daemons would refuse, found before there is a run folder: an environment that is not
// there, cannot be loaded or does not take its options, an algorithm or a network that does not
// suit it, a data set of another environment or without what is learned from, and a replay.path
// where no table can be kept. The environment is opened in a child process: a plug-in may crash or
// hang there.
//
// Threads: main thread, before any other starts.

#define CLI_PREFLIGHT_MS 60000u // to open an environment; longer counts as hanging

// What the environment was found to be, for the learner (wire_env.h).
typedef struct cli_environment {
    size_t length;
    uint8_t bytes[WIRE_ENV_BYTES_MAX];
} cli_environment;

// The parts of the preflight, for configurations that share an environment: opening it, which may
// take long, and checking that algorithm, network and data set suit the opened one. OCT_EINTERNAL:
// the environment crashed or hung when it was opened; OCT_EINVAL, or another error: something
// refuses it. reason is one line that names the key it is about. timing: NULL, or what a reset and
// a step take, as far as timeout_ms and CLI_TIMING_MS allow and the environment can be stepped.
OCT_CHECKED oct_err cli_preflight_open(cli_environment *out, const oct_config *config,
                                       uint32_t timeout_ms, cli_timing *timing, char *reason,
                                       size_t reason_size);
OCT_CHECKED oct_err cli_preflight_suits(const cli_environment *environment,
                                        const oct_config *config, char *reason, size_t reason_size);
// The network that the learner makes for the environment, and what its algorithm learns from.
// OCT_EINVAL: reason says why there is none.
OCT_CHECKED oct_err cli_preflight_spec(policy_spec *spec, algo_wants *wants,
                                       const cli_environment *environment, const oct_config *config,
                                       char *reason, size_t reason_size);
// Whether learner.init_from has layers that fit; tell hears which.
OCT_CHECKED oct_err cli_preflight_init(const cli_environment *environment, const oct_config *config,
                                       learner_init_fn tell, char *reason, size_t reason_size);
// Both parts; tell receives which layers a run begins with, and which it keeps. A new run in a slow
// environment that does not come with Octet gets more actors with fewer environments
// (cli_timing.h), which is printed. False: the reason was printed, after the place of its key.
OCT_CHECKED bool cli_preflight_passes(cli_environment *out, const cli_experiment *experiment,
                                      oct_config *config, learner_init_fn tell);
// The same for a run that is to begin: prints the layers, and where it fails ends the process with
// CLI_EXIT_USAGE.
void cli_preflight(cli_environment *out, const cli_experiment *experiment, oct_config *config);

#endif // CLI_RUN_CLI_PREFLIGHT_H
