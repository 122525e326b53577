#ifndef ACTOR_ACTOR_OUTBOX_H
#define ACTOR_ACTOR_OUTBOX_H

#include "actor/actor_batch.h"

// The batches that replay has not acknowledged, oldest first, and how many of them were sent.
// After a loss everything is sent again; replay drops duplicates (contract 4 in
// docs/internals/architecture.md).
//
// Threads: the loop thread. Owns: the array of pointers; the batches are the worker's. Full:
// never, it has a slot for every batch.
typedef struct actor_outbox {
    actor_batch **items; // [room] a ring; the oldest batch is at head
    uint32_t room;       // number of batches that exist
    uint32_t head;
    uint32_t count;       // batches held; their sequences are consecutive
    uint32_t sent;        // the oldest sent batches are on their way; sent <= count
    uint64_t incarnation; // of the replay that acknowledged last; 0: none yet
    uint64_t resent;      // batches sent again
    uint64_t acked;       // highest sequence acknowledged; 0: none
    uint64_t last;        // highest sequence put; 0: none
    uint64_t last_sent;   // highest sequence sent; 0: none
    uint64_t rows_sent;   // rows of all batches sent, each counted once
    uint64_t rows_acked;  // rows of all batches that actor_outbox_take returned
} actor_outbox;

void actor_outbox_init(actor_outbox *outbox, uint32_t room);
void actor_outbox_fini(actor_outbox *outbox);
// Adds a batch; its sequence is the next one.
void actor_outbox_put(actor_outbox *outbox, actor_batch *batch);
// Returns the next batch to send, or NULL. After sending it, the caller calls actor_outbox_sent.
actor_batch *actor_outbox_next(const actor_outbox *outbox);
void actor_outbox_sent(actor_outbox *outbox);
// Returns the lowest sequence held, or that of the next batch if none is held.
uint64_t actor_outbox_first(const actor_outbox *outbox);
// Makes every batch held the next to send, oldest first.
void actor_outbox_go_back(actor_outbox *outbox);
// Takes an acknowledgement of this session. One that names a batch that was never put is ignored.
// If replay has a new incarnation, goes back. The caller then takes the acknowledged batches.
void actor_outbox_ack(actor_outbox *outbox, const wire_ack *ack);
// Removes and returns the oldest acknowledged batch, or returns NULL.
actor_batch *actor_outbox_take(actor_outbox *outbox);

#endif // ACTOR_ACTOR_OUTBOX_H
