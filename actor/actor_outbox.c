// The batches that replay has not acknowledged, and which of them to send next or again.
#include "actor/actor_outbox.h"

#include <stdlib.h>

#include "common/oct_base.h"

void
actor_outbox_init(actor_outbox *outbox, uint32_t room)
{
    *outbox = (actor_outbox){.room = room};
    outbox->items = oct_alloc(room * sizeof(actor_batch *));
}

void
actor_outbox_fini(actor_outbox *outbox)
{
    free(outbox->items);
    outbox->items = NULL;
}

static actor_batch *
item_at(const actor_outbox *outbox, uint32_t index)
{
    return outbox->items[(outbox->head + index) % outbox->room];
}

void
actor_outbox_put(actor_outbox *outbox, actor_batch *batch)
{
    OCT_ASSERT(outbox->count < outbox->room && batch->sequence == outbox->last + 1);
    outbox->last = batch->sequence;
    outbox->items[(outbox->head + outbox->count) % outbox->room] = batch;
    outbox->count++;
}

actor_batch *
actor_outbox_next(const actor_outbox *outbox)
{
    return outbox->sent < outbox->count ? item_at(outbox, outbox->sent) : NULL;
}

void
actor_outbox_sent(actor_outbox *outbox)
{
    OCT_ASSERT(outbox->sent < outbox->count);
    const actor_batch *batch = item_at(outbox, outbox->sent);
    if (batch->sequence > outbox->last_sent) {
        outbox->last_sent = batch->sequence;
        outbox->rows_sent += batch->count;
    }
    outbox->sent++;
}

uint64_t
actor_outbox_first(const actor_outbox *outbox)
{
    return outbox->count > 0 ? item_at(outbox, 0)->sequence : outbox->acked + 1;
}

void
actor_outbox_go_back(actor_outbox *outbox)
{
    outbox->resent += outbox->sent;
    outbox->sent = 0;
}

void
actor_outbox_ack(actor_outbox *outbox, const wire_ack *ack)
{
    if (ack->sequence > outbox->last) {
        return;
    }
    if (outbox->incarnation != 0 && outbox->incarnation != ack->incarnation) {
        actor_outbox_go_back(outbox);
    }
    outbox->incarnation = ack->incarnation;
    // A restarted replay may have less than its predecessor acknowledged; those batches were
    // freed.
    outbox->acked = OCT_MAX(outbox->acked, ack->sequence);
}

actor_batch *
actor_outbox_take(actor_outbox *outbox)
{
    if (outbox->count == 0 || item_at(outbox, 0)->sequence > outbox->acked) {
        return NULL;
    }
    actor_batch *batch = item_at(outbox, 0);
    outbox->head = (outbox->head + 1) % outbox->room;
    outbox->count--;
    outbox->sent -= outbox->sent > 0 ? 1 : 0;
    outbox->rows_acked += batch->count;
    return batch;
}
