// A listening socket that sends each message to the one peer that it is addressed to (NNG's PAIR
// version 1).
#include "net/net_post.h"

#include <stdlib.h>

#include <nng/nng.h>
#include <nng/protocol/pair1/pair.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_internal.h"

#define QUEUE_COUNT_MAX 8192 // NNG's limit
#define HEADER_BYTES    4    // of PAIR version 1: the count of hops
#define NAMES_A_TURN    64   // names handled in one turn of the loop

struct net_post {
    nng_socket socket;
    net_listening listening;
    net_wakeup *wakeup;
    net_post_fn on_name;
    void *arg;
    size_t name_bytes_max;
    bool closing;
    net_op op;
};

// Handles one name. Returns false if there is none, or if the handler closed the link.
static bool
post_hear(net_post *post)
{
    if (post->closing || !net_op_take(&post->op)) {
        return false;
    }
    int code = nng_aio_result(post->op.aio);
    if (code != 0) {
        if (code != NNG_ECLOSED && code != NNG_ECANCELED) {
            oct_log_error("NET-RECV", "error=\"%s\"", nng_strerror(code));
        }
        return false;
    }
    nng_msg *msg = net_op_take_msg(&post->op);
    int peer = nng_pipe_id(nng_msg_get_pipe(msg));
    // OCT_ROLE_NONE: the peer has disconnected
    oct_role role = net_listening_role(&post->listening, msg);
    bool is_short = nng_msg_len(msg) <= post->name_bytes_max; // inproc checks no length
    if (peer > 0 && role != OCT_ROLE_NONE && is_short) {
        post->on_name(post->arg, (uint32_t)peer, role, nng_msg_body(msg), nng_msg_len(msg));
    }
    nng_msg_free(msg);
    if (!post->closing) {
        nng_recv_aio(post->socket, post->op.aio);
    }
    return !post->closing;
}

static void
post_drain(void *arg)
{
    net_post *post = arg;
    int turn = 0;
    while (turn < NAMES_A_TURN && post_hear(post)) {
        turn++;
    }
    if (turn == NAMES_A_TURN) {
        net_wakeup_send(post->wakeup);
    }
}

static oct_err
post_socket_open(net_post *post, net_loop *loop, net_endpoint at)
{
    OCT_TRY(net_socket_limits(post->socket, post->name_bytes_max, HEADER_BYTES));
    OCT_TRY(
        net_err_from_nng(nng_socket_set_int(post->socket, NNG_OPT_SENDBUF, (int)at.queue_count)));
    at.recv_bytes_max += HEADER_BYTES;
    return net_listen(&post->listening, loop, post->socket, &at);
}

oct_err
net_post_open(net_post **out, net_loop *loop, const net_endpoint *at, net_post_fn on_name,
              void *arg)
{
    if (at->queue_count < 1 || at->queue_count > QUEUE_COUNT_MAX) {
        return OCT_EINVAL;
    }
    nng_socket socket;
    OCT_TRY(net_err_from_nng(nng_pair1_open_poly(&socket)));
    net_post *post = oct_alloc(sizeof(*post));
    post->socket = socket;
    post->on_name = on_name;
    post->arg = arg;
    post->name_bytes_max = at->recv_bytes_max;
    post->wakeup = net_wakeup_create(loop, post_drain, post);
    net_op_init(&post->op, post->wakeup);
    oct_err err = post_socket_open(post, loop, *at);
    if (err != OCT_OK) {
        net_post_close(post);
        return err;
    }
    nng_recv_aio(socket, post->op.aio);
    *out = post;
    return OCT_OK;
}

void
net_post_send(net_post *post, uint32_t peer, net_msg *take)
{
    nng_pipe pipe = {.id = peer};
    nng_msg_set_pipe((nng_msg *)take, pipe);
    int code = nng_sendmsg(post->socket, (nng_msg *)take, NNG_FLAG_NONBLOCK);
    if (code != 0) { // the queue is full: the message is dropped
        nng_msg_free((nng_msg *)take);
    }
}

bool
net_post_has(const net_post *post, uint32_t peer)
{
    (void)post; // NNG numbers the pipes of all sockets together
    return peer != 0 && nng_listener_id(nng_pipe_listener((nng_pipe){.id = peer})) > 0;
}

void
net_post_close(net_post *post)
{
    if (post == NULL) {
        return;
    }
    post->closing = true;
    net_listening_stop(&post->listening);
    net_socket_close(post->socket);
    net_op_fini(&post->op);
    net_wakeup_destroy_with(post->wakeup, post);
}
