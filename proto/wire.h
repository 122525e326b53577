#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "proto/wire_speaks.h"

// The messages that Octet's processes exchange, as plain structs. octet.proto is the schema, and
// docs/internals/wire.md describes the bytes. Code outside proto/ sees these structs and never a
// generated type. The messages of the two services are in wire_learner.h and wire_replay.h.
//
// Threads: any; no shared state. Owns: pack borrows its input; an unpacked struct's pointers live
// in the arena that it was unpacked with, until that arena is reset. Columns begin at a multiple of
// 16 bytes; a row inside a byte column may be unaligned, so memcpy the row out. Errors: unpack
// checks every length, count and float before it returns OCT_OK; otherwise it returns OCT_EPROTO,
// and nothing in *out may be used.

// Bounds that every decoder enforces.
#define WIRE_TEXT_MAX           65536   // configuration, reasons
#define WIRE_NAME_MAX           256     // ids, addresses, host names
#define WIRE_BATCH_COUNT_MAX    65536   // rows, and runs, in one batch
#define WIRE_STREAMS_MAX        65536   // streams of one session
#define WIRE_SAMPLE_COUNT_MAX   1048576 // rows in one sample reply, over all windows
#define WIRE_WINDOW_STEPS_MAX   16384   // rows of one window
#define WIRE_OBS_BYTES_MAX      (1u << 20)
#define WIRE_ACTIONS_MAX        256
#define WIRE_RANK_MAX           6 // dimensions of an observation (OCTET_ENV_RANK_MAX)
#define WIRE_EXTRA_MAX          64
#define WIRE_EPISODES_MAX       65536
#define WIRE_PLACES_MAX         16384 // actors and evaluators of one learner
#define WIRE_TURN_ACTORS_MAX    256   // actors in lock-step
#define WIRE_SHARDS_MAX         16    // replays of one experiment
#define WIRE_STATS_MAX          512
#define WIRE_COUNT_MAX          (UINT64_C(1) << 53) // of a counter: exact as a double, too
#define WIRE_TOKEN_BYTES        16                  // of a session (wire_token.h)
#define WIRE_TOKEN_KEY_BYTES    32
#define WIRE_SIGNING_SEED_BYTES 32 // wire_sign.h
#define WIRE_PUBLIC_KEY_BYTES   32
#define WIRE_SIGNATURE_BYTES    64
#define WIRE_BATCH_BYTES_MAX    (64u << 20)                  // a packed batch
#define WIRE_MESSAGE_BYTES_MAX  ((256u << 20) + (64u << 10)) // the largest policy and its envelope

// Flags of a row (wire_batch.flags, wire_sampled.flags). Terminated and truncated are two flags,
// never one: an algorithm bootstraps after a truncation and must not after a termination. They are
// set on the row of an episode's last action; the end row after it holds the true final
// observation, and no action. An environment that failed leaves a last row with neither flag, and
// an end row with WIRE_FAILED, which holds the last true observation. A rollout begins with a row
// that has WIRE_ROLLOUT and ends with an end row that has it; there the actor waits for another
// policy. The episode may continue with the next row, which has WIRE_FIRST either way.
#define WIRE_TERMINATED 1u   // the observation after this row is terminal: no bootstrap
#define WIRE_TRUNCATED  2u   // the episode was cut after this row: bootstrap from the next row
#define WIRE_FIRST      4u   // the first row of an episode, or the first row after a rollout
#define WIRE_END        8u   // an end row: no action, reward 0; the next row of the stream is first
#define WIRE_RANDOM     16u  // exploration replaced the policy's action
#define WIRE_FAILED     32u  // on an end row: the environment failed here
#define WIRE_ROLLOUT    64u  // on a first row: a rollout begins; on an end row: the rollout ends
#define WIRE_FLAGS      127u // all flags

// ---- frame

// Every message begins with these 12 bytes, little-endian:
//   'O' 'C' 'T' kind, u16 protocol version, u16 code, u32 topic
// code is service << 8 | method in a request (wire_rpc.h), the oct_err in a reply, else 0. topic is
// the actor id of an ack, the topic of a policy (wire_policy_topic), else 0. A subscriber
// subscribes to a prefix of the frame. This layout and the error reply (frame, then UTF-8 text)
// never change, so that a release can tell any other release why it refuses it.
#define WIRE_FRAME_BYTES 12

typedef enum wire_kind {
    WIRE_BATCH = 'B',
    WIRE_POLICY = 'P',
    WIRE_ACK = 'A',
    WIRE_REQUEST = 'Q',
    WIRE_REPLY = 'R',
    WIRE_GATHERED = 'G',
} wire_kind;

typedef struct wire_frame {
    wire_kind kind;
    uint16_t version;
    uint16_t code;
    uint32_t topic;
} wire_frame;

void wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic, uint8_t out[WIRE_FRAME_BYTES]);
// Reads a frame. Errors:
//   OCT_EPROTO  the bytes are not an Octet frame
//   OCT_EINVAL  this release does not read the frame's protocol version; *out has the frame
OCT_CHECKED oct_err wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length);

// ---- arena

// Bounded bump allocator that hands zeroed memory to unpack. Its user resets the arena instead of
// freeing it, so that a daemon in steady state allocates nothing. A valid message needs its packed
// length, 3 KiB, 128 bytes for each named number, 256 for each peer and each relay, and 16 for each
// run; a message that needs more than bytes_max fails with OCT_EPROTO. Pages are touched when they
// are first needed. A failed unpack keeps no memory.
typedef struct wire_arena wire_arena;
wire_arena *wire_arena_create(size_t bytes_max);
void wire_arena_reset(wire_arena *arena);
void wire_arena_destroy(wire_arena *arena);
// Returns why the last unpack with this arena failed, for a log line; "" after a success or a
// reset. The text lives until the next unpack or reset.
const char *wire_arena_reason(const wire_arena *arena);

// ---- actor -> replay: steps

// Steps of several streams, in columns. A stream is one environment of one session; its rows are
// numbered from 0 without gaps. A row is an observation, the action chosen for it and the reward of
// that action. An episode of L actions is L rows and an end row, so the observation that followed a
// row is always in the stream's next row. A run is a stretch of one stream with actions of a single
// policy version; the rows of run 0 come first, then the rows of run 1, and so on.
typedef struct wire_batch {
    uint32_t actor_id;
    uint64_t session;       // from wire_registered
    uint64_t sequence;      // 1, 2, 3 … within the session
    uint64_t first_unacked; // lowest sequence that the actor still holds
    uint64_t env_steps;     // of this session, including this batch
    uint32_t run_count;
    const uint32_t *run_stream;      // [run_count] < WIRE_STREAMS_MAX
    const uint64_t *run_first;       // [run_count] number of the run's first row in its stream
    const uint32_t *run_rows;        // [run_count] >= 1; their sum is count
    const uint32_t *run_version;     // [run_count] version of the policy that acted
    uint32_t count;                  // rows
    uint32_t obs_bytes;              // of one observation
    const uint8_t *obs;              // [count][obs_bytes] before the action
    uint32_t action_bytes;           // 4 (int32) for discrete, 4 * dim (float32) for box
    const uint8_t *action;           // [count][action_bytes]; zeros on an end row
    const float *reward;             // [count] as the environment gave it; 0 on an end row
    const uint8_t *flags;            // [count] WIRE_TERMINATED …
    uint32_t extra_dim;              // floats beside each action (policy_spec_extra_dim)
    const float *extra;              // [count][extra_dim]; zeros on an end row
    uint8_t token[WIRE_TOKEN_BYTES]; // from wire_registered
} wire_batch;

// Returns the count of rows of that size with which a batch stays within WIRE_BATCH_COUNT_MAX, and
// packed within WIRE_BATCH_BYTES_MAX, whatever the rows contain and even if each row is a run.
uint32_t wire_batch_rows_max(uint32_t obs_bytes, uint32_t action_bytes, uint32_t extra_dim);
// Returns the packed size with the frame. pack writes exactly that many bytes, frame first.
size_t wire_batch_size(const wire_batch *batch);
void wire_batch_pack(const wire_batch *batch, uint8_t *out);
OCT_CHECKED oct_err wire_batch_unpack(wire_batch *out, wire_arena *arena, const uint8_t *bytes,
                                      size_t length);

// ---- replay -> actor: acknowledgement

typedef struct wire_ack {
    uint32_t actor_id;
    uint64_t session;
    uint64_t sequence; // highest contiguous sequence held; the actor may free all batches up to it
    uint64_t incarnation; // random, drawn when replay starts
    uint32_t credit; // batches for which replay has room now; 0 while its limiter blocks inserts
} wire_ack;

size_t wire_ack_size(const wire_ack *ack);
void wire_ack_pack(const wire_ack *ack, uint8_t *out);
OCT_CHECKED oct_err wire_ack_unpack(wire_ack *out, const uint8_t *bytes, size_t length);
// The request with which an actor asks for its acks is in wire_token.h.

// ---- learner -> actors: policy

// The envelope carries a whole policy file (policy/policy_format.h).
typedef struct wire_policy {
    uint32_t
        topic; // of the frame: its receivers (wire_registered); 0: all, and in a wire_got_policy
    uint64_t run_id;
    uint64_t version;      // strictly grows within a run id
    uint64_t base_version; // 0: the policy is complete; else bytes is a change to that version
    uint64_t updates;      // learner updates at this version
    const uint8_t *bytes;
    size_t length;
    bool has_signature; // of the learner, where no transport authenticates it (wire_sign.h)
    uint8_t signature[WIRE_SIGNATURE_BYTES];
} wire_policy;

size_t wire_policy_size(const wire_policy *policy);
void wire_policy_pack(const wire_policy *policy, uint8_t *out);
OCT_CHECKED oct_err wire_policy_unpack(wire_policy *out, wire_arena *arena, const uint8_t *bytes,
                                       size_t length);
// Writes the prefix to which an actor subscribes: the beginning of the frames of its policies.
void wire_policy_topic(uint32_t topic, uint8_t out[WIRE_FRAME_BYTES]);

// ---- of both services

typedef struct wire_empty {
    uint8_t unused;
} wire_empty;

// Named numbers and a few texts; docs/reference.md lists the names. A reader ignores names that it
// does not know.
typedef struct wire_status {
    uint64_t run_id;
    const char *state; // "waiting for an actor", "training", "final evaluation", "stopping" …
    uint32_t stat_count;
    const char *const *stat_name;
    const double *stat_value;
    const char
        *refused; // the peer that a learner refused last, and why; or why replay rejected a batch
} wire_status;

#endif // PROTO_WIRE_H
