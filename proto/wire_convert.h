#ifndef PROTO_WIRE_CONVERT_H
#define PROTO_WIRE_CONVERT_H

#include "proto/wire_arena.h"
#include "proto/wire_learner.h"
#include "proto/wire_peers.h"
#include "proto/wire_replay.h"

// Plain struct <-> generated message, inside proto/ only. X(plain, generated): the one list.
#define WIRE_MESSAGES(X)                                                                           \
    X(wire_batch, Octet__Batch)                                                                    \
    X(wire_ack, Octet__Ack)                                                                        \
    X(wire_policy, Octet__Policy)                                                                  \
    X(wire_register, Octet__Registration)                                                          \
    X(wire_registered, Octet__Registered)                                                          \
    X(wire_get_policy, Octet__PolicyRequest)                                                       \
    X(wire_got_policy, Octet__GotPolicy)                                                           \
    X(wire_report, Octet__Report)                                                                  \
    X(wire_empty, Octet__Empty)                                                                    \
    X(wire_status, Octet__Status)                                                                  \
    X(wire_written, Octet__CheckpointWritten)                                                      \
    X(wire_stop, Octet__StopRequest)                                                               \
    X(wire_get_peers, Octet__PeersRequest)                                                         \
    X(wire_peers, Octet__Peers)                                                                    \
    X(wire_configure, Octet__Configuration)                                                        \
    X(wire_configured, Octet__Configured)                                                          \
    X(wire_sample, Octet__SampleRequest)                                                           \
    X(wire_sampled, Octet__Sampled)                                                                \
    X(wire_priorities, Octet__Priorities)                                                          \
    X(wire_digest_request, Octet__DigestRequest)                                                   \
    X(wire_digest, Octet__Digest)                                                                  \
    X(wire_sessions, Octet__Sessions)

// to: out points into what in points to, for packing. from: checks everything, then gives views
// into the arena that message was unpacked with; OCT_EPROTO with the arena's reason set otherwise.
#define X(plain, generated)                                                                        \
    typedef struct generated generated;                                                            \
    void plain##_to(generated *out, const plain *in);                                              \
    OCT_CHECKED oct_err plain##_from(plain *out, const generated *in, wire_arena *arena);
WIRE_MESSAGES(X)
#undef X

// The generated type of a plain one, for macros over the method lists of wire_rpc.h.
#define WIRE_GENERATED(plain)              WIRE_GENERATED_##plain
#define WIRE_GENERATED_wire_register       Octet__Registration
#define WIRE_GENERATED_wire_registered     Octet__Registered
#define WIRE_GENERATED_wire_get_policy     Octet__PolicyRequest
#define WIRE_GENERATED_wire_got_policy     Octet__GotPolicy
#define WIRE_GENERATED_wire_report         Octet__Report
#define WIRE_GENERATED_wire_empty          Octet__Empty
#define WIRE_GENERATED_wire_status         Octet__Status
#define WIRE_GENERATED_wire_written        Octet__CheckpointWritten
#define WIRE_GENERATED_wire_stop           Octet__StopRequest
#define WIRE_GENERATED_wire_get_peers      Octet__PeersRequest
#define WIRE_GENERATED_wire_peers          Octet__Peers
#define WIRE_GENERATED_wire_configure      Octet__Configuration
#define WIRE_GENERATED_wire_configured     Octet__Configured
#define WIRE_GENERATED_wire_sample         Octet__SampleRequest
#define WIRE_GENERATED_wire_sampled        Octet__Sampled
#define WIRE_GENERATED_wire_priorities     Octet__Priorities
#define WIRE_GENERATED_wire_digest_request Octet__DigestRequest
#define WIRE_GENERATED_wire_digest         Octet__Digest
#define WIRE_GENERATED_wire_sessions       Octet__Sessions

// protobuf-c does not know const; a packed message is only read.
#define WIRE_COLUMN(type, column) ((type *)(column))
#define WIRE_BYTES(column, count)                                                                  \
    {                                                                                              \
        .len = (count), .data = WIRE_COLUMN(uint8_t, column)                                       \
    }
// A NULL string is an empty one.
#define WIRE_STRING(text) ((char *)((text) == NULL ? "" : (text)))

// The checks that several messages share.
#define WIRE_REQUIRE_NAME(arena, text, reason)                                                     \
    WIRE_REQUIRE((arena),                                                                          \
                 wire_check_name((text), wire_arena_text_length((arena), (text)), WIRE_NAME_MAX),  \
                 (reason))
#define WIRE_REQUIRE_TEXT(arena, text, reason)                                                     \
    WIRE_REQUIRE((arena),                                                                          \
                 wire_check_text((text), wire_arena_text_length((arena), (text)), WIRE_TEXT_MAX),  \
                 (reason))

// What a message says that its sender speaks; false: messages of this type do not. Of a name that
// is none nothing is kept: it is for people. (wire_speaks.c)
bool wire_speaks_of_registration(const Octet__Registration *in, wire_speaks *out);
bool wire_speaks_of_registered(const Octet__Registered *in, wire_speaks *out);
bool wire_speaks_of_configuration(const Octet__Configuration *in, wire_speaks *out);
bool wire_speaks_of_configured(const Octet__Configured *in, wire_speaks *out);
bool wire_speaks_of_none(const void *in, wire_speaks *out);
#define WIRE_SPEAKS_OF(in, out)                                                                    \
    _Generic((in),                                                                                 \
        const Octet__Registration *: wire_speaks_of_registration,                                  \
        const Octet__Registered *: wire_speaks_of_registered,                                      \
        const Octet__Configuration *: wire_speaks_of_configuration,                                \
        const Octet__Configured *: wire_speaks_of_configured,                                      \
        default: wire_speaks_of_none)((in), (out))

#endif // PROTO_WIRE_CONVERT_H
