// metrics.csv and the TensorBoard file: rows of the registry's numbers.
#include "learner/learner_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "proto/wire_tbevent.h"

#define EVENT_BYTES_MAX 16384
#define PATH_BYTES_MAX  4096
#define COLUMNS_MAX     256

struct learner_metrics {
    const oct_numbers *numbers;
    uint32_t columns; // 0 before the first row
    FILE *csv;
    FILE *events;                  // NULL before the first row: a run without rows leaves no file
    off_t csv_whole, events_whole; // bytes of whole rows
    char folder[PATH_BYTES_MAX];
    int failed; // errno of the row at work
};

static void
failed(learner_metrics *metrics)
{
    if (metrics->failed == 0) {
        metrics->failed = errno != 0 ? errno : EIO;
    }
}

// What was printed since the last row: the file has all of it, or nothing. False: nothing.
static bool
row_end(learner_metrics *metrics, FILE *file, off_t *whole)
{
    struct stat now;
    errno = 0;
    bool is_written = !ferror(file) && fflush(file) == 0;
    if (is_written) {
        *whole = fstat(fileno(file), &now) == 0 ? now.st_size : *whole;
        return true;
    }
    failed(metrics);
    __fpurge(file);
    clearerr(file);
    (void)!ftruncate(fileno(file), *whole); // may be no file of a disk
    return false;
}

static bool
events_write(learner_metrics *metrics, const uint8_t *bytes, size_t length)
{
    OCT_ASSERT(length <= EVENT_BYTES_MAX);
    (void)fwrite(bytes, 1, length, metrics->events);
    return row_end(metrics, metrics->events, &metrics->events_whole);
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
    errno = 0;
    metrics->events = fopen(path, "ab");
    metrics->events_whole = 0;
    if (metrics->events == NULL) {
        failed(metrics);
        return;
    }
    uint8_t record[EVENT_BYTES_MAX];
    size_t length = wire_tbevent_version_pack(record, sizeof(record), wall_now_s());
    if (!events_write(metrics, record, length)) { // begun again with the next row
        (void)fclose(metrics->events);
        (void)unlink(path);
        metrics->events = NULL;
    }
}

oct_err
learner_metrics_open(learner_metrics **out, const char *folder, const oct_numbers *numbers)
{
    char path[PATH_BYTES_MAX];
    learner_metrics *metrics = oct_alloc(sizeof(*metrics));
    metrics->numbers = numbers;
    (void)snprintf(metrics->folder, sizeof(metrics->folder), "%s", folder);
    (void)snprintf(path, sizeof(path), "%s/metrics.csv", folder);
    metrics->csv = fopen(path, "a");
    if (metrics->csv == NULL) {
        learner_metrics_close(metrics);
        return OCT_EIO;
    }
    struct stat now;
    metrics->csv_whole = fstat(fileno(metrics->csv), &now) == 0 ? now.st_size : 0;
    *out = metrics;
    return OCT_OK;
}

// ---- the header

static void
header_print(char *header, size_t size, const char *const *names, uint32_t count)
{
    size_t used = 0;
    header[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(header + used, size - used, "%s%s", i > 0 ? "," : "", names[i]);
        used += strlen(header + used);
    }
    (void)snprintf(header + used, size - used, "\n");
}

// A file with another header makes way for a new one.
static void
file_put_aside(learner_metrics *metrics, const char *path)
{
    char kept[PATH_BYTES_MAX + 32];
    int number = 0;
    do {
        (void)snprintf(kept, sizeof(kept), "%s/metrics-%d.csv", metrics->folder, ++number);
    } while (access(kept, F_OK) == 0);
    errno = 0;
    FILE *csv = rename(path, kept) == 0 ? fopen(path, "a") : NULL;
    if (csv == NULL) {
        failed(metrics); // rows go on below the other header
        return;
    }
    (void)fclose(metrics->csv);
    metrics->csv = csv;
    metrics->csv_whole = 0;
    oct_log_notice("LEARNER-METRICS-KEPT", "%s holds the earlier rows, which have other columns",
                   kept);
}

static void
header_begin(learner_metrics *metrics)
{
    const char *names[COLUMNS_MAX];
    char path[PATH_BYTES_MAX + 32], header[COLUMNS_MAX * 32] = "", found[sizeof(header)] = "";
    metrics->columns = oct_numbers_list(metrics->numbers, OCT_SHOWN_CSV, names, NULL, COLUMNS_MAX);
    header_print(header, sizeof(header), names, metrics->columns);
    (void)snprintf(path, sizeof(path), "%s/metrics.csv", metrics->folder);
    struct stat status;
    bool is_new = stat(path, &status) != 0 || status.st_size == 0;
    FILE *file = is_new ? NULL : fopen(path, "r");
    if (file != NULL) {
        (void)fgets(found, (int)sizeof(found), file);
        (void)fclose(file);
    }
    if (!is_new && strcmp(found, header) != 0) {
        file_put_aside(metrics, path);
        is_new = metrics->failed == 0;
    }
    if (is_new) {
        fputs(header, metrics->csv);
    }
}

// ---- rows

static void
csv_write(learner_metrics *metrics, bool is_first)
{
    const char *names[COLUMNS_MAX];
    double values[COLUMNS_MAX];
    uint32_t count =
        oct_numbers_list(metrics->numbers, OCT_SHOWN_CSV, names, values, metrics->columns);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            fputc(',', metrics->csv);
        }
        if (isfinite(values[i])) {
            fprintf(metrics->csv, "%.9g", values[i]);
        }
    }
    (void)fputc('\n', metrics->csv);
    if (!row_end(metrics, metrics->csv, &metrics->csv_whole) && is_first) {
        metrics->columns = 0; // nor is the header there
    }
}

int
learner_metrics_write(learner_metrics *metrics, int64_t step)
{
    bool is_first = metrics->columns == 0;
    metrics->failed = 0;
    if (is_first) {
        header_begin(metrics);
    }
    csv_write(metrics, is_first);
    if (metrics->events == NULL) {
        events_open(metrics);
    }
    if (metrics->events == NULL) {
        return metrics->failed;
    }
    const char *names[COLUMNS_MAX];
    double values[COLUMNS_MAX];
    float scalars[COLUMNS_MAX];
    uint32_t count = 0, all = oct_numbers_list(metrics->numbers, OCT_SHOWN_TENSORBOARD, names,
                                               values, COLUMNS_MAX);
    for (uint32_t i = 0; i < all; i++) {
        if (isfinite(values[i])) {
            names[count] = names[i];
            scalars[count++] = (float)values[i];
        }
    }
    uint8_t record[EVENT_BYTES_MAX];
    (void)events_write(metrics, record,
                       wire_tbevent_scalars_pack(record, sizeof(record), wall_now_s(), step, count,
                                                 names, scalars));
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
