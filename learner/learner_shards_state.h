#ifndef LEARNER_LEARNER_SHARDS_STATE_H
#define LEARNER_LEARNER_SHARDS_STATE_H

#include "common/oct_rng.h"
#include "learner/learner_shards.h"

// What the files of learner_shards share: batches whose windows are drawn (learner_shards.c), and
// those of windows that come once (learner_shards_once.c).
//
// Threads: the loop thread.
enum shards_state { SHARDS_FREE, SHARDS_PLANNED, SHARDS_WHOLE, SHARDS_OUT };

// A batch, and what it is made of.
typedef struct shards_plan {
    learner_batch *batch;
    enum shards_state state;
    uint64_t number; // they are filled and taken in this order
    uint32_t filled; // windows that have come
    uint32_t got[OCT_SHARDS_MAX];
    uint8_t *origin; // [B] shards

    // where windows are drawn
    uint32_t lack; // windows that are of no shard yet
    uint32_t wanted[OCT_SHARDS_MAX];
    double share[OCT_SHARDS_MAX]; // of the windows that are planned and have not come
    uint64_t incarnation[OCT_SHARDS_MAX];
} shards_plan;

struct learner_shards {
    learner_shards_options options;
    uint32_t count;
    shards_plan *plan; // [count]
    uint64_t numbers;  // given
    uint32_t promised[OCT_SHARDS_MAX];
    uint64_t moved_ns[OCT_SHARDS_MAX]; // when windows were first promised, or last answered
    uint64_t told_ns[OCT_SHARDS_MAX];
    wire_others told[OCT_SHARDS_MAX]; // of the others, at the last request
    uint64_t newest_version;          // then, too
    double lag, lag_max;              // of the batch that was taken last
    double gone;                      // learner_shards_gone
    uint32_t made;                    // whose table was another one at the last Configure; or count

    // windows of each shard in the first so many batches, a ring
    uint64_t taken;
    uint32_t ring;
    uint64_t (*windows)[OCT_SHARDS_MAX]; // [ring]

    uint32_t out;     // plans that are
    uint32_t busy;    // plans that are whole or out
    uint64_t idle_ns; // since when there is none; 0: there are
    double waiting_s;

    // where windows are drawn
    oct_rng rng;
    bool is_used[OCT_SHARDS_MAX]; // when it was planned last
    uint64_t *key;                // [B] of the windows of one shard, as priority
    float *priority;

    // where windows come once
    uint32_t version_min; // older ones are given up
    uint64_t given_up;
};

// What goes to a shard: a request for so many windows, some at a time, of versions from version_min
// on.
void shards_ask(learner_shards *shards, uint32_t shard, uint32_t windows, uint32_t at_once,
                uint32_t version_min, uint64_t now_ns, wire_sample *out);
// The first plan in this state, NULL: none.
shards_plan *shards_plan_first(learner_shards *shards, enum shards_state state);
// A plan has all of its windows.
void shards_plan_whole(learner_shards *shards, shards_plan *plan, double exponent, uint64_t now_ns);

// As learner_shards_request and learner_shards_sampled, of windows that come once.
uint32_t shards_once_request(learner_shards *shards, uint32_t shard, uint64_t now_ns,
                             wire_sample *out);
OCT_CHECKED oct_err shards_once_sampled(learner_shards *shards, uint32_t shard, uint32_t promised,
                                        const wire_sampled *sampled, uint64_t now_ns);

#endif // LEARNER_LEARNER_SHARDS_STATE_H
