#ifndef ACTOR_ACTOR_OUTBOX_H
#define ACTOR_ACTOR_OUTBOX_H

#include "actor/actor_batch.h"

// The batches that replay has not acknowledged, oldest first, and how far they have been sent
// (contract 4: go back and re-send; replay drops duplicates).
//
// Threads: the loop thread. Owns: nothing; batches come from and return to the worker.
// Full: never, it has as many places as there are batches.
typedef struct actor_outbox {
    actor_batch **items;
    uint32_t room;
    uint32_t head;
    uint32_t count;
    uint32_t sent;        // of count, how many went out since the last going back
    uint64_t incarnation; // of replay, as last acknowledged; 0: none yet
    uint64_t resent;      // batches sent again
    uint64_t acked;       // highest sequence acknowledged
    uint64_t last;        // highest sequence put
    uint64_t last_sent;   // highest sequence sent
    uint64_t rows_sent;   // rows of all batches sent, each counted once
    uint64_t rows_acked;  // … of all batches taken as acknowledged
} actor_outbox;

void actor_outbox_init(actor_outbox *outbox, uint32_t room);
void actor_outbox_fini(actor_outbox *outbox);
void actor_outbox_put(actor_outbox *outbox, actor_batch *batch);
// The next batch to send, or NULL; actor_outbox_sent when it was taken.
actor_batch *actor_outbox_next(const actor_outbox *outbox);
void actor_outbox_sent(actor_outbox *outbox);
// Lowest sequence held (or the next one to come).
uint64_t actor_outbox_first(const actor_outbox *outbox);
// Everything held will be sent again.
void actor_outbox_go_back(actor_outbox *outbox);
// Takes an acknowledgement of this session; one of batches that were never put is ignored. A new
// incarnation of replay means going back. Then actor_outbox_take gives the acknowledged batches,
// one a call, NULL at the end.
void actor_outbox_ack(actor_outbox *outbox, const wire_ack *ack);
actor_batch *actor_outbox_take(actor_outbox *outbox);

#endif // ACTOR_ACTOR_OUTBOX_H
