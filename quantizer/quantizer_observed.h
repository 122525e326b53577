#ifndef QUANTIZER_QUANTIZER_OBSERVED_H
#define QUANTIZER_QUANTIZER_OBSERVED_H

#include "common/oct_bytes.h"
#include "common/oct_text.h"
#include "quantizer/quantizer_scaling.h"

// The running mean and deviation of each entry of the observations that a learner trains on, and
// the scaling that was last made from them, which stays until it is renewed. Batches are merged in
// double as in Chan, Golub and LeVeque (1979). At most QUANTIZER_OBSERVED_ROWS rows are remembered:
// beyond that, each batch reduces the weight of older rows.
//
// A scaling consists of the mean and of the deviation rounded to the nearest power of two, so that
// multiplying and dividing by it do not round. An entry that varied by no more than its own
// rounding gives no information about its range and gets a typical deviation of the other entries
// (oct_columns.h).
//
// Threads: one user at a time (the training thread). Owns: its memory, which create reserves.
#define QUANTIZER_OBSERVED_ROWS  1048576 // rows that the running numbers remember
#define QUANTIZER_OBSERVED_LEAST 256     // rows before the first scaling

typedef struct quantizer_observed quantizer_observed;

quantizer_observed *quantizer_observed_create(uint32_t obs_count);
void quantizer_observed_destroy(quantizer_observed *observed); // NULL is a no-op

// Adds obs[rows][obs_count]. A batch with a number that is not finite is ignored.
void quantizer_observed_add(quantizer_observed *observed, const float *obs, uint32_t rows);
// Makes a new scaling if a deviation has clearly become another power of two, or a mean has moved
// by more than half a deviation. Returns false if the scaling stays.
bool quantizer_observed_renew(quantizer_observed *observed);
// Returns the current scaling; mean 0 and deviation 1 before the first one. The arrays belong to
// observed, and quantizer_observed_renew changes them in place.
quantizer_scaling quantizer_observed_scaling(const quantizer_observed *observed);

// Returns the count of rows that the running numbers remember.
double quantizer_observed_rows(const quantizer_observed *observed);
// Appends the first few entries that get a typical deviation to text; returns the count of all such
// entries.
uint32_t quantizer_observed_left_out(const quantizer_observed *observed, oct_text *text);

// Save and load the running numbers and the scaling. load checks the count and every number; after
// OCT_EPROTO observed is unchanged. A load moves the arrays of the scaling.
void quantizer_observed_save(const quantizer_observed *observed, oct_writer *writer);
OCT_CHECKED oct_err quantizer_observed_load(quantizer_observed *observed, oct_reader *reader);

#endif // QUANTIZER_QUANTIZER_OBSERVED_H
