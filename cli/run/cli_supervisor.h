#ifndef CLI_RUN_CLI_SUPERVISOR_H
#define CLI_RUN_CLI_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/run/cli_backoff.h"
#include "cli/run/cli_watch.h"
#include "common/oct_failure.h"
#include "net/net_loop.h"

// Runs the daemons of one run as child processes: starts them, restarts a daemon that dies
// (cli_backoff.h) or hangs (cli_watch.h; it is killed first), ends them all, and knows the CPU time
// of each. cli_supervisor.c begins with how it works.
//
// Threads: loop thread. Owns: copies of names and arguments. Order: add, start, then kill until
// on_gone, then destroy, so that no child outlives the supervisor.
typedef struct cli_supervisor cli_supervisor;

// Exit codes with which a daemon refuses its configuration, its files or its options. Starting it
// again cannot help.
#define CLI_EXIT_REFUSED    3
#define CLI_EXIT_OPTIONS    2
#define CLI_NO_START        (-1) // in place of an exit status: the program could not be started
#define CLI_DAEMON_ARGS_MAX 18   // most arguments, with `again`
#define CLI_PULSE_OPTIONS   "--pulse", "3" // NET_PROCESS_FD
#define CLI_DAEMONS_MAX     260

typedef struct cli_daemon_request {
    const char *name;        // unique: "actor-0"; the log is log/NAME.log
    const char *file;        // absolute path
    const char *const *argv; // NULL-terminated
    const char *again; // an argument that is appended when the daemon starts again; NULL: none
    bool may_finish;   // exit code 0 means that it is done, and is no death
    bool has_pulse;    // it takes CLI_PULSE_OPTIONS and shows its progress there
    bool one_of_many;  // an actor: the run continues while another daemon of this kind is left
    // it runs code of others, which may call exit: any death of its own counts as a crash
    bool runs_environment;
} cli_daemon_request;

typedef enum cli_end {
    CLI_END_FINISHED,  // exit code 0 of a daemon that may finish
    CLI_END_REFUSED,   // it exited with CLI_EXIT_REFUSED or CLI_EXIT_OPTIONS
    CLI_END_TOO_OFTEN, // it died more often than cli_backoff allows
    CLI_END_CRASHES,   // it crashed CLI_CRASHES_MAX times in a row
    CLI_END_NO_START,  // it could not be started, or not again as often as cli_backoff allows
} cli_end;

// daemon is the index that cli_supervisor_add returned.
typedef struct cli_supervisor_events {
    // A daemon died and starts again after delay_ms. exit_status is its exit code, or 128 + signal.
    // CLI_NO_START: it could not be started again, and is tried once more.
    void (*on_death)(void *arg, uint32_t daemon, int exit_status, uint32_t delay_ms);
    // By its page a daemon is quiet, makes progress again, or hangs. If it hangs it is killed, and
    // its death follows.
    void (*on_watch)(void *arg, uint32_t daemon, cli_watch_verdict verdict,
                     const cli_watch_trouble *trouble);
    // A daemon ended and will not start again. Not called after cli_supervisor_hold.
    void (*on_end)(void *arg, uint32_t daemon, int exit_status, cli_end why);
    // After cli_supervisor_hold: one more daemon exited.
    void (*on_exit)(void *arg, uint32_t daemon, int exit_status);
    // After cli_supervisor_hold: no daemon is left.
    void (*on_gone)(void *arg);
    void *arg;
} cli_supervisor_events;

// A program that crashes CLI_CRASHES_MAX times in a row, each time within CLI_CRASH_LIVED_S of its
// start, would crash again.
#define CLI_CRASHES_MAX   5u
#define CLI_CRASH_LIVED_S 10u

// 0.1 s, 0.2 s … 5 s between starts; after ten deaths in a minute, the next is the last.
extern const cli_backoff_rule cli_supervisor_backoff;

typedef struct cli_daemon_report {
    const char *name;
    double cpu_s;      // of all its starts and what they started, as last read (cli_cpu_time.h)
    uint64_t resident; // bytes of memory, as last read (cli_cpu_time_resident); 0: not running
    uint32_t starts;   // 1: never restarted
    uint32_t hangs;    // times that it was killed because it hung
    bool one_of_many;
    bool given_up;          // it died too often or could not be started, and stays away
    bool has_hung;          // the last time it ended, it was killed because it hung
    bool was_out_of_memory; // the last time it ended, the kernel had killed it for want of memory
    uint32_t oom_kills;     // ends of that kind
    int exit_status;        // of the last exit; -1: it has not exited
    bool running;
    long log_begin; // bytes of its log before this run
} cli_daemon_report;

// Makes this process adopt orphans (oct_family.h). folder: the run folder, absolute; the daemons'
// working folder. The rules and events are copied.
cli_supervisor *cli_supervisor_create(net_loop *loop, const char *folder,
                                      const cli_backoff_rule *backoff, const cli_watch_rule *watch,
                                      const cli_supervisor_events *events);
// Adds a daemon. Returns its index, from 0 in the order of the calls.
uint32_t cli_supervisor_add(cli_supervisor *supervisor, const cli_daemon_request *request);
void cli_supervisor_start(cli_supervisor *supervisor);
// Restarts nothing from now on, and reports exits by on_exit.
void cli_supervisor_hold(cli_supervisor *supervisor);
// Sends a signal to one daemon, or to all that run.
void cli_supervisor_kill_one(cli_supervisor *supervisor, uint32_t daemon, int signal_number);
void cli_supervisor_kill(cli_supervisor *supervisor, int signal_number);
// Checks that the daemons make progress, and finds the processes that they have started. Call this
// a few times a second.
void cli_supervisor_sample(cli_supervisor *supervisor);
// Reads the CPU time of the daemons. This also happens before a daemon is killed, after it has
// ended, and at some of the samples.
void cli_supervisor_read_cpu(cli_supervisor *supervisor);
// Returns true if a daemon is writing a file and makes progress (cli_watch_is_writing). *bytes:
// bytes of files that it has moved since it started.
bool cli_supervisor_is_writing(const cli_supervisor *supervisor, uint32_t daemon, uint64_t *bytes);
// Returns true if the daemon's working thread is doing something that ends by itself
// (cli_watch_is_working).
bool cli_supervisor_is_working(const cli_supervisor *supervisor, uint32_t daemon);
uint32_t cli_supervisor_count(const cli_supervisor *supervisor);
uint32_t cli_supervisor_running(const cli_supervisor *supervisor);
uint32_t cli_supervisor_restarts(const cli_supervisor *supervisor);
uint32_t cli_supervisor_given_up(const cli_supervisor *supervisor);
// Returns how many daemons that are one of many are not given up. *of: how many there are.
uint32_t cli_supervisor_left(const cli_supervisor *supervisor, uint32_t *of);
cli_daemon_report cli_supervisor_report(const cli_supervisor *supervisor, uint32_t daemon);
// Reads what a daemon, or the process before it, recorded about its failure (oct_failure.h).
// Returns false if it recorded nothing.
bool cli_supervisor_failure(const cli_supervisor *supervisor, uint32_t daemon,
                            oct_failure_kind kind, oct_failure *out);
// No daemon may be running. NULL is a no-op.
void cli_supervisor_destroy(cli_supervisor *supervisor);

#endif // CLI_RUN_CLI_SUPERVISOR_H
