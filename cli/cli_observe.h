#ifndef CLI_CLI_OBSERVE_H
#define CLI_CLI_OBSERVE_H

#include "quantizer/quantizer_reservoir.h"

// As actor_evaluate_request's observe: adds to a quantizer_reservoir.
void cli_observe_row(void *reservoir, const void *obs);

// Which episodes were observed: "10 episodes", or "10 episodes (and 3 that failed)".
typedef struct cli_observed {
    char text[48];
} cli_observed;

// Adds to reservoir what the fp32 policy observes in 10 episodes. Where the environment fails and
// one is played again, what was observed before the failure is added, too. env_options: as in
// env_request, "" for none. Errors as of policy_net_create and actor_evaluate, with one line in
// reason.
//
// Threads: main thread.
OCT_CHECKED oct_err cli_observe(cli_observed *out, quantizer_reservoir *reservoir,
                                const policy_image *fp32, const char *env_id,
                                const char *env_options, uint64_t seed, char *reason,
                                size_t reason_size);

#endif // CLI_CLI_OBSERVE_H
