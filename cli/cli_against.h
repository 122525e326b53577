#ifndef CLI_CLI_AGAINST_H
#define CLI_CLI_AGAINST_H

#include "common/oct_reason.h"
#include "policy/policy_format.h"

// Measures how far a policy is from the fp32 policy that it was made from: the error of each
// layer's weights, and the difference of their outputs for the same observations. Prints to
// standard output.
//
// Threads: main thread.

typedef struct cli_against_options {
    const policy_image *fp32; // has precision fp32
    const char *fp32_path;
    const char *env_id;  // the fp32 policy plays in this environment; NULL: random observations
    const char *options; // of the environment, "" for none
    uint64_t seed;
} cli_against_options;

// OCT_EINVAL: the policies have different networks. Other errors: no policy can run here, or the
// environment fails. reason gets one line.
OCT_CHECKED oct_err cli_against(const policy_image *image, const cli_against_options *options,
                                oct_reason *why);

#endif // CLI_CLI_AGAINST_H
