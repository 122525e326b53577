#ifndef ACTOR_ACTOR_TURNS_H
#define ACTOR_ACTOR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

// The policy versions that an actor takes. In lock-step (docs/determinism.md): every version of
// the learner's life, in order, each after the batch of the version before was made. Otherwise:
// any version.
//
// Threads: the loop thread. Owns: plain value; all zero: not in lock-step.
typedef struct actor_turns {
    uint32_t life_turns; // turns of a life; 0: not in lock-step
    uint32_t life;       // number of the learner's process in the run
    uint64_t next;       // the version to take next
    bool is_acting;      // the batch of version next - 1 has not been made yet
} actor_turns;

typedef enum actor_turn_verdict {
    ACTOR_TURN_TAKE,
    ACTOR_TURN_PASS,   // taken before, or its turn has not come
    ACTOR_TURN_MISSED, // a version before it is missing
    ACTOR_TURN_OVER,   // of another life: the actor must start over
} actor_turn_verdict;

// Turns lock-step on.
void actor_turns_begin(actor_turns *turns, uint32_t life, uint32_t life_turns);
bool actor_turns_is_on(const actor_turns *turns);
// Says what to do with a version that arrived.
actor_turn_verdict actor_turns_look(const actor_turns *turns, uint64_t version);
// Records that version next was taken.
void actor_turns_taken(actor_turns *turns);
// Records that its batch was made.
void actor_turns_made(actor_turns *turns);

#endif // ACTOR_ACTOR_TURNS_H
