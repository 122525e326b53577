#ifndef CLI_CLI_DISTILL_ROWS_H
#define CLI_CLI_DISTILL_ROWS_H

#include "actor/actor_evaluate.h"
#include "cli/cli_distill_options.h"
#include "quantizer/quantizer_reservoir.h"

// Observations that a student learns on: recorded ones, and fresh ones of an environment.
//
// Threads: main thread. Owns: nothing.

// Of recorded ones at most so many are kept, drawn evenly from all (quantizer_reservoir.h).
#define CLI_DISTILL_RECORDED_MAX 262144

// All of --obs and --replay into reservoir. False: a message was printed.
bool cli_distill_recorded(quantizer_reservoir *reservoir, const policy_spec *spec,
                          const cli_distill_options *options);
// The first play->episodes observations that a policy makes as play says, which has no callbacks.
// Errors as of policy_net_create and actor_evaluate, with one line in reason.
OCT_CHECKED oct_err cli_distill_fresh(quantizer_reservoir *reservoir,
                                      const actor_evaluate_request *play, const policy_image *acts,
                                      char *reason, size_t reason_size);

#endif // CLI_CLI_DISTILL_ROWS_H
