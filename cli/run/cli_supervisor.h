#ifndef CLI_RUN_CLI_SUPERVISOR_H
#define CLI_RUN_CLI_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/run/cli_backoff.h"
#include "cli/run/cli_watch.h"
#include "net/net_loop.h"

// The daemons of one run as child processes: starts them, restarts one that dies (cli_backoff) or
// hangs (cli_watch: it is killed first), ends them all, and knows what CPU time each used.
//
// Threads: loop thread. Owns: copies of names and arguments. Order: add … start … kill until
// on_gone, then destroy, so that no child outlives it.
typedef struct cli_supervisor cli_supervisor;

// A daemon that exits with one of these refuses its configuration, its files or its options:
// starting it again cannot help.
#define CLI_EXIT_REFUSED    3
#define CLI_EXIT_OPTIONS    2
#define CLI_NO_START        (-1)
#define CLI_DAEMON_ARGS_MAX 18
#define CLI_PULSE_OPTIONS   "--pulse", "3" // NET_PROCESS_FD
#define CLI_DAEMONS_MAX     260

typedef struct cli_daemon_request {
    const char *name;        // unique: "actor-0"; it logs to log/NAME.log
    const char *file;        // absolute path
    const char *const *argv; // NULL-terminated
    const char *again;       // one more argument when it is started again, or NULL
    bool may_finish;         // exit code 0 is its end, not a death
    bool has_pulse;          // it takes CLI_PULSE_OPTIONS, and shows there that it goes on
    bool one_of_many;        // an actor: the run goes on while another such daemon is left
    bool runs_environment;   // code of others, which may call exit: any death of its own is a crash
} cli_daemon_request;

typedef enum cli_end {
    CLI_END_FINISHED,  // exit code 0 of one that may finish
    CLI_END_REFUSED,   // CLI_EXIT_REFUSED, CLI_EXIT_OPTIONS
    CLI_END_TOO_OFTEN, // died more often than cli_backoff allows
    CLI_END_CRASHES,   // crashed CLI_CRASHES_MAX times in a row
    CLI_END_NO_START,  // could not be started at all, or not again as often as cli_backoff allows
} cli_end;

typedef struct cli_supervisor_events {
    // It died and starts again after delay_ms. exit_status: code, or 128 + signal; CLI_NO_START: it
    // could not be started again, and is tried once more.
    void (*on_death)(void *arg, uint32_t daemon, int exit_status, uint32_t delay_ms);
    // What it shows says that it is quiet, goes on again, or hangs; then it is killed, and its
    // death follows.
    void (*on_watch)(void *arg, uint32_t daemon, cli_watch_verdict verdict,
                     const cli_watch_trouble *trouble);
    // It ended and will not start again. Not called once stopping.
    void (*on_end)(void *arg, uint32_t daemon, int exit_status, cli_end why);
    // After cli_supervisor_hold: one more exited.
    void (*on_exit)(void *arg, uint32_t daemon, int exit_status);
    // After cli_supervisor_hold: no child is left.
    void (*on_gone)(void *arg);
    void *arg;
} cli_supervisor_events;

// A program that crashes so often in a row, each time within CLI_CRASH_LIVED_S, will crash again.
#define CLI_CRASHES_MAX   5u
#define CLI_CRASH_LIVED_S 10u

// 0.1 s, 0.2 s … 5 s; ten times in a minute is the end.
extern const cli_backoff_rule cli_supervisor_backoff;

typedef struct cli_daemon_report {
    const char *name;
    double cpu_s;      // as last read: of all its starts, with what it started (cli_cpu_time.h)
    uint64_t resident; // bytes of memory, as last read (cli_cpu_time_resident); 0: not running
    uint32_t starts;   // 1: never restarted
    uint32_t hangs;    // that it was killed for
    bool one_of_many;
    bool given_up;          // it died too often, or could not be started: it stays away
    bool has_hung;          // the last time that it ended
    bool was_out_of_memory; // the last time that it ended: the kernel killed it
    uint32_t oom_kills;     // ends of that kind
    int exit_status;        // the last; -1 while it has not exited
    bool running;
    long log_begin; // bytes that its log held before this run
} cli_daemon_report;

cli_supervisor *cli_supervisor_create(net_loop *loop, const char *folder,
                                      const cli_backoff_rule *backoff, const cli_watch_rule *watch,
                                      const cli_supervisor_events *events);
uint32_t cli_supervisor_add(cli_supervisor *supervisor, const cli_daemon_request *request);
void cli_supervisor_start(cli_supervisor *supervisor);
// From now on nothing is restarted.
void cli_supervisor_hold(cli_supervisor *supervisor);
// To one, or to all that run.
void cli_supervisor_kill_one(cli_supervisor *supervisor, uint32_t daemon, int signal_number);
void cli_supervisor_kill(cli_supervisor *supervisor, int signal_number);
// Checks that the daemons make progress, and finds the processes that they have started. Call it a
// few times a second.
void cli_supervisor_sample(cli_supervisor *supervisor);
// Reads what CPU time the daemons have used. That is done, too, before a daemon is killed, when it
// has ended, and by some of the samples.
void cli_supervisor_read_cpu(cli_supervisor *supervisor);
// Whether a daemon is writing a file and gets on with it (cli_watch_is_writing); bytes that it has
// moved since it began.
bool cli_supervisor_is_writing(const cli_supervisor *supervisor, uint32_t daemon, uint64_t *bytes);
// Whether its working thread is at something that ends by itself (cli_watch_is_working).
bool cli_supervisor_is_working(const cli_supervisor *supervisor, uint32_t daemon);
uint32_t cli_supervisor_count(const cli_supervisor *supervisor);
uint32_t cli_supervisor_running(const cli_supervisor *supervisor);
uint32_t cli_supervisor_restarts(const cli_supervisor *supervisor);
uint32_t cli_supervisor_given_up(const cli_supervisor *supervisor);
// Daemons of which each is one of many that are not given up, out of so many.
uint32_t cli_supervisor_left(const cli_supervisor *supervisor, uint32_t *of);
cli_daemon_report cli_supervisor_report(const cli_supervisor *supervisor, uint32_t daemon);
void cli_supervisor_destroy(cli_supervisor *supervisor);

#endif // CLI_RUN_CLI_SUPERVISOR_H
