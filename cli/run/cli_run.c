// One run on this machine: its daemons, signals, the live status and the shutdown.
//
// The supervisor starts and restarts the daemons, the poll fills the state with their status, and
// the screen draws it. All of this runs in one event loop, in the main thread. The run ends in one
// of these ways:
// 1. The learner exits with 0: the run is finished. The other daemons get SIGTERM and FINISH_MS.
// 2. A signal asks for a stop. The learner gets a Stop call; if the call fails, or after
//    STOP_SIGNAL_MS, SIGTERM. The other daemons run until the learner has exited, and then get
//    SIGTERM and the rest of CLI_RUN_STOP_MS. If the learner did not save, the run counts as
//    failed, because the user must know that a resume loses updates.
// 3. A daemon refuses its configuration, or is given up and is not one of several actors: the run
//    has failed. All daemons get SIGTERM and CLI_RUN_STOP_MS.
// When the time is over, all daemons get SIGKILL, with two exceptions, which are examined again
// after STILL_BUSY_MS: a learner within an update, which gets CLI_RUN_STOP_MS to save afterwards,
// and a learner whose file still grows. A second signal kills at once.
// The loop ends when the last child has been reaped (all_gone). With --dash the process may then
// serve the page of the ended run until another signal (STAYING).

#include "cli/run/cli_run.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_signals.h"
#include "cli/cli_text.h"
#include "cli/dash/cli_dash_server.h"
#include "cli/plan/cli_plan_begin.h"
#include "cli/run/cli_poll.h"
#include "cli/run/cli_report.h"
#include "cli/run/cli_run_daemons.h"
#include "cli/run/cli_run_end.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_screen.h"
#include "common/oct_file.h"
#include "common/oct_text.h"
#include "learner/learner_checkpoints.h"
#include "net/net_url.h"

#define STATUS_PERIOD_MS  250
#define STATUS_TIMEOUT_MS 1000
#define STOP_CALL_MS      1000 // after that, the learner gets a signal instead
#define STOP_ECHO_S       0.2  // a signal so soon after the first is its echo
#define STOP_SIGNAL_MS    3000 // the call was answered, but the learner has not exited
#define FINISH_MS         3000 // for the daemons to deregister and to close, up to 1.5 s each
#define STOP_REST_MS      1000 // the same at least, when a stop has used up its time
#define STILL_BUSY_MS     1000 // until a learner that learns or writes is examined again
#define CLOSE_MS          1500 // for the loop's handles; then the process exits anyway
#define QUIET_S           2    // no plain lines before that, unless a step was made
#define PLAN_BYTES        512

// See the head of this file.
typedef enum phase { RUNNING, STOPPING, ENDING, STAYING } phase;

typedef struct run {
    const cli_run_request *request;
    net_loop *loop;
    cli_supervisor *supervisor;
    cli_poll *poll;
    cli_screen *screen;
    cli_dash_server *dash; // NULL: none
    cli_energy *energy;
    cli_plan_begin *plan;
    char *folders[1]; // the run folder, which the page shows
    cli_snapshot state;
    phase phase;
    uint32_t learner; // index of the learner in the supervisor
    cli_run_end end;
    net_timer *draw_timer;
    net_timer *signal_timer;
    net_timer *kill_timer;
    double stop_s;    // time of the first signal that stops; 0: none came
    bool is_updating; // the learner was within an update at the stop, and at each later sample
    bool is_update_said;
    uint64_t written; // bytes that the ending learner has written, as last reported
    bool gone;        // the last child was reaped
} run;

static double
wall_s(void)
{
    return cli_report_process_age_s();
}

// ---- the end

static void
all_gone(void *arg)
{
    run *r = arg;
    r->gone = true;
    net_loop_stop(r->loop);
}

static void kill_after(run *r, uint32_t timeout_ms);

// The learner can only end after its update, which may be long, and then needs as much time to save
// as any other. Returns true if it is waited for.
static bool
update_is_waited_for(run *r)
{
    bool was_updating = r->is_updating;
    r->is_updating = cli_supervisor_is_working(r->supervisor, r->learner);
    if (r->is_updating && !r->is_update_said) {
        cli_screen_print(r->screen, "the learner is finishing its update (Ctrl-C again to kill)");
        r->is_update_said = true;
    }
    if (r->is_updating || was_updating) {
        kill_after(r, r->is_updating ? STILL_BUSY_MS : CLI_RUN_STOP_MS);
    }
    return r->is_updating || was_updating;
}

// The deadline has passed. A checkpoint on a slow disk is waited for as long as its bytes reach the
// disk.
static void
kill_due(void *arg)
{
    run *r = arg;
    uint64_t bytes;
    if (update_is_waited_for(r)) {
        return;
    }
    if (!cli_supervisor_is_writing(r->supervisor, r->learner, &bytes)) {
        cli_supervisor_kill(r->supervisor, SIGKILL);
        return;
    }
    if (bytes != r->written) {
        cli_screen_print(r->screen,
                         "the learner is still writing, %s so far (Ctrl-C again to kill)",
                         cli_text_bytes((double)bytes).text);
    }
    r->written = bytes;
    kill_after(r, STILL_BUSY_MS);
}

static void
kill_after(run *r, uint32_t timeout_ms)
{
    net_timer_stop(r->kill_timer);
    r->kill_timer = net_timer_start(r->loop, timeout_ms, 0, kill_due, r);
}

// Ends everything that still runs, because nothing more is needed from the learner.
static void
run_end(run *r, uint32_t timeout_ms)
{
    bool was_stopping = r->phase == STOPPING;
    r->phase = ENDING;
    cli_supervisor_hold(r->supervisor);
    cli_supervisor_kill(r->supervisor, SIGTERM);
    if (!was_stopping) { // a stop has set its own deadline
        kill_after(r, timeout_ms);
    }
    if (cli_supervisor_running(r->supervisor) == 0) {
        all_gone(r);
    }
}

static void
signal_learner(void *arg)
{
    run *r = arg;
    cli_supervisor_kill_one(r->supervisor, r->learner, SIGTERM);
}

static void
stop_answered(void *arg, oct_err err, const char *detail)
{
    run *r = arg;
    (void)detail;
    if (err != OCT_OK) {
        signal_learner(r);
    }
}

// Writes what a run that could not be saved would resume from: "" or "; …".
static void
checkpoint_text(char *out, size_t size)
{
    char words[256];
    uint32_t number;
    learner_checkpoint last = {0};
    out[0] = '\0';
    if (learner_checkpoints_read(".", &last, &number, words, sizeof(words)) == OCT_OK) {
        (void)snprintf(out, size, "; the last checkpoint is from update %" PRIu64, last.updates);
        learner_checkpoint_fini(&last);
    }
}

// Marks a stop after which nothing was saved as a failure, because a later resume loses updates.
static void
stop_failed(run *r, const char *reason)
{
    char last[64];
    checkpoint_text(last, sizeof(last));
    (void)snprintf(r->end.failure, sizeof(r->end.failure),
                   "the run was stopped and could not be saved: %s%s", reason, last);
    r->end.failed = r->learner;
    r->end.exit_code = CLI_EXIT_FAILED;
    r->end.exit_reason = "failed";
}

// A learner that has saved exits with 0. If it was killed or has crashed, what it learned since the
// last checkpoint is lost.
static void
stop_check(run *r)
{
    char reason[128], how[64];
    oct_failure failure;
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, r->learner);
    bool is_refusal = daemon.exit_status == CLI_EXIT_REFUSED;
    if (is_refusal &&
        cli_supervisor_failure(r->supervisor, r->learner, OCT_FAILURE_ERROR, &failure)) {
        stop_failed(r, failure.text);
    } else if (is_refusal || (daemon.exit_status != 0 && cli_run_end_has_trained(&r->end))) {
        cli_report_exit_text(how, sizeof(how), daemon.exit_status, daemon.was_out_of_memory);
        (void)snprintf(reason, sizeof(reason), "%s %s", daemon.name, how);
        stop_failed(r, reason);
    }
}

// A signal that stops arrived; see the head of this file.
static void
stop_wanted(void *arg, int signal_number)
{
    run *r = arg;
    double now_s = wall_s();
    bool is_first = r->stop_s == 0;
    if (!is_first && now_s - r->stop_s < STOP_ECHO_S) {
        return; // timeout(1) and some batch systems send one signal twice
    }
    if (r->phase == STAYING) {
        net_loop_stop(r->loop);
        return;
    }
    if (!is_first) {
        cli_screen_print(r->screen, "killed");
        cli_supervisor_kill(r->supervisor, SIGKILL);
        return;
    }
    r->stop_s = now_s;
    if (r->phase == ENDING) {
        cli_screen_print(r->screen, "already stopping… (Ctrl-C again to kill)");
        return;
    }
    r->phase = STOPPING;
    r->end.exit_code = 128 + signal_number;
    r->end.exit_reason = "interrupted";
    cli_screen_print(r->screen, "stopping… (Ctrl-C again to kill)");
    cli_supervisor_hold(r->supervisor);
    if (!cli_supervisor_report(r->supervisor, r->learner).running) {
        stop_check(r);
        run_end(r, FINISH_MS);
        kill_after(r, CLI_RUN_STOP_MS);
        return;
    }
    r->is_updating = cli_supervisor_is_working(r->supervisor, r->learner);
    kill_after(r, CLI_RUN_STOP_MS);
    r->signal_timer = net_timer_start(r->loop, STOP_SIGNAL_MS, 0, signal_learner, r);
    if (cli_poll_stop_learner(r->poll, "interrupted", STOP_CALL_MS, stop_answered, r) != OCT_OK) {
        signal_learner(r);
    }
}

// ---- what the daemons do

// Reports what happened to a daemon on the screen, in the status and in log/supervisor.log.
OCT_PRINTF(3, 4)
static void
say(run *r, uint32_t index, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(r->state.note, sizeof(r->state.note), format, args);
    va_end(args);
    cli_report_note(r->state.note);
    cli_screen_print(r->screen, "t=%.1fs %s (log/%s.log)", wall_s(), r->state.note,
                     cli_supervisor_report(r->supervisor, index).name);
}

// A daemon died and will restart: says how and when.
static void
death(void *arg, uint32_t index, int exit_status, uint32_t delay_ms)
{
    run *r = arg;
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, index);
    char how[64];
    if (exit_status == CLI_NO_START) {
        say(r, index, "%s could not be started; retrying in %.1f s", daemon.name,
            delay_ms / 1000.0);
        return;
    }
    cli_report_exit_text(how, sizeof(how), exit_status, daemon.was_out_of_memory);
    r->state.restarts++;
    if (daemon.has_hung) {
        (void)snprintf(how, sizeof(how), "hung and was killed");
    }
    say(r, index, "%s %s; restarting in %.1f s", daemon.name, how, delay_ms / 1000.0);
}

// A daemon is quiet, makes progress again, or is killed because it hung.
static void
watched(void *arg, uint32_t index, cli_watch_verdict verdict, const cli_watch_trouble *trouble)
{
    run *r = arg;
    const char *name = cli_supervisor_report(r->supervisor, index).name;
    r->state.hang[0] = '\0';
    if (verdict == CLI_WATCH_BACK) {
        say(r, index, "%s continues", name);
    } else if (verdict == CLI_WATCH_HUNG) {
        say(r, index, "%s: no progress for %.1f s (%s): killed", name, trouble->silent_s,
            cli_watch_trouble_text(trouble));
    } else {
        char limit[32];
        say(r, index, "%s: no progress for %.1f s (%s); killed after %s s (%s)", name,
            trouble->silent_s, cli_watch_trouble_text(trouble),
            oct_text_double(limit, sizeof(limit), trouble->limit_s),
            trouble->in_environment ? "run.env_hang_s" : "run.hang_s");
        (void)snprintf(r->state.hang, sizeof(r->state.hang), "%s", r->state.note);
    }
}

// Writes why a daemon is not restarted.
static void
end_text(char *out, size_t size, const char *name, cli_end why, const char *how)
{
    if (why == CLI_END_NO_START) {
        (void)snprintf(out, size, "%s could not be started", name);
    } else if (why == CLI_END_CRASHES) {
        (void)snprintf(out, size, "%s crashed %u times in a row, last time: %s", name,
                       CLI_CRASHES_MAX, how);
    } else {
        (void)snprintf(out, size, "%s died too often, last time: %s", name, how);
    }
}

// Gives up an actor: the run continues with the others. False: no actor is left, or the run needs
// the daemon.
static bool
give_up_alone(run *r, uint32_t index, const char *what)
{
    uint32_t actors;
    uint32_t left = cli_supervisor_left(r->supervisor, &actors);
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, index);
    if (!daemon.one_of_many || left == 0) {
        return false;
    }
    r->state.given_up++;
    say(r, index, "%s; it is not restarted, and %u of %u actors are left", what, (unsigned)left,
        (unsigned)actors);
    return true;
}

// Records that a daemon ended the run, with its own reason if its log has one. A daemon that had
// worked did not refuse to start.
static void
refusal_say(run *r, uint32_t index, const char *how)
{
    oct_failure failure;
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, index);
    bool has_worked = index == r->learner && cli_run_end_has_trained(&r->end);
    if (has_worked && cli_supervisor_failure(r->supervisor, index, OCT_FAILURE_ERROR, &failure)) {
        (void)snprintf(r->end.failure, sizeof(r->end.failure), "%s ended the run: %s", daemon.name,
                       failure.text);
    } else {
        (void)snprintf(r->end.failure, sizeof(r->end.failure), "%s %s (%s)", daemon.name,
                       has_worked ? "ended the run" : "refused to start", how);
    }
}

// A daemon will not restart. Decides whether the run ends; see the head of this file.
static void
ended(void *arg, uint32_t index, int exit_status, cli_end why)
{
    run *r = arg;
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, index);
    if (why == CLI_END_FINISHED) {
        r->end.exit_code = 0;
        r->end.exit_reason = "finished";
        run_end(r, FINISH_MS);
        return;
    }
    char how[64], what[192];
    cli_report_exit_text(how, sizeof(how), exit_status, daemon.was_out_of_memory);
    end_text(what, sizeof(what), daemon.name, why, how);
    if (why != CLI_END_REFUSED && give_up_alone(r, index, what)) {
        return;
    }
    if (why == CLI_END_REFUSED) {
        refusal_say(r, index, how);
    } else {
        (void)snprintf(r->end.failure, sizeof(r->end.failure), "%s", what);
    }
    r->end.failed = index;
    r->end.refused = why == CLI_END_REFUSED;
    r->end.exit_code = CLI_EXIT_FAILED;
    r->end.exit_reason = "failed";
    run_end(r, CLI_RUN_STOP_MS);
}

// A daemon exited while the run is ending. When the learner has, the others follow.
static void
exited(void *arg, uint32_t index, int exit_status)
{
    run *r = arg;
    (void)exit_status;
    r->is_updating &= index != r->learner;
    if (index == r->learner && r->phase == STOPPING) { // it has written all that there is to write
        stop_check(r);
        double left_ms = CLI_RUN_STOP_MS - (wall_s() - r->stop_s) * 1000;
        run_end(r, FINISH_MS);
        kill_after(r, (uint32_t)OCT_MAX(left_ms, STOP_REST_MS));
    }
}

// ---- the live status

// A daemon that refuses does so at once: without a live screen, nothing is shown until the run is
// under way.
static bool
may_show(const run *r)
{
    return cli_screen_is_live(r->screen) ||
           cli_snapshot_number(&r->state, "learner.env_steps") > 0 || r->state.wall_s >= QUIET_S;
}

// Prints one line about the expected duration, as soon as enough is known.
static void
plan_show(run *r)
{
    char line[PLAN_BYTES];
    if (r->phase == RUNNING &&
        cli_plan_begin_sample(r->plan, wall_s(), &r->state, r->supervisor, line, sizeof(line))) {
        cli_screen_print(r->screen, "%s", line);
    }
}

static void
answered(void *arg)
{
    run *r = arg;
    bool is_new = cli_snapshot_update(&r->state, wall_s());
    plan_show(r);
    if (r->phase == RUNNING && may_show(r)) {
        cli_screen_show(r->screen, &r->state, is_new);
    }
}

static void
energy_sample(run *r)
{
    if (cli_energy_is_due(r->energy, wall_s())) {
        cli_supervisor_read_cpu(r->supervisor);
        cli_energy_sample(r->energy, wall_s(), cli_report_cpu_s(r->supervisor),
                          cli_energy_machine_cpu_s());
    }
}

// Runs every STATUS_PERIOD_MS, also without an answer: samples the daemons and redraws.
static void
draw_due(void *arg)
{
    run *r = arg;
    cli_supervisor_sample(r->supervisor);
    energy_sample(r);
    (void)cli_snapshot_update(&r->state, wall_s());
    if (may_show(r)) {
        cli_screen_show(r->screen, &r->state, false);
    }
}

static void
resized(void *arg, int signal_number)
{
    (void)signal_number;
    draw_due(arg);
}

// ---- the page

static void
dash_begin(run *r)
{
    if (r->request->dash == NULL) {
        return;
    }
    r->folders[0] = (char *)r->request->folder->path; // only read
    const cli_dash_site site = {r->request->dash, r->folders, 1};
    if (cli_dash_open_fd(&r->dash, r->loop, &site, r->request->dash_fd) != OCT_OK) {
        cli_error("train", "the page of --dash cannot be served; the run continues");
        return;
    }
    cli_screen_print(r->screen, "%s shows the run", r->request->dash);
}

// Serves the page of the ended run until a signal. The folder is unlocked meanwhile: for other
// commands the run has ended, and octet train --resume may continue it.
static void
dash_stay(run *r, cli_run_rest rest)
{
    bool is_interrupted = r->stop_s != 0;
    if (r->dash == NULL || !r->request->dash_stays || is_interrupted || rest != CLI_RUN_KEPT) {
        return;
    }
    r->phase = STAYING;
    cli_folder_close(r->request->folder);
    net_timer_stop(r->draw_timer);
    r->draw_timer = NULL;
    cli_screen_print(r->screen, "%s shows the ended run; Ctrl-C stops serving it",
                     r->request->dash);
    net_loop_run(r->loop);
}

// ---- set-up

static oct_err
watch_signals(run *r)
{
    (void)signal(SIGPIPE, SIG_IGN); // a reader of our output may leave; the run continues
    OCT_TRY(cli_signals_watch(r->loop, stop_wanted, r));
    cli_signals_hold(false);
    if (cli_screen_is_live(r->screen)) {
        OCT_TRY(net_loop_on_signal(r->loop, SIGWINCH, resized, r));
    }
    return OCT_OK;
}

// A daemon serves up to three addresses: its own, and two with a number behind it (net_url.h).
static void
remove_sockets_of(const char *url)
{
    const char *path = net_url_ipc_path(url);
    char name[CONFIG_TEXT_MAX + 8];
    if (path == NULL) {
        return;
    }
    (void)oct_file_remove(path);
    for (unsigned i = 1; i <= 2; i++) {
        (void)snprintf(name, sizeof(name), "%s.%u", path, i);
        (void)oct_file_remove(name);
    }
}

// A daemon that was killed leaves its sockets.
static void
remove_sockets(const config_experiment *config)
{
    char address[CONFIG_TEXT_MAX];
    remove_sockets_of(CLI_RUN_LEARNER);
    remove_sockets_of(CLI_RUN_DATA);
    for (uint32_t i = 0; i < config_shards(config); i++) {
        config_replay_address(config, i, address);
        remove_sockets_of(address);
    }
}

// Fills in what is known before any daemon answers.
static void
state_begin(cli_snapshot *state, const cli_run_request *request)
{
    const config_experiment *config = request->config;
    cli_snapshot_clear(state);
    cli_snapshot_take_config(state, config);
    (void)snprintf(state->folder, sizeof(state->folder), "%s", request->shown_as);
    (void)snprintf(state->learner.url, sizeof(state->learner.url), "%s", CLI_RUN_LEARNER);
    state->shards = config_shards(config);
    for (uint32_t i = 0; i < state->shards; i++) {
        char address[CONFIG_TEXT_MAX];
        config_replay_address(config, i, address);
        (void)snprintf(cli_snapshot_shard(state, i)->url, sizeof(state->replay.url), "%s", address);
    }
    if (config_is_mixed(config)) {
        (void)snprintf(state->data.url, sizeof(state->data.url), "%s", CLI_RUN_DATA);
    }
    (void)snprintf(state->learner.state, sizeof(state->learner.state), "starting");
    cli_snapshot_put(state, "learner.env_steps_budget", (double)config->run.env_steps);
    cli_snapshot_put(state, "learner.updates_budget", (double)config->run.updates);
    cli_snapshot_put(state, "learner.goal", config->run.stop_at_return);
}

int
cli_run(const cli_run_request *request)
{
    run *r = oct_alloc(sizeof(*r));
    r->request = request;
    state_begin(&r->state, request);
    r->loop = net_loop_create();
    r->screen = cli_screen_create(request->live);
    cli_supervisor_events supervisor_events = {.on_death = death,
                                               .on_watch = watched,
                                               .on_end = ended,
                                               .on_exit = exited,
                                               .on_gone = all_gone,
                                               .arg = r};
    const cli_watch_rule watch = {.hang_s = request->config->run.hang_s,
                                  .env_hang_s = request->config->run.env_hang_s};
    r->supervisor = cli_supervisor_create(r->loop, request->folder->path, &cli_supervisor_backoff,
                                          &watch, &supervisor_events);
    r->learner = cli_run_daemons_add(r->supervisor, request);
    cli_run_end_init(&r->end, request, &r->state, r->supervisor);
    cli_poll_request poll = {.learner = CLI_RUN_LEARNER,
                             .data = config_is_mixed(request->config) ? CLI_RUN_DATA : NULL,
                             .period_ms = STATUS_PERIOD_MS,
                             .timeout_ms = STATUS_TIMEOUT_MS,
                             .on_answer = answered,
                             .arg = r};
    if (watch_signals(r) != OCT_OK ||
        cli_poll_open(&r->poll, r->loop, &poll, &r->state) != OCT_OK) {
        cli_error("train", "cannot watch signals or the daemons' sockets");
        _exit(CLI_EXIT_FAILED); // nothing was started
    }
    dash_begin(r);
    const cli_energy_request energy = {.command = request->energy_command};
    r->energy = cli_energy_begin(&energy);
    r->plan = cli_plan_begin_create(request, wall_s());
    energy_sample(r);
    cli_supervisor_start(r->supervisor);
    r->draw_timer = net_timer_start(r->loop, STATUS_PERIOD_MS, STATUS_PERIOD_MS, draw_due, r);
    if (!r->gone) {
        net_loop_run(r->loop);
    }
    cli_energy_end(r->energy, wall_s(), cli_report_cpu_s(r->supervisor), cli_energy_machine_cpu_s(),
                   &r->end.energy);
    remove_sockets(request->config);
    dash_stay(r, cli_run_end_report(&r->end, r->screen));
    int exit_code = r->end.exit_code;
    net_loop_exit_deadline(r->loop, CLOSE_MS, exit_code);
    net_timer_stop(r->draw_timer);
    net_timer_stop(r->signal_timer);
    net_timer_stop(r->kill_timer);
    cli_dash_close(r->dash);
    cli_poll_close(r->poll);
    cli_supervisor_destroy(r->supervisor);
    net_loop_destroy(r->loop);
    cli_screen_destroy(r->screen);
    cli_run_end_free(&r->end);
    cli_plan_begin_destroy(r->plan);
    free(r);
    return exit_code;
}
