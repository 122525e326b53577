// metrics.csv and the TensorBoard file: rows of the registry's numbers, old ones joined.
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
#include "learner/learner_rows.h"
#include "proto/wire_tbevent.h"

#define EVENT_BYTES_MAX 16384
#define PATH_BYTES_MAX  4096
#define NAME_BYTES_MAX  192
#define COLUMNS_MAX     256
#define HEADER_BYTES    (COLUMNS_MAX * 96)
#define WHOLE_MAX       9007199254740992.0 // below, whole numbers are written with all digits
#define UNIT_ROWS       1.25               // joined rows fit together although rows are late
#define ROW_S_MIN       0.001
#define ROWS_MAX        (LEARNER_METRICS_BYTES_MAX / 2048) // bytes of a row
#define RETRY_ROWS      1000                               // after which joining is tried again
#define EVENTS          "events.out.tfevents."

// A file that is appended to, and its bytes of whole rows.
typedef struct table {
    FILE *file;
    off_t whole;
} table;

struct learner_metrics {
    const oct_numbers *numbers;
    const char *step; // column
    bool has_header;  // false before the first row
    uint32_t columns;
    const char *names[COLUMNS_MAX];
    uint32_t over[COLUMNS_MAX]; // as in learner_rows_spec
    bool in_events[COLUMNS_MAX];
    table csv;
    table events; // no file before the first row: a run without rows leaves none
    char events_path[PATH_BYTES_MAX + NAME_BYTES_MAX];
    uint64_t events_s; // in its name
    char folder[PATH_BYTES_MAX];
    uint64_t rows, rows_max, join_at;
    double row_s;
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
row_end(learner_metrics *metrics, table *t)
{
    struct stat now;
    errno = 0;
    bool is_written = !ferror(t->file) && fflush(t->file) == 0;
    if (is_written) {
        t->whole = fstat(fileno(t->file), &now) == 0 ? now.st_size : t->whole;
        return true;
    }
    failed(metrics);
    __fpurge(t->file);
    clearerr(t->file);
    (void)!ftruncate(fileno(t->file), t->whole); // may be no file of a disk
    return false;
}

static double
wall_now_s(void)
{
    return (double)oct_clock_wall_us() * 1e-6;
}

static void
path_in(const learner_metrics *metrics, const char *name, char out[PATH_BYTES_MAX + NAME_BYTES_MAX])
{
    (void)snprintf(out, PATH_BYTES_MAX + NAME_BYTES_MAX, "%s/%s", metrics->folder, name);
}

// ---- columns

// The number of a column; columns: there is none of that name.
static uint32_t
column_find(const learner_metrics *metrics, const char *name)
{
    uint32_t i = 0;
    while (i < metrics->columns && strcmp(metrics->names[i], name) != 0) {
        i++;
    }
    return i;
}

static void
columns_begin(learner_metrics *metrics)
{
    const char *over[COLUMNS_MAX];
    metrics->columns = 0;
    for (uint32_t i = 0; i < oct_numbers_count(metrics->numbers); i++) {
        const oct_number *row = oct_numbers_row(metrics->numbers, i);
        bool in_csv = (row->shown & OCT_SHOWN_CSV) != 0;
        bool in_events = (row->shown & OCT_SHOWN_TENSORBOARD) != 0;
        OCT_ASSERT(in_csv || !in_events); // event files are made of rows
        if (in_csv) {
            OCT_ASSERT(metrics->columns < COLUMNS_MAX);
            metrics->names[metrics->columns] = row->name;
            metrics->in_events[metrics->columns] = in_events;
            over[metrics->columns++] = row->over;
        }
    }
    for (uint32_t i = 0; i < metrics->columns; i++) {
        metrics->over[i] = over[i] != NULL ? column_find(metrics, over[i]) : LEARNER_ROWS_LATEST;
        OCT_ASSERT(over[i] == NULL || metrics->over[i] < metrics->columns);
    }
}

static double
cell(const learner_metrics *metrics, const double *values, uint32_t column, double fallback)
{
    bool is_known = column < metrics->columns && isfinite(values[column]);
    return is_known ? values[column] : fallback;
}

// TensorBoard's, of a row.
static int64_t
step_of(const learner_metrics *metrics, const double *values)
{
    double step = cell(metrics, values, column_find(metrics, metrics->step), 0);
    return (int64_t)OCT_MAX(0.0, OCT_MIN(step, WHOLE_MAX));
}

static void
header_print(const learner_metrics *metrics, char header[HEADER_BYTES])
{
    size_t used = 0;
    for (uint32_t i = 0; i < metrics->columns; i++) {
        (void)snprintf(header + used, HEADER_BYTES - used, "%s%s", i > 0 ? "," : "",
                       metrics->names[i]);
        used += strlen(header + used);
    }
    (void)snprintf(header + used, HEADER_BYTES - used, "\n");
}

// ---- one row

static void
csv_print(const learner_metrics *metrics, FILE *file, const double *values)
{
    for (uint32_t i = 0; i < metrics->columns; i++) {
        bool is_whole = values[i] == floor(values[i]) && fabs(values[i]) < WHOLE_MAX;
        if (i > 0) {
            fputc(',', file);
        }
        if (isfinite(values[i])) {
            fprintf(file, is_whole ? "%.0f" : "%.9g", values[i]);
        }
    }
    (void)fputc('\n', file);
}

static void
events_print(const learner_metrics *metrics, FILE *file, const double *values, double wall_s,
             int64_t step)
{
    const char *names[COLUMNS_MAX];
    float scalars[COLUMNS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < metrics->columns; i++) {
        if (metrics->in_events[i] && isfinite(values[i])) {
            names[count] = metrics->names[i];
            scalars[count++] = (float)values[i];
        }
    }
    uint8_t record[EVENT_BYTES_MAX];
    size_t length =
        wire_tbevent_scalars_pack(record, sizeof(record), wall_s, step, count, names, scalars);
    OCT_ASSERT(length <= sizeof(record));
    (void)fwrite(record, 1, length, file);
}

static void
events_begin(FILE *file, double wall_s, int64_t step)
{
    uint8_t record[EVENT_BYTES_MAX];
    (void)fwrite(record, 1, wire_tbevent_version_pack(record, sizeof(record), wall_s), file);
    (void)fwrite(record, 1, wire_tbevent_start_pack(record, sizeof(record), wall_s, step), file);
}

// TensorBoard reads files in the order of their names, the seconds first.
static void
events_name(learner_metrics *metrics)
{
    char name[NAME_BYTES_MAX], host[64] = "host";
    uint64_t now_s = oct_clock_wall_us() / 1000000;
    metrics->events_s = OCT_MAX(now_s, metrics->events_s + 1);
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(name, sizeof(name), EVENTS "%" PRIu64 ".%s.%ld", metrics->events_s, host,
                   (long)getpid());
    path_in(metrics, name, metrics->events_path);
}

static void
events_open(learner_metrics *metrics, int64_t step)
{
    events_name(metrics);
    errno = 0;
    metrics->events = (table){.file = oct_file_stream(metrics->events_path, "a")};
    if (metrics->events.file == NULL) {
        failed(metrics);
        return;
    }
    events_begin(metrics->events.file, wall_now_s(), step);
    if (!row_end(metrics, &metrics->events)) { // begun again with the next row
        (void)fclose(metrics->events.file);
        (void)oct_file_remove(metrics->events_path);
        metrics->events.file = NULL;
    }
}

// ---- beginning

// How many whole lines a file has; *end: where the last of them ends. False: errno says why it
// cannot be read.
static bool
lines_count(const char *path, uint64_t *lines, off_t *end)
{
    char block[16384];
    off_t at = 0;
    FILE *file = oct_file_stream_bounded(path, LEARNER_METRICS_BYTES_MAX);
    if (file == NULL) {
        return false;
    }
    *lines = 0;
    *end = 0;
    for (size_t got; (got = fread(block, 1, sizeof(block), file)) > 0;) {
        const char *from = block, *stop = block + got;
        for (const char *found; (found = memchr(from, '\n', (size_t)(stop - from))) != NULL;) {
            from = found + 1;
            *end = at + (from - block);
            ++*lines;
        }
        at += (off_t)got;
    }
    (void)fclose(file);
    return true;
}

// What an earlier process left of metrics.csv. Part of a row, as after a power failure, would spoil
// the row behind it.
static bool
csv_take(learner_metrics *metrics, const char *path)
{
    struct stat now;
    uint64_t lines;
    if (!lines_count(path, &lines, &metrics->csv.whole)) {
        return false;
    }
    metrics->rows = lines > 0 ? lines - 1 : 0;
    if (oct_file_stat(path, &now) == 0 && now.st_size > metrics->csv.whole) {
        (void)!ftruncate(fileno(metrics->csv.file), metrics->csv.whole); // else it stays, as it was
    }
    return true;
}

oct_err
learner_metrics_open(learner_metrics **out, const char *folder, const oct_numbers *numbers,
                     const char *step, uint64_t rows_max, double row_s)
{
    OCT_ASSERT(rows_max >= 16 && row_s >= 0);
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];
    learner_metrics *metrics = oct_alloc(sizeof(*metrics));
    metrics->numbers = numbers;
    metrics->step = step;
    metrics->rows_max = metrics->join_at = OCT_MIN(rows_max, ROWS_MAX);
    metrics->row_s = OCT_MAX(row_s, ROW_S_MIN);
    (void)snprintf(metrics->folder, sizeof(metrics->folder), "%s", folder);
    path_in(metrics, "metrics.events", path); // of a process that was killed
    oct_file_clear(path);
    path_in(metrics, "metrics.csv", path);
    oct_file_clear(path);
    metrics->csv.file = oct_file_stream(path, "a");
    if (metrics->csv.file == NULL || !csv_take(metrics, path)) {
        int code = errno;
        learner_metrics_close(metrics);
        errno = code;
        return OCT_EIO;
    }
    *out = metrics;
    return OCT_OK;
}

// A file with another header makes way for a new one.
static void
file_put_aside(learner_metrics *metrics, const char *path)
{
    char kept[PATH_BYTES_MAX + 32];
    int number = 0;
    do {
        (void)snprintf(kept, sizeof(kept), "%s/metrics-%d.csv", metrics->folder, ++number);
    } while (oct_file_is_there(kept));
    errno = 0;
    FILE *csv = oct_file_rename(path, kept) == 0 ? oct_file_stream(path, "a") : NULL;
    if (csv == NULL) {
        failed(metrics); // rows go on below the other header
        return;
    }
    (void)fclose(metrics->csv.file);
    metrics->csv = (table){.file = csv};
    metrics->rows = 0;
    oct_log_notice("LEARNER-METRICS-KEPT", "%s keeps the earlier rows, which have other columns",
                   kept);
}

static void
header_begin(learner_metrics *metrics)
{
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX], header[HEADER_BYTES] = "",
                                                found[sizeof(header)] = "";
    columns_begin(metrics);
    header_print(metrics, header);
    path_in(metrics, "metrics.csv", path);
    struct stat status;
    bool is_new = oct_file_stat(path, &status) != 0 || status.st_size == 0;
    FILE *file = is_new ? NULL : oct_file_stream(path, "r");
    if (file != NULL) {
        if (fgets(found, (int)sizeof(found), file) == NULL) {
            found[0] = '\0';
        }
        (void)fclose(file);
    }
    if (!is_new && strcmp(found, header) != 0) {
        file_put_aside(metrics, path);
        is_new = metrics->failed == 0;
    }
    if (is_new) {
        fputs(header, metrics->csv.file);
    }
}

// ---- joining old rows

// Both files anew, under names that no reader knows.
typedef struct draft {
    learner_metrics *metrics;
    table csv, events;
    char csv_path[OCT_FILE_PATH_MAX], events_path[OCT_FILE_PATH_MAX];
    uint32_t time; // column
    uint64_t rows;
    double first_s; // when the first row of the old metrics.csv ended
} draft;

static void
draft_row(void *arg, const double *values)
{
    draft *d = arg;
    double wall_s = cell(d->metrics, values, d->time, wall_now_s());
    int64_t step = step_of(d->metrics, values);
    if (d->rows++ == 0) {
        events_begin(d->events.file, wall_s, step);
    }
    csv_print(d->metrics, d->csv.file, values);
    events_print(d->metrics, d->events.file, values, wall_s, step);
}

// When the first row ended: the run's event files are not older. INFINITY: not known.
static double
first_read(FILE *in, uint32_t column)
{
    char *line = NULL, *at;
    size_t room = 0;
    double first_s = INFINITY;
    if (getline(&line, &room, in) > 0 && getline(&line, &room, in) > 0) {
        at = line;
        for (uint32_t i = 0; i < column && at != NULL; i++) {
            at = strchr(at, ',');
            at = at != NULL ? at + 1 : NULL;
        }
        double found_s = at != NULL ? strtod(at, NULL) : 0;
        first_s = found_s > 0 ? found_s : INFINITY;
    }
    free(line);
    return first_s;
}

static FILE *
draft_open(learner_metrics *metrics, const char *name, char out[OCT_FILE_PATH_MAX])
{
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];
    path_in(metrics, name, path);
    int fd = oct_file_draft_open(path, 0666, out);
    FILE *file = fd >= 0 ? fdopen(fd, "ae") : NULL;
    if (file == NULL && fd >= 0) {
        (void)close(fd);
    }
    return file;
}

static bool
draft_sync(table *t)
{
    struct stat now;
    bool is_written = !ferror(t->file) && fflush(t->file) == 0 && fsync(fileno(t->file)) == 0;
    t->whole = fstat(fileno(t->file), &now) == 0 ? now.st_size : 0;
    return is_written;
}

static bool
draft_write(draft *d)
{
    learner_metrics *metrics = d->metrics;
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX], header[HEADER_BYTES];
    learner_rows_spec spec = {
        .columns = metrics->columns,
        .over = metrics->over,
        .wall = column_find(metrics, "wall_s"),
        .unit_s = UNIT_ROWS * metrics->row_s,
        .newest = metrics->rows_max / 4,
        .older = metrics->rows_max / 4,
    };
    path_in(metrics, "metrics.csv", path);
    FILE *in = oct_file_stream(path, "r");
    d->csv.file = in != NULL ? draft_open(metrics, "metrics.csv", d->csv_path) : NULL;
    d->events.file =
        d->csv.file != NULL ? draft_open(metrics, "metrics.events", d->events_path) : NULL;
    bool is_written = d->events.file != NULL;
    if (is_written) {
        d->first_s = first_read(in, d->time);
        header_print(metrics, header);
        fputs(header, d->csv.file);
        is_written = learner_rows_join(in, &spec, draft_row, d) == OCT_OK && draft_sync(&d->csv) &&
                     draft_sync(&d->events);
    }
    int code = errno;
    if (in != NULL) {
        (void)fclose(in);
    }
    errno = code;
    return is_written;
}

typedef struct events_cleared {
    const learner_metrics *metrics;
    double first_s;
} events_cleared;

static void
events_clear_one(void *arg, const char *path)
{
    const events_cleared *cleared = arg;
    double begun_s = strtod(strrchr(path, '/') + 1 + strlen(EVENTS), NULL);
    struct stat file;
    if (begun_s >= cleared->first_s && strcmp(path, cleared->metrics->events_path) != 0 &&
        lstat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid()) {
        (void)oct_file_remove(path);
    }
}

// What the event file that was just made holds as well: those that this run began since its first
// row. What earlier rows in other columns left stays, and what belongs to others.
static void
events_clear(const learner_metrics *metrics, double first_s)
{
    events_cleared cleared = {.metrics = metrics, .first_s = first_s};
    oct_file_match(metrics->folder, EVENTS "*", events_clear_one, &cleared);
}

static void
draft_adopt(draft *d)
{
    learner_metrics *metrics = d->metrics;
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];
    path_in(metrics, "metrics.csv", path);
    if (oct_file_adopt(d->csv_path, path) != OCT_OK) {
        failed(metrics);
        return;
    }
    (void)fclose(metrics->csv.file);
    metrics->csv = d->csv;
    d->csv.file = NULL;
    oct_log_info("LEARNER-METRICS-JOINED",
                 "%" PRIu64 " rows of metrics.csv were merged into %" PRIu64, metrics->rows,
                 d->rows);
    metrics->rows = d->rows;
    events_name(metrics);
    if (oct_file_rename(d->events_path, metrics->events_path) != 0) {
        failed(metrics);
        return;
    }
    if (metrics->events.file != NULL) {
        (void)fclose(metrics->events.file);
    }
    metrics->events = d->events;
    d->events.file = NULL;
    events_clear(metrics, d->first_s);
}

static void
draft_drop(table *t, const char *path)
{
    if (t->file != NULL) {
        (void)fclose(t->file);
        (void)oct_file_remove(path);
    }
}

static void
rows_join(learner_metrics *metrics)
{
    draft *d = oct_alloc(sizeof(*d));
    d->metrics = metrics;
    d->time = column_find(metrics, "time_s");
    errno = 0;
    if (column_find(metrics, "wall_s") == metrics->columns || !draft_write(d)) {
        failed(metrics);
    } else {
        draft_adopt(d);
    }
    draft_drop(&d->csv, d->csv_path);
    draft_drop(&d->events, d->events_path);
    free(d);
    metrics->join_at =
        metrics->rows < metrics->rows_max ? metrics->rows_max : metrics->rows + RETRY_ROWS;
}

// ---- rows

int
learner_metrics_write(learner_metrics *metrics)
{
    const char *names[COLUMNS_MAX];
    double values[COLUMNS_MAX];
    metrics->failed = 0;
    if (!metrics->has_header) {
        header_begin(metrics);
    }
    (void)oct_numbers_list(metrics->numbers, OCT_SHOWN_CSV, names, values, metrics->columns);
    int64_t step = step_of(metrics, values);
    csv_print(metrics, metrics->csv.file, values);
    if (row_end(metrics, &metrics->csv)) {
        metrics->has_header = true;
        metrics->rows++;
    }
    if (metrics->events.file == NULL) {
        events_open(metrics, step);
    }
    if (metrics->events.file != NULL) {
        events_print(metrics, metrics->events.file, values, wall_now_s(), step);
        (void)row_end(metrics, &metrics->events);
    }
    if (metrics->rows > metrics->join_at) {
        rows_join(metrics);
    }
    return metrics->failed;
}

void
learner_metrics_close(learner_metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    if (metrics->csv.file != NULL) {
        (void)fclose(metrics->csv.file);
    }
    if (metrics->events.file != NULL) {
        (void)fclose(metrics->events.file);
    }
    free(metrics);
}
