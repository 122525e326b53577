// Writes metrics.csv and the TensorBoard file: a row of the registry's numbers at a time.
//
// Both files grow by whole rows. A row that cannot be written completely is cut off again, so that
// the next row begins a line. When metrics.csv has more than rows_max rows, drafts of both files
// are written from it, with the older rows merged (oct_csv_shrink), and replace the files. If the
// process ends between the two renames, the folder has the new metrics.csv beside the old event
// files: TensorBoard shows more points than metrics.csv has rows, until rows are merged again. A
// draft that was never adopted is removed when the run is resumed.
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
#include "common/oct_csv.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_text.h"
#include "proto/wire_tbevent.h"

#define EVENT_BYTES_MAX 16384
#define PATH_BYTES_MAX  4096
#define NAME_BYTES_MAX  192
#define STEP_MAX        9007199254740992.0 // that a double holds exactly
#define UNIT_ROWS       1.25 // row_s of the shortest merged row: rows may last longer than row_s
#define ROW_S_MIN       0.001
#define ROW_BYTES       2048 // of most rows, at most
#define ROWS_MAX        (OCT_CSV_BYTES_MAX / ROW_BYTES)
#define RETRY_ROWS      1000 // from a failure to merge rows to the next attempt
#define EVENTS          "events.out.tfevents."

// A file that rows are appended to.
typedef struct table {
    FILE *file;
    off_t whole; // bytes up to the end of the last complete row
} table;

struct learner_metrics {
    const oct_numbers *numbers;
    const char *step; // column that is TensorBoard's step
    bool has_header;  // metrics.csv has one; false before the first row
    uint32_t columns;
    const char *names[OCT_CSV_COLUMNS_MAX];
    uint32_t over[OCT_CSV_COLUMNS_MAX]; // as in oct_csv_shrink_spec
    bool in_events[OCT_CSV_COLUMNS_MAX];
    table csv;
    table events; // file is NULL before the first row: a run without rows leaves no event file
    char events_path[PATH_BYTES_MAX + NAME_BYTES_MAX];
    uint64_t events_s; // seconds in the name of the event file
    char folder[PATH_BYTES_MAX];
    uint64_t rows, rows_max, merge_at;
    double row_s;
    int failed; // errno of the first failure in the current row; 0: none
};

static void
failed(learner_metrics *metrics)
{
    if (metrics->failed == 0) {
        metrics->failed = errno != 0 ? errno : EIO;
    }
}

// Flushes what was printed since the last row. Returns false if it could not be written completely;
// the file then contains no part of the row.
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
    (void)!ftruncate(fileno(t->file), t->whole); // fails if it is not a file on a disk
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

// Returns the index of a column, or columns if there is none of that name.
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
    const char *over[OCT_CSV_COLUMNS_MAX];
    metrics->columns = 0;
    for (uint32_t i = 0; i < oct_numbers_count(metrics->numbers); i++) {
        const oct_number *row = oct_numbers_row(metrics->numbers, i);
        bool in_csv = (row->shown & OCT_SHOWN_CSV) != 0;
        bool in_events = (row->shown & OCT_SHOWN_TENSORBOARD) != 0;
        OCT_ASSERT(in_csv || !in_events); // merged event files are made from rows of metrics.csv
        if (in_csv) {
            OCT_ASSERT(metrics->columns < OCT_CSV_COLUMNS_MAX);
            metrics->names[metrics->columns] = row->name;
            metrics->in_events[metrics->columns] = in_events;
            over[metrics->columns++] = row->over;
        }
    }
    for (uint32_t i = 0; i < metrics->columns; i++) {
        metrics->over[i] = over[i] != NULL ? column_find(metrics, over[i]) : OCT_CSV_LATEST;
        OCT_ASSERT(over[i] == NULL || metrics->over[i] < metrics->columns);
    }
}

static double
cell(const learner_metrics *metrics, const double *values, uint32_t column, double fallback)
{
    bool is_known = column < metrics->columns && isfinite(values[column]);
    return is_known ? values[column] : fallback;
}

// Returns the step at which TensorBoard shows a row.
static int64_t
step_of(const learner_metrics *metrics, const double *values)
{
    double step = cell(metrics, values, column_find(metrics, metrics->step), 0);
    return (int64_t)OCT_MAX(0.0, OCT_MIN(step, STEP_MAX));
}

// ---- one row

static void
events_print(const learner_metrics *metrics, FILE *file, const double *values, double wall_s,
             int64_t step)
{
    const char *names[OCT_CSV_COLUMNS_MAX];
    float scalars[OCT_CSV_COLUMNS_MAX];
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

// Chooses a name that sorts after that of the last event file: TensorBoard reads the files in the
// order of their names.
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
    if (!row_end(metrics, &metrics->events)) { // the next row tries again
        (void)fclose(metrics->events.file);
        (void)oct_file_remove(metrics->events_path);
        metrics->events.file = NULL;
    }
}

// ---- beginning

// Counts the complete lines of a file; *end: the end of the last. Returns false if the file cannot
// be read; errno has the reason.
static bool
lines_count(const char *path, uint64_t *lines, off_t *end)
{
    char block[16384];
    off_t at = 0;
    FILE *file = oct_file_stream_bounded(path, OCT_CSV_BYTES_MAX);
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

// Continues the metrics.csv of an earlier process. Part of a row, as after a power failure, is cut
// off: the next row would otherwise continue its line.
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
        (void)!ftruncate(fileno(metrics->csv.file), metrics->csv.whole);
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
    metrics->rows_max = metrics->merge_at = OCT_MIN(rows_max, ROWS_MAX);
    metrics->row_s = OCT_MAX(row_s, ROW_S_MIN);
    (void)snprintf(metrics->folder, sizeof(metrics->folder), "%s", folder);
    path_in(metrics, "metrics.events", path); // drafts of a process that was killed
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

// Renames a file that has another header, and begins a new one.
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
        failed(metrics); // further rows are written below the other header
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
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];
    char header[OCT_CSV_HEADER_MAX], found[OCT_CSV_HEADER_MAX] = "";
    columns_begin(metrics);
    oct_csv_header(metrics->columns, metrics->names, header);
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

// ---- merging old rows

// Both files with fewer rows, under names that no reader looks for.
typedef struct draft {
    learner_metrics *metrics;
    table csv, events;
    char csv_path[OCT_FILE_PATH_MAX], events_path[OCT_FILE_PATH_MAX];
    uint32_t time; // column of the wall clock
    uint64_t rows;
    double first_s; // when the first row of the old metrics.csv ended; INFINITY: unknown
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
    oct_csv_print(d->csv.file, d->metrics->columns, values);
    events_print(d->metrics, d->events.file, values, wall_s, step);
}

// Returns when the first row ended; the event files of these rows are not older. INFINITY: unknown.
static double
first_read(const draft *d, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    double values[OCT_CSV_COLUMNS_MAX], first_s = INFINITY;
    bool has_row = getline(&line, &room, in) > 0 && getline(&line, &room, in) > 0 &&
                   oct_csv_parse(line, strlen(line), d->metrics->columns, values);
    if (has_row && cell(d->metrics, values, d->time, 0) > 0) {
        first_s = values[d->time];
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
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX], header[OCT_CSV_HEADER_MAX];
    oct_csv_shrink_spec spec = {
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
        d->first_s = first_read(d, in);
        oct_csv_header(metrics->columns, metrics->names, header);
        fputs(header, d->csv.file);
        is_written = oct_csv_shrink(in, &spec, draft_row, d) == OCT_OK && draft_sync(&d->csv) &&
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
    double begun_s = oct_text_number(strrchr(path, '/') + 1 + strlen(EVENTS), NULL);
    struct stat file;
    if (begun_s >= cleared->first_s && strcmp(path, cleared->metrics->events_path) != 0 &&
        lstat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid()) {
        (void)oct_file_remove(path);
    }
}

// Removes the event files that this run began since its first row: the merged one has their rows.
// Event files of a renamed metrics.csv are older and stay, as do files of other users.
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
rows_merge(learner_metrics *metrics)
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
    metrics->merge_at =
        metrics->rows < metrics->rows_max ? metrics->rows_max : metrics->rows + RETRY_ROWS;
}

// ---- rows

int
learner_metrics_write(learner_metrics *metrics)
{
    const char *names[OCT_CSV_COLUMNS_MAX];
    double values[OCT_CSV_COLUMNS_MAX];
    metrics->failed = 0;
    if (!metrics->has_header) {
        header_begin(metrics);
    }
    (void)oct_numbers_list(metrics->numbers, OCT_SHOWN_CSV, names, values, metrics->columns);
    int64_t step = step_of(metrics, values);
    oct_csv_print(metrics->csv.file, metrics->columns, values);
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
    if (metrics->rows > metrics->merge_at) {
        rows_merge(metrics);
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
