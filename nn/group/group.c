// Groups: creation, counts, and copies and sums among ranks, each by one exchange with all others.
// group_parts.c has the functions for arrays of which each rank has a part.
#include "nn/group/group_state.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define SPINS       1000u // rounds, about 20 microseconds in all
#define GIVES_WAY   200u  // rounds of sched_yield
#define SLEEP_NS    50000
#define LONG_SLEEPS 200u // rounds that sleep SLEEP_NS; later rounds sleep LONG_NS
#define LONG_NS     1000000

void
group_follow(void)
{
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
}

group *
group_create(const group_link *link, uint32_t rank, uint32_t size)
{
    OCT_ASSERT(size >= 1 && size <= GROUP_SIZE_MAX && rank < size);
    group *g = oct_alloc(sizeof(*g));
    g->link = *link;
    g->rank = rank;
    g->size = size;
    return g;
}

void
group_destroy(group *g)
{
    if (g != NULL) {
        g->link.close(g->link.arg);
        if (g->memory != NULL) {
            (void)munmap(g->memory, g->memory_bytes);
        }
        free(g->space);
        free(g);
    }
}

void *
group_memory(group *g, size_t bytes)
{
    OCT_ASSERT(g->memory == NULL);
    g->memory = g->link.share != NULL ? g->link.share(g->link.arg, bytes) : NULL;
    g->memory_bytes = bytes;
    return g->memory;
}

void
group_look(group *g)
{
    if (g != NULL && g->link.look != NULL) {
        g->link.look(g->link.arg);
    }
}

void
group_lock_take(group *g, group_lock *lock)
{
    unsigned is_free = 0;
    for (uint32_t round = 0; !atomic_compare_exchange_weak_explicit(
             &lock->taken, &is_free, 1, memory_order_acquire, memory_order_relaxed);
         round++) {
        is_free = 0;
        group_wait(round);
        if (round % GROUP_LOOK_EVERY == GROUP_LOOK_EVERY - 1) {
            group_look(g);
        }
    }
}

void
group_lock_give(group_lock *lock)
{
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

uint32_t
group_rank(const group *g)
{
    return g != NULL ? g->rank : 0;
}

bool
group_is_local(const group *g)
{
    return g == NULL || g->link.share != NULL;
}

uint32_t
group_size(const group *g)
{
    return g != NULL ? g->size : 1;
}

void
group_set_bf16(group *g, bool bf16)
{
    if (g != NULL) {
        g->bf16 = bf16;
    }
}

void *
group_space(group *g, size_t bytes)
{
    if (g->room < bytes) {
        free(g->space);
        g->space = oct_alloc(bytes);
        g->room = bytes;
    }
    return g->space;
}

static void
parts_clear(group *g)
{
    memset(g->out, 0, sizeof(g->out));
    memset(g->in, 0, sizeof(g->in));
}

void
group_counts_add(group *g, uint64_t begin_ns, uint64_t bytes)
{
    atomic_fetch_add_explicit(&g->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->ns, oct_clock_ns() - begin_ns, memory_order_relaxed);
}

void
group_exchange(group *g)
{
    uint64_t begin_ns = oct_clock_ns(), bytes = 0;
    g->link.exchange(g->link.arg, g->out, g->in);
    for (uint32_t r = 0; r < g->size; r++) {
        bytes += r == g->rank ? 0 : g->out[r].bytes + g->in[r].bytes;
    }
    group_counts_add(g, begin_ns, bytes);
}

void
group_meet(group *g)
{
    uint8_t own = 0, of[GROUP_SIZE_MAX];
    for (uint32_t r = 0; r < g->size; r++) {
        g->out[r] = (group_part){&own, sizeof(own)};
        g->in[r] = (group_part){&of[r], sizeof(own)};
    }
    group_exchange(g);
}

void
group_counts_get(const group *g, group_counts *out)
{
    *out = (group_counts){0};
    if (g != NULL) {
        out->seconds = 1e-9 * (double)atomic_load_explicit(&g->ns, memory_order_relaxed);
        out->bytes = (double)atomic_load_explicit(&g->bytes, memory_order_relaxed);
    }
}

static void *
readable(const void *data)
{
    return (void *)(uintptr_t)data; // a part that is sent is only read
}

void
group_broadcast(group *g, void *data, size_t bytes)
{
    if (g == NULL) {
        return;
    }
    parts_clear(g);
    for (uint32_t r = 1; g->rank == 0 && r < g->size; r++) {
        g->out[r] = (group_part){data, bytes};
    }
    if (g->rank != 0) {
        g->in[0] = (group_part){data, bytes};
    }
    group_exchange(g);
}

void
group_scatter(group *g, const void *all, void *own, size_t bytes)
{
    const uint8_t *from = all;
    if (group_rank(g) == 0) {
        memcpy(own, from, bytes);
    }
    if (g == NULL) {
        return;
    }
    parts_clear(g);
    for (uint32_t r = 1; g->rank == 0 && r < g->size; r++) {
        g->out[r] = (group_part){readable(from + r * bytes), bytes};
    }
    if (g->rank != 0) {
        g->in[0] = (group_part){own, bytes};
    }
    group_exchange(g);
}

void
group_gather(group *g, const void *own, void *all, size_t bytes)
{
    uint8_t *to = all;
    if (group_rank(g) == 0) {
        memcpy(to, own, bytes);
    }
    if (g == NULL) {
        return;
    }
    parts_clear(g);
    for (uint32_t r = 1; g->rank == 0 && r < g->size; r++) {
        g->in[r] = (group_part){to + r * bytes, bytes};
    }
    if (g->rank != 0) {
        g->out[0] = (group_part){readable(own), bytes};
    }
    group_exchange(g);
}

void
group_gather_all(group *g, const void *own, void *all, size_t bytes)
{
    uint8_t *to = all;
    memcpy(to + group_rank(g) * bytes, own, bytes);
    if (g == NULL) {
        return;
    }
    parts_clear(g);
    for (uint32_t r = 0; r < g->size; r++) {
        g->out[r] = (group_part){readable(own), bytes};
        g->in[r] = (group_part){to + r * bytes, bytes};
    }
    group_exchange(g);
}

void
group_sum(group *g, double *x, size_t count)
{
    if (g == NULL) {
        return;
    }
    double *all = group_space(g, g->size * count * sizeof(*all));
    group_gather_all(g, x, all, count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        double sum = all[i];
        for (uint32_t r = 1; r < g->size; r++) {
            sum += all[r * count + i];
        }
        x[i] = sum;
    }
}

void
group_wait(uint32_t round)
{
    if (round < SPINS) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    } else if (round < SPINS + GIVES_WAY) {
        (void)sched_yield();
    } else {
        bool is_long = round >= SPINS + GIVES_WAY + LONG_SLEEPS;
        const struct timespec time = {.tv_nsec = is_long ? LONG_NS : SLEEP_NS};
        (void)nanosleep(&time, NULL);
    }
}
