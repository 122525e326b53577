#ifndef LEARNER_LEARNER_SHARDS_H
#define LEARNER_LEARNER_SHARDS_H

#include "learner/learner_source.h"

// Batches over several replays, the shards of one experiment, as one replay that held everything
// would give them.
//
// Where windows are drawn, each window of a batch is of a shard that is drawn by chance, in
// proportion to what that one holds (uniform) or to the sum of its priorities (prioritised), and
// there it is drawn as always. So its probability over all shards is the product of both, and the
// importance weights of a batch follow from it. A batch is planned when it is free, so many windows
// of each shard; these are asked for, and fill it in the order in which they come. The limiter is
// each shard's own, over the counters of all: what the others have goes with every request, and
// alone (tell) when they have more.
//
// Windows that come once (takes) are in no proportion: each shard is asked for what the next
// batches lack, answers at once with its oldest ones, as many as it has, and they fill batches in
// the order in which they come. So none starves, and a shard without windows holds nobody up. What
// has become older than the algorithm allows before it is learned from is given up, as replay does.
//
// A table may be lost, or another one come back: of a shard without a file, or whose file is not
// there. What its limiter had would be missing in the sum, or come on top, by as much as the
// shards' own balances have grown apart. So its balance stays here (gone), and every shard counts
// with it. While there are fewer inserts than min_size without the lost ones, the sum is what so
// many make.
//
// A shard that is not configured, or does not answer, is left out: what was planned of it and has
// not come is drawn anew over the others, whose shares then are of what is left. It is there again
// when it answers.
//
// Threads: the loop thread. Owns: the batches; the sources are borrowed. Full: nothing is asked for
// while all batches are whole or being learned from.
typedef struct learner_shards learner_shards;

typedef struct learner_shards_options {
    const oct_config *config; // borrowed
    const policy_spec *spec;  // borrowed
    uint32_t T;               // rows of a window, 0: n-step
    bool takes;               // each window comes once (learner_source_takes)
    uint32_t in_work;         // batches, where it does (learner_source_in_work)
    uint32_t batch_size;      // windows in a batch
    uint32_t batches;         // learner_shards_needed
    uint32_t count;           // of shards, 2 to OCT_SHARDS_MAX
    learner_source *source[OCT_SHARDS_MAX];
    uint64_t seed; // of the shares
    double gone;   // learner_shards_gone, which the run goes on from
    uint64_t now_ns;
} learner_shards_options;

// Batches over so many shards, whose sources are made with such options.
uint32_t learner_shards_needed(const learner_source_options *shard, uint32_t count);
// What batches with so many windows take.
uint64_t learner_shards_bytes(const learner_source_options *shard, uint32_t count);
learner_shards *learner_shards_create(const learner_shards_options *options);
void
learner_shards_destroy(learner_shards *shards); // NULL is a no-op; nobody uses a batch any more

uint32_t learner_shards_batches(const learner_shards *shards); // all there are

// ---- a shard's link

// What a Configure, or one with limiter_only, says of the other shards.
void learner_shards_configure(const learner_shards *shards, uint32_t shard, wire_configure *out);
// learner_source_configured: of a shard that may have another table than before.
void learner_shards_configured(learner_shards *shards, uint32_t shard, oct_err err,
                               const wire_configured *answer);
// Windows that are to be asked for of a shard now, as the request; they are promised to it until
// _missed or _sampled. 0: none.
// newest_version is what lag_max is counted from.
uint32_t learner_shards_request(learner_shards *shards, uint32_t shard, uint64_t newest_version,
                                uint64_t now_ns, wire_sample *out);
void learner_shards_missed(learner_shards *shards, uint32_t shard, uint32_t promised);
// An answer, when a share of the run's budget is spent. OCT_EPROTO: it does not fit. OCT_EAGAIN:
// replay has no table, it is to be configured again.
OCT_CHECKED oct_err learner_shards_sampled(learner_shards *shards, uint32_t shard,
                                           uint32_t promised, const wire_sampled *sampled,
                                           double share, uint64_t now_ns);
// Whether a shard is to be told now what the others have, and asked for its counters: a request
// without windows, which learner_source_heard takes the answer of.
bool learner_shards_tell(learner_shards *shards, uint32_t shard, uint64_t now_ns, wire_sample *out);

// ---- batches

// The next whole batch, NULL: none, or (takes) in_work of them are learned from. The caller gives
// it back when it was learned from.
learner_batch *learner_shards_take(learner_shards *shards);
void learner_shards_give(learner_shards *shards, learner_batch *batch, uint64_t now_ns);
// Windows of a shard in the first batches that were taken; of batches that are not much older than
// those that are in work now.
uint64_t learner_shards_windows(const learner_shards *shards, uint32_t shard, uint64_t batches);

// ---- numbers

// What the limiters of tables had that are no more, less what stands for it.
double learner_shards_gone(const learner_shards *shards);
// Whether batches have windows of a shard now: it is configured, answers and has some.
bool learner_shards_is_used(const learner_shards *shards, uint32_t shard);
// What batches have of it, and what they would have if all were there: shares of all windows, as
// far as they are known.
double learner_shards_share(const learner_shards *shards, uint32_t shard);
double learner_shards_missing(const learner_shards *shards); // of those that do not answer
// Windows that came and were too old before they were learned from; those of replay's own counters
// are not among them.
uint64_t learner_shards_given_up(const learner_shards *shards);
// Of the last batch, as learner_batch_lag.
void learner_shards_lag(const learner_shards *shards, double *mean, double *most);
double learner_shards_waiting_s(const learner_shards *shards, uint64_t now_ns);

#endif // LEARNER_LEARNER_SHARDS_H
