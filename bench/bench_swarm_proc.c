// Measurements of the daemons from /proc for bench_swarm, and quantiles of measured times.
#include "bench/bench_swarm_proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"

#define PATH_ROOM   64
#define LISTED_FROM 0.01 // share of a core

// ---- one process

static void
thread_read(swarm_usage *usage, int pid, int tid)
{
    char path[PATH_ROOM];
    swarm_thread thread = {.tid = tid};
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
    FILE *file = fopen(path, "r");
    if (!file) {
        return; // it has ended
    }
    int fields = fscanf(file, "%" SCNu64 " %" SCNu64, &thread.run_ns, &thread.wait_ns);
    (void)fclose(file);
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
    file = fopen(path, "r");
    if (file) {
        fields += fscanf(file, "%15[^\n]", thread.name);
        (void)fclose(file);
    }
    if (tid == pid) {
        (void)snprintf(thread.name, sizeof(thread.name), "loop");
    }
    usage->threads++;
    usage->run_ns += thread.run_ns;
    if (fields >= 2 && usage->listed < SWARM_THREADS_MAX) {
        usage->thread[usage->listed++] = thread;
    }
}

// Calls thread_read for each task, or counts the entries when usage is NULL.
static uint32_t
folder_read(swarm_usage *usage, int pid, const char *name)
{
    char path[PATH_ROOM];
    uint32_t count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            count++;
            if (usage) {
                thread_read(usage, pid, (int)strtol(entry->d_name, NULL, 10));
            }
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
    return count;
}

void
swarm_usage_read(swarm_usage *out, int pid)
{
    char path[PATH_ROOM];
    unsigned long pages = 0;
    *out = (swarm_usage){.at_ns = oct_clock_ns()};
    (void)folder_read(out, pid, "task");
    out->fds = folder_read(NULL, pid, "fd");
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*u %lu", &pages) == 1) {
            out->rss_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
        }
        (void)fclose(file);
    }
}

void
swarm_usage_add(swarm_usage *sum, const swarm_usage *more)
{
    sum->run_ns += more->run_ns;
    sum->rss_bytes += more->rss_bytes;
    sum->fds += more->fds;
    sum->threads += more->threads;
    for (uint32_t i = 0; i < more->listed && sum->listed < SWARM_THREADS_MAX; i++) {
        sum->thread[sum->listed++] = more->thread[i];
    }
}

static const swarm_thread *
thread_before(const swarm_usage *before, int tid)
{
    static const swarm_thread none = {0};
    for (uint32_t i = 0; i < before->listed; i++) {
        if (before->thread[i].tid == tid) {
            return &before->thread[i];
        }
    }
    return &none;
}

static void
thread_shares(const swarm_usage *before, const swarm_usage *after, uint32_t i, double out[2])
{
    const swarm_thread *now = &after->thread[i];
    const swarm_thread *then = thread_before(before, now->tid);
    double window = (double)(after->at_ns - before->at_ns);
    out[0] = (double)(now->run_ns - then->run_ns) / window;
    out[1] = out[0] + (double)(now->wait_ns - then->wait_ns) / window;
}

void
swarm_usage_print(const char *name, const swarm_usage *before, const swarm_usage *after)
{
    double window = (double)(after->at_ns - before->at_ns);
    uint64_t run_ns = after->run_ns > before->run_ns ? after->run_ns - before->run_ns : 0;
    printf("\"%s\":{\"cores\":%.3f,\"rss_bytes\":%" PRIu64 ",\"fds\":%u,\"threads\":%u,\"busy\":[",
           name, (double)run_ns / window, after->rss_bytes, after->fds, after->threads);
    const char *comma = "";
    for (uint32_t i = 0; i < after->listed; i++) {
        double shares[2];
        thread_shares(before, after, i, shares);
        if (shares[0] > LISTED_FROM) {
            printf("%s{\"thread\":\"%s\",\"run\":%.3f,\"wants\":%.3f}", comma,
                   after->thread[i].name, shares[0], shares[1]);
            comma = ",";
        }
    }
    printf("]}");
}

double
swarm_usage_busiest(const swarm_usage *before, const swarm_usage *after, char name[16])
{
    double most = 0;
    name[0] = '\0';
    for (uint32_t i = 0; i < after->listed; i++) {
        double shares[2];
        thread_shares(before, after, i, shares);
        if (shares[1] > most) {
            most = shares[1];
            memcpy(name, after->thread[i].name, sizeof(after->thread[i].name));
        }
    }
    return most;
}

void
swarm_machine_read(uint64_t out[2])
{
    uint64_t field[8] = {0};
    out[0] = out[1] = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (!file) {
        return;
    }
    int count = fscanf(file,
                       "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %" SCNu64 " %" SCNu64,
                       &field[0], &field[1], &field[2], &field[3], &field[4], &field[5], &field[6],
                       &field[7]);
    (void)fclose(file);
    for (int i = 0; i < count; i++) {
        bool idle = i == 3 || i == 4; // idle, waiting for a disk
        out[0] += idle ? 0 : field[i];
        out[1] += field[i];
    }
}

// ---- samples

void
swarm_samples_add(swarm_samples *samples, double value)
{
    if (samples->count == samples->room) {
        samples->room = samples->room > 0 ? 2 * samples->room : 4096;
        samples->value = realloc(samples->value, samples->room * sizeof(samples->value[0]));
        OCT_ASSERT(samples->value != NULL);
    }
    samples->value[samples->count++] = value;
}

double
swarm_samples_quantile(swarm_samples *samples, double q)
{
    if (samples->count == 0) {
        return NAN;
    }
    bench_sort(samples->value, samples->count);
    return samples->value[(uint64_t)(q * (double)(samples->count - 1) + 0.5)];
}

void
swarm_samples_clear(swarm_samples *samples)
{
    free(samples->value);
    *samples = (swarm_samples){0};
}
