// The server side of wire_rpc.h: checks requests, runs their handlers and frames the replies.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "proto/wire_convert.h"
#include "proto/wire_rpc.h"

struct wire_call {
    wire_server *server;
    struct wire_call *next_free;
    void *transport_call;
    uint16_t code; // of the method, as in the request
    bool is_open;
};

// A method of octet.proto's services.
typedef struct server_method {
    const wire_message *request;
    unsigned roles; // bits 1 << oct_role
} server_method;

// Room for any request.
typedef union any_request {
#define X(method, request, reply, roles) request method;
    WIRE_LEARNER_METHODS(X)
    WIRE_REPLAY_METHODS(X)
#undef X
} any_request;

struct wire_server {
    const ProtobufCServiceDescriptor *service; // the served service, with the names of its methods
    const server_method *methods;              // [service->n_methods]
    unsigned service_number;
    wire_learner_handlers learner_handlers;
    wire_replay_handlers replay_handlers;
    void *handler_arg;
    oct_responder responder;
    wire_arena *arena;
    oct_reason detail; // why the last refused request was refused
    wire_call *free_calls;
    wire_call calls[WIRE_CALLS_MAX];
};

#define X(method, request, reply, roles) {&request##_message, (roles)},
static const server_method learner_methods[] = {WIRE_LEARNER_METHODS(X)};
static const server_method replay_methods[] = {WIRE_REPLAY_METHODS(X)};
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

void *
wire_call_transport(const wire_call *call)
{
    OCT_ASSERT(call->is_open);
    return call->transport_call;
}

static void
reply_message(wire_call *call, unsigned code, const wire_message *message, const void *answer)
{
    OCT_ASSERT(call->is_open && call->code == code);
    size_t length = WIRE_FRAME_BYTES + wire_message_size(message, answer);
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
    wire_message_pack(message, answer, out + WIRE_FRAME_BYTES);
    responder->send(transport_call);
}

#define X(method, request, reply, roles)                                                           \
    void wire_reply_##method(wire_call *call, const reply *answer)                                 \
    {                                                                                              \
        reply_message(call, WIRE_CODE_##method, &reply##_message, answer);                         \
    }
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

// ---- dispatch

// Answers a request that did not pass its checks.
static oct_err
serve_refused(wire_call *call)
{
    wire_server *server = call->server;
    oct_reason_set(&server->detail, "bad request: %s", wire_arena_reason(server->arena));
    wire_reply_error(call, OCT_EPROTO, server->detail.text);
    return OCT_EPROTO;
}

static oct_err
serve_missing(wire_call *call)
{
    wire_server *server = call->server;
    oct_reason_set(&server->detail, "this peer does not offer that method");
    wire_reply_error(call, OCT_ENOTFOUND, server->detail.text);
    return OCT_ENOTFOUND;
}

// Returns why a role may not make this request, although it may call the method; NULL: it may.
static const char *
part_forbidden(oct_role role, uint16_t code, const any_request *message)
{
    if (code == WIRE_CODE_register_actor) {
        wire_role as = message->register_actor.role;
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
    if (role == OCT_ROLE_OPERATOR && code == WIRE_CODE_configure &&
        !message->configure.limiter_only) {
        return "an operator's certificate can change the limiter only: a table needs a learner's "
               "certificate";
    }
    return NULL;
}

// Returns why the peer's release and this one do not work together; NULL: they do.
static const char *
peer_forbidden(wire_server *server, const wire_speaks *peer)
{
    const wire_speaks own = wire_speaks_own();
    return wire_speaks_meet(&own, peer, &server->detail) ? NULL : server->detail.text;
}

static oct_err
serve_forbidden(wire_call *call, const char *detail)
{
    wire_server *server = call->server;
    if (detail != server->detail.text) {
        oct_reason_set(&server->detail, "%s", detail);
    }
    wire_reply_error(call, OCT_EINVAL, server->detail.text);
    return OCT_EINVAL;
}

// Runs the handler, with the type that its method has.
static oct_err
serve(wire_server *server, wire_call *call, const any_request *message)
{
    switch (call->code) {
#define CASE(handlers, method)                                                                     \
    case WIRE_CODE_##method:                                                                       \
        if (server->handlers.method == NULL) {                                                     \
            break;                                                                                 \
        }                                                                                          \
        server->handlers.method(server->handler_arg, call, &message->method);                      \
        return OCT_OK;
#define X(method, request, reply, roles) CASE(learner_handlers, method)
        WIRE_LEARNER_METHODS(X)
#undef X
#define X(method, request, reply, roles) CASE(replay_handlers, method)
        WIRE_REPLAY_METHODS(X)
#undef X
#undef CASE
    default:
        break;
    }
    return serve_missing(call);
}

// Answers a request for which no call was opened; detail may be the server's own.
static oct_err
refuse(wire_server *server, void *transport_call, oct_err err, const char *detail)
{
    if (detail != server->detail.text) {
        oct_reason_set(&server->detail, "%s", detail);
    }
    answer_error(&server->responder, transport_call, err, server->detail.text);
    return err;
}

// Writes the names of roles: "learners and operators".
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

// Returns OCT_OK if the role may call the method. On an error the peer has been answered.
static oct_err
role_check(wire_server *server, void *transport_call, oct_role role, unsigned method)
{
    unsigned roles = server->methods[method].roles;
    if (role == OCT_ROLE_LOCAL || (role < OCT_ROLES && (roles & 1u << role) != 0)) {
        return OCT_OK;
    }
    char allowed[128];
    roles_name(roles, allowed, sizeof(allowed));
    if (role == OCT_ROLE_NONE || role >= OCT_ROLES) {
        oct_reason_set(&server->detail, "%s is for %s, and the caller has shown no role",
                       server->service->methods[method].name, allowed);
    } else {
        oct_reason_set(&server->detail, "%s is for %s, and the certificate is of the role %s",
                       server->service->methods[method].name, allowed, oct_role_name(role));
    }
    return refuse(server, transport_call, OCT_EINVAL, server->detail.text);
}

// Reads and checks the frame of a request. On an error the peer has been answered.
static oct_err
request_open(wire_server *server, void *transport_call, wire_frame *out, const uint8_t *bytes,
             size_t length)
{
    char *detail = server->detail.text;
    wire_frame frame;
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    if (err == OCT_EINVAL) {
        (void)snprintf(detail, sizeof(server->detail.text),
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
        (void)snprintf(detail, sizeof(server->detail.text),
                       "this is the %s, the request is for the %s: check the address", served,
                       service_names[service]);
        return refuse(server, transport_call, OCT_ENOTFOUND, detail);
    }
    if (service != server->service_number || method >= server->service->n_methods) {
        (void)snprintf(detail, sizeof(server->detail.text), "the %s has no method %u.%u", served,
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
    // The role is checked before the request is decoded, so that a refusal costs little.
    OCT_TRY(role_check(server, transport_call, role, method));
    wire_arena_reset(server->arena);
    const wire_message *request = server->methods[method].request;
    const ProtobufCMessage *generated = wire_arena_unpack(
        server->arena, request->descriptor, frame + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES);
    wire_call *call = call_take(server, transport_call, head.code);
    if (call == NULL) {
        return refuse(server, transport_call, OCT_EAGAIN, "too many requests are open here");
    }
    any_request message;
    if (generated == NULL ||
        wire_message_from(request, &message, generated, server->arena) != OCT_OK) {
        return serve_refused(call);
    }
    wire_speaks peer;
    const char *forbidden = part_forbidden(role, head.code, &message);
    if (forbidden == NULL && wire_speaks_of(request, generated, &peer)) {
        forbidden = peer_forbidden(server, &peer);
    }
    return forbidden != NULL ? serve_forbidden(call, forbidden) : serve(server, call, &message);
}

const char *
wire_server_reason(const wire_server *server)
{
    return server->detail.text;
}

// ---- create, destroy

static wire_server *
server_create(void *arg, const oct_responder *responder, size_t arena_bytes)
{
    wire_server *server = oct_alloc(sizeof(*server));
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
    server->service = &octet__learner__descriptor;
    server->methods = learner_methods;
    server->service_number = WIRE_SERVICE_LEARNER;
    return server;
}

wire_server *
wire_server_create_replay(const wire_replay_handlers *handlers, void *arg,
                          const oct_responder *responder, size_t arena_bytes)
{
    wire_server *server = server_create(arg, responder, arena_bytes);
    server->replay_handlers = *handlers;
    server->service = &octet__replay__descriptor;
    server->methods = replay_methods;
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
