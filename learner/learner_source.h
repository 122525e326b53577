#ifndef LEARNER_LEARNER_SOURCE_H
#define LEARNER_LEARNER_SOURCE_H

#include "learner/learner_batch.h"
#include "learner/learner_versions.h"

// One replay, as the learner sees it: whether it is configured and answers, which process it is,
// the batches promised to requests, filled by answers and learned from, and the priorities on their
// way back. No sockets and no clock: learner_io carries the messages, callers say what time it is.
//
// A batch goes: free -> promised to a request (reserve) -> filled (sampled) -> taken by the caller
// (take) -> free again (give). Free and promised ones are only numbers here, so that an answer
// with fewer batches than were asked for loses nothing.
//
// Threads: the loop thread. Owns: all batches, taken ones too, and the priorities.
// Full: nothing is asked for while no batch is free; priorities that do not fit are left out.
typedef struct learner_source learner_source;

// Tables of one replay that are remembered beside the present one.
#define LEARNER_TABLES_KEPT 16

// A table that replay had before the present one, as it was when it was last there.
typedef struct learner_source_earlier {
    uint64_t table;          // 0: none
    uint64_t steps, samples; // learner_source_place
} learner_source_earlier;

// How far a replay's table was when something was learned from it: what a checkpoint keeps.
typedef struct learner_source_place {
    uint64_t table;   // wire_configured; 0: no table was known
    uint64_t steps;   // of environments, that it had taken
    uint64_t samples; // windows of it that were learned from
    // Of a shard, what the others' limiters count with until it is heard of: wire_sampled's.
    uint64_t inserts;
    double balance;
    // Replay may have one of them again (another --path): its steps count once. Newest first; the
    // oldest one makes room.
    learner_source_earlier earlier[LEARNER_TABLES_KEPT];
} learner_source_place;

typedef struct learner_source_options {
    const oct_config *config; // borrowed
    const policy_spec *spec;  // borrowed
    algo_wants wants;
    uint32_t batch_size; // windows in each batch of this source
    uint64_t run_id;
    uint64_t epoch;             // of this learner among those of the run
    const uint8_t *token_key;   // [WIRE_TOKEN_KEY_BYTES], borrowed
    learner_source_place place; // that the run goes on from
    // A table that nobody knows yet was this run's from its beginning: all that it took counts.
    bool counts_from_zero;
    bool keeps_priorities; // all of them, however many: memory for them grows
    // One of several replays: the table has its part of the rows. There are no batches here, and
    // windows are counted one by one (learner_shards.h).
    bool is_shard;
    uint32_t shard;
    // Lock-step: the turn that replay's table goes back to when this process begins, and its hash.
    uint64_t turn;
    uint8_t turn_digest[WIRE_HASH_BYTES];
    learner_versions versions; // of the run, for lag_max and the lags of batches
    uint64_t now_ns;
} learner_source_options;

// Why windows of this spec cannot be asked for, or not be made: a batch is more than one answer may
// hold, or what an actor sends at once more than one message may. OCT_EINVAL: reason names the
// keys.
OCT_CHECKED oct_err learner_source_check(const learner_source_options *options, char *reason,
                                         size_t reason_size);
// Whether its table gives out each window once, oldest first.
bool learner_source_takes(const learner_source_options *options);
// Batches that are asked for, learned from or between these at one time, of one replay.
uint32_t learner_source_in_work(const learner_source_options *options);
// Batches that one request may ask for; the bytes of an answer with so many.
uint32_t learner_source_request_max(const learner_source_options *options);
uint64_t learner_source_answer_bytes(const learner_source_options *options);
// What the columns of its batches take.
uint64_t learner_source_bytes(const learner_source_options *options);
// The table that config, spec and wants need: of no run yet, and without the tokens' key.
wire_configure learner_source_table(const learner_source_options *options);
learner_source *learner_source_create(const learner_source_options *options);
void
learner_source_destroy(learner_source *source); // NULL is a no-op; nobody uses a batch any more

const learner_source_options *learner_source_options_of(const learner_source *source);
uint32_t learner_source_batches(const learner_source *source); // all there are

// ---- the link

// That the table is needed no more: another run may have it.
wire_configure learner_source_release(const learner_source *source);
// The limiter of the table that is there, as the configuration has it.
wire_configure learner_source_limiter(const learner_source *source);
// The table that is wanted: holds the tokens' key, to be erased after use.
wire_configure learner_source_configure(const learner_source *source);
// Whether Configure is to be sent now: replay has no table of this run, none is on its way, and the
// last attempt is long enough ago. True: it counts as sent.
bool learner_source_needs_configure(learner_source *source, uint64_t now_ns);
// Configure was answered, or not sent after all. OCT_OK: requests may go; answer says where the
// table is, NULL: it does not.
void learner_source_configured(learner_source *source, oct_err err, const wire_configured *answer);
bool learner_source_is_configured(const learner_source *source);
// A call failed, or one succeeded. True: the first time, to be logged once.
bool learner_source_lost(learner_source *source);
bool learner_source_back(learner_source *source);
bool learner_source_is_lost(const learner_source *source);

// ---- batches

// Batches that may be asked for now, as the request; they are promised to it until _missed or
// _sampled. newest_version is what lag_max is counted from. 0: none.
uint32_t learner_source_request(learner_source *source, uint64_t newest_version, wire_sample *out);
// The oldest version that windows may have now, 0: any.
uint32_t learner_source_version_min(const learner_source *source, uint64_t newest_version);
// A request without an answer.
void learner_source_missed(learner_source *source, uint32_t promised);
// An answer, when a share of the run's budget is spent: fills as many batches as it holds.
// OCT_EPROTO: it does not fit; what fitted is kept. OCT_EAGAIN: replay has no table, it is to be
// configured again.
OCT_CHECKED oct_err learner_source_sampled(learner_source *source, uint32_t promised,
                                           const wire_sampled *sampled, double share,
                                           uint64_t now_ns);
uint32_t learner_source_filled(const learner_source *source); // how many are
// The next filled batch, NULL: none. The caller gives it back when it was learned from.
learner_batch *learner_source_take(learner_source *source);
void learner_source_give(learner_source *source, learner_batch *batch, uint64_t now_ns);
// ---- windows of a shard, which learner_shards asks for

// Windows that one request may ask for, at most: twice what it may of one replay where they are
// drawn, because waking a process costs as much as hundreds of them.
uint32_t learner_source_windows_max(const learner_source *source);
// A request for windows, some at a time: the answer has a multiple of at_once. windows: a multiple,
// too; 0: for the counters alone, of any replay. Actions of versions before version_min are given
// up. others: what the other shards have.
void learner_source_ask(const learner_source *source, uint32_t windows, uint32_t at_once,
                        uint32_t version_min, const wire_others *others, wire_sample *out);
// An answer, whose windows are the caller's. OCT_EAGAIN: replay has no table, it is to be
// configured again.
OCT_CHECKED oct_err learner_source_heard(learner_source *source, const wire_sampled *sampled);
// Whether its counters were heard of since it was configured.
bool learner_source_is_known(const learner_source *source);
// So many windows were kept of an answer.
void learner_source_arrived(learner_source *source, uint32_t windows, uint64_t now_ns);
void learner_source_bad(learner_source *source); // an answer that did not fit
// Priorities of windows that were learned from; those of another process than it is now are not
// taken.
void learner_source_return(learner_source *source, uint64_t incarnation, uint32_t count,
                           const uint64_t *key, const float *priority);

// Priorities of batches given back, in their order, as many as one message may have; those that do
// not fit come with the next call. False: none, or replay is another process now. Valid until the
// next give.
bool learner_source_priorities(learner_source *source, wire_priorities *out);
bool learner_source_has_priorities(const learner_source *source);

// ---- numbers

// How far the table was ahead of the place that this process went on from.
typedef struct learner_source_ahead {
    bool is_known;   // there was such a place, and replay was configured
    bool is_other;   // replay's table is another one
    bool is_earlier; // and one that the run had before
    uint64_t lost;   // is_other: steps that the table of that place held
    int64_t steps;   // taken after it; below 0: replay has lost so many that came before it
    uint64_t batches, returned; // drawn after it, and those of them that are drawn again
} learner_source_ahead;
learner_source_ahead learner_source_found(const learner_source *source);
// Whether the run had this table before the present one.
bool learner_source_had(const learner_source *source, uint64_t table);
// Where the table is, after so many batches (of a shard: windows) of this process were learned
// from.
learner_source_place learner_source_place_after(const learner_source *source, uint64_t batches);

typedef struct learner_source_counts {
    bool is_up;                      // configured, and answers
    uint64_t incarnation;            // of replay, 0: never heard of
    uint64_t size, inserts, samples; // windows, as replay last said
    uint64_t given_up;               // windows too old to be learned from, as replay last said
    uint64_t missed; // windows that replay gave out, as it last said, and that have not come
    // Of a shard, wire_sampled's.
    double mass, balance;
    uint32_t insert_chunk, sample_chunk;
    uint64_t steps;              // of environments, that replay took since options.place
    uint64_t windows;            // that came here
    uint64_t bad_samples;        // answers that did not fit
    uint64_t first_sample_ns;    // when the first batch came, 0: not yet
    uint64_t first_sample_steps; // steps then
    double waiting_s;            // that no batch from here was ready or in work
    double lag, lag_max;         // versions from the newest back to those that acted in the
                                 // last batch, mean and most; NaN: n-step windows
} learner_source_counts;
learner_source_counts learner_source_count(const learner_source *source, uint64_t now_ns);

#endif // LEARNER_LEARNER_SOURCE_H
