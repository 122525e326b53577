#ifndef CLI_RUNS_CLI_COMPARISON_H
#define CLI_RUNS_CLI_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/runs/cli_bootstrap.h"
#include "cli/runs/cli_series.h"
#include "common/oct_reason.h"
#include "config/config_text.h"

// Compares runs. Runs whose configurations differ only in the seed form a group. Each group has the
// mean and the spread, over its runs, of
//
// - the return in summary.json, if it was measured on episodes that decided nothing ("final"). A
//   run without such a return does not count;
// - the steps, updates and seconds to the threshold: the first point (cli_series_path) whose mean
//   is at least the threshold, of all evaluations in metrics.csv except the result, none joined. So
//   a version counts by its last evaluation that decided anything. Runs that did not reach the
//   threshold do not count; "reached" says how many did. Rows of an earlier release do not mark the
//   result, which then counts, too;
// - the curve: means of evaluations on a common grid (cli_series_mean). Where some of the runs have
//   no value, because they have ended, the curve is dashed, or in lower-case characters.
//
// The spread is the standard deviation of the sample (n - 1), and the minimum and maximum. The
// return also has its interquartile mean, and its probability of improvement over the first group
// (cli_bootstrap.h), if both groups have two runs with a return.
//
// Threads: one at a time. Owns: its groups. The runs are borrowed and must stay.

#define CLI_COMPARISON_LABEL_MAX  2048
#define CLI_COMPARISON_POINTS     128 // of a curve
#define CLI_COMPARISON_DRAWN_MAX  8   // groups in a picture, the first ones
#define CLI_COMPARISON_SERIES_MAX 1000
// most rows of a run; fewer if there are many runs, and then neighbours are joined
#define CLI_COMPARISON_ROWS 8192

typedef enum cli_comparison_by {
    CLI_COMPARISON_STEPS,
    CLI_COMPARISON_UPDATES,
    CLI_COMPARISON_TIME,
    CLI_COMPARISON_BYS
} cli_comparison_by;
extern const char *const cli_comparison_by_words[]; // "steps", "updates", "time", NULL

// A folder with the same run as another folder: it does not count.
typedef struct cli_comparison_copy {
    cli_series *series;
    const cli_series *of; // the original, which counts
} cli_comparison_copy;

typedef struct cli_comparison_runs {
    uint32_t count, copies;
    cli_series *series[CLI_COMPARISON_SERIES_MAX];
    double threshold[CLI_COMPARISON_SERIES_MAX]; // of each run; NaN: none
    // Where each run first reached its threshold; NaN: it did not.
    double to[CLI_COMPARISON_SERIES_MAX][CLI_COMPARISON_BYS];
    cli_comparison_copy copy[CLI_COMPARISON_SERIES_MAX];
} cli_comparison_runs;

// Over the runs that have the number. All are NaN where count is 0, and std also where count is 1.
typedef struct cli_comparison_spread {
    uint32_t count;
    double mean, std, low, high;
} cli_comparison_spread;

typedef struct cli_comparison_group {
    // "algo.n_step=3 learner.batch_size=64", or the run's name if no key differs; without control
    // characters
    char label[CLI_COMPARISON_LABEL_MAX];
    uint32_t first; // index of a run with the group's configuration, the first one
    uint32_t runs;
    double threshold; // NaN: none
    cli_comparison_spread result;
    cli_bootstrap iqm; // NaN: result.count is below 2
    // NaN: result.count of this or of the first group is below 2, or this is the first group
    cli_bootstrap improvement;
    cli_comparison_spread to[CLI_COMPARISON_BYS]; // to the threshold; count: runs that reached it
    uint32_t points;                              // of the curve; 0: no evaluation
    cli_series_range range;                       // of the curves of all its runs
    cli_series_spread curve[CLI_COMPARISON_POINTS];
} cli_comparison_group;

// Keys that differ between groups, without run.seed, run.name and those of net.
#define CLI_COMPARISON_KEYS_MAX 256
typedef struct cli_comparison_keys {
    char name[CLI_COMPARISON_KEYS_MAX][CONFIG_NAME_MAX];
    uint32_t count;
} cli_comparison_keys;

typedef struct cli_comparison {
    const cli_comparison_runs *runs;
    cli_comparison_by by;
    // [runs->count] group of each run, by its number before best_first reordered the groups
    uint32_t *group_of;
    uint32_t groups;
    cli_comparison_group *group;
    cli_comparison_keys keys;
} cli_comparison;

// Opens and reads all runs. A folder is that of a run, or contains runs (a sweep's). threshold NaN:
// that of each run's configuration (run.stop_at_return). OCT_EINVAL, OCT_EIO: reason gets one line,
// and out is empty.
OCT_CHECKED oct_err cli_comparison_open(cli_comparison_runs *out, const char *const *folders,
                                        size_t folder_count, double threshold, oct_reason *why);
void cli_comparison_close(cli_comparison_runs *runs);

// Returns what curves are drawn over by default: updates if every run learns from a data set alone,
// and so counts no steps; otherwise steps.
cli_comparison_by cli_comparison_by_default(const cli_comparison_runs *runs);
// Compares the runs, at least one. best_first: groups are ordered by falling mean return, groups
// without one last. Otherwise they are in the order of their first runs.
cli_comparison *cli_comparison_create(const cli_comparison_runs *runs, cli_comparison_by by,
                                      bool best_first);
// Prints a table, curves of characters, and how the configurations differ.
void cli_comparison_print(const cli_comparison *compare, FILE *out);
json_t *cli_comparison_json(const cli_comparison *compare); // a new reference
// Draws the curves as an SVG picture. Errors are those of oct_plot_end.
OCT_CHECKED oct_err cli_comparison_draw(const cli_comparison *compare, const char *title,
                                        const char *path);
void cli_comparison_destroy(cli_comparison *compare);

#endif // CLI_RUNS_CLI_COMPARISON_H
