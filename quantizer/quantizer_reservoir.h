#ifndef QUANTIZER_QUANTIZER_RESERVOIR_H
#define QUANTIZER_QUANTIZER_RESERVOIR_H

#include "policy/policy_format.h"

// A sample of the observations that a policy saw, on which policies are compared and calibrated.
// Reservoir sampling (Vitter 1985, algorithm R): of all rows added so far each is held with the
// same probability; while there is room they are held in their order.
//
// Threads: one at a time. Owns: its rows, floats reserved by create. Full: a new row takes the
// place of a random one, or is left out.
typedef struct quantizer_reservoir quantizer_reservoir;

// Room for rows_max rows of the spec's observations.
quantizer_reservoir *quantizer_reservoir_create(const policy_spec *spec, uint32_t rows_max,
                                                uint64_t seed);
void quantizer_reservoir_destroy(quantizer_reservoir *reservoir); // NULL is a no-op

// obs: count rows of the spec's dtype, `stride` bytes apart. Bytes become 0 … 255. Rows with a
// number that is not finite are passed over.
void quantizer_reservoir_add(quantizer_reservoir *reservoir, const void *obs, size_t stride,
                             uint32_t count);
// Fills up with random rows: floats normal, by the image's normalisation where it has one (mean 0
// and deviation 1 otherwise); bytes uniform.
void quantizer_reservoir_fill(quantizer_reservoir *reservoir, const policy_image *image);

const float *quantizer_reservoir_rows(const quantizer_reservoir *reservoir); // [count][obs_count]
uint32_t quantizer_reservoir_count(const quantizer_reservoir *reservoir);

#endif // QUANTIZER_QUANTIZER_RESERVOIR_H
