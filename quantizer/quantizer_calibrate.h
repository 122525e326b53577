#ifndef QUANTIZER_QUANTIZER_CALIBRATE_H
#define QUANTIZER_QUANTIZER_CALIBRATE_H

#include "policy/policy_format.h"

// Bias correction. Rounding a row of weights adds an error to its output, and that error has a
// mean, because inputs are not centred (after a ReLU they are never negative). Biases stay in fp32,
// so the mean can be removed without cost: layer by layer, each bias of image is moved until the
// mean of its output over obs[rows][obs_count], before layer norm and activation, equals the mean
// in fp32. Activations are computed in fp32; rounding them to eight bits would change little. A
// bias stays as it is if its output overflows on an observation.
//
// Threads: any. Allocates. rows >= 1; only the first QUANTIZER_CALIBRATE_ROWS rows are used.
#define QUANTIZER_CALIBRATE_ROWS 512
void quantizer_calibrate(policy_image *image, const policy_image *fp32, const float *obs,
                         uint32_t rows);

#endif // QUANTIZER_QUANTIZER_CALIBRATE_H
