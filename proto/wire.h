#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// What Octet's processes say to each other, as plain structs. octet.proto is the schema,
// docs/wire.md the bytes. Everything after this header line sees these structs and never a
// generated type.
//
// Threads: any; no shared state. Owns: pack borrows; an unpacked struct's pointers live in the
// arena it was unpacked with, until that arena is reset. Columns begin at a multiple of 16 bytes; a
// row inside a byte column may be unaligned: memcpy out of it. Errors: unpack checks every length,
// count and float before it returns OCT_OK; otherwise OCT_EPROTO, and nothing in *out may be used.

#define WIRE_PROTOCOL_VERSION 2

// Bounds that every decoder enforces.
#define WIRE_TEXT_MAX          65536   // configuration, reasons
#define WIRE_NAME_MAX          256     // ids, addresses, host names
#define WIRE_BATCH_COUNT_MAX   65536   // transitions or observations in one batch
#define WIRE_SAMPLE_COUNT_MAX  1048576 // transitions in one sample reply
#define WIRE_OBS_BYTES_MAX     (1u << 20)
#define WIRE_ACTIONS_MAX       256
#define WIRE_RANK_MAX          6 // of an observation (OCTET_ENV_RANK_MAX)
#define WIRE_EXTRA_MAX         64
#define WIRE_EPISODES_MAX      65536
#define WIRE_STATS_MAX         512
#define WIRE_TOKEN_BYTES       16 // of a session (wire_token.h)
#define WIRE_TOKEN_KEY_BYTES   32
#define WIRE_MESSAGE_BYTES_MAX ((256u << 20) + (64u << 10)) // the largest policy and its envelope

// Transition flags (column wire_batch.flags). Two fields, never one: contract 7.
#define WIRE_TERMINATED 1u // next is terminal: no bootstrap (discount is 0)
#define WIRE_TRUNCATED  2u // next is the true final observation: bootstrap from it

// ---- frame

// Every message begins with these 12 bytes, little-endian:
//   'O' 'C' 'T' kind, u16 protocol version, u16 code, u32 topic
// code: service << 8 | method of a request (wire_rpc.h), the oct_err of a reply, else 0. topic: the
// actor id of an ack, else 0. A SUB subscribes to a prefix of the frame. This layout and the reply
// to an error (frame, then UTF-8 text) never change, so that releases can refuse each other in
// words.
#define WIRE_FRAME_BYTES 12

typedef enum wire_kind {
    WIRE_BATCH = 'B',
    WIRE_POLICY = 'P',
    WIRE_ACK = 'A',
    WIRE_REQUEST = 'Q',
    WIRE_REPLY = 'R',
} wire_kind;

typedef struct wire_frame {
    wire_kind kind;
    uint16_t version;
    uint16_t code;
    uint32_t topic;
} wire_frame;

void wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic, uint8_t out[WIRE_FRAME_BYTES]);
// OCT_EPROTO: not an Octet frame. OCT_EINVAL: another protocol version (out->version says which).
OCT_CHECKED oct_err wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length);

// ---- arena

// Zeroing bump allocator that unpack takes its memory from: bounded, reset not freed, so that a
// daemon in steady state allocates nothing. A good message needs its packed length, 2 KiB, and 128
// bytes for each named number or peer; one that needs more than bytes_max is OCT_EPROTO. Pages are
// touched as they are first needed. A failed unpack keeps no memory.
typedef struct wire_arena wire_arena;
wire_arena *wire_arena_create(size_t bytes_max);
void wire_arena_reset(wire_arena *arena);
void wire_arena_destroy(wire_arena *arena);
// Why the last unpack with this arena failed, for a log line; "" after a success or a reset. Static
// storage.
const char *wire_arena_reason(const wire_arena *arena);

// ---- actor -> replay: transitions

// One batch of n-step transitions, in columns. Each observation is sent once: observations of a
// session are numbered from 0 in the order sent; this batch carries
// obs_first .. obs_first + obs_count - 1, and transitions refer to
// them by number - obs_first (negative: an earlier batch).
typedef struct wire_batch {
    uint32_t actor_id;
    uint64_t session;        // random, drawn when the actor starts
    uint64_t sequence;       // 1, 2, 3 … within the session
    uint64_t first_unacked;  // lowest sequence that the actor still holds
    uint64_t policy_version; // that acted last
    uint64_t env_steps;      // of this session, up to and with this batch
    uint64_t obs_first;
    uint32_t obs_count;
    uint32_t obs_bytes;         // of one observation
    const uint8_t *obs;         // [obs_count][obs_bytes]
    uint32_t count;             // transitions
    uint32_t action_bytes;      // 4 (int32) for discrete, 4 * dim (float32) for box
    const uint8_t *action;      // [count][action_bytes]
    const int32_t *obs_offset;  // [count] number of s_t minus obs_first
    const int32_t *next_offset; // [count] number of s_{t+k} minus obs_first
    const float *reward;        // [count] sum_{i<k} gamma^i r_{t+i}
    const float *discount;      // [count] gamma^k, 0 when terminated
    const uint8_t *flags;       // [count] WIRE_TERMINATED | WIRE_TRUNCATED
    uint32_t extra_dim;         // floats of behaviour information (log-probability …), 0 for DQN
    const float *extra;         // [count][extra_dim]
    uint8_t token[WIRE_TOKEN_BYTES]; // from wire_registered
} wire_batch;

// Packed size with the frame; pack writes exactly that many bytes, frame first.
size_t wire_batch_size(const wire_batch *batch);
void wire_batch_pack(const wire_batch *batch, uint8_t *out);
OCT_CHECKED oct_err wire_batch_unpack(wire_batch *out, wire_arena *arena, const uint8_t *bytes,
                                      size_t length);

// ---- replay -> actor: acknowledgement

typedef struct wire_ack {
    uint32_t actor_id;
    uint64_t session;
    uint64_t sequence;    // highest contiguous sequence held; everything up to it may be forgotten
    uint64_t incarnation; // random, drawn when replay starts
    uint32_t credit; // batches that replay has room for now; 0 while its limiter blocks inserts
} wire_ack;

size_t wire_ack_size(const wire_ack *ack);
void wire_ack_pack(const wire_ack *ack, uint8_t *out);
OCT_CHECKED oct_err wire_ack_unpack(wire_ack *out, const uint8_t *bytes, size_t length);
// What an actor says first where acks come from: it gets its own, and nobody else's.
void wire_ack_topic(uint32_t actor_id, uint8_t out[WIRE_FRAME_BYTES]);

// ---- learner -> actors: policy

// The envelope carries a policy file whole (policy/policy_format.h).
typedef struct wire_policy {
    uint64_t run_id;
    uint64_t version;      // strictly grows within a run id
    uint64_t base_version; // 0: complete; else a change of that version
    uint64_t updates;      // learner updates at this version
    const uint8_t *bytes;
    size_t length;
} wire_policy;

size_t wire_policy_size(const wire_policy *policy);
void wire_policy_pack(const wire_policy *policy, uint8_t *out);
OCT_CHECKED oct_err wire_policy_unpack(wire_policy *out, wire_arena *arena, const uint8_t *bytes,
                                       size_t length);

// ---- service Learner

typedef enum wire_role {
    WIRE_ROLE_ACTOR = 1,
    WIRE_ROLE_EVALUATOR = 2,
    WIRE_ROLE_TOOL = 3
} wire_role;

// What an actor found out about its environment (include/octet/env.h).
typedef struct wire_env_spec {
    const char *env_id;
    uint32_t obs_dtype;      // policy_dtype
    uint32_t obs_count;      // numbers in one flattened observation
    uint32_t action_kind;    // policy_action_kind
    uint32_t action_count;   // discrete: how many; box: dimension
    const float *action_low; // [action_count] for box, NULL for discrete
    const float *action_high;
    uint32_t max_episode_steps; // 0: none
    double reward_threshold;    // NaN: none
    uint32_t obs_rank;          // 0: not told
    const uint32_t *obs_shape;  // [obs_rank], outermost first; their product is obs_count
} wire_env_spec;

// Sent twice: first with has_env = false to learn the configuration, then with the environment's
// spec. Idempotent: the same (session) gets the same answer.
typedef struct wire_register {
    wire_role role;
    uint64_t session;
    const char *host;
    uint32_t pid;
    bool has_env;
    wire_env_spec env;
} wire_register;

typedef struct wire_registered {
    bool accepted;      // false: reason says why (another observation shape, say)
    const char *reason; // "" when accepted
    uint64_t run_id;
    uint32_t actor_id;               // unique for the run; 0 until has_env was sent
    uint32_t actor_index;            // place in the exploration ladder, 0-based
    const char *config;              // the resolved experiment file (YAML)
    const char *policy_address;      // where policies are published; may have host 0.0.0.0: use the
    const char *replay_address;      // host that the learner was reached at
    uint8_t token[WIRE_TOKEN_BYTES]; // of the session, with an actor_id; the actor repeats it
} wire_registered;

typedef enum wire_policy_purpose {
    WIRE_PURPOSE_CATCH_UP = 1, // newest version, if newer than have_version
    WIRE_PURPOSE_EVALUATE = 2, // what the learner wants evaluated next, and on how many episodes
} wire_policy_purpose;

typedef struct wire_get_policy {
    uint32_t actor_id;
    wire_policy_purpose purpose;
    uint64_t have_version;
    uint8_t token[WIRE_TOKEN_BYTES];
} wire_get_policy;

typedef struct wire_got_policy {
    bool has_policy; // false: nothing newer, or nothing to evaluate now
    wire_policy policy;
    uint64_t ticket;   // evaluation: repeated in the report
    uint32_t episodes; // evaluation: how many
    uint64_t seed;     // evaluation: of the environments
} wire_got_policy;

// Finished episodes, and the actor's own numbers. report_sequence makes it idempotent.
typedef struct wire_report {
    uint32_t actor_id;
    uint64_t session;
    uint64_t report_sequence;
    uint64_t policy_version; // in use now
    uint64_t env_steps;      // of this session
    uint64_t ticket;         // 0: training episodes; else the evaluation this answers
    uint32_t episode_count;
    const float *episode_return;    // [episode_count] undiscounted
    const uint32_t *episode_length; // [episode_count]
    uint32_t stat_count;
    const char *const *stat_name; // [stat_count]
    const double *stat_value;
    uint8_t token[WIRE_TOKEN_BYTES];
} wire_report;

typedef struct wire_empty {
    uint8_t unused;
} wire_empty;

// Named numbers and a few words; names as in docs/operations.md. A reader ignores what it does not
// know.
typedef struct wire_status {
    uint64_t run_id;
    const char *state; // "waiting for an actor", "training", "final evaluation", "stopping" …
    uint32_t stat_count;
    const char *const *stat_name;
    const double *stat_value;
} wire_status;

typedef struct wire_stop {
    const char *reason; // "interrupted", "solved" …: goes into summary.json
} wire_stop;

// ---- service Replay

typedef enum wire_sampler {
    WIRE_SAMPLER_UNIFORM = 1,
    WIRE_SAMPLER_PRIORITIZED = 2,
    WIRE_SAMPLER_FIFO = 3,
} wire_sampler;

// From the learner, when it connects and whenever the incarnation changed. The table (everything
// but the limiter) is made once per run id; the limiter's numbers may change at any time.
typedef struct wire_configure {
    uint64_t run_id;
    uint64_t capacity; // transitions
    uint32_t obs_bytes;
    bool obs_is_float; // observations are float32: checked finite
    uint32_t action_bytes;
    bool action_is_float;
    uint32_t extra_dim;
    wire_sampler sampler;
    double priority_exponent;
    uint64_t min_size;
    double samples_per_insert; // 0: no limit on the ratio
    double tolerance; // band = tolerance * min_size * samples_per_insert samples either side
    uint64_t seed;
    bool limiter_only;
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES]; // secret; not with limiter_only
} wire_configure;

typedef struct wire_sample {
    uint64_t run_id;
    uint32_t batch_size;
    uint32_t batches;    // at most this many batches in one reply, at least one
    uint32_t timeout_ms; // how long replay may hold the request while the limiter forbids sampling
} wire_sample;

typedef struct wire_sampled {
    uint64_t incarnation;
    bool configured; // false: send Configure first (replay was restarted)
    uint32_t count;  // transitions: batches * batch_size; 0 when the limiter forbade it in time
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    const uint8_t *obs;       // [count][obs_bytes]
    const uint8_t *next;      // [count][obs_bytes]
    const uint8_t *action;    // [count][action_bytes]
    const float *reward;      // [count] n-step
    const float *discount;    // [count]
    const float *probability; // [count] of having been drawn
    const uint64_t *key;      // [count] for UpdatePriorities
    const float *extra;       // [count][extra_dim]
    uint64_t size;            // transitions in the table
    uint64_t inserts;         // ever
    uint64_t samples;         // ever
} wire_sampled;

typedef struct wire_priorities {
    uint64_t incarnation;
    uint32_t count;
    const uint64_t *key;   // [count]
    const float *priority; // [count] |TD error|, finite, >= 0
} wire_priorities;

#endif // PROTO_WIRE_H
