#ifndef QUANTIZER_QUANTIZER_CONVERT_H
#define QUANTIZER_QUANTIZER_CONVERT_H

#include "policy/policy_format.h"

// fp32 parameters -> a policy image, in every precision. Biases, gains and offsets stay fp32.
//
// INT8 (docs/internals/quantisation.md): code = round-half-to-even(w / scale_j) clamped to +-127,
// scale_j = range_j / 127. INT4: scale_j = largest group range of the row / (7 * 15); per group of
// 32 inputs a multiplier 1..15, code = round-half-to-even(w / (scale_j * multiplier)) clamped to
// +-7. A row (group) of zeros has scale (multiplier) 0 and codes 0. BF16, FP16: nearest even.
//
// Threads: any; no allocation after the image was made (MSE and percentile use stack only).

// What a row's (INT4: a group's) range is taken from.
typedef enum quantizer_range {
    QUANTIZER_ABSMAX = 0,     // max|w|: nothing is cut
    QUANTIZER_PERCENTILE = 1, // the percentile of |w|; larger weights are cut
    QUANTIZER_MSE = 2,        // the range with the least sum of squared errors
} quantizer_range;

typedef struct quantizer_method {
    quantizer_range range;
    double percentile; // PERCENTILE: in (50, 100], e.g. 99.9
    bool per_tensor;   // INT8: one scale for all rows of a layer (ActorQ's way)
    // quantizer_update only:
    float dead_band; // a code is sent when |w / scale - code| > this many steps; 0.5: always exact
    float drift;     // a row's scale is renewed when its range has changed by more than this share
} quantizer_method;

#define QUANTIZER_METHOD_DEFAULT                                                                   \
    ((quantizer_method){.percentile = 99.9, .dead_band = 0.5f, .drift = 0.02f})

// Where each layer's parameters are: W, b, then (layer_norm) gain and offset, as in policy_spec.h.
// Layers need not follow each other: quantizer_fold.h makes some anew.
typedef struct quantizer_layers {
    const float *at[POLICY_LAYERS_MAX];
    const float *deviation; // [action_count], where the head has log deviations of its own
} quantizer_layers;

// Those of params[policy_spec_params].
static inline quantizer_layers
quantizer_layers_of(const policy_spec *spec, const float *params)
{
    quantizer_layers layers = {.deviation = params + policy_spec_deviation(spec)};
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        layers.at[l] = params + policy_spec_layer(spec, l).weight;
    }
    return layers;
}

// Everything anew but the observation statistics, which are the caller's to set
// (quantizer_scaling_set). OCT_EINVAL when a parameter is not finite (nothing useful is in image
// then).
OCT_CHECKED oct_err quantizer_convert(policy_image *image, const float *params,
                                      const quantizer_method *method);
OCT_CHECKED oct_err quantizer_convert_layers(policy_image *image, const quantizer_layers *layers,
                                             const quantizer_method *method);

typedef struct quantizer_changes {
    uint64_t codes;  // that differ from before; under a renewed scale, from what the old code
                     // predicts: round(old code * (old scale / new scale))
    uint64_t scales; // rows (INT4: rows or groups) whose scale was renewed
    uint64_t weights;
} quantizer_changes;

// next becomes previous moved on to params: scales (INT4: and multipliers) stay unless they
// drifted, codes change where the weight has left the dead band around the code's value. With
// dead_band 0.5 every code is the nearest. INT8 and INT4; other precisions are converted anew. next
// and previous are two images of one spec and precision; next takes its observation statistics
// from previous (weights for other statistics are other weights: they are converted anew) and keeps
// its own origin. changes may be NULL. OCT_EINVAL as above.
OCT_CHECKED oct_err quantizer_update(policy_image *next, const policy_image *previous,
                                     const float *params, const quantizer_method *method,
                                     quantizer_changes *changes);
OCT_CHECKED oct_err quantizer_update_layers(policy_image *next, const policy_image *previous,
                                            const quantizer_layers *layers,
                                            const quantizer_method *method,
                                            quantizer_changes *changes);

// The parameters that the image stands for, in policy_spec order: params[policy_spec_params].
void quantizer_dequantize(const policy_image *image, float *params);

// Error of one layer's weights after quantisation.
typedef struct quantizer_layer_error {
    float relative_l2; // ||w - w'||_2 / ||w||_2; 0 for a zero layer
    float max_abs;     // max |w - w'|
} quantizer_layer_error;

// errors[layer_count], for the params that image was made from.
void quantizer_report(const policy_image *image, const float *params,
                      quantizer_layer_error *errors);
void quantizer_report_layers(const policy_image *image, const quantizer_layers *layers,
                             quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_CONVERT_H
