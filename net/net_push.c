// A PUSH socket on the loop with one message in flight. It replaces the NNG socket after every
// disconnect, which works around a bug of NNG 1.5.2.
#include "net/net_push.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/push.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_internal.h"

#define RECV_BYTES_MAX  1   // a puller sends nothing; 0 would mean unlimited
#define REOPEN_MS       20  // between a lost pipe and the next socket
#define REOPEN_AGAIN_MS 500 // between attempts if the next socket cannot be opened

typedef enum push_socket_state {
    PUSH_SOCKET_DIALING,
    PUSH_SOCKET_UP,
    PUSH_SOCKET_GONE
} push_socket_state;

// A socket and the only pipe that it may ever have. PUSH of NNG 1.5.2 may keep a closed pipe in the
// list of those that it sends on, and frees the pipe: after that both a send and a second pipe
// write to freed memory. docs/internals/decisions/0010-push-after-disconnect.md has the details. A
// second pipe, of a spare dialer, is refused before PUSH sees it.
//
// NNG frees a pipe only after its REM_POST event was handled. So while mutex is held and state is
// not GONE, no pipe of the socket is freed, and a send is safe.
// Threads: the loop thread, and NNG's in push_socket_event.
typedef struct push_socket {
    nng_socket socket;
    net_redial redial;
    net_wakeup *wakeup; // not used after state has become GONE
    pthread_mutex_t mutex;
    push_socket_state state;
} push_socket;

struct net_push {
    net_loop *loop;
    net_wakeup *wakeup;
    net_push_events events;
    net_op op;
    push_socket *push_socket; // NULL between a lost pipe and the next socket
    net_timer *reopen;        // runs while there is no push_socket
    nng_msg *waiting;         // the message in flight that no socket has; NULL: none
    bool in_flight;
    bool is_ready; // on_ready is due, but not before on_connected
    bool up;
    bool closing;
    unsigned roles;
    char url[]; // ends with zero
};

// Runs on a thread of NNG. ADD_POST and REM_POST may come in either order.
static void
push_socket_event(void *arg, nng_pipe_ev event)
{
    push_socket *c = arg;
    pthread_mutex_lock(&c->mutex);
    if (event != NNG_PIPE_EV_ADD_PRE && c->state != PUSH_SOCKET_GONE) {
        c->state = event == NNG_PIPE_EV_ADD_POST ? PUSH_SOCKET_UP : PUSH_SOCKET_GONE;
        net_wakeup_send(c->wakeup);
    }
    pthread_mutex_unlock(&c->mutex);
}

static push_socket_state
push_socket_poll(push_socket *c)
{
    pthread_mutex_lock(&c->mutex);
    push_socket_state state = c->state;
    pthread_mutex_unlock(&c->mutex);
    return state;
}

// Sends the message in aio. Returns false if the pipe has ended; the message is then still the
// caller's.
static bool
push_socket_send(push_socket *c, nng_aio *aio)
{
    pthread_mutex_lock(&c->mutex);
    bool usable = c->state != PUSH_SOCKET_GONE;
    if (usable) {
        nng_send_aio(c->socket, aio);
    }
    pthread_mutex_unlock(&c->mutex);
    return usable;
}

static void
push_socket_close(push_socket *c)
{
    (void)nng_close(c->socket);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

static void *
push_socket_close_thread(void *arg)
{
    push_socket_close(arg);
    return NULL;
}

// Closes a socket whose pipe has ended. nng_close waits until NNG has freed the pipe, which can
// take forever (docs/internals/decisions/0002-nng-close.md), so a thread of its own waits, not the
// loop.
static void
push_socket_retire(push_socket *c)
{
    pthread_t thread;
    int code = pthread_create(&thread, NULL, push_socket_close_thread, c);
    if (code != 0) {
        oct_log_warn("NET-PUSH", "a socket stays open: call=pthread_create code=%d", code);
        return;
    }
    (void)pthread_setname_np(thread, "push-close");
    (void)pthread_detach(thread);
}

static oct_err
push_socket_dial(push_socket *c, const net_push *push)
{
    OCT_TRY(net_socket_limits(c->socket, RECV_BYTES_MAX, 0));
    // NNG gets no queue: a message is either with us or with the kernel.
    OCT_TRY(net_err_from_nng(nng_socket_set_int(c->socket, NNG_OPT_SENDBUF, 0)));
    c->redial.once = true;
    c->redial.roles = push->roles;
    c->redial.recv_bytes_max = RECV_BYTES_MAX;
    c->redial.fn = push_socket_event;
    c->redial.arg = c;
    return net_redial_start(&c->redial, push->loop, c->socket, push->url);
}

static oct_err
push_socket_open(push_socket **out, const net_push *push)
{
    nng_socket socket;
    OCT_TRY(net_err_from_nng(nng_push0_open(&socket)));
    push_socket *c = oct_alloc(sizeof(*c));
    c->socket = socket;
    c->wakeup = push->wakeup;
    c->state = PUSH_SOCKET_DIALING;
    OCT_ASSERT(pthread_mutex_init(&c->mutex, NULL) == 0);
    oct_err err = push_socket_dial(c, push);
    if (err != OCT_OK) {
        push_socket_close(c);
        return err;
    }
    *out = c;
    return OCT_OK;
}

static void
event_call(const net_push *push, net_fn fn)
{
    if (fn != NULL && !push->closing) {
        fn(push->events.arg);
    }
}

static void
push_pass(net_push *push, nng_msg *msg)
{
    nng_aio_set_msg(push->op.aio, msg);
    if (push->push_socket == NULL || !push_socket_send(push->push_socket, push->op.aio)) {
        nng_aio_set_msg(push->op.aio, NULL);
        push->waiting = msg;
    }
}

static void
push_reopen(void *arg)
{
    net_push *push = arg;
    if (push_socket_open(&push->push_socket, push) != OCT_OK) {
        return; // logged; the timer repeats
    }
    net_timer_stop(push->reopen);
    push->reopen = NULL;
    nng_msg *msg = push->waiting;
    if (msg != NULL) {
        push->waiting = NULL;
        push_pass(push, msg);
    }
}

// Replaces the push_socket. A message that the socket has not sent comes back through the
// operation, cancelled.
static void
push_retire(net_push *push)
{
    nng_aio_cancel(push->op.aio);
    net_redial_stop(&push->push_socket->redial);
    push_socket_retire(push->push_socket);
    push->push_socket = NULL;
    push->reopen = net_timer_start(push->loop, REOPEN_MS, REOPEN_AGAIN_MS, push_reopen, push);
}

// Returns true once the message in flight is sent or lost.
static bool
push_collect(net_push *push)
{
    if (!push->in_flight || !net_op_take(&push->op)) {
        return false;
    }
    nng_msg *kept = net_op_take_msg(&push->op); // only after a failed send
    if (kept != NULL && nng_aio_result(push->op.aio) == NNG_ECANCELED) {
        push_pass(push, kept);
        return false;
    }
    if (kept != NULL) {
        nng_msg_free(kept);
    }
    push->in_flight = false;
    return true;
}

static void
push_drain(void *arg)
{
    net_push *push = arg;
    if (push->closing) {
        return;
    }
    bool was_up = push->up;
    push_socket_state state =
        push->push_socket == NULL ? PUSH_SOCKET_DIALING : push_socket_poll(push->push_socket);
    push->up = state == PUSH_SOCKET_UP;
    if (state == PUSH_SOCKET_GONE) {
        push_retire(push);
    }
    push->is_ready |= push_collect(push);
    if (was_up && !push->up) {
        event_call(push, push->events.on_disconnected);
    }
    if (!was_up && push->up) {
        event_call(push, push->events.on_connected);
    }
    // A message can be out before NNG reports the pipe that took it.
    if (push->is_ready && state != PUSH_SOCKET_DIALING) {
        push->is_ready = false;
        event_call(push, push->events.on_ready);
    }
}

oct_err
net_push_open(net_push **out, net_loop *loop, const char *url, unsigned roles,
              const net_push_events *events)
{
    size_t url_bytes = strlen(url) + 1;
    net_push *push = oct_alloc(sizeof(*push) + url_bytes);
    memcpy(push->url, url, url_bytes);
    push->loop = loop;
    push->roles = roles;
    push->events = *events;
    push->wakeup = net_wakeup_create(loop, push_drain, push);
    net_op_init(&push->op, push->wakeup);
    oct_err err = push_socket_open(&push->push_socket, push);
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
    push_pass(push, (nng_msg *)take);
    return OCT_OK;
}

void
net_push_close(net_push *push)
{
    if (push == NULL) {
        return;
    }
    push->closing = true;
    net_timer_stop(push->reopen);
    if (push->push_socket != NULL) {
        net_redial_stop(&push->push_socket->redial);
        push_socket_close(push->push_socket);
    }
    net_op_fini(&push->op);
    if (push->waiting != NULL) {
        nng_msg_free(push->waiting);
    }
    net_wakeup_destroy_with(push->wakeup, push);
}

static void
push_socket_close_aside(void *owner)
{
    net_push *push = owner;
    push_socket_close(push->push_socket);
}

void
net_push_abandon(net_push *push)
{
    if (push == NULL || push->push_socket == NULL) {
        net_push_close(push);
        return;
    }
    push->closing = true;
    nng_aio_cancel(push->op.aio);
    net_redial_stop(&push->push_socket->redial);
    if (push->waiting != NULL) {
        nng_msg_free(push->waiting);
    }
    net_abandon(push->loop, push_socket_close_aside, &push->op, push->wakeup, push);
}
