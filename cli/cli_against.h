#ifndef CLI_CLI_AGAINST_H
#define CLI_CLI_AGAINST_H

#include "policy/policy_format.h"

// How far a policy is from the fp32 one that it was made from: the error of each layer's weights,
// and what both answer to the same observations. On standard output.
//
// Threads: main thread.

typedef struct cli_against_options {
    const policy_image *fp32; // of that precision
    const char *fp32_path;
    const char *env_id;  // NULL: random observations; else those that fp32 sees there
    const char *options; // of the environment, "" for none
    uint64_t seed;
} cli_against_options;

// OCT_EINVAL and other errors with one line in reason.
OCT_CHECKED oct_err cli_against(const policy_image *image, const cli_against_options *options,
                                char *reason, size_t reason_size);

#endif // CLI_CLI_AGAINST_H
