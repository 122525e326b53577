#ifndef LEARNER_LEARNER_ASYNC_H
#define LEARNER_LEARNER_ASYNC_H

#include "algos/algo.h"
#include "group/group.h"
#include "learner/learner_batch.h"

// Learners that wait for nobody's gradients (learner.asynchronous; A3C, Mnih et al. 2016; Gorila,
// Nair et al. 2015). They share one set of parameters and moments (algo_share). Each takes a copy
// of the parameters, computes the gradient of a batch of its own with it, and applies that to what
// the others have made of the parameters meanwhile. How many updates these were is the gradient's
// staleness; one with more than staleness_max is given up.
//
// Learner 0 has the batches. It gives others to whoever is free, and learns itself.
//
// Threads: one for each learner: processes that share the memory, or threads of one process.
// Owns: a few pointers; the memory is the caller's, and outlives what uses it.
typedef struct learner_async learner_async;

typedef struct learner_async_options {
    group *members; // borrowed, whose rank is learner; NULL: learners are threads
    void *memory;   // [learner_async_bytes], zeroed, 64 bytes aligned
    uint32_t learner, count;
    uint32_t staleness_max;
    const policy_spec *spec;
    uint32_t B, T; // of each batch, as algo_batch
    algo *a;       // borrowed, this learner's own
} learner_async_options;

// Batches that so many learners have in it.
uint32_t learner_async_slots(uint32_t learners);
size_t learner_async_bytes(const learner_async_options *options);
// Moves the algorithm's state into the memory (learner 0), or lets it use what is there.
learner_async *learner_async_create(const learner_async_options *options);
void learner_async_destroy(learner_async *as); // NULL is a no-op

// An update: the two halves in one. Errors as algo_update; OCT_EAGAIN: the gradient was too old,
// and given up.
OCT_CHECKED oct_err learner_async_learn(learner_async *as, const algo_batch *batch,
                                        float learning_rate, float *priorities, float *numbers);
// The gradient of a batch at the parameters that it fetches, and its application.
OCT_CHECKED oct_err learner_async_gradient(learner_async *as, const algo_batch *batch,
                                           float *priorities, float *numbers);
OCT_CHECKED oct_err learner_async_apply(learner_async *as, float learning_rate);

// ---- learner 0

// To a learner that is free, or to be the next of one. False: nobody has room.
bool learner_async_give(learner_async *as, learner_batch *batch, float learning_rate,
                        bool has_priorities);
bool learner_async_has_room(const learner_async *as);
// One that was given and learned from, with its priorities and numbers; err as of learn. NULL:
// none.
learner_batch *learner_async_take(learner_async *as, oct_err *err);
uint32_t learner_async_given(const learner_async *as); // not taken yet
// Leaves the process where another learner has died.
void learner_async_look(learner_async *as);
// The algorithm's parameters and count become the newest, to be published or saved.
void learner_async_fetch(learner_async *as);
uint64_t learner_async_updates(const learner_async *as); // of all learners; any thread
// The others leave serve.
void learner_async_end(learner_async *as);

typedef struct learner_staleness {
    uint64_t updates; // by all learners since the beginning
    uint64_t sum;     // of their staleness
    uint64_t max;     // of those since this was asked for
    uint64_t given_up;
} learner_staleness;
// Any thread.
void learner_async_staleness(learner_async *as, learner_staleness *out);

// ---- the others

// Learns from what is given until the end.
void learner_async_serve(learner_async *as);

#endif // LEARNER_LEARNER_ASYNC_H
