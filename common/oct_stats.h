#ifndef COMMON_OCT_STATS_H
#define COMMON_OCT_STATS_H

#include <stddef.h>
#include <stdint.h>

// The named numbers that a daemon keeps about itself: counters, gauges, shares of wall time by
// state, latencies. A snapshot is two parallel arrays, names and doubles, ready for wire_status.
//
// Time is an argument everywhere (oct_clock_ns in daemons). The owner calls oct_stats_roll about
// once a second; rates, shares and percentiles describe the last window that a roll closed, or
// everything since create while none was.
//
// Threads: one owner thread; others hand their numbers over as plain counters.
// Owns: all memory; names are copied. Full: registering beyond the capacity is a mistake of the
// program and aborts. Cost: add, set, enter and record are O(1) and allocate nothing.
typedef struct oct_stats oct_stats;

// Handles; each kind its own type.
typedef struct oct_counter {
    uint32_t index;
} oct_counter;
typedef struct oct_gauge {
    uint32_t index;
} oct_gauge;
typedef struct oct_states {
    uint32_t index;
} oct_states;
typedef struct oct_latency {
    uint32_t index;
} oct_latency;

// numbers_max bounds the length of a snapshot (at most 512, what wire_status carries).
oct_stats *oct_stats_create(uint32_t numbers_max, uint64_t now_ns);
void oct_stats_destroy(oct_stats *stats);

// Registration, at start.
// Counter: NAME and NAME_per_s.
oct_counter oct_stats_counter(oct_stats *stats, const char *name);
// Gauge: NAME.
oct_gauge oct_stats_gauge(oct_stats *stats, const char *name);
// States, 1..16, the first one is entered: NAME_STATE is the share of wall time in it, 0..1; the
// shares of one group add up to 1.
oct_states oct_stats_states(oct_stats *stats, const char *name, const char *const *state_names,
                            uint32_t state_count, uint64_t now_ns);
// Latency: NAME_p50, NAME_p99, NAME_max in seconds (0 while nothing was recorded).
oct_latency oct_stats_latency(oct_stats *stats, const char *name);

void oct_stats_add(oct_stats *stats, oct_counter counter, uint64_t amount);
uint64_t oct_stats_count(const oct_stats *stats, oct_counter counter);
void oct_stats_set(oct_stats *stats, oct_gauge gauge, double value);
// Leaves the present state at now_ns for another; clocks that step back count as standing still.
void oct_stats_enter(oct_stats *stats, oct_states states, uint32_t state, uint64_t now_ns);
void oct_stats_record(oct_stats *stats, oct_latency latency, uint64_t ns);

// Ends the window and begins the next.
void oct_stats_roll(oct_stats *stats, uint64_t now_ns);
// Brings the values up to date and lends both arrays until the next call on stats. Returns their
// length, which never changes after registration.
uint32_t oct_stats_snapshot(oct_stats *stats, uint64_t now_ns, const char *const **names,
                            const double **values);

// The histogram behind latencies, by itself: 8 buckets per power of two, so that a percentile is
// within 1/16 of the true one; max is exact. Plain value; zero it to begin.
#define OCT_HISTOGRAM_BUCKETS 496
typedef struct oct_histogram {
    uint64_t count;
    uint64_t max;
    uint32_t bucket[OCT_HISTOGRAM_BUCKETS];
} oct_histogram;
void oct_histogram_record(oct_histogram *histogram, uint64_t value);
// The smallest value that at least share (0..1) of all records do not exceed; 0 when empty.
double oct_histogram_percentile(const oct_histogram *histogram, double share);

#endif // COMMON_OCT_STATS_H
