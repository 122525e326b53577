#ifndef ACTOR_ACTOR_TURNS_H
#define ACTOR_ACTOR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

// Lock-step (docs/determinism.md): which policy version an actor takes. In lock-step every version
// of its life, one after the other, each when the batch of the one before has been made; otherwise
// whatever comes.
//
// Threads: the loop thread. Owns: plain value; all zero: not in lock-step.
typedef struct actor_turns {
    uint32_t life_turns; // 0: not in lock-step
    uint32_t life;
    uint64_t next;  // the version to act with next
    bool is_acting; // with the one before it: its batch has not been made
} actor_turns;

typedef enum actor_turn_verdict {
    ACTOR_TURN_TAKE,
    ACTOR_TURN_PASS,   // it acted with it before, or is not ready for it
    ACTOR_TURN_MISSED, // one before it is missing
    ACTOR_TURN_OVER,   // of another life: the actor begins anew
} actor_turn_verdict;

void actor_turns_begin(actor_turns *turns, uint32_t life, uint32_t life_turns);
bool actor_turns_is_on(const actor_turns *turns);
actor_turn_verdict actor_turns_look(const actor_turns *turns, uint64_t version);
// It acts with the version that was to be taken; the batch of that was made.
void actor_turns_taken(actor_turns *turns);
void actor_turns_made(actor_turns *turns);

#endif // ACTOR_ACTOR_TURNS_H
