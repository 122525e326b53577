#ifndef CLI_CLI_DISTILL_ROWS_H
#define CLI_CLI_DISTILL_ROWS_H

#include "actor/actor_evaluate.h"
#include "cli/cli_distill_options.h"
#include "common/oct_reason.h"
#include "quantizer/quantizer_reservoir.h"

// The observations that a student learns from: recorded ones, and new ones from an environment.
//
// Threads: main thread. Owns: nothing.

// Recorded observations that are kept at most, drawn evenly from all (quantizer_reservoir.h).
#define CLI_DISTILL_RECORDED_MAX 262144

// Adds all observations of --obs and --replay to reservoir. False: a message was printed.
bool cli_distill_recorded(quantizer_reservoir *reservoir, const policy_spec *spec,
                          const cli_distill_options *options);
// Adds the first play->episodes observations that the policy `acts` makes in the environment of
// play, which has no callbacks. Errors are those of policy_net_create and actor_evaluate; reason
// gets one line.
OCT_CHECKED oct_err cli_distill_fresh(quantizer_reservoir *reservoir,
                                      const actor_evaluate_request *play, const policy_image *acts,
                                      oct_reason *why);

#endif // CLI_CLI_DISTILL_ROWS_H
