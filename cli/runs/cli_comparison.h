#ifndef CLI_RUNS_CLI_COMPARISON_H
#define CLI_RUNS_CLI_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/runs/cli_bootstrap.h"
#include "cli/runs/cli_series.h"
#include "common/oct_config_text.h"

// Runs side by side. Those whose configurations differ in the seed alone are a group; of a group
// there are the mean and the spread over its runs of
//
// - the return: of summary.json, where it was measured on episodes that chose nothing ("final"); a
//   run that has no such return yet is not counted;
// - steps, updates and seconds to the threshold: of all evaluations in metrics.csv but the result,
//   none joined, the first point (cli_series_path) that has at least this mean, so that a version
//   counts by its last evaluation that decided anything; runs that never got there are not counted,
//   so "reached" says of how many the mean is. Rows of an earlier release do not say which
//   evaluation is the result: there it counts, too;
// - the curve: evaluation means on a common grid (cli_series_mean). Where some of its runs have no
//   value, because they have ended, it is dashed, in characters of lower case.
//
// Spread: standard deviation of the sample (n - 1), and the least and greatest. Of the return also
// the interquartile mean, and the probability of improvement over the first group
// (cli_bootstrap.h), where two runs have one.
//
// Threads: one at a time. Owns: its groups; the runs are the caller's and must stay.

#define CLI_COMPARISON_LABEL_MAX  2048
#define CLI_COMPARISON_POINTS     128 // of a curve
#define CLI_COMPARISON_DRAWN_MAX  8   // groups in a picture, the first ones
#define CLI_COMPARISON_SERIES_MAX 1000
#define CLI_COMPARISON_ROWS       8192 // of a run, fewer of many runs; then neighbours are joined

typedef enum cli_comparison_by {
    CLI_COMPARISON_STEPS,
    CLI_COMPARISON_UPDATES,
    CLI_COMPARISON_TIME,
    CLI_COMPARISON_BYS
} cli_comparison_by;
extern const char *const cli_comparison_by_words[CLI_COMPARISON_BYS]; // "steps", …

// A folder of a run that another folder has, too: it does not count.
typedef struct cli_comparison_copy {
    cli_series *series;
    const cli_series *of; // that counts
} cli_comparison_copy;

typedef struct cli_comparison_runs {
    uint32_t count, copies;
    cli_series *series[CLI_COMPARISON_SERIES_MAX];
    double threshold[CLI_COMPARISON_SERIES_MAX]; // NaN: none
    // Where each first reached its threshold; NaN: nowhere.
    double to[CLI_COMPARISON_SERIES_MAX][CLI_COMPARISON_BYS];
    cli_comparison_copy copy[CLI_COMPARISON_SERIES_MAX];
} cli_comparison_runs;

// Of the runs that have the number; NaN where count is 0, the deviation also where it is 1.
typedef struct cli_comparison_spread {
    uint32_t count;
    double mean, std, low, high;
} cli_comparison_spread;

typedef struct cli_comparison_group {
    // "algo.n_step=3 learner.batch_size=64", a name if alone; nothing that a terminal would obey
    char label[CLI_COMPARISON_LABEL_MAX];
    uint32_t first; // run: of its configuration
    uint32_t runs;
    double threshold; // NaN: none
    cli_comparison_spread result;
    cli_bootstrap iqm;         // NaN: result.count is below 2
    cli_bootstrap improvement; // NaN: as well, or that of the first group is, or it is the first
    cli_comparison_spread to[CLI_COMPARISON_BYS]; // the threshold; count: how many reached it
    uint32_t points;                              // of the curve; 0: no evaluation
    cli_series_range range;                       // of the curves of its runs
    cli_series_spread curve[CLI_COMPARISON_POINTS];
} cli_comparison_group;

// Keys that are not the same in all groups; run.seed, run.name and those of net aside.
#define CLI_COMPARISON_KEYS_MAX 256
typedef struct cli_comparison_keys {
    char name[CLI_COMPARISON_KEYS_MAX][OCT_CONFIG_NAME_MAX];
    uint32_t count;
} cli_comparison_keys;

typedef struct cli_comparison {
    const cli_comparison_runs *runs;
    cli_comparison_by by;
    uint32_t *group_of; // of each run
    uint32_t groups;
    cli_comparison_group *group;
    cli_comparison_keys keys;
} cli_comparison;

// Opens and reads all runs: folders of runs, or folders that hold such (a sweep's). threshold: NaN
// takes that of each run's configuration (run.stop_at_return). OCT_EINVAL, OCT_EIO: one line in
// reason, and there are none.
OCT_CHECKED oct_err cli_comparison_open(cli_comparison_runs *out, const char *const *folders,
                                        size_t folder_count, double threshold, char *reason,
                                        size_t reason_size);
void cli_comparison_close(cli_comparison_runs *runs);

// What curves are over where nobody says: updates where each run learns from a data set alone, and
// so counts no steps; else steps.
cli_comparison_by cli_comparison_by_default(const cli_comparison_runs *runs);
// There is a run at least. best_first: groups by falling mean return, those without one last; else
// in the order of their first run.
cli_comparison *cli_comparison_create(const cli_comparison_runs *runs, cli_comparison_by by,
                                      bool best_first);
// A table, a curve of characters, and how the configurations differ.
void cli_comparison_print(const cli_comparison *compare, FILE *out);
json_t *cli_comparison_json(const cli_comparison *compare); // a new reference
// Errors: as oct_plot_end.
OCT_CHECKED oct_err cli_comparison_draw(const cli_comparison *compare, const char *title,
                                        const char *path);
void cli_comparison_destroy(cli_comparison *compare);

#endif // CLI_RUNS_CLI_COMPARISON_H
