#ifndef LEARNER_LEARNER_SOURCE_H
#define LEARNER_LEARNER_SOURCE_H

#include "common/oct_reason.h"
#include "learner/learner_batch.h"

// A source is one octet-replay as the learner sees it: what its table must be, whether it is
// configured and answers, how far its table has come, and the priorities on their way back to it.
// learner_batches.h makes batches of the windows of all sources.
//
// A source has neither sockets nor a clock: learner_link_io.h carries the messages, and callers
// pass the time.
//
// Threads: the loop thread. Owns: the priorities. Full: priorities that do not fit are dropped, and
// the windows keep their old ones.
typedef struct learner_source learner_source;

// Tables of one replay that are remembered beside the present one.
#define LEARNER_TABLES_KEPT 16

// A table that replay had before the present one, as it was when replay last had it.
typedef struct learner_source_earlier {
    uint64_t table;          // 0: none
    uint64_t steps, samples; // as in learner_source_place
} learner_source_earlier;

// How far a replay's table was when something was learned from it. Checkpoints keep it.
typedef struct learner_source_place {
    uint64_t table;   // wire_configured; 0: no table was known
    uint64_t steps;   // of environments, that the table had taken
    uint64_t samples; // windows of the table that were learned from
    // wire_sampled's. Until a shard answers, the limiters of the others count with these.
    uint64_t inserts;
    double balance;
    // Replay may get one of these tables back (another --path). Their steps count only once. Newest
    // first; a new entry evicts the oldest.
    learner_source_earlier earlier[LEARNER_TABLES_KEPT];
} learner_source_place;

typedef struct learner_source_options {
    const config_experiment *config; // borrowed
    const policy_spec *spec;         // borrowed
    algo_wants wants;
    uint32_t batch_size; // windows of this source, or of its shards together, in a batch
    uint64_t run_id;
    uint64_t epoch;             // of this learner among those of the run
    const uint8_t *token_key;   // [WIRE_TOKEN_KEY_BYTES], borrowed
    learner_source_place place; // where the run resumes
    bool counts_from_zero;      // a table that is not known yet was this run's from its first step
    uint32_t shard;             // index among the replays that hold the rows together
    // Lock-step: the turn that replay's table returns to when this process begins, and its hash.
    uint64_t turn;
    uint8_t turn_digest[WIRE_HASH_BYTES];
    learner_versions versions; // of the run, from which the age of actions counts
} learner_source_options;

// ---- what an experiment needs of a replay

// Checks that windows of this spec can be asked for and made. OCT_EINVAL, with the keys in reason:
// a window has too many rows, a batch is larger than one answer may be, or what an actor sends at
// once is larger than one message may be.
OCT_CHECKED oct_err learner_source_check(const learner_source_options *options, oct_reason *why);
// Returns true if the table gives out each window once, oldest first.
bool learner_source_is_fifo(const learner_source_options *options);
// Returns how many batches one request may ask for. With shards whose windows are drawn it is twice
// as many as of a single replay, because waking a process costs as much as hundreds of windows.
uint32_t learner_source_request_max(const learner_source_options *options);
// Returns how many batches of a single replay are asked for, waiting or learned from at one time.
uint32_t learner_source_in_work(const learner_source_options *options);
uint64_t learner_source_answer_bytes(const learner_source_options *options); // of the largest
// Returns the table that config, spec and wants need: of no run yet, and without the tokens' key.
wire_configure learner_source_table(const learner_source_options *options);

// ---- life

learner_source *learner_source_create(const learner_source_options *options);
void learner_source_destroy(learner_source *source); // NULL is a no-op
const learner_source_options *learner_source_options_of(const learner_source *source);

// ---- the link

// Configure that gives the table up: another run may have it.
wire_configure learner_source_release(const learner_source *source);
// Configure that sets only the limiter of the present table, to the configuration's.
wire_configure learner_source_limiter(const learner_source *source);
// Configure with the whole table. It holds the tokens' key: erase it after use.
wire_configure learner_source_configure(const learner_source *source);
// Returns true if Configure is to be sent now: replay has no table of this run, no Configure is on
// its way, and the last attempt is at least 200 ms old. The caller then counts as having sent it.
bool learner_source_needs_configure(learner_source *source, uint64_t now_ns);
// Takes the result of a Configure that was sent, or could not be. After OCT_OK requests may be
// sent. answer says how far the table has come; NULL: nothing is known of it.
void learner_source_configured(learner_source *source, oct_err err, const wire_configured *answer);
bool learner_source_is_configured(const learner_source *source);
// A call failed, or one succeeded. Returns true on a change, to be logged once.
bool learner_source_lost(learner_source *source);
bool learner_source_back(learner_source *source);
bool learner_source_is_lost(const learner_source *source);

// Returns how many windows one request may ask for.
uint32_t learner_source_windows_max(const learner_source *source);
// Makes a request for windows, a multiple of at_once: the answer has a multiple of at_once, too.
// windows 0 asks for the counters alone, which replay answers at once. Windows with actions of
// versions before version_min are given up by replay. others: what the other shards have.
void learner_source_ask(learner_source *source, uint32_t windows, uint32_t at_once,
                        uint32_t version_min, const wire_others *others, wire_sample *out);
// Takes the counters of an answer; its windows are the caller's. OCT_EAGAIN: replay has no table,
// and must be configured again.
OCT_CHECKED oct_err learner_source_heard(learner_source *source, const wire_sampled *sampled);
// Returns true if its counters arrived since it was configured.
bool learner_source_is_known(const learner_source *source);
void learner_source_arrived(learner_source *source, uint32_t windows, uint64_t now_ns);
void learner_source_bad(learner_source *source); // counts an answer that did not fit

// ---- priorities

// Adds priorities of windows that were learned from. They are dropped if nothing is drawn by
// priority, if the keys are of another process than replay is now, or if there is no room.
void learner_source_return(learner_source *source, uint64_t incarnation, uint32_t count,
                           const uint64_t *key, const float *priority);
bool learner_source_has_priorities(const learner_source *source);
// Gives the oldest priorities, in their order, as many as one message may have. Returns false if
// there are none. out is valid until the next learner_source_return.
bool learner_source_priorities(learner_source *source, wire_priorities *out);

// ---- numbers

// How a resumed run found its table, compared with the place in its checkpoint.
typedef struct learner_source_ahead {
    bool is_known;   // the checkpoint had a place, and replay was configured
    bool is_other;   // replay's table is another one …
    bool is_earlier; // … and is one that the run had before
    uint64_t lost;   // is_other: steps that the checkpoint's table held
    int64_t steps;   // taken after the checkpoint; below 0: steps from before it are lost
    uint64_t batches, returned; // drawn after the checkpoint; those that will be drawn again
} learner_source_ahead;
learner_source_ahead learner_source_found(const learner_source *source);
// Returns true if the run had this table before the present one.
bool learner_source_had(const learner_source *source, uint64_t table);
// Returns the place of the table after the first `windows` windows of this process were learned
// from.
learner_source_place learner_source_place_after(const learner_source *source, uint64_t windows);

typedef struct learner_source_counts {
    bool is_up;           // configured, and answers
    uint64_t incarnation; // of replay; 0: it has not answered yet
    // As replay last said, in windows.
    uint64_t size, inserts, samples;
    uint64_t given_up; // too old to be learned from
    double mass, balance;
    uint32_t insert_chunk, sample_chunk;
    uint64_t missed;             // windows that replay gave out and that have not arrived
    uint64_t windows;            // that arrived
    uint64_t steps;              // of environments, that replay took since options.place
    uint64_t bad_samples;        // answers that did not fit
    uint64_t first_sample_ns;    // when the first windows arrived; 0: not yet
    uint64_t first_sample_steps; // steps at that time
    // Of all live sources together (learner_batches_counts); 0 in the counts of one source.
    double waiting_s;    // time during which no live windows of a batch were ready or in work
    double lag, lag_max; // learner_batch_lag of the last batch
} learner_source_counts;
learner_source_counts learner_source_count(const learner_source *source);

#endif // LEARNER_LEARNER_SOURCE_H
