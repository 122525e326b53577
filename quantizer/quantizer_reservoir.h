#ifndef QUANTIZER_QUANTIZER_RESERVOIR_H
#define QUANTIZER_QUANTIZER_RESERVOIR_H

#include "policy/policy_format.h"

// A random sample of the observations that a policy saw, on which policies are compared and
// calibrated. Reservoir sampling (Vitter 1985, algorithm R): each row added so far is held with the
// same probability. Until the reservoir is full, it holds all rows in their order.
//
// Threads: one at a time. Owns: its rows, floats that create reserves. Full: a new row replaces a
// random row or is dropped.
typedef struct quantizer_reservoir quantizer_reservoir;

// Reserves rows_max rows of the spec's observations. Equal seeds and rows give equal samples.
quantizer_reservoir *quantizer_reservoir_create(const policy_spec *spec, uint32_t rows_max,
                                                uint64_t seed);
void quantizer_reservoir_destroy(quantizer_reservoir *reservoir); // NULL is a no-op

// Adds count rows of the spec's dtype, which begin `stride` bytes apart. Bytes become the floats 0
// … 255. Rows with a number that is not finite are ignored.
void quantizer_reservoir_add(quantizer_reservoir *reservoir, const void *obs, size_t stride,
                             uint32_t count);
// Fills the reservoir with random rows: floats are normal, with the mean and deviation by which
// image normalises (0 and 1 without them); bytes are uniform.
void quantizer_reservoir_fill(quantizer_reservoir *reservoir, const policy_image *image);

const float *quantizer_reservoir_rows(const quantizer_reservoir *reservoir); // [count][obs_count]
uint32_t quantizer_reservoir_count(const quantizer_reservoir *reservoir);

#endif // QUANTIZER_QUANTIZER_RESERVOIR_H
