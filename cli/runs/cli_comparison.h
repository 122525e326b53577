#ifndef CLI_RUNS_CLI_COMPARISON_H
#define CLI_RUNS_CLI_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/runs/cli_series.h"

// Runs side by side. Those whose configurations differ in the seed alone are a group; of a group
// there are the mean and the spread over its runs of
//
// - the return: of summary.json, where it was measured on episodes that chose nothing ("final"); a
//   run that has no such return yet is not counted;
// - steps, updates and seconds to the threshold: at the first point of the curve (cli_series_curve)
//   that has at least this mean; runs that never got there are not counted, so "reached" says of
//   how many the mean is;
// - the curve: evaluation means on a common grid (cli_series_mean). Where some of its runs have no
//   value, because they have ended, it is dashed, in characters of lower case.
//
// Spread: standard deviation of the sample (n - 1), and the least and greatest.
//
// Threads: one at a time. Owns: its groups; the series are the caller's and must stay.

#define CLI_COMPARISON_LABEL_MAX  512
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

// Of the runs that have the number; NaN where count is 0.
typedef struct cli_comparison_spread {
    uint32_t count;
    double mean, std, low, high;
} cli_comparison_spread;

typedef struct cli_comparison_group {
    char label[CLI_COMPARISON_LABEL_MAX]; // "algo.n_step=3 learner.batch_size=64", a name if alone
    uint32_t first;                       // series: of its configuration
    uint32_t runs;
    double threshold; // NaN: none
    cli_comparison_spread result;
    cli_comparison_spread to[CLI_COMPARISON_BYS]; // the threshold; count: how many reached it
    uint32_t points;                              // of the curve; 0: no evaluation
    cli_series_spread curve[CLI_COMPARISON_POINTS];
} cli_comparison_group;

// Keys that are not the same in all groups; run.seed, run.name and those of net aside.
#define CLI_COMPARISON_KEYS_MAX 256
typedef struct cli_comparison_keys {
    char name[CLI_COMPARISON_KEYS_MAX][OCT_CONFIG_NAME_MAX];
    uint32_t count;
} cli_comparison_keys;

typedef struct cli_comparison {
    cli_series *const *series;
    uint32_t count;
    cli_comparison_by by;
    uint32_t *group_of; // of each series
    uint32_t groups;
    cli_comparison_group *group;
    cli_comparison_keys keys;
} cli_comparison;

// threshold: NaN takes that of each group's configuration (run.stop_at_return). best_first: groups
// by falling mean return, those without one last; else in the order of their first run.
cli_comparison *cli_comparison_create(cli_series *const *series, uint32_t count,
                                      cli_comparison_by by, double threshold, bool best_first);
// A table, a curve of characters, and how the configurations differ.
void cli_comparison_print(const cli_comparison *compare, FILE *out);
json_t *cli_comparison_json(const cli_comparison *compare); // a new reference
// Errors: as oct_plot_end.
OCT_CHECKED oct_err cli_comparison_draw(const cli_comparison *compare, const char *title,
                                        const char *path);
void cli_comparison_destroy(cli_comparison *compare);

// Opens and reads all runs: folders of runs, or folders that hold such (a sweep's). out: of
// CLI_COMPARISON_SERIES_MAX. OCT_EINVAL, OCT_EIO: one line in reason, and *count is 0.
OCT_CHECKED oct_err cli_comparison_open(const char *const *folders, size_t folder_count,
                                        cli_series **out, uint32_t *count, char *reason,
                                        size_t reason_size);

#endif // CLI_RUNS_CLI_COMPARISON_H
