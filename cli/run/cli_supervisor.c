// The daemons as child processes: started, restarted, ended, their CPU time counted.

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
#define SAMPLES_FIND 12 // samples from one search for what the daemons started to the next

typedef struct child {
    cli_supervisor *supervisor;
    uint32_t index;
    char *name;
    char *file;
    char *log_path;
    char *argv[CLI_DAEMON_ARGS_MAX + 1];
    size_t argc;
    char *again;           // NULL once it is in argv
    oct_pulse_page *pulse; // NULL: it shows nothing
    int pulse_fd;
    cli_watch watch;
    uint32_t hangs;
    bool has_hung, given_up;
    bool was_out_of_memory;
    uint32_t oom_kills;
    bool may_finish;
    bool one_of_many;
    bool runs_environment;
    net_process *process; // NULL: not running
    net_timer *restart;   // NULL: none due
    cli_backoff backoff;
    uint64_t started_ns;
    cli_cpu_time *cpu_time; // of this start; NULL: not running
    uint64_t cpu_exited_ns; // of starts that ended
    uint32_t starts;
    uint32_t crashes; // in a row
    int exit_status;
    long log_begin;
} child;

struct cli_supervisor {
    net_loop *loop;
    char *folder;
    cli_backoff_rule rule;
    cli_watch_rule watch;
    cli_supervisor_events events;
    child *children[CLI_DAEMONS_MAX];
    uint32_t count;
    uint32_t running;
    bool held;
    uint64_t cpu_accounted_ns; // of all daemons ever reaped
    uint64_t oom_kills; // oct_cgroup_oom_kills, without what daemons have not been reaped for
    uint32_t samples;
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

static uint64_t
reaped_cpu_ns(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    uint64_t us = 1000000ull * (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return 1000 * us;
}

// What the kernel counts, at least, when this daemon is reaped.
static uint64_t
child_read_cpu(const child *d)
{
    cli_cpu_time_read(d->cpu_time);
    return cli_cpu_time_leader_ns(d->cpu_time);
}

// What the kernel counted for reaped children since the last call is this daemon's, exactly, unless
// others were reaped in the same turn: then what is beyond the last readings is shared equally.
static void
child_account(child *d)
{
    cli_supervisor *s = d->supervisor;
    uint64_t fresh_ns = reaped_cpu_ns() - s->cpu_accounted_ns;
    uint64_t read_ns = child_read_cpu(d), all_read_ns = read_ns;
    uint64_t sharers = 1;
    for (uint32_t i = 0; i < s->count; i++) {
        const child *other = s->children[i];
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

// All daemons show it in their metrics.
static void
counts_tell(const cli_supervisor *s)
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

// A fault of the program itself, which the next start is likely to repeat.
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

// What the next start would say again: its configuration or its options.
static bool
is_refusal(const child *d)
{
    return d->exit_status == CLI_EXIT_REFUSED ||
           (d->exit_status == CLI_EXIT_OPTIONS && !d->runs_environment);
}

// It starts after a while. False: it has died, or could not be started, too often.
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

static void
child_died(child *d)
{
    uint64_t lived_ns = oct_clock_ns() - d->started_ns;
    bool is_early = lived_ns < CLI_CRASH_LIVED_S * 1000000000ull;
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

// Finds out if the kernel killed a daemon because memory ran out. Of several that it killed at once
// each takes one of the kills; others were of processes that a daemon started.
static void
memory_look(child *d)
{
    cli_supervisor *s = d->supervisor;
    uint64_t kills = oct_cgroup_oom_kills("");
    bool is_killed = d->exit_status == 128 + SIGKILL && !d->has_hung;
    d->was_out_of_memory = is_killed && kills != UINT64_MAX && kills > s->oom_kills;
    d->oom_kills += d->was_out_of_memory;
    s->oom_kills = d->was_out_of_memory ? s->oom_kills + 1 : kills;
}

// What a daemon's plug-in has started, and left to this process. The meter of energy is in the
// session of this process, and stays.
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
    uint64_t before_ns =
        reaped_cpu_ns(); // that of daemons which ended in the same turn is not accounted yet
    oct_family_end(live, count, true);
    s->cpu_accounted_ns += reaped_cpu_ns() - before_ns;
}

static void
process_exited(void *arg, net_process *process, int exit_status)
{
    child *d = arg;
    cli_supervisor *s = d->supervisor;
    child_account(d);
    net_process_destroy(process);
    d->process = NULL;
    d->exit_status = exit_status;
    memory_look(d);
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
    };
    if (d->pulse != NULL) {
        oct_pulse_clear(d->pulse);
        cli_watch_begin(&d->watch);
        spec.passed_fd = d->pulse_fd;
    }
    d->has_hung = false;
    d->started_ns = oct_clock_ns();
    if (net_process_start(&d->process, s->loop, &spec, process_exited, d) != OCT_OK) {
        // One that ran before has a program, which is perhaps being replaced by a new one.
        if (d->starts == 0 || !child_retry(d, CLI_NO_START, 0)) {
            child_end(d, CLI_END_NO_START);
        }
        return;
    }
    d->cpu_time = cli_cpu_time_create("", net_process_pid(d->process));
    d->starts++;
    s->running++;
    counts_tell(s);
}

// ---- whether it goes on

// A person who looks at it with a debugger has stopped it.
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

static void
child_look(child *d)
{
    cli_supervisor *s = d->supervisor;
    if (d->process == NULL || d->pulse == NULL) {
        return;
    }
    cli_watch_trouble trouble = {0};
    cli_watch_verdict verdict =
        cli_watch_look(&d->watch, d->pulse, &s->watch, oct_clock_ns(), &trouble);
    if (s->held || d->has_hung || verdict == CLI_WATCH_WELL) {
        return;
    }
    if (verdict == CLI_WATCH_HUNG) {
        if (is_traced(net_process_pid(d->process))) {
            return;
        }
        d->has_hung = true;
        d->hangs++;
        counts_tell(s);
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
        child_look(s->children[i]);
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
        // The daemon has emptied it since (oct_log_bound.h).
        .log_begin = log_bytes(s, d->log_path) < d->log_begin ? 0 : d->log_begin,
    };
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
        free(d);
    }
    free(s->folder);
    free(s);
}
