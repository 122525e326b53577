#ifndef LEARNER_LEARNER_RELAYS_H
#define LEARNER_LEARNER_RELAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire_learner.h"
#include "proto/wire_peers.h"

// The relays that live, and which one an actor is given: of those on its host, else of all, the one
// with the fewest actors (docs/internals/decisions/0044-relays.md).
//
// A relay registers once a second. One that has been silent for LEARNER_RELAY_SILENT_S is given to
// nobody; for LEARNER_PEER_GONE_S it is still listed, unless another came later that has its
// address.
//
// Threads: the loop thread. Owns: its table. Full: the one that was silent longest makes room if it
// counts as silent; else OCT_EAGAIN.
#define LEARNER_RELAYS_MAX     WIRE_RELAYS_MAX
#define LEARNER_RELAY_SILENT_S 3
#define LEARNER_RELAYS_LEARN_S 10 // after a start: who says that it has a relay keeps it
#define LEARNER_RELAY_HOST_MAX 64

typedef struct learner_relay {
    uint64_t label; // its own number; 0: free
    uint64_t seen_ns;
    uint32_t pid;
    uint32_t sessions; // that it passes on, as it says
    uint32_t actors;   // that were given it, or came with it, and are live
    uint64_t key;      // of its address
    uint64_t number, above_number;
    char host[LEARNER_RELAY_HOST_MAX];
    char address[WIRE_NAME_MAX + 1]; // "": it is for relays alone
    char above[WIRE_NAME_MAX + 1];   // of the relay that it goes through; "": none
} learner_relay;

typedef struct learner_relays learner_relays;

learner_relays *learner_relays_create(uint64_t now_ns);
void learner_relays_destroy(learner_relays *relays); // NULL is a no-op
// Whether the relay that a relay goes through leads back to it, as those say that live: what they
// bring goes round, and reaches no replay.
bool learner_relays_is_loop(const learner_relays *relays, const wire_register *relay,
                            uint64_t now_ns);
// A relay says that it lives. *is_new: it did not, before.
OCT_CHECKED oct_err learner_relays_note(learner_relays *relays, const wire_register *relay,
                                        uint64_t now_ns, bool *is_new);
// The address that an actor is to go to, "": to the learner and replay themselves. It keeps the one
// that it has (request->relay_address) while that lives, unless it has lost it. The actors of each
// are counted before, by learner_relays_count. Valid until the next call.
const char *learner_relays_choose(learner_relays *relays, const wire_register *request,
                                  uint64_t now_ns);
// Of an address, to remember with an actor; 0 of "".
uint64_t learner_relays_key(const char *address);
// How many live actors have the relay of that key.
typedef uint32_t (*learner_relays_actors_fn)(void *arg, uint64_t key, uint64_t now_ns);
// Asks that for each relay that lives or is missed.
void learner_relays_count(learner_relays *relays, uint64_t now_ns,
                          learner_relays_actors_fn actors_of, void *arg);
bool learner_relay_is_live(const learner_relay *relay, uint64_t now_ns);
// How many live.
uint32_t learner_relays_live(const learner_relays *relays, uint64_t now_ns);
// Those that live or are missed, at most LEARNER_RELAYS_MAX: how many. Borrowed until the table
// changes.
uint32_t learner_relays_list(const learner_relays *relays, uint64_t now_ns,
                             const learner_relay *out[]);

#endif // LEARNER_LEARNER_RELAYS_H
