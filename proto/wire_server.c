#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

// The server side of wire_rpc.h: protobuf-c's generated service structs dispatch a request to
// served_METHOD, which checks it and runs the typed handler.

struct wire_call {
    wire_server *server;
    struct wire_call *next_free;
    void *transport_call;
    uint16_t code; // of the method, as in the request
    bool is_open;
};

struct wire_server {
    Octet__Learner_Service learner; // generated dispatch tables
    Octet__Replay_Service replay;
    ProtobufCService *service; // the one that is served
    unsigned service_number;
    wire_learner_handlers learner_handlers;
    wire_replay_handlers replay_handlers;
    void *handler_arg;
    oct_responder responder;
    wire_arena *arena;
    oct_err served; // how the request being handled went
    wire_call *free_calls;
    wire_call calls[WIRE_CALLS_MAX];
};

enum {
    CODE_BEFORE_LEARNER = (WIRE_SERVICE_LEARNER << 8) - 1,
#define X(method, request, reply) CODE_##method,
    WIRE_LEARNER_METHODS(X)
#undef X
        CODE_BEFORE_REPLAY = (WIRE_SERVICE_REPLAY << 8) - 1,
#define X(method, request, reply) CODE_##method,
    WIRE_REPLAY_METHODS(X)
#undef X
};

static const char *const service_names[] = {
    [WIRE_SERVICE_LEARNER] = "learner",
    [WIRE_SERVICE_REPLAY] = "replay",
};

static wire_call *
call_take(wire_server *server, void *transport_call, uint16_t code)
{
    wire_call *call = server->free_calls;
    if (call != NULL) {
        server->free_calls = call->next_free;
        call->transport_call = transport_call;
        call->code = code;
        call->is_open = true;
    }
    return call;
}

static void
call_release(wire_call *call)
{
    call->is_open = false;
    call->next_free = call->server->free_calls;
    call->server->free_calls = call;
}

// ---- answers

static void
answer_error(const oct_responder *responder, void *transport_call, oct_err err, const char *detail)
{
    size_t length = strnlen(detail, WIRE_DETAIL_MAX + 1);
    if (length > WIRE_DETAIL_MAX) {
        length = WIRE_DETAIL_MAX;
        while (length > 0 && ((uint8_t)detail[length] & 0xc0) == 0x80) {
            length--; // not in the middle of a character
        }
    }
    uint8_t *out = responder->begin(transport_call, WIRE_FRAME_BYTES + length);
    wire_frame_pack(WIRE_REPLY, (uint16_t)err, 0, out);
    if (length != 0) {
        memcpy(out + WIRE_FRAME_BYTES, detail, length);
    }
    responder->send(transport_call);
}

void
wire_reply_error(wire_call *call, oct_err err, const char *detail)
{
    OCT_ASSERT(call->is_open && err != OCT_OK);
    void *transport_call = call->transport_call;
    const oct_responder *responder = &call->server->responder;
    call_release(call);
    answer_error(responder, transport_call, err, detail == NULL ? "" : detail);
}

static void
reply_message(wire_call *call, unsigned code, const ProtobufCMessage *message)
{
    OCT_ASSERT(call->is_open && call->code == code);
    size_t length = WIRE_FRAME_BYTES + protobuf_c_message_get_packed_size(message);
    if (length > WIRE_MESSAGE_BYTES_MAX) {
        wire_reply_error(call, OCT_EINVAL,
                         "the reply is larger than a message may be: ask for less");
        return;
    }
    void *transport_call = call->transport_call;
    const oct_responder *responder = &call->server->responder;
    call_release(call);
    uint8_t *out = responder->begin(transport_call, length);
    wire_frame_pack(WIRE_REPLY, OCT_OK, 0, out);
    (void)protobuf_c_message_pack(message, out + WIRE_FRAME_BYTES);
    responder->send(transport_call);
}

// ---- dispatch

// The request did not pass its checks.
static oct_err
serve_refused(wire_call *call)
{
    char detail[WIRE_DETAIL_MAX];
    (void)snprintf(detail, sizeof(detail), "bad request: %s",
                   wire_arena_reason(call->server->arena));
    wire_reply_error(call, OCT_EPROTO, detail);
    return OCT_EPROTO;
}

static oct_err
serve_missing(wire_call *call)
{
    wire_reply_error(call, OCT_ENOTFOUND, "this peer does not offer that method");
    return OCT_ENOTFOUND;
}

// served_METHOD has the type that the generated service wants. The closure is not needed: every
// answer goes the way of wire_reply_METHOD, also one that comes later.
#define SERVER_METHOD(service_type, handlers, method, request, reply)                              \
    static void served_##method(service_type *service, const WIRE_GENERATED(request) * input,      \
                                void (*closure)(const WIRE_GENERATED(reply) *, void *),            \
                                void *closure_data)                                                \
    {                                                                                              \
        (void)service;                                                                             \
        (void)closure;                                                                             \
        wire_call *call = closure_data;                                                            \
        wire_server *server = call->server;                                                        \
        request message;                                                                           \
        server->served = request##_from(&message, input, server->arena);                           \
        if (server->served != OCT_OK) {                                                            \
            server->served = serve_refused(call);                                                  \
        } else if (server->handlers.method == NULL) {                                              \
            server->served = serve_missing(call);                                                  \
        } else {                                                                                   \
            server->handlers.method(server->handler_arg, call, &message);                          \
        }                                                                                          \
    }                                                                                              \
    void wire_reply_##method(wire_call *call, const reply *answer)                                 \
    {                                                                                              \
        WIRE_GENERATED(reply) output;                                                              \
        reply##_to(&output, answer);                                                               \
        reply_message(call, CODE_##method, &output.base);                                          \
    }
#define X(method, request, reply)                                                                  \
    SERVER_METHOD(Octet__Learner_Service, learner_handlers, method, request, reply)
WIRE_LEARNER_METHODS(X)
#undef X
#define X(method, request, reply)                                                                  \
    SERVER_METHOD(Octet__Replay_Service, replay_handlers, method, request, reply)
WIRE_REPLAY_METHODS(X)
#undef X

// Answers a request that no call was opened for.
static oct_err
refuse(const wire_server *server, void *transport_call, oct_err err, const char *detail)
{
    answer_error(&server->responder, transport_call, err, detail);
    return err;
}

// The frame of a request, checked. On an error the peer has been answered.
static oct_err
request_open(const wire_server *server, void *transport_call, wire_frame *out, const uint8_t *bytes,
             size_t length)
{
    char detail[WIRE_DETAIL_MAX];
    wire_frame frame;
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    if (err == OCT_EINVAL) {
        (void)snprintf(detail, sizeof(detail),
                       "this peer speaks protocol version %u, the request is version %u: run the "
                       "same release on both sides",
                       WIRE_PROTOCOL_VERSION, frame.version);
        return refuse(server, transport_call, OCT_EINVAL, detail);
    }
    if (err != OCT_OK) {
        return refuse(server, transport_call, OCT_EPROTO, "not an Octet frame");
    }
    if (frame.kind != WIRE_REQUEST) {
        return refuse(server, transport_call, OCT_EPROTO, "not a request");
    }
    unsigned service = frame.code >> 8;
    unsigned method = frame.code & 0xff;
    const char *served = service_names[server->service_number];
    if (service != server->service_number && service < OCT_COUNTOF(service_names) && service > 0) {
        (void)snprintf(detail, sizeof(detail),
                       "this is the %s, the request is for the %s: check the address", served,
                       service_names[service]);
        return refuse(server, transport_call, OCT_ENOTFOUND, detail);
    }
    if (service != server->service_number || method >= server->service->descriptor->n_methods) {
        (void)snprintf(detail, sizeof(detail), "the %s has no method %u.%u", served, service,
                       method);
        return refuse(server, transport_call, OCT_ENOTFOUND, detail);
    }
    *out = frame;
    return OCT_OK;
}

oct_err
wire_server_handle(wire_server *server, void *transport_call, const uint8_t *frame, size_t length)
{
    wire_frame head;
    OCT_TRY(request_open(server, transport_call, &head, frame, length));
    unsigned method = head.code & 0xff;
    wire_arena_reset(server->arena);
    const ProtobufCMessage *message =
        wire_arena_unpack(server->arena, server->service->descriptor->methods[method].input,
                          frame + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES);
    wire_call *call = call_take(server, transport_call, head.code);
    if (call == NULL) {
        return refuse(server, transport_call, OCT_EAGAIN, "too many requests are open here");
    }
    if (message == NULL) {
        return serve_refused(call);
    }
    server->served = OCT_OK;
    server->service->invoke(server->service, method, message, NULL, call);
    return server->served;
}

// ---- create, destroy

static wire_server *
server_create(void *arg, const oct_responder *responder, size_t arena_bytes)
{
    wire_server *server = oct_alloc(sizeof(*server));
    server->learner = (Octet__Learner_Service)OCTET__LEARNER__INIT(served_);
    server->replay = (Octet__Replay_Service)OCTET__REPLAY__INIT(served_);
    server->handler_arg = arg;
    server->responder = *responder;
    server->arena = wire_arena_create(arena_bytes);
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++) {
        server->calls[i].server = server;
        call_release(&server->calls[i]);
    }
    return server;
}

wire_server *
wire_server_create_learner(const wire_learner_handlers *handlers, void *arg,
                           const oct_responder *responder, size_t arena_bytes)
{
    wire_server *server = server_create(arg, responder, arena_bytes);
    server->learner_handlers = *handlers;
    server->service = &server->learner.base;
    server->service_number = WIRE_SERVICE_LEARNER;
    return server;
}

wire_server *
wire_server_create_replay(const wire_replay_handlers *handlers, void *arg,
                          const oct_responder *responder, size_t arena_bytes)
{
    wire_server *server = server_create(arg, responder, arena_bytes);
    server->replay_handlers = *handlers;
    server->service = &server->replay.base;
    server->service_number = WIRE_SERVICE_REPLAY;
    return server;
}

void
wire_server_destroy(wire_server *server)
{
    if (server == NULL) {
        return;
    }
    wire_arena_destroy(server->arena);
    free(server);
}
