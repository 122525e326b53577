#ifndef RELAY_RELAY_ROUTES_H
#define RELAY_RELAY_ROUTES_H

#include <stdbool.h>

#include "proto/wire_token.h"

// Whose acks go where: each goes back the way that the last batch of its session came, to the actor
// itself or to a relay below this one.
//
// A relay has no key, so it cannot tell a session's token from another. What replay acknowledges
// shows that a token is right: from then on only that one speaks for the session. Whoever wants to
// be before its actor would have to know its session, which nobody is told.
//
// Threads: one user at a time. Owns: its tables, made at creation. Full: of the sessions, one that
// was not acknowledged, else the one that was silent longest, makes room, and is known again with
// its next batch. A relay below says its name only when it connects: one makes room only when its
// connection has ended.
#define RELAY_SESSIONS_MAX 32768 // places, in groups of RELAY_GROUP
#define RELAY_GROUP        8
#define RELAY_CHILDREN_MAX 64
#define RELAY_ACTIVE_S     10 // without a batch: not counted any more

typedef struct relay_routes relay_routes;

// Where an ack goes: peer 0: nowhere yet. child: a relay's place plus 1, 0: an actor.
typedef struct relay_route {
    uint32_t peer;
    uint32_t child;
} relay_route;

relay_routes *relay_routes_create(void);
void relay_routes_destroy(relay_routes *routes); // NULL is a no-op
// An actor at that connection wants the acks of a session. OCT_EINVAL: with another token than the
// session's.
OCT_CHECKED oct_err relay_routes_name(relay_routes *routes, uint32_t peer, const wire_claim *claim,
                                      uint64_t now_ns);
// Whether the connection of that peer has not ended.
typedef bool (*relay_routes_there_fn)(void *arg, uint32_t peer);
// A relay wants those of what it brings. OCT_EAGAIN: there is no place for it.
OCT_CHECKED oct_err relay_routes_name_relay(relay_routes *routes, uint32_t peer, uint64_t relay,
                                            relay_routes_there_fn is_there, void *arg);
// Its place plus 1, for relay_routes_batch; 0: it has not said its name yet.
uint32_t relay_routes_child(const relay_routes *routes, uint64_t relay);
// Its connection; 0: nobody has that place.
uint32_t relay_routes_child_peer(const relay_routes *routes, uint32_t child);
// A batch came, from the actor itself (child 0) or through that relay. OCT_EINVAL: it has no token,
// or another one than the session's.
OCT_CHECKED oct_err relay_routes_batch(relay_routes *routes, const wire_claim *claim,
                                       uint32_t child, uint64_t now_ns);
// An ack came for a session. False: it is not known.
bool relay_routes_ack(relay_routes *routes, const wire_claim *of, relay_route *out);
// Sessions that sent a batch lately.
uint32_t relay_routes_active(const relay_routes *routes, uint64_t now_ns);

#endif // RELAY_RELAY_ROUTES_H
