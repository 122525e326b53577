#ifndef QUANTIZER_QUANTIZER_PTQ_H
#define QUANTIZER_QUANTIZER_PTQ_H

#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_reservoir.h"

// Post-training quantisation: a finished fp32 policy in another precision, folded as the learner
// publishes it (quantizer_fold.h).
//
// Threads: any. Owns: nothing; an image made here is the caller's (policy_image_destroy). Each call
// allocates. fp32 is always of precision fp32.

// *image = fp32 in `precision`, of the same origin and normalisation and without a return. Unless
// calibration is NULL, biases are corrected on its rows (quantizer_calibrate.h; not for
// POLICY_FP32), which must be one at least. OCT_EINVAL: a weight is not finite, *image is
// untouched.
OCT_CHECKED oct_err quantizer_ptq_convert(policy_image **image, const policy_image *fp32,
                                          policy_precision precision,
                                          const quantizer_method *method,
                                          const quantizer_reservoir *calibration);

// *image = the same policy in fp32, reading observations less their mean, divided by their
// deviation over what was observed, both folded into the first layer. fp32 has no normalise and is
// quantizer_is_scalable. OCT_EAGAIN: fewer rows than QUANTIZER_OBSERVED_LEAST. OCT_EINVAL: a weight
// is not finite. *image is untouched then.
#define QUANTIZER_PTQ_SCALE_ROWS 4096 // enough for a mean and a deviation
OCT_CHECKED oct_err quantizer_ptq_scale(policy_image **image, const policy_image *fp32,
                                        const quantizer_reservoir *observed);

// Whether policies of spec are those of fp32 but for scaled observations.
bool quantizer_ptq_is_scaled(const policy_spec *spec, const policy_spec *fp32);
// quantizer_ptq_scale by the mean and deviation that scaled reads observations with, which
// quantizer_ptq_is_scaled. OCT_EINVAL: a weight is not finite, *image is untouched.
OCT_CHECKED oct_err quantizer_ptq_scale_as(policy_image **image, const policy_image *fp32,
                                           const policy_image *scaled);

// errors[layer_count] of image's weights against those of the fp32 policy of the same spec that it
// was made from (quantizer_report_folded).
void quantizer_ptq_errors(const policy_image *image, const policy_image *fp32,
                          quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_PTQ_H
