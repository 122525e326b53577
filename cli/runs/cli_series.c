// Reads run folders: configuration, summary.json and metrics.csv; and combines several runs.
#include "cli/runs/cli_series.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_numbers.h"
#include "common/oct_reason.h"
#include "common/oct_spread.h"
#include "config/config_text.h"
#include "learner/learner_numbers.h"

#define FILE_BYTES_MAX (1u << 20) // of config.yaml
#define POINTS_MIN     64         // first room of a path

// Identifies the content of a file that was read. Zero: no file was read.
typedef struct stamp {
    ino_t file;
    off_t size;
    struct timespec changed;
} stamp;

struct cli_series_reader {
    uint32_t crc; // over the compared keys; runs with different ones differ
    stamp config, summary;
    bool is_refused; // summary.json or metrics.csv is too large
};

// ---- files

// Returns false if the file is too large to be read; series->why then has the reason.
static bool
size_check(cli_series *series, const char *name, off_t bytes, uint64_t bytes_max)
{
    bool is_read = oct_file_check_size((uint64_t)bytes, bytes_max);
    series->reader->is_refused = series->reader->is_refused || !is_read;
    if (!is_read && series->why[0] == '\0') {
        (void)snprintf(series->why, sizeof(series->why), "%s: %s", name, oct_file_strerror(EFBIG));
    }
    return is_read;
}

// Opens a regular file in folder, and never blocks. Returns -1 if there is none.
static int
file_open(int folder, const char *name, struct stat *status)
{
    return oct_file_open_at(folder, name, O_RDONLY, 0, status);
}

static void
file_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

static bool
stamp_is(const stamp *before, const struct stat *now)
{
    return before->file == now->st_ino && before->size == now->st_size &&
           before->changed.tv_sec == now->st_mtim.tv_sec &&
           before->changed.tv_nsec == now->st_mtim.tv_nsec;
}

static void
stamp_take(stamp *out, const struct stat *now)
{
    *out = (stamp){.file = now->st_ino, .size = now->st_size, .changed = now->st_mtim};
}

static size_t
read_all(int fd, char *out, size_t room)
{
    size_t length = 0;
    while (length < room) {
        ssize_t got = read(fd, out + length, room - length);
        if (got <= 0) {
            break;
        }
        length += (size_t)got;
    }
    return length;
}

// Reads a small file if it changed; the caller frees the text. Returns NULL if it is unchanged, or
// if there is none; then *before is zero.
static char *
file_changed(int folder, const char *name, stamp *before, size_t *length)
{
    struct stat now;
    int fd = file_open(folder, name, &now);
    char *text = NULL;
    if (fd >= 0 && !stamp_is(before, &now)) {
        stamp_take(before, &now);
        size_t room = OCT_MIN((size_t)now.st_size, FILE_BYTES_MAX);
        text = oct_alloc(room + 1);
        *length = read_all(fd, text, room);
    }
    file_close(fd);
    *before = fd >= 0 ? *before : (stamp){0};
    return text;
}

bool
cli_series_is_compared(const char *key)
{
    return strcmp(key, "run.seed") != 0 && strcmp(key, "run.name") != 0 &&
           strncmp(key, "net.", 4) != 0;
}

static uint32_t
config_crc(const config_experiment *config)
{
    config_experiment defaults;
    config_change change;
    uint32_t crc = 0;
    config_default(&defaults);
    for (size_t at = 0; config_next_change(&change, &defaults, config, &at);) {
        if (cli_series_is_compared(change.name)) {
            crc = oct_crc32c(crc, change.name, strlen(change.name));
            crc = oct_crc32c(crc, change.now, strlen(change.now));
        }
    }
    return crc;
}

static void
config_read(cli_series *series, int folder)
{
    char message[CLI_SERIES_REASON_MAX];
    size_t length;
    char *text = file_changed(folder, "config.yaml", &series->reader->config, &length);
    if (text == NULL) {
        return;
    }
    config_default(&series->config);
    series->has_config = config_parse(&series->config, "config.yaml", text, length, message,
                                      sizeof(message)) == OCT_OK;
    if (!series->has_config) {
        memcpy(series->why, message, sizeof(message));
        series->why[strcspn(series->why, "\n")] = '\0';
        config_default(&series->config);
    }
    series->reader->crc = config_crc(&series->config);
    series->changes++;
    free(text);
}

static void
summary_read(cli_series *series, int folder)
{
    stamp *now = &series->reader->summary, before = *now;
    size_t length;
    char *text = file_changed(folder, "summary.json", now, &length);
    bool is_gone = before.file != 0 && now->file == 0; // the run was resumed
    bool is_read = size_check(series, "summary.json", now->size, CLI_SERIES_SUMMARY_MAX);
    if (text == NULL && !is_gone) {
        return;
    }
    json_decref(series->summary);
    series->summary = text != NULL && is_read ? json_loadb(text, length, 0, NULL) : NULL;
    if (!json_is_object(series->summary)) {
        json_decref(series->summary);
        series->summary = NULL;
    }
    series->changes++;
    free(text);
}

// ---- rows of metrics.csv

static oct_numbers *known;
static pthread_once_t known_once = PTHREAD_ONCE_INIT;

static void
known_make(void)
{
    static const learner_measurements none;
    known = oct_numbers_create("learner.");
    learner_numbers_add(known, &none);
}

// Returns the counter that a column is a mean over (oct_csv_over_fn). The registry of the learner's
// numbers knows most columns. The others are either metrics of the environment, which keep their
// latest value, or numbers of an algorithm, which are means over updates. All series share one
// registry.
static const char *
over_of(const char *name)
{
    OCT_ASSERT(pthread_once(&known_once, known_make) == 0);
    for (uint32_t n = 0; n < oct_numbers_count(known); n++) {
        const oct_number *row = oct_numbers_row(known, n);
        if ((row->shown & OCT_SHOWN_CSV) != 0 && strcmp(row->name, name) == 0) {
            return row->over;
        }
    }
    bool is_metric = strncmp(name, LEARNER_EVAL_METRIC, strlen(LEARNER_EVAL_METRIC)) == 0;
    return is_metric ? NULL : "updates";
}

static bool
metrics_read(cli_series *series, int folder, uint64_t bytes_max)
{
    struct stat now;
    uint64_t before = series->metrics.changes;
    int fd = file_open(folder, "metrics.csv", &now);
    bool is_read = fd >= 0 && size_check(series, "metrics.csv", now.st_size, OCT_CSV_BYTES_MAX);
    bool has_more = is_read && oct_csv_read(&series->metrics, fd, &now, bytes_max);
    file_close(fd);
    series->changes += series->metrics.changes - before;
    return has_more;
}

// ---- opening and reading

static void
name_take(cli_series *series)
{
    size_t end = strlen(series->folder), begin;
    while (end > 1 && series->folder[end - 1] == '/') {
        end--;
    }
    for (begin = end; begin > 0 && series->folder[begin - 1] != '/'; begin--) {
    }
    (void)snprintf(series->name, sizeof(series->name), "%.*s", (int)OCT_MIN(end - begin, 255u),
                   series->folder + begin);
}

bool
cli_series_is_run(const char *folder)
{
    struct stat status;
    int fd = oct_file_open_folder(folder, true);
    int config = fd >= 0 ? file_open(fd, "config.yaml", &status) : -1;
    file_close(config);
    file_close(fd);
    return config >= 0;
}

oct_err
cli_series_open(cli_series **out, const char *folder, uint32_t rows_max, oct_reason *why)
{
    struct stat status;
    int fd = oct_file_open_folder(folder, true);
    if (fd < 0 || strlen(folder) >= CLI_SERIES_FOLDER_MAX) {
        oct_reason_set(why, "cannot enter '%s': %s", folder,
                       fd < 0 ? oct_file_strerror(errno) : "the path is too long");
        file_close(fd);
        return OCT_EIO;
    }
    int config = file_open(fd, "config.yaml", &status);
    file_close(fd);
    file_close(config);
    if (config < 0) {
        return oct_refuse(why, "'%s' is not a run folder: it has no config.yaml", folder);
    }
    cli_series *series = oct_alloc(sizeof(*series));
    series->reader = oct_alloc(sizeof(*series->reader));
    (void)snprintf(series->folder, sizeof(series->folder), "%s", folder);
    name_take(series);
    config_default(&series->config);
    oct_csv_init(&series->metrics, rows_max, over_of);
    *out = series;
    return OCT_OK;
}

bool
cli_series_read(cli_series *series, uint64_t bytes_max)
{
    int folder = oct_file_open_folder(series->folder, true);
    if (folder < 0) {
        return false; // the folder was removed; what was read stays
    }
    bool was_refused = series->reader->is_refused;
    config_read(series, folder);
    if (series->has_config) {
        series->why[0] = '\0';
    }
    series->reader->is_refused = false;
    summary_read(series, folder);
    bool has_more = metrics_read(series, folder, bytes_max);
    series->changes += series->reader->is_refused != was_refused;
    (void)close(folder);
    return has_more;
}

void
cli_series_close(cli_series *series)
{
    if (series == NULL) {
        return;
    }
    oct_csv_fini(&series->metrics);
    json_decref(series->summary);
    free(series->reader);
    free(series);
}

int
cli_series_file(const cli_series *series, const char *name, uint64_t *size)
{
    struct stat status;
    int folder = oct_file_open_folder(series->folder, true);
    int fd = folder >= 0 ? file_open(folder, name, &status) : -1;
    file_close(folder);
    *size = fd >= 0 ? (uint64_t)status.st_size : 0;
    return fd;
}

// ---- curves

// Returns the column with the x of a number y. An evaluation belongs to the time when its policy
// was made, which is before the row; files of old releases do not have that column.
static int
column_of_point(const oct_csv *csv, const char *x, const char *y)
{
    char name[OCT_CSV_NAME_MAX];
    (void)snprintf(name, sizeof(name), "eval_%s", x);
    int made = strncmp(y, "eval_", 5) == 0 ? oct_csv_column(csv, name) : -1;
    return made >= 0 ? made : oct_csv_column(csv, x);
}

// Inserts a point, or replaces that of the same x. points are in the order of x. Returns the new
// count.
static uint32_t
point_put(cli_series_point *points, uint32_t count, cli_series_point point)
{
    uint32_t at = count;
    while (at > 0 && points[at - 1].x > point.x) {
        at--;
    }
    if (at > 0 && points[at - 1].x == point.x) {
        points[at - 1] = point;
        return count;
    }
    memmove(points + at + 1, points + at, (count - at) * sizeof(*points));
    points[at] = point;
    return count + 1;
}

static void
path_begin(cli_series_path *path, const oct_csv *csv)
{
    path->is_begun = true;
    path->row_x = -INFINITY;
    path->at_row = oct_csv_column(csv, path->x);
    path->at_y = oct_csv_column(csv, path->y);
    path->at_x = column_of_point(csv, path->x, path->y);
}

// path has room for one more point.
static void
path_take(cli_series_path *path, const double *values)
{
    if (path->at_row < 0 || path->at_y < 0 || isnan(values[path->at_row])) {
        return;
    }
    double row_x = values[path->at_row];
    while (row_x < path->row_x && path->count > 0 && path->points[path->count - 1].x >= row_x) {
        path->count--;
    }
    path->row_x = row_x;
    cli_series_point point = {.x = values[path->at_x], .y = values[path->at_y]};
    if (!isnan(point.x) && !isnan(point.y)) {
        path->count = point_put(path->points, path->count, point);
    }
}

void
cli_series_path_add(cli_series_path *path, const oct_csv *csv, const double *values)
{
    if (values == NULL) {
        path->is_begun = false;
        path->count = 0;
        return;
    }
    if (!path->is_begun) {
        path_begin(path, csv);
    }
    if (path->count == path->room) {
        path->room = OCT_MAX(2 * path->room, POINTS_MIN);
        path->points = realloc(path->points, path->room * sizeof(*path->points));
        OCT_ASSERT(path->points != NULL);
    }
    path_take(path, values);
}

uint32_t
cli_series_curve(const cli_series *series, const char *x, const char *y, cli_series_point *out)
{
    const oct_csv *csv = &series->metrics;
    cli_series_path path = {.x = x, .y = y, .points = out};
    path_begin(&path, csv);
    for (uint32_t row = 0; row < csv->rows; row++) {
        path_take(&path, csv->values + (size_t)row * csv->columns);
    }
    return path.count;
}

double
cli_series_at(const cli_series_point *points, uint32_t count, double x)
{
    if (count == 0 || x < points[0].x || x > points[count - 1].x) {
        return NAN;
    }
    uint32_t low = 0, high = count - 1; // points[low].x <= x <= points[high].x
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(points[middle].x <= x ? &low : &high) = middle;
    }
    double width = points[high].x - points[low].x;
    double share = width > 0 ? (x - points[low].x) / width : 0;
    return points[low].y + share * (points[high].y - points[low].y);
}

// ---- several runs

// Returns true if two runs have one configuration: every compared key is the same. A run without a
// configuration is like itself only.
static bool
is_like(const cli_series *a, const cli_series *b)
{
    if (!a->has_config || !b->has_config) {
        return a == b;
    }
    if (a->reader->crc != b->reader->crc) {
        return false;
    }
    config_change change;
    for (size_t at = 0; config_next_change(&change, &a->config, &b->config, &at);) {
        if (cli_series_is_compared(change.name)) {
            return false;
        }
    }
    return true;
}

static double
trained_s(const cli_series *series)
{
    return json_number_value(json_object_get(series->summary, "learner_wall_s"));
}

typedef struct folder_of_run {
    uint32_t at, group;
    const char *run_id;
    double trained_s;
} folder_of_run;

static int
by_run(const folder_of_run *a, const folder_of_run *b)
{
    return a->group != b->group ? (a->group < b->group ? -1 : 1) : strcmp(a->run_id, b->run_id);
}

// Sorts the folders of a run together, and the folder that is the run before its copies.
static int
by_run_and_length(const void *left, const void *right)
{
    const folder_of_run *a = left, *b = right;
    int order = by_run(a, b);
    if (order == 0 && a->trained_s != b->trained_s) {
        return a->trained_s > b->trained_s ? -1 : 1;
    }
    return order != 0 ? order : a->at < b->at ? -1 : 1;
}

void
cli_series_copies(cli_series *const *series, uint32_t count, const uint32_t *group_of,
                  uint32_t *copy_of)
{
    folder_of_run *all = oct_alloc((count + 1) * sizeof(*all));
    uint32_t named = 0, first = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *id = json_string_value(json_object_get(series[i]->summary, "run_id"));
        copy_of[i] = i;
        all[named] = (folder_of_run){i, group_of[i], id, trained_s(series[i])};
        named += id != NULL;
    }
    qsort(all, named, sizeof(*all), by_run_and_length);
    for (uint32_t i = 0; i < named; i++) {
        first = by_run(&all[first], &all[i]) == 0 ? first : i;
        copy_of[all[i].at] = all[first].at;
    }
    free(all);
}

uint32_t
cli_series_group(cli_series *const *series, uint32_t count, uint32_t *group_of)
{
    uint32_t groups = 0, *first = oct_alloc((count + 1) * sizeof(*first)); // of each group
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < groups && !is_like(series[first[at]], series[i])) {
            at++;
        }
        if (at == groups) {
            first[groups++] = i;
        }
        group_of[i] = at;
    }
    free(first);
    return groups;
}

typedef struct curve {
    cli_series_point *points;
    uint32_t count;
} curve;

// Computes mean and spread at x over the curves that have a value there. values: room for count
// numbers.
static cli_series_spread
spread_at(const curve *curves, uint32_t count, double x, double *values)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        double y = cli_series_at(curves[i].points, curves[i].count, x);
        values[n] = y;
        n += !isnan(y);
    }
    if (n == 0) {
        return (cli_series_spread){.x = x, .mean = NAN, .std = NAN};
    }
    oct_spread of = oct_spread_of_f64(values, n);
    return (cli_series_spread){.x = x, .mean = of.mean, .std = of.std, .count = n};
}

uint32_t
cli_series_mean(cli_series *const *series, uint32_t count, const char *x, const char *y,
                uint32_t points, cli_series_spread *out, cli_series_range *range)
{
    OCT_ASSERT(points >= 2);
    curve *curves = oct_alloc((count + 1) * sizeof(*curves));
    double *values = oct_alloc((count + 1) * sizeof(*values));
    double low = INFINITY, high = -INFINITY;
    *range = (cli_series_range){.least = INFINITY, .greatest = -INFINITY};
    for (uint32_t i = 0; i < count; i++) {
        curve *c = &curves[i];
        c->points = oct_alloc((series[i]->metrics.rows + 1) * sizeof(*c->points));
        c->count = cli_series_curve(series[i], x, y, c->points);
        if (c->count > 0) {
            low = fmin(low, c->points[0].x);
            high = fmax(high, c->points[c->count - 1].x);
        }
        for (uint32_t k = 0; k < c->count; k++) {
            range->least = fmin(range->least, c->points[k].y);
            range->greatest = fmax(range->greatest, c->points[k].y);
        }
    }
    points = low < high ? points : low == high ? 1 : 0;
    for (uint32_t i = 0; i < points; i++) {
        // The last x is high itself, which the rounded sum might miss.
        double at = i + 1 < points ? low + (high - low) * i / (points - 1) : high;
        out[i] = spread_at(curves, count, at, values);
    }
    for (uint32_t i = 0; i < count; i++) {
        free(curves[i].points);
    }
    free(values);
    free(curves);
    return points;
}
