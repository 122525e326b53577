#ifndef QUANTIZER_QUANTIZER_CALIBRATE_H
#define QUANTIZER_QUANTIZER_CALIBRATE_H

#include "policy/policy_format.h"

// Bias correction. Rounding a row of weights adds an error to its output that has a mean: inputs
// are not centred, after a relu not even signed. Biases are kept in fp32, so this part of the
// error can be taken out for nothing: layer by layer, each bias of image is moved until its output
// (before layer norm and activation) has the mean that it has in fp32, over obs[rows][obs_count].
// Activations are computed in fp32 here; rounding them to eight bits adds little. The bias of an
// output that overflows on some of obs stays as it is.
//
// Threads: any. rows >= 1; at most QUANTIZER_CALIBRATE_ROWS are looked at.
#define QUANTIZER_CALIBRATE_ROWS 512
void quantizer_calibrate(policy_image *image, const policy_image *fp32, const float *obs,
                         uint32_t rows);

#endif // QUANTIZER_QUANTIZER_CALIBRATE_H
