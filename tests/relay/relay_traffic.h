#ifndef TESTS_RELAY_RELAY_TRAFFIC_H
#define TESTS_RELAY_RELAY_TRAFFIC_H

// What goes through a relay in its tests: an actor's batches, and a replay's acks.
#include "tests/relay/relay_daemon.h"

// What a relay looks at of a batch: the frame, the sender; then bytes that it does not understand.
// The number is in the frame's topic, which a batch has no use for.
static inline net_msg *
batch_make(uint64_t session, uint8_t number, size_t payload)
{
    uint8_t head[WIRE_ACK_REQUEST_BYTES_MAX];
    wire_claim claim = claim_of(session);
    size_t length = wire_ack_request_pack(&claim, head); // the same fields as a batch has
    wire_frame_pack(WIRE_BATCH, 0, number, head);
    net_msg *msg = net_msg_create(length + payload);
    memcpy(net_msg_body(msg), head, length);
    memset(net_msg_body(msg) + length, number, payload);
    return msg;
}

static inline void
send_msg(shard *at, net_msg *msg)
{
    while (at->is_busy) {
        net_loop_run(at->f->loop);
    }
    at->is_busy = true;
    T_OK(net_push_send(at->push, msg));
}

// The message that was gathered, and an end of gathering.
static inline net_msg *
gatherer_end(wire_gatherer *gatherer)
{
    net_msg *msg = net_msg_create(wire_gatherer_length(gatherer));
    wire_gatherer_take(gatherer, net_msg_body(msg));
    wire_gatherer_fini(gatherer);
    return msg;
}

// What a relay sends: batches from that number on.
static inline net_msg *
gathered_batches(uint64_t session, uint32_t number, uint32_t count)
{
    wire_gatherer gatherer;
    wire_gatherer_init(&gatherer, 5, BYTES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        net_msg *one = batch_make(session, (uint8_t)(number + i), 60000);
        assert_true(wire_gatherer_add(&gatherer, net_msg_body(one), net_msg_length(one)));
        net_msg_destroy(one);
    }
    return gatherer_end(&gatherer);
}

// Of the session and of others. arg: the replay. A net_fn.
static inline void
acks_send(void *arg)
{
    shard *at = arg;
    uint8_t bytes[128];
    wire_gatherer gatherer;
    wire_gatherer_init(&gatherer, 1, 4096);
    for (uint64_t session = at->session - 1; session <= at->session + 1; session++) {
        wire_ack ack = {.actor_id = ACTOR, .session = session, .sequence = session, .credit = 4};
        wire_ack_pack(&ack, bytes);
        assert_true(wire_gatherer_add(&gatherer, bytes, wire_ack_size(&ack)));
    }
    at->acks_sent++; // of the session
    net_post_send(at->post, at->relay_peer, gatherer_end(&gatherer));
}

#endif // TESTS_RELAY_RELAY_TRAFFIC_H
