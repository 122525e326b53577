#ifndef QUANTIZER_QUANTIZER_INT4_H
#define QUANTIZER_QUANTIZER_INT4_H

#include "quantizer/quantizer_range.h"

// Finds the scale of a row of INT4 weights and the multiplier of each group of inputs. The weights
// are finite and not all 0.
//
// Threads: any. No allocation.
typedef struct quantizer_row4 {
    const float *w; // [inputs]
    size_t inputs;
    const uint32_t *groups; // bits of the largest |w| of each group, from rows->most4
    uint32_t most;          // the largest of groups, not 0
} quantizer_row4;

// Returns a scale for the row and sets its multipliers, without regard to earlier ones.
float quantizer_fit4(const quantizer_rows *rows, const quantizer_method *method,
                     const quantizer_row4 *row, uint8_t *multipliers);

// Keeps scale > 0 and changes the multipliers, which hold the earlier ones on entry, where a group
// needs another one. Returns how many changed, or UINT32_MAX if scale no longer suits the row: the
// largest group does not fit, or half the multipliers would do. The multipliers are then undefined,
// and quantizer_fit4 has to find a new scale.
uint32_t quantizer_refit4(const quantizer_rows *rows, const quantizer_method *method,
                          const quantizer_row4 *row, float scale, uint8_t *multipliers);

#endif // QUANTIZER_QUANTIZER_INT4_H
