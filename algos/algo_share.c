// Parameters, moments and other numbers of an algorithm in memory that asynchronous learners share.
//
// The layout of the memory follows from the order in which all_share names things; every learner
// names them in the same order: the head, the count of updates, then what the algorithm's share
// names. Parameters and moments are used in place. For each other number algo_fetch and algo_apply
// read the copy in memory, and algo_apply writes it back. All of that happens under the caller's
// lock. Only turns is atomic: a learner takes the number of its gradient without the lock, so that
// two learners never compute a gradient with the same number.
#include "algos/algo_share.h"

#include <stdatomic.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_rng.h"

// The beginning of the memory.
typedef struct shared_head {
    atomic_uint_fast64_t turns; // gradients begun by all learners
} shared_head;

void
algo_share_net(algo_sharing *s, nn_net *net)
{
    OCT_ASSERT(s->net_count < ALGO_SHARED_NETS_MAX);
    nn_net_share(net, &s->carver, s->learner == 0);
    s->net[s->net_count++] = net;
}

void
algo_share_trainer(algo_sharing *s, nn_trainer *trainer)
{
    OCT_ASSERT(s->net_count < ALGO_SHARED_NETS_MAX);
    nn_trainer_share(trainer, &s->carver, s->learner == 0);
    s->net[s->net_count++] = &trainer->tape.net;
    algo_share_number(s, &trainer->steps, sizeof(trainer->steps));
}

void
algo_share_number(algo_sharing *s, void *own, size_t bytes)
{
    OCT_ASSERT(s->number_count < ALGO_SHARED_NUMBERS_MAX);
    void *shared = nn_carver_floats(&s->carver, (bytes + sizeof(float) - 1) / sizeof(float));
    if (shared != NULL && s->learner == 0) {
        memcpy(shared, own, bytes);
    }
    s->number[s->number_count++] = (algo_shared_number){own, shared, bytes};
}

bool
algo_share_own_seed(const algo_sharing *s, uint64_t *seed)
{
    bool is_own = s->carver.base != NULL && s->learner != 0;
    *seed = is_own ? oct_rng_mix(oct_rng_mix(0, *seed), s->learner) : *seed;
    return is_own;
}

// Names everything that is shared. The count of updates is number[0].
static void
all_share(algo *a, algo_sharing *s)
{
    (void)nn_carver_floats(&s->carver, (sizeof(shared_head) + sizeof(float) - 1) / sizeof(float));
    algo_share_number(s, &a->updates, sizeof(a->updates));
    a->ops->share(a, s);
}

size_t
algo_shared_bytes(algo *a)
{
    algo_sharing measure = {0};
    if (a->ops->share == NULL) {
        return 0;
    }
    all_share(a, &measure);
    return measure.carver.used;
}

void
algo_share(algo *a, void *memory, uint32_t learner)
{
    OCT_ASSERT(a->ops->share != NULL && a->sharing == NULL && a->group == NULL);
    shared_head *head = memory;
    a->sharing = oct_alloc(sizeof(*a->sharing));
    *a->sharing = (algo_sharing){.carver = {.base = memory}, .learner = learner};
    if (learner == 0) {
        atomic_store_explicit(&head->turns, a->updates, memory_order_relaxed);
    }
    all_share(a, a->sharing);
}

static void
numbers_read(const algo_sharing *s)
{
    for (uint32_t i = 0; i < s->number_count; i++) {
        memcpy(s->number[i].own, s->number[i].shared, s->number[i].bytes);
    }
}

void
algo_fetch(algo *a)
{
    const algo_sharing *s = a->sharing;
    for (uint32_t i = 0; i < s->net_count; i++) {
        nn_net_fetch(s->net[i]);
    }
    numbers_read(s);
    if (a->ops->fetched != NULL) {
        a->ops->fetched(a);
    }
}

uint64_t
algo_staleness(const algo *a)
{
    uint64_t shared;
    memcpy(&shared, a->sharing->number[0].shared, sizeof(shared));
    return shared - a->updates;
}

void
algo_turn_take(algo *a)
{
    if (a->sharing == NULL) {
        a->turn = a->updates + 1;
        return;
    }
    shared_head *head = (shared_head *)(void *)a->sharing->carver.base;
    a->turn = atomic_fetch_add_explicit(&head->turns, 1, memory_order_relaxed) + 1;
}

void
algo_apply(algo *a, float learning_rate)
{
    const algo_sharing *s = a->sharing;
    if (s != NULL) {
        numbers_read(s);
    }
    a->updates++;
    a->ops->apply(a, learning_rate);
    for (uint32_t i = 0; s != NULL && i < s->number_count; i++) {
        memcpy(s->number[i].shared, s->number[i].own, s->number[i].bytes);
    }
}
