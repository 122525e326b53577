#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "proto/wire_speaks.h"

// What Octet's processes say to each other, as plain structs. octet.proto is the schema,
// docs/wire.md the bytes. Everything after this header line sees these structs and never a
// generated type.
//
// Threads: any; no shared state. Owns: pack borrows; an unpacked struct's pointers live in the
// arena it was unpacked with, until that arena is reset. Columns begin at a multiple of 16 bytes; a
// row inside a byte column may be unaligned: memcpy out of it. Errors: unpack checks every length,
// count and float before it returns OCT_OK; otherwise OCT_EPROTO, and nothing in *out may be used.

// Bounds that every decoder enforces.
#define WIRE_TEXT_MAX           65536   // configuration, reasons
#define WIRE_NAME_MAX           256     // ids, addresses, host names
#define WIRE_BATCH_COUNT_MAX    65536   // rows, and runs, in one batch
#define WIRE_STREAMS_MAX        65536   // of one session
#define WIRE_SAMPLE_COUNT_MAX   1048576 // rows in one sample reply, over all windows
#define WIRE_WINDOW_STEPS_MAX   16384   // rows of one window
#define WIRE_OBS_BYTES_MAX      (1u << 20)
#define WIRE_ACTIONS_MAX        256
#define WIRE_RANK_MAX           6 // of an observation (OCTET_ENV_RANK_MAX)
#define WIRE_EXTRA_MAX          64
#define WIRE_EPISODES_MAX       65536
#define WIRE_PLACES_MAX         16384 // of actors and evaluators of one learner
#define WIRE_TURN_ACTORS_MAX    256   // in lock-step
#define WIRE_SHARDS_MAX         16    // replays of one experiment
#define WIRE_STATS_MAX          512
#define WIRE_COUNT_MAX          (UINT64_C(1) << 53) // of what is counted: whole as a double, too
#define WIRE_TOKEN_BYTES        16                  // of a session (wire_token.h)
#define WIRE_TOKEN_KEY_BYTES    32
#define WIRE_SIGNING_SEED_BYTES 32 // wire_sign.h
#define WIRE_PUBLIC_KEY_BYTES   32
#define WIRE_SIGNATURE_BYTES    64
#define WIRE_BATCH_BYTES_MAX    (64u << 20)                  // of a packed batch
#define WIRE_MESSAGE_BYTES_MAX  ((256u << 20) + (64u << 10)) // the largest policy and its envelope

// Flags of a row (wire_batch.flags, wire_sampled.flags). Terminated and truncated are two flags,
// never one: contract 7. They stand on the row of an episode's last action; the end row behind it
// holds the true final observation, and no action. An environment that failed leaves a last row
// without them, and an end row marked failed: its observation is the last true one. A rollout
// begins with a row marked so and ends with an end row marked so, where the actor waits for another
// policy; the episode may go on with the next row, which is marked first either way.
#define WIRE_TERMINATED 1u   // the observation behind this row is terminal: no bootstrap
#define WIRE_TRUNCATED  2u   // the episode was cut behind this row: bootstrap from the next one
#define WIRE_FIRST      4u   // the first row of an episode, or of what goes on behind a rollout
#define WIRE_END        8u   // an end row: no action, reward 0; the next row of the stream is first
#define WIRE_RANDOM     16u  // exploration replaced the policy's action
#define WIRE_FAILED     32u  // on an end row: the environment failed here
#define WIRE_ROLLOUT    64u  // on a first row: a rollout begins; on an end row: it ends here
#define WIRE_FLAGS      127u // all of them

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
    WIRE_GATHERED = 'G',
} wire_kind;

typedef struct wire_frame {
    wire_kind kind;
    uint16_t version;
    uint16_t code;
    uint32_t topic;
} wire_frame;

void wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic, uint8_t out[WIRE_FRAME_BYTES]);
// OCT_EPROTO: not an Octet frame. OCT_EINVAL: a protocol version that is not read here (*out has
// the frame).
OCT_CHECKED oct_err wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length);

// ---- arena

// Zeroing bump allocator that unpack takes its memory from: bounded, reset not freed, so that a
// daemon in steady state allocates nothing. A good message needs its packed length, 3 KiB, 128
// bytes for each named number, 256 for each peer and each relay, and 16 for each run; one that
// needs more than bytes_max is OCT_EPROTO. Pages are touched as they are first needed. A failed
// unpack keeps no memory.
typedef struct wire_arena wire_arena;
wire_arena *wire_arena_create(size_t bytes_max);
void wire_arena_reset(wire_arena *arena);
void wire_arena_destroy(wire_arena *arena);
// Why the last unpack with this arena failed, for a log line; "" after a success or a reset. Static
// storage.
const char *wire_arena_reason(const wire_arena *arena);

// ---- actor -> replay: steps

// Steps of several streams, in columns. A stream is one environment of one session; its rows are
// numbered from 0 without gaps. A row is what was seen, what was done there and what came of it; an
// episode of L actions is L rows and an end row, so the observation that followed a row is always
// that of the stream's next row. A run is a stretch of one stream whose actions one policy version
// chose; the rows of run 0 come first, then those of run 1, and so on.
typedef struct wire_batch {
    uint32_t actor_id;
    uint64_t session;       // from wire_registered
    uint64_t sequence;      // 1, 2, 3 … within the session
    uint64_t first_unacked; // lowest sequence that the actor still holds
    uint64_t env_steps;     // of this session, up to and with this batch
    uint32_t run_count;
    const uint32_t *run_stream;      // [run_count] < WIRE_STREAMS_MAX
    const uint64_t *run_first;       // [run_count] number of the run's first row in its stream
    const uint32_t *run_rows;        // [run_count] >= 1; their sum is count
    const uint32_t *run_version;     // [run_count] of the policy that acted
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
// What an actor says first where acks come from is in wire_token.h.

// ---- learner -> actors: policy

// The envelope carries a policy file whole (policy/policy_format.h).
typedef struct wire_policy {
    uint32_t
        topic; // of the frame: whom it is for (wire_registered); 0: all, and in a wire_got_policy
    uint64_t run_id;
    uint64_t version;      // strictly grows within a run id
    uint64_t base_version; // 0: complete; else a change of that version
    uint64_t updates;      // learner updates at this version
    const uint8_t *bytes;
    size_t length;
    bool has_signature; // of the learner, where nothing else authenticates it (wire_sign.h)
    uint8_t signature[WIRE_SIGNATURE_BYTES];
} wire_policy;

size_t wire_policy_size(const wire_policy *policy);
void wire_policy_pack(const wire_policy *policy, uint8_t *out);
OCT_CHECKED oct_err wire_policy_unpack(wire_policy *out, wire_arena *arena, const uint8_t *bytes,
                                       size_t length);
// What an actor subscribes to: how the frames of its policies begin.
void wire_policy_topic(uint32_t topic, uint8_t out[WIRE_FRAME_BYTES]);

// ---- service Learner

typedef enum wire_role {
    WIRE_ROLE_ACTOR = 1,
    WIRE_ROLE_EVALUATOR = 2,
    WIRE_ROLE_TOOL = 3,
    WIRE_ROLE_RELAY = 4
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
    uint32_t max_episode_steps;     // 0: none
    double reward_threshold;        // NaN: none
    uint32_t obs_rank;              // 0: not told
    const uint32_t *obs_shape;      // [obs_rank], outermost first; their product is obs_count
    uint32_t obs_high;              // as policy_spec's
    uint32_t metric_count;          // 0: none, or its release does not tell
    const char *const *metric_name; // [metric_count] of what it measures itself
} wire_env_spec;

// Sent twice: first with has_env = false to learn the configuration, then with the environment's
// spec. A learner of another run than the configuration's answers the second as it does the first:
// with its own configuration, and without a session. Idempotent: the same session with its token,
// or the same label, gets the same answer.
typedef struct wire_register {
    wire_role role;
    uint64_t label;   // random, its own for as long as it lives; the answer is signed for it
    uint64_t session; // that the learner gave to it before; 0: none yet
    uint8_t token[WIRE_TOKEN_BYTES]; // with a session
    const char *host;
    uint32_t pid;
    bool has_env;
    wire_env_spec env;
    uint64_t run_id; // with has_env: of the configuration that it has; 0: its release tells none
    uint32_t place;  // the index that it is to have, plus 1; 0: the lowest that is free
    uint64_t libm; // lock-step: of its machine (oct_libm.h); 0: not in lock-step, or not yet known
    const char *relay_address;   // of a relay: where actors find it, "": it is for relays alone. Of
                                 // an actor: of the relay that it goes through, "": of none
    const char *relay_above;     // of a relay: of the one that it goes through itself, "": of none
    uint64_t relay_number;       // of a relay: as in wire_gathered
    uint64_t relay_above_number; // of the one that it goes through, 0: of none, or not yet known
    uint32_t relay_sessions;     // of a relay: that it passes on now
    bool relay_lost;             // of an actor: that relay cannot be reached
    bool knows_shards;           // it goes by shard, or shard_address, of the answer
} wire_register;

typedef struct wire_registered {
    bool accepted;      // false: reason says why (another observation shape, say)
    const char *reason; // "" when accepted
    uint64_t run_id;
    uint32_t actor_id;               // unique for the run; 0 until has_env was sent to its learner
    uint64_t session;                // with an actor_id: its batches and reports bear it
    uint32_t actor_index;            // place in the exploration ladder, 0-based
    uint32_t incarnation;            // how often this index was registered before
    const char *config;              // the resolved experiment file (YAML)
    const char *policy_address;      // where policies are published; may have host 0.0.0.0: use the
    const char *replay_address;      // host that the learner was reached at
    uint8_t token[WIRE_TOKEN_BYTES]; // of the session, with an actor_id; the actor repeats it
    uint32_t policy_topic;           // the policies that are for this actor (wire_policy_topic)
    bool is_relayed;                 // the two addresses are a relay's
    uint32_t shard;       // of an actor: the replay that its session is of; 0 unless knows_shards
    uint32_t shard_count; // of a relay: at most WIRE_SHARDS_MAX; 0: the learner's release knows one
    const char *const *shard_address; // [shard_count] of all replays
    bool has_signature;               // as of a policy, with the key that signs them
    uint8_t public_key[WIRE_PUBLIC_KEY_BYTES];
    uint8_t signature[WIRE_SIGNATURE_BYTES];
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
    uint32_t stat_count, metric_count;
    const char *const *stat_name; // [stat_count]
    const double *stat_value;
    const char *const *metric_name; // [metric_count] of an evaluation, as oct_metric has them
    const double *metric_sum;
    const uint32_t *metric_episodes; // at most episode_count each
    uint8_t token[WIRE_TOKEN_BYTES];
    bool leaves; // the last report: the place is given up, nothing else of it counts
} wire_report;

typedef struct wire_empty {
    uint8_t unused;
} wire_empty;

// Named numbers and a few words; names as in docs/reference.md. A reader ignores what it does not
// know.
typedef struct wire_status {
    uint64_t run_id;
    const char *state; // "waiting for an actor", "training", "final evaluation", "stopping" …
    uint32_t stat_count;
    const char *const *stat_name;
    const double *stat_value;
    const char *refused; // whom a learner refused last, and why; why replay rejected a batch
} wire_status;

// Of the checkpoint that was asked for: it is on the disk.
typedef struct wire_written {
    uint64_t updates, env_steps; // that a resumed run goes on from
} wire_written;

typedef struct wire_stop {
    const char *reason; // "interrupted", "solved" …: goes into summary.json
} wire_stop;

#endif // PROTO_WIRE_H
