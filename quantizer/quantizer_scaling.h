#ifndef QUANTIZER_QUANTIZER_SCALING_H
#define QUANTIZER_QUANTIZER_SCALING_H

#include "policy/policy_format.h"

// The mean that is subtracted from each entry of an observation, and the deviation by which the
// difference is divided, before the first layer of a published policy. The learner trains on raw
// observations; quantizer_fold.h turns its network into the same function of scaled ones.
//
// Threads: any. Owns: nothing.
typedef struct quantizer_scaling {
    const float *mean;      // [obs_count]
    const float *deviation; // [obs_count], powers of two
} quantizer_scaling;

// Returns true if scaling suits policies of spec: float observations that enter a dense layer.
// Entries of bytes already have one range, and scaling would turn rare ones into the largest. A
// convolution applies one weight to many entries, so it cannot absorb a deviation for each entry.
static inline bool
quantizer_is_scalable(const policy_spec *spec)
{
    return spec->obs_dtype == POLICY_F32 && spec->layers[0].kind == POLICY_DENSE;
}

// Writes scaling, or mean 0 and deviation 1 if it is NULL, into image. Does nothing if its spec has
// no normalise.
static inline void
quantizer_scaling_set(policy_image *image, const quantizer_scaling *scaling)
{
    for (uint32_t i = 0; image->spec.normalise && i < image->spec.obs_count; i++) {
        image->obs_mean[i] = scaling != NULL ? scaling->mean[i] : 0.0f;
        image->obs_inverse_std[i] = scaling != NULL ? 1.0f / scaling->deviation[i] : 1.0f;
    }
}

#endif // QUANTIZER_QUANTIZER_SCALING_H
