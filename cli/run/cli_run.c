// One run on this machine: daemons, signals, the live status and the way to its end.

#include "cli/run/cli_run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_poll.h"
#include "cli/run/cli_report.h"
#include "cli/run/cli_screen.h"
#include "cli/run/cli_supervisor.h"
#include "common/oct_blas.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "envs/env.h"

#define STATUS_PERIOD_MS  250
#define STATUS_TIMEOUT_MS 1000
#define STOP_CALL_MS      1000 // then the learner gets a signal instead
#define STOP_ECHO_S       0.2
#define STOP_SIGNAL_MS    3000 // or when the call was heard but nothing came of it
#define FINISH_MS         1000 // actors and replay have nothing to save once the learner is done
#define CLOSE_MS          500
#define EVALUATOR_WAIT_S  "15" // to start and to open an environment, on a busy machine
#define NAME_MAX_BYTES    32
#define LOG_PATH_BYTES    64
#define QUIET_S           2
#define SUMMARY_BYTES_MAX (1u << 22)

typedef enum phase { RUNNING, STOPPING, ENDING } phase;

typedef struct run {
    const cli_run_request *request;
    net_loop *loop;
    cli_supervisor *supervisor;
    cli_poll *poll;
    cli_screen *screen;
    cli_run_status status;
    phase phase;
    uint32_t learner; // which daemon it is
    int exit_code;
    const char *exit_reason;
    char failure[256];    // what ended a failed run
    uint32_t failed;      // which daemon
    bool refused;         // it cannot use the configuration
    char *summary_before; // of the run that is resumed; NULL: none
    net_timer *draw_timer;
    net_timer *signal_timer;
    net_timer *kill_timer;
    double stop_s; // when the stop began
    bool gone;
    cli_run_rest rest;
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

static void
kill_due(void *arg)
{
    run *r = arg;
    cli_supervisor_kill(r->supervisor, SIGKILL);
}

static void
kill_after(run *r, uint32_t timeout_ms)
{
    net_timer_stop(r->kill_timer);
    r->kill_timer = net_timer_start(r->loop, timeout_ms, 0, kill_due, r);
}

// Everything that still runs has to go, now that nothing more is wanted from the learner.
static void
run_end(run *r, uint32_t timeout_ms)
{
    bool was_stopping = r->phase == STOPPING;
    r->phase = ENDING;
    cli_supervisor_hold(r->supervisor);
    cli_supervisor_kill(r->supervisor, SIGTERM);
    if (!was_stopping) { // else the deadline of the stop holds
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

static void
stop_wanted(void *arg, int signal_number)
{
    run *r = arg;
    double now_s = wall_s();
    bool is_echo = r->phase == STOPPING && now_s - r->stop_s < STOP_ECHO_S;
    if (is_echo) {
        return; // timeout(1) and some batch systems send one signal twice
    }
    if (r->phase == STOPPING) {
        cli_screen_say(r->screen, "killed");
        cli_supervisor_kill(r->supervisor, SIGKILL);
        return;
    }
    if (r->phase == ENDING) {
        cli_supervisor_kill(r->supervisor, SIGKILL);
        return;
    }
    r->phase = STOPPING;
    r->stop_s = now_s;
    r->exit_code = 128 + signal_number;
    r->exit_reason = "interrupted";
    cli_screen_say(r->screen, "stopping… (Ctrl-C again to kill)");
    cli_supervisor_hold(r->supervisor);
    if (!cli_supervisor_report(r->supervisor, r->learner).running) {
        run_end(r, FINISH_MS);
        kill_after(r, CLI_RUN_STOP_MS);
        return;
    }
    kill_after(r, CLI_RUN_STOP_MS);
    r->signal_timer = net_timer_start(r->loop, STOP_SIGNAL_MS, 0, signal_learner, r);
    if (cli_poll_stop_learner(r->poll, "interrupted", STOP_CALL_MS, stop_answered, r) != OCT_OK) {
        signal_learner(r);
    }
}

// ---- what the daemons do

static void
death(void *arg, uint32_t index, int exit_status, uint32_t delay_ms)
{
    run *r = arg;
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, index);
    char how[64];
    cli_report_exit_text(how, sizeof(how), exit_status);
    r->status.restarts++;
    (void)snprintf(r->status.note, sizeof(r->status.note), "%s %s, starts again in %.1f s",
                   daemon.name, how, delay_ms / 1000.0);
    cli_screen_say(r->screen, "t=%.1fs %s (log/%s.log)", wall_s(), r->status.note, daemon.name);
}

static void
ended(void *arg, uint32_t index, int exit_status, cli_end why)
{
    run *r = arg;
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, index);
    if (why == CLI_END_FINISHED) {
        r->exit_code = 0;
        r->exit_reason = "finished";
        run_end(r, FINISH_MS);
        return;
    }
    char how[64];
    cli_report_exit_text(how, sizeof(how), exit_status);
    if (why == CLI_END_NO_START) {
        (void)snprintf(r->failure, sizeof(r->failure), "%s could not be started", daemon.name);
    } else if (why == CLI_END_CRASHES) {
        (void)snprintf(r->failure, sizeof(r->failure), "%s crashed %u times in a row, last: %s",
                       daemon.name, CLI_CRASHES_MAX, how);
    } else {
        (void)snprintf(r->failure, sizeof(r->failure),
                       why == CLI_END_REFUSED ? "%s refused to start (%s)"
                                              : "%s died too often, last: %s",
                       daemon.name, how);
    }
    r->failed = index;
    r->refused = why == CLI_END_REFUSED;
    r->exit_code = CLI_EXIT_FAILED;
    r->exit_reason = "failed";
    run_end(r, CLI_RUN_STOP_MS);
}

static void
exited(void *arg, uint32_t index, int exit_status)
{
    run *r = arg;
    (void)exit_status;
    if (index == r->learner && r->phase == STOPPING) {
        run_end(r, FINISH_MS); // it has written what there is to write
        kill_after(r, FINISH_MS);
    }
}

// ---- the live status

// A daemon that refuses does so at once: no plain lines before the run is under way.
static bool
may_show(const run *r)
{
    return cli_screen_is_live(r->screen) || r->status.numbers.value[CLI_ENV_STEPS] > 0 ||
           r->status.wall_s >= QUIET_S;
}

static void
answered(void *arg)
{
    run *r = arg;
    bool is_new = cli_run_status_update(&r->status, wall_s());
    if (r->phase == RUNNING && may_show(r)) {
        cli_screen_show(r->screen, &r->status, is_new);
    }
}

static void
not_answered(void *arg)
{
    (void)arg; // the block keeps the last numbers; deaths are reported by the supervisor
}

static void
draw_due(void *arg)
{
    run *r = arg;
    cli_supervisor_sample(r->supervisor);
    (void)cli_run_status_update(&r->status, wall_s());
    if (may_show(r)) {
        cli_screen_show(r->screen, &r->status, false);
    }
}

static void
resized(void *arg, int signal_number)
{
    (void)signal_number;
    draw_due(arg);
}

// ---- set-up

static uint32_t
add_daemon(run *r, const char *name, const char *file, const char *const *argv, bool is_learner)
{
    cli_daemon_request daemon = {
        .name = name,
        .file = file,
        .argv = argv,
        .again = is_learner && !r->request->resume ? "--resume" : NULL,
        .may_finish = is_learner,
        .runs_environment = file == r->request->actor,
    };
    return cli_supervisor_add(r->supervisor, &daemon);
}

static void
add_daemons(run *r)
{
    const cli_run_request *q = r->request;
    char pid[NAME_MAX_BYTES];
    char threads[NAME_MAX_BYTES];
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    // OpenBLAS starts its threads when it is loaded, and idle ones spin for a while: only a
    // variable set before the learner starts can prevent that.
    (void)snprintf(threads, sizeof(threads), "%u", (unsigned)q->config->learner.threads);
    (void)setenv("OPENBLAS_NUM_THREADS", threads, 1);
    if (q->config->learner.blas_kernels == OCT_KERNELS_AUTO) {
        (void)oct_blas_clear_environment();
    }
    const char *const replay[] = {"octet-replay",    "--listen", CLI_RUN_REPLAY,
                                  "--follow-parent", pid,        NULL};
    const char *resume = q->resume ? "--resume" : NULL;
    const char *const learner[] = {"octet-learner",
                                   "config.yaml",
                                   "--run-dir",
                                   ".",
                                   "--follow-parent",
                                   pid,
                                   "--await-evaluator",
                                   EVALUATOR_WAIT_S,
                                   q->metrics != NULL ? "--metrics" : resume,
                                   q->metrics,
                                   resume, // the list ends before it when there are no metrics
                                   NULL};
    const char *const actor[] = {"octet-actor",     "--learner", CLI_RUN_LEARNER,
                                 "--follow-parent", pid,         NULL};
    const char *const evaluator[] = {
        "octet-actor", "--learner", CLI_RUN_LEARNER, "--follow-parent", pid, "--evaluate", NULL};
    (void)add_daemon(r, "replay", q->replay, replay, false);
    r->learner = add_daemon(r, "learner", q->learner, learner, true);
    for (uint32_t i = 0; i < q->config->actor.count; i++) {
        char name[NAME_MAX_BYTES];
        (void)snprintf(name, sizeof(name), "actor-%u", (unsigned)i);
        (void)add_daemon(r, name, q->actor, actor, false);
    }
    (void)add_daemon(r, "evaluator", q->actor, evaluator, false);
}

static oct_err
watch_signals(run *r)
{
    (void)signal(SIGPIPE, SIG_IGN); // a reader of our output may leave; the run goes on
    OCT_TRY(net_loop_on_signal(r->loop, SIGINT, stop_wanted, r));
    OCT_TRY(net_loop_on_signal(r->loop, SIGTERM, stop_wanted, r));
    OCT_TRY(net_loop_on_signal(r->loop, SIGHUP, stop_wanted, r));
    if (cli_screen_is_live(r->screen)) {
        OCT_TRY(net_loop_on_signal(r->loop, SIGWINCH, resized, r));
    }
    return OCT_OK;
}

// A run that could not go on with other settings can be resumed with those that it had.
static void
config_put_back(const run *r)
{
    const char *before = r->request->config_before;
    if (r->refused && before != NULL &&
        oct_file_write("config.yaml", before, strlen(before)) != OCT_OK) {
        cli_error("train", "cannot put back config.yaml in '%s'", r->request->folder);
    }
}

// What summary.json holds, malloc'd; NULL: there is none.
static char *
summary_text(void)
{
    uint8_t *bytes;
    size_t length;
    return oct_file_read("summary.json", SUMMARY_BYTES_MAX, &bytes, &length) == OCT_OK
               ? (char *)bytes
               : NULL;
}

// The learner writes a summary whenever it has trained: a refused resume that has not leaves the
// run as it was.
static bool
run_is_as_before(const run *r)
{
    if (!r->refused || !r->request->resume) {
        return false;
    }
    char *now = summary_text();
    const char *before = r->summary_before;
    bool is_same = now == NULL ? before == NULL : before != NULL && strcmp(now, before) == 0;
    free(now);
    return is_same;
}

// The log of the daemon that ended the run; returns out.
static const char *
failed_log(const run *r, char out[LOG_PATH_BYTES])
{
    (void)snprintf(out, LOG_PATH_BYTES, "log/%s.log",
                   cli_supervisor_report(r->supervisor, r->failed).name);
    return out;
}

// What can be done about a plug-in that may be the cause; returns out, "" otherwise.
static const char *
check_hint(const run *r, char *out, size_t size)
{
    const char *id = r->request->config->env.id, *name;
    name = cli_supervisor_report(r->supervisor, r->failed).name;
    bool is_of_env = strncmp(name, "actor", 5) == 0 || strcmp(name, "evaluator") == 0;
    out[0] = '\0';
    if (is_of_env && env_is_plugin(id)) {
        (void)snprintf(out, size, "; 'octet env check %s' says more", id);
    }
    return out;
}

static void
failure_report(const run *r)
{
    char log_path[LOG_PATH_BYTES], hint[CLI_PATH_MAX + 64];
    (void)failed_log(r, log_path);
    cli_error("train", "%s%s; the end of %s/%s:", r->failure, check_hint(r, hint, sizeof(hint)),
              r->request->shown_as, log_path);
    cli_report_log_tail(stderr, log_path,
                        cli_supervisor_report(r->supervisor, r->failed).log_begin);
}

// A mistake in the experiment that a daemon found before training began: one line, with the place
// of its key. False: it cannot be told so.
static bool
refusal_report(const run *r)
{
    char log_path[LOG_PATH_BYTES], reason[1024], hint[CLI_PATH_MAX + 64];
    char key[OCT_CONFIG_NAME_MAX] = "", place[CLI_PATH_MAX + 32];
    cli_daemon_report daemon = cli_supervisor_report(r->supervisor, r->failed);
    if (!cli_report_refusal(reason, sizeof(reason), failed_log(r, log_path), daemon.log_begin)) {
        return false;
    }
    const oct_config *config = r->request->config;
    if (!cli_experiment_key(r->request->experiment, reason, key) &&
        strstr(reason, config->env.id) != NULL) { // what it is about without naming the key
        bool is_option = config->env.options[0] != '\0' && strstr(reason, " option") != NULL;
        (void)snprintf(key, sizeof(key), is_option ? "env.options" : "env.id");
    }
    (void)check_hint(r, hint, sizeof(hint));
    hint[strstr(reason, "octet env check") != NULL ? 0 : strlen(hint)] = '\0'; // said already
    if (key[0] == '\0') {
        cli_error("train", "%s: %s%s", daemon.name, reason, hint);
        return true;
    }
    bool has_key = strncmp(reason, key, strlen(key)) == 0;
    (void)fflush(stdout);
    fprintf(stderr, "%s: error: %s%s%s%s\n",
            cli_experiment_place(r->request->experiment, key, place, sizeof(place)),
            has_key ? "" : key, has_key ? "" : ": ", reason, hint);
    return true;
}

// A new run that failed before its first update: there is nothing to keep of it.
static bool
never_began(const run *r)
{
    return r->exit_code == CLI_EXIT_FAILED && !r->request->resume &&
           !(r->status.numbers.value[CLI_UPDATES] > 0) && !(cli_report_updates("summary.json") > 0);
}

static void
run_report(run *r)
{
    r->rest = !never_began(r) ? CLI_RUN_KEPT : CLI_RUN_LOGS;
    if (r->rest == CLI_RUN_LOGS && r->refused && refusal_report(r)) {
        r->rest = CLI_RUN_NOTHING;
        return;
    }
    cli_screen_end(r->screen, &r->status);
    cli_report_outcome outcome = {
        .folder = r->request->shown_as,
        .env_id = r->request->config->env.id,
        .env_options = r->request->config->env.options,
        .mjcf_dir = r->request->config->env.mjcf_dir,
        .status = &r->status,
        .supervisor = r->supervisor,
        .exit_reason = r->exit_reason,
        .exit_code = r->exit_code,
        .can_resume = r->rest == CLI_RUN_KEPT && access("checkpoint.oct", R_OK) == 0,
        .wall_s = wall_s(),
    };
    if (run_is_as_before(r)) {
        failure_report(r);
        fprintf(stderr,
                "octet train: note: nothing was trained; the run in %s is as it was, and its "
                "policy.oct can be used\n",
                r->request->shown_as);
        return;
    }
    if (cli_report_add_to_summary("summary.json", &outcome) != OCT_OK) {
        cli_error("train", "cannot write summary.json in '%s'", r->request->folder);
        r->exit_code = r->exit_code == 0 ? CLI_EXIT_FAILED : r->exit_code;
    }
    if (r->failure[0] != '\0') {
        failure_report(r);
    }
    cli_report_print(stdout, "summary.json", &outcome);
    (void)fflush(stdout);
}

static void
remove_sockets(void)
{
    static const char *const names[] = {"learner.ipc", "learner.ipc.1", "replay.ipc",
                                        "replay.ipc.1", "replay.ipc.2"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)unlink(names[i]);
    }
}

int
cli_run(const cli_run_request *request, cli_run_rest *rest)
{
    run *r = oct_alloc(sizeof(*r));
    r->request = request;
    r->summary_before = request->resume ? summary_text() : NULL;
    r->exit_reason = "failed";
    r->exit_code = CLI_EXIT_FAILED;
    cli_run_status_init(&r->status, request->shown_as);
    r->status.goal = request->config->run.stop_at_return;
    r->status.quiet_max_s = OCT_MAX(r->status.quiet_max_s, 3 * request->config->actor.report_s);
    r->status.numbers.value[CLI_ENV_STEPS_BUDGET] = (double)request->config->run.env_steps;
    r->loop = net_loop_create();
    r->screen = cli_screen_create(request->live);
    cli_supervisor_events supervisor_events = {
        .on_death = death, .on_end = ended, .on_exit = exited, .on_gone = all_gone, .arg = r};
    r->supervisor = cli_supervisor_create(r->loop, request->folder, &cli_supervisor_backoff,
                                          &supervisor_events);
    add_daemons(r);
    cli_poll_request poll = {.learner = CLI_RUN_LEARNER,
                             .replay = CLI_RUN_REPLAY,
                             .period_ms = STATUS_PERIOD_MS,
                             .timeout_ms = STATUS_TIMEOUT_MS};
    cli_poll_events poll_events = {.on_answer = answered, .on_failure = not_answered, .arg = r};
    if (watch_signals(r) != OCT_OK ||
        cli_poll_open(&r->poll, r->loop, &poll, &r->status, &poll_events) != OCT_OK) {
        cli_error("train", "cannot watch signals or the daemons' sockets");
        _exit(CLI_EXIT_FAILED); // nothing was started yet
    }
    cli_supervisor_start(r->supervisor);
    r->draw_timer = net_timer_start(r->loop, STATUS_PERIOD_MS, STATUS_PERIOD_MS, draw_due, r);
    if (!r->gone) {
        net_loop_run(r->loop);
    }
    run_report(r);
    config_put_back(r);
    int exit_code = r->exit_code;
    *rest = r->rest;
    remove_sockets();
    net_loop_exit_deadline(r->loop, CLOSE_MS, exit_code);
    net_timer_stop(r->draw_timer);
    net_timer_stop(r->signal_timer);
    net_timer_stop(r->kill_timer);
    cli_poll_close(r->poll);
    cli_supervisor_destroy(r->supervisor);
    net_loop_destroy(r->loop);
    cli_screen_destroy(r->screen);
    free(r->summary_before);
    free(r);
    return exit_code;
}
