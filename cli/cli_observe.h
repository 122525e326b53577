#ifndef CLI_CLI_OBSERVE_H
#define CLI_CLI_OBSERVE_H

#include "common/oct_reason.h"
#include "quantizer/quantizer_reservoir.h"

// Adds an observation to a quantizer_reservoir: actor_evaluate_request's observe.
void cli_observe_row(void *reservoir, const void *obs);

// Describes the observed episodes: "10 episodes", or "10 episodes (and 3 that failed)".
typedef struct cli_observed {
    char text[48];
} cli_observed;

// Adds the observations of the fp32 policy in 10 episodes to reservoir. If the environment fails
// and an episode is repeated, the observations before the failure are kept, too. env_options are as
// in env_request, "" for none. Errors are those of policy_net_create and actor_evaluate; reason
// gets one line.
//
// Threads: main thread.
OCT_CHECKED oct_err cli_observe(cli_observed *out, quantizer_reservoir *reservoir,
                                const policy_image *fp32, const char *env_id,
                                const char *env_options, uint64_t seed, oct_reason *why);

#endif // CLI_CLI_OBSERVE_H
