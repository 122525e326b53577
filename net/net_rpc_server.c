// The answering side of REQ/REP: the handler may answer a request at once or later, in any order.
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_internal.h"
#include "net/net_rpc.h"
#include "net/net_sp.h"
#include "net/net_url.h"

#define CONTEXTS_MAX    1024
#define ROUTE_BYTES_MAX 36 // bytes that REP removes before the body: at most 8 hops and the id

typedef enum answer_phase { ANSWER_RECEIVING, ANSWER_OPEN, ANSWER_SENDING } answer_phase;

// One context, in a cycle: it receives a request, the handler has it (OPEN until it is answered),
// its answer is sent.
typedef struct rpc_answer {
    net_rpc_server *server;
    nng_ctx ctx;
    net_op op;
    answer_phase phase;
    uint64_t tag; // of the gate's connection that brought the request; 0: none
    net_msg *reply;
    size_t length; // of the answer
} rpc_answer;

struct net_rpc_server {
    net_loop *loop;
    nng_socket socket;
    net_listening listening;
    net_wakeup *wakeup;
    net_rpc_fn handler;
    void *arg;
    size_t recv_bytes_max;
    net_traffic traffic;
    uint32_t answer_count;
    bool closing;
    rpc_answer answers[]; // answer_count
};

static void
answer_listen(rpc_answer *answer)
{
    answer->phase = ANSWER_RECEIVING;
    nng_ctx_recv(answer->ctx, answer->op.aio);
}

// Returns the length of the tag before the frame of each request.
static size_t
tag_bytes(const net_rpc_server *server)
{
    return server->listening.end != NULL ? NET_SP_TAG_BYTES : 0;
}

static void
answer_received(rpc_answer *answer, int code)
{
    net_rpc_server *server = answer->server;
    if (code != 0) {
        if (code != NNG_ECLOSED && code != NNG_ECANCELED) {
            oct_log_error("NET-RECV", "error=\"%s\"", nng_strerror(code));
        }
        return;
    }
    nng_msg *msg = net_op_take_msg(&answer->op);
    if (nng_msg_len(msg) >
        server->recv_bytes_max + tag_bytes(server)) { // the transport's limit is a little larger
        nng_msg_free(msg);
        answer_listen(answer);
        return;
    }
    oct_role role = net_listening_role(&server->listening, msg);
    if (role == OCT_ROLE_NONE) { // the peer has disconnected: no one reads an answer
        nng_msg_free(msg);
        answer_listen(answer);
        return;
    }
    answer->phase = ANSWER_OPEN;
    answer->tag = 0;
    if (tag_bytes(server) > 0 && nng_msg_len(msg) >= tag_bytes(server)) {
        memcpy(&answer->tag, nng_msg_body(msg), NET_SP_TAG_BYTES);
        (void)nng_msg_trim(msg, NET_SP_TAG_BYTES);
    }
    server->traffic.received_bytes += nng_msg_len(msg);
    server->handler(server->arg, answer, role, nng_msg_body(msg), nng_msg_len(msg));
    nng_msg_free(msg);
}

static void
answer_sent(rpc_answer *answer)
{
    // Only after a failed send: the peer has disconnected.
    nng_msg *kept = net_op_take_msg(&answer->op);
    if (kept != NULL) {
        nng_msg_free(kept);
    } else {
        answer->server->traffic.sent_bytes += answer->length;
    }
    answer_listen(answer);
}

static void
server_drain(void *arg)
{
    net_rpc_server *server = arg;
    for (uint32_t i = 0; i < server->answer_count && !server->closing; i++) {
        rpc_answer *answer = &server->answers[i];
        if (!net_op_take(&answer->op)) {
            continue;
        }
        if (answer->phase == ANSWER_SENDING) {
            answer_sent(answer);
        } else {
            answer_received(answer, nng_aio_result(answer->op.aio));
        }
    }
}

static uint8_t *
responder_begin(void *call, size_t length)
{
    rpc_answer *answer = call;
    OCT_ASSERT(answer->phase == ANSWER_OPEN && answer->reply == NULL);
    answer->reply = net_msg_create(length);
    answer->length = length;
    return net_msg_body(answer->reply);
}

static void
responder_send(void *call)
{
    rpc_answer *answer = call;
    OCT_ASSERT(answer->phase == ANSWER_OPEN && answer->reply != NULL);
    net_msg *reply = answer->reply;
    answer->reply = NULL;
    answer->phase = ANSWER_SENDING;
    if (answer->server->closing) {
        net_msg_destroy(reply);
        return;
    }
    nng_aio_set_msg(answer->op.aio, (nng_msg *)reply);
    nng_ctx_send(answer->ctx, answer->op.aio);
}

const oct_responder net_rpc_responder = {.begin = responder_begin, .send = responder_send};

static oct_err
server_contexts_open(net_rpc_server *server, uint32_t contexts)
{
    for (uint32_t i = 0; i < contexts; i++) {
        rpc_answer *answer = &server->answers[i];
        answer->server = server;
        OCT_TRY(net_err_from_nng(nng_ctx_open(&answer->ctx, server->socket)));
        net_op_init(&answer->op, server->wakeup);
        server->answer_count++;
    }
    return OCT_OK;
}

oct_err
net_rpc_server_open(net_rpc_server **out, net_loop *loop, const net_endpoint *at,
                    net_rpc_fn handler, void *arg)
{
    if (at->queue_count == 0 || at->queue_count > CONTEXTS_MAX) {
        return OCT_EINVAL;
    }
    nng_socket socket;
    OCT_TRY(net_err_from_nng(nng_rep0_open(&socket)));
    net_rpc_server *server =
        oct_alloc(sizeof(*server) + at->queue_count * sizeof(server->answers[0]));
    server->loop = loop;
    server->socket = socket;
    server->handler = handler;
    server->arg = arg;
    server->recv_bytes_max = at->recv_bytes_max;
    server->wakeup = net_wakeup_create(loop, server_drain, server);
    server->listening.tagged = true;
    net_endpoint listening = *at;
    size_t header_bytes = ROUTE_BYTES_MAX + (net_url_is_tcp(at->url) ? NET_SP_TAG_BYTES : 0);
    listening.recv_bytes_max += header_bytes;
    oct_err err = net_socket_limits(socket, at->recv_bytes_max, header_bytes);
    if (err == OCT_OK) {
        err = server_contexts_open(server, at->queue_count);
    }
    if (err == OCT_OK) {
        err = net_listen(&server->listening, loop, socket, &listening);
    }
    if (err != OCT_OK) {
        net_rpc_server_close(server);
        return err;
    }
    for (uint32_t i = 0; i < at->queue_count; i++) {
        answer_listen(&server->answers[i]);
    }
    *out = server;
    return OCT_OK;
}

oct_err
net_rpc_caller(void *call, oct_holder *out)
{
    const rpc_answer *answer = call;
    net_gate_end *end = answer->server->listening.end;
    OCT_ASSERT(answer->phase != ANSWER_RECEIVING);
    if (answer->tag == 0) {
        return OCT_ENOTFOUND;
    }
    return end == NULL ? OCT_ECLOSED : net_gate_end_holder(end, answer->tag, out);
}

bool
net_rpc_may_answer(void *call)
{
    const rpc_answer *answer = call;
    net_gate_end *end = answer->server->listening.end;
    net_gate_unread unread;
    if (answer->tag == 0 || end == NULL ||
        net_gate_end_unread(end, answer->tag, &unread) != OCT_OK) {
        return true; // a process of this user, or a caller that has disconnected
    }
    return unread.of_holder < NET_RPC_UNREAD_HOLDER && unread.in_all < NET_RPC_UNREAD_ALL;
}

net_traffic
net_rpc_server_traffic(const net_rpc_server *server)
{
    return server->traffic;
}

void
net_rpc_server_close(net_rpc_server *server)
{
    if (server == NULL) {
        return;
    }
    server->closing = true;
    net_listening_stop(&server->listening);
    net_socket_close(server->socket); // closes the contexts, too
    bool open_answers = false;
    for (uint32_t i = 0; i < server->answer_count; i++) {
        rpc_answer *answer = &server->answers[i];
        net_op_fini(&answer->op);
        open_answers = open_answers || answer->phase == ANSWER_OPEN;
    }
    // A holder of an open call may answer it until the loop is destroyed, and the answer is
    // dropped; so the memory stays until then.
    if (open_answers) {
        net_loop_keep(server->loop, server);
    }
    net_wakeup_destroy_with(server->wakeup, open_answers ? NULL : server);
}
