#ifndef CLI_DASH_CLI_DASH_RUNS_H
#define CLI_DASH_CLI_DASH_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/runs/cli_series.h"
#include "cli/status/cli_snapshot.h"
#include "net/net_loop.h"

// The runs in some folders, as a page shows them. They are found, read in small pieces between
// other events of the loop, and, while their daemons run on this machine, asked for their status.
//
// cli_run_list.h says where runs are searched for.
//
// Threads: the loop thread. Order: destroy before the loop. Bounds: at most CLI_DASH_RUNS_MAX runs
// are shown (CLI_DASH_REPORT_RUNS_MAX without a loop, because their curves are written into one
// page): first those with a live learner, then those with the latest changes. CLI_DASH_LIVE_MAX
// live runs are asked. CLI_DASH_ROWS rows of each run are in memory, so runs of 25 columns need at
// most 2000 * (1024 * 25 * 8 bytes + 40 KB) = 0.5 GB, and their summaries.
typedef struct cli_dash_runs cli_dash_runs;

#define CLI_DASH_RUNS_MAX        2000
#define CLI_DASH_REPORT_RUNS_MAX 200
#define CLI_DASH_LIVE_MAX        16
#define CLI_DASH_ROWS            1024
#define CLI_DASH_VIDEO_MAX       (32u << 20) // bytes; a larger video is not shown

typedef enum cli_dash_status {
    CLI_DASH_LIVE,    // its learner answers; without a loop: its folder is locked (cli_folder.h)
    CLI_DASH_ENDED,   // it is not live and has a summary.json
    CLI_DASH_SILENT,  // neither: it was killed, or its daemons are on other hosts
    CLI_DASH_UNKNOWN, // without a loop: CLI_FOLDER_UNKNOWN
} cli_dash_status;

// The state of a file in a run folder at the last check. Another time or size means another file.
typedef struct cli_dash_stamp {
    bool is_there;
    int64_t written_us; // µs since 1970
    uint64_t size;      // bytes
} cli_dash_stamp;

typedef struct cli_dash_run {
    uint32_t id; // never used again
    cli_series *series;
    cli_dash_status status;
    const cli_snapshot *state;    // of a live run that is asked; otherwise NULL
    cli_dash_stamp policy, video; // of policy.oct, and of the file that cli_dash_run_video opens
    const char *video_type;       // MIME type, static; NULL: there is no video
    uint64_t changes;             // grows with every change
} cli_dash_run;

// Finds the runs. loop NULL: reads all of them completely and asks none. folders is borrowed.
cli_dash_runs *cli_dash_runs_create(net_loop *loop, char *const *folders, uint32_t count);
void cli_dash_runs_destroy(cli_dash_runs *runs); // NULL is a no-op

// Runs are in the order in which they were found: within a scan, by folder and name. A run that is
// found later comes after the existing ones, so that their groups keep their numbers.
uint32_t cli_dash_runs_count(const cli_dash_runs *runs);
const cli_dash_run *cli_dash_runs_at(const cli_dash_runs *runs, uint32_t i);
const cli_dash_run *cli_dash_runs_find(const cli_dash_runs *runs, uint32_t id); // NULL: no such run
uint32_t cli_dash_runs_unshown(const cli_dash_runs *runs); // runs beyond the bound
// Grows with every change of a run, of the list, of unshown and of are_reading.
uint64_t cli_dash_runs_changes(const cli_dash_runs *runs);
// Returns when the runs were created, in µs since 1970: the same id means another run in another
// process.
uint64_t cli_dash_runs_began_us(const cli_dash_runs *runs);
bool cli_dash_runs_are_reading(const cli_dash_runs *runs); // there is more to read at once

// Opens policy.mp4 or policy.gif of the run folder for reading. -1: there is none. *type: its MIME
// type.
int cli_dash_run_video(const cli_dash_run *run, const char **type, uint64_t *size);

#endif // CLI_DASH_CLI_DASH_RUNS_H
