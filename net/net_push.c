#include "net/net_push.h"

#include <stdlib.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/push.h>

#include "common/oct_base.h"
#include "net/net_internal.h"

// What a puller may send back: nothing is expected.
#define RECV_BYTES_MAX 1

struct net_push {
    nng_socket socket;
    net_wakeup *wakeup;
    net_push_events events;
    net_op op;
    net_link link;
    bool in_flight;
    bool closing;
};

static void
event_call(const net_push *push, net_fn fn)
{
    if (fn != NULL && !push->closing) {
        fn(push->events.arg);
    }
}

static void
push_drain(void *arg)
{
    net_push *push = arg;
    if (push->closing) {
        return;
    }
    net_link_change change = net_link_poll(&push->link);
    bool ready = push->in_flight && net_op_take(&push->op);
    if (ready) {
        push->in_flight = false;
        nng_msg *kept = net_op_take_msg(&push->op); // only after a failed send
        if (kept != NULL) {
            nng_msg_free(kept);
        }
    }
    if (change.disconnected) {
        event_call(push, push->events.on_disconnected);
    }
    if (change.connected) {
        event_call(push, push->events.on_connected);
    }
    if (ready) {
        event_call(push, push->events.on_ready);
    }
}

static oct_err
push_socket_open(net_push *push, const char *url)
{
    // No queue in NNG: a message is either with us or with the kernel.
    oct_err err = net_socket_limits(push->socket, RECV_BYTES_MAX, 0);
    if (err == OCT_OK) {
        err = net_err_from_nng(nng_socket_set_int(push->socket, NNG_OPT_SENDBUF, 0));
    }
    if (err == OCT_OK) {
        err = net_err_from_nng(net_link_watch(&push->link, push->socket, push->wakeup));
    }
    return err == OCT_OK ? net_dial(push->socket, url) : err;
}

oct_err
net_push_open(net_push **out, net_loop *loop, const char *url, const net_push_events *events)
{
    nng_socket socket;
    OCT_TRY(net_err_from_nng(nng_push0_open(&socket)));
    net_push *push = oct_alloc(sizeof(*push));
    push->socket = socket;
    push->events = *events;
    push->wakeup = net_wakeup_create(loop, push_drain, push);
    net_op_init(&push->op, push->wakeup);
    oct_err err = push_socket_open(push, url);
    if (err != OCT_OK) {
        net_push_close(push);
        return err;
    }
    *out = push;
    return OCT_OK;
}

oct_err
net_push_send(net_push *push, net_msg *take)
{
    if (push->in_flight) {
        return OCT_EAGAIN;
    }
    push->in_flight = true;
    nng_aio_set_msg(push->op.aio, (nng_msg *)take);
    nng_send_aio(push->socket, push->op.aio);
    return OCT_OK;
}

void
net_push_close(net_push *push)
{
    if (push == NULL) {
        return;
    }
    push->closing = true;
    (void)nng_close(push->socket);
    net_op_fini(&push->op);
    net_wakeup_destroy_with(push->wakeup, push);
}
