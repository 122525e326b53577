// The handle of octet_replay_writer_open.
//
// The user's thread copies steps into a batch (client_steps.h) and passes full batches to the loop
// thread through the ring `sealed`. The loop thread sends them and keeps them until replay has
// acknowledged them, as an actor does (actor/actor_outbox.h); then they return through `free`.
// There are BATCHES of them: if replay acknowledges nothing, the user's thread finds no free batch
// and waits up to its timeout.
//
// After a lost connection, a restarted replay, or STALL_NS without progress, everything
// unacknowledged is sent again, and replay drops duplicates. If this process dies, unacknowledged
// batches are lost, each completely.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "actor/actor_outbox.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "common/oct_ring.h"
#include "lib/client_steps.h"
#include "lib/client_table.h"
#include "lib/client_thread.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_url.h"
#include "proto/wire_token.h"

#define BATCHES       8 // being filled, on their way, or free
#define TICK_MS       50
#define STALL_NS      1000000000u // without progress, until all batches are sent again
#define AGE_NS        100000000u  // of the oldest step, after which the next call seals the batch
#define ACK_QUEUE     16
#define ACK_BYTES_MAX 4096

struct octet_replay_writer {
    client_thread *thread;
    uint32_t number;                 // the user's number of this writer; on the wire the actor's id
    uint64_t session;                // random
    uint8_t token[WIRE_TOKEN_BYTES]; // proves the session to replay

    // Belongs to the loop thread.
    net_push *push;
    net_sub *acks;
    net_timer *tick;
    net_wakeup *wakeup;
    actor_outbox outbox;
    uint64_t progress_ns; // last new acknowledgement, or one without credit

    oct_ring *sealed; // from the user's thread to the loop thread
    oct_ring *free;   // acknowledged, from the loop thread to the user's

    // Belongs to the user's thread.
    client_steps steps;
    actor_batch *batches[BATCHES]; // all of them
    actor_batch *held[BATCHES];    // [held_count] free
    uint32_t held_count;
    actor_batch *batch;           // being filled; NULL: none
    uint64_t begun_ns;            // when its first step was appended
    uint64_t sequence, env_steps; // of the last sealed batch; steps so far
    oct_reason error;
};

// ---- loop thread

// Sends waiting batches until the socket is full; it calls again when it has room.
static void
batches_send(void *arg)
{
    octet_replay_writer *writer = arg;
    actor_batch *batch;
    while ((batch = actor_outbox_next(&writer->outbox)) != NULL) {
        wire_batch view = actor_batch_view(batch, writer->number, writer->session,
                                           actor_outbox_first(&writer->outbox));
        memcpy(view.token, writer->token, sizeof(view.token));
        net_msg *msg = net_msg_create(wire_batch_size(&view));
        wire_batch_pack(&view, net_msg_body(msg));
        if (net_push_send(writer->push, msg) != OCT_OK) {
            net_msg_destroy(msg);
            return;
        }
        if (writer->outbox.sent == 0) {
            writer->progress_ns = oct_clock_ns();
        }
        actor_outbox_sent(&writer->outbox);
    }
}

// A new connection: what the old one carried may be lost.
static void
connected(void *arg)
{
    octet_replay_writer *writer = arg;
    actor_outbox_go_back(&writer->outbox);
    batches_send(writer);
}

static void
disconnected(void *arg)
{
    (void)arg; // the socket dials again by itself
}

// Takes an acknowledgement and returns the batches that it covers. credit 0 means that replay is
// alive but full, which counts as progress.
static void
acknowledged(void *arg, net_msg *msg)
{
    octet_replay_writer *writer = arg;
    wire_ack ack;
    if (wire_ack_unpack(&ack, net_msg_body(msg), net_msg_length(msg)) != OCT_OK ||
        ack.actor_id != writer->number || ack.session != writer->session) {
        return;
    }
    uint64_t before = writer->outbox.acked;
    actor_outbox_ack(&writer->outbox, &ack);
    if (writer->outbox.acked != before || ack.credit == 0) {
        writer->progress_ns = oct_clock_ns();
    }
    actor_batch *batch;
    while ((batch = actor_outbox_take(&writer->outbox)) != NULL) {
        OCT_ASSERT(oct_ring_push(writer->free, batch) == OCT_OK);
    }
    batches_send(writer);
}

static void
woken(void *arg)
{
    octet_replay_writer *writer = arg;
    void *batch;
    while (oct_ring_pop(writer->sealed, &batch) == OCT_OK) {
        actor_outbox_put(&writer->outbox, batch);
    }
    batches_send(writer);
}

// As actor_send_watch: bytes that the kernel held when replay died are sent again.
static void
ticked(void *arg)
{
    octet_replay_writer *writer = arg;
    if (writer->outbox.sent > 0 && oct_clock_ns() - writer->progress_ns > STALL_NS) {
        actor_outbox_go_back(&writer->outbox);
        writer->progress_ns = oct_clock_ns();
    }
    batches_send(writer);
}

// Runs on the loop thread when the handle is closed.
static void
links_close(void *arg)
{
    octet_replay_writer *writer = arg;
    net_timer_stop(writer->tick);
    net_push_close(writer->push);
    net_sub_close(writer->acks);
    net_wakeup_destroy(writer->wakeup);
}

// ---- opening and closing

// Batches go to url + 1, acknowledgements come from url + 2. OCT_EIO: no link is left open.
static oct_err
links_open(octet_replay_writer *writer, const char *url)
{
    char batches[NET_URL_MAX], acks[NET_URL_MAX];
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    wire_claim claim = {.actor_id = writer->number, .session = writer->session};
    memcpy(claim.token, writer->token, sizeof(claim.token));
    OCT_TRY(net_url_offset(url, 1, batches));
    OCT_TRY(net_url_offset(url, 2, acks));
    net_loop *loop = client_thread_loop(writer->thread);
    net_push_events events = {.on_ready = batches_send,
                              .on_connected = connected,
                              .on_disconnected = disconnected,
                              .arg = writer};
    OCT_TRY(net_push_open(&writer->push, loop, batches, OCT_ROLES_ANY, &events));
    oct_err err = net_post_dial(
        &writer->acks, loop, &(net_endpoint){acks, OCT_ROLES_ANY, ACK_BYTES_MAX, ACK_QUEUE},
        &(net_sub_options){ask, wire_ack_request_pack(&claim, ask), acknowledged, NULL, writer});
    if (err != OCT_OK) {
        net_push_close(writer->push);
    }
    return err;
}

// Draws a session and proves it with the table's key.
static void
identity_make(octet_replay_writer *writer, const octet_replay_writer_config *config)
{
    writer->number = config->number;
    OCT_ASSERT(getrandom(&writer->session, sizeof(writer->session), 0) == sizeof(writer->session));
    wire_token_maker *maker = wire_token_maker_create(config->table->key);
    wire_token_make(maker, config->run_id, writer->session, writer->number, writer->token);
    wire_token_maker_destroy(maker);
}

// After the thread was stopped, or was never made.
static void
writer_destroy(octet_replay_writer *writer)
{
    for (size_t i = 0; i < BATCHES; i++) {
        actor_batch_destroy(writer->batches[i]);
    }
    actor_outbox_fini(&writer->outbox);
    client_steps_fini(&writer->steps);
    oct_ring_destroy(writer->sealed);
    oct_ring_destroy(writer->free);
    free(writer);
}

static int
writer_open(octet_replay_writer **out, const octet_replay_writer_config *config, oct_reason *why)
{
    if (config->size != sizeof(*config) || config->number == 0) {
        return (int)oct_refuse(why,
                               "config: size is %u bytes (this library knows %zu), number is %u "
                               "(allowed: 1 and above)",
                               config->size, sizeof(*config), config->number);
    }
    OCT_TRY(client_table_check(config->table, why));
    OCT_TRY(client_url_check(config->url, why));
    OCT_TRY(client_thread_check(why));
    client_steps steps;
    OCT_TRY(client_steps_init(&steps, config, why));
    octet_replay_writer *writer = oct_alloc(sizeof(*writer));
    writer->steps = steps;
    identity_make(writer, config);
    actor_outbox_init(&writer->outbox, BATCHES);
    writer->sealed = oct_ring_create(BATCHES);
    writer->free = oct_ring_create(BATCHES);
    for (size_t i = 0; i < BATCHES; i++) {
        writer->batches[i] = actor_batch_create(&steps.shape);
        writer->held[writer->held_count++] = writer->batches[i];
    }
    oct_err err = client_thread_create(&writer->thread, why);
    if (err != OCT_OK) {
        writer_destroy(writer);
        return (int)err;
    }
    err = links_open(writer, config->url);
    if (err != OCT_OK) {
        client_thread_abandon(writer->thread);
        writer_destroy(writer);
        return (int)oct_fail(why, err, "%s: %s", config->url, oct_strerror(err));
    }
    net_loop *loop = client_thread_loop(writer->thread);
    writer->wakeup = net_wakeup_create(loop, woken, writer);
    writer->tick = net_timer_start(loop, TICK_MS, TICK_MS, ticked, writer);
    client_thread_start(writer->thread, links_close, writer);
    *out = writer;
    return OCTET_REPLAY_OK;
}

int
octet_replay_writer_open(octet_replay_writer **out, const octet_replay_writer_config *config,
                         char *error, size_t error_size)
{
    oct_reason why = {""};
    int result = writer_open(out, config, &why);
    if (result != 0) {
        oct_reason_copy(&why, error, error_size);
    }
    return result;
}

void
octet_replay_writer_close(octet_replay_writer *writer)
{
    if (writer != NULL && client_thread_stop(writer->thread)) {
        writer_destroy(writer);
    }
}

const char *
octet_replay_writer_error(const octet_replay_writer *writer)
{
    return writer->error.text;
}

// ---- the user's thread

static bool
is_usable(octet_replay_writer *writer)
{
    if (!client_thread_is_here(writer->thread)) {
        (void)oct_refuse(
            &writer->error,
            "this process is a fork of the process that opened this writer: open another writer");
        return false;
    }
    writer->error.text[0] = '\0';
    return true;
}

// ETIMEDOUT: no free batch in time.
static int
late(octet_replay_writer *writer)
{
    (void)oct_refuse(&writer->error, "replay has not acknowledged what was sent before");
    return OCTET_REPLAY_ETIMEDOUT;
}

// Passes the batch to the loop thread. The ring has a slot for every batch.
static void
batch_seal(octet_replay_writer *writer)
{
    actor_batch_seal(writer->batch);
    writer->batch->sequence = ++writer->sequence;
    writer->batch->env_steps = writer->env_steps;
    OCT_ASSERT(oct_ring_push(writer->sealed, writer->batch) == OCT_OK);
    writer->batch = NULL;
    net_wakeup_send(writer->wakeup);
}

static bool
batch_is_free(const octet_replay_writer *writer)
{
    return writer->held_count > 0 || oct_ring_count(writer->free) > 0;
}

// Opens a free batch. OCT_ETIMEDOUT: replay has acknowledged none in time.
static oct_err
batch_take(octet_replay_writer *writer, uint32_t timeout_ms)
{
    void *batch;
    if (writer->held_count > 0) {
        batch = writer->held[--writer->held_count];
    } else {
        OCT_TRY(oct_ring_pop_wait(writer->free, &batch, timeout_ms));
    }
    writer->batch = batch;
    actor_batch_begin(batch, writer->steps.next);
    return OCT_OK;
}

int
octet_replay_append(octet_replay_writer *writer, const octet_replay_steps *steps,
                    uint32_t timeout_ms)
{
    if (!is_usable(writer)) {
        return OCTET_REPLAY_EINVAL;
    }
    OCT_TRY(client_steps_check(&writer->steps, steps, &writer->error));
    // A batch is sealed when it is full, or when it is old and another batch is free.
    uint64_t now_ns = oct_clock_ns();
    if (writer->batch != NULL && writer->batch->count > 0 &&
        (!client_steps_fit(&writer->steps, writer->batch) ||
         (now_ns - writer->begun_ns > AGE_NS && batch_is_free(writer)))) {
        batch_seal(writer);
    }
    if (writer->batch == NULL) {
        if (batch_take(writer, timeout_ms) != OCT_OK) {
            return late(writer);
        }
        writer->begun_ns = now_ns;
    }
    uint32_t before = writer->batch->steps;
    client_steps_append(&writer->steps, writer->batch, steps);
    writer->env_steps += writer->batch->steps - before;
    return OCTET_REPLAY_OK;
}

int
octet_replay_flush(octet_replay_writer *writer, uint32_t timeout_ms)
{
    if (!is_usable(writer)) {
        return OCTET_REPLAY_EINVAL;
    }
    uint64_t deadline_ns = oct_clock_ns() + (uint64_t)timeout_ms * 1000000;
    // Streams in the middle of an episode need end rows, which need a batch.
    if (writer->batch == NULL && client_steps_is_open(&writer->steps) &&
        batch_take(writer, timeout_ms) != OCT_OK) {
        return late(writer);
    }
    if (writer->batch != NULL) {
        client_steps_cut(&writer->steps, writer->batch);
    }
    if (writer->batch != NULL && writer->batch->count > 0) {
        batch_seal(writer);
    }
    // When all batches are free again, all were acknowledged.
    uint32_t all = BATCHES - (writer->batch != NULL);
    while (writer->held_count < all) {
        void *batch;
        uint64_t now_ns = oct_clock_ns();
        uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns + 999999) / 1000000 : 0;
        if (oct_ring_pop_wait(writer->free, &batch, (uint32_t)left_ms) != OCT_OK) {
            return late(writer);
        }
        writer->held[writer->held_count++] = batch;
    }
    return OCTET_REPLAY_OK;
}
