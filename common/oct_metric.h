#ifndef COMMON_OCT_METRIC_H
#define COMMON_OCT_METRIC_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// What an environment measures itself when an episode ends (metrics of include/octet/env.h), over
// several episodes. Threads: any; no shared state.

#define OCT_METRICS_MAX       64 // of one environment
#define OCT_METRIC_NAME_BYTES 64 // with the zero byte

typedef struct oct_metric_names {
    uint32_t count;
    char name[OCT_METRICS_MAX][OCT_METRIC_NAME_BYTES];
} oct_metric_names;

// 1 to 63 printable characters of ASCII.
bool oct_metric_is_name(const char *text);
// Whether no two of them are equal: they are matched by name.
bool oct_metric_names_differ(const char *const *names, uint32_t count);
// Copies count names, at most OCT_METRICS_MAX.
void oct_metric_names_of(oct_metric_names *out, const char *const *names, uint32_t count);

typedef struct oct_metric {
    double sum;        // over the episodes in which it was measured
    uint32_t episodes; // how many those are
} oct_metric;

// One more episode's value; one that is not finite was not measured.
static inline void
oct_metric_add(oct_metric *metric, float value)
{
    if (isfinite(value)) {
        metric->sum += (double)value;
        metric->episodes++;
    }
}

// The episodes of more, too.
static inline void
oct_metric_join(oct_metric *metric, const oct_metric *more)
{
    metric->sum += more->sum;
    metric->episodes += more->episodes;
}

// Whether so many episodes can have it.
static inline bool
oct_metric_is_sound(const oct_metric *metric, uint32_t episodes)
{
    return metric->episodes <= episodes && fabs(metric->sum) <= (double)FLT_MAX * metric->episodes;
}

// NaN: measured in no episode.
static inline double
oct_metric_mean(const oct_metric *metric)
{
    return metric->episodes > 0 ? metric->sum / metric->episodes : NAN;
}

#endif // COMMON_OCT_METRIC_H
