// Sums, means and copies among the ranks of a group, each by exchanges with all others.
#include "group/group.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define SPINS       1000u // some 20 microseconds
#define GIVES_WAY   200u
#define SLEEP_NS    50000
#define LONG_SLEEPS 200u // rounds of SLEEP_NS, before those of a millisecond
#define LONG_NS     1000000

#define MEAN_NUMBERS 1024u

struct group {
    group_link link;
    uint32_t rank, size;
    bool bf16;
    void *space;
    size_t room;
    group_part out[GROUP_SIZE_MAX], in[GROUP_SIZE_MAX];
    atomic_uint_fast64_t ns;
    atomic_uint_fast64_t bytes;
};

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
        free(g->space);
        free(g);
    }
}

void *
group_memory(group *g, size_t bytes)
{
    return g->link.share != NULL ? g->link.share(g->link.arg, bytes) : NULL;
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

static void *
space(group *g, size_t bytes)
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

static void
exchange(group *g)
{
    uint64_t begin_ns = oct_clock_ns(), bytes = 0;
    g->link.exchange(g->link.arg, g->out, g->in);
    for (uint32_t r = 0; r < g->size; r++) {
        bytes += r == g->rank ? 0 : g->out[r].bytes + g->in[r].bytes;
    }
    atomic_fetch_add_explicit(&g->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->ns, oct_clock_ns() - begin_ns, memory_order_relaxed);
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
    exchange(g);
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
    exchange(g);
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
    exchange(g);
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
    exchange(g);
}

void
group_sum(group *g, double *x, size_t count)
{
    if (g == NULL) {
        return;
    }
    double *all = space(g, g->size * count * sizeof(*all));
    group_gather_all(g, x, all, count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        double sum = all[i];
        for (uint32_t r = 1; r < g->size; r++) {
            sum += all[r * count + i];
        }
        x[i] = sum;
    }
}

// ---- many numbers, of which each rank has a part

static group_range
range_of(const group *g, size_t count, uint32_t r)
{
    size_t at = (size_t)((uint64_t)count * r / g->size);
    size_t end = (size_t)((uint64_t)count * (r + 1) / g->size);
    return (group_range){at, end - at};
}

group_range
group_own(const group *g, size_t count)
{
    return g != NULL ? range_of(g, count, g->rank) : (group_range){0, count};
}

// To the nearest, halves to even; NaN stays one.
static void
bf16_of(uint16_t *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof(bits));
        uint32_t nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        to[i] = (uint16_t)(is_nan ? 0x7fc0u : nearest);
    }
}

static float
bf16_float(uint16_t from)
{
    uint32_t bits = (uint32_t)from << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void
bf16_to(float *to, const uint16_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = bf16_float(from[i]);
    }
}

// own[count] = the mean of from[size][count], where own's place is own itself; in rank order, some
// numbers at a time, which stay in the nearest cache.
static void
range_mean(const group *g, float *own, const float *from, size_t count)
{
    float sum[MEAN_NUMBERS];
    const float factor = 1.0f / (float)g->size;
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < MEAN_NUMBERS ? count - at : MEAN_NUMBERS;
        memcpy(sum, (g->rank == 0 ? own : from) + at, some * sizeof(*sum));
        for (uint32_t r = 1; r < g->size; r++) {
            const float *x = r == g->rank ? own + at : from + r * count + at;
            for (size_t i = 0; i < some; i++) {
                sum[i] += x[i];
            }
        }
        for (size_t i = 0; i < some; i++) {
            own[at + i] = sum[i] * factor;
        }
    }
}

// Each rank gets its range of x, of numbers of so many bytes, from all others, one behind the
// other.
static void
ranges_scatter(group *g, void *x, void *from, size_t count, size_t bytes)
{
    group_range own = group_own(g, count);
    for (uint32_t r = 0; r < g->size; r++) {
        group_range of = range_of(g, count, r);
        g->out[r] = (group_part){(uint8_t *)x + of.at * bytes, of.count * bytes};
        g->in[r] = (group_part){(uint8_t *)from + r * own.count * bytes, own.count * bytes};
    }
    exchange(g);
}

// Each rank's range of x goes to all others.
static void
ranges_gather(group *g, void *x, size_t count, size_t bytes)
{
    group_range own = group_own(g, count);
    for (uint32_t r = 0; r < g->size; r++) {
        group_range of = range_of(g, count, r);
        g->out[r] = (group_part){(uint8_t *)x + own.at * bytes, own.count * bytes};
        g->in[r] = (group_part){(uint8_t *)x + of.at * bytes, of.count * bytes};
    }
    exchange(g);
}

static void
mean_of_floats(group *g, float *x, size_t count)
{
    group_range own = group_own(g, count);
    float *from = space(g, g->size * own.count * sizeof(*from) + 1);
    ranges_scatter(g, x, from, count, sizeof(*x));
    range_mean(g, x + own.at, from, own.count);
}

// Everybody's numbers are rounded, the own ones too.
static void
mean_of_bf16(group *g, float *x, size_t count)
{
    group_range own = group_own(g, count);
    size_t numbers = g->size * own.count;
    float *from =
        space(g, (numbers + 1) * (sizeof(float) + sizeof(uint16_t)) + count * sizeof(uint16_t));
    uint16_t *came = (uint16_t *)(void *)(from + numbers);
    uint16_t *half = came + numbers;
    bf16_of(half, x, count);
    ranges_scatter(g, half, came, count, sizeof(*half));
    memcpy(came + g->rank * own.count, half + own.at, own.count * sizeof(*half));
    bf16_to(from, came, numbers);
    memcpy(x + own.at, from + g->rank * own.count, own.count * sizeof(*x));
    range_mean(g, x + own.at, from, own.count);
}

void
group_mean_own(group *g, float *x, size_t count)
{
    if (g != NULL && g->bf16) {
        mean_of_bf16(g, x, count);
    } else if (g != NULL) {
        mean_of_floats(g, x, count);
    }
}

void
group_share(group *g, float *x, size_t count)
{
    if (g != NULL) {
        ranges_gather(g, x, count, sizeof(*x));
    }
}

// The own numbers, and behind them room for all steps.
static float *
kept_space(group *g, size_t count)
{
    return space(g, (group_own(g, count).count + 1) * sizeof(float) + count * sizeof(uint16_t));
}

void
group_keep(group *g, const float *x, size_t count)
{
    if (g != NULL && g->bf16) {
        group_range own = group_own(g, count);
        memcpy(kept_space(g, count), x + own.at, own.count * sizeof(*x));
    }
}

void
group_share_steps(group *g, float *x, size_t count)
{
    if (g == NULL || !g->bf16) {
        group_share(g, x, count);
        return;
    }
    group_range own = group_own(g, count);
    float *kept = kept_space(g, count), *mine = x + own.at;
    uint16_t *half = (uint16_t *)(void *)(kept + own.count);
    for (size_t i = 0; i < own.count; i++) {
        mine[i] -= kept[i];
    }
    bf16_of(half + own.at, mine, own.count);
    memcpy(mine, kept, own.count * sizeof(*mine));
    ranges_gather(g, half, count, sizeof(*half));
    for (size_t i = 0; i < count; i++) {
        x[i] += bf16_float(half[i]);
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
