#ifndef PROTO_WIRE_REPLAY_H
#define PROTO_WIRE_REPLAY_H

#include "proto/wire.h"
#include "proto/wire_hash.h"

// The messages of service Replay: the learner's requests, and the windows in replay's answers. Part
// of wire.h; the rules there hold here.

typedef enum wire_sampler {
    WIRE_SAMPLER_UNIFORM = 1,
    WIRE_SAMPLER_PRIORITIZED = 2,
    WIRE_SAMPLER_FIFO = 3,
} wire_sampler;

// Kinds of windows. A sample consists of windows over the rows of a stream.
typedef enum wire_window {
    // window_steps = n actions from any row with an action, or fewer where the episode ends.
    WIRE_WINDOW_N_STEP = 1,
    // window_steps = T rows of one stream and the observation after them. A window begins at every
    // window_stride-th row of a stream (T = 1: only if that row has an action); episodes may end
    // inside it. Stride 0: one window for each episode, from its first row to its end row, padded
    // with rows of zeros that have only WIRE_END set; an episode of more than T rows has several
    // windows.
    WIRE_WINDOW_SEQUENCE = 2,
    // The rows of one rollout, at most window_steps = T, and the observation after them. Episodes
    // may end inside it; padded in the same way.
    WIRE_WINDOW_ROLLOUT = 3,
} wire_window;

// State of the other shards of a run, as the learner knows it: each shard's limiter counts with the
// sums of all shards. inserts, samples and balance are sums; each chunk is the largest of the
// chunks in wire_sampled. The balance includes that of lost tables (learner_others.h).
typedef struct wire_others {
    uint64_t inserts, samples; // windows
    double balance;
    uint32_t insert_chunk, sample_chunk; // windows
} wire_others;

// The learner sends this request when it connects and after replay's incarnation has changed.
// Replay makes the table once per run id. The limiter's numbers, the window and its fields
// (window_steps, window_stride, discount, reward_clip) may change at any time without emptying the
// table.
typedef struct wire_configure {
    uint64_t run_id;
    uint64_t capacity; // rows
    uint32_t streams;  // streams expected at the same time, for which the table has room
    uint32_t obs_bytes;
    bool obs_is_float; // observations are float32: checked finite
    uint32_t action_bytes;
    bool action_is_float;
    uint32_t action_count; // an action is an int32 from 0 to action_count - 1; 0: unchecked
    // Bounds of a box action. action_bounds: length of both, action_bytes / 4; 0: unknown.
    uint32_t action_bounds;
    float action_low[WIRE_ACTIONS_MAX], action_high[WIRE_ACTIONS_MAX];
    uint32_t extra_dim;
    wire_sampler sampler;
    double priority_exponent;
    wire_window window;
    uint32_t window_steps;  // n, or T
    uint32_t window_stride; // WIRE_WINDOW_SEQUENCE
    double discount;        // gamma, WIRE_WINDOW_N_STEP
    double reward_clip;     // N_STEP: each reward is clipped to [-x, x] before it is summed; 0: no
                            // clipping
    uint64_t min_size;      // windows
    double samples_per_insert; // windows drawn for each window inserted; 0: no limit on the ratio
    double tolerance; // band = tolerance * min_size * samples_per_insert samples on either side
    uint64_t seed;
    bool limiter_only;                            // only samples_per_insert and tolerance count
    bool keep_samples_per_insert, keep_tolerance; // limiter_only: the table keeps its value
    // If the limiter's numbers change: limiter_parts is the number of shards that get the new
    // numbers, and each changes its balance by its share; 0 counts as 1. others is the state before
    // the change; with limiter_only the others of the last Sample count instead.
    uint32_t limiter_parts;
    wire_others others;
    bool release;   // the run no longer needs the table; only run_id and epoch count
    uint64_t epoch; // of the learner: grows with each learner of a run; 0: none
    // table: id of the table that the learner learned from before; 0: none. samples: windows of
    // that table that it learned from or still holds. Replay counts the other windows that the
    // table gave out as not sampled, because their updates are lost.
    uint64_t table, samples;
    // Lock-step (docs/determinism.md): replay stores the batches of a turn once all have arrived.
    uint32_t turn_actors; // count of actors, at most WIRE_TURN_ACTORS_MAX; 0: not in lock-step
    uint64_t turn; // the run continues after this turn: at the first request of an epoch replay
                   // returns to the copy that it kept of the table at this turn; 0: an empty table
    uint8_t turn_digest[WIRE_HASH_BYTES];    // wire_digest of that copy; all 0 with turn 0
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES]; // secret; absent with limiter_only or release
} wire_configure;

// The state of the table before this learner draws from it.
typedef struct wire_configured {
    uint64_t incarnation; // of replay
    uint64_t table; // id: lasts as long as the counters, in a file also over processes; 0: no table
    uint64_t steps; // as in wire_sampled
    uint64_t inserts;
    uint64_t samples;  // before returned was subtracted
    uint64_t returned; // windows that no longer count as sampled; at most samples
    uint64_t libm;     // lock-step: of its machine (oct_libm.h); 0: not in lock-step
    double balance;    // as in wire_sampled, after returned was subtracted
} wire_configured;

typedef struct wire_sample {
    uint64_t run_id;
    uint32_t batch_size;  // windows
    uint32_t batches;     // most batches in the reply; 0: replay sends only the counters, at once
    uint32_t timeout_ms;  // how long replay may hold the request while the limiter forbids sampling
    uint32_t version_min; // FIFO: windows with an action of an older policy are dropped; 0: none
    uint64_t epoch;       // of the learner
    // Lock-step: the request asks for batches of a turn, and the first such request begins the
    // turn. Replay waits for a batch of policy version `turn` from each actor in turn_actor, and
    // stores these batches in the order of the list. A repeated request gets the same answer.
    uint64_t turn;              // 0: not in lock-step
    uint32_t turn_first;        // index within the turn of the first batch to send
    uint32_t turn_actor_count;  // as turn_actors of wire_configure
    const uint32_t *turn_actor; // [turn_actor_count] ids, in the order of their indices
    wire_others others;
} wire_sample;

// Columns of count windows. R below is 1 for WIRE_WINDOW_N_STEP and T for sequences, which include
// rollouts here.
typedef struct wire_sampled {
    uint64_t incarnation;
    bool configured; // false: send Configure first (replay was restarted)
    uint32_t count;  // windows: batches * batch_size; 0: the limiter did not allow sampling in time
    uint32_t window_steps; // T; 0: n-step windows
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    const uint8_t *obs;      // [count][obs_bytes]; sequences: [count][T + 1][obs_bytes]
    const uint8_t *next;     // [count][obs_bytes] the observation after the window; n-step only
    const uint8_t *action;   // [count][R][action_bytes]
    const float *reward;     // n-step: [count] sum_{i<k} gamma^i r_{t+i}; sequences: [count][T] raw
    const float *discount;   // [count] gamma^k, 0 when terminated; n-step only
    const uint8_t *flags;    // [count][T]; sequences only
    const uint32_t *version; // [count][T] version of the policy that acted; sequences only
    const float *extra;      // [count][R][extra_dim]
    const float *probability; // [count] probability with which the window was drawn
    const uint64_t *key;      // [count] for UpdatePriorities
    uint64_t size;            // windows in the table
    uint64_t inserts;         // windows, since the table was made
    uint64_t samples;         // windows, since the table was made
    uint64_t given_up;        // windows dropped as too old (version_min), since the table was made
    uint64_t steps;           // rows with an action, since then; a run's steps are counted from it
    uint64_t turn;            // as in the request; another number: the turn has not begun
    uint32_t turn_batches;    // count of all batches of the turn
    double mass;    // sum over the table of priority ^ exponent, to which the probability of a
                    // window is proportional; uniform, fifo: size
    double balance; // of the limiter, this table's own part
    uint32_t insert_chunk, sample_chunk; // windows: the largest insert, and sample, asked of it
} wire_sampled;

typedef struct wire_priorities {
    uint64_t incarnation;
    uint32_t count;
    const uint64_t *key;   // [count]
    const float *priority; // [count] |TD error|, finite, >= 0
    uint64_t run_id;
    uint64_t epoch; // of the learner
} wire_priorities;

// Asks for a SHA-256 of the table after a turn. The digest covers all state that decides what the
// table does next (rows, priorities, counters, random generator), but no addresses, times or random
// ids.
typedef struct wire_digest_request {
    uint64_t run_id;
    uint64_t epoch; // of the learner
    uint64_t turn;  // the last turn that the table has
    uint32_t keep;  // above 0: keep a copy of the table for Configure, and at most `keep` copies
} wire_digest_request;

typedef struct wire_digest {
    uint64_t turn;
    uint8_t sha256[WIRE_HASH_BYTES];
} wire_digest;

// Answer of window_origins: for each key of the wire_priorities, in order, the actor and session of
// the first row of its window; 0 and 0 where the window has left the table.
// Request of inserted_sessions: sessions to check. Answer: the sessions of the request with rows
// that the table accepted.
typedef struct wire_sessions {
    uint64_t run_id;
    uint32_t count;           // at most WIRE_PLACES_MAX
    const uint32_t *actor_id; // [count]
    const uint64_t *session;  // [count]
} wire_sessions;

#endif // PROTO_WIRE_REPLAY_H
