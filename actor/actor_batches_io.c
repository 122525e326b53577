// The links for batches and acknowledgements, and what is on its way through them.
#include "actor/actor_batches_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_outbox.h"
#include "actor/actor_resend.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "proto/wire_rpc.h"

#define ACK_BYTES_MAX 4096
#define ACK_QUEUE     16
#define DOWN_NS       UINT64_C(2000000000)
#define MUTE_NS       UINT64_C(4000000000)

struct actor_batches {
    net_loop *loop;
    const wire_claim *claim;
    actor_worker *worker;
    uint64_t *rejected;
    char replay[NET_URL_MAX]; // address of the open links
    net_push *push;
    net_sub *acks;
    bool acks_up;      // the link for acknowledgements was connected once since it was opened
    bool is_lost;      // the link for batches was connected, and is not now
    bool is_silent;    // the relay was silent, and no acknowledgement has come since
    uint64_t down_ns;  // since when batches have no connection; 0: connected
    uint64_t acked_ns; // last acknowledgement, or the last time that nothing was unacknowledged
    uint64_t heard_ns; // last acknowledgement, or the last time that nothing was on its way
    uint64_t bytes;    // sent, repeated batches included
    actor_outbox outbox;
    actor_resend resend;
};

actor_batches *
actor_batches_create(net_loop *loop, const wire_claim *claim, actor_worker *worker,
                     uint64_t *rejected)
{
    actor_batches *batches = oct_alloc(sizeof(*batches));
    batches->loop = loop;
    batches->claim = claim;
    batches->worker = worker;
    batches->rejected = rejected;
    actor_outbox_init(&batches->outbox, actor_worker_batches(worker));
    actor_resend_init(&batches->resend);
    return batches;
}

void
actor_batches_destroy(actor_batches *batches)
{
    if (batches != NULL) {
        actor_outbox_fini(&batches->outbox);
        free(batches);
    }
}

// ---- batches

void
actor_batches_put(actor_batches *batches, actor_batch *batch)
{
    actor_outbox_put(&batches->outbox, batch);
}

void
actor_batches_send(actor_batches *batches)
{
    const wire_claim *claim = batches->claim;
    actor_batch *batch;
    while (batches->outbox.sent < batches->resend.window &&
           (batch = actor_outbox_next(&batches->outbox)) != NULL) {
        wire_batch view = actor_batch_view(batch, claim->actor_id, claim->session,
                                           actor_outbox_first(&batches->outbox));
        memcpy(view.token, claim->token, sizeof(view.token));
        net_msg *msg = net_msg_create(wire_batch_size(&view));
        wire_batch_pack(&view, net_msg_body(msg));
        size_t length = net_msg_length(msg);
        if (net_push_send(batches->push, msg) != OCT_OK) {
            net_msg_destroy(msg);
            return;
        }
        batches->bytes += length;
        actor_resend_sent(&batches->resend, batch->sequence, length, batches->outbox.sent,
                          oct_clock_ns());
        actor_outbox_sent(&batches->outbox);
    }
}

// Takes an acknowledgement and gives acknowledged batches back to the worker.
static void
ack_arrived(void *arg, net_msg *msg)
{
    actor_batches *batches = arg;
    actor_outbox *outbox = &batches->outbox;
    actor_resend *resend = &batches->resend;
    wire_ack ack;
    if (wire_ack_unpack(&ack, net_msg_body(msg), net_msg_length(msg)) != OCT_OK) {
        (*batches->rejected)++;
        return;
    }
    if (ack.actor_id != batches->claim->actor_id || ack.session != batches->claim->session) {
        return;
    }
    uint64_t before = outbox->acked, replay = outbox->incarnation;
    batches->heard_ns = batches->acked_ns = oct_clock_ns();
    batches->is_silent = false;
    actor_outbox_ack(outbox, &ack);
    if (replay != 0 && outbox->incarnation != replay) {
        actor_resend_init(resend); // a restarted replay has lost what was on its way
    }
    if (outbox->acked != before) {
        actor_resend_acked(resend, outbox->acked, batches->heard_ns);
    }
    if (ack.credit == 0) {
        actor_resend_held(resend, batches->heard_ns);
    }
    actor_worker_set_window(batches->worker, ack.credit);
    actor_batch *batch;
    while ((batch = actor_outbox_take(outbox)) != NULL) {
        actor_worker_return_batch(batches->worker, batch);
    }
    if (outbox->acked != before) {
        oct_log_debug("ACTOR-ACKED", "sequence=%" PRIu64 " rows=%" PRIu64, outbox->acked,
                      outbox->rows_acked);
    }
    actor_batches_send(batches);
}

// When replay dies, PUSH loses the bytes that the kernel held, and replay drops batches that it
// cannot insert yet. If replay has room and acknowledges nothing in time, all batches are sent
// again (actor_resend.h).
void
actor_batches_watch(actor_batches *batches)
{
    if (batches->outbox.count == 0) {
        batches->acked_ns = oct_clock_ns();
    }
    if (batches->outbox.sent > 0 && actor_resend_is_late(&batches->resend, oct_clock_ns())) {
        actor_outbox_go_back(&batches->outbox);
    }
    actor_batches_send(batches);
}

// ---- links

static void
link_ready(void *arg)
{
    actor_batches_send(arg);
}

static void
link_up(void *arg)
{
    actor_batches *batches = arg;
    batches->down_ns = 0;
    batches->is_lost = false;
    actor_outbox_go_back(&batches->outbox);
    actor_resend_init(&batches->resend);
    actor_batches_send(batches);
}

static void
link_down(void *arg)
{
    actor_batches *batches = arg;
    batches->down_ns = oct_clock_ns();
    batches->is_lost = true;
    oct_log_notice("ACTOR-REPLAY-LOST", "the connection to replay was lost; dialing again");
}

static void
acks_up(void *arg)
{
    actor_batches *batches = arg;
    batches->acks_up = true;
}

// A relay has the same addresses for each shard.
oct_err
actor_batches_open(actor_batches *batches, const char *replay, bool is_relayed)
{
    char url[NET_URL_MAX];
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    const net_push_events events = {
        .on_ready = link_ready,
        .on_connected = link_up,
        .on_disconnected = link_down,
        .arg = batches,
    };
    unsigned role = OCT_ROLE_BIT(is_relayed ? OCT_ROLE_RELAY : OCT_ROLE_REPLAY);
    (void)snprintf(batches->replay, sizeof(batches->replay), "%s", replay);
    batches->down_ns = batches->heard_ns = batches->acked_ns = oct_clock_ns();
    batches->acks_up = false;
    OCT_TRY(net_url_offset(replay, 2, url));
    OCT_TRY(net_post_dial(&batches->acks, batches->loop,
                          &(net_endpoint){url, role, ACK_BYTES_MAX, ACK_QUEUE},
                          &(net_sub_options){ask, wire_ack_request_pack(batches->claim, ask),
                                             ack_arrived, acks_up, batches}));
    OCT_TRY(net_url_offset(replay, 1, url));
    return net_push_open(&batches->push, batches->loop, url, role, &events);
}

void
actor_batches_abandon(actor_batches *batches)
{
    net_push_abandon(batches->push);
    net_sub_abandon(batches->acks);
    batches->push = NULL;
    batches->acks = NULL;
    actor_outbox_go_back(&batches->outbox);
    actor_resend_init(&batches->resend);
}

void
actor_batches_close(actor_batches *batches)
{
    if (batches != NULL) {
        net_push_close(batches->push);
        net_sub_close(batches->acks);
    }
}

actor_relay_state
actor_batches_relay(actor_batches *batches)
{
    uint64_t now_ns = oct_clock_ns();
    if (batches->down_ns != 0 && now_ns - batches->down_ns > DOWN_NS) {
        batches->down_ns = now_ns; // the next time only after another DOWN_NS
        return ACTOR_RELAY_DOWN;
    }
    if (batches->outbox.sent == 0) {
        batches->heard_ns = now_ns; // no acknowledgement is to be expected
    } else if (now_ns - batches->heard_ns > MUTE_NS) {
        batches->heard_ns = now_ns;
        batches->is_silent = true;
        return ACTOR_RELAY_SILENT;
    }
    return ACTOR_RELAY_FINE;
}

bool
actor_batches_was_silent(actor_batches *batches)
{
    bool was = batches != NULL && batches->is_silent;
    if (was) {
        batches->is_silent = false;
    }
    return was;
}

// ---- numbers

actor_batches_numbers
actor_batches_measure(const actor_batches *batches)
{
    if (batches == NULL) {
        return (actor_batches_numbers){0};
    }
    const actor_outbox *outbox = &batches->outbox;
    uint64_t now_ns = oct_clock_ns(), acked_ns = batches->acked_ns;
    bool is_waiting = outbox->count > 0 && acked_ns != 0 && now_ns > acked_ns;
    return (actor_batches_numbers){
        .unacked = outbox->count,
        .unacked_s = is_waiting ? 1e-9 * (double)(now_ns - acked_ns) : 0,
        .room = outbox->room,
        .rows_sent = outbox->rows_sent,
        .rows_acked = outbox->rows_acked,
        .resent = outbox->resent,
        .bytes = batches->bytes,
        .is_lost = batches->is_lost,
    };
}

bool
actor_batches_unreached(const actor_batches *batches, char out[NET_URL_MAX])
{
    bool has_link = batches->push != NULL && batches->down_ns == 0;
    return !(has_link && batches->acks_up) &&
           net_url_offset(batches->replay, has_link ? 2 : 1, out) == OCT_OK;
}
