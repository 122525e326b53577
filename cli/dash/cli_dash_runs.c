// Finds the runs in folders, reads them piece by piece, and asks live runs for their status.
//
// All work is done by two timers of the loop. scan lists the folders, drops runs that have
// disappeared, adds new ones and decides which live runs are asked. read_some reads some bytes of
// some runs and starts itself again: at once while there is more to read, otherwise at READ_MS.
// Each piece is bounded, so that the server answers meanwhile. A run that is asked has a poll of
// its own (cli_remote_poll.h) over the sockets in its folder.
#include "cli/dash/cli_dash_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/remote/cli_remote_poll.h"
#include "cli/run/cli_folder.h"
#include "cli/runs/cli_run_list.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "net/net_probe.h"
#include "net/net_url.h"

#define IPC        "ipc://"
#define LISTED_MAX 10000      // runs that a scan considers
#define SCAN_MS    2000       // between two scans
#define READ_MS    500        // between two readings when all is read
#define AT_ONCE_MS 1          // the same while there is more to read
#define READ_BYTES (2u << 20) // of one run in one turn
#define TURN_BYTES (8u << 20) // of all runs in one turn
// read in one turn when there is nothing more to read; live runs are read besides
#define TURN_RUNS 256
#define POLL_MS   1000          // between two status calls to a live run
#define QUIET_NS  5000000000ull // a run that has not answered for so long is not live

typedef struct entry {
    cli_dash_run run;
    uint64_t series_changes; // changes of the series that run.changes includes
    bool is_found;           // in the last scan
    bool is_read;            // at least once
    // of a run that is asked; poll NULL: it is not
    cli_remote_poll *poll;
    int folder;        // descriptor that the addresses below go through
    uint64_t heard_ns; // last answer of the learner, by oct_clock_ns; 0: none
    char learner[64], replay[64 * CONFIG_SHARDS_MAX];
} entry;

struct cli_dash_runs {
    net_loop *loop;
    char *const *folders; // borrowed
    uint32_t folder_count;
    entry **entry; // [max] of which count are used
    uint32_t max, count, unshown, next_id;
    uint32_t turn; // index of the run at which the next reading begins; wraps
    // of runs that were dropped and their dropping, of unshown and of has_more
    uint64_t list_changes;
    uint64_t began_us;
    bool has_more; // there is more to read at once
    net_timer *scan_timer, *read_timer;
};

// ---- asking a live run

static void
poll_end(entry *e)
{
    if (e->poll != NULL) {
        cli_remote_poll_close(e->poll);
        (void)close(e->folder);
        e->poll = NULL;
        e->run.state = NULL;
    }
}

// Takes a round of answers (cli_remote_poll). The page sees by run.changes that there is something
// new.
static void
answered(void *arg)
{
    entry *e = arg;
    struct stat file;
    cli_snapshot *state = cli_remote_poll_state(e->poll);
    // The learner's clock starts with its process, so a resumed run is as old as its config.yaml.
    double wall_s = cli_snapshot_number(state, "learner.wall_s");
    if (fstatat(e->folder, "config.yaml", &file, AT_SYMLINK_NOFOLLOW) == 0) {
        wall_s = 1e-6 * (double)oct_clock_wall_us() - (double)file.st_mtime;
    }
    (void)cli_snapshot_update(state, wall_s);
    if (state->learner.heard) {
        e->heard_ns = oct_clock_ns();
        e->run.changes++;
    }
}

// A socket that is a link, which another user could have put there, does not count.
static bool
has_socket(int folder, const char *name)
{
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode);
}

// A socket's address holds at most 107 bytes, too few for some paths. The folder's descriptor fits.
static void
learner_url(int folder, char url[64])
{
    (void)snprintf(url, 64, IPC "/proc/self/fd/%d/learner.ipc", folder);
}

// Returns true if a learner listens in the folder. A killed one leaves its socket, so it is tried.
static bool
has_learner(int folder)
{
    char url[64];
    learner_url(folder, url);
    return has_socket(folder, "learner.ipc") && net_probe_local(net_url_ipc_path(url));
}

// Lists the shards that listen in the folder.
static void
replays_find(entry *e)
{
    oct_text text;
    char name[32];
    oct_text_init(&text, e->replay, sizeof(e->replay));
    for (uint32_t i = 0; i < CONFIG_SHARDS_MAX; i++) {
        config_shard_name("replay.ipc", i, name, sizeof(name));
        if (i == 0 || has_socket(e->folder, name)) {
            oct_text_add(&text, "%s" IPC "/proc/self/fd/%d/%s", i > 0 ? "," : "", e->folder, name);
        }
    }
}

static int
folder_open(const char *path)
{
    return oct_file_open_folder(path, true);
}

// Asks a live run from now on, if its learner listens.
static void
poll_begin(cli_dash_runs *runs, entry *e)
{
    e->folder = folder_open(e->run.series->folder);
    learner_url(e->folder, e->learner);
    const cli_remote_options options = {.learner = e->learner, .replay = e->replay};
    bool is_there = has_learner(e->folder);
    if (is_there) {
        replays_find(e);
    }
    const cli_remote_poll_request request = {POLL_MS, CLI_REMOTE_POLL_PEERS, answered, e};
    if (!is_there || cli_remote_poll_open(&e->poll, runs->loop, &options, &request) != OCT_OK) {
        e->poll = NULL;
        if (e->folder >= 0) {
            (void)close(e->folder);
        }
        return;
    }
    (void)snprintf(cli_remote_poll_state(e->poll)->folder, CLI_SNAPSHOT_TEXT_MAX, "%s",
                   e->run.series->name);
}

// Without a loop no daemon is asked, and the locks of the folder decide.
static void
status_find(const cli_dash_runs *runs, entry *e)
{
    cli_dash_status before = e->run.status;
    bool is_heard = e->poll != NULL && e->heard_ns != 0 && oct_clock_ns() - e->heard_ns < QUIET_NS;
    cli_folder_state state = runs->loop == NULL ? cli_folder_state_of(e->run.series->folder)
                             : is_heard         ? CLI_FOLDER_LIVE
                                                : CLI_FOLDER_ENDED;
    e->run.state = is_heard ? cli_remote_poll_state(e->poll) : NULL;
    e->run.status = state == CLI_FOLDER_LIVE         ? CLI_DASH_LIVE
                    : state == CLI_FOLDER_UNKNOWN    ? CLI_DASH_UNKNOWN
                    : e->run.series->summary != NULL ? CLI_DASH_ENDED
                                                     : CLI_DASH_SILENT;
    e->run.changes += e->run.status != before;
}

// Ends the polls of learners that no longer listen, and begins others, up to CLI_DASH_LIVE_MAX.
static void
polls_keep(cli_dash_runs *runs)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < runs->count && runs->loop != NULL; i++) {
        entry *e = runs->entry[i];
        if (e->poll != NULL && !has_learner(e->folder)) {
            poll_end(e);
        }
        open += e->poll != NULL;
    }
    for (uint32_t i = 0; i < runs->count; i++) {
        entry *e = runs->entry[i];
        if (runs->loop != NULL && e->poll == NULL && open < CLI_DASH_LIVE_MAX) {
            poll_begin(runs, e);
            open += e->poll != NULL;
        }
        status_find(runs, e);
    }
}

// ---- finding

static void
entry_free(entry *e)
{
    poll_end(e);
    cli_series_close(e->run.series);
    free(e);
}

// *at is where the search begins, and is set behind what was found: two scans list nearly the same
// order, so most searches succeed at once.
static entry *
entry_find(const cli_dash_runs *runs, const char *path, uint32_t *at)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        uint32_t here = (*at + i) % runs->count;
        if (strcmp(runs->entry[here]->run.series->folder, path) == 0) {
            *at = here + 1;
            return runs->entry[here];
        }
    }
    return NULL;
}

// Adds a run, which counts as silent until it was read.
static void
run_add(cli_dash_runs *runs, const char *path)
{
    oct_reason why;
    entry *e = oct_alloc(sizeof(*e));
    if (cli_series_open(&e->run.series, path, CLI_DASH_ROWS, &why) != OCT_OK) {
        free(e); // the folder has just been removed
        return;
    }
    e->run.id = runs->next_id++;
    e->run.status = CLI_DASH_SILENT;
    runs->entry[runs->count++] = e;
}

// What a dropped run had counted stays counted: the sum must grow.
static void
drop_removed(cli_dash_runs *runs)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        entry *e = runs->entry[i];
        if (e->is_found) {
            runs->entry[kept++] = e;
        } else {
            runs->list_changes += e->run.changes + 1;
            entry_free(e);
        }
    }
    runs->count = kept;
}

typedef struct candidate {
    uint32_t at; // index in the list
    bool is_live;
    int64_t changed_us; // last change of the folder
} candidate;

// Live runs come first, then those that changed last; equals stay in the order of the list.
static int
by_rank(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->is_live != b->is_live) {
        return a->is_live ? -1 : 1;
    }
    return a->changed_us != b->changed_us ? (a->changed_us > b->changed_us ? -1 : 1)
                                          : (int)a->at - (int)b->at;
}

static int
by_position(const void *left, const void *right)
{
    return (int)((const candidate *)left)->at - (int)((const candidate *)right)->at;
}

// Chooses at most max runs: first those that are live, then the newest. Keeps the order of the
// list.
static uint32_t
paths_choose(const cli_run_list *list, const char **path, uint32_t max)
{
    uint32_t found = cli_run_list_count(list), count = OCT_MIN(found, max);
    candidate *all = oct_alloc(OCT_MAX(found, 1u) * sizeof(*all));
    for (uint32_t i = 0; i < found; i++) {
        all[i] = (candidate){.at = i, .changed_us = cli_run_list_changed_us(list, i)};
        // only a choice needs to know what is live
        int folder = found > count ? folder_open(cli_run_list_at(list, i)) : -1;
        if (folder >= 0) {
            all[i].is_live = has_learner(folder);
            (void)close(folder);
        }
    }
    qsort(all, found, sizeof(*all), by_rank);
    qsort(all, count, sizeof(*all), by_position);
    for (uint32_t i = 0; i < count; i++) {
        path[i] = cli_run_list_at(list, all[i].at);
    }
    free(all);
    return count;
}

// Lists the folders and makes the entries agree with them. A run keeps its entry, and its id, as
// long as it is found.
static void
scan(void *arg)
{
    cli_dash_runs *runs = arg;
    const char **path = oct_alloc(runs->max * sizeof(*path));
    cli_run_list *list = cli_run_list_create(LISTED_MAX);
    for (uint32_t i = 0; i < runs->folder_count; i++) {
        (void)cli_run_list_add(list, runs->folders[i]);
    }
    uint32_t count = paths_choose(list, path, runs->max), fresh = 0, at = 0;
    uint32_t unshown = cli_run_list_count(list) - count + cli_run_list_beyond(list);
    runs->list_changes += unshown != runs->unshown;
    runs->unshown = unshown;
    for (uint32_t i = 0; i < runs->count; i++) {
        runs->entry[i]->is_found = false;
    }
    for (uint32_t i = 0; i < count; i++) {
        entry *e = entry_find(runs, path[i], &at);
        if (e != NULL) {
            e->is_found = true;
        } else {
            path[fresh++] = path[i];
        }
    }
    drop_removed(runs); // makes room for the new ones
    for (uint32_t i = 0; i < fresh; i++) {
        run_add(runs, path[i]);
    }
    cli_run_list_destroy(list);
    free(path);
    polls_keep(runs);
}

// ---- reading

// Reads a file's time and size and closes it. -1: there is no file.
static cli_dash_stamp
stamp_take(int fd)
{
    struct stat file;
    cli_dash_stamp out = {.is_there = fd >= 0 && fstat(fd, &file) == 0};
    if (out.is_there) {
        out.written_us = (int64_t)file.st_mtim.tv_sec * 1000000 + file.st_mtim.tv_nsec / 1000;
        out.size = (uint64_t)file.st_size;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return out;
}

static bool
is_same(const cli_dash_stamp *a, const cli_dash_stamp *b)
{
    return a->is_there == b->is_there && a->written_us == b->written_us && a->size == b->size;
}

// Checks the files that are read only when a page asks for them.
static void
files_check(cli_dash_run *run)
{
    uint64_t size;
    const char *type;
    cli_dash_stamp policy = stamp_take(cli_series_file(run->series, "policy.oct", &size));
    cli_dash_stamp video = stamp_take(cli_dash_run_video(run, &type, &size));
    type = video.is_there ? type : NULL;
    run->changes +=
        !is_same(&policy, &run->policy) || !is_same(&video, &run->video) || type != run->video_type;
    run->policy = policy;
    run->video = video;
    run->video_type = type;
}

static void
entry_read(entry *e, uint64_t bytes_max, bool *has_more)
{
    *has_more = cli_series_read(e->run.series, bytes_max) || *has_more;
    e->run.changes += e->run.series->changes - e->series_changes;
    e->series_changes = e->run.series->changes;
    e->is_read = true;
    files_check(&e->run);
}

// Reads a part of each run in turn, so that neither a long run nor the number of runs delays the
// page.
static void
read_some(void *arg)
{
    cli_dash_runs *runs = arg;
    bool has_more = false, has_unread = false;
    uint32_t first = runs->turn;
    for (uint32_t i = 0; i < runs->count; i++) {
        entry *e = runs->entry[(first + i) % runs->count];
        // within the budget of this turn
        bool is_next = i < (has_more ? TURN_BYTES / READ_BYTES : TURN_RUNS);
        if (is_next || (!has_more && e->run.status == CLI_DASH_LIVE)) {
            entry_read(e, READ_BYTES, &has_more);
            status_find(runs, e);
        }
        runs->turn += is_next;
        has_unread = has_unread || !e->is_read;
    }
    has_more = has_more || has_unread;
    runs->list_changes += has_more != runs->has_more;
    runs->has_more = has_more;
    net_timer_stop(runs->read_timer);
    runs->read_timer =
        net_timer_start(runs->loop, runs->has_more ? AT_ONCE_MS : READ_MS, 0, read_some, runs);
}

// ---- creation

// Without a loop (octet report, octet sweep) all runs are read completely before this returns.
cli_dash_runs *
cli_dash_runs_create(net_loop *loop, char *const *folders, uint32_t count)
{
    cli_dash_runs *runs = oct_alloc(sizeof(*runs));
    runs->loop = loop;
    runs->max = loop != NULL ? CLI_DASH_RUNS_MAX : CLI_DASH_REPORT_RUNS_MAX;
    runs->entry = oct_alloc(runs->max * sizeof(*runs->entry));
    runs->folders = folders;
    runs->folder_count = count;
    runs->began_us = oct_clock_wall_us();
    scan(runs);
    if (loop != NULL) {
        runs->has_more = true;
        runs->scan_timer = net_timer_start(loop, SCAN_MS, SCAN_MS, scan, runs);
        runs->read_timer = net_timer_start(loop, 0, 0, read_some, runs);
        return runs;
    }
    for (uint32_t i = 0; i < runs->count; i++) {
        entry_read(runs->entry[i], UINT64_MAX, &runs->has_more);
        status_find(runs, runs->entry[i]);
    }
    runs->has_more = false;
    return runs;
}

void
cli_dash_runs_destroy(cli_dash_runs *runs)
{
    if (runs == NULL) {
        return;
    }
    net_timer_stop(runs->scan_timer);
    net_timer_stop(runs->read_timer);
    for (uint32_t i = 0; i < runs->count; i++) {
        entry_free(runs->entry[i]);
    }
    free(runs->entry);
    free(runs);
}

uint32_t
cli_dash_runs_count(const cli_dash_runs *runs)
{
    return runs->count;
}

const cli_dash_run *
cli_dash_runs_at(const cli_dash_runs *runs, uint32_t i)
{
    OCT_ASSERT(i < runs->count);
    return &runs->entry[i]->run;
}

// Ids count upwards and are never used again, so a page never gets another run for an old id.
const cli_dash_run *
cli_dash_runs_find(const cli_dash_runs *runs, uint32_t id)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        if (runs->entry[i]->run.id == id) {
            return &runs->entry[i]->run;
        }
    }
    return NULL;
}

uint32_t
cli_dash_runs_unshown(const cli_dash_runs *runs)
{
    return runs->unshown;
}

// A sum of counters that only grow, so it changes whenever one of them does.
uint64_t
cli_dash_runs_changes(const cli_dash_runs *runs)
{
    uint64_t sum = runs->list_changes + runs->next_id;
    for (uint32_t i = 0; i < runs->count; i++) {
        sum += runs->entry[i]->run.changes;
    }
    return sum;
}

uint64_t
cli_dash_runs_began_us(const cli_dash_runs *runs)
{
    return runs->began_us;
}

bool
cli_dash_runs_are_reading(const cli_dash_runs *runs)
{
    return runs->has_more;
}

// ---- videos

static const struct {
    const char *name, *type;
} videos[] = {{"policy.mp4", "video/mp4"}, {"policy.gif", "image/gif"}};

// A video that is too large is not served; then the .gif is tried. Returns a descriptor; -1: there
// is none.
int
cli_dash_run_video(const cli_dash_run *run, const char **type, uint64_t *size)
{
    for (size_t i = 0; i < OCT_COUNTOF(videos); i++) {
        int fd = cli_series_file(run->series, videos[i].name, size);
        *type = videos[i].type;
        if (fd >= 0 && *size <= CLI_DASH_VIDEO_MAX) {
            return fd;
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    return -1;
}
