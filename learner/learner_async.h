#ifndef LEARNER_LEARNER_ASYNC_H
#define LEARNER_LEARNER_ASYNC_H

#include "algos/algo.h"
#include "learner/learner_batch.h"
#include "nn/group/group.h"

// Learners that do not wait for each other's gradients (learner.asynchronous; A3C, Mnih et al.
// 2016; Gorila, Nair et al. 2015). They share one set of parameters and moments (algo_share). Each
// copies the parameters, computes the gradient of a batch of its own at the copy, and applies it to
// the parameters as they are by then. The gradient's staleness is the number of updates by other
// learners in between. A gradient with a staleness above staleness_max is dropped.
//
// Learner 0 has the batches. It gives some to the other learners, and learns from the rest itself.
//
// Threads: one for each learner: processes that share the memory, or threads of one process.
// Owns: a few pointers. The memory is the caller's, and outlives all objects that use it. Full:
// learner_async_give returns false.
typedef struct learner_async learner_async;

typedef struct learner_async_options {
    group *members; // borrowed; learner is its rank; NULL: learners are threads
    void *memory;   // [learner_async_bytes], zeroed, 64 bytes aligned
    uint32_t learner, count;
    uint32_t staleness_max;
    const policy_spec *spec;
    uint32_t B, T; // of each batch, as algo_batch
    algo *a;       // borrowed, this learner's own
} learner_async_options;

// Returns how many batches the memory has room for.
uint32_t learner_async_slots(uint32_t learners);
size_t learner_async_bytes(const learner_async_options *options);
// Learner 0: moves the algorithm's state into the memory. Others: let their algorithm use it.
learner_async *learner_async_create(const learner_async_options *options);
void learner_async_destroy(learner_async *as); // NULL is a no-op

// Makes an update with both of the steps below. Errors as algo_update. OCT_EAGAIN: the gradient was
// too stale and was dropped; the parameters have not changed.
OCT_CHECKED oct_err learner_async_learn(learner_async *as, const algo_batch *batch,
                                        float learning_rate, float *priorities, float *numbers);
// learner_async_gradient copies the parameters and computes the gradient of a batch;
// learner_async_apply applies it.
OCT_CHECKED oct_err learner_async_gradient(learner_async *as, const algo_batch *batch,
                                           float *priorities, float *numbers);
OCT_CHECKED oct_err learner_async_apply(learner_async *as, float learning_rate);

// ---- learner 0

// Gives a batch to another learner. Returns false if no slot is free.
bool learner_async_give(learner_async *as, learner_batch *batch, float learning_rate,
                        bool has_priorities);
bool learner_async_has_room(const learner_async *as);
// Returns a batch that another learner has finished, with its priorities and numbers and the error
// of learner_async_learn, or NULL if there is none.
learner_batch *learner_async_take(learner_async *as, oct_err *err);
uint32_t learner_async_given(const learner_async *as); // given and not taken back
// Ends the process if another learner has died.
void learner_async_look(learner_async *as);
// Copies the newest parameters and the count of updates into the algorithm, to publish or save
// them.
void learner_async_fetch(learner_async *as);
uint64_t learner_async_updates(const learner_async *as); // of all learners; any thread
// Makes the other learners return from learner_async_serve.
void learner_async_end(learner_async *as);

typedef struct learner_staleness {
    uint64_t updates; // by all learners since the beginning
    uint64_t sum;     // of their staleness, in updates
    uint64_t max;     // of the updates since the last call
    uint64_t given_up;
} learner_staleness;
// Reads the counters of staleness. Any thread.
void learner_async_staleness(learner_async *as, learner_staleness *out);

// ---- the other learners

// Learns from batches of learner 0 until learner_async_end.
void learner_async_serve(learner_async *as);

#endif // LEARNER_LEARNER_ASYNC_H
