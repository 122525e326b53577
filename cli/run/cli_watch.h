#ifndef CLI_RUN_CLI_WATCH_H
#define CLI_RUN_CLI_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_pulse.h"

// Judges by what a daemon shows of itself (common/oct_pulse.h) whether it makes progress.
//
// A thread that works must beat within hang_s, a thread in code of an environment within
// env_hang_s. A thread that waits for another part may wait forever. Bytes of files that the
// process reads or writes count as progress of its event loop, which moves them or waits for the
// thread that does; the other threads use no files. Only time in which the supervisor itself ran
// counts: after a longer pause between two checks (the machine slept, the supervisor was stopped)
// all times start at 0 again.
//
// Threads: one user. A cli_watch is a plain value and begins zeroed. The clock is an argument.

#define CLI_WATCH_GAP_S 5.0 // a longer time between two checks is a pause

typedef struct cli_watch_rule {
    double hang_s, env_hang_s; // 0: no limit
} cli_watch_rule;

typedef enum cli_watch_verdict {
    CLI_WATCH_WELL,
    CLI_WATCH_QUIET, // half of the time has passed; reported once
    CLI_WATCH_BACK,  // it was quiet, and makes progress again
    CLI_WATCH_HUNG,
} cli_watch_verdict;

typedef struct cli_watch {
    uint64_t beat[OCT_PULSE_THREADS];   // of each thread, at the last check
    double silent_s[OCT_PULSE_THREADS]; // since the thread's beat changed
    uint64_t bytes;                     // of files, at the last check
    double bytes_silent_s;              // since a byte of a file moved
    uint64_t checked_ns;                // time of the last check; 0: none so far
    bool is_quiet; // CLI_WATCH_QUIET was reported, and the daemon is still quiet
} cli_watch;

// The thread that is quiet or hangs, filled in with CLI_WATCH_QUIET and CLI_WATCH_HUNG.
typedef struct cli_watch_trouble {
    oct_pulse_thread thread;
    double silent_s, limit_s;
    bool in_environment;
} cli_watch_trouble;

// Judges the daemon. now_ns is of a clock that stands still while the machine sleeps
// (CLOCK_MONOTONIC).
cli_watch_verdict cli_watch_check(cli_watch *watch, const oct_pulse_page *page,
                                  const cli_watch_rule *rule, uint64_t now_ns,
                                  cli_watch_trouble *trouble);
// A new process uses the page from now on.
void cli_watch_begin(cli_watch *watch);
// Returns true if the daemon is writing a file, and a byte of a file moved within hang_s.
bool cli_watch_is_writing(const cli_watch *watch, const oct_pulse_page *page,
                          const cli_watch_rule *rule);
// Returns true if the working thread is doing something that ends by itself, and began it within
// hang_s.
bool cli_watch_is_working(const cli_watch *watch, const oct_pulse_page *page,
                          const cli_watch_rule *rule);
// Names the thread: "its working thread", "its environment".
const char *cli_watch_trouble_text(const cli_watch_trouble *trouble);

#endif // CLI_RUN_CLI_WATCH_H
