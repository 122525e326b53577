#ifndef PROTO_WIRE_RPC_H
#define PROTO_WIRE_RPC_H

#include "common/oct_call.h"
#include "proto/wire_learner.h"
#include "proto/wire_peers.h"
#include "proto/wire_replay.h"

// The services of octet.proto as typed calls. The caller provides the transport: net_rpc has an
// oct_call_fn and an oct_responder, tests have their own.
//
// Threads: each wire_client and wire_server is used on one loop thread. The transport answers a
// call later, never before the function that sends it has returned. Owns: buffers that grow to the
// largest message so far and are kept, so that nothing is allocated in steady state. Full:
// WIRE_CALLS_MAX calls may be open at once, in a client and in a server. A further call fails with
// OCT_EAGAIN in the client, and is answered with OCT_EAGAIN by the server.

#define WIRE_CALLS_MAX 128

// A request's code is service << 8 | method, so that a server can distinguish a request for the
// other service from a malformed request.
#define WIRE_SERVICE_LEARNER 1u
#define WIRE_SERVICE_REPLAY  2u
// Longest reason in an error reply, in bytes.
#define WIRE_DETAIL_MAX 1024

// Sets of roles that may call a method. OCT_ROLE_LOCAL may call every method.
#define WIRE_BY_LEARNER  (1u << OCT_ROLE_LEARNER)
#define WIRE_BY_ACTOR    (1u << OCT_ROLE_ACTOR | 1u << OCT_ROLE_EVALUATOR)
#define WIRE_BY_OPERATOR (1u << OCT_ROLE_OPERATOR)
#define WIRE_BY_RELAY    (1u << OCT_ROLE_RELAY)

// X(method, request, reply, roles): the only list of methods. A method's index in its list, from 0,
// is its number on the wire, so append only. Some roles may use only a part of a method: an
// operator may register tools (wire_register.role), an evaluator evaluators, an actor actors and
// tools, and a relay relays; an operator may configure only with limiter_only.
#define WIRE_LEARNER_METHODS(X)                                                                    \
    X(register_actor, wire_register, wire_registered,                                              \
      WIRE_BY_ACTOR | WIRE_BY_OPERATOR | WIRE_BY_RELAY)                                            \
    X(get_policy, wire_get_policy, wire_got_policy, WIRE_BY_ACTOR)                                 \
    X(report_episodes, wire_report, wire_empty, WIRE_BY_ACTOR)                                     \
    X(learner_status, wire_empty, wire_status, WIRE_BY_OPERATOR)                                   \
    X(checkpoint, wire_empty, wire_written, WIRE_BY_OPERATOR)                                      \
    X(stop, wire_stop, wire_empty, WIRE_BY_OPERATOR)                                               \
    X(learner_peers, wire_get_peers, wire_peers, WIRE_BY_OPERATOR)
#define WIRE_REPLAY_METHODS(X)                                                                     \
    X(configure, wire_configure, wire_configured, WIRE_BY_LEARNER | WIRE_BY_OPERATOR)              \
    X(sample, wire_sample, wire_sampled, WIRE_BY_LEARNER)                                          \
    X(update_priorities, wire_priorities, wire_empty, WIRE_BY_LEARNER)                             \
    X(replay_status, wire_empty, wire_status, WIRE_BY_LEARNER | WIRE_BY_OPERATOR)                  \
    X(table_digest, wire_digest_request, wire_digest, WIRE_BY_LEARNER)                             \
    X(inserted_sessions, wire_sessions, wire_sessions, WIRE_BY_LEARNER)                            \
    X(window_origins, wire_priorities, wire_sessions, WIRE_BY_LEARNER)

// The code of each method's request.
enum {
    WIRE_CODE_BEFORE_LEARNER = (WIRE_SERVICE_LEARNER << 8) - 1,
#define X(method, request, reply, roles) WIRE_CODE_##method,
    WIRE_LEARNER_METHODS(X)
#undef X
        WIRE_CODE_BEFORE_REPLAY = (WIRE_SERVICE_REPLAY << 8) - 1,
#define X(method, request, reply, roles) WIRE_CODE_##method,
    WIRE_REPLAY_METHODS(X)
#undef X
};

// ---- client

typedef struct wire_client wire_client;

// call and call_arg are the transport. arena_bytes bounds one decoded reply.
wire_client *wire_client_create(oct_call_fn call, void *call_arg, size_t arena_bytes);
// All calls must have been answered: close the transport first, which answers OCT_ECLOSED.
void wire_client_destroy(wire_client *client);

// For each method: wire_call_METHOD(client, request, timeout_ms, done, arg) sends a request.
// Errors, after which done does not run:
//   OCT_EAGAIN  too many calls are open
//   OCT_EINVAL  the request is larger than a message may be
//   others      from the transport
// Otherwise done runs exactly once. Its answer is NULL unless err is OCT_OK, and lives until done
// returns. detail is never NULL; on an error it is the peer's reason or oct_strerror's text.
// OCT_ECLOSED means that this process closed its links; a peer that shuts down gives OCT_EAGAIN.
#define X(method, request, reply, roles)                                                           \
    typedef void (*wire_##method##_done)(void *arg, oct_err err, const char *detail,               \
                                         const reply *answer);                                     \
    OCT_CHECKED oct_err wire_call_##method(wire_client *client, const request *message,            \
                                           uint32_t timeout_ms, wire_##method##_done done,         \
                                           void *arg);
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

// ---- server

// A pending request. The handler answers it once with wire_reply_METHOD or wire_reply_error, before
// it returns or later.
typedef struct wire_call wire_call;

// Handlers of requests. message lives until the handler returns. A method with a NULL handler is
// answered with OCT_ENOTFOUND.
typedef struct wire_learner_handlers {
#define X(method, request, reply, roles)                                                           \
    void (*method)(void *arg, wire_call *call, const request *message);
    WIRE_LEARNER_METHODS(X)
#undef X
} wire_learner_handlers;

typedef struct wire_replay_handlers {
#define X(method, request, reply, roles)                                                           \
    void (*method)(void *arg, wire_call *call, const request *message);
    WIRE_REPLAY_METHODS(X)
#undef X
} wire_replay_handlers;

typedef struct wire_server wire_server;

wire_server *wire_server_create_learner(const wire_learner_handlers *handlers, void *arg,
                                        const oct_responder *responder, size_t arena_bytes);
wire_server *wire_server_create_replay(const wire_replay_handlers *handlers, void *arg,
                                       const oct_responder *responder, size_t arena_bytes);
// Frees the calls that are still open, too: the caller closes the transport first, and answers no
// call afterwards.
void wire_server_destroy(wire_server *server);

// Decodes one request frame and runs its handler. transport_call is passed to the responder; role
// is the caller's. On an error the handler does not run, and the peer has been answered with it:
//   OCT_EPROTO     the frame or the request is malformed
//   OCT_EINVAL     the protocol version is not read here, the peer's release does not work with
//   this
//                  one, or the role may not call the method in this way
//   OCT_ENOTFOUND  the method does not exist, has no handler, or belongs to the other service
//   OCT_EAGAIN     too many calls are open
OCT_CHECKED oct_err wire_server_handle(wire_server *server, void *transport_call, oct_role role,
                                       const uint8_t *frame, size_t length);
// Returns the text that the peer got when wire_server_handle last returned an error, for a log
// line.
const char *wire_server_reason(const wire_server *server);
// Returns the transport_call of a call that is not answered yet.
void *wire_call_transport(const wire_call *call);

#define X(method, request, reply, roles)                                                           \
    void wire_reply_##method(wire_call *call, const reply *answer);
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X
void wire_reply_error(wire_call *call, oct_err err, const char *detail);

#endif // PROTO_WIRE_RPC_H
