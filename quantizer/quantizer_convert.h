#ifndef QUANTIZER_QUANTIZER_CONVERT_H
#define QUANTIZER_QUANTIZER_CONVERT_H

#include "policy/policy_format.h"

// fp32 parameters -> a policy image (architecture §4): per row scale_j = max|w_j| / 127, code =
// round-half-to-even(w / scale_j) clamped to +-127; a zero row has scale 0 and codes 0. Biases,
// gains and offsets stay fp32. per_tensor: one scale for all rows of a layer (ActorQ's way).
//
// Threads: any; no allocation after the image was made. Errors: OCT_EINVAL when a parameter is not
// finite (nothing useful is in image then).
OCT_CHECKED oct_err quantizer_convert(policy_image *image, const float *params, bool per_tensor);

// Error of one layer's weights after quantisation.
typedef struct quantizer_layer_error {
    float relative_l2; // ||w - s c||_2 / ||w||_2; 0 for a zero layer
    float max_abs;     // max |w - s c|
} quantizer_layer_error;

// errors[layer_count], for the params that image was made from.
void quantizer_report(const policy_image *image, const float *params,
                      quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_CONVERT_H
