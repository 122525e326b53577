#ifndef QUANTIZER_QUANTIZER_PROJECT_H
#define QUANTIZER_QUANTIZER_PROJECT_H

#include "quantizer/quantizer_fold.h"

// Fake quantisation for quantisation-aware training: turns fp32 parameters into the fp32 parameters
// that the quantised policy represents. A straight-through estimator computes the forward pass and
// the gradient with the projected parameters and applies the gradient to the original ones.
//
// Threads: one user. Owns: its image and the fold's work space; quantizer_project does not
// allocate.
typedef struct quantizer_projector quantizer_projector;

// Errors as policy_image_create.
OCT_CHECKED oct_err quantizer_projector_create(quantizer_projector **out, const policy_spec *spec,
                                               policy_precision precision);
void quantizer_projector_destroy(quantizer_projector *projector); // NULL is a no-op

// out[policy_spec_params] = the parameters that the image of the folded layers represents,
// unfolded. They read raw observations, and their outputs are those of the published policy plus
// the exact common part of all actions. scaling NULL: observations are not scaled. out may be
// params. OCT_EINVAL: a parameter is not finite; out is unchanged.
OCT_CHECKED oct_err quantizer_project(quantizer_projector *projector,
                                      const quantizer_method *method,
                                      const quantizer_scaling *scaling, const float *params,
                                      float *out);
// Returns the image of the last quantizer_project, for example to see which weights were clamped.
// Borrowed from the projector.
const policy_image *quantizer_projector_image(const quantizer_projector *projector);

#endif // QUANTIZER_QUANTIZER_PROJECT_H
