#ifndef CLI_CLI_SCALE_H
#define CLI_CLI_SCALE_H

#include "policy/policy_format.h"

// The same policy, reading observations less their mean, divided by their deviation
// (quantizer/quantizer_fold.h), as the learner publishes it: for finished policies without.
//
// Threads: any.
#define CLI_SCALE_ROWS 4096

// fp32: of precision fp32, without normalise, and quantizer_is_scalable. obs[rows][obs_count].
// OCT_EAGAIN: fewer rows than QUANTIZER_OBSERVED_LEAST. OCT_EINVAL: a weight is not finite.
OCT_CHECKED oct_err cli_scale(policy_image **out, const policy_image *fp32, const float *obs,
                              uint32_t rows);

#endif // CLI_CLI_SCALE_H
