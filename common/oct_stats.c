#include "common/oct_stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define NUMBERS_MAX    512
#define NAME_BYTES_MAX 64
#define STATES_MAX     16
#define SUB_BITS       3
#define SUB_COUNT      (1u << SUB_BITS)

typedef enum source_kind {
    SOURCE_COUNTER,
    SOURCE_GAUGE,
    SOURCE_STATES,
    SOURCE_LATENCY
} source_kind;

// One registered thing; first is where its numbers begin in the snapshot.
typedef struct source {
    source_kind kind;
    uint32_t first;
    union {
        struct {
            uint64_t total, at_window_start;
        } counter;
        double gauge;
        struct {
            uint32_t count, current;
            uint64_t entered_ns;
            uint64_t window_ns[STATES_MAX];
        } states;
        oct_histogram *latency;
    } as;
} source;

struct oct_stats {
    uint32_t numbers_max, number_count, source_count;
    uint64_t window_start_ns;
    bool rolled;
    source *sources;              // [numbers_max]
    char (*text)[NAME_BYTES_MAX]; // [numbers_max]
    const char **names;           // [numbers_max] into text
    double *values;               // [numbers_max]
};

// Values below SUB_COUNT have a bucket each; above, the bucket is the exponent and the next
// SUB_BITS bits.
static uint32_t
bucket_of(uint64_t value)
{
    if (value < SUB_COUNT) {
        return (uint32_t)value;
    }
    uint32_t exponent = 63u - (uint32_t)__builtin_clzll(value);
    uint32_t sub = (uint32_t)(value >> (exponent - SUB_BITS)) & (SUB_COUNT - 1);
    return (exponent - SUB_BITS + 1) * SUB_COUNT + sub;
}

_Static_assert(OCT_HISTOGRAM_BUCKETS == (63 - SUB_BITS + 2) * SUB_COUNT, "one past bucket_of(max)");

// The middle of a bucket's values.
static double
bucket_value(uint32_t bucket)
{
    if (bucket < SUB_COUNT) {
        return bucket;
    }
    int shift = (int)(bucket / SUB_COUNT) - 1;
    uint32_t sub = bucket % SUB_COUNT + SUB_COUNT;
    return ldexp(sub, shift) + (ldexp(1, shift) - 1) / 2;
}

void
oct_histogram_record(oct_histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->max = OCT_MAX(histogram->max, value);
    histogram->bucket[bucket_of(value)]++;
}

double
oct_histogram_percentile(const oct_histogram *histogram, double share)
{
    if (histogram->count == 0) {
        return 0;
    }
    double wanted = OCT_MAX(ceil(share * (double)histogram->count), 1.0);
    double seen = 0;
    for (uint32_t i = 0; i < OCT_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen >= wanted) {
            return OCT_MIN(bucket_value(i), (double)histogram->max);
        }
    }
    return (double)histogram->max;
}

oct_stats *
oct_stats_create(uint32_t numbers_max, uint64_t now_ns)
{
    OCT_ASSERT(numbers_max >= 1 && numbers_max <= NUMBERS_MAX);
    oct_stats *stats = oct_alloc(sizeof(*stats));
    stats->numbers_max = numbers_max;
    stats->window_start_ns = now_ns;
    stats->sources = oct_alloc(numbers_max * sizeof(*stats->sources));
    stats->text = oct_alloc(numbers_max * sizeof(*stats->text));
    stats->names = oct_alloc(numbers_max * sizeof(*stats->names));
    stats->values = oct_alloc(numbers_max * sizeof(*stats->values));
    return stats;
}

void
oct_stats_destroy(oct_stats *stats)
{
    if (stats == NULL) {
        return;
    }
    for (uint32_t i = 0; i < stats->source_count; i++) {
        if (stats->sources[i].kind == SOURCE_LATENCY) {
            free(stats->sources[i].as.latency);
        }
    }
    free(stats->values);
    free(stats->names);
    free(stats->text);
    free(stats->sources);
    free(stats);
}

static source *
source_add(oct_stats *stats, source_kind kind)
{
    OCT_ASSERT(stats->source_count < stats->numbers_max);
    source *added = &stats->sources[stats->source_count++];
    added->kind = kind;
    added->first = stats->number_count;
    return added;
}

// Two numbers of one name would be one number to a reader.
static void
number_add(oct_stats *stats, const char *name, const char *joint, const char *suffix)
{
    OCT_ASSERT(stats->number_count < stats->numbers_max);
    uint32_t index = stats->number_count++;
    int length = snprintf(stats->text[index], NAME_BYTES_MAX, "%s%s%s", name, joint, suffix);
    OCT_ASSERT(length > 0 && length < NAME_BYTES_MAX);
    for (uint32_t i = 0; i < index; i++) {
        OCT_ASSERT(strcmp(stats->text[i], stats->text[index]) != 0);
    }
    stats->names[index] = stats->text[index];
}

oct_counter
oct_stats_counter(oct_stats *stats, const char *name)
{
    (void)source_add(stats, SOURCE_COUNTER);
    number_add(stats, name, "", "");
    number_add(stats, name, "_", "per_s");
    return (oct_counter){stats->source_count - 1};
}

oct_gauge
oct_stats_gauge(oct_stats *stats, const char *name)
{
    (void)source_add(stats, SOURCE_GAUGE);
    number_add(stats, name, "", "");
    return (oct_gauge){stats->source_count - 1};
}

oct_states
oct_stats_states(oct_stats *stats, const char *name, const char *const *state_names,
                 uint32_t state_count, uint64_t now_ns)
{
    OCT_ASSERT(state_count >= 1 && state_count <= STATES_MAX);
    source *added = source_add(stats, SOURCE_STATES);
    added->as.states.count = state_count;
    added->as.states.entered_ns = now_ns;
    for (uint32_t i = 0; i < state_count; i++) {
        number_add(stats, name, "_", state_names[i]);
    }
    return (oct_states){stats->source_count - 1};
}

oct_latency
oct_stats_latency(oct_stats *stats, const char *name)
{
    source *added = source_add(stats, SOURCE_LATENCY);
    added->as.latency = oct_alloc(sizeof(*added->as.latency));
    number_add(stats, name, "_", "p50");
    number_add(stats, name, "_", "p99");
    number_add(stats, name, "_", "max");
    return (oct_latency){stats->source_count - 1};
}

static source *
source_at(const oct_stats *stats, uint32_t index, source_kind kind)
{
    OCT_ASSERT(index < stats->source_count && stats->sources[index].kind == kind);
    return &stats->sources[index];
}

void
oct_stats_add(oct_stats *stats, oct_counter counter, uint64_t amount)
{
    source_at(stats, counter.index, SOURCE_COUNTER)->as.counter.total += amount;
}

uint64_t
oct_stats_count(const oct_stats *stats, oct_counter counter)
{
    return source_at(stats, counter.index, SOURCE_COUNTER)->as.counter.total;
}

void
oct_stats_set(oct_stats *stats, oct_gauge gauge, double value)
{
    source_at(stats, gauge.index, SOURCE_GAUGE)->as.gauge = value;
}

// Books the time since the last booking on the present state.
static void
states_book(source *states, uint64_t now_ns)
{
    if (now_ns > states->as.states.entered_ns) {
        states->as.states.window_ns[states->as.states.current] +=
            now_ns - states->as.states.entered_ns;
        states->as.states.entered_ns = now_ns;
    }
}

void
oct_stats_enter(oct_stats *stats, oct_states states, uint32_t state, uint64_t now_ns)
{
    source *s = source_at(stats, states.index, SOURCE_STATES);
    OCT_ASSERT(state < s->as.states.count);
    states_book(s, now_ns);
    s->as.states.current = state;
}

void
oct_stats_record(oct_stats *stats, oct_latency latency, uint64_t ns)
{
    oct_histogram_record(source_at(stats, latency.index, SOURCE_LATENCY)->as.latency, ns);
}

// What the window from its start to now_ns says about a source.
static void
source_measure(source *s, double *values, double window_s, uint64_t now_ns)
{
    if (s->kind == SOURCE_COUNTER) {
        double grown = (double)(s->as.counter.total - s->as.counter.at_window_start);
        values[1] = window_s > 0 ? grown / window_s : 0;
    } else if (s->kind == SOURCE_STATES) {
        double total_ns = 0;
        states_book(s, now_ns);
        for (uint32_t i = 0; i < s->as.states.count; i++) {
            total_ns += (double)s->as.states.window_ns[i];
        }
        for (uint32_t i = 0; i < s->as.states.count; i++) {
            bool only = total_ns <= 0 && i == s->as.states.current;
            values[i] = only ? 1 : total_ns > 0 ? (double)s->as.states.window_ns[i] / total_ns : 0;
        }
    } else if (s->kind == SOURCE_LATENCY) {
        values[0] = oct_histogram_percentile(s->as.latency, 0.5) * 1e-9;
        values[1] = oct_histogram_percentile(s->as.latency, 0.99) * 1e-9;
        values[2] = (double)s->as.latency->max * 1e-9;
    }
}

static void
stats_measure(oct_stats *stats, uint64_t now_ns)
{
    double window_s =
        now_ns > stats->window_start_ns ? (double)(now_ns - stats->window_start_ns) * 1e-9 : 0;
    for (uint32_t i = 0; i < stats->source_count; i++) {
        source_measure(&stats->sources[i], stats->values + stats->sources[i].first, window_s,
                       now_ns);
    }
}

void
oct_stats_roll(oct_stats *stats, uint64_t now_ns)
{
    stats_measure(stats, now_ns);
    for (uint32_t i = 0; i < stats->source_count; i++) {
        source *s = &stats->sources[i];
        if (s->kind == SOURCE_COUNTER) {
            s->as.counter.at_window_start = s->as.counter.total;
        } else if (s->kind == SOURCE_STATES) {
            memset(s->as.states.window_ns, 0, sizeof(s->as.states.window_ns));
        } else if (s->kind == SOURCE_LATENCY) {
            memset(s->as.latency, 0, sizeof(*s->as.latency));
        }
    }
    stats->window_start_ns = now_ns;
    stats->rolled = true;
}

uint32_t
oct_stats_snapshot(oct_stats *stats, uint64_t now_ns, const char *const **names,
                   const double **values)
{
    if (!stats->rolled) {
        stats_measure(stats, now_ns);
    }
    for (uint32_t i = 0; i < stats->source_count; i++) {
        const source *s = &stats->sources[i];
        if (s->kind == SOURCE_COUNTER) {
            stats->values[s->first] = (double)s->as.counter.total;
        } else if (s->kind == SOURCE_GAUGE) {
            stats->values[s->first] = s->as.gauge;
        }
    }
    *names = stats->names;
    *values = stats->values;
    return stats->number_count;
}
