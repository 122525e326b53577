#ifndef QUANTIZER_QUANTIZER_FOLD_H
#define QUANTIZER_QUANTIZER_FOLD_H

#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_scaling.h"

// The network that ships, of the one that was trained: the same actions, by numbers that few bits
// hold better (docs/internals/decisions/0021-scaling-at-publication.md).
//
//   first layer  reads (x - mean) / deviation: W diag(deviation), b + W mean. As deviations are
//                powers of two, only the sum is rounded.
//   last layer   of values or logits, in every precision but fp32: less the mean over all actions
//                of its rows and biases; of atoms: over the atoms of one action. Softmax and argmax
//                do not see what is the same for all of them, but it would take most of the range
//                that a row of codes has.
//
// Threads: one user. Owns: the first and the last layer's work space, reserved by create.
typedef struct quantizer_fold quantizer_fold;

// spec has passed policy_spec_check; its normalise says whether a first layer can be scaled.
quantizer_fold *quantizer_fold_create(const policy_spec *spec, policy_precision precision);
void quantizer_fold_destroy(quantizer_fold *fold); // NULL is a no-op
// Of the work space that create reserves: for a budget.
size_t quantizer_fold_bytes(const policy_spec *spec, policy_precision precision);

// Whether the first layer can take in scaling: always, if it is dense. A convolution has the same
// weights for all places, so these need one mean and one deviation for each channel.
bool quantizer_is_foldable(const policy_spec *spec, const quantizer_scaling *scaling);

// The layers to convert params[policy_spec_params] to. scaling, if any, is foldable. scaling NULL:
// the first layer stays as it is: there are no observations, or params read scaled ones already.
// The layers borrow from params and fold until the next call.
quantizer_layers quantizer_fold_layers(quantizer_fold *fold, const float *params,
                                       const quantizer_scaling *scaling);
// What quantizer_fold_layers did last, undone: params, that stand for folded layers, become those
// of raw observations, and get back what all actions share.
void quantizer_unfold(const quantizer_fold *fold, const quantizer_scaling *scaling, float *params);

// quantizer_fold_layers, then quantizer_convert_layers. scaling is written into image; NULL: what
// image has stays. Allocates, so it is for single conversions. OCT_EINVAL as of quantizer_convert.
OCT_CHECKED oct_err quantizer_convert_folded(policy_image *image, const float *params,
                                             const quantizer_scaling *scaling,
                                             const quantizer_method *method);

// quantizer_report against params that read what image reads: what centring took away is no error.
// Allocates.
void quantizer_report_folded(const policy_image *image, const float *params,
                             quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_FOLD_H
