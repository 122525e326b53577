// What every link of a group must do, asserted on all ranks without leaving any of them behind.
#include "tests/nn/group/group_checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

#define COUNT_MAX 200003u // more bytes than any buffer on the way

static bool
good(bool holds, const char *what, uint32_t rank)
{
    if (!holds) {
        fprintf(stderr, "rank %u: %s\n", (unsigned)rank, what);
    }
    return holds;
}

// Of very different sizes, so that another order of sums has other bits.
static void
numbers_of(float *x, uint32_t rank, size_t count)
{
    oct_rng rng;
    oct_rng_init(&rng, 17 + rank, 0);
    for (size_t i = 0; i < count; i++) {
        x[i] = ldexpf(oct_rng_normal(&rng), (int)oct_rng_below(&rng, 12));
    }
}

// Of numbers that are sent, and of those in a block.
static bool
means_are_in_rank_order(group *g, size_t count)
{
    group_block block;
    uint32_t R = group_size(g);
    float *x = oct_alloc(COUNT_MAX * sizeof(float)), *y = oct_alloc(COUNT_MAX * sizeof(float));
    float *want = oct_alloc(COUNT_MAX * sizeof(float));
    numbers_of(want, 0, count);
    for (uint32_t r = 1; r < R; r++) {
        numbers_of(y, r, count);
        for (size_t i = 0; i < count; i++) {
            want[i] += y[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        want[i] *= 1.0f / (float)R;
    }
    numbers_of(x, group_rank(g), count);
    group_mean_own(g, x, count, 0);
    group_share(g, x, count, 0);
    bool same = memcmp(x, want, count * sizeof(float)) == 0;
    group_block_make(&block, g, count);
    for (size_t i = 0; i < count; i++) {
        same &= block.own[i] == 0.0f;
    }
    numbers_of(block.own, group_rank(g), count);
    group_mean_own(g, block.own, count, block.apart);
    group_share(g, block.own, count, block.apart);
    same &= memcmp(block.own, want, count * sizeof(float)) == 0;
    group_block_free(&block);
    free(x);
    free(y);
    free(want);
    return good(same, "a mean has other bits than the sum in rank order", group_rank(g));
}

// Everybody has the same, near the mean.
static bool
means_of_bf16_are_alike(group *g, size_t count)
{
    uint32_t R = group_size(g);
    float *x = oct_alloc(count * sizeof(float)), *mean = oct_alloc(count * sizeof(float));
    float *all = oct_alloc(R * count * sizeof(float));
    numbers_of(x, group_rank(g), count);
    numbers_of(mean, group_rank(g), count);
    x[0] = mean[0] = 1e30f;
    group_mean_own(g, mean, count, 0);
    group_share(g, mean, count, 0);
    group_set_bf16(g, true);
    group_mean_own(g, x, count, 0);
    group_set_bf16(g, false);
    group_share(g, x, count, 0);
    group_gather_all(g, x, all, count * sizeof(float));
    bool alike = true, near = true;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t r = 0; r < R; r++) {
            alike &= all[r * count + i] == x[i];
        }
        double largest = 4096.0 * 8; // of what was added: sums may cancel
        near &=
            fabs((double)x[i] - (double)mean[i]) <= ldexp(fmax(largest, fabs((double)mean[i])), -8);
    }
    free(x);
    free(mean);
    free(all);
    return good(alike && near, "means of bfloat16 differ", group_rank(g));
}

// A rank moves its own part alone; everybody comes to have all steps, each rounded.
static bool
steps_of_bf16_are_alike(group *g, size_t count)
{
    uint32_t R = group_size(g);
    float *x = oct_alloc(count * sizeof(float)), *all = oct_alloc(R * count * sizeof(float));
    group_range own = group_own(g, count);
    numbers_of(x, 0, count);
    group_set_bf16(g, true);
    group_keep(g, x, count);
    for (size_t i = own.at; i < own.at + own.count; i++) {
        x[i] += 1.0f + 0x1p-7f + 0x1p-9f;
    }
    group_share_steps(g, x, count, 0);
    group_set_bf16(g, false);
    group_gather_all(g, x, all, count * sizeof(float));
    bool holds = true;
    numbers_of(x, 0, count);
    for (size_t i = 0; i < count; i++) {
        float moved = x[i] + (1.0f + 0x1p-7f + 0x1p-9f), step = moved - x[i];
        for (uint32_t r = 0; r < R; r++) {
            double off = fabs((double)(all[r * count + i] - x[i]) - (double)step);
            holds &= all[r * count + i] == all[i] && off <= 0x1p-8 + fabs((double)x[i]) * 0x1p-22;
            holds &= fabsf(x[i]) > 1.0f || all[i] != moved; // is rounded
        }
    }
    free(x);
    free(all);
    return good(holds, "steps of bfloat16 differ", group_rank(g));
}

static bool
sums_are_in_rank_order(group *g)
{
    double x[3] = {1e16, 1.0 + group_rank(g), -1e16}, want[3] = {0};
    for (uint32_t r = 0; r < group_size(g); r++) {
        want[0] += 1e16;
        want[1] += 1.0 + r;
        want[2] += -1e16;
    }
    group_sum(g, x, 3);
    return good(memcmp(x, want, sizeof(x)) == 0, "a sum is wrong", group_rank(g));
}

static bool
copies_arrive(group *g, size_t bytes)
{
    uint32_t R = group_size(g), rank = group_rank(g);
    uint8_t *all = oct_alloc(R * bytes + 1), *own = oct_alloc(bytes + 1);
    for (size_t i = 0; i < R * bytes; i++) {
        all[i] = rank == 0 ? (uint8_t)(i * 7 + i / 251) : 0xee;
    }
    bool holds = true;
    group_scatter(g, all, own, bytes);
    for (size_t i = 0; i < bytes; i++) {
        size_t k = rank * bytes + i;
        holds &= own[i] == (uint8_t)(k * 7 + k / 251);
        own[i] = (uint8_t)(own[i] + 1);
    }
    holds = good(holds, "a part was not scattered as it was", rank);
    group_gather(g, own, all, bytes);
    for (size_t i = 0; rank == 0 && i < R * bytes; i++) {
        holds &= all[i] == (uint8_t)(i * 7 + i / 251 + 1);
    }
    holds = good(holds, "a part was not gathered as it was", rank);
    memset(own, rank == 0 ? 42 : 0, bytes);
    group_broadcast(g, own, bytes);
    for (size_t i = 0; i < bytes; i++) {
        holds &= own[i] == 42;
    }
    free(all);
    free(own);
    return good(holds, "a broadcast is not what rank 0 had", rank);
}

bool
group_checks(group *g)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, 1000, COUNT_MAX};
    bool holds = true;
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        holds &= means_are_in_rank_order(g, counts[i]);
        holds &= copies_arrive(g, counts[i]);
    }
    holds &= sums_are_in_rank_order(g);
    holds &= group_size(g) == 1 || means_of_bf16_are_alike(g, 1001);
    holds &= group_size(g) == 1 || steps_of_bf16_are_alike(g, 1001);
    double failed = !holds;
    group_sum(g, &failed, 1);
    return group_rank(g) == 0 ? failed == 0 : holds;
}
