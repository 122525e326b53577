#ifndef CLI_CLI_OBSERVE_H
#define CLI_CLI_OBSERVE_H

#include "quantizer/quantizer_reservoir.h"

// Adds to reservoir what the fp32 policy observes while it plays CLI_OBSERVE_EPISODES episodes.
// env_options: as in env_request, "" for none. Errors as of policy_net_create and actor_evaluate,
// with one line in reason.
//
// Threads: main thread.
#define CLI_OBSERVE_EPISODES 10
OCT_CHECKED oct_err cli_observe(quantizer_reservoir *reservoir, const policy_image *fp32,
                                const char *env_id, const char *env_options, uint64_t seed,
                                char *reason, size_t reason_size);

#endif // CLI_CLI_OBSERVE_H
