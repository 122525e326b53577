#ifndef COMMON_OCT_IMPORTANCE_H
#define COMMON_OCT_IMPORTANCE_H

#include <stdint.h>

// Computes importance weights of windows that were drawn from a table of `size` windows with these
// probabilities: w = (size p)^-exponent / max w (Schaul et al. 2016, section 3.4). With exponent 0
// all weights are 1. A probability of 0 or NaN counts as 1 / size. weight and probability: [count].
// Threads: any.
void oct_importance_weights(float *weight, const float *probability, uint32_t count, uint64_t size,
                            double exponent);

#endif // COMMON_OCT_IMPORTANCE_H
