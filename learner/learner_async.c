// Lays out the memory that asynchronous learners share, passes batches through it, and bounds the
// staleness of gradients.
#include "learner/learner_async.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "learner/learner_batch_bytes.h"

#define LINE 64
#define EACH 2u // batches of each other learner: one that it learns from, and the next

enum slot_state { SLOT_FREE, SLOT_READY, SLOT_TAKEN, SLOT_DONE };

// A batch on its way to another learner; its windows and its priorities follow in memory. Learner 0
// owns a slot that is free or done. The first learner to take a ready slot owns it then.
typedef struct slot {
    _Alignas(LINE) atomic_uint state;
    float learning_rate;
    float spent; // algo_batch
    uint32_t has_priorities;
    int32_t err;
    float numbers[ALGO_NUMBERS_MAX];
} slot;

// The head of the memory. The slots follow, and the algorithm's state.
typedef struct shared {
    _Alignas(LINE) group_lock lock; // of the algorithm's state
    atomic_uint is_over;
    _Alignas(LINE) atomic_uint_fast64_t updates;
    atomic_uint_fast64_t applied, staleness, staleness_max, given_up;
} shared;

struct learner_async {
    group *members;
    algo *a;
    uint32_t staleness_max;
    uint32_t slots;
    learner_shape shape;
    shared *shared;
    learner_batch **given; // [slots], learner 0 only
    uint32_t given_count;
};

static size_t
lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t
slot_bytes(const learner_shape *shape)
{
    return sizeof(slot) + lines(shape->part) + lines(shape->B * sizeof(float));
}

uint32_t
learner_async_slots(uint32_t learners)
{
    return EACH * (learners - 1);
}

static size_t
algo_at(const learner_async_options *options)
{
    learner_shape shape = learner_shape_of(options->spec, options->B, options->T);
    return sizeof(shared) + learner_async_slots(options->count) * slot_bytes(&shape);
}

static slot *
slot_at(const learner_async *as, uint32_t i)
{
    uint8_t *slots = (uint8_t *)as->shared + sizeof(shared);
    return (slot *)(void *)(slots + i * slot_bytes(&as->shape));
}

static uint8_t *
slot_windows(slot *s)
{
    return (uint8_t *)s + sizeof(*s);
}

static float *
slot_priorities(const learner_async *as, slot *s)
{
    return (float *)(void *)(slot_windows(s) + lines(as->shape.part));
}

size_t
learner_async_bytes(const learner_async_options *options)
{
    return algo_at(options) + algo_shared_bytes(options->a);
}

learner_async *
learner_async_create(const learner_async_options *options)
{
    learner_async *as = oct_alloc(sizeof(*as));
    as->members = options->members;
    as->a = options->a;
    as->staleness_max = options->staleness_max;
    as->slots = learner_async_slots(options->count);
    as->shape = learner_shape_of(options->spec, options->B, options->T);
    as->shared = options->memory;
    if (options->learner == 0) {
        as->given = oct_alloc((as->slots + 1) * sizeof(learner_batch *));
        atomic_store_explicit(&as->shared->updates, algo_updates(as->a), memory_order_relaxed);
    }
    algo_share(as->a, (uint8_t *)options->memory + algo_at(options), options->learner);
    return as;
}

void
learner_async_destroy(learner_async *as)
{
    if (as != NULL) {
        free(as->given);
        free(as);
    }
}

// ---- an update

static void
staleness_count(shared *s, uint64_t staleness)
{
    atomic_fetch_add_explicit(&s->applied, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->staleness, staleness, memory_order_relaxed);
    if (staleness > atomic_load_explicit(&s->staleness_max, memory_order_relaxed)) {
        atomic_store_explicit(&s->staleness_max, staleness, memory_order_relaxed);
    }
}

oct_err
learner_async_gradient(learner_async *as, const algo_batch *batch, float *priorities,
                       float *numbers)
{
    learner_async_fetch(as);
    return algo_gradient(as->a, batch, priorities, numbers);
}

oct_err
learner_async_apply(learner_async *as, float learning_rate)
{
    shared *s = as->shared;
    group_lock_take(as->members, &s->lock);
    uint64_t staleness = algo_staleness(as->a);
    bool is_fresh = staleness <= as->staleness_max;
    if (is_fresh) {
        algo_apply(as->a, learning_rate);
        atomic_store_explicit(&s->updates, algo_updates(as->a), memory_order_relaxed);
        staleness_count(s, staleness);
    } else {
        atomic_fetch_add_explicit(&s->given_up, 1, memory_order_relaxed);
    }
    group_lock_give(&s->lock);
    return is_fresh ? OCT_OK : OCT_EAGAIN;
}

oct_err
learner_async_learn(learner_async *as, const algo_batch *batch, float learning_rate,
                    float *priorities, float *numbers)
{
    OCT_TRY(learner_async_gradient(as, batch, priorities, numbers));
    return learner_async_apply(as, learning_rate);
}

void
learner_async_fetch(learner_async *as)
{
    group_lock_take(as->members, &as->shared->lock);
    algo_fetch(as->a);
    group_lock_give(&as->shared->lock);
}

// ---- learner 0

static slot *
slot_find(const learner_async *as, unsigned state, uint32_t *at)
{
    for (uint32_t i = 0; i < as->slots; i++) {
        slot *s = slot_at(as, i);
        if (atomic_load_explicit(&s->state, memory_order_acquire) == state) {
            *at = i;
            return s;
        }
    }
    return NULL;
}

bool
learner_async_has_room(const learner_async *as)
{
    return as->given_count < as->slots;
}

bool
learner_async_give(learner_async *as, learner_batch *batch, float learning_rate,
                   bool has_priorities)
{
    uint32_t i = 0;
    slot *s = slot_find(as, SLOT_FREE, &i);
    if (s == NULL) {
        return false;
    }
    OCT_ASSERT(batch->view.B == as->shape.B && batch->view.T == as->shape.T);
    s->learning_rate = learning_rate;
    s->spent = batch->view.spent;
    s->has_priorities = has_priorities;
    learner_batch_bytes_put(&as->shape, slot_windows(s), &batch->view, 0);
    as->given[i] = batch;
    as->given_count++;
    atomic_store_explicit(&s->state, SLOT_READY, memory_order_release);
    return true;
}

learner_batch *
learner_async_take(learner_async *as, oct_err *err)
{
    uint32_t i = 0;
    slot *s = as->given_count > 0 ? slot_find(as, SLOT_DONE, &i) : NULL;
    if (s == NULL) {
        return NULL;
    }
    learner_batch *batch = as->given[i];
    *err = (oct_err)s->err;
    if (*err == OCT_OK) {
        memcpy(batch->numbers, s->numbers, sizeof(batch->numbers));
    }
    if (*err == OCT_OK && s->has_priorities != 0) {
        memcpy(batch->priority, slot_priorities(as, s), as->shape.B * sizeof(float));
    }
    as->given_count--;
    atomic_store_explicit(&s->state, SLOT_FREE, memory_order_relaxed);
    return batch;
}

uint32_t
learner_async_given(const learner_async *as)
{
    return as->given_count;
}

void
learner_async_look(learner_async *as)
{
    group_look(as->members);
}

uint64_t
learner_async_updates(const learner_async *as)
{
    return atomic_load_explicit(&as->shared->updates, memory_order_relaxed);
}

void
learner_async_end(learner_async *as)
{
    atomic_store_explicit(&as->shared->is_over, 1, memory_order_relaxed);
}

void
learner_async_staleness(learner_async *as, learner_staleness *out)
{
    shared *s = as->shared;
    *out = (learner_staleness){
        .updates = atomic_load_explicit(&s->applied, memory_order_relaxed),
        .sum = atomic_load_explicit(&s->staleness, memory_order_relaxed),
        .max = atomic_exchange_explicit(&s->staleness_max, 0, memory_order_relaxed),
        .given_up = atomic_load_explicit(&s->given_up, memory_order_relaxed),
    };
}

// ---- the other learners

// Learns from one batch. Returns false if none is ready.
static bool
slot_serve(learner_async *as)
{
    for (uint32_t i = 0; i < as->slots; i++) {
        slot *s = slot_at(as, i);
        unsigned ready = SLOT_READY;
        if (atomic_compare_exchange_strong_explicit(&s->state, &ready, SLOT_TAKEN,
                                                    memory_order_acquire, memory_order_relaxed)) {
            algo_batch batch = learner_batch_bytes_take(&as->shape, slot_windows(s));
            batch.spent = s->spent;
            float *priorities = s->has_priorities != 0 ? slot_priorities(as, s) : NULL;
            s->err =
                (int32_t)learner_async_learn(as, &batch, s->learning_rate, priorities, s->numbers);
            atomic_store_explicit(&s->state, SLOT_DONE, memory_order_release);
            return true;
        }
    }
    return false;
}

void
learner_async_serve(learner_async *as)
{
    uint32_t round = 0;
    while (atomic_load_explicit(&as->shared->is_over, memory_order_relaxed) == 0) {
        if (slot_serve(as)) {
            round = 0;
        } else {
            group_wait(round++);
        }
    }
}
