// Interquartile mean and probability of improvement, with bootstrap intervals.
#include "cli/runs/cli_bootstrap.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

// Numbers in rising order, and how often each was drawn. A resample only changes the counts, so it
// needs no sorting.
typedef struct sample {
    double *value;   // [count]
    uint32_t *times; // [count] how often each value was drawn; their sum is count
    uint32_t count;  // number of values, and of draws
} sample;

typedef double (*statistic)(const sample *x, const sample *y);

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Makes a sample in which each value is drawn once: the original.
static sample
sample_of(const double *values, uint32_t count)
{
    OCT_ASSERT(count >= 1);
    sample s = {.value = oct_alloc(count * sizeof(*s.value)),
                .times = oct_alloc(count * sizeof(*s.times)),
                .count = count};
    memcpy(s.value, values, count * sizeof(*values));
    qsort(s.value, count, sizeof(*s.value), by_value);
    for (uint32_t i = 0; i < count; i++) {
        s.times[i] = 1;
    }
    return s;
}

static void
sample_free(sample *s)
{
    free(s->value);
    free(s->times);
}

static void
sample_draw(sample *s, oct_rng *rng)
{
    memset(s->times, 0, s->count * sizeof(*s->times));
    for (uint32_t i = 0; i < s->count; i++) {
        s->times[oct_rng_below(rng, s->count)]++;
    }
}

// Adds up differences from one of the numbers, so that equal numbers have exactly their value.
// cut numbers are left out at each end; at counts the draws before value i.
static double
iqm(const sample *x, const sample *none)
{
    uint32_t cut = x->count / 4, end = x->count - cut, at = 0;
    double middle = x->value[x->count / 2], sum = 0;
    (void)none;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t from = OCT_MAX(at, cut), to = OCT_MIN(at + x->times[i], end);
        sum += from < to ? (to - from) * (x->value[i] - middle) : 0;
        at += x->times[i];
    }
    return middle + sum / (end - cut);
}

// Both samples are sorted, so one pass over each is enough.
static double
improvement(const sample *x, const sample *y)
{
    // of y: draws that are smaller than an x, and draws that are not larger
    uint64_t halves = 0, below = 0, up_to = 0;
    uint32_t less = 0, equal = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        for (; less < y->count && y->value[less] < x->value[i]; less++) {
            below += y->times[less];
        }
        for (; equal < y->count && y->value[equal] <= x->value[i]; equal++) {
            up_to += y->times[equal];
        }
        // A pair counts 2 halves if x is larger and 1 if they are equal.
        halves += x->times[i] * (below + up_to);
    }
    return (double)halves / (2.0 * x->count * y->count);
}

// Interpolates like numpy.percentile.
static double
percentile(const double *sorted, double percent)
{
    double at = percent / 100 * (CLI_BOOTSTRAP_RESAMPLES - 1);
    uint32_t i = (uint32_t)at;
    return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

// Computes a statistic and its interval. y may be NULL. x and y are overwritten by resamples.
static cli_bootstrap
estimate(statistic of, sample *x, sample *y)
{
    cli_bootstrap out = {.value = of(x, y)};
    double *drawn = oct_alloc(CLI_BOOTSTRAP_RESAMPLES * sizeof(*drawn));
    oct_rng rng;
    oct_rng_init(&rng, 0, 0);
    for (uint32_t i = 0; i < CLI_BOOTSTRAP_RESAMPLES; i++) {
        sample_draw(x, &rng);
        if (y != NULL) {
            sample_draw(y, &rng);
        }
        drawn[i] = of(x, y);
    }
    qsort(drawn, CLI_BOOTSTRAP_RESAMPLES, sizeof(*drawn), by_value);
    const double outside = 0.5 * (100 - CLI_BOOTSTRAP_PERCENT);
    out.low = percentile(drawn, outside);
    out.high = percentile(drawn, 100 - outside);
    free(drawn);
    return out;
}

cli_bootstrap
cli_bootstrap_iqm(const double *x, uint32_t n)
{
    sample of = sample_of(x, n);
    cli_bootstrap out = estimate(iqm, &of, NULL);
    sample_free(&of);
    return out;
}

cli_bootstrap
cli_bootstrap_improvement(const double *x, uint32_t n, const double *y, uint32_t m)
{
    sample of = sample_of(x, n), over = sample_of(y, m);
    cli_bootstrap out = estimate(improvement, &of, &over);
    sample_free(&of);
    sample_free(&over);
    return out;
}
