#ifndef LEARNER_LEARNER_KEPT_H
#define LEARNER_LEARNER_KEPT_H

#include "quantizer/quantizer_stage.h"

// Lock-step: the versions of the present life, complete, for an actor that is started again in it
// and has to act with each of them once more.
//
// Threads: the loop thread. Owns: copies without fp32 weights, at most a life of them.
typedef struct learner_kept learner_kept;

learner_kept *learner_kept_create(uint32_t life_turns);
void learner_kept_destroy(learner_kept *kept); // NULL is a no-op
// The version after the one added last; where it is the first of a life the others are forgotten.
void learner_kept_add(learner_kept *kept, const quantizer_publication *publication);
// The first one newer than have; NULL: none.
const quantizer_publication *learner_kept_next(const learner_kept *kept, uint64_t have);

#endif // LEARNER_LEARNER_KEPT_H
