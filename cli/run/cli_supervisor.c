// The supervisor starts the daemons of a run as child processes, restarts those that die or hang,
// and counts their CPU time.
//
// 1. Start. The daemons start in the order in which they were added, each with its output in
//    log/NAME.log and in a session of its own: Ctrl-C then reaches only the supervisor, which ends
//    the daemons in order, and a daemon's own children can be found by their session.
// 2. Progress. A daemon writes to a page of shared memory (oct_pulse.h), which needs no answer from
//    a process that may be blocked. Each sample judges the page (cli_watch.h): a quiet daemon is
//    reported after half of its time and killed after the whole time; then it counts like any other
//    death. A daemon under a debugger is not killed. If no page can be made, the daemon runs
//    unwatched.
// 3. Death. process_exited decides, in this order:
//      held      cli_supervisor_hold was called: the exit is only reported, and on_gone follows
//                the last exit
//      finished  the exit code of a daemon that may finish is 0
//      refused   the next start would say the same: CLI_EXIT_REFUSED, or CLI_EXIT_OPTIONS of a
//                program without code of others
//      crashes   a fault of the program within CLI_CRASH_LIVED_S of its start, CLI_CRASHES_MAX
//                times in a row: it is given up
//      restart   after 0.1 s, twice as long each time, up to 5 s; at the eleventh death within a
//                minute it is given up
//    A program that does not start at all is given up. If it has run before, it may just be being
//    replaced, so a failed start counts as a death. The learner restarts with --resume (`again`)
//    and continues from its last checkpoint; replay from its file; actors register again.
// 4. The supervisor decides about daemons, not about the run: the callbacks tell cli_run.c, which
//    ends the run or, for one of several actors, lets it continue with the others.
// 5. Orphans. Processes that a daemon's plug-in leaves behind become children of this process
//    (oct_family.h) and are killed after each exit.
// 6. CPU time. The kernel adds up the time of all reaped children, so a daemon's share is the
//    growth of that sum when it is reaped; cli_cpu_time.h knows what it used before that.
// 7. If the supervisor itself is killed, the kernel signals the daemons (--follow-parent), and they
//    stop.
#include "cli/run/cli_supervisor.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli/run/cli_cpu_time.h"
#include "common/oct_base.h"
#include "common/oct_cgroup.h"
#include "common/oct_clock.h"
#include "common/oct_family.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "net/net_process.h"

#define LOG_PATH_MAX 128
#define SAMPLES_FIND 12 // samples between two searches for processes that the daemons started

// A daemon.
typedef struct child {
    cli_supervisor *supervisor;
    uint32_t index; // in supervisor->children
    char *name;     // of this struct, as the next four
    char *file;
    char *log_path;
    char *argv[CLI_DAEMON_ARGS_MAX + 1]; // NULL-terminated, because the struct begins zeroed
    size_t argc;
    char *again;           // argument that the next start appends; NULL: none, or it is in argv
    oct_pulse_page *pulse; // NULL: the daemon shows nothing
    int pulse_fd;          // descriptor of the page, passed to each start
    int failure_fd;        // file in which each start records its errors; -1: there is none
    cli_watch watch;
    uint32_t hangs;          // times that it was killed because it hung
    bool has_hung, given_up; // it was killed in this start because it hung; it stays away
    bool was_out_of_memory;  // the kernel killed it the last time that it ended, for want of memory
    uint32_t oom_kills;      // number of such ends
    bool may_finish;         // as in cli_daemon_request, and the next two
    bool one_of_many;
    bool runs_environment;
    net_process *process; // NULL: not running
    net_timer *restart;   // NULL: none due
    cli_backoff backoff;
    uint64_t started_ns;    // by oct_clock_ns; of the last start
    cli_cpu_time *cpu_time; // of the running start; NULL: not running
    uint64_t cpu_exited_ns; // of the starts that have ended
    uint32_t starts;        // successful starts
    uint32_t crashes;       // faults in a row, each soon after its start
    int exit_status;        // of the last exit; -1: none so far
    long log_begin;         // bytes of its log before this run
} child;

struct cli_supervisor {
    net_loop *loop;
    char *folder; // of the run; owned
    cli_backoff_rule rule;
    cli_watch_rule watch;
    cli_supervisor_events events;
    child *children[CLI_DAEMONS_MAX];
    uint32_t count;
    uint32_t running;
    bool held;                 // cli_supervisor_hold was called
    uint64_t cpu_accounted_ns; // part of reaped_cpu_ns that daemons and orphans account for
    // kills by oct_cgroup_oom_kills that belong to daemons already reaped, or to no daemon
    uint64_t oom_kills;
    uint32_t samples; // calls of cli_supervisor_sample
};

const cli_backoff_rule cli_supervisor_backoff = {
    .first_ms = 100, .last_ms = 5000, .restarts_max = 10, .window_s = 60};

static char *
copy_text(const char *text)
{
    char *copy = strdup(text);
    OCT_ASSERT(copy != NULL);
    return copy;
}

// ---- CPU time

// CPU time of all children that this process has reaped, with what they had reaped.
static uint64_t
reaped_cpu_ns(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    uint64_t us = 1000000ull * (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return 1000 * us;
}

// Reads a daemon's CPU time. Returns what the kernel will count at least when the daemon is reaped.
static uint64_t
child_read_cpu(const child *d)
{
    cli_cpu_time_read(d->cpu_time);
    return cli_cpu_time_leader_ns(d->cpu_time);
}

// Adds the CPU time of a start that has ended. What the kernel counted for reaped children since
// the last call is exactly this daemon's, unless others were reaped in the same turn of the loop.
// Then what exceeds the last readings is divided equally among them.
static void
child_account(child *d)
{
    cli_supervisor *s = d->supervisor;
    uint64_t fresh_ns = reaped_cpu_ns() - s->cpu_accounted_ns;
    uint64_t read_ns = child_read_cpu(d), all_read_ns = read_ns;
    uint64_t sharers = 1;
    for (uint32_t i = 0; i < s->count; i++) {
        const child *other = s->children[i];
        // it was reaped, and its process_exited is still to come
        if (other != d && other->process != NULL && kill(net_process_pid(other->process), 0) != 0 &&
            errno == ESRCH) {
            all_read_ns += child_read_cpu(other);
            sharers++;
        }
    }
    uint64_t beyond_ns = fresh_ns > all_read_ns ? (fresh_ns - all_read_ns) / sharers : 0;
    uint64_t own_ns = sharers == 1 ? fresh_ns : OCT_MIN(fresh_ns, read_ns + beyond_ns);
    cli_cpu_time_end(d->cpu_time, own_ns);
    d->cpu_exited_ns += cli_cpu_time_ns(d->cpu_time);
    cli_cpu_time_destroy(d->cpu_time);
    d->cpu_time = NULL;
    s->cpu_accounted_ns += own_ns;
}

// ---- one daemon

// Writes the counts of restarts and hangs to all pages: every daemon shows them in its metrics.
static void
counts_publish(const cli_supervisor *s)
{
    uint64_t hangs = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        hangs += s->children[i]->hangs;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->children[i]->pulse != NULL) {
            oct_pulse_tell(s->children[i]->pulse, cli_supervisor_restarts(s), hangs);
        }
    }
}

static void child_start(child *d);

// The daemon stays away.
static void
child_end(child *d, cli_end why)
{
    cli_supervisor *s = d->supervisor;
    d->given_up = why == CLI_END_TOO_OFTEN || why == CLI_END_CRASHES || why == CLI_END_NO_START;
    s->events.on_end(s->events.arg, d->index, d->exit_status, why);
}

static void
restart_due(void *arg)
{
    child *d = arg;
    net_timer_stop(d->restart);
    d->restart = NULL;
    child_start(d);
}

// Returns true for a fault of the program itself, which the next start is likely to repeat.
static bool
is_crash(int exit_status)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < OCT_COUNTOF(signals); i++) {
        if (exit_status == 128 + signals[i]) {
            return true;
        }
    }
    return false;
}

// Returns true if the next start would fail in the same way, by its configuration or its options.
static bool
is_refusal(const child *d)
{
    return d->exit_status == CLI_EXIT_REFUSED ||
           (d->exit_status == CLI_EXIT_OPTIONS && !d->runs_environment);
}

// Starts the daemon again after a while. False: it has died, or could not be started, too often.
static bool
child_retry(child *d, int exit_status, uint64_t lived_ns)
{
    cli_supervisor *s = d->supervisor;
    uint32_t delay_ms = 0;
    if (!cli_backoff_next(&d->backoff, &s->rule, oct_clock_ns(), lived_ns, &delay_ms)) {
        return false;
    }
    d->restart = net_timer_start(s->loop, delay_ms, 0, restart_due, d);
    s->events.on_death(s->events.arg, d->index, exit_status, delay_ms);
    return true;
}

// Gives up a daemon that crashes repeatedly; otherwise starts it again, or gives up after too many
// deaths.
static void
child_died(child *d)
{
    uint64_t lived_ns = oct_clock_ns() - d->started_ns;
    bool is_early = lived_ns < CLI_CRASH_LIVED_S * 1000000000ull;
    // code of others may call exit
    bool is_fault = is_crash(d->exit_status) || (d->runs_environment && d->exit_status < 128);
    d->crashes = is_fault && is_early ? d->crashes + 1 : 0;
    if (d->crashes >= CLI_CRASHES_MAX) {
        child_end(d, CLI_END_CRASHES);
        return;
    }
    if (d->again != NULL) {
        d->argv[d->argc++] = d->again;
        d->again = NULL;
    }
    if (!child_retry(d, d->exit_status, lived_ns)) {
        child_end(d, CLI_END_TOO_OFTEN);
    }
}

// Finds out whether the kernel killed a daemon because memory ran out. If several were killed at
// once, each takes one of the kills. Other kills were of processes that a daemon started, and are
// skipped.
static void
memory_sample(child *d)
{
    cli_supervisor *s = d->supervisor;
    uint64_t kills = oct_cgroup_oom_kills("");
    bool is_killed = d->exit_status == 128 + SIGKILL && !d->has_hung;
    d->was_out_of_memory = is_killed && kills != UINT64_MAX && kills > s->oom_kills;
    d->oom_kills += d->was_out_of_memory;
    s->oom_kills = d->was_out_of_memory ? s->oom_kills + 1 : kills;
}

// Kills the processes that a daemon's plug-in has started and left to this process. The energy
// meter's command is in the session of this process, and stays.
static void
strays_end(cli_supervisor *s)
{
    pid_t live[CLI_DAEMONS_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->children[i]->process != NULL) {
            live[count++] = net_process_pid(s->children[i]->process);
        }
    }
    // The time of daemons that ended in the same turn is not accounted yet, and stays out of this.
    uint64_t before_ns = reaped_cpu_ns();
    oct_family_end(live, count, true);
    s->cpu_accounted_ns += reaped_cpu_ns() - before_ns;
}

// Accounts for the exit of a daemon and decides what follows; see the head of this file.
static void
process_exited(void *arg, net_process *process, int exit_status)
{
    child *d = arg;
    cli_supervisor *s = d->supervisor;
    child_account(d);
    net_process_destroy(process);
    d->process = NULL;
    d->exit_status = exit_status;
    memory_sample(d);
    s->running--;
    strays_end(s);
    if (s->held) {
        s->events.on_exit(s->events.arg, d->index, exit_status);
        if (s->running == 0) {
            s->events.on_gone(s->events.arg);
        }
    } else if (exit_status == 0 && d->may_finish) {
        child_end(d, CLI_END_FINISHED);
    } else if (is_refusal(d)) {
        child_end(d, CLI_END_REFUSED);
    } else {
        child_died(d);
    }
}

// Starts the program, the first time or again.
static void
child_start(child *d)
{
    cli_supervisor *s = d->supervisor;
    char restarts[64];
    (void)snprintf(restarts, sizeof(restarts), "OCTET_RESTARTS=%u", (unsigned)d->starts);
    net_process_spec spec = {
        .set_env = (const char *const[]){restarts, NULL},
        .file = d->file,
        .argv = (const char *const *)d->argv,
        .folder = s->folder,
        .log_path = d->log_path,
        .own_session = true, // Ctrl-C is for the supervisor, which ends them in order
        .failure_fd = d->failure_fd,
    };
    if (d->pulse != NULL) {
        oct_pulse_clear(d->pulse);
        cli_watch_begin(&d->watch);
        spec.passed_fd = d->pulse_fd;
    }
    d->has_hung = false;
    d->started_ns = oct_clock_ns();
    if (net_process_start(&d->process, s->loop, &spec, process_exited, d) != OCT_OK) {
        // If the program ran before, a new version may be being installed just now.
        if (d->starts == 0 || !child_retry(d, CLI_NO_START, 0)) {
            child_end(d, CLI_END_NO_START);
        }
        return;
    }
    d->cpu_time = cli_cpu_time_create("", net_process_pid(d->process));
    d->starts++;
    s->running++;
    counts_publish(s);
}

// ---- progress

// A daemon under a debugger is stopped by a person, and does not hang.
static bool
is_traced(int pid)
{
    char path[64], line[256];
    long tracer = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *status = oct_file_stream(path, "r");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        if (sscanf(line, "TracerPid: %ld", &tracer) == 1) {
            break;
        }
    }
    if (status != NULL) {
        (void)fclose(status);
    }
    return tracer != 0;
}

// Reports a daemon that is quiet, continues or hangs, and kills it if it hangs.
static void
child_check(child *d)
{
    cli_supervisor *s = d->supervisor;
    if (d->process == NULL || d->pulse == NULL) {
        return;
    }
    cli_watch_trouble trouble = {0};
    cli_watch_verdict verdict =
        cli_watch_check(&d->watch, d->pulse, &s->watch, oct_clock_ns(), &trouble);
    if (s->held || d->has_hung || verdict == CLI_WATCH_WELL) {
        return;
    }
    if (verdict == CLI_WATCH_HUNG) {
        if (is_traced(net_process_pid(d->process))) {
            return;
        }
        d->has_hung = true;
        d->hangs++;
        counts_publish(s);
    }
    s->events.on_watch(s->events.arg, d->index, verdict, &trouble);
    if (verdict == CLI_WATCH_HUNG) {
        cli_supervisor_kill_one(s, d->index, SIGKILL);
    }
}

// ---- all of them

cli_supervisor *
cli_supervisor_create(net_loop *loop, const char *folder, const cli_backoff_rule *backoff,
                      const cli_watch_rule *watch, const cli_supervisor_events *events)
{
    cli_supervisor *s = oct_alloc(sizeof(*s));
    s->loop = loop;
    s->folder = copy_text(folder);
    s->rule = *backoff;
    s->watch = *watch;
    s->events = *events;
    s->oom_kills = oct_cgroup_oom_kills("");
    s->cpu_accounted_ns = reaped_cpu_ns();
    oct_family_adopt();
    return s;
}

static long
log_bytes(const cli_supervisor *s, const char *log_path)
{
    char path[PATH_MAX];
    struct stat file;
    (void)snprintf(path, sizeof(path), "%s/%s", s->folder, log_path);
    return oct_file_stat(path, &file) == 0 ? (long)file.st_size : 0;
}

uint32_t
cli_supervisor_add(cli_supervisor *s, const cli_daemon_request *request)
{
    OCT_ASSERT(s->count < CLI_DAEMONS_MAX);
    child *d = oct_alloc(sizeof(*d));
    char log_path[LOG_PATH_MAX];
    (void)snprintf(log_path, sizeof(log_path), "log/%s.log", request->name);
    d->supervisor = s;
    d->index = s->count;
    d->name = copy_text(request->name);
    d->file = copy_text(request->file);
    d->log_path = copy_text(log_path);
    d->again = request->again != NULL ? copy_text(request->again) : NULL;
    d->may_finish = request->may_finish;
    d->one_of_many = request->one_of_many;
    d->runs_environment = request->runs_environment;
    d->failure_fd = oct_failure_open();
    if (request->has_pulse && oct_pulse_open(&d->pulse, &d->pulse_fd) != OCT_OK) {
        oct_log_warn("CLI-PULSE", "%s cannot be watched: %s", d->name, strerror(errno));
    }
    d->exit_status = -1;
    d->log_begin = log_bytes(s, log_path);
    for (size_t i = 0; request->argv[i] != NULL; i++) {
        OCT_ASSERT(i + 1 < CLI_DAEMON_ARGS_MAX);
        d->argv[d->argc++] = copy_text(request->argv[i]);
    }
    s->children[s->count] = d;
    return s->count++;
}

void
cli_supervisor_start(cli_supervisor *s)
{
    for (uint32_t i = 0; i < s->count && !s->held; i++) {
        child_start(s->children[i]);
    }
}

void
cli_supervisor_hold(cli_supervisor *s)
{
    s->held = true;
    for (uint32_t i = 0; i < s->count; i++) {
        net_timer_stop(s->children[i]->restart);
        s->children[i]->restart = NULL;
    }
}

void
cli_supervisor_kill_one(cli_supervisor *s, uint32_t index, int signal_number)
{
    OCT_ASSERT(index < s->count);
    if (s->children[index]->process != NULL) {
        cli_cpu_time_read(s->children[index]->cpu_time);
        net_process_kill(s->children[index]->process, signal_number);
    }
}

void
cli_supervisor_kill(cli_supervisor *s, int signal_number)
{
    for (uint32_t i = 0; i < s->count; i++) {
        cli_supervisor_kill_one(s, i, signal_number);
    }
}

void
cli_supervisor_read_cpu(cli_supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->children[i]->cpu_time != NULL) {
            cli_cpu_time_read(s->children[i]->cpu_time);
        }
    }
}

// Finds the processes that the running daemons have started.
static void
find_processes(cli_supervisor *s)
{
    cli_cpu_time *running[CLI_DAEMONS_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->children[i]->cpu_time != NULL) {
            running[count++] = s->children[i]->cpu_time;
        }
    }
    cli_cpu_time_find(running, count);
}

void
cli_supervisor_sample(cli_supervisor *s)
{
    if (s->samples++ % SAMPLES_FIND == 0) {
        cli_supervisor_read_cpu(s);
        find_processes(s);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        child_check(s->children[i]);
    }
}

bool
cli_supervisor_is_writing(const cli_supervisor *s, uint32_t index, uint64_t *bytes)
{
    OCT_ASSERT(index < s->count);
    const child *d = s->children[index];
    *bytes = d->watch.bytes;
    return d->process != NULL && d->pulse != NULL &&
           cli_watch_is_writing(&d->watch, d->pulse, &s->watch);
}

bool
cli_supervisor_is_working(const cli_supervisor *s, uint32_t index)
{
    OCT_ASSERT(index < s->count);
    const child *d = s->children[index];
    return d->process != NULL && d->pulse != NULL &&
           cli_watch_is_working(&d->watch, d->pulse, &s->watch);
}

uint32_t
cli_supervisor_count(const cli_supervisor *s)
{
    return s->count;
}

uint32_t
cli_supervisor_running(const cli_supervisor *s)
{
    return s->running;
}

uint32_t
cli_supervisor_restarts(const cli_supervisor *s)
{
    uint32_t restarts = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        restarts += OCT_MAX(s->children[i]->starts, 1u) - 1;
    }
    return restarts;
}

uint32_t
cli_supervisor_given_up(const cli_supervisor *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        count += s->children[i]->given_up;
    }
    return count;
}

uint32_t
cli_supervisor_left(const cli_supervisor *s, uint32_t *of)
{
    uint32_t left = 0;
    *of = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        *of += s->children[i]->one_of_many;
        left += s->children[i]->one_of_many && !s->children[i]->given_up;
    }
    return left;
}

cli_daemon_report
cli_supervisor_report(const cli_supervisor *s, uint32_t index)
{
    OCT_ASSERT(index < s->count);
    const child *d = s->children[index];
    uint64_t running_ns = d->cpu_time != NULL ? cli_cpu_time_ns(d->cpu_time) : 0;
    return (cli_daemon_report){
        .name = d->name,
        .cpu_s = 1e-9 * (double)(d->cpu_exited_ns + running_ns),
        .resident = d->cpu_time != NULL ? cli_cpu_time_resident(d->cpu_time) : 0,
        .starts = d->starts,
        .hangs = d->hangs,
        .one_of_many = d->one_of_many,
        .given_up = d->given_up,
        .has_hung = d->has_hung,
        .was_out_of_memory = d->was_out_of_memory,
        .oom_kills = d->oom_kills,
        .exit_status = d->exit_status,
        .running = d->process != NULL,
        // The daemon has emptied its log since then (oct_log_bound.h).
        .log_begin = log_bytes(s, d->log_path) < d->log_begin ? 0 : d->log_begin,
    };
}

bool
cli_supervisor_failure(const cli_supervisor *s, uint32_t index, oct_failure_kind kind,
                       oct_failure *out)
{
    OCT_ASSERT(index < s->count);
    return oct_failure_read(s->children[index]->failure_fd, kind, out);
}

void
cli_supervisor_destroy(cli_supervisor *s)
{
    if (s == NULL) {
        return;
    }
    OCT_ASSERT(s->running == 0);
    cli_supervisor_hold(s);
    for (uint32_t i = 0; i < s->count; i++) {
        child *d = s->children[i];
        for (size_t k = 0; k < d->argc; k++) {
            free(d->argv[k]);
        }
        free(d->name);
        free(d->file);
        free(d->log_path);
        free(d->again);
        oct_pulse_close(d->pulse, d->pulse_fd);
        if (d->failure_fd >= 0) {
            (void)close(d->failure_fd);
        }
        free(d);
    }
    free(s->folder);
    free(s);
}
