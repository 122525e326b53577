// Arrays of which each rank has a part: blocks that all ranks read, means and shares.
//
// A mean over ranks is a reduce-scatter: each rank receives its part from all others and averages
// it. A share is an all-gather: each rank sends its part to all others. Ranks that share memory
// read each other's blocks in place, between two barriers, instead of sending.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "nn/group/group_state.h"

#define MEAN_NUMBERS 1024u // numbers that range_mean adds at a time; 4 kB, in the L1 cache
#define PAGE_FLOATS  1024u // floats in a page

// The numbers of each rank begin on a page of their own.
void
group_block_make(group_block *out, group *g, size_t count)
{
    const size_t apart = (count + PAGE_FLOATS - 1) / PAGE_FLOATS * PAGE_FLOATS;
    *out = (group_block){0};
    if (g != NULL && g->link.share != NULL && count > 0) {
        out->bytes = g->size * apart * sizeof(float);
        out->memory = g->link.share(g->link.arg, out->bytes);
        if (out->memory == NULL) {
            oct_log_error("GROUP-LOST", "cannot map %zu bytes of memory for learners to share: %s",
                          out->bytes, strerror(errno));
            _exit(EXIT_FAILURE);
        }
        out->apart = apart;
        out->own = (float *)out->memory + g->rank * apart;
    } else {
        out->own = oct_alloc(count * sizeof(float));
    }
}

void
group_block_free(group_block *block)
{
    if (block->memory != NULL) {
        (void)munmap(block->memory, block->bytes);
    } else {
        free(block->own);
    }
    *block = (group_block){0};
}

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

// Rounds to the nearest bfloat16, ties to even; NaN stays NaN.
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

// own[count] = the mean over ranks r of own + (r - rank) * apart. Ranks are added in order,
// MEAN_NUMBERS at a time, so that the sums stay in the nearest cache.
static void
range_mean(const group *g, float *own, ptrdiff_t apart, size_t count)
{
    float sum[MEAN_NUMBERS];
    const float factor = 1.0f / (float)g->size;
    const float *first = own - (ptrdiff_t)g->rank * apart;
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < MEAN_NUMBERS ? count - at : MEAN_NUMBERS;
        memcpy(sum, first + at, some * sizeof(*sum));
        for (uint32_t r = 1; r < g->size; r++) {
            const float *x = first + (ptrdiff_t)r * apart + at;
            for (size_t i = 0; i < some; i++) {
                sum[i] += x[i];
            }
        }
        for (size_t i = 0; i < some; i++) {
            own[at + i] = sum[i] * factor;
        }
    }
}

// Receives this rank's part of x from all ranks into from, one part after the other, and sends the
// other parts. bytes: the size of a number.
static void
ranges_scatter(group *g, void *x, void *from, size_t count, size_t bytes)
{
    group_range own = group_own(g, count);
    for (uint32_t r = 0; r < g->size; r++) {
        group_range of = range_of(g, count, r);
        g->out[r] = (group_part){(uint8_t *)x + of.at * bytes, of.count * bytes};
        g->in[r] = (group_part){(uint8_t *)from + r * own.count * bytes, own.count * bytes};
    }
    group_exchange(g);
}

// Sends this rank's part of x to all others, and receives theirs.
static void
ranges_gather(group *g, void *x, size_t count, size_t bytes)
{
    group_range own = group_own(g, count);
    for (uint32_t r = 0; r < g->size; r++) {
        group_range of = range_of(g, count, r);
        g->out[r] = (group_part){(uint8_t *)x + own.at * bytes, own.count * bytes};
        g->in[r] = (group_part){(uint8_t *)x + of.at * bytes, of.count * bytes};
    }
    group_exchange(g);
}

static void
mean_of_floats(group *g, float *x, size_t count)
{
    group_range own = group_own(g, count);
    float *from = group_space(g, g->size * own.count * sizeof(*from) + 1), *mine;
    ranges_scatter(g, x, from, count, sizeof(*x));
    mine = from + g->rank * own.count;
    memcpy(mine, x + own.at, own.count * sizeof(*x));
    range_mean(g, mine, (ptrdiff_t)own.count, own.count);
    memcpy(x + own.at, mine, own.count * sizeof(*x));
}

// The numbers of all ranks are rounded, this rank's too.
static void
mean_of_bf16(group *g, float *x, size_t count)
{
    group_range own = group_own(g, count);
    size_t numbers = g->size * own.count;
    float *from = group_space(g, (numbers + 1) * (sizeof(float) + sizeof(uint16_t)) +
                                     count * sizeof(uint16_t));
    float *mine = from + g->rank * own.count;
    uint16_t *came = (uint16_t *)(void *)(from + numbers);
    uint16_t *half = came + numbers;
    bf16_of(half, x, count);
    ranges_scatter(g, half, came, count, sizeof(*half));
    memcpy(came + g->rank * own.count, half + own.at, own.count * sizeof(*half));
    bf16_to(from, came, numbers);
    range_mean(g, mine, (ptrdiff_t)own.count, own.count);
    memcpy(x + own.at, mine, own.count * sizeof(*x));
}

// The mean of numbers in a block, which ranks read in place.
static void
mean_in_place(group *g, float *x, size_t count, size_t apart)
{
    group_range own = group_own(g, count);
    group_meet(g);
    uint64_t begin_ns = oct_clock_ns();
    range_mean(g, x + own.at, (ptrdiff_t)apart, own.count);
    uint64_t numbers = (g->size - 1) * (uint64_t)own.count + count - own.count;
    group_counts_add(g, begin_ns, numbers * sizeof(*x));
}

static void
share_in_place(group *g, float *x, size_t count, size_t apart)
{
    uint64_t numbers = (g->size - 1) * (uint64_t)group_own(g, count).count;
    group_meet(g);
    uint64_t begin_ns = oct_clock_ns();
    for (uint32_t r = 0; r < g->size; r++) {
        group_range of = range_of(g, count, r);
        const float *theirs = x + ((ptrdiff_t)r - (ptrdiff_t)g->rank) * (ptrdiff_t)apart;
        if (r != g->rank) {
            memcpy(x + of.at, theirs + of.at, of.count * sizeof(*x));
            numbers += of.count;
        }
    }
    group_counts_add(g, begin_ns, numbers * sizeof(*x));
    group_meet(g); // afterwards every rank may change x, including the part that others read
}

void
group_mean_own(group *g, float *x, size_t count, size_t apart)
{
    if (g != NULL && g->bf16) {
        mean_of_bf16(g, x, count);
    } else if (g != NULL && apart > 0) {
        mean_in_place(g, x, count, apart);
    } else if (g != NULL) {
        mean_of_floats(g, x, count);
    }
}

void
group_share(group *g, float *x, size_t count, size_t apart)
{
    if (g != NULL && apart > 0) {
        share_in_place(g, x, count, apart);
    } else if (g != NULL) {
        ranges_gather(g, x, count, sizeof(*x));
    }
}

// Space for this rank's numbers, followed by the rounded steps of all ranks.
static float *
kept_space(group *g, size_t count)
{
    return group_space(g,
                       (group_own(g, count).count + 1) * sizeof(float) + count * sizeof(uint16_t));
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
group_share_steps(group *g, float *x, size_t count, size_t apart)
{
    if (g == NULL || !g->bf16) {
        group_share(g, x, count, apart);
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
