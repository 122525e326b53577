#ifndef QUANTIZER_QUANTIZER_COPY_H
#define QUANTIZER_QUANTIZER_COPY_H

#include <string.h>

#include "common/oct_bits.h"
#include "quantizer/quantizer_range.h"

// The steps that quantizer_convert and quantizer_update share.
//
// Threads: any.

// most is the result of rows->most: the bits of the largest |w|.
static inline bool
quantizer_is_finite(uint32_t most)
{
    return most < 0x7f800000u;
}

// INT8: returns the scale for w[count], whose largest |w| has the bits most.
static inline float
quantizer_scale8(const quantizer_rows *rows, const quantizer_method *method, const float *w,
                 size_t count, uint32_t most)
{
    const quantizer_weights of = {w, count, oct_float_of(most)};
    return most == 0 ? 0.0f : quantizer_range8(rows, method, of) / 127.0f;
}

// Copies bias, gain and offset of layer l, whose parameters begin at w. OCT_EINVAL: a number is not
// finite; nothing was copied.
OCT_CHECKED static inline oct_err
quantizer_copy_vectors(policy_image *image, uint32_t l, const float *w, const quantizer_rows *rows)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t units = policy_layer_rows(layer), bytes = units * sizeof(float);
    const float *bias = w + policy_layer_weights(layer);
    if (!quantizer_is_finite(rows->most(bias, layer->layer_norm ? 3 * units : units))) {
        return OCT_EINVAL;
    }
    memcpy(image->bias[l], bias, bytes);
    if (layer->layer_norm) {
        memcpy(image->gain[l], bias + units, bytes);
        memcpy(image->offset[l], bias + 2 * units, bytes);
    }
    return OCT_OK;
}

// Copies the log deviations of a head that has its own; otherwise from is unused. OCT_EINVAL: a
// number is not finite; nothing was copied.
OCT_CHECKED static inline oct_err
quantizer_copy_deviation(policy_image *image, const float *from, const quantizer_rows *rows)
{
    const policy_spec *spec = &image->spec;
    if (!policy_spec_has_deviation(spec)) {
        return OCT_OK;
    }
    if (!quantizer_is_finite(rows->most(from, spec->action_count))) {
        return OCT_EINVAL;
    }
    memcpy(image->deviation, from, spec->action_count * sizeof(float));
    return OCT_OK;
}

#endif // QUANTIZER_QUANTIZER_COPY_H
