#ifndef QUANTIZER_QUANTIZER_PROJECT_H
#define QUANTIZER_QUANTIZER_PROJECT_H

#include "quantizer/quantizer_fold.h"

// Fake quantisation for quantisation-aware training: fp32 parameters in, the fp32 parameters that
// the quantised policy stands for out. A straight-through estimator computes forward and gradient
// with those and applies the gradient to the ones that came in.
//
// Threads: one user. Owns: its image; no allocation in the call.
typedef struct quantizer_projector quantizer_projector;

// Errors as of policy_image_create.
OCT_CHECKED oct_err quantizer_projector_create(quantizer_projector **out, const policy_spec *spec,
                                               policy_precision precision);
void quantizer_projector_destroy(quantizer_projector *projector); // NULL is a no-op

// out[policy_spec_params] = what the image of the folded layers stands for, unfolded: params of raw
// observations, whose outputs are those of the published policy but for what all actions share,
// which is exact. scaling NULL: observations are not scaled. out may be params. OCT_EINVAL when a
// parameter is not finite (nothing useful is in out then).
OCT_CHECKED oct_err quantizer_project(quantizer_projector *projector,
                                      const quantizer_method *method,
                                      const quantizer_scaling *scaling, const float *params,
                                      float *out);
// The image that the last call made, e.g. to see which weights were cut; borrowed.
const policy_image *quantizer_projector_image(const quantizer_projector *projector);

#endif // QUANTIZER_QUANTIZER_PROJECT_H
