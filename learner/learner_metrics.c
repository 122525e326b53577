#include "learner/learner_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "proto/wire_tbevent.h"

#define EVENT_BYTES_MAX 16384
#define PATH_BYTES_MAX  4096

static const char *const names[] = {
#define X(column) #column,
    LEARNER_METRICS(X)
#undef X
};

struct learner_metrics {
    FILE *csv;
    FILE *events; // NULL before the first row: who has nothing to tell leaves no file
    char folder[PATH_BYTES_MAX];
    int failed;
};

const char *const *
learner_metrics_names(uint32_t *count)
{
    *count = OCT_COUNTOF(names);
    return names;
}

static void
events_write(learner_metrics *metrics, const uint8_t *bytes, size_t length)
{
    OCT_ASSERT(length <= EVENT_BYTES_MAX);
    errno = 0;
    if ((fwrite(bytes, 1, length, metrics->events) != length || fflush(metrics->events) != 0) &&
        metrics->failed == 0) {
        metrics->failed = errno != 0 ? errno : EIO;
    }
}

static double
wall_now_s(void)
{
    return (double)oct_clock_wall_us() * 1e-6;
}

static void
events_open(learner_metrics *metrics)
{
    char path[PATH_BYTES_MAX + 128], host[64] = "host";
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(path, sizeof(path), "%s/events.out.tfevents.%lu.%s.%ld", metrics->folder,
                   (unsigned long)(oct_clock_wall_us() / 1000000), host, (long)getpid());
    metrics->events = fopen(path, "wb");
    if (metrics->events == NULL) {
        metrics->failed = metrics->failed == 0 ? errno : metrics->failed;
        return;
    }
    uint8_t record[EVENT_BYTES_MAX];
    events_write(metrics, record, wire_tbevent_version_pack(record, sizeof(record), wall_now_s()));
}

oct_err
learner_metrics_open(learner_metrics **out, const char *folder)
{
    char path[PATH_BYTES_MAX];
    learner_metrics *metrics = oct_alloc(sizeof(*metrics));
    (void)snprintf(path, sizeof(path), "%s/metrics.csv", folder);
    struct stat facts;
    bool is_new = stat(path, &facts) != 0 || facts.st_size == 0;
    metrics->csv = fopen(path, "a");
    if (metrics->csv == NULL) {
        learner_metrics_close(metrics);
        return OCT_EIO;
    }
    (void)snprintf(metrics->folder, sizeof(metrics->folder), "%s", folder);
    if (is_new) {
        fputs("wall_s", metrics->csv);
        for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
            fprintf(metrics->csv, ",%s", names[i]);
        }
        fputc('\n', metrics->csv);
    }
    *out = metrics;
    return OCT_OK;
}

void
learner_metrics_write(learner_metrics *metrics, const learner_row *row)
{
    const double values[] = {
#define X(column) row->column,
        LEARNER_METRICS(X)
#undef X
    };
    const char *tags[OCT_COUNTOF(names)];
    float scalars[OCT_COUNTOF(names)];
    size_t count = 0;
    fprintf(metrics->csv, "%.3f", row->wall_s);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        fputc(',', metrics->csv);
        if (isfinite(values[i])) {
            fprintf(metrics->csv, "%.9g", values[i]);
            tags[count] = names[i];
            scalars[count++] = (float)values[i];
        }
    }
    errno = 0;
    if ((fputc('\n', metrics->csv) == EOF || fflush(metrics->csv) != 0) && metrics->failed == 0) {
        metrics->failed = errno != 0 ? errno : EIO;
    }
    if (metrics->events == NULL) {
        events_open(metrics);
    }
    if (metrics->events == NULL) {
        return;
    }
    uint8_t record[EVENT_BYTES_MAX];
    events_write(metrics, record,
                 wire_tbevent_scalars_pack(record, sizeof(record), wall_now_s(),
                                           (int64_t)row->env_steps, count, tags, scalars));
}

int
learner_metrics_failed(const learner_metrics *metrics)
{
    return metrics->failed;
}

void
learner_metrics_close(learner_metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    if (metrics->csv != NULL) {
        (void)fclose(metrics->csv);
    }
    if (metrics->events != NULL) {
        (void)fclose(metrics->events);
    }
    free(metrics);
}
