#ifndef LEARNER_LEARNER_RELAYS_H
#define LEARNER_LEARNER_RELAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire_learner.h"
#include "proto/wire_peers.h"

// The live relays, and the choice of one for each actor: the relay with the fewest actors among
// those on its host, else among all (docs/internals/decisions/0044-relays.md).
//
// A relay registers once a second. A relay that has been silent for LEARNER_RELAY_SILENT_S is not
// given to actors any more. For LEARNER_PEER_GONE_S it is still listed as missed, unless another
// relay has registered with its address.
//
// Threads: the loop thread. Owns: its table. Full: the relay that was silent longest is replaced if
// it counts as silent; else OCT_EAGAIN.
#define LEARNER_RELAYS_MAX     WIRE_RELAYS_MAX
#define LEARNER_RELAY_SILENT_S 3
#define LEARNER_RELAYS_LEARN_S 10 // after a start: actors keep the relay that they report
#define LEARNER_RELAY_HOST_MAX 64

typedef struct learner_relay {
    uint64_t label; // number chosen by the relay; 0: the entry is free
    uint64_t seen_ns;
    uint32_t pid;
    uint32_t sessions; // count of sessions that it relays, as it reports
    uint32_t actors;   // count of live actors that were given it or came through it
    uint64_t key;      // learner_relays_key(address)
    uint64_t number, above_number;
    char host[LEARNER_RELAY_HOST_MAX];
    char address[WIRE_NAME_MAX + 1]; // "": only other relays use it
    char above[WIRE_NAME_MAX + 1];   // address of the relay that it goes through; "": none
} learner_relay;

typedef struct learner_relays learner_relays;

learner_relays *learner_relays_create(uint64_t now_ns);
void learner_relays_destroy(learner_relays *relays); // NULL is a no-op
// Returns true if the chain of live relays that this relay goes through leads back to it: its
// batches would circulate and reach no replay.
bool learner_relays_is_loop(const learner_relays *relays, const wire_register *relay,
                            uint64_t now_ns);
// Records that a relay is live. *is_new: it was not live before.
OCT_CHECKED oct_err learner_relays_note(learner_relays *relays, const wire_register *relay,
                                        uint64_t now_ns, bool *is_new);
// Returns the address that an actor connects to; "": the learner's and replay's own. The actor
// keeps its relay (request->relay_address) while that is live, unless the actor has lost it. Call
// learner_relays_count first. Valid until the next call.
const char *learner_relays_choose(learner_relays *relays, const wire_register *request,
                                  uint64_t now_ns);
// Returns a hash of an address, to remember with an actor; 0 for "".
uint64_t learner_relays_key(const char *address);
// Returns the count of live actors with the relay of that key.
typedef uint32_t (*learner_relays_actors_fn)(void *arg, uint64_t key, uint64_t now_ns);
// Counts the actors of each relay that is live or missed.
void learner_relays_count(learner_relays *relays, uint64_t now_ns,
                          learner_relays_actors_fn actors_of, void *arg);
bool learner_relay_is_live(const learner_relay *relay, uint64_t now_ns);
// Returns the count of live relays.
uint32_t learner_relays_live(const learner_relays *relays, uint64_t now_ns);
// Lists the relays that are live or missed, at most LEARNER_RELAYS_MAX. Returns their count.
// Borrowed until the table changes.
uint32_t learner_relays_list(const learner_relays *relays, uint64_t now_ns,
                             const learner_relay *out[]);

#endif // LEARNER_LEARNER_RELAYS_H
