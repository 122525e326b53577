#ifndef COMMON_OCT_METRIC_H
#define COMMON_OCT_METRIC_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// The numbers that an environment reports at the end of an episode (metrics in
// include/octet/env.h), summed over episodes. Threads: any; no shared state.

#define OCT_METRICS_MAX       64 // of one environment
#define OCT_METRIC_NAME_BYTES 64 // with the zero byte

typedef struct oct_metric_names {
    uint32_t count;
    char name[OCT_METRICS_MAX][OCT_METRIC_NAME_BYTES];
} oct_metric_names;

// Returns true if text is 1 to 63 printable ASCII characters.
bool oct_metric_is_name(const char *text);
// Returns true if the names are all different, as they have to be: metrics are matched by name.
bool oct_metric_names_differ(const char *const *names, uint32_t count);
// Copies count names, at most OCT_METRICS_MAX.
void oct_metric_names_of(oct_metric_names *out, const char *const *names, uint32_t count);

typedef struct oct_metric {
    double sum;        // over the episodes in which it was measured
    uint32_t episodes; // how many those are
} oct_metric;

// Adds the value of one episode. A value that is not finite means "not measured" and is left out.
static inline void
oct_metric_add(oct_metric *metric, float value)
{
    if (isfinite(value)) {
        metric->sum += (double)value;
        metric->episodes++;
    }
}

// Adds the sums of more.
static inline void
oct_metric_join(oct_metric *metric, const oct_metric *more)
{
    metric->sum += more->sum;
    metric->episodes += more->episodes;
}

// Returns true if a metric that came from outside is possible for that many episodes.
static inline bool
oct_metric_is_sound(const oct_metric *metric, uint32_t episodes)
{
    return metric->episodes <= episodes && fabs(metric->sum) <= (double)FLT_MAX * metric->episodes;
}

// Returns the mean over the episodes; NaN: no episode measured it.
static inline double
oct_metric_mean(const oct_metric *metric)
{
    return metric->episodes > 0 ? metric->sum / metric->episodes : NAN;
}

#endif // COMMON_OCT_METRIC_H
