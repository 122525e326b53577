#ifndef PROTO_WIRE_RPC_H
#define PROTO_WIRE_RPC_H

#include "common/oct_call.h"
#include "proto/wire_learner.h"
#include "proto/wire_peers.h"
#include "proto/wire_replay.h"

// The services of octet.proto as typed calls, on protobuf-c's service descriptors. How frames
// travel is the caller's: net_rpc gives an oct_call_fn and an oct_responder, tests give their own.
//
// Threads: everything of one wire_client or wire_server on one loop thread. The transport answers
// later, never from inside the call that it was given.
// Owns: buffers that grow to the largest message seen and are kept; in steady state nothing is
// allocated.
// Full: WIRE_CALLS_MAX calls may be open at once in a client (one more is OCT_EAGAIN) and in a
// server (one more is answered OCT_EAGAIN).

#define WIRE_CALLS_MAX 128

// A request's code is service << 8 | method, so that a request which reached the other service is
// told apart from a malformed one.
#define WIRE_SERVICE_LEARNER 1u
#define WIRE_SERVICE_REPLAY  2u
// Longest reason in an error reply, in bytes.
#define WIRE_DETAIL_MAX 1024

// Who may call a method: OCT_ROLE_LOCAL always, and the roles of this set.
#define WIRE_BY_LEARNER  (1u << OCT_ROLE_LEARNER)
#define WIRE_BY_ACTOR    (1u << OCT_ROLE_ACTOR | 1u << OCT_ROLE_EVALUATOR)
#define WIRE_BY_OPERATOR (1u << OCT_ROLE_OPERATOR)
#define WIRE_BY_RELAY    (1u << OCT_ROLE_RELAY)

// X(method, request, reply, roles): the one list of methods. Order is the method number on the
// wire, counted from 0; append only. Of two methods a role may do a part only: an operator
// registers tools (wire_register.role), an evaluator evaluators, an actor actors and tools, a relay
// relays; and an operator configures with limiter_only.
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

// ---- client

typedef struct wire_client wire_client;

// call/call_arg: the transport. arena_bytes bounds one decoded reply.
wire_client *wire_client_create(oct_call_fn call, void *call_arg, size_t arena_bytes);
// Calls still in flight must have been answered (net closes first, which answers OCT_ECLOSED).
void wire_client_destroy(wire_client *client);

// For each method: wire_call_METHOD(client, request, timeout_ms, done, arg). done runs exactly once
// unless an error is returned here (OCT_EAGAIN: too many open; OCT_EINVAL: larger than a message
// may be; or what the transport says). reply is borrowed for the callback, NULL unless err is
// OCT_OK; OCT_ECLOSED is this process's own links, a peer that shuts down is OCT_EAGAIN. detail is
// never NULL; on error it is the peer's reason or oct_strerror's text.
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

// One pending request; answer it once with wire_reply_METHOD or wire_reply_error, now or later.
typedef struct wire_call wire_call;

// Handlers; message is borrowed until the handler returns. NULL members answer "not found".
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
// Forgets the calls that are still open: close the transport first, and answer none of them after.
void wire_server_destroy(wire_server *server);

// Decodes one request frame and runs its handler. transport_call is what the responder gets, role
// who calls. Answers the peer itself (and returns the error, for counting) when the frame is
// malformed (OCT_EPROTO), of another version or not for that role (OCT_EINVAL), or names no method
// (OCT_ENOTFOUND).
OCT_CHECKED oct_err wire_server_handle(wire_server *server, void *transport_call, oct_role role,
                                       const uint8_t *frame, size_t length);
// What the peer was told when wire_server_handle last returned an error, for a log line.
const char *wire_server_reason(const wire_server *server);

#define X(method, request, reply, roles)                                                           \
    void wire_reply_##method(wire_call *call, const reply *answer);
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X
void wire_reply_error(wire_call *call, oct_err err, const char *detail);

#endif // PROTO_WIRE_RPC_H
