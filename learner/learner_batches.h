#ifndef LEARNER_LEARNER_BATCHES_H
#define LEARNER_LEARNER_BATCHES_H

#include "learner/learner_source.h"

// Makes training batches of windows from all replays of a run, its members: the live replay or its
// shards, 0 .. shards - 1, and behind them the replay of a data set, where actors insert beside
// one. Members are what the configuration says; learner_batches.c tells how it works.
//
// Importance weights are those of one table that held all live windows, and of the data set, each
// scaled to at most 1 in the batch. Priorities return to the member, and the process of it, that a
// window came from.
//
// Threads: the loop thread. Owns: the sources and the batches, taken ones too. Full: nothing is
// asked for while every batch is complete or being learned from.
typedef struct learner_batches learner_batches;

#define LEARNER_MEMBERS_MAX (CONFIG_SHARDS_MAX + 1)

typedef struct learner_batches_options {
    learner_source_options source;     // of every member, but for its batch_size, place and shard
    const learner_source_place *place; // [shards] where the run resumes
    double gone;                       // learner_batches_gone of the checkpoint
    uint64_t now_ns;
} learner_batches_options;

typedef struct learner_batches_size {
    uint32_t count;        // of batches
    uint64_t bytes;        // of their columns
    uint64_t answer_bytes; // of one answer of every member
} learner_batches_size;
// options->batch_size does not matter.
learner_batches_size learner_batches_measure(const learner_source_options *options);

// ---- life

learner_batches *learner_batches_create(const learner_batches_options *options);
// NULL is a no-op. No batch is in use any more.
void learner_batches_destroy(learner_batches *batches);

uint32_t learner_batches_count(const learner_batches *batches); // all there are
bool learner_batches_is_data(const learner_batches *batches, uint32_t member);
// NULL: there is no such member.
learner_source *learner_batches_source(const learner_batches *batches, uint32_t member);

// ---- links, which send what these functions say

// learner_source_configure, or learner_source_limiter, with what the other shards have.
wire_configure learner_batches_configure(const learner_batches *batches, uint32_t member,
                                         bool limiter_only);
// learner_source_configured.
void learner_batches_configured(learner_batches *batches, uint32_t member, oct_err err,
                                const wire_configured *answer);
// Makes the next request to a member, and returns the number of windows that it asks for; 0: no
// request is due. The member owes them until learner_batches_missed or learner_batches_sampled.
// newest_version: of the policy, from which the allowed age of actions counts.
uint32_t learner_batches_request(learner_batches *batches, uint32_t member, uint64_t newest_version,
                                 uint64_t now_ns, wire_sample *out);
// A request for `requested` windows got no answer.
void learner_batches_missed(learner_batches *batches, uint32_t member, uint32_t requested,
                            uint64_t now_ns);
// Takes the answer to a request for `requested` windows. OCT_EAGAIN: replay has no table, and must
// be configured again. OCT_EPROTO: the answer does not fit; batches keep what fitted before.
OCT_CHECKED oct_err learner_batches_sampled(learner_batches *batches, uint32_t member,
                                            uint32_t requested, const wire_sampled *sampled,
                                            uint64_t now_ns);
// Makes a request for counters alone, whose answer is for learner_source_heard. Returns false if
// none is due: a shard gets one when the others have changed; any member if is_late, which says
// that a sample is late.
bool learner_batches_tell(learner_batches *batches, uint32_t member, bool is_late, uint64_t now_ns,
                          wire_sample *out);

// ---- batches

// Returns the next complete batch, or NULL. The caller gives it back when it was learned from.
// share: of the run's budget that is spent, for importance weights. may_request: requests are
// allowed now. Shards whose windows come once may send more than was lacking; their batches wait
// while it is false, and while as many are out as a single replay would have in work.
learner_batch *learner_batches_take(learner_batches *batches, double share, bool may_request);
void learner_batches_give(learner_batches *batches, learner_batch *batch, uint64_t now_ns);
// Returns the member that a window of a taken batch came from, and the incarnation of its replay.
uint32_t learner_batches_origin(const learner_batches *batches, const learner_batch *batch,
                                uint32_t window, uint64_t *incarnation);
// Returns the place of a live member's table when the first `taken` batches of this process had
// been learned from; exact for the last 4 * learner_batches_count of them.
learner_source_place learner_batches_place_after(const learner_batches *batches, uint32_t member,
                                                 uint64_t taken);

// ---- numbers

// Returns the sum over live members, with what only batches know. batches is NULL before training
// begins: then all counts are 0, and lags are NaN.
learner_source_counts learner_batches_counts(const learner_batches *batches, uint64_t now_ns);
// Returns the time during which no batch had its windows of the data set ready or in work.
double learner_batches_data_wait_s(const learner_batches *batches, uint64_t now_ns);
double learner_batches_gone(const learner_batches *batches); // learner_others
// Returns true if batches contain windows of this member now: it is configured, answers and has
// some, or is the only one of its kind.
bool learner_batches_is_used(const learner_batches *batches, uint32_t member);
// Returns the share of a live member in all live windows, as far as they are known, and the share
// of those that are not used.
double learner_batches_share(const learner_batches *batches, uint32_t member);
double learner_batches_missing(const learner_batches *batches);

#endif // LEARNER_LEARNER_BATCHES_H
