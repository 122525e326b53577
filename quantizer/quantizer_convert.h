#ifndef QUANTIZER_QUANTIZER_CONVERT_H
#define QUANTIZER_QUANTIZER_CONVERT_H

#include "policy/policy_format.h"

// Converts fp32 parameters to a policy image in any precision. Biases, gains and offsets stay fp32.
//
// INT8 (docs/internals/quantisation.md): code = round-half-to-even(w / scale_j) clamped to +-127,
// scale_j = range_j / 127.
// INT4: scale_j = largest group range of the row / (7 * 15). Each group of 32 inputs has a
// multiplier 1 .. 15; code = round-half-to-even(w / (scale_j * multiplier)) clamped to +-7.
// A row (group) of zeros has scale (multiplier) 0 and codes 0. BF16, FP16: rounded to nearest even.
//
// Threads: any. No allocation.

// The source of the range of a row (INT4: of a group).
typedef enum quantizer_range {
    QUANTIZER_ABSMAX = 0,     // max |w|: no weight is clamped
    QUANTIZER_PERCENTILE = 1, // a percentile of |w|; larger weights are clamped
    QUANTIZER_MSE = 2,        // the range with the least sum of squared errors
} quantizer_range;

typedef struct quantizer_method {
    quantizer_range range;
    double percentile; // QUANTIZER_PERCENTILE: in (50, 100], e.g. 99.9
    bool per_tensor;   // INT8: one scale for all rows of a layer, as in ActorQ
    // The rest is for quantizer_update.
    float dead_band; // steps; a code changes if |w / scale - code| is larger; 0.5: at any change
    float drift;     // a row gets a new scale if its range has changed by more than this share
} quantizer_method;

#define QUANTIZER_METHOD_DEFAULT                                                                   \
    ((quantizer_method){.percentile = 99.9, .dead_band = 0.5f, .drift = 0.02f})

// Pointers to the parameters of each layer: W, b, then (layer_norm) gain and offset, as in
// policy_spec.h. The layers need not be contiguous, because quantizer_fold.h replaces some of them.
typedef struct quantizer_layers {
    const float *at[POLICY_LAYERS_MAX];
    const float *deviation; // [action_count] log deviations, if the head has its own; else unused
} quantizer_layers;

// Returns the pointers into params[policy_spec_params].
static inline quantizer_layers
quantizer_layers_of(const policy_spec *spec, const float *params)
{
    quantizer_layers layers = {.deviation = params + policy_spec_deviation(spec)};
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        layers.at[l] = params + policy_spec_layer(spec, l).weight;
    }
    return layers;
}

// Converts all parameters and sets per_tensor. The caller sets the observation statistics
// (quantizer_scaling_set). OCT_EINVAL: a parameter is not finite; the tensors of image are then
// undefined.
OCT_CHECKED oct_err quantizer_convert(policy_image *image, const float *params,
                                      const quantizer_method *method);
OCT_CHECKED oct_err quantizer_convert_layers(policy_image *image, const quantizer_layers *layers,
                                             const quantizer_method *method);

typedef struct quantizer_changes {
    uint64_t codes;   // changed codes; with a new scale, codes that differ from the prediction
                      // round(old code * (old scale / new scale))
    uint64_t scales;  // rows with a new scale; INT4: and groups with a new multiplier
    uint64_t weights; // all codes of the policy
} quantizer_changes;

// Updates previous to new parameters and stores the result in next. A scale (INT4: also a
// multiplier) stays unless it has drifted. A code changes if the weight has left the dead band
// around its value; with dead_band 0.5 every code is the nearest. This holds for INT8 and INT4;
// other precisions are converted from scratch.
// next and previous are two images of one spec and precision. next takes the observation statistics
// of previous and keeps its own origin. If the statistics change, all weights of the first layer
// change their meaning, and quantizer_convert is the right call.
// changes may be NULL. OCT_EINVAL as quantizer_convert; changes are then unchanged.
OCT_CHECKED oct_err quantizer_update(policy_image *next, const policy_image *previous,
                                     const float *params, const quantizer_method *method,
                                     quantizer_changes *changes);
OCT_CHECKED oct_err quantizer_update_layers(policy_image *next, const policy_image *previous,
                                            const quantizer_layers *layers,
                                            const quantizer_method *method,
                                            quantizer_changes *changes);

// Writes the parameters that the image represents to params[policy_spec_params], in policy_spec
// order.
void quantizer_dequantize(const policy_image *image, float *params);

// The error of one layer's weights after quantisation; w' is the weight that the image represents.
typedef struct quantizer_layer_error {
    float relative_l2; // ||w - w'||_2 / ||w||_2; 0 for a zero layer
    float max_abs;     // max |w - w'|
} quantizer_layer_error;

// errors[layer_count] = the errors of image against params, from which it was made.
void quantizer_report(const policy_image *image, const float *params,
                      quantizer_layer_error *errors);
void quantizer_report_layers(const policy_image *image, const quantizer_layers *layers,
                             quantizer_layer_error *errors);

#endif // QUANTIZER_QUANTIZER_CONVERT_H
