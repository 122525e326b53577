// Runs the runs of a sweep as child processes, several at a time.
//
// 1. A job is a slot for one run. start_some gives each free job the next run of the plan, or, with
//    Optuna, asks for a new trial.
// 2. A run is an octet train in a folder of its own. If the folder has a checkpoint, the run is
//    resumed; otherwise the folder is cleared first. If a run of a killed sweep is still saving in
//    the folder, the job waits for it.
// 3. When a run has ended, its summary gives the result, sweep.json is written, the sampler gets
//    the result of a finished trial, and the job takes the next run.
// 4. With Optuna, jobs_check reads the curves of running first seeds, reports them, and ends a run
// that
//    the sampler prunes.
// 5. A failure of the sampler or of sweep.json, and a signal, end the sweep: no run starts, and all
//    get SIGINT once, so that they save. A second signal makes octet train kill.

#include "cli/sweep/cli_sweep_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_signals.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_report.h"
#include "cli/runs/cli_series.h"
#include "cli/sweep/cli_sweep_file.h"
#include "common/oct_base.h"
#include "common/oct_failure.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "learner/learner_checkpoints.h"
#include "net/net_loop.h"
#include "net/net_process.h"

#define WORDS_BYTES 1024
#define ARGS_MAX    (16 + 2 * CLI_SPACE_KEYS_MAX)
#define CHECK_MS    500        // between two checks of the curves of runs that may be pruned
#define LOOK_ROWS   256        // rows of a curve in memory
#define LOOK_BYTES  (1u << 22) // read of a curve at a time
#define STEPS       20  // equal parts of a run, each of which is reported to the sampler once
#define WAIT_MS     100 // between two checks of a folder that is in use

typedef struct jobs jobs;

typedef struct job {
    jobs *owner;
    net_process *process; // NULL and no wait: the job is free
    net_timer *wait;      // until its folder is free; NULL: it does not wait
    uint32_t trial, seed;
    cli_series *series;      // of a run that may be pruned; NULL: not read yet
    uint32_t steps_reported; // last part of the run that was reported
    char folder[CLI_PATH_MAX + CLI_SWEEP_NAME_MAX + 2];
    char log[CLI_PATH_MAX + CLI_SWEEP_NAME_MAX + 16];
    long log_begin; // bytes of its log by earlier runs in the folder
    int failure_fd; // octet train records there why it failed; 0 or -1: there is no file
} job;

struct jobs {
    const cli_sweep_request *request;
    cli_sweep_plan *plan;
    net_loop *loop;
    cpu_set_t cpus; // that this process may use
    job *job;
    int stop_signal; // 0: none came
    int stop_count;
    bool failed;       // an error ends the sweep
    bool has_given_up; // the runs have been asked to stop
};

// ---- CPUs

// Returns the CPUs of a job: its share, or all if there are fewer CPUs than jobs.
static cpu_set_t
cpus_of(const jobs *s, uint32_t index)
{
    uint32_t count = (uint32_t)CPU_COUNT(&s->cpus), n = s->request->jobs;
    cpu_set_t share;
    if (count < n) {
        return s->cpus;
    }
    CPU_ZERO(&share);
    for (uint32_t cpu = 0, k = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &s->cpus)) {
            if (k * n / count == index) {
                CPU_SET(cpu, &share);
            }
            k++;
        }
    }
    return share;
}

// ---- the file and the output

// sweep.json is written after each change: a sweep that is killed loses at most the runs that were
// under way.
static void
save(jobs *s)
{
    if (!s->failed && cli_sweep_file_write(s->request->folder, s->plan) != OCT_OK) {
        cli_error("sweep", "cannot write " CLI_SWEEP_FILE " in '%s': %s", s->request->folder,
                  oct_file_strerror(errno));
        s->failed = true;
    }
}

static void
print_run(const jobs *s, const job *j)
{
    printf("trial %u of %u, seed %" PRIu64 ": ", (unsigned)j->trial + 1, (unsigned)s->plan->wanted,
           s->plan->first_seed + j->seed);
}

// Prints ": why" for a run that failed.
static void
print_cause(const job *j, int exit_status)
{
    oct_failure failure;
    if (oct_failure_read(j->failure_fd, OCT_FAILURE_ERROR, &failure)) {
        printf(": %s", failure.text);
    } else {
        char how[64];
        cli_report_exit_text(how, sizeof(how), exit_status, false);
        printf(": octet train %s", how);
    }
}

// Prints the result of a run, and the end of its log if it failed.
static void
print_end(const jobs *s, const job *j, int exit_status)
{
    const cli_sweep_run *run = &s->plan->trial[j->trial]->run[j->seed];
    bool is_offline = run->env_steps == 0; // it learned from a data set alone
    char words[WORDS_BYTES];
    print_run(s, j);
    printf("%s: %s", cli_sweep_plan_words(s->plan, j->trial, words, sizeof(words)),
           cli_sweep_state_words[run->state]);
    if (isfinite(run->mean) && run->state != CLI_SWEEP_FAILED) {
        printf(", return %s, %s %s, %s", cli_text_value(run->mean).text,
               cli_text_count(is_offline ? run->updates : run->env_steps).text,
               is_offline ? "updates" : "steps", cli_text_seconds(run->wall_s).text);
    }
    if (run->state == CLI_SWEEP_FAILED) {
        print_cause(j, exit_status);
    }
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
    if (run->state == CLI_SWEEP_FAILED) {
        fprintf(stderr, "octet sweep: the end of %s:\n", j->log);
        cli_report_log_tail(stderr, j->log, j->log_begin);
    }
}

// ---- optuna

static void start_some(jobs *s);

// Without the sampler no further trial can be chosen, so the sweep ends; --resume may continue it.
static void
sampler_failed(jobs *s, const char *reason)
{
    cli_error("sweep", "%s", reason);
    s->failed = true;
}

// Reports each finished trial that the sampler does not know to it.
static void
results_report(jobs *s)
{
    oct_reason why;
    for (uint32_t i = 0; i < s->plan->count && s->request->optuna != NULL && !s->failed; i++) {
        cli_sweep_trial *trial = s->plan->trial[i];
        if (!trial->is_reported && cli_sweep_plan_is_over(s->plan, i)) {
            bool is_pruned = trial->run[0].state == CLI_SWEEP_PRUNED;
            if (cli_sweep_optuna_tell(s->request->optuna, i, cli_sweep_plan_return(s->plan, i),
                                      is_pruned, &why) != OCT_OK) {
                sampler_failed(s, why.text);
                return;
            }
            trial->is_reported = true;
        }
    }
}

// Finds the newest evaluation of a run, and the part of its budget that had been used by then.
// False: there is none yet.
static bool
progress_of(const job *j, double *share, double *value)
{
    const config_experiment *config = &j->series->config;
    bool is_by_updates = config_is_offline(config);
    double budget = (double)(is_by_updates ? config->run.updates : config->run.env_steps);
    cli_series_point point[LOOK_ROWS];
    uint32_t count =
        cli_series_curve(j->series, is_by_updates ? "updates" : "env_steps", "eval_return", point);
    if (count == 0 || !(budget > 0)) {
        return false;
    }
    *share = point[count - 1].x / budget;
    *value = point[count - 1].y;
    return true;
}

// Reports the newest part of a run to the sampler, which may prune the run.
static void
job_check(jobs *s, job *j)
{
    oct_reason why;
    double share, value;
    if (j->series == NULL && cli_series_open(&j->series, j->folder, LOOK_ROWS, &why) != OCT_OK) {
        return; // the run has not made its folder yet
    }
    (void)cli_series_read(j->series, LOOK_BYTES);
    if (!progress_of(j, &share, &value)) {
        return;
    }
    uint32_t step = (uint32_t)fmin(share * STEPS, STEPS);
    bool is_pruned = false;
    if (step <= j->steps_reported) {
        return;
    }
    j->steps_reported = step;
    if (cli_sweep_optuna_report(s->request->optuna, j->trial, step, value, &is_pruned, &why) !=
        OCT_OK) {
        sampler_failed(s, why.text);
    } else if (is_pruned) {
        s->plan->trial[j->trial]->run[j->seed].state = CLI_SWEEP_PRUNED;
        net_process_kill(j->process, SIGINT);
    }
}

// Runs every CHECK_MS. Only first seeds are reported, because they decide about their trials.
static void
jobs_check(void *arg)
{
    jobs *s = arg;
    for (uint32_t i = 0; i < s->request->jobs && !s->failed && s->stop_signal == 0; i++) {
        job *j = &s->job[i];
        if (j->process != NULL && j->seed == 0 &&
            s->plan->trial[j->trial]->run[0].state == CLI_SWEEP_RUNNING) {
            job_check(s, j);
        }
    }
    if (s->failed) {
        start_some(s);
    }
}

// ---- one run

// 0 is never this descriptor, so a job that was zeroed has none.
static void
failure_close(job *j)
{
    if (j->failure_fd > 0) {
        (void)close(j->failure_fd);
    }
    j->failure_fd = -1;
}

// A run that finished although it was asked to stop counts as finished.
static cli_sweep_state
state_of(const jobs *s, const job *j, int exit_status, bool is_finished)
{
    const cli_sweep_run *run = &s->plan->trial[j->trial]->run[j->seed];
    if (exit_status == 0 && is_finished) {
        return CLI_SWEEP_FINISHED;
    }
    if (run->state == CLI_SWEEP_PRUNED) {
        return CLI_SWEEP_PRUNED;
    }
    bool is_stop =
        exit_status == 128 + SIGINT || exit_status == 128 + SIGTERM || exit_status == 128 + SIGHUP;
    return is_stop || s->stop_signal != 0 ? CLI_SWEEP_STOPPED : CLI_SWEEP_FAILED;
}

static bool
is_free(const job *j)
{
    return j->process == NULL && j->wait == NULL;
}

static bool
is_idle(const jobs *s)
{
    for (uint32_t i = 0; i < s->request->jobs; i++) {
        if (!is_free(&s->job[i])) {
            return false;
        }
    }
    return true;
}

// Records the result of a run, and gives the job the next run.
static void
job_end(job *j, int exit_status)
{
    jobs *s = j->owner;
    cli_sweep_run *run = &s->plan->trial[j->trial]->run[j->seed];
    bool is_finished = cli_sweep_file_result(j->folder, run);
    run->state = state_of(s, j, exit_status, is_finished);
    if (run->state == CLI_SWEEP_PRUNED) {
        cli_sweep_plan_prune(s->plan, j->trial);
    }
    results_report(s);
    save(s);
    print_end(s, j, exit_status);
    start_some(s);
}

static void
run_ended(void *arg, net_process *process, int exit_status)
{
    job *j = arg;
    net_process_destroy(process);
    j->process = NULL;
    cli_series_close(j->series);
    j->series = NULL;
    job_end(j, exit_status);
}

// Clears a folder that cannot be resumed; it belongs to the sweep.
static void
clear(const job *j)
{
    cli_folder folder = {.lock_fd = -1, .made = 1};
    size_t length = strlen(j->folder);
    if (length < sizeof(folder.path)) { // otherwise the folder could not have been made
        memcpy(folder.path, j->folder, length + 1);
        cli_folder_clear(&folder, true);
    }
}

static void
args_add(const char **argv, size_t *count, const char *a, const char *b)
{
    OCT_ASSERT(*count + 2 < ARGS_MAX);
    argv[(*count)++] = a;
    if (b != NULL) {
        argv[(*count)++] = b;
    }
}

static long
log_bytes(const job *j)
{
    struct stat log;
    return oct_file_stat(j->log, &log) == 0 ? (long)log.st_size : 0;
}

// Starts octet train on the job's CPUs.
static oct_err
spawn(jobs *s, job *j, const char *const *argv)
{
    j->log_begin = log_bytes(j);
    net_process_spec spec = {.file = s->request->octet,
                             .argv = argv,
                             .folder = s->request->folder,
                             .log_path = j->log,
                             .failure_fd = j->failure_fd,
                             .own_session = true};
    cpu_set_t share = cpus_of(s, (uint32_t)(j - s->job));
    // A child process inherits the CPUs of the thread that forks it.
    bool is_bound = sched_setaffinity(0, sizeof(share), &share) == 0;
    oct_err err = net_process_start(&j->process, s->loop, &spec, run_ended, j);
    if (is_bound) {
        (void)sched_setaffinity(0, sizeof(s->cpus), &s->cpus);
    }
    return err;
}

static void
start(jobs *s, job *j)
{
    static char setting[CLI_SPACE_KEYS_MAX][CONFIG_NAME_MAX + CLI_SPACE_VALUE_MAX + 2];
    char seed_text[32], pid[32], base[CLI_PATH_MAX + 16];
    const char *argv[ARGS_MAX + 1] = {"octet", "train"};
    size_t argc = 2;
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    if (learner_checkpoints_any(j->folder)) {
        args_add(argv, &argc, "--resume", NULL);
    } else {
        clear(j);
        (void)snprintf(base, sizeof(base), "%s/" CLI_SWEEP_BASE, s->request->folder);
        (void)snprintf(seed_text, sizeof(seed_text), "%" PRIu64, s->plan->first_seed + j->seed);
        args_add(argv, &argc, base, NULL);
        for (size_t i = 0; i < s->plan->space.count; i++) {
            (void)snprintf(setting[i], sizeof(setting[i]), "%s=%s", s->plan->space.key[i].name,
                           s->plan->trial[j->trial]->point.value[i]);
            args_add(argv, &argc, "--set", setting[i]);
        }
        args_add(argv, &argc, "--seed", seed_text);
    }
    args_add(argv, &argc, "--run-dir", j->folder);
    args_add(argv, &argc, "--no-ui", NULL);
    if (s->request->is_trusted) {
        args_add(argv, &argc, "--trust", NULL);
    }
    args_add(argv, &argc, "--follow-parent", pid);
    if (spawn(s, j, argv) != OCT_OK) {
        cli_error("sweep", "cannot start octet train in %s", j->folder);
        s->plan->trial[j->trial]->run[j->seed].state = CLI_SWEEP_WAITING;
        s->failed = true;
    }
}

static void
wait_end(job *j)
{
    net_timer_stop(j->wait);
    j->wait = NULL;
}

// Runs every WAIT_MS while the job waits for its folder.
static void
wait_check(void *arg)
{
    job *j = arg;
    if (cli_folder_is_locked(j->folder)) {
        return;
    }
    jobs *s = j->owner;
    wait_end(j);
    if (cli_sweep_file_result(j->folder, &s->plan->trial[j->trial]->run[j->seed])) {
        job_end(j, 0); // it has finished in the meantime
        return;
    }
    start(s, j);
    if (s->failed) {
        start_some(s);
    }
}

// Gives a run to a job. The same run of a killed sweep may still be saving its state.
static void
take(jobs *s, job *j, uint32_t trial, uint32_t seed)
{
    char name[CLI_SWEEP_NAME_MAX];
    j->trial = trial;
    j->seed = seed;
    j->steps_reported = 0;
    failure_close(j);
    j->failure_fd = oct_failure_open();
    (void)cli_sweep_plan_name(s->plan, trial, seed, name);
    (void)snprintf(j->folder, sizeof(j->folder), "%s/%s", s->request->folder, name);
    (void)snprintf(j->log, sizeof(j->log), "%s/log/%s.log", s->request->folder, name);
    s->plan->trial[trial]->run[seed].state = CLI_SWEEP_RUNNING;
    if (!cli_folder_is_locked(j->folder)) {
        start(s, j);
        return;
    }
    j->wait = net_timer_start(s->loop, WAIT_MS, WAIT_MS, wait_check, j);
    print_run(s, j);
    printf("is waiting for the octet train that still runs in its folder\n");
    (void)fflush(stdout);
}

// ---- all of them

// Returns the next run, and asks the sampler for a new trial if there is none. False: nothing can
// start now.
static bool
next(jobs *s, uint32_t *trial, uint32_t *seed)
{
    oct_reason why;
    cli_point point;
    if (cli_sweep_plan_next(s->plan, trial, seed)) {
        return true;
    }
    if (s->request->optuna == NULL || s->plan->count == s->plan->wanted) {
        return false;
    }
    oct_err err = cli_sweep_optuna_ask(s->request->optuna, s->plan->count, &point, &why);
    if (err == OCT_ENOTFOUND) {
        s->plan->wanted = s->plan->count;
        fprintf(stderr, "octet sweep: note: Optuna found only %u different trials\n",
                (unsigned)s->plan->count);
        return false;
    }
    if (err != OCT_OK) {
        sampler_failed(s, why.text);
        return false;
    }
    (void)cli_sweep_plan_add(s->plan, &point);
    return cli_sweep_plan_next(s->plan, trial, seed);
}

// Sends a signal to all runs. A job that waits has none and becomes free.
static void
kill_all(jobs *s, int signal_number)
{
    for (uint32_t i = 0; i < s->request->jobs; i++) {
        job *j = &s->job[i];
        if (j->process != NULL) {
            net_process_kill(j->process, signal_number);
        } else if (j->wait != NULL) {
            wait_end(j);
            s->plan->trial[j->trial]->run[j->seed].state = CLI_SWEEP_STOPPED;
        }
    }
}

static void
start_some(jobs *s)
{
    uint32_t trial, seed;
    bool is_new = false;
    for (uint32_t i = 0; i < s->request->jobs && s->stop_signal == 0 && !s->failed; i++) {
        if (is_free(&s->job[i]) && next(s, &trial, &seed)) {
            take(s, &s->job[i], trial, seed);
            is_new = true;
        }
    }
    if (is_new) {
        save(s);
    }
    if (s->failed && !s->has_given_up) {
        s->has_given_up = true;
        kill_all(s, SIGINT); // only once, because a second SIGINT kills
    }
    if (is_idle(s)) {
        net_loop_stop(s->loop);
    }
}

// The first signal lets the runs save; see the head of this file.
static void
stop_wanted(void *arg, int signal_number)
{
    jobs *s = arg;
    if (s->stop_count++ == 0) {
        s->stop_signal = signal_number;
        fprintf(
            stderr,
            "octet sweep: stopping; the runs are saving their state (Ctrl-C again to kill them)\n");
    }
    // octet train kills its daemons at the second signal
    if (s->stop_count > 1 || !s->has_given_up) {
        kill_all(s, SIGINT);
    }
    s->has_given_up = true;
    if (is_idle(s)) {
        net_loop_stop(s->loop);
    }
}

static oct_err
watch_signals(jobs *s)
{
    (void)signal(SIGPIPE, SIG_IGN); // a reader of our output may leave; the sweep continues
    return cli_signals_watch(s->loop, stop_wanted, s);
}

int
cli_sweep_jobs_run(const cli_sweep_request *request)
{
    jobs s = {.request = request, .plan = request->plan};
    s.loop = net_loop_create();
    s.job = oct_alloc(request->jobs * sizeof(*s.job));
    for (uint32_t i = 0; i < request->jobs; i++) {
        s.job[i].owner = &s;
    }
    if (sched_getaffinity(0, sizeof(s.cpus), &s.cpus) != 0 || watch_signals(&s) != OCT_OK) {
        cli_error("sweep", "cannot watch signals, or cannot determine the CPUs");
        _exit(CLI_EXIT_FAILED); // nothing was started
    }
    net_timer *timer = request->optuna != NULL
                           ? net_timer_start(s.loop, CHECK_MS, CHECK_MS, jobs_check, &s)
                           : NULL;
    results_report(&s); // results that a killed sweep has not reported
    save(&s);
    start_some(&s);
    if (!is_idle(&s)) {
        net_loop_run(s.loop);
    }
    save(&s);
    net_timer_stop(timer);
    net_loop_destroy(s.loop);
    for (uint32_t i = 0; i < request->jobs; i++) {
        failure_close(&s.job[i]);
    }
    free(s.job);
    if (s.stop_signal != 0) {
        return 128 + s.stop_signal;
    }
    bool is_bad = s.failed || cli_sweep_plan_count(s.plan, CLI_SWEEP_FAILED) > 0 ||
                  cli_sweep_plan_count(s.plan, CLI_SWEEP_STOPPED) > 0;
    return is_bad ? CLI_EXIT_FAILED : 0;
}
