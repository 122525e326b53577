#ifndef QUANTIZER_QUANTIZER_FOLD_H
#define QUANTIZER_QUANTIZER_FOLD_H

#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_scaling.h"

// Turns the trained network into the network to publish. It chooses the same actions, but its
// numbers suit few bits better (docs/internals/decisions/0021-scaling-at-publication.md).
//
//   first layer  It reads (x - mean) / deviation, so it becomes W diag(deviation), b + W mean.
//                Deviations are powers of two, so only the bias is rounded.
//   last layer   Of values or logits, in every precision except fp32: the mean over all actions is
//                subtracted from rows and biases. Of atoms: the mean over the atoms of each action.
//                Softmax and argmax do not depend on a common part, which would take most of the
//                range of a row's codes. Other heads, and a last layer with layer norm or an
//                activation, stay as they are.
//
// Threads: one user. Owns: the work space of the first and the last layer, which create reserves.
typedef struct quantizer_fold quantizer_fold;

// spec has passed policy_spec_check and is copied. Its normalise says if the first layer can be
// scaled.
quantizer_fold *quantizer_fold_create(const policy_spec *spec, policy_precision precision);
void quantizer_fold_destroy(quantizer_fold *fold); // NULL is a no-op
// Returns the bytes of the arrays that create reserves, for a memory budget.
size_t quantizer_fold_bytes(const policy_spec *spec, policy_precision precision);

// Returns true if the first layer can absorb scaling. A dense layer always can. A convolution uses
// the same weights at all positions, so each channel must have one mean and one deviation, and the
// mean must be 0 if zeros surround the map.
bool quantizer_is_foldable(const policy_spec *spec, const quantizer_scaling *scaling);

// Returns the layers of params[policy_spec_params] that are to be converted. scaling is foldable.
// The first layer stays as it is if scaling is NULL, because there are no observations yet or
// params already read scaled ones, or if spec has no normalise. The layers borrow from params and
// fold until the next call.
quantizer_layers quantizer_fold_layers(quantizer_fold *fold, const float *params,
                                       const quantizer_scaling *scaling);
// Inverts the last quantizer_fold_layers in place: params of folded layers become params that read
// raw observations, and the common part of all actions is added again. scaling is that of the last
// call.
void quantizer_unfold(const quantizer_fold *fold, const quantizer_scaling *scaling, float *params);

// Calls quantizer_fold_layers, then quantizer_convert_layers. scaling is written into image; with
// NULL image keeps its statistics. Allocates, so it is for single conversions. OCT_EINVAL as
// quantizer_convert.
OCT_CHECKED oct_err quantizer_convert_folded(policy_image *image, const float *params,
                                             const quantizer_scaling *scaling,
                                             const quantizer_method *method);

// Does quantizer_report against params that read the same observations as image. The common part
// that the last layer lost does not count as an error. Allocates.
void quantizer_report_folded(const policy_image *image, const float *params,
                             quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_FOLD_H
