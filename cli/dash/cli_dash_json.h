#ifndef CLI_DASH_CLI_DASH_JSON_H
#define CLI_DASH_CLI_DASH_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/dash/cli_dash_runs.h"

// Answers what a page asks for about the runs, as JSON by paths. `octet dash` answers the paths one
// by one, and `octet report --html` writes the answers that a page needs into it. A path consists
// of numbers and names of columns, so that it cannot name a file.
//
//   /runs                 all runs: configuration, summary, last row, state; their differences
//   /changes              which server this is, and how many changes there were: while both are the
//                         same, /runs is the same
//   /curve/ID/X/COLUMN    a column of metrics.csv over env_steps, updates or wall_s
//   /mean/GROUP/X/COLUMN  mean and deviation of the column over the runs of one configuration, and
//                         the smallest and largest value of any of these runs
//   /codes/ID             how often each code occurs in each layer of policy.oct
//   /video/ID             policy.mp4 or policy.gif of the run folder (no JSON)
//
// Threads: the loop thread. Strings of runs are escaped for JSON, and '<' is escaped too, so that
// the text can be in a <script> of a page.

#define CLI_DASH_POINTS      512 // most points of a curve
#define CLI_DASH_MEAN_POINTS 200
#define CLI_DASH_POLICY_MAX  (64u << 20) // bytes; a larger policy has no codes

typedef struct cli_dash_text {
    const char *type; // MIME type, static
    char *bytes;      // malloc'd; the caller frees it
    size_t length;
} cli_dash_text;

// Writes the answer to out. False: there is nothing at this path.
bool cli_dash_answer(const cli_dash_runs *runs, const char *path, cli_dash_text *out);
// Calls fn for each column with a number in some row of the run, so that it has a curve.
void cli_dash_columns(const cli_dash_run *run, void (*fn)(void *arg, const char *column),
                      void *arg);
// The axes of a curve: "env_steps", "updates", "wall_s", then NULL.
extern const char *const cli_dash_axes[];
// Returns the number of different configurations among the runs.
uint32_t cli_dash_groups(const cli_dash_runs *runs);

#endif // CLI_DASH_CLI_DASH_JSON_H
