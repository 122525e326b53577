// PUB and SUB sockets on the loop: publishing never blocks, a subscriber keeps the newest messages.
#include "net/net_pub.h"

#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pair1/pair.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_internal.h"

#define QUEUE_COUNT_MAX   8192 // NNG's limit
#define DELIVERIES_A_TURN 64   // then timers, signals and other links have their turn
#define PUB_RECV_MAX      1    // a subscriber sends nothing; 0 would mean unlimited
#define PAIR_HEADER_BYTES 4    // the count of hops

struct net_pub {
    nng_socket socket;
    uint64_t sent_bytes;
    net_listening listening;
};

struct net_sub {
    nng_socket socket;
    net_wakeup *wakeup;
    net_sub_fn handler;
    net_fn on_connected;
    void *arg;
    net_loop *loop;
    size_t recv_bytes_max;
    bool newest_only; // queue_count is 1
    bool closing;
    net_op op;
    net_link link;
    size_t name_length; // 0: a subscriber; otherwise the dialing side of a net_post
    uint8_t name[NET_POST_NAME_MAX];
};

static bool
queue_count_is_valid(uint32_t queue_count)
{
    return queue_count >= 1 && queue_count <= QUEUE_COUNT_MAX;
}

static oct_err
pub_socket_open(net_pub *pub, net_loop *loop, const char *url, unsigned roles, uint32_t queue_count)
{
    OCT_TRY(net_socket_limits(pub->socket, PUB_RECV_MAX, 0));
    OCT_TRY(net_err_from_nng(nng_socket_set_int(pub->socket, NNG_OPT_SENDBUF, (int)queue_count)));
    const net_endpoint at = {url, roles, PUB_RECV_MAX, queue_count};
    return net_listen(&pub->listening, loop, pub->socket, &at);
}

oct_err
net_pub_open(net_pub **out, net_loop *loop, const char *url, unsigned roles, uint32_t queue_count)
{
    if (!queue_count_is_valid(queue_count)) {
        return OCT_EINVAL;
    }
    nng_socket socket;
    OCT_TRY(net_err_from_nng(nng_pub0_open(&socket)));
    net_pub *pub = oct_alloc(sizeof(*pub)); // sending needs no wakeup: PUB never waits
    pub->socket = socket;
    oct_err err = pub_socket_open(pub, loop, url, roles, queue_count);
    if (err != OCT_OK) {
        net_pub_close(pub);
        return err;
    }
    *out = pub;
    return OCT_OK;
}

void
net_pub_send(net_pub *pub, net_msg *take)
{
    size_t length = nng_msg_len((nng_msg *)take);
    int code = nng_sendmsg(pub->socket, (nng_msg *)take, NNG_FLAG_NONBLOCK);
    if (code != 0) {
        oct_log_error("NET-PUB", "error=\"%s\"", nng_strerror(code));
        nng_msg_free((nng_msg *)take);
        return;
    }
    pub->sent_bytes += length;
}

uint64_t
net_pub_sent_bytes(const net_pub *pub)
{
    return pub->sent_bytes;
}

void
net_pub_close(net_pub *pub)
{
    if (pub != NULL) {
        net_listening_stop(&pub->listening);
        (void)nng_close(pub->socket);
        free(pub);
    }
}

// Returns the newest message. The queue holds one, but an older one is in the finished receive, so
// the queued one replaces it as long as there is one.
static nng_msg *
newest(net_sub *sub, nng_msg *msg)
{
    nng_msg *newer = NULL;
    for (int i = 0;
         i < DELIVERIES_A_TURN && nng_recvmsg(sub->socket, &newer, NNG_FLAG_NONBLOCK) == 0; i++) {
        nng_msg_free(msg);
        msg = newer;
    }
    return msg;
}

static void
sub_handle(net_sub *sub, nng_msg *msg)
{
    if (nng_msg_len(msg) <= sub->recv_bytes_max) { // inproc checks no length
        sub->handler(sub->arg, (net_msg *)msg);
    }
    nng_msg_free(msg);
}

// Handles the other messages of the queue in the same turn, so that the handler can tell a burst
// from single messages. Returns their count, at most most.
static int
sub_handle_queued(net_sub *sub, int most)
{
    nng_msg *msg = NULL;
    int count = 0;
    while (count < most && !sub->closing && !sub->newest_only &&
           nng_recvmsg(sub->socket, &msg, NNG_FLAG_NONBLOCK) == 0) {
        sub_handle(sub, msg);
        count++;
    }
    return count;
}

// Handles up to most messages and returns their count; 0: there is none, or the handler closed the
// link.
static int
sub_deliver(net_sub *sub, int most)
{
    if (!net_op_take(&sub->op)) {
        return 0;
    }
    int code = nng_aio_result(sub->op.aio);
    if (code != 0) {
        if (code != NNG_ECLOSED && code != NNG_ECANCELED) {
            oct_log_error("NET-RECV", "error=\"%s\"", nng_strerror(code));
        }
        return 0;
    }
    nng_msg *msg = net_op_take_msg(&sub->op);
    sub_handle(sub, sub->newest_only ? newest(sub, msg) : msg);
    int queued = sub_handle_queued(sub, most - 1);
    if (sub->closing) {
        return 0;
    }
    nng_recv_aio(sub->socket, sub->op.aio);
    return 1 + queued;
}

static void
name_send(net_sub *sub)
{
    net_msg *msg = net_msg_create(sub->name_length);
    memcpy(net_msg_body(msg), sub->name, sub->name_length);
    if (nng_sendmsg(sub->socket, (nng_msg *)msg, NNG_FLAG_NONBLOCK) != 0) {
        net_msg_destroy(msg); // an earlier name is still queued
    }
}

static void
sub_drain(void *arg)
{
    net_sub *sub = arg;
    if (!sub->closing && net_link_poll(&sub->link).connected) {
        if (sub->name_length > 0) {
            name_send(sub);
        }
        if (sub->on_connected != NULL) {
            sub->on_connected(sub->arg);
        }
    }
    int turn = 0, handled = 1;
    while (!sub->closing && turn < DELIVERIES_A_TURN && handled > 0) {
        handled = sub_deliver(sub, DELIVERIES_A_TURN - turn);
        turn += handled;
    }
    if (turn == DELIVERIES_A_TURN && !sub->closing) {
        net_wakeup_send(sub->wakeup);
    }
}

static oct_err
subscriber_set(nng_socket socket, const uint8_t *topic, size_t topic_length)
{
    OCT_TRY(net_err_from_nng(nng_socket_set_bool(socket, NNG_OPT_SUB_PREFNEW, true)));
    return net_err_from_nng(nng_socket_set(socket, NNG_OPT_SUB_SUBSCRIBE, topic, topic_length));
}

static oct_err
sub_dial(net_sub *sub, net_loop *loop, net_endpoint at, const net_sub_options *options)
{
    bool is_post = sub->name_length > 0;
    OCT_TRY(is_post ? net_err_from_nng(nng_socket_set_int(sub->socket, NNG_OPT_SENDBUF, 1))
                    : subscriber_set(sub->socket, options->topic, options->topic_length));
    size_t header_bytes = is_post ? PAIR_HEADER_BYTES : 0;
    OCT_TRY(net_socket_limits(sub->socket, at.recv_bytes_max, header_bytes));
    OCT_TRY(
        net_err_from_nng(nng_socket_set_int(sub->socket, NNG_OPT_RECVBUF, (int)at.queue_count)));
    at.recv_bytes_max += header_bytes;
    return net_link_start(&sub->link, loop, sub->socket, &at, sub->wakeup);
}

// name_length: of the name in options, 0: a subscriber.
static oct_err
sub_open(net_sub **out, net_loop *loop, const net_endpoint *at, const net_sub_options *options,
         size_t name_length)
{
    if (!queue_count_is_valid(at->queue_count)) {
        return OCT_EINVAL;
    }
    nng_socket socket;
    OCT_TRY(net_err_from_nng(name_length > 0 ? nng_pair1_open(&socket) : nng_sub0_open(&socket)));
    net_sub *sub = oct_alloc(sizeof(*sub));
    sub->socket = socket;
    sub->handler = options->handler;
    sub->on_connected = options->on_connected;
    sub->arg = options->arg;
    sub->loop = loop;
    sub->recv_bytes_max = at->recv_bytes_max;
    sub->newest_only = name_length == 0 && at->queue_count == 1;
    sub->name_length = name_length;
    if (name_length > 0) {
        memcpy(sub->name, options->topic, name_length);
    }
    sub->wakeup = net_wakeup_create(loop, sub_drain, sub);
    net_op_init(&sub->op, sub->wakeup);
    oct_err err = sub_dial(sub, loop, *at, options);
    if (err != OCT_OK) {
        net_sub_close(sub);
        return err;
    }
    nng_recv_aio(socket, sub->op.aio);
    *out = sub;
    return OCT_OK;
}

oct_err
net_sub_open(net_sub **out, net_loop *loop, const net_endpoint *at, const net_sub_options *options)
{
    return sub_open(out, loop, at, options, 0);
}

oct_err
net_post_dial(net_sub **out, net_loop *loop, const net_endpoint *at, const net_sub_options *options)
{
    if (options->topic_length == 0 || options->topic_length > NET_POST_NAME_MAX) {
        return OCT_EINVAL;
    }
    return sub_open(out, loop, at, options, options->topic_length);
}

oct_err
net_sub_change(net_sub *sub, const uint8_t *old, size_t old_length, const uint8_t *topic,
               size_t topic_length)
{
    OCT_TRY(
        net_err_from_nng(nng_socket_set(sub->socket, NNG_OPT_SUB_SUBSCRIBE, topic, topic_length)));
    return net_err_from_nng(nng_socket_set(sub->socket, NNG_OPT_SUB_UNSUBSCRIBE, old, old_length));
}

void
net_sub_close(net_sub *sub)
{
    if (sub == NULL) {
        return;
    }
    sub->closing = true;
    net_redial_stop(&sub->link.redial);
    (void)nng_close(sub->socket);
    net_op_fini(&sub->op);
    net_wakeup_destroy_with(sub->wakeup, sub);
}

static void
sub_socket_close(void *owner)
{
    net_sub *sub = owner;
    (void)nng_close(sub->socket);
}

void
net_sub_abandon(net_sub *sub)
{
    if (sub == NULL) {
        return;
    }
    sub->closing = true;
    net_redial_stop(&sub->link.redial);
    net_abandon(sub->loop, sub_socket_close, &sub->op, sub->wakeup, sub);
}
