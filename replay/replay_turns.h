#ifndef REPLAY_REPLAY_TURNS_H
#define REPLAY_REPLAY_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_err.h"

// Lock-step (docs/determinism.md): which batches of a turn have arrived, and in which order they
// are stored. A turn is what every actor made with one policy version. The table gets the batches
// once all have arrived, in the order in which the learner lists the actors, regardless of the
// order and the number of times in which they arrive.
//
// Messages are opaque pointers; the caller decodes the batches.
//
// Threads: one user at a time. Owns: the messages that it holds. Full: beyond WIRE_TURN_ACTORS_MAX
// messages none is held, and its actor sends it again.
typedef struct replay_turns replay_turns;

typedef enum replay_turn_verdict {
    REPLAY_TURN_HELD,    // belongs to the next turn, and is held
    REPLAY_TURN_EARLIER, // belongs to a turn that the table has: acknowledge it again
    REPLAY_TURN_OTHER,   // belongs to no possible turn, or to an actor that the turn does not have
} replay_turn_verdict;

// Frees a message.
typedef void (*replay_turn_release)(void *message);

replay_turns *replay_turns_create(replay_turn_release release);
void replay_turns_destroy(replay_turns *turns); // NULL is a no-op

// Begins after turn done, which the table has. Held messages are released. actors: number of actors
// of a turn; 0: not in lock-step.
void replay_turns_set(replay_turns *turns, uint32_t actors, uint64_t done);
bool replay_turns_is_on(const replay_turns *turns);
uint64_t replay_turns_done(const replay_turns *turns);

// Offers a batch that an actor made with policy version turn. REPLAY_TURN_HELD takes the message;
// otherwise the caller keeps it.
replay_turn_verdict replay_turns_offer(replay_turns *turns, uint32_t actor_id, uint64_t turn,
                                       void *message);
// The learner asks for a turn. actor: [count] ids, in the order of storing. OCT_EINVAL: the turn is
// neither the next nor the last one, or has another number of actors, or an actor twice.
OCT_CHECKED oct_err replay_turns_ask(replay_turns *turns, uint64_t turn, const uint32_t *actor,
                                     uint32_t count);
// Returns true if every batch of the requested turn is held or stored.
bool replay_turns_ready(const replay_turns *turns);
// Returns the next message to store, still held; NULL: all are stored.
void *replay_turns_next(const replay_turns *turns);
// Releases that message. is_stored false: it was not what comes next in its session, and another
// one is awaited.
void replay_turns_stored(replay_turns *turns, bool is_stored);
// Ends the turn, whose batches are all stored.
void replay_turns_end(replay_turns *turns);
// Returns how many batches of the requested turn are missing; *first receives the position of the
// first one in the learner's list, if there is one.
uint32_t replay_turns_awaited(const replay_turns *turns, uint32_t *first);

#endif // REPLAY_REPLAY_TURNS_H
