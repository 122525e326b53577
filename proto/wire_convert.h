#ifndef PROTO_WIRE_CONVERT_H
#define PROTO_WIRE_CONVERT_H

#include <float.h>

#include "proto/octet.pb-c.h"
#include "proto/wire_arena.h"
#include "proto/wire_learner.h"
#include "proto/wire_peers.h"
#include "proto/wire_replay.h"

// Converts between the plain structs of wire*.h and protobuf-c's structs, inside proto/ only.
//
// Each message has one table. A row connects a member of the plain struct with its field of
// octet.proto and says what a receiver requires of the value. wire_message_to and wire_message_from
// walk the rows in order. A rule about two fields, and a length that no member has, are code in the
// message's two functions beside the table. tests/proto/test_wire_convert.c fails where a field of
// octet.proto has no row.
//
// Threads: any; the tables are constant.

// X(plain, generated): all messages.
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

// The type of a value, or of each value of a column.
typedef enum wire_type {
    WIRE_BOOL,
    WIRE_BYTE,
    WIRE_U32, // and enums
    WIRE_U64,
    WIRE_F32,
    WIRE_F64,
    WIRE_STRING, // a name unless is_text or is_unchecked; NULL is sent as ""
} wire_type;

typedef enum wire_shape {
    WIRE_ONE,      // one value
    WIRE_ARRAY,    // uint8_t[most]: sent whole, or not at all where the member count is 0
    WIRE_MAYBE,    // uint8_t[most]: sent whole where the bool member count is true, else not at all
    WIRE_LIST,     // a column; its length, at most length_max, is the member count
    WIRE_COLUMN,   // a column of count values, or of count * each
    WIRE_OPTIONAL, // a column of count values, or none: NULL
    WIRE_VIEW,     // a column; the message's functions set and check its length
    WIRE_OTHER,    // the message's functions convert it
} wire_shape;

typedef struct wire_member {
    wire_shape shape;
    wire_type type;
    uint16_t plain;       // offset of the member
    uint16_t field;       // offset of the generated field
    uint16_t length;      // offset of the generated length of a column that does not hold bytes
    uint16_t count;       // offset of a member (see shape): a uint32_t; of WIRE_ARRAY `size` bytes
    uint16_t each;        // offset of a uint32_t member that multiplies count; 0: none
    uint16_t size;        // of WIRE_ARRAY: bytes of the member count; 0: the array is never absent
    uint32_t length_max;  // of WIRE_LIST
    uint64_t least, most; // bounds of a U32 or U64; most 0: none
    double low, high;     // bounds of an F32 or F64; both 0: none
    bool or_nan;          // of an F64: NaN is allowed, too
    bool is_text, is_unchecked; // a string up to WIRE_TEXT_MAX; the message's function checks it
    const char *why;            // the error for a value out of bounds; NULL: "outside …"
} wire_member;

typedef struct wire_message {
    const char *name;
    const ProtobufCMessageDescriptor *descriptor;
    size_t plain_bytes;
    const wire_member *members;
    size_t member_count;
    // Rows of a part that is present only where the plain struct's bool at has_part is true.
    const wire_member *part;
    size_t part_count;
    size_t has_part;
    bool speaks; // the message has the four fields of wire_speaks
    // Sets the fields that no row sets; NULL: there are none.
    void (*to)(void *generated, const void *plain);
    // Converts the fields that no row converts, and checks rules about several fields; NULL: none.
    oct_err (*from)(void *plain, const void *generated, wire_arena *arena);
} wire_message;

// to fills out for packing: its pointers point to the memory of in. from checks everything and
// fills out with views into the arena that in was unpacked with; if a check fails, it returns
// OCT_EPROTO and sets the arena's reason.
void wire_message_to(const wire_message *message, void *out, const void *in);
OCT_CHECKED oct_err wire_message_from(const wire_message *message, void *out, const void *in,
                                      wire_arena *arena);
// Convert between a plain struct and the payload of a message. pack writes wire_message_size bytes.
// A failed unpack keeps no memory of the arena.
size_t wire_message_size(const wire_message *message, const void *plain);
void wire_message_pack(const wire_message *message, const void *plain, uint8_t *out);
OCT_CHECKED oct_err wire_message_unpack(const wire_message *message, void *out, wire_arena *arena,
                                        const uint8_t *bytes, size_t length);
// Reads which protocol versions the sender of a message speaks. Returns false if messages of this
// type do not say so. An invalid release name becomes "", because only people read it.
bool wire_speaks_of(const wire_message *message, const ProtobufCMessage *in, wire_speaks *out);

// Declares for each message PLAIN_message, and typed variants of wire_message_to and _from.
#define X(plain, generated)                                                                        \
    typedef generated plain##_pb;                                                                  \
    extern const wire_message plain##_message;                                                     \
    static inline void plain##_to(generated *out, const plain *in)                                 \
    {                                                                                              \
        wire_message_to(&plain##_message, out, in);                                                \
    }                                                                                              \
    OCT_CHECKED static inline oct_err plain##_from(plain *out, const generated *in,                \
                                                   wire_arena *arena)                              \
    {                                                                                              \
        return wire_message_from(&plain##_message, out, in, arena);                                \
    }
WIRE_MESSAGES(X)
#undef X

// Checks the policy that a message holds.
OCT_CHECKED oct_err wire_policy_check(const wire_policy *policy, wire_arena *arena);

// ---- rows. m: the plain struct's name without wire_; f: the name of the field, and of the member
// unless `member` names it.

#define WIRE_TYPE_OF(value)                                                                        \
    _Generic((value),                                                                              \
        bool: WIRE_BOOL,                                                                           \
        uint32_t: WIRE_U32,                                                                        \
        uint64_t: WIRE_U64,                                                                        \
        double: WIRE_F64,                                                                          \
        const char *: WIRE_STRING,                                                                 \
        uint8_t *: WIRE_BYTE,                                                                      \
        const uint8_t *: WIRE_BYTE,                                                                \
        const uint32_t *: WIRE_U32,                                                                \
        const uint64_t *: WIRE_U64,                                                                \
        const float *: WIRE_F32,                                                                   \
        const double *: WIRE_F64,                                                                  \
        const char *const *: WIRE_STRING)
#define WIRE_ROW(m, member, f, ...)                                                                \
    {                                                                                              \
        .type = WIRE_TYPE_OF(((wire_##m *)NULL)->member), .plain = offsetof(wire_##m, member),     \
        .field = offsetof(wire_##m##_pb, f), __VA_ARGS__                                           \
    }
#define WIRE_COLUMN_ROW(m, member, f, ...)                                                         \
    WIRE_ROW(m, member, f, .length = offsetof(wire_##m##_pb, n_##f), __VA_ARGS__)

// Rows of one value. Further arguments say what a value must be.
#define FIELD(m, f)                 WIRE_ROW(m, f, f, .shape = WIRE_ONE)
#define FIELD_AS(m, member, f)      WIRE_ROW(m, member, f, .shape = WIRE_ONE)
#define VALUE(m, f, ...)            WIRE_ROW(m, f, f, __VA_ARGS__)
#define VALUE_AS(m, member, f, ...) WIRE_ROW(m, member, f, __VA_ARGS__)

// Several FIELDs.
#define FIELDS_2(m, f, g)   FIELD(m, f), FIELD(m, g)
#define FIELDS_3(m, f, ...) FIELD(m, f), FIELDS_2(m, __VA_ARGS__)
#define FIELDS_4(m, f, ...) FIELD(m, f), FIELDS_3(m, __VA_ARGS__)
#define FIELDS_5(m, f, ...) FIELD(m, f), FIELDS_4(m, __VA_ARGS__)
#define FIELDS_6(m, f, ...) FIELD(m, f), FIELDS_5(m, __VA_ARGS__)

// Columns. n: the member that is their length. The LIST of n comes before all other rows with n.
#define LIST(m, f, n, max, ...) LIST_AS(m, f, f, n, max, __VA_ARGS__)
#define LIST_AS(m, member, f, n, max, ...)                                                         \
    WIRE_COLUMN_ROW(m, member, f, .shape = WIRE_LIST, .count = offsetof(wire_##m, n),              \
                    .length_max = (max), __VA_ARGS__)
#define COLUMN(m, f, n, ...) COLUMN_AS(m, f, f, n, __VA_ARGS__)
#define COLUMN_AS(m, member, f, n, ...)                                                            \
    WIRE_COLUMN_ROW(m, member, f, .shape = WIRE_COLUMN, .count = offsetof(wire_##m, n), __VA_ARGS__)
#define OPTIONAL(m, f, n, ...)                                                                     \
    WIRE_COLUMN_ROW(m, f, f, .shape = WIRE_OPTIONAL, .count = offsetof(wire_##m, n), __VA_ARGS__)
#define VIEW(m, f, ...)            VIEW_AS(m, f, f, __VA_ARGS__)
#define VIEW_AS(m, member, f, ...) WIRE_COLUMN_ROW(m, member, f, .shape = WIRE_VIEW, __VA_ARGS__)
#define EACH(m, n)                 .each = offsetof(wire_##m, n)
// Columns of bytes.
#define BYTES(m, f, n, ...)                                                                        \
    WIRE_ROW(m, f, f, .shape = WIRE_COLUMN, .count = offsetof(wire_##m, n), __VA_ARGS__)
#define BYTES_VIEW(m, member, f) WIRE_ROW(m, member, f, .shape = WIRE_VIEW)

// Arrays in the plain struct.
#define WIRE_ARRAY_ROW(m, member, f, ...)                                                          \
    WIRE_ROW(m, member, f, .most = sizeof(((wire_##m *)NULL)->member), __VA_ARGS__)
#define ARRAY(m, f) WIRE_ARRAY_ROW(m, f, f, .shape = WIRE_ARRAY)
#define ARRAY_WITH(m, f, other)                                                                    \
    WIRE_ARRAY_ROW(m, f, f, .shape = WIRE_ARRAY, .count = offsetof(wire_##m, other),               \
                   .size = sizeof(((wire_##m *)NULL)->other))
#define ARRAY_MAYBE(m, member, f, has)                                                             \
    WIRE_ARRAY_ROW(m, member, f, .shape = WIRE_MAYBE, .count = offsetof(wire_##m, has))

#define OTHER(m, f)                                                                                \
    {                                                                                              \
        .shape = WIRE_OTHER, .field = offsetof(wire_##m##_pb, f)                                   \
    }

// What a value must be.
#define ANY                  .or_nan = false // any number; a string must be a name
#define TEXT                 .is_text = true
#define UNCHECKED            .is_unchecked = true // the row does not check it
#define WHOLE(least_, most_) .least = (least_), .most = (most_)
#define COUNTED              .most = WIRE_COUNT_MAX, .why = "a count beyond 2^53"
#define REAL(low_, high_)    .low = (low_), .high = (high_)
#define FINITE               REAL(-DBL_MAX, DBL_MAX), .why = "not finite"
#define FINITE_FLOAT         REAL(-FLT_MAX, FLT_MAX), .why = "not finite"
#define AT_LEAST_0           REAL(0, DBL_MAX), .why = "not a number of at least 0"
#define NOT_INFINITE         REAL(-DBL_MAX, DBL_MAX), .or_nan = true, .why = "infinite"
#define WHY(text)            .why = text

// Defines wire_m_message. MESSAGE_WITH takes further designated initialisers.
#define MESSAGE(m, descriptor_, rows) MESSAGE_WITH(m, descriptor_, rows, .to = NULL)
#define MESSAGE_WITH(m, descriptor_, rows, ...)                                                    \
    const wire_message wire_##m##_message = {.name = #m,                                           \
                                             .descriptor = &(descriptor_),                         \
                                             .plain_bytes = sizeof(wire_##m),                      \
                                             .members = (rows),                                    \
                                             .member_count = OCT_COUNTOF(rows),                    \
                                             __VA_ARGS__}

// The cast drops const, because protobuf-c's struct has none; packing only reads the bytes.
#define WIRE_BYTES(column, count)                                                                  \
    (ProtobufCBinaryData)                                                                          \
    {                                                                                              \
        .len = (count), .data = (uint8_t *)(column)                                                \
    }

#endif // PROTO_WIRE_CONVERT_H
