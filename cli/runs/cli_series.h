#ifndef CLI_RUNS_CLI_SERIES_H
#define CLI_RUNS_CLI_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/oct_config.h"
#include "common/oct_err.h"

// What run folders say of runs, live or ended: configuration, summary.json and the rows of
// metrics.csv, joined so that a run of any length needs the same memory; and several runs together:
// which of them are seeds of one configuration, and the mean and spread of a number over them.
//
// Of the folder, only regular files that lie in it are read: a symbolic link, a pipe or a device in
// their place is as if it were not there. Whatever is written in them, nothing crashes.
//
// Threads: one at a time. Owns: its copies; no file stays open.

#define CLI_SERIES_COLUMNS_MAX 256
#define CLI_SERIES_NAME_MAX    64   // bytes of a column's name, with the zero byte
#define CLI_SERIES_FOLDER_MAX  4096 // bytes of a path
#define CLI_SERIES_REASON_MAX  512
#define CLI_SERIES_SUMMARY_MAX (64u << 10) // bytes of summary.json; most have 3 to 5 KB

typedef struct cli_series {
    char folder[CLI_SERIES_FOLDER_MAX]; // as it was given
    char name[256];                     // its last part
    bool has_config;
    oct_config config; // of config.yaml; the defaults without has_config
    // Why config.yaml cannot be understood (another release); or that summary.json, of more than
    // CLI_SERIES_SUMMARY_MAX, or metrics.csv, of more than LEARNER_METRICS_BYTES_MAX, is not read;
    // else "".
    char why[CLI_SERIES_REASON_MAX];
    json_t *summary; // an object; NULL: none yet, or it cannot be understood

    uint32_t columns; // of metrics.csv; 0: there is no header yet
    char (*column)[CLI_SERIES_NAME_MAX];
    uint32_t rows;      // at most rows_max
    uint64_t joined;    // how many rows of the file each of them has at most; 1, 2, 4 …
    uint64_t rows_read; // of the file
    double *values;     // [rows][columns], the oldest first; NaN: not measured
    uint64_t changes;   // grows whenever cli_series_read found something new

    struct cli_series_reader *reader; // private
} cli_series;

// Whether a folder is that of a run: a regular file config.yaml lies in it.
bool cli_series_is_run(const char *folder);
// A run folder; nothing else is read yet. rows_max: even, >= 16. OCT_EIO:
// it cannot be entered; OCT_EINVAL: it is no run folder; one line in reason.
OCT_CHECKED oct_err cli_series_open(cli_series **out, const char *folder, uint32_t rows_max,
                                    char *reason, size_t reason_size);
// Reads what is new since the last time, bytes_max of metrics.csv at most. True: there is more.
//
// A row that is still being written is left for the next time; a line that is no row is passed
// over. When metrics.csv was replaced (the learner joins old rows so) it is read again. Two rows
// that are joined become the later value of each column, where it has one; means over a row
// (learner/learner_rows.h) and an algorithm's numbers become the mean of both.
bool cli_series_read(cli_series *series, uint64_t bytes_max);
// What cli_series_read is to call with each row of metrics.csv before any are joined: values is
// [columns]; NULL: the file is read again from its beginning.
typedef void (*cli_series_row_fn)(void *arg, const cli_series *series, const double *values);
void cli_series_on_row(cli_series *series, cli_series_row_fn row, void *arg);
void cli_series_close(cli_series *series); // NULL is a no-op

// A regular file in the folder, for reading: *size gets its bytes. -1: there is none, or what has
// that name is a link or no file.
int cli_series_file(const cli_series *series, const char *name, uint64_t *size);

// Where a column is; -1: there is none of this name.
int cli_series_column(const cli_series *series, const char *name);

// ---- curves

typedef struct cli_series_point {
    double x;
    double y;
} cli_series_point;

// The rows that have a number in both columns, as points of growing x, the last of those at the
// same x. Numbers of an evaluation (eval_…) are where its policy was made, as far as the rows say.
// Where the rows' x falls, because the run was resumed from an earlier point, the points from there
// on are dropped. out: [rows]. Returns how many; 0 as well when there is no such column.
uint32_t cli_series_curve(const cli_series *series, const char *x, const char *y,
                          cli_series_point *out);
// The same of every row as it is read. It begins as {.x = …, .y = …}; its owner frees points.
typedef struct cli_series_path {
    const char *x, *y; // columns
    cli_series_point *points;
    uint32_t count, room;
    bool is_begun;          // of a row before
    double row_x;           // of that
    int at_row, at_x, at_y; // columns
} cli_series_path;
// Arguments as of a cli_series_row_fn.
void cli_series_path_add(cli_series_path *path, const cli_series *series, const double *values);
// y at x, on the straight line between the two points around it; NaN: before the first point or
// behind the last.
double cli_series_at(const cli_series_point *points, uint32_t count, double x);

// ---- several runs

// Whether runs in which this key differs have other configurations: all keys do but run.seed,
// run.name and those of net (where the run's processes are).
bool cli_series_is_compared(const char *key);
// Whether two runs have one configuration: every key that is compared is the same. A run without a
// configuration is like no other.
bool cli_series_is_like(const cli_series *a, const cli_series *b);
// copy_of[i]: where the run of series[i] is, i in most cases. Else series[i] is another folder of
// the same run (run_id of summary.json, and the same group of cli_series_group): a copy, also one
// of an earlier time. The run is where it was trained longest, of equal ones in the first.
void cli_series_copies(cli_series *const *series, uint32_t count, const uint32_t *group_of,
                       uint32_t *copy_of);
// group_of[i]: which configuration series[i] is of, counted from 0 in the order of the first of
// each. Returns how many.
uint32_t cli_series_group(cli_series *const *series, uint32_t count, uint32_t *group_of);

typedef struct cli_series_spread {
    double x;
    double mean;
    double std;     // of the sample, with n - 1; 0 for one run
    uint32_t count; // runs that have a value there; 0: mean and std are NaN
} cli_series_spread;

// The least and the greatest y of any point of some curves; least > greatest: there is no point.
typedef struct cli_series_range {
    double least, greatest;
} cli_series_range;

// The mean over runs of their curves of y at points equally spaced x, from the least x of any of
// them to the largest; *range: of these curves. Where count is less than the number of runs, some
// have ended or not begun, and the mean is of the others. points >= 2. Returns points, 1 where all
// have the same x alone, or 0: no run has a curve.
uint32_t cli_series_mean(cli_series *const *series, uint32_t count, const char *x, const char *y,
                         uint32_t points, cli_series_spread *out, cli_series_range *range);

#endif // CLI_RUNS_CLI_SERIES_H
