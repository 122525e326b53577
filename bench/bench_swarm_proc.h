#ifndef BENCH_BENCH_SWARM_PROC_H
#define BENCH_BENCH_SWARM_PROC_H

#include <stdint.h>

// What bench_swarm counts outside itself: the daemons' threads, memory and descriptors as /proc
// shows them, and samples of a time with their quantiles.
//
// Threads: any, no shared state. Owns: swarm_samples its numbers. Bounds: threads beyond
// SWARM_THREADS_MAX are left out of the list, not of the totals.
#define SWARM_THREADS_MAX 256

typedef struct swarm_thread {
    int tid;
    char name[16]; // "loop" for the main thread
    uint64_t run_ns;
    uint64_t wait_ns; // ready to run, on no core
} swarm_thread;

typedef struct swarm_usage {
    uint64_t at_ns;
    uint64_t run_ns; // of all threads that live
    uint64_t rss_bytes;
    uint32_t fds;
    uint32_t threads;
    uint32_t listed;
    swarm_thread thread[SWARM_THREADS_MAX];
} swarm_usage;

// All zeros for a process that is not there.
void swarm_usage_read(swarm_usage *out, int pid);
// Adds another process to one: as if they were one process.
void swarm_usage_add(swarm_usage *sum, const swarm_usage *more);
// One JSON object of what happened between two readings: CPU cores, bytes, descriptors, and the
// threads that took more than 1 % of a core: its share, and the share of time in which it ran or
// wanted to ("wants"; 1: that thread is the limit).
void swarm_usage_print(const char *name, const swarm_usage *before, const swarm_usage *after);
// The thread between two readings that wanted to run most: name is written, its share is the value.
double swarm_usage_busiest(const swarm_usage *before, const swarm_usage *after, char name[16]);
// Share of the machine's cores that somebody used (all processes), from two calls.
void swarm_machine_read(uint64_t out[2]); // busy, all; in ticks

typedef struct swarm_samples {
    double *value;
    uint64_t count;
    uint64_t room;
} swarm_samples;

void swarm_samples_add(swarm_samples *samples, double value);
// Sorts. NaN when there are none.
double swarm_samples_quantile(swarm_samples *samples, double q);
void swarm_samples_clear(swarm_samples *samples); // frees, and may be used again

#endif // BENCH_BENCH_SWARM_PROC_H
