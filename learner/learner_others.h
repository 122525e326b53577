#ifndef LEARNER_LEARNER_OTHERS_H
#define LEARNER_LEARNER_OTHERS_H

#include "learner/learner_source.h"

// What each of several replays is sent about the others, so that their limiters work as the one of
// a single replay would.
//
// Each shard has a limiter of its own, which counts with the sums of all: wire_others has the
// inserts, samples and balance of the other shards, and the largest insert and sample of any. A
// shard receives it with every request for windows, and alone when it has changed by as much as a
// limiter would notice (learner_others_is_due).
//
// A table that is lost takes its limiter's balance with it, and a table that returns brings one.
// Since the shards' own balances drift apart, the sum would jump by any amount. So the learner
// keeps the difference (gone), in its checkpoint too, and every shard counts with it. While there
// are fewer inserts than replay.min_size without the lost table, the sum is instead the one
// that these inserts make: the warm-up begins again.
//
// A single replay has no others: everything sent about them is 0, and nothing is due.
//
// Threads: the loop thread. Plain values. The sources are borrowed.
typedef struct learner_others {
    const config_experiment *config;
    uint32_t count; // of sources
    learner_source *const *source;
    uint32_t sample_chunk; // windows in a batch: a balance that changed by as many is sent
    double gone;           // balances of lost tables, less those of tables that took their slots
    uint32_t made;         // whose table was a new one at the last Configure; count: none's
    wire_others sent[CONFIG_SHARDS_MAX];
    uint64_t sent_ns[CONFIG_SHARDS_MAX];
    uint64_t held_ns[CONFIG_SHARDS_MAX]; // since when the source owes windows; 0: it owes none
} learner_others;

// gone: of the checkpoint, 0 for a new run.
void learner_others_init(learner_others *others, const config_experiment *config,
                         learner_source *const *source, uint32_t count, double gone);
// Adds what a Configure, or one with limiter_only, says of the other shards.
void learner_others_configure(const learner_others *others, uint32_t shard, wire_configure *out);
// learner_source_configured, of a shard that may have another table than before.
void learner_others_configured(learner_others *others, uint32_t shard, oct_err err,
                               const wire_configured *answer);
// Returns what a request for windows, or for counters alone (0), says to a shard at this time.
wire_others learner_others_send(learner_others *others, uint32_t shard, uint32_t windows,
                                uint64_t now_ns);
// A shard answered, or did not. requested: windows that it still owes.
void learner_others_answered(learner_others *others, uint32_t shard, uint32_t requested,
                             uint64_t now_ns);
// Returns true if a shard is to be sent the counters of the others now, and asked for its own.
// is_fifo: windows come once, and no limiter waits for the counters of others.
bool learner_others_is_due(const learner_others *others, uint32_t shard, bool is_fifo,
                           uint64_t now_ns);

#endif // LEARNER_LEARNER_OTHERS_H
