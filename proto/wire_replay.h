#ifndef PROTO_WIRE_REPLAY_H
#define PROTO_WIRE_REPLAY_H

#include "proto/wire.h"
#include "proto/wire_hash.h"

// The messages of service Replay, as wire.h has the others: what the learner tells replay, and the
// windows that it gets.

typedef enum wire_sampler {
    WIRE_SAMPLER_UNIFORM = 1,
    WIRE_SAMPLER_PRIORITIZED = 2,
    WIRE_SAMPLER_FIFO = 3,
} wire_sampler;

// What a sample is made of: windows over the rows of a stream.
typedef enum wire_window {
    // Begins at any row with an action; window_steps = n actions, fewer where the episode ends.
    WIRE_WINDOW_N_STEP = 1,
    // window_steps = T rows of one stream and the observation behind them. Begins at every
    // window_stride-th row of a stream, whatever episodes end inside (T = 1: that has an action).
    // Stride 0: one window for each episode, from its first row to its end row, filled up with rows
    // that have only WIRE_END set and zeros; what an episode has beyond T rows follows in further
    // windows.
    WIRE_WINDOW_SEQUENCE = 2,
    // The rows of one rollout, at most window_steps = T and the observation behind them, whatever
    // episodes end inside; filled up as above.
    WIRE_WINDOW_ROLLOUT = 3,
} wire_window;

// What the other shards of a run have, as the learner knows them: the limiter holds over all of
// them. Counters and balances are summed; of the chunks (wire_sampled's) each is the largest.
// The balance has what tables had that are no more, too (learner_shards.h).
typedef struct wire_others {
    uint64_t inserts, samples; // windows
    double balance;
    uint32_t insert_chunk, sample_chunk; // windows
} wire_others;

// From the learner, when it connects and whenever the incarnation changed. The table is made once
// per run id; the limiter's numbers, the window and what is gathered from it (window_steps,
// window_stride, discount, reward_clip) may change at any time without emptying it.
typedef struct wire_configure {
    uint64_t run_id;
    uint64_t capacity; // rows
    uint32_t streams;  // that are expected at the same time: the table has room for them
    uint32_t obs_bytes;
    bool obs_is_float; // observations are float32: checked finite
    uint32_t action_bytes;
    bool action_is_float;
    uint32_t action_count; // an action is an int32 below this one; 0: it may be anything
    // The bounds of a box action; action_bounds: of action_bytes / 4 numbers, or 0, unknown.
    uint32_t action_bounds;
    float action_low[WIRE_ACTIONS_MAX], action_high[WIRE_ACTIONS_MAX];
    uint32_t extra_dim;
    wire_sampler sampler;
    double priority_exponent;
    wire_window window;
    uint32_t window_steps;     // n, or T
    uint32_t window_stride;    // WIRE_WINDOW_SEQUENCE
    double discount;           // gamma, WIRE_WINDOW_N_STEP
    double reward_clip;        // each reward to [-x, x] before it is summed; 0: not; N_STEP
    uint64_t min_size;         // windows
    double samples_per_insert; // windows drawn for each window inserted; 0: no limit on the ratio
    double tolerance; // band = tolerance * min_size * samples_per_insert samples either side
    uint64_t seed;
    bool limiter_only; // of all this only samples_per_insert and tolerance count
    bool keep_samples_per_insert, keep_tolerance; // limiter_only: it stays as the table has it
    // Where the limiter's numbers are others than the table's: so many shards are told them, and
    // each changes its balance by its part; 0 counts as 1. others: what they had before; with
    // limiter_only as the last Sample said.
    uint32_t limiter_parts;
    wire_others others;
    bool release;   // the run needs the table no more; nothing else of this counts
    uint64_t epoch; // of the learner: grows with each of a run; 0: none
    // Of the windows that this table gave out, so many were learned from; more were given for
    // updates that are lost. 0: the learner knows no table, or has no business with another one.
    uint64_t table, samples;
    // Lock-step (docs/determinism.md): batches wait until those of a turn are all there.
    uint32_t turn_actors; // of a turn, at most WIRE_TURN_ACTORS_MAX; 0: not in lock-step
    uint64_t turn; // the table has what the turns up to this one brought, and nothing else: for a
                   // learner that is new to it replay goes back to the copy of that turn
    uint8_t turn_digest[WIRE_HASH_BYTES];    // wire_digest of that copy; all 0 with turn 0
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES]; // secret; not with limiter_only, release
} wire_configure;

// Where the table is, before anything is drawn from it for this learner.
typedef struct wire_configured {
    uint64_t incarnation; // of replay
    uint64_t table; // who it is: as long as its counters go on, also in another process; 0: none
    uint64_t steps; // as in wire_sampled
    uint64_t inserts;
    uint64_t samples;  // before those were given back that
    uint64_t returned; // nobody has learned from
    uint64_t libm;     // lock-step: of its machine (oct_libm.h); 0: not in lock-step
    double balance;    // as in wire_sampled, with what was given back
} wire_configured;

typedef struct wire_sample {
    uint64_t run_id;
    uint32_t batch_size;  // windows
    uint32_t batches;     // at most this many batches in one reply; 0: only the counters, at once
    uint32_t timeout_ms;  // how long replay may hold the request while the limiter forbids sampling
    uint32_t version_min; // FIFO: windows with an action of an older policy are given up; 0: none
    uint64_t epoch;       // of the learner
    // Lock-step: the batches drawn in a turn, which begins with this request: it waits until each
    // of these actors has sent what it made with policy version turn, and stores that in the order
    // of the list. Asked again, it answers the same.
    uint64_t turn;              // 0: not in lock-step
    uint32_t turn_first;        // batches of the turn before the first one asked for
    uint32_t turn_actor_count;  // configure's turn_actors
    const uint32_t *turn_actor; // [turn_actor_count] ids, in the order of their indices
    wire_others others;
} wire_sample;

// Columns of count windows. R below is 1 for WIRE_WINDOW_N_STEP and T for
// sequences, which rollouts are here, too.
typedef struct wire_sampled {
    uint64_t incarnation;
    bool configured;       // false: send Configure first (replay was restarted)
    uint32_t count;        // windows: batches * batch_size; 0 when the limiter forbade it in time
    uint32_t window_steps; // T; 0: n-step windows
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    const uint8_t *obs;      // [count][obs_bytes]; sequences: [count][T + 1][obs_bytes]
    const uint8_t *next;     // [count][obs_bytes] the observation behind the window; n-step only
    const uint8_t *action;   // [count][R][action_bytes]
    const float *reward;     // n-step: [count] sum_{i<k} gamma^i r_{t+i}; sequences: [count][T] raw
    const float *discount;   // [count] gamma^k, 0 when terminated; n-step only
    const uint8_t *flags;    // [count][T]; sequences only
    const uint32_t *version; // [count][T] of the policy that acted; sequences only
    const float *extra;      // [count][R][extra_dim]
    const float *probability; // [count] of having been drawn
    const uint64_t *key;      // [count] for UpdatePriorities
    uint64_t size;            // windows in the table
    uint64_t inserts;         // windows, ever
    uint64_t samples;         // windows, ever
    uint64_t given_up;        // windows, ever, that were too old (version_min)
    uint64_t steps;           // rows with an action, ever: what a run's steps are counted from
    uint64_t turn;            // as asked for; another: the turn has not begun
    uint32_t turn_batches;    // that the turn has in all
    double mass;    // what windows are drawn in proportion to, summed over the table: priority ^
                    // exponent; uniform, fifo: size
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

// What the table is after a turn, as a SHA-256 of all that decides what it does from there on:
// rows, priorities, counters, generator; no addresses, times, ids of chance.
typedef struct wire_digest_request {
    uint64_t run_id;
    uint64_t epoch; // of the learner
    uint64_t turn;  // the last one that the table has
    uint32_t keep;  // 0, or: keep a copy of the table, which Configure can name, and so many in all
} wire_digest_request;

typedef struct wire_digest {
    uint64_t turn;
    uint8_t sha256[WIRE_HASH_BYTES];
} wire_digest;

// Of window_origins: whose rows the windows of the keys of a wire_priorities begin with, in their
// order; actor 0 and session 0 where the window has left.
// Of inserted_sessions: which of these sessions have brought rows that the table took. The answer
// has those that have.
typedef struct wire_sessions {
    uint64_t run_id;
    uint32_t count;           // at most WIRE_PLACES_MAX
    const uint32_t *actor_id; // [count]
    const uint64_t *session;  // [count]
} wire_sessions;

#endif // PROTO_WIRE_REPLAY_H
