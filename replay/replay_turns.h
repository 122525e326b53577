#ifndef REPLAY_REPLAY_TURNS_H
#define REPLAY_REPLAY_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_err.h"

// Lock-step (docs/determinism.md): which batches of a turn are there, and in which order they are
// stored. A turn is what every actor made with one policy version; whatever order the messages
// arrive in, and however often, the table gets them in the order in which the learner lists the
// actors, once all are there.
//
// Knows messages only as pointers; batches are the caller's to decode.
//
// Threads: one user at a time. Owns: the messages that it holds. Full: a message more than
// WIRE_TURN_ACTORS_MAX is not held; its actor sends it again.
typedef struct replay_turns replay_turns;

typedef enum replay_turn_verdict {
    REPLAY_TURN_HELD,    // of the turn to come: taken
    REPLAY_TURN_EARLIER, // of a turn that the table has: to be acknowledged again
    REPLAY_TURN_OTHER,   // of none that could be, or of an actor that the turn does not have
} replay_turn_verdict;

typedef void (*replay_turn_release)(void *message);

replay_turns *replay_turns_create(replay_turn_release release);
void replay_turns_destroy(replay_turns *turns); // NULL is a no-op

// The table has the turns up to done. What was held is released. actors 0: not in lock-step.
void replay_turns_set(replay_turns *turns, uint32_t actors, uint64_t done);
bool replay_turns_is_on(const replay_turns *turns);
uint64_t replay_turns_done(const replay_turns *turns);

// A batch that an actor made with policy version turn.
replay_turn_verdict replay_turns_offer(replay_turns *turns, uint32_t actor_id, uint64_t turn,
                                       void *message);
// The learner wants this turn: actor [count] are the ids, in order. OCT_EINVAL: it is neither the
// turn to come nor the one done last, or has another number of actors, or one twice.
OCT_CHECKED oct_err replay_turns_ask(replay_turns *turns, uint64_t turn, const uint32_t *actor,
                                     uint32_t count);
// Whether every batch of the turn asked for is there or stored.
bool replay_turns_ready(const replay_turns *turns);
// The next one to store, still held; NULL: all are stored.
void *replay_turns_next(const replay_turns *turns);
// That one was stored: released; or was not what comes next: released, and awaited again.
void replay_turns_stored(replay_turns *turns, bool is_stored);
// All are stored: the turn is done.
void replay_turns_end(replay_turns *turns);
// Of the turn asked for, how many are awaited; *first gets the place of the first one.
uint32_t replay_turns_awaited(const replay_turns *turns, uint32_t *first);

#endif // REPLAY_REPLAY_TURNS_H
