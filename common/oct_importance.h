#ifndef COMMON_OCT_IMPORTANCE_H
#define COMMON_OCT_IMPORTANCE_H

#include <stdint.h>

// Importance weights of windows that were drawn with these probabilities from a table of size
// windows: w = (size p)^-exponent / max w (Schaul et al. 2016, section 3.4); 1 with exponent 0, and
// where a probability is none. weight and probability: [count]. Threads: any.
void oct_importance_weights(float *weight, const float *probability, uint32_t count, uint64_t size,
                            double exponent);

#endif // COMMON_OCT_IMPORTANCE_H
