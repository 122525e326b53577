#ifndef QUANTIZER_QUANTIZER_OBSERVED_H
#define QUANTIZER_QUANTIZER_OBSERVED_H

#include "common/oct_bytes.h"
#include "common/oct_text.h"
#include "quantizer/quantizer_scaling.h"

// What observations have been like: a running mean and deviation of each entry over the batches
// that a learner trains on, and the scaling that was last made of them, which stays until it is
// renewed. Batches are merged as Chan, Golub and LeVeque (1979) do, in double. No more than
// QUANTIZER_OBSERVED_ROWS are remembered: beyond, older ones weigh less with every batch.
//
// A scaling has the mean, and the deviation rounded to the next power of two, by which numbers are
// multiplied and divided without rounding. An entry that varied by no more than its own rounding
// tells nothing about its range: it gets a typical deviation of the others (oct_columns.h).
//
// Threads: one user at a time (the training thread). Owns: its memory, reserved by create.
#define QUANTIZER_OBSERVED_ROWS  1048576 // that the running numbers remember
#define QUANTIZER_OBSERVED_LEAST 256     // rows before the first scaling

typedef struct quantizer_observed quantizer_observed;

quantizer_observed *quantizer_observed_create(uint32_t obs_count);
void quantizer_observed_destroy(quantizer_observed *observed); // NULL is a no-op

// obs[rows][obs_count]. A batch with a number that is not finite is left out.
void quantizer_observed_add(quantizer_observed *observed, const float *obs, uint32_t rows);
// Makes a new scaling when some deviation has become another power of two, by clearly more than
// rounding, or some mean has moved by half a deviation. False: the scaling stays.
bool quantizer_observed_renew(quantizer_observed *observed);
// The scaling of now; mean 0 and deviation 1 before the first one. The arrays are observed's.
quantizer_scaling quantizer_observed_scaling(const quantizer_observed *observed);

// Rows that the running numbers are of.
double quantizer_observed_rows(const quantizer_observed *observed);
// Adds the first few entries that get a typical deviation to text; gives the number of all of them.
uint32_t quantizer_observed_left_out(const quantizer_observed *observed, oct_text *text);

// Running numbers and scaling. load checks the count and every number; OCT_EPROTO leaves observed
// as it was.
void quantizer_observed_save(const quantizer_observed *observed, oct_writer *writer);
OCT_CHECKED oct_err quantizer_observed_load(quantizer_observed *observed, oct_reader *reader);

#endif // QUANTIZER_QUANTIZER_OBSERVED_H
