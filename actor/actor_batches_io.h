#ifndef ACTOR_ACTOR_BATCHES_IO_H
#define ACTOR_ACTOR_BATCHES_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/actor_worker.h"
#include "net/net_loop.h"
#include "net/net_url.h"
#include "proto/wire_token.h"

// The batches of an actor on their way to replay, or to a relay: sends what the acting thread has
// sealed, takes acknowledgements, and gives acknowledged batches back to the worker. After a lost
// connection, and when acknowledgements are late (actor_resend.h), all batches that were not
// acknowledged are sent again; replay drops duplicates, so nothing is lost.
//
// Threads: the loop thread. Owns: the two links and the outbox; the batches are the worker's. Full:
// the worker runs out of free batches and waits (actor_worker.h).
typedef struct actor_batches actor_batches;

// claim: the session, the batches of which these are; the caller may renew its token. *rejected
// counts malformed acknowledgements. loop, claim, worker and rejected outlive the object.
actor_batches *actor_batches_create(net_loop *loop, const wire_claim *claim, actor_worker *worker,
                                    uint64_t *rejected);
// Opens the links to a replay, or to a relay (is_relayed): batches go to the first address after
// this one, acknowledgements come from the second. OCT_EIO: one cannot be dialed.
OCT_CHECKED oct_err actor_batches_open(actor_batches *batches, const char *replay, bool is_relayed);
// Abandons open links, so that others can be opened. Unacknowledged batches are sent again there.
void actor_batches_abandon(actor_batches *batches);
// Closes the links. NULL is a no-op; so for actor_batches_destroy.
void actor_batches_close(actor_batches *batches);
void actor_batches_destroy(actor_batches *batches);

// Adds a sealed batch; its sequence is the next one.
void actor_batches_put(actor_batches *batches, actor_batch *batch);
// Sends batches, as many as the resend window and the link allow.
void actor_batches_send(actor_batches *batches);
// Twice a second: sends everything again if the batches on their way are late.
void actor_batches_watch(actor_batches *batches);

typedef enum actor_relay_state {
    ACTOR_RELAY_FINE,
    ACTOR_RELAY_DOWN,  // no connection for 2 s; a restarted relay is back by then
    ACTOR_RELAY_SILENT // no acknowledgement for 4 s; the learner has dropped a relay that hangs
                       // then
} actor_relay_state;

// Twice a second: says what is wrong with the relay, once in each of these times.
actor_relay_state actor_batches_relay(actor_batches *batches);
// Returns true if the relay was silent and no acknowledgement has come since; then forgets it.
// NULL: false.
bool actor_batches_was_silent(actor_batches *batches);

// Numbers of the batches.
typedef struct actor_batches_numbers {
    uint32_t unacked; // batches that are not acknowledged
    double unacked_s; // seconds since the last acknowledgement, while batches are unacknowledged
    uint32_t room;    // batches that exist
    uint64_t rows_sent, rows_acked; // each row counted once
    uint64_t resent;                // batches sent again
    uint64_t bytes;                 // sent, repeated batches included
    bool is_lost;                   // the link for batches was connected, and is not now
} actor_batches_numbers;

// batches NULL: zeros.
actor_batches_numbers actor_batches_measure(const actor_batches *batches);
// Finds the address for batches or acknowledgements that has no connection. False: both are
// connected.
bool actor_batches_unreached(const actor_batches *batches, char out[NET_URL_MAX]);

#endif // ACTOR_ACTOR_BATCHES_IO_H
