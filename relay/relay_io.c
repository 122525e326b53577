// The links of a relay to those below it: publishes, takes batches, returns acks.
#include "relay/relay_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "relay/relay_numbers.h"
#include "relay/relay_state_io.h"

#define BELOW          (OCT_ROLE_BIT(OCT_ROLE_ACTOR) | OCT_ROLE_BIT(OCT_ROLE_RELAY))
#define PUBLISH_QUEUE  16         // as the learner
#define ACK_QUEUE      4096       // one for each actor that there may be
#define BAD_MAX        16         // messages of one connection, which is closed then
#define BELOW_BYTES    (1u << 20) // more than one batch, in the message of a relay
#define CHILD_BYTES    (256u << 10)
#define TICK_MS        1000
#define NAME_BYTES_MAX WIRE_ACK_REQUEST_BYTES_MAX

void
relay_io_fail(relay_io *io, int exit_code)
{
    io->exit_code = exit_code;
    net_loop_stop(io->loop);
}

void
relay_bad(relay_io *io, const char *reason)
{
    if (io->counts.bad++ == 0) {
        oct_log_warn("RELAY-BAD-MESSAGE", "%s; more of these are only counted", reason);
    }
}

// ---- policies down

void
relay_policy_arrived(void *arg, net_msg *msg)
{
    relay_io *io = arg;
    wire_frame frame;
    size_t length = net_msg_length(msg);
    if (wire_frame_unpack(&frame, net_msg_body(msg), length) != OCT_OK ||
        frame.kind != WIRE_POLICY) {
        relay_bad(io, "not a policy");
        return;
    }
    net_msg *copy = net_msg_create(length);
    memcpy(net_msg_body(copy), net_msg_body(msg), length);
    net_pub_send(io->pub, copy);
    io->counts.policies++;
    io->counts.policy_bytes += length;
}

// ---- batches up

// OCT_EAGAIN: later. Anything else: it is refused.
static oct_err
batch_pass(relay_io *io, const uint8_t *frame, size_t length, uint32_t child)
{
    wire_claim claim;
    if (length > WIRE_BATCH_BYTES_MAX || wire_claim_find(&claim, frame, length) != OCT_OK) {
        relay_bad(io, "not a batch, or longer than one may be");
        return OCT_EPROTO;
    }
    if (relay_routes_batch(io->routes, &claim, child, oct_clock_ns()) != OCT_OK) {
        relay_bad(io, "a batch without its session's token");
        return OCT_EPROTO;
    }
    if (!relay_up_put(io, frame, length)) {
        return OCT_EAGAIN;
    }
    io->counts.batches++;
    io->counts.batch_bytes += length;
    return OCT_OK;
}

// What a relay below gathered.
static oct_err
gathered_pass(relay_io *io, net_msg *msg)
{
    wire_gathered gathered;
    oct_role role = net_pull_role(io->pull);
    if ((role != OCT_ROLE_LOCAL && role != OCT_ROLE_RELAY) ||
        wire_gathered_open(&gathered, WIRE_BATCH, net_msg_body(msg), net_msg_length(msg)) !=
            OCT_OK) {
        relay_bad(io, "not a message of a relay, or not from one");
        return OCT_EPROTO;
    }
    const uint8_t *frame;
    size_t length;
    uint32_t child = relay_routes_child(io->routes, gathered.relay);
    for (uint32_t i = 0; wire_gathered_next(&gathered, &frame, &length); i++) {
        if (i >= io->gathered_done && batch_pass(io, frame, length, child) == OCT_EAGAIN) {
            io->gathered_done = i; // those before it are on their way
            return OCT_EAGAIN;
        }
    }
    io->gathered_done = 0;
    return OCT_OK;
}

static oct_err
message_arrived(void *arg, net_msg *msg)
{
    relay_io *io = arg;
    const uint8_t *bytes = net_msg_body(msg);
    size_t length = net_msg_length(msg);
    oct_err err =
        wire_is_gathered(bytes, length) ? gathered_pass(io, msg) : batch_pass(io, bytes, length, 0);
    if (err == OCT_EAGAIN) {
        io->counts.stalls += !io->is_stalled;
        io->is_stalled = true;
    } else if (err == OCT_OK) {
        net_msg_destroy(msg);
    }
    return err;
}

void
relay_up_room(relay_io *io)
{
    if (io->is_stalled) {
        io->is_stalled = false;
        net_pull_resume(io->pull);
    }
}

// ---- acks down

static void
child_flush(relay_io *io, uint32_t child)
{
    wire_gatherer *gatherer = &io->down[child - 1];
    size_t length = wire_gatherer_length(gatherer);
    if (length == 0) {
        return;
    }
    net_msg *msg = net_msg_create(length);
    wire_gatherer_take(gatherer, net_msg_body(msg));
    net_post_send(io->post, relay_routes_child_peer(io->routes, child), msg);
}

static void
ack_pass(relay_io *io, const uint8_t *frame, size_t length)
{
    wire_claim of;
    relay_route route;
    if (wire_ack_find(&of, frame, length) != OCT_OK) {
        relay_bad(io, "not an acknowledgement");
        return;
    }
    if (!relay_routes_ack(io->routes, &of, &route) || route.peer == 0) {
        return; // it has not said where to: one of the repeated ones is for it
    }
    io->counts.acks++;
    io->counts.ack_bytes += length;
    if (route.child == 0) {
        net_msg *msg = net_msg_create(length);
        memcpy(net_msg_body(msg), frame, length);
        net_post_send(io->post, route.peer, msg);
    } else if (!wire_gatherer_add(&io->down[route.child - 1], frame, length)) {
        child_flush(io, route.child);
        (void)wire_gatherer_add(&io->down[route.child - 1], frame, length);
    }
}

void
relay_acks_arrived(void *arg, net_msg *msg)
{
    relay_io *io = arg;
    wire_gathered gathered;
    if (wire_gathered_open(&gathered, WIRE_ACK, net_msg_body(msg), net_msg_length(msg)) != OCT_OK) {
        relay_bad(io, "not acknowledgements");
        return;
    }
    const uint8_t *frame;
    size_t length;
    while (wire_gathered_next(&gathered, &frame, &length)) {
        ack_pass(io, frame, length);
    }
    for (uint32_t child = 1; child <= RELAY_CHILDREN_MAX; child++) {
        child_flush(io, child);
    }
}

// Somebody wants acks: an actor those of its session, a relay those of what it brings.
static void
peer_named(void *arg, uint32_t peer, const uint8_t *name, size_t length)
{
    relay_io *io = arg;
    wire_gathered relay;
    wire_claim claim;
    if (wire_gathered_open(&relay, WIRE_ACK, name, length) == OCT_OK) {
        relay_routes_name_relay(io->routes, peer, relay.relay, oct_clock_ns());
        wire_gatherer *down = &io->down[relay_routes_child(io->routes, relay.relay) - 1];
        wire_gatherer_fini(down);
        wire_gatherer_init(down, io->number, CHILD_BYTES);
    } else if (wire_ack_request_unpack(&claim, name, length) != OCT_OK ||
               relay_routes_name(io->routes, peer, &claim, oct_clock_ns()) != OCT_OK) {
        relay_bad(io, "not what asks for acknowledgements, or not with its session's token");
    }
}

// ---- life

static void
tick(void *arg)
{
    relay_io *io = arg;
    relay_up_watch(io);
    relay_join_go(io);
}

static oct_err
links_open(relay_io *io)
{
    char batches[NET_URL_MAX], acks[NET_URL_MAX];
    OCT_TRY(net_url_offset(io->options.listen, 1, batches));
    OCT_TRY(net_url_offset(io->options.listen, 2, acks));
    // Acks first: an actor that can push can be answered.
    OCT_TRY(
        net_post_open(&io->post, io->loop, acks, BELOW, ACK_QUEUE, NAME_BYTES_MAX, peer_named, io));
    OCT_TRY(net_pull_open(&io->pull, io->loop, batches, BELOW, WIRE_BATCH_BYTES_MAX + BELOW_BYTES,
                          message_arrived, io));
    net_pull_limit_bad(io->pull, BAD_MAX);
    return net_pub_open(&io->pub, io->loop, io->options.listen, BELOW, PUBLISH_QUEUE);
}

oct_err
relay_io_open(relay_io **out, net_loop *loop, const relay_io_options *options)
{
    relay_io *io = oct_alloc(sizeof(*io));
    io->loop = loop;
    io->options = *options;
    OCT_ASSERT(getrandom(&io->number, sizeof(io->number), 0) == sizeof(io->number));
    io->number += io->number == 0;
    io->routes = relay_routes_create();
    oct_err err = links_open(io);
    if (err == OCT_OK) {
        err = relay_join_open(io);
    }
    if (err != OCT_OK) {
        relay_io_close(io);
        return err;
    }
    io->tick = net_timer_start(loop, 1, TICK_MS, tick, io);
    *out = io;
    return OCT_OK;
}

void
relay_io_close(relay_io *io)
{
    if (io == NULL) {
        return;
    }
    net_timer_stop(io->tick);
    relay_join_close(io);
    relay_up_close(io);
    net_pull_close(io->pull);
    net_post_close(io->post);
    if (io->pub != NULL) {
        net_pub_close(io->pub);
    }
    for (uint32_t i = 0; i < RELAY_CHILDREN_MAX; i++) {
        wire_gatherer_fini(&io->down[i]);
    }
    relay_routes_destroy(io->routes);
    free(io);
}

int
relay_io_exit_code(const relay_io *io)
{
    return io->exit_code;
}

void
relay_io_log_totals(const relay_io *io)
{
    const relay_counts *c = &io->counts;
    oct_log_notice("RELAY-STOP",
                   "batches=%" PRIu64 " batch_bytes=%" PRIu64 " messages=%" PRIu64 " acks=%" PRIu64
                   " policies=%" PRIu64 " policy_bytes=%" PRIu64 " stalls=%" PRIu64 " bad=%" PRIu64
                   " cpu_s=%.2f",
                   c->batches, c->batch_bytes, c->messages, c->acks, c->policies, c->policy_bytes,
                   c->stalls, c->bad, (double)oct_clock_process_cpu_ns() / 1e9);
}

// ---- for net_metrics

void
relay_io_prometheus(void *arg, oct_prometheus *text)
{
    const relay_io *io = arg;
    const relay_counts *c = &io->counts;
    const relay_measurements now = {
        .sessions = relay_routes_active(io->routes, oct_clock_ns()),
        .up = io->is_up,
        .batches = (double)c->batches,
        .batch_bytes = (double)c->batch_bytes,
        .messages = (double)c->messages,
        .message_bytes = (double)c->message_bytes,
        .acks = (double)c->acks,
        .policies = (double)c->policies,
        .policy_bytes = (double)c->policy_bytes,
        .stalls = (double)c->stalls,
        .bad = (double)c->bad,
    };
    oct_numbers *numbers = oct_numbers_create("relay.");
    relay_numbers_add(numbers, &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
}

const char *
relay_io_trouble(void *arg)
{
    const relay_io *io = arg;
    if (!io->is_registered) {
        return "the learner does not answer";
    }
    return io->is_up ? NULL : "not connected to replay, or the relay above";
}
