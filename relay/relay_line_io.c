// One line of a relay: takes batches for one replay from below, and returns their acks.
//
// 1. A batch comes from an actor directly, or gathered with others from a relay below. Its session
//    and token must fit those that the line knows (relay_routes.h); otherwise it is dropped and
//    counts against its connection.
// 2. A good batch goes to the links above (relay_up_put). If they are full, the message stays with
//    NNG (is_stalled) until relay_line_room; gathered_done remembers how many batches of a gathered
//    message have gone up already.
// 3. An ack goes where the session's last batch came from. Acks for actors go at once, those for a
//    relay below are gathered, and sent when the message from above is done. An ack without a route
//    is dropped: replay repeats it.
// 4. Peers send their name on the link of acks: an actor its session and token, a relay its number.
//    The relay answers another relay with its own number, once a second, which shows that it runs.
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "relay/relay_state_io.h"

#define BELOW     (OCT_ROLE_BIT(OCT_ROLE_ACTOR) | OCT_ROLE_BIT(OCT_ROLE_RELAY))
#define ACK_QUEUE 8192 // NNG's limit
#define BAD_MAX   16   // bad messages of one connection until it is closed
// Room for a gathered message beyond one batch of the largest size.
#define BELOW_BYTES    (1u << 20)
#define CHILD_BYTES    (256u << 10) // acks gathered for one relay below
#define NAME_BYTES_MAX WIRE_ACK_REQUEST_BYTES_MAX

// ---- batches up

// Passes one batch up. OCT_EAGAIN: no room now; other errors: the batch is refused.
static oct_err
batch_pass(relay_line *line, const uint8_t *frame, size_t length, uint32_t child)
{
    wire_claim claim;
    if (length > WIRE_BATCH_BYTES_MAX || wire_claim_find(&claim, frame, length) != OCT_OK) {
        relay_bad(line->io, "not a batch, or longer than one may be");
        return OCT_EPROTO;
    }
    if (relay_routes_batch(line->routes, &claim, child, oct_clock_ns()) != OCT_OK) {
        relay_bad(line->io, "a batch without its session's token");
        return OCT_EPROTO;
    }
    if (!relay_up_put(line, frame, length)) {
        return OCT_EAGAIN;
    }
    line->io->counts.batches++;
    line->io->counts.batch_bytes += length;
    return OCT_OK;
}

// Passes up the batches that a relay below has gathered.
static oct_err
gathered_pass(relay_line *line, net_msg *msg)
{
    wire_gathered gathered;
    oct_role role = net_pull_role(line->pull);
    if (role == OCT_ROLE_NONE) { // the relay has disconnected: its actors send again
        return OCT_OK;
    }
    if (!oct_role_may_relay(role) || wire_gathered_open(&gathered, WIRE_BATCH, net_msg_body(msg),
                                                        net_msg_length(msg)) != OCT_OK) {
        relay_bad(line->io, "not a message of a relay, or not from one");
        return OCT_EPROTO;
    }
    const uint8_t *frame;
    size_t length;
    uint32_t child = relay_routes_child(line->routes, gathered.relay);
    for (uint32_t i = 0; wire_gathered_next(&gathered, &frame, &length); i++) {
        if (i >= line->gathered_done && batch_pass(line, frame, length, child) == OCT_EAGAIN) {
            line->gathered_done = i; // earlier batches are on their way
            return OCT_EAGAIN;
        }
    }
    line->gathered_done = 0;
    return OCT_OK;
}

static oct_err
message_arrived(void *arg, net_msg *msg)
{
    relay_line *line = arg;
    const uint8_t *bytes = net_msg_body(msg);
    size_t length = net_msg_length(msg);
    oct_err err = wire_is_gathered(bytes, length) ? gathered_pass(line, msg)
                                                  : batch_pass(line, bytes, length, 0);
    if (err == OCT_EAGAIN) {
        line->io->counts.stalls += !line->is_stalled;
        line->is_stalled = true;
    } else if (err == OCT_OK) {
        net_msg_destroy(msg);
    }
    return err;
}

void
relay_line_room(relay_line *line)
{
    if (line->is_stalled) {
        line->is_stalled = false;
        net_pull_resume(line->pull);
    }
}

// ---- acks down

static void
child_flush(relay_line *line, uint32_t child)
{
    wire_gatherer *gatherer = &line->down[child - 1];
    size_t length = wire_gatherer_length(gatherer);
    if (length == 0) {
        return;
    }
    net_msg *msg = net_msg_create(length);
    wire_gatherer_take(gatherer, net_msg_body(msg));
    net_post_send(line->post, relay_routes_child_peer(line->routes, child), msg);
}

static void
ack_pass(relay_line *line, const uint8_t *frame, size_t length)
{
    wire_claim of;
    relay_route route;
    if (wire_ack_find(&of, frame, length) != OCT_OK) {
        relay_bad(line->io, "not an acknowledgement");
        return;
    }
    if (!relay_routes_ack(line->routes, &of, &route) || route.peer == 0) {
        return; // the session has sent no name yet; a repeated ack will find it
    }
    line->io->counts.acks++;
    line->io->counts.ack_bytes += length;
    if (route.child == 0) {
        net_msg *msg = net_msg_create(length);
        memcpy(net_msg_body(msg), frame, length);
        net_post_send(line->post, route.peer, msg);
    } else if (!wire_gatherer_add(&line->down[route.child - 1], frame, length)) {
        child_flush(line, route.child);
        (void)wire_gatherer_add(&line->down[route.child - 1], frame, length);
    }
}

void
relay_line_acks_arrived(void *arg, net_msg *msg)
{
    relay_line *line = arg;
    wire_gathered gathered;
    if (wire_gathered_open(&gathered, WIRE_ACK, net_msg_body(msg), net_msg_length(msg)) != OCT_OK) {
        relay_bad(line->io, "not acknowledgements");
        return;
    }
    line->io->above_number = gathered.relay; // 0 from a replay, the number of a relay above
    line->io->above_silent = 0;
    const uint8_t *frame;
    size_t length;
    while (wire_gathered_next(&gathered, &frame, &length)) {
        ack_pass(line, frame, length);
    }
    for (uint32_t child = 1; child <= RELAY_CHILDREN_MAX; child++) {
        child_flush(line, child);
    }
}

// Sends this relay's number to a relay below, which reports it to the learner and sees that this
// relay runs.
static void
number_tell(relay_line *line, uint32_t peer)
{
    net_msg *msg = net_msg_create(WIRE_GATHERED_HEAD_BYTES);
    wire_gathered_pack(line->io->number, NULL, 0, net_msg_body(msg));
    net_post_send(line->post, peer, msg);
}

void
relay_line_tell(relay_line *line)
{
    for (uint32_t child = 1; child <= RELAY_CHILDREN_MAX; child++) {
        uint32_t peer = relay_routes_child_peer(line->routes, child);
        if (peer != 0) {
            number_tell(line, peer);
        }
    }
}

static bool
is_there(void *post, uint32_t peer)
{
    return net_post_has(post, peer);
}

// A peer asks for acks: an actor for its session's, a relay for those of the batches that it
// brings.
static void
peer_named(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    relay_line *line = arg;
    wire_gathered relay;
    wire_claim claim;
    if (wire_gathered_open(&relay, WIRE_ACK, name, length) == OCT_OK) {
        if (!oct_role_may_relay(role)) {
            relay_bad(line->io, "a relay's name from another peer");
            return;
        }
        if (relay_routes_name_relay(line->routes, peer, relay.relay, is_there, line->post) !=
            OCT_OK) {
            oct_log_warn(
                "RELAY-FULL",
                "%d relays are below this relay, as many as it may have; another relay was refused",
                RELAY_CHILDREN_MAX);
            return; // without an answer that relay goes to the learner and replay instead
        }
        wire_gatherer *down = &line->down[relay_routes_child(line->routes, relay.relay) - 1];
        wire_gatherer_fini(down);
        wire_gatherer_init(down, line->io->number, CHILD_BYTES);
        number_tell(line, peer);
    } else if (wire_ack_request_unpack(&claim, name, length) != OCT_OK ||
               relay_routes_name(line->routes, peer, &claim, oct_clock_ns()) != OCT_OK) {
        relay_bad(line->io, "not a request for acknowledgements, or without its session's token");
    }
}

// ---- open and close

oct_err
relay_line_open(relay_io *io)
{
    char base[NET_URL_MAX], batches[NET_URL_MAX], acks[NET_URL_MAX];
    OCT_ASSERT(io->line_count < WIRE_SHARDS_MAX);
    relay_line *line = &io->lines[io->line_count];
    line->io = io;
    line->routes = relay_routes_create();
    wire_gatherer_init(&line->up, io->number, RELAY_GATHER_BYTES);
    oct_err err = net_url_line(io->options.listen, io->line_count++, base);
    err = err == OCT_OK ? net_url_offset(base, 1, batches) : err;
    err = err == OCT_OK ? net_url_offset(base, 2, acks) : err;
    // Acks first: an actor that can send batches must be able to get acks.
    if (err == OCT_OK) {
        err = net_post_open(&line->post, io->loop,
                            &(net_endpoint){acks, BELOW, NAME_BYTES_MAX, ACK_QUEUE}, peer_named,
                            line);
    }
    if (err == OCT_OK) {
        err = net_pull_open(&line->pull, io->loop,
                            &(net_endpoint){batches, BELOW, WIRE_BATCH_BYTES_MAX + BELOW_BYTES, 0},
                            message_arrived, line);
    }
    if (err == OCT_OK) {
        net_pull_limit_bad(line->pull, BAD_MAX);
    }
    return err;
}

void
relay_line_close(relay_line *line)
{
    relay_up_close(line);
    net_pull_close(line->pull);
    net_post_close(line->post);
    for (uint32_t i = 0; i < RELAY_CHILDREN_MAX; i++) {
        wire_gatherer_fini(&line->down[i]);
    }
    relay_routes_destroy(line->routes);
}
