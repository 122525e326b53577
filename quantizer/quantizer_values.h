#ifndef QUANTIZER_QUANTIZER_VALUES_H
#define QUANTIZER_QUANTIZER_VALUES_H

#include "policy/policy_format.h"

// values[inputs] = the weights that output j of layer l of the image stands for.
//
// Threads: any. No allocation.
void quantizer_row_values(const policy_image *image, uint32_t l, size_t j, float *values);

#endif // QUANTIZER_QUANTIZER_VALUES_H
