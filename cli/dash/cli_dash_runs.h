#ifndef CLI_DASH_CLI_DASH_RUNS_H
#define CLI_DASH_CLI_DASH_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/runs/cli_series.h"
#include "cli/status/cli_state.h"
#include "net/net_loop.h"

// The runs in some folders, as a page shows them: found, read in small pieces between two turns of
// the loop, and, while their daemons run on this machine, asked how they are.
//
// cli_run_list.h says where they are looked for.
//
// Threads: the loop thread. Order: destroy before the loop. Bounds: CLI_DASH_RUNS_MAX runs (without
// a loop CLI_DASH_REPORT_RUNS_MAX, whose curves are written into one page): first runs with a live
// learner, then runs by the time of the last change of their folders. CLI_DASH_LIVE_MAX of the live
// runs are asked; CLI_DASH_ROWS rows of each are in memory. So runs of 25 columns need at
// most 2000 * (1024 * 25 * 8 bytes + 40 KB) = 0.5 GB, and their summaries.
typedef struct cli_dash_runs cli_dash_runs;

#define CLI_DASH_RUNS_MAX        2000
#define CLI_DASH_REPORT_RUNS_MAX 200
#define CLI_DASH_LIVE_MAX        16
#define CLI_DASH_ROWS            1024
#define CLI_DASH_VIDEO_MAX       (32u << 20) // bytes; a longer one is none

typedef enum cli_dash_status {
    CLI_DASH_LIVE,    // its learner answers; without a loop: its folder is locked (cli_folder.h)
    CLI_DASH_ENDED,   // not so, and it has a summary.json
    CLI_DASH_SILENT,  // neither: killed, or its daemons are on other hosts
    CLI_DASH_UNKNOWN, // without a loop: CLI_FOLDER_UNKNOWN
} cli_dash_status;

// A file of a run folder when it was last looked at: another time or size, another file.
typedef struct cli_dash_stamp {
    bool is_there;
    int64_t written_us; // since 1970
    uint64_t size;      // in bytes
} cli_dash_stamp;

typedef struct cli_dash_run {
    uint32_t id; // never given again
    cli_series *series;
    cli_dash_status status;
    const cli_state *state;       // of a live run that was asked; else NULL
    cli_dash_stamp policy, video; // policy.oct; what cli_dash_run_video opens
    const char *video_type;       // of HTTP, static; NULL: there is no video
    uint64_t changes;             // grows with whatever is new
} cli_dash_run;

// loop NULL: read once, completely, and ask nobody. folders are borrowed.
cli_dash_runs *cli_dash_runs_create(net_loop *loop, char *const *folders, uint32_t count);
void cli_dash_runs_destroy(cli_dash_runs *runs); // NULL is a no-op

// In the order in which they were found: in one search, the order of folders and of names in them;
// one that comes later is behind those that are there, whose groups keep their numbers so.
uint32_t cli_dash_runs_count(const cli_dash_runs *runs);
const cli_dash_run *cli_dash_runs_at(const cli_dash_runs *runs, uint32_t i);
const cli_dash_run *cli_dash_runs_find(const cli_dash_runs *runs, uint32_t id); // NULL: no such run
uint32_t cli_dash_runs_unshown(const cli_dash_runs *runs); // runs beyond the bound
// Grows with whatever is new in a run, in the list, in unshown and in are_reading.
uint64_t cli_dash_runs_changes(const cli_dash_runs *runs);
// When they were created, in µs: another process has other runs of the same ids.
uint64_t cli_dash_runs_began_us(const cli_dash_runs *runs);
bool cli_dash_runs_are_reading(const cli_dash_runs *runs); // there is more to read at once

// policy.mp4 or policy.gif of the run folder, open for reading; -1: there is none. *type: of HTTP.
int cli_dash_run_video(const cli_dash_run *run, const char **type, uint64_t *size);

#endif // CLI_DASH_CLI_DASH_RUNS_H
