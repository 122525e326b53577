#ifndef QUANTIZER_QUANTIZER_PTQ_H
#define QUANTIZER_QUANTIZER_PTQ_H

#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_reservoir.h"

// Post-training quantisation: converts a finished fp32 policy to another precision, folded as the
// learner publishes it (quantizer_fold.h).
//
// Threads: any. Owns: nothing; the caller owns each image that is made here (policy_image_destroy).
// Each call allocates. The image called fp32 always has that precision.

// *image = fp32 in `precision`, with the same origin, contract and normalisation and without an
// evaluation return. Unless calibration is NULL, biases are corrected on its rows, at least one
// (quantizer_calibrate.h; not for POLICY_FP32). OCT_EINVAL: a weight is not finite; *image is
// unchanged.
OCT_CHECKED oct_err quantizer_ptq_convert(policy_image **image, const policy_image *fp32,
                                          policy_precision precision,
                                          const quantizer_method *method,
                                          const quantizer_reservoir *calibration);

// *image = the same policy in fp32, but with normalise: it subtracts from observations their mean
// and divides them by their deviation over the observed rows, and its first layer absorbs both.
// fp32 has no normalise and quantizer_is_scalable. After an error *image is unchanged:
//   OCT_EAGAIN  there are fewer rows than QUANTIZER_OBSERVED_LEAST
//   OCT_EINVAL  a weight is not finite, or the policy would exceed POLICY_BYTES_MAX
#define QUANTIZER_PTQ_SCALE_ROWS 4096 // rows to observe, enough for a mean and a deviation
OCT_CHECKED oct_err quantizer_ptq_scale(policy_image **image, const policy_image *fp32,
                                        const quantizer_reservoir *observed);

// Returns true if spec is the spec that quantizer_ptq_scale gives to a policy of spec fp32.
bool quantizer_ptq_is_scaled(const policy_spec *spec, const policy_spec *fp32);
// Does quantizer_ptq_scale with the mean and deviation of another image, scaled, for which
// quantizer_ptq_is_scaled. OCT_EINVAL as above; *image is unchanged.
OCT_CHECKED oct_err quantizer_ptq_scale_as(policy_image **image, const policy_image *fp32,
                                           const policy_image *scaled);

// errors[layer_count] = the errors of the weights of image against the fp32 policy of the same spec
// from which it was made (quantizer_report_folded).
void quantizer_ptq_errors(const policy_image *image, const policy_image *fp32,
                          quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_PTQ_H
