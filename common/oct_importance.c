// Importance weights of samples that were not drawn uniformly.
#include "common/oct_importance.h"

#include <float.h>
#include <math.h>

#include "common/oct_base.h"

void
oct_importance_weights(float *weight, const float *probability, uint32_t count, uint64_t size,
                       double exponent)
{
    float max_weight = 0;
    for (uint32_t i = 0; exponent > 0 && i < count; i++) {
        double scaled = (double)size * probability[i];
        double raw = scaled > 0 ? pow(scaled, -exponent) : 1;
        weight[i] = (float)OCT_MIN(raw, FLT_MAX); // a weight beyond a float would become infinite
        max_weight = OCT_MAX(max_weight, weight[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        weight[i] = max_weight > 0 ? weight[i] / max_weight : 1; // no weight: all are equal
    }
}
