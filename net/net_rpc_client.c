// The calling side of REQ/REP: many calls at once, each with a deadline and a callback.
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "net/net_internal.h"
#include "net/net_rpc.h"

#define INFLIGHT_MAX     1024
#define REQUEST_ID_BYTES 4 // what REQ puts before the body
#define TIMEOUT_MS_MAX   (24 * 60 * 60 * 1000)
#define NS_PER_MS        1000000u

// Phases of a call: SENDING until a pipe takes the request, RECEIVING, then FREE when its answer or
// error is handed over. Using a context again drops its earlier request.
typedef enum call_phase { CALL_FREE, CALL_SENDING, CALL_RECEIVING } call_phase;

typedef struct rpc_call {
    nng_ctx ctx;
    net_op op;
    call_phase phase;
    uint64_t deadline_ns;
    size_t length; // of the request
    oct_reply_fn done;
    void *done_arg;
} rpc_call;

struct net_rpc_client {
    nng_socket socket;
    net_wakeup *wakeup;
    net_redial redial;
    size_t recv_bytes_max;
    net_traffic traffic;
    uint32_t call_count;
    bool closing;
    rpc_call calls[]; // call_count
};

// Frees the call first: done may make the next one.
static void
call_finish(rpc_call *call, oct_err err, const uint8_t *frame, size_t length)
{
    call->phase = CALL_FREE;
    call->done(call->done_arg, err, frame, length);
}

static void
call_sent(rpc_call *call, int code, net_traffic *traffic)
{
    if (code != 0) {
        nng_msg *kept = net_op_take_msg(&call->op);
        if (kept != NULL) {
            nng_msg_free(kept);
        }
        call_finish(call, net_err_from_nng(code), NULL, 0);
        return;
    }
    traffic->sent_bytes += call->length;
    uint64_t now_ns = oct_clock_ns();
    uint64_t left_ms = call->deadline_ns > now_ns ? (call->deadline_ns - now_ns) / NS_PER_MS : 0;
    call->phase = CALL_RECEIVING;
    nng_aio_set_timeout(call->op.aio, (nng_duration)OCT_MAX(left_ms, (uint64_t)1));
    nng_ctx_recv(call->ctx, call->op.aio);
}

static void
call_received(rpc_call *call, int code, size_t recv_bytes_max, net_traffic *traffic)
{
    if (code != 0) {
        call_finish(call, net_err_from_nng(code), NULL, 0);
        return;
    }
    nng_msg *msg = net_op_take_msg(&call->op);
    size_t length = nng_msg_len(msg);
    traffic->received_bytes += length;
    if (length <= recv_bytes_max) {
        call_finish(call, OCT_OK, nng_msg_body(msg), length);
    } else { // inproc has no limit of its own
        call_finish(call, OCT_EPROTO, NULL, 0);
    }
    nng_msg_free(msg);
}

static void
client_drain(void *arg)
{
    net_rpc_client *client = arg;
    for (uint32_t i = 0; i < client->call_count && !client->closing; i++) {
        rpc_call *call = &client->calls[i];
        if (!net_op_take(&call->op)) {
            continue;
        }
        int code = nng_aio_result(call->op.aio);
        if (call->phase == CALL_SENDING) {
            call_sent(call, code, &client->traffic);
        } else {
            call_received(call, code, client->recv_bytes_max, &client->traffic);
        }
    }
}

static oct_err
client_socket_open(nng_socket *out, uint32_t resend_ms, size_t recv_bytes_max)
{
    OCT_TRY(net_err_from_nng(nng_req0_open(out)));
    oct_err err = net_socket_limits(*out, recv_bytes_max, REQUEST_ID_BYTES);
    if (err == OCT_OK) {
        nng_duration resend = resend_ms == 0 ? NNG_DURATION_INFINITE : (nng_duration)resend_ms;
        err = net_err_from_nng(nng_socket_set_ms(*out, NNG_OPT_REQ_RESENDTIME, resend));
    }
    if (err != OCT_OK) {
        (void)nng_close(*out);
    }
    return err;
}

oct_err
net_rpc_client_open(net_rpc_client **out, net_loop *loop, const net_endpoint *at,
                    uint32_t resend_ms)
{
    if (at->queue_count == 0 || at->queue_count > INFLIGHT_MAX || resend_ms > TIMEOUT_MS_MAX) {
        return OCT_EINVAL;
    }
    nng_socket socket;
    OCT_TRY(client_socket_open(&socket, resend_ms, at->recv_bytes_max));
    net_rpc_client *client =
        oct_alloc(sizeof(*client) + at->queue_count * sizeof(client->calls[0]));
    client->socket = socket;
    client->recv_bytes_max = at->recv_bytes_max;
    client->wakeup = net_wakeup_create(loop, client_drain, client);
    oct_err err = OCT_OK;
    for (uint32_t i = 0; i < at->queue_count && err == OCT_OK; i++) {
        rpc_call *call = &client->calls[i];
        err = net_err_from_nng(nng_ctx_open(&call->ctx, socket));
        if (err == OCT_OK) {
            net_op_init(&call->op, client->wakeup);
            client->call_count++;
        }
    }
    if (err == OCT_OK) {
        client->redial.roles = at->roles;
        client->redial.recv_bytes_max = at->recv_bytes_max + REQUEST_ID_BYTES;
        err = net_redial_start(&client->redial, loop, socket, at->url);
    }
    if (err != OCT_OK) {
        net_rpc_client_close(client);
        return err;
    }
    *out = client;
    return OCT_OK;
}

static rpc_call *
call_free_find(net_rpc_client *client)
{
    for (uint32_t i = 0; i < client->call_count; i++) {
        if (client->calls[i].phase == CALL_FREE) {
            return &client->calls[i];
        }
    }
    return NULL;
}

oct_err
net_rpc_call(void *client_, const uint8_t *frame, size_t length, uint32_t timeout_ms,
             oct_reply_fn done, void *done_arg)
{
    net_rpc_client *client = client_;
    if (client->closing) {
        return OCT_ECLOSED;
    }
    rpc_call *call = call_free_find(client);
    if (call == NULL) {
        return OCT_EAGAIN;
    }
    net_msg *msg = net_msg_create(length);
    if (length > 0) {
        memcpy(net_msg_body(msg), frame, length);
    }
    // Zero would mean "only if it can be done at once" to NNG.
    uint32_t bounded_ms = OCT_MIN(OCT_MAX(timeout_ms, 1u), (uint32_t)TIMEOUT_MS_MAX);
    call->phase = CALL_SENDING;
    call->deadline_ns = oct_clock_ns() + (uint64_t)bounded_ms * NS_PER_MS;
    call->length = length;
    call->done = done;
    call->done_arg = done_arg;
    nng_aio_set_timeout(call->op.aio, (nng_duration)bounded_ms);
    nng_aio_set_msg(call->op.aio, (nng_msg *)msg);
    nng_ctx_send(call->ctx, call->op.aio);
    return OCT_OK;
}

bool
net_rpc_client_trouble(net_rpc_client *client, char *out, size_t out_size)
{
    return net_redial_trouble(&client->redial, out, out_size);
}

net_traffic
net_rpc_client_traffic(const net_rpc_client *client)
{
    return client->traffic;
}

void
net_rpc_client_close(net_rpc_client *client)
{
    if (client == NULL || client->closing) { // a done may close, too
        return;
    }
    client->closing = true;
    for (uint32_t i = 0; i < client->call_count; i++) {
        if (client->calls[i].phase != CALL_FREE) {
            call_finish(&client->calls[i], OCT_ECLOSED, NULL, 0);
        }
    }
    net_redial_stop(&client->redial);
    net_socket_close(client->socket); // and the contexts with it
    for (uint32_t i = 0; i < client->call_count; i++) {
        net_op_fini(&client->calls[i].op);
    }
    net_wakeup_destroy_with(client->wakeup, client);
}
