#ifndef LEARNER_LEARNER_AVERAGE_H
#define LEARNER_LEARNER_AVERAGE_H

#include <stddef.h>

#include "common/oct_bytes.h"
#include "common/oct_err.h"

// The exponential moving average of a policy's parameters over its updates, which is published
// instead of the parameters if learner.ema_decay is above 0 (Polyak & Juditsky 1992, with a
// constant decay):
//
//   average <- decay average + (1 - decay) parameters
//
// Threads: one at a time. Owns: the average.
typedef struct learner_average learner_average;

// count: number of parameters, at least 1. decay: per update, above 0 and below 1.
learner_average *learner_average_create(size_t count, double decay);
void learner_average_destroy(learner_average *average); // NULL is a no-op
// Adds params [count] after an update; they must be finite. The first call copies them as the
// average. Allocates nothing.
void learner_average_add(learner_average *average, const float *params);
// Returns the average [count], borrowed until the next add or load, or NULL if nothing was added.
const float *learner_average_params(const learner_average *average);

// Writes the average as part of a learner's state: nothing if nothing was added, otherwise magic
// "EMA " and count (u32 each, little-endian) and the average (f32).
void learner_average_save(const learner_average *average, oct_writer *writer);
// Reads such a part if it is next; otherwise reads nothing, and average does not change. If average
// is NULL, the part is skipped. OCT_EPROTO: the part has another count, is cut short or is not
// finite; average has not changed.
OCT_CHECKED oct_err learner_average_load(learner_average *average, oct_reader *reader);

#endif // LEARNER_LEARNER_AVERAGE_H
