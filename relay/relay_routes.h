#ifndef RELAY_RELAY_ROUTES_H
#define RELAY_RELAY_ROUTES_H

#include <stdbool.h>

#include "proto/wire_token.h"

// The routes of acks: each ack returns the way that the last batch of its session came, to the
// actor itself or to a relay below.
//
// A relay has no key, so it cannot verify a session's token. An ack from replay proves the token
// that the session's batches have: from then on no other token is accepted for the session. To
// claim a session before its actor does, a peer would have to know the session's number, which is
// sent to no other peer.
//
// Threads: one user at a time. Owns: its tables, made at creation.
// Full: a new session replaces an unproved session of its group, or else the session that has been
// silent longest; the replaced session is known again with its next batch. A relay below
// sends its name only when it connects, so its slot is reused only after its connection has ended.
#define RELAY_SESSIONS_MAX 32768 // slots, in groups of RELAY_GROUP
#define RELAY_GROUP        8     // slots that a session may have
#define RELAY_CHILDREN_MAX 64    // relays below
#define RELAY_ACTIVE_S     10 // seconds without a batch until a session no longer counts as active

typedef struct relay_routes relay_routes;

// Where an ack goes. peer 0: the receiver's connection is not known yet. child: slot of a relay
// below plus 1; 0: an actor.
typedef struct relay_route {
    uint32_t peer;
    uint32_t child;
} relay_route;

relay_routes *relay_routes_create(void);
void relay_routes_destroy(relay_routes *routes); // NULL is a no-op
// Sets the connection that gets the acks of a session. OCT_EINVAL: the claim has no token, or
// another than the session's.
OCT_CHECKED oct_err relay_routes_name(relay_routes *routes, uint32_t peer, const wire_claim *claim,
                                      uint64_t now_ns);
// Returns true while the connection of that peer is open.
typedef bool (*relay_routes_there_fn)(void *arg, uint32_t peer);
// Sets the connection of a relay that wants the acks of what it brings. OCT_EAGAIN: no slot is
// free.
OCT_CHECKED oct_err relay_routes_name_relay(relay_routes *routes, uint32_t peer, uint64_t relay,
                                            relay_routes_there_fn is_there, void *arg);
// Returns the relay's slot plus 1, for relay_routes_batch; 0: it has not sent its name yet.
uint32_t relay_routes_child(const relay_routes *routes, uint64_t relay);
// Returns the relay's connection; 0: the slot is free.
uint32_t relay_routes_child_peer(const relay_routes *routes, uint32_t child);
// Notes a batch, from the actor itself (child 0) or through that relay. OCT_EINVAL: the claim has
// no token, or another than the session's.
OCT_CHECKED oct_err relay_routes_batch(relay_routes *routes, const wire_claim *claim,
                                       uint32_t child, uint64_t now_ns);
// Finds the route of an ack, and notes that the session's token is proved. False: the session is
// not known.
bool relay_routes_ack(relay_routes *routes, const wire_claim *of, relay_route *out);
// Returns the count of sessions that sent a batch in the last RELAY_ACTIVE_S seconds.
uint32_t relay_routes_active(const relay_routes *routes, uint64_t now_ns);

#endif // RELAY_RELAY_ROUTES_H
