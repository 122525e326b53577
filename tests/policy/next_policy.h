#ifndef TESTS_POLICY_NEXT_POLICY_H
#define TESTS_POLICY_NEXT_POLICY_H

#include <math.h>

#include "tests/policy/random_image.h"

// A later version of a policy, as training would make it: most codes move by little, biases drift,
// some rows (INT4: groups) get another grid. For tests and fuzzing.

static inline int8_t
code_moved(int32_t code, int32_t by, int32_t limit)
{
    code += by;
    return (int8_t)(code > limit ? limit : code < -limit ? -limit : code);
}

static inline void
floats_drift(float *floats, size_t count, oct_rng *rng)
{
    for (size_t i = 0; floats != NULL && i < count; i++) {
        floats[i] *= 1.0f + 1e-4f * (oct_rng_float(rng) - 0.5f);
    }
}

// One row in `renewed` (0: none) gets a scale 6 % larger and, INT4, other multipliers.
static inline void
row_step(policy_image *next, uint32_t l, uint32_t j, uint32_t renewed, oct_rng *rng)
{
    const bool is_int4 = next->precision == POLICY_INT4;
    const int32_t limit = is_int4 ? POLICY_INT4_CODE_MAX : 127;
    uint32_t inputs = policy_layer_columns(&next->spec.layers[l]);
    int8_t *codes = next->codes[l] + (size_t)j * inputs;
    bool is_renewed = renewed != 0 && oct_rng_below(rng, renewed) == 0;
    if (is_renewed && !next->per_tensor) {
        next->scales[l][j] *= 1.06f;
    }
    for (uint32_t k = 0; k < inputs; k++) {
        int32_t by = oct_rng_below(rng, 3) == 0 ? (int32_t)oct_rng_below(rng, 5) - 2 : 0;
        codes[k] =
            code_moved(is_renewed ? (int32_t)lrintf((float)codes[k] / 1.06f) : codes[k], by, limit);
    }
    for (uint32_t g = 0; is_int4 && g < policy_int4_groups(inputs); g++) {
        uint8_t *multiplier = next->multipliers[l] + (size_t)j * policy_int4_groups(inputs) + g;
        if (is_renewed && oct_rng_below(rng, 2) == 0) {
            *multiplier = (uint8_t)(1 + oct_rng_below(rng, POLICY_MULTIPLIER_MAX));
        }
    }
}

// next becomes the version after base, an image of the same spec and precision.
static inline void
policy_step(policy_image *next, const policy_image *base, uint32_t renewed, oct_rng *rng)
{
    policy_image_copy(next, base);
    next->origin.version++;
    next->origin.updates += 100;
    floats_drift(next->obs_mean, next->spec.obs_count, rng);
    floats_drift(next->obs_inverse_std, next->spec.obs_count, rng);
    for (uint32_t l = 0; l < next->spec.layer_count; l++) {
        uint32_t outputs = policy_layer_rows(&next->spec.layers[l]);
        for (uint32_t j = 0; policy_is_integer(next->precision) && j < outputs; j++) {
            row_step(next, l, j, renewed, rng);
        }
        floats_drift(next->bias[l], outputs, rng);
        floats_drift(next->gain[l], outputs, rng);
        floats_drift(next->offset[l], outputs, rng);
    }
    floats_drift(next->deviation, next->spec.action_count, rng);
}

#endif // TESTS_POLICY_NEXT_POLICY_H
