#ifndef LEARNER_LEARNER_MIX_H
#define LEARNER_LEARNER_MIX_H

#include "learner/learner_shards.h"

// The batches that are learned from: those of one source, or of several shards, as they are; or, of
// the live replay and a data set, batches with windows of both, the live ones first. Importance
// weights are each source's own, scaled to at most 1 among its windows of the batch; priorities go
// back to where their windows came from.
//
// Threads: the loop thread. Owns: with two sources, the batches that it gives; what they were made
// of stays taken from the sources meanwhile. Full: nothing is taken from one source while the other
// has none filled.
typedef struct learner_mix learner_mix;

typedef struct learner_mix_options {
    const policy_spec *spec; // borrowed
    uint32_t T;              // rows of a window, 0: n-step
    learner_source *live;    // borrowed
    uint32_t live_windows;   // of each of its batches
    learner_shards *shards;  // borrowed; the live ones where there are several: batches are theirs
    learner_source *data;    // borrowed; NULL: there is no other source
    uint32_t data_windows;
} learner_mix_options;

learner_mix *learner_mix_create(const learner_mix_options *options);
void learner_mix_destroy(learner_mix *mix); // NULL is a no-op; nobody uses a batch any more

uint32_t learner_mix_batches(const learner_mix *mix); // that can be out at once

// The next batch, NULL: none is whole. The caller gives it back when it was learned from.
learner_batch *learner_mix_take(learner_mix *mix);
void learner_mix_give(learner_mix *mix, learner_batch *batch, uint64_t now_ns);

#endif // LEARNER_LEARNER_MIX_H
