// The server side of wire_rpc.h. protobuf-c's generated service structs dispatch a request to
// served_METHOD, which checks it and runs the typed handler.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

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
    const unsigned *roles; // [n_methods of the service]
    wire_learner_handlers learner_handlers;
    wire_replay_handlers replay_handlers;
    void *handler_arg;
    oct_responder responder;
    wire_arena *arena;
    oct_role role;                // who sent the request being handled
    oct_err served;               // how it went
    char detail[WIRE_DETAIL_MAX]; // what was wrong with the last one that was refused
    wire_call *free_calls;
    wire_call calls[WIRE_CALLS_MAX];
};

enum {
    CODE_BEFORE_LEARNER = (WIRE_SERVICE_LEARNER << 8) - 1,
#define X(method, request, reply, roles) CODE_##method,
    WIRE_LEARNER_METHODS(X)
#undef X
        CODE_BEFORE_REPLAY = (WIRE_SERVICE_REPLAY << 8) - 1,
#define X(method, request, reply, roles) CODE_##method,
    WIRE_REPLAY_METHODS(X)
#undef X
};

// Bits 1 << oct_role, at the method's place in its service.
#define X(method, request, reply, roles) (roles),
static const unsigned learner_roles[] = {WIRE_LEARNER_METHODS(X)};
static const unsigned replay_roles[] = {WIRE_REPLAY_METHODS(X)};
#undef X

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
    size_t length = oct_text_cut(detail, WIRE_DETAIL_MAX);
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
    wire_server *server = call->server;
    (void)snprintf(server->detail, sizeof(server->detail), "bad request: %s",
                   wire_arena_reason(server->arena));
    wire_reply_error(call, OCT_EPROTO, server->detail);
    return OCT_EPROTO;
}

static oct_err
serve_missing(wire_call *call)
{
    wire_server *server = call->server;
    (void)snprintf(server->detail, sizeof(server->detail), "this peer does not offer that method");
    wire_reply_error(call, OCT_ENOTFOUND, server->detail);
    return OCT_ENOTFOUND;
}

// What a role may not do with a method that it may call; NULL: all is well.
static const char *
part_forbidden(oct_role role, uint16_t code, const void *message)
{
    if (code == CODE_register_actor) {
        wire_role as = ((const wire_register *)message)->role;
        if (role == OCT_ROLE_OPERATOR && as != WIRE_ROLE_TOOL) {
            return "an operator's certificate can register tools only: actors and evaluators need "
                   "their own certificates";
        }
        if (role == OCT_ROLE_ACTOR && as == WIRE_ROLE_EVALUATOR) {
            return "an actor's certificate cannot register an evaluator: octet certs issue "
                   "evaluator NAME";
        }
        if (role == OCT_ROLE_EVALUATOR && as != WIRE_ROLE_EVALUATOR) {
            return "an evaluator's certificate can register evaluators only";
        }
        if (role == OCT_ROLE_RELAY && as != WIRE_ROLE_RELAY) {
            return "a relay's certificate can register relays only";
        }
        if (role == OCT_ROLE_ACTOR && as == WIRE_ROLE_RELAY) {
            return "an actor's certificate cannot register a relay: octet certs issue relay NAME";
        }
    }
    if (role == OCT_ROLE_OPERATOR && code == CODE_configure &&
        !((const wire_configure *)message)->limiter_only) {
        return "an operator's certificate can change the limiter only: a table needs a learner's "
               "certificate";
    }
    return NULL;
}

// What is the matter with the peer's release.
static const char *
peer_forbidden(wire_server *server, const wire_speaks *peer)
{
    const wire_speaks own = wire_speaks_own();
    return wire_speaks_meet(&own, peer, server->detail, sizeof(server->detail)) ? NULL
                                                                                : server->detail;
}

static oct_err
serve_forbidden(wire_call *call, const char *detail)
{
    wire_server *server = call->server;
    if (detail != server->detail) {
        (void)snprintf(server->detail, sizeof(server->detail), "%s", detail);
    }
    wire_reply_error(call, OCT_EINVAL, server->detail);
    return OCT_EINVAL;
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
        const char *forbidden = NULL;                                                              \
        if (server->served == OCT_OK) {                                                            \
            forbidden = part_forbidden(server->role, CODE_##method, &message);                     \
        }                                                                                          \
        wire_speaks peer;                                                                          \
        if (server->served == OCT_OK && forbidden == NULL && WIRE_SPEAKS_OF(input, &peer)) {       \
            forbidden = peer_forbidden(server, &peer);                                             \
        }                                                                                          \
        if (server->served != OCT_OK) {                                                            \
            server->served = serve_refused(call);                                                  \
        } else if (forbidden != NULL) {                                                            \
            server->served = serve_forbidden(call, forbidden);                                     \
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
#define X(method, request, reply, roles)                                                           \
    SERVER_METHOD(Octet__Learner_Service, learner_handlers, method, request, reply)
WIRE_LEARNER_METHODS(X)
#undef X
#define X(method, request, reply, roles)                                                           \
    SERVER_METHOD(Octet__Replay_Service, replay_handlers, method, request, reply)
WIRE_REPLAY_METHODS(X)
#undef X

// Answers a request that no call was opened for; detail may be the server's own.
static oct_err
refuse(wire_server *server, void *transport_call, oct_err err, const char *detail)
{
    if (detail != server->detail) {
        (void)snprintf(server->detail, sizeof(server->detail), "%s", detail);
    }
    answer_error(&server->responder, transport_call, err, server->detail);
    return err;
}

// "learners and operators"
static void
roles_name(unsigned roles, char *out, size_t out_size)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned role = 0; role < OCT_ROLES; role++) {
        if ((roles & 1u << role) != 0 && used < out_size) {
            int added = snprintf(out + used, out_size - used, "%s%ss", used > 0 ? " and " : "",
                                 oct_role_name((oct_role)role));
            used += added > 0 ? (size_t)added : 0;
        }
    }
}

// Whether the role may call the method at all. On an error the peer has been answered.
static oct_err
role_check(wire_server *server, void *transport_call, oct_role role, unsigned method)
{
    unsigned roles = server->roles[method];
    if (role == OCT_ROLE_LOCAL || (role < OCT_ROLES && (roles & 1u << role) != 0)) {
        return OCT_OK;
    }
    char allowed[128];
    roles_name(roles, allowed, sizeof(allowed));
    if (role == OCT_ROLE_NONE || role >= OCT_ROLES) {
        (void)snprintf(server->detail, sizeof(server->detail),
                       "%s is for %s, and the caller has shown no role",
                       server->service->descriptor->methods[method].name, allowed);
    } else {
        (void)snprintf(server->detail, sizeof(server->detail),
                       "%s is for %s, and the certificate is of the role %s",
                       server->service->descriptor->methods[method].name, allowed,
                       oct_role_name(role));
    }
    return refuse(server, transport_call, OCT_EINVAL, server->detail);
}

// The frame of a request, checked. On an error the peer has been answered.
static oct_err
request_open(wire_server *server, void *transport_call, wire_frame *out, const uint8_t *bytes,
             size_t length)
{
    char *detail = server->detail;
    wire_frame frame;
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    if (err == OCT_EINVAL) {
        (void)snprintf(detail, sizeof(server->detail),
                       "release " OCTET_VERSION
                       " reads protocol versions %d to %d, the request is version %u: run the same "
                       "release on both sides, or consecutive releases",
                       WIRE_PROTOCOL_READ_MIN, WIRE_PROTOCOL_READ_MAX, frame.version);
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
        (void)snprintf(detail, sizeof(server->detail),
                       "this is the %s, the request is for the %s: check the address", served,
                       service_names[service]);
        return refuse(server, transport_call, OCT_ENOTFOUND, detail);
    }
    if (service != server->service_number || method >= server->service->descriptor->n_methods) {
        (void)snprintf(detail, sizeof(server->detail), "the %s has no method %u.%u", served,
                       service, method);
        return refuse(server, transport_call, OCT_ENOTFOUND, detail);
    }
    *out = frame;
    return OCT_OK;
}

oct_err
wire_server_handle(wire_server *server, void *transport_call, oct_role role, const uint8_t *frame,
                   size_t length)
{
    wire_frame head;
    OCT_TRY(request_open(server, transport_call, &head, frame, length));
    unsigned method = head.code & 0xff;
    OCT_TRY(role_check(server, transport_call, role, method)); // before its bytes cost anything
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
    server->role = role;
    server->served = OCT_OK;
    server->service->invoke(server->service, method, message, NULL, call);
    return server->served;
}

const char *
wire_server_reason(const wire_server *server)
{
    return server->detail;
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
    server->roles = learner_roles;
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
    server->roles = replay_roles;
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
