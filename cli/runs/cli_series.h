#ifndef CLI_RUNS_CLI_SERIES_H
#define CLI_RUNS_CLI_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/oct_csv.h"
#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "config/config.h"

// A run as its folder describes it, live or ended: configuration, summary.json and metrics.csv.
// Several runs can be combined: which of them are seeds of one configuration, and the mean and the
// spread of a number over them.
//
// Only regular files in the folder are read: a symbolic link, a pipe or a device counts as missing.
// Files may contain anything; a bad one is reported or ignored.
//
// Threads: one at a time. Owns: its copies; no file stays open.

#define CLI_SERIES_FOLDER_MAX  4096 // bytes of a path
#define CLI_SERIES_REASON_MAX  512
#define CLI_SERIES_SUMMARY_MAX (64u << 10) // bytes of summary.json; most have 3 to 5 KB

typedef struct cli_series {
    char folder[CLI_SERIES_FOLDER_MAX]; // as the caller gave it
    char name[256];                     // its last part
    bool has_config;
    config_experiment config; // of config.yaml; the defaults without has_config
    // Why config.yaml cannot be understood (it is of another release), or why summary.json or
    // metrics.csv is not read (more than CLI_SERIES_SUMMARY_MAX or OCT_CSV_BYTES_MAX bytes); "".
    char why[CLI_SERIES_REASON_MAX];
    json_t *summary;  // an object; NULL: there is none yet, or it cannot be understood
    oct_csv metrics;  // metrics.csv
    uint64_t changes; // grows whenever cli_series_read finds something new

    struct cli_series_reader *reader; // private
} cli_series;

// Returns true if a folder is that of a run: a regular file config.yaml lies in it.
bool cli_series_is_run(const char *folder);
// Opens a run folder; nothing else is read yet. rows_max: as of oct_csv_init. On an error reason
// has one line:
//   OCT_EIO     the folder cannot be entered, or its path is too long
//   OCT_EINVAL  it is no run folder
OCT_CHECKED oct_err cli_series_open(cli_series **out, const char *folder, uint32_t rows_max,
                                    oct_reason *why);
// Reads what is new since the last call, and about bytes_max of metrics.csv at most. Returns true
// if there is more to read.
bool cli_series_read(cli_series *series, uint64_t bytes_max);
void cli_series_close(cli_series *series); // NULL is a no-op; calls no function of oct_csv_on_row

// Opens a regular file in the folder for reading; *size: its bytes. Returns -1 if there is none: a
// link is none.
int cli_series_file(const cli_series *series, const char *name, uint64_t *size);

// ---- curves

typedef struct cli_series_point {
    double x;
    double y;
} cli_series_point;

// The rows that have a number in both columns, as points in the order of x; of several points with
// the same x the last. Numbers of an evaluation (eval_…) are at the x at which their policy was
// made, if the file has it. Where the x of the rows falls, because the run was resumed from an
// earlier checkpoint, the points from there on are dropped: those of the resumed run replace them.
// out: [metrics.rows]. Returns the number of points; 0, too, if there is no such column.
uint32_t cli_series_curve(const cli_series *series, const char *x, const char *y,
                          cli_series_point *out);
// The same from every row of the file, before rows are merged. The caller begins with {.x = …,
// .y = …} and frees points.
typedef struct cli_series_path {
    const char *x, *y; // columns
    cli_series_point *points;
    uint32_t count, room;
    bool is_begun;          // a row was added
    double row_x;           // x of the last row
    int at_row, at_x, at_y; // columns: x of the rows, x and y of the points; -1: missing
} cli_series_path;
// Arguments: as of oct_csv_on_row_fn.
void cli_series_path_add(cli_series_path *path, const oct_csv *csv, const double *values);
// y at x, on the straight line between the two points around it; NaN: x is before the first point
// or after the last.
double cli_series_at(const cli_series_point *points, uint32_t count, double x);

// ---- several runs

// Returns true if runs that differ in this key have other configurations: true for all keys except
// run.seed, run.name and those of net, which name the hosts of the run.
bool cli_series_is_compared(const char *key);
// Finds folders that are copies of a run, also of an earlier time: they have the same run_id in
// summary.json and the same group of cli_series_group. copy_of[i]: the index of the folder that is
// the run, mostly i itself: the one that was trained longest, of equal ones the first.
void cli_series_copies(cli_series *const *series, uint32_t count, const uint32_t *group_of,
                       uint32_t *copy_of);
// group_of[i]: the configuration of series[i], counted from 0 in the order of appearance. Returns
// the number of groups.
uint32_t cli_series_group(cli_series *const *series, uint32_t count, uint32_t *group_of);

typedef struct cli_series_spread {
    double x;
    double mean;
    double std;     // of the sample, with n - 1; 0 for one run
    uint32_t count; // runs that have a value at x; 0: mean and std are NaN
} cli_series_spread;

// The least and the greatest y of some curves; least > greatest if they have no point.
typedef struct cli_series_range {
    double least, greatest;
} cli_series_range;

// The mean of the curves of several runs, at points (>= 2) equally spaced x from the least x of any
// curve to the greatest. *range: of these curves. The mean at x is over the runs whose curve
// reaches x. Returns the number of points in out: points, 1 if all curves have one and the same x,
// or 0 if no run has a curve.
uint32_t cli_series_mean(cli_series *const *series, uint32_t count, const char *x, const char *y,
                         uint32_t points, cli_series_spread *out, cli_series_range *range);

#endif // CLI_RUNS_CLI_SERIES_H
