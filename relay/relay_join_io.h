#ifndef RELAY_RELAY_JOIN_IO_H
#define RELAY_RELAY_JOIN_IO_H

#include "net/net_loop.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"

// Registers the relay with the learner once a second. The learner learns from this that the relay
// runs and where it listens; the relay learns where the learner's policies and the replays are. A
// learner that does not answer is asked again; its silence is logged once.
//
// Threads: the loop thread.
typedef struct relay_join relay_join;

typedef struct relay_join_options {
    net_loop *loop;
    const char *learner;  // borrowed
    const char *announce; // address at which the relay can be reached, borrowed; "": to relays only
    bool insecure;
    // Fills relay_above, relay_number, relay_above_number and relay_sessions.
    void (*describe)(void *arg, wire_register *request);
    // Takes addresses that can be dialed from here, one replay for each of count. An error ends the
    // process.
    oct_err (*found)(void *arg, const char *policies, char replay[][NET_URL_MAX], uint32_t count);
    // The learner refuses this relay (is_refused), or its addresses cannot be used; logged.
    void (*failed)(void *arg, bool is_refused);
    void *arg;
} relay_join_options;

// Errors as of net_rpc_client_open.
OCT_CHECKED oct_err relay_join_open(relay_join **out, const relay_join_options *options);
void relay_join_close(relay_join *join); // NULL is a no-op
// Sends a request to register, unless one is in flight. Call it once a second.
void relay_join_go(relay_join *join);
// Returns true if the learner answered the last request.
bool relay_join_is_registered(const relay_join *join);

#endif // RELAY_RELAY_JOIN_IO_H
