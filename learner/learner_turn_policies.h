#ifndef LEARNER_LEARNER_TURN_POLICIES_H
#define LEARNER_LEARNER_TURN_POLICIES_H

#include "quantizer/quantizer_stage.h"

// Lock-step: complete copies of the versions of the present life, for an actor that is restarted in
// it and must act with each of them again.
//
// Threads: the loop thread. Owns: copies without fp32 weights, at most one life's.
typedef struct learner_turn_policies learner_turn_policies;

learner_turn_policies *learner_turn_policies_create(uint32_t life_turns);
void learner_turn_policies_destroy(learner_turn_policies *kept); // NULL is a no-op
// Adds the version after the last one added. The first version of a life removes all others.
void learner_turn_policies_add(learner_turn_policies *kept,
                               const quantizer_publication *publication);
// Returns the first version newer than have; NULL: none.
const quantizer_publication *learner_turn_policies_next(const learner_turn_policies *kept,
                                                        uint64_t have);

#endif // LEARNER_LEARNER_TURN_POLICIES_H
