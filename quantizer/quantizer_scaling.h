#ifndef QUANTIZER_QUANTIZER_SCALING_H
#define QUANTIZER_QUANTIZER_SCALING_H

#include "policy/policy_format.h"

// By what each entry of an observation is moved and divided before the first layer of a policy that
// is published. The learner trains on observations as they are; quantizer_fold.h makes the same
// function of scaled ones.
//
// Threads: any. Owns: nothing.
typedef struct quantizer_scaling {
    const float *mean;      // [obs_count]
    const float *deviation; // [obs_count], powers of two
} quantizer_scaling;

// Whether policies of spec are scaled where this is wanted: floats into a dense layer. Bytes have
// one range for all entries already, and their rare ones would become the largest. A convolution
// has one weight for many entries, which cannot take each entry's own deviation.
static inline bool
quantizer_is_scalable(const policy_spec *spec)
{
    return spec->obs_dtype == POLICY_F32 && spec->layers[0].kind == POLICY_DENSE;
}

// Writes scaling (NULL: mean 0, deviation 1) into an image whose spec has normalise; nothing into
// another.
static inline void
quantizer_scaling_set(policy_image *image, const quantizer_scaling *scaling)
{
    for (uint32_t i = 0; image->spec.normalise && i < image->spec.obs_count; i++) {
        image->obs_mean[i] = scaling != NULL ? scaling->mean[i] : 0.0f;
        image->obs_inverse_std[i] = scaling != NULL ? 1.0f / scaling->deviation[i] : 1.0f;
    }
}

#endif // QUANTIZER_QUANTIZER_SCALING_H
