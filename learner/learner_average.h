#ifndef LEARNER_LEARNER_AVERAGE_H
#define LEARNER_LEARNER_AVERAGE_H

#include <stddef.h>

#include "common/oct_bytes.h"
#include "common/oct_err.h"

// The exponential moving average of a policy's parameters over its updates, which is published
// instead of the parameters themselves where learner.ema_decay is above 0 (Polyak & Juditsky 1992,
// with a constant decay):
//
//   average <- decay average + (1 - decay) parameters
//
// Threads: one at a time. Owns: the average.
typedef struct learner_average learner_average;

// count: parameters, at least 1. decay: above 0 and below 1, per update.
learner_average *learner_average_create(size_t count, double decay);
void learner_average_destroy(learner_average *average); // NULL is a no-op
// params [count] after an update, finite. The first ones are the average; allocates nothing.
void learner_average_add(learner_average *average, const float *params);
// [count], borrowed until the next add or load. NULL: nothing was added.
const float *learner_average_params(const learner_average *average);

// Its part of a learner's state: nothing if nothing was added, else magic "EMA " and count (u32
// each, little-endian) and the average (f32).
void learner_average_save(const learner_average *average, oct_writer *writer);
// Reads such a part if one is next; otherwise reads nothing and leaves average as it was. NULL: the
// part is passed over. OCT_EPROTO: of another count, cut short or not finite; average is as it was.
OCT_CHECKED oct_err learner_average_load(learner_average *average, oct_reader *reader);

#endif // LEARNER_LEARNER_AVERAGE_H
