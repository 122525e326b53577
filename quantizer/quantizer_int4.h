#ifndef QUANTIZER_QUANTIZER_INT4_H
#define QUANTIZER_QUANTIZER_INT4_H

#include "quantizer/quantizer_range.h"

// One row of INT4 weights: a scale, a multiplier for each group of inputs, and codes. The weights
// are finite, and groups has what rows->most4 gave for them, which is not all zero.
//
// Threads: any. No allocation.
typedef struct quantizer_row4 {
    const float *w;
    size_t inputs;
    const uint32_t *groups;
    uint32_t most; // the largest of groups
} quantizer_row4;

// Scale and multipliers for w, from nothing.
float quantizer_fit4(const quantizer_rows *rows, const quantizer_method *method,
                     const quantizer_row4 *row, uint8_t *multipliers);

// Multipliers, on entry those before, moved on where a group needs it. Gives how many changed;
// UINT32_MAX: the scale does not do any more, and the row has to be fitted anew.
uint32_t quantizer_refit4(const quantizer_rows *rows, const quantizer_method *method,
                          const quantizer_row4 *row, float scale, uint8_t *multipliers);

#endif // QUANTIZER_QUANTIZER_INT4_H
