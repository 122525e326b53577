// Runs the daemons of an experiment for some seconds and measures them.
//
// 1. The trial makes a folder and writes the configuration and the environment's description to it.
// 2. It starts the daemons under supervision, and asks them for their status every SAMPLE_MS.
// 3. After request->seconds of learning it kills all daemons. It also kills them when the first
//    update has not come within request->patience_s of the first actor, when a daemon dies, and
//    when a signal stops the command.
// 4. It removes the folder.

#include "cli/plan/cli_plan_trial.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_signals.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_poll.h"
#include "cli/run/cli_report.h"
#include "cli/run/cli_run_daemons.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "config/config_text.h"

#define SAMPLE_MS  50         // between two status calls
#define ANSWER_MS  1000       // time limit of a status call
#define CLOSE_MS   1500       // seconds between reports of actors, and between rows of metrics
#define REPORT_S   0.1        // for the loop's handles; then the process exits anyway
#define ROWS_MOST  (1u << 20) // of the table; a trial makes fewer
#define MANY_STEPS 1000000000000000u // the largest run.env_steps and run.updates

typedef struct trial {
    const cli_plan_trial_request *request;
    config_experiment config;
    cli_snapshot state;
    net_loop *loop;
    cli_supervisor *supervisor;
    cli_poll *poll;
    net_timer *timer;
    uint64_t start_ns;
    double ready_s; // when the first actor joined, or the data set was open; NaN: not yet
    bool is_ending, is_gone;
    int stop_signal;
    char trouble[OCT_FAILURE_TEXT_MAX + 128]; // "": none
} trial;

// ---- the experiment

// The changes to the experiment that cli_plan_trial.h describes.
static void
config_make(config_experiment *out, const config_experiment *config)
{
    *out = *config;
    bool is_offline = config_is_offline(config);
    out->run.stop_at_return = NAN;
    out->run.wall_s = 0;
    out->run.env_steps = MANY_STEPS;
    out->run.updates = is_offline ? MANY_STEPS : 0;
    out->learner.metrics_s = REPORT_S;
    out->actor.report_s = REPORT_S;
    out->replay.capacity = OCT_MIN(config->replay.capacity, ROWS_MOST);
    if (strcmp(config->replay.path, "none") != 0) {
        (void)snprintf(out->replay.path, sizeof(out->replay.path), "replay.oct");
    }
    if (config_has_limiter(config)) {
        uint64_t windows = OCT_MIN((uint64_t)config->learner.batch_size, config->replay.min_size);
        out->replay.tolerance *= (double)config->replay.min_size / (double)windows;
        out->replay.min_size = windows;
    }
}

static oct_err
files_write(const trial *t, const cli_folder *folder)
{
    char path[CLI_PATH_MAX + 32];
    char *text = config_print(&t->config);
    const cli_environment *environment = t->request->environment;
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder->path);
    oct_err err = oct_file_write(path, text, strlen(text));
    free(text);
    (void)snprintf(path, sizeof(path), "%s/" CLI_RUN_ENVIRONMENT, folder->path);
    return err == OCT_OK ? oct_file_write(path, environment->bytes, environment->length) : err;
}

// ---- the end

// Kills all daemons; the loop ends when they are reaped.
static void
end(trial *t)
{
    if (!t->is_ending) {
        t->is_ending = true;
        cli_supervisor_hold(t->supervisor);
        cli_supervisor_kill(t->supervisor, SIGKILL);
    }
    if (cli_supervisor_running(t->supervisor) == 0) {
        t->is_gone = true;
        net_loop_stop(t->loop);
    }
}

static void
all_gone(void *arg)
{
    trial *t = arg;
    t->is_gone = true;
    net_loop_stop(t->loop);
}

static void
stop_wanted(void *arg, int number)
{
    trial *t = arg;
    t->stop_signal = number;
    end(t);
}

// ---- what the daemons do

// Notes how a daemon ended, and the reason that it recorded.
static void
trouble_note(trial *t, uint32_t index, int exit_status)
{
    char how[64];
    oct_failure failure;
    cli_daemon_report daemon = cli_supervisor_report(t->supervisor, index);
    if (exit_status == CLI_NO_START) {
        (void)snprintf(how, sizeof(how), "could not be started");
    } else {
        cli_report_exit_text(how, sizeof(how), exit_status, false);
    }
    bool has_reason = cli_supervisor_failure(t->supervisor, index, OCT_FAILURE_ERROR, &failure);
    (void)snprintf(t->trouble, sizeof(t->trouble), "%s %s%s%s", daemon.name, how,
                   has_reason ? ": " : "", has_reason ? failure.text : "");
}

static void
died(void *arg, uint32_t index, int exit_status, uint32_t delay_ms)
{
    trial *t = arg;
    (void)delay_ms;
    trouble_note(t, index, exit_status);
    end(t);
}

static void
ended(void *arg, uint32_t index, int exit_status, cli_end why)
{
    if (why != CLI_END_FINISHED) {
        trouble_note(arg, index, exit_status);
    }
    end(arg);
}

static void
exited(void *arg, uint32_t index, int exit_status)
{
    (void)arg;
    (void)index;
    (void)exit_status;
}

static void
watched(void *arg, uint32_t index, cli_watch_verdict verdict, const cli_watch_trouble *trouble)
{
    (void)arg; // never called: the rule has no limits
    (void)index;
    (void)verdict;
    (void)trouble;
}

// ---- samples

static double
age_s(const trial *t)
{
    return 1e-9 * (double)(oct_clock_ns() - t->start_ns);
}

static void
answered(void *arg)
{
    trial *t = arg;
    if (!t->is_ending) {
        (void)cli_snapshot_update(&t->state, age_s(t));
        bool is_ready = strcmp(t->state.learner.state, "training") == 0 ||
                        strcmp(t->state.learner.state, CLI_SNAPSHOT_OFFLINE) == 0;
        t->ready_s = isnan(t->ready_s) && is_ready ? age_s(t) : t->ready_s;
        cli_plan_meter_sample(t->request->meter, age_s(t), &t->state, t->supervisor);
    }
}

// Ends the trial when enough was measured, or when it takes too long: before the first actor,
// before the first update, or afterwards.
static void
sample_due(void *arg)
{
    trial *t = arg;
    const cli_plan_trial_request *request = t->request;
    const cli_plan_rates *rates = cli_plan_meter_rates(request->meter);
    cli_supervisor_sample(t->supervisor);
    bool has_learned = isfinite(rates->start_s);
    double most_s = isnan(t->ready_s) ? CLI_PLAN_START_S
                    : has_learned     ? t->ready_s + request->patience_s + 2 * request->seconds
                                      : t->ready_s + request->patience_s;
    if ((has_learned && rates->seconds >= request->seconds) || age_s(t) > most_s) {
        end(t);
    }
}

// ---- the whole trial

static void
state_begin(trial *t)
{
    char address[CONFIG_TEXT_MAX];
    cli_snapshot_clear(&t->state);
    cli_snapshot_take_config(&t->state, &t->config);
    (void)snprintf(t->state.learner.url, sizeof(t->state.learner.url), "%s", CLI_RUN_LEARNER);
    t->state.shards = config_shards(&t->config);
    for (uint32_t i = 0; i < t->state.shards; i++) {
        config_replay_address(&t->config, i, address);
        (void)snprintf(cli_snapshot_shard(&t->state, i)->url, sizeof(t->state.replay.url), "%s",
                       address);
    }
}

// Runs the daemons until all of them have ended.
static oct_err
daemons_run(trial *t, const cli_run_request *run, oct_reason *why)
{
    static const cli_watch_rule patient; // no limits: nothing counts as hanging
    const cli_supervisor_events events = {.on_death = died,
                                          .on_watch = watched,
                                          .on_end = ended,
                                          .on_exit = exited,
                                          .on_gone = all_gone,
                                          .arg = t};
    const cli_poll_request poll = {.learner = CLI_RUN_LEARNER,
                                   .period_ms = SAMPLE_MS,
                                   .timeout_ms = ANSWER_MS,
                                   .on_answer = answered,
                                   .arg = t};
    t->loop = net_loop_create();
    t->supervisor = cli_supervisor_create(t->loop, run->folder->path, &cli_supervisor_backoff,
                                          &patient, &events);
    (void)cli_run_daemons_add(t->supervisor, run);
    state_begin(t);
    oct_err err = cli_signals_watch(t->loop, stop_wanted, t);
    if (err == OCT_OK) {
        err = cli_poll_open(&t->poll, t->loop, &poll, &t->state);
    }
    if (err == OCT_OK) {
        cli_signals_hold(false);
        t->start_ns = oct_clock_ns();
        cli_supervisor_start(t->supervisor);
        t->timer = net_timer_start(t->loop, SAMPLE_MS, SAMPLE_MS, sample_due, t);
        if (!t->is_gone) {
            net_loop_run(t->loop);
        }
    } else {
        (void)oct_refuse(why, "cannot watch signals or the daemons' sockets");
    }
    cli_signals_hold(true); // until the folder is removed
    net_loop_exit_deadline(t->loop, CLOSE_MS, EXIT_FAILURE);
    net_timer_stop(t->timer);
    cli_poll_close(t->poll);
    cli_supervisor_destroy(t->supervisor);
    net_loop_destroy(t->loop);
    return err;
}

// Runs the daemons in the trial's folder, and returns to the caller's.
static oct_err
in_folder(trial *t, cli_run_request *run, int *stop_signal, oct_reason *why)
{
    char before[CLI_PATH_MAX];
    if (files_write(t, run->folder) != OCT_OK || getcwd(before, sizeof(before)) == NULL ||
        chdir(run->folder->path) != 0) {
        return oct_fail(why, OCT_EIO, "cannot use '%s': %s", run->folder->path,
                        oct_file_strerror(errno));
    }
    oct_err err = daemons_run(t, run, why);
    if (chdir(before) != 0) {
        return oct_fail(why, OCT_EIO, "cannot return to '%s': %s", before,
                        oct_file_strerror(errno));
    }
    *stop_signal = t->stop_signal;
    if (t->stop_signal != 0) {
        return OCT_ECLOSED;
    }
    if (err == OCT_OK && t->trouble[0] != '\0') {
        return oct_fail(why, OCT_EINTERNAL, "%s", t->trouble);
    }
    return err;
}

oct_err
cli_plan_trial_run(const cli_plan_trial_request *request, int *stop_signal, oct_reason *why)
{
    static char replay[CLI_PATH_MAX], learner[CLI_PATH_MAX], actor[CLI_PATH_MAX];
    char wanted[CLI_PATH_MAX + 64];
    cli_folder folder;
    oct_program_keep_paths();
    (void)snprintf(wanted, sizeof(wanted), "%s/octet-plan-%ld", request->parent, (long)getpid());
    cli_signals_hold(true);
    oct_err err = cli_folder_find_daemon(replay, "octet-replay", why);
    if (err == OCT_OK) {
        err = cli_folder_find_daemon(learner, "octet-learner", why);
    }
    if (err == OCT_OK) {
        err = cli_folder_find_daemon(actor, "octet-actor", why);
    }
    if (err == OCT_OK) {
        err = cli_folder_open(&folder, wanted, "plan", false, why);
    }
    if (err != OCT_OK) {
        cli_signals_hold(false);
        return OCT_EIO;
    }
    trial *t = oct_alloc(sizeof(*t));
    t->request = request;
    t->ready_s = NAN;
    config_make(&t->config, request->config);
    cli_run_request run = {.config = &t->config,
                           .folder = &folder,
                           .replay = replay,
                           .learner = learner,
                           .actor = actor};
    err = in_folder(t, &run, stop_signal, why);
    cli_folder_take_back(&folder);
    cli_folder_close(&folder);
    cli_signals_hold(false);
    free(t);
    return err;
}
