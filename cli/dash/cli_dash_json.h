#ifndef CLI_DASH_CLI_DASH_JSON_H
#define CLI_DASH_CLI_DASH_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/dash/cli_dash_runs.h"

// What a page is told of the runs, as JSON by paths. `octet dash` answers them one by one, and
// `octet report --html` writes those that a page needs into it. A path has numbers and names of
// columns and nothing else, so that it cannot name a file.
//
//   /runs                   all runs: configuration, summary, last row, state; their differences
//   /changes                which server this is, and how often something was new: when both are as
//                           they were, so is /runs
//   /curve/ID/X/COLUMN      a column of metrics.csv over env_steps, updates or wall_s
//   /mean/GROUP/X/COLUMN    its mean and deviation over the runs of one configuration, and the
//                           least and greatest value of any of them
//   /codes/ID               how often each code occurs in each layer of policy.oct
//   /video/ID               policy.mp4 or policy.gif of the run folder (no JSON)
//
// Threads: the loop thread. Strings of runs are escaped as JSON wants it, and '<' besides, so that
// the text can stand in a <script> of a page.

#define CLI_DASH_POINTS      512 // of a curve, at most
#define CLI_DASH_MEAN_POINTS 200
#define CLI_DASH_POLICY_MAX  (64u << 20) // bytes of a policy that is looked at

typedef struct cli_dash_text {
    const char *type; // static, of HTTP
    char *bytes;      // of malloc
    size_t length;
} cli_dash_text;

// False: there is nothing at this path.
bool cli_dash_answer(const cli_dash_runs *runs, const char *path, cli_dash_text *out);
// The columns that are worth a curve: those in which the run has a number. Calls fn for each.
void cli_dash_columns(const cli_dash_run *run, void (*fn)(void *arg, const char *column),
                      void *arg);
// The axes that a curve may be over: "env_steps", "updates", "wall_s", then NULL.
extern const char *const cli_dash_axes[];
// How many configurations the runs have.
uint32_t cli_dash_groups(const cli_dash_runs *runs);

#endif // CLI_DASH_CLI_DASH_JSON_H
