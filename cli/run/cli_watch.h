#ifndef CLI_RUN_CLI_WATCH_H
#define CLI_RUN_CLI_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_pulse.h"

// Whether a daemon goes on, judged by what it shows of itself (common/oct_pulse.h).
//
// A thread that works has to beat within hang_s, one in code of an environment within env_hang_s;
// one that waits for another part may wait for ever. Bytes of a file that the process reads or
// writes are progress of its event loop, which moves them or waits for the thread that does; the
// other threads have no files. Only time counts in which the supervisor itself ran: a
// longer pause between two looks (the machine slept, the supervisor was stopped) begins anew.
//
// Threads: one user. Plain values, a cli_watch begins zeroed. Clocks are arguments.

#define CLI_WATCH_GAP_S 5.0 // between two looks, that is a pause

typedef struct cli_watch_rule {
    double hang_s, env_hang_s; // 0: for ever
} cli_watch_rule;

typedef enum cli_watch_verdict {
    CLI_WATCH_WELL,
    CLI_WATCH_QUIET, // half of the time is over: said once
    CLI_WATCH_BACK,  // it was quiet, and goes on
    CLI_WATCH_HUNG,
} cli_watch_verdict;

typedef struct cli_watch {
    uint64_t beat[OCT_PULSE_THREADS];
    double silent_s[OCT_PULSE_THREADS];
    uint64_t bytes;
    double bytes_silent_s; // since a byte of a file moved
    uint64_t looked_ns;    // 0: not yet
    bool is_quiet;
} cli_watch;

// What is the matter, with CLI_WATCH_QUIET and CLI_WATCH_HUNG.
typedef struct cli_watch_trouble {
    oct_pulse_thread thread;
    double silent_s, limit_s;
    bool in_environment;
} cli_watch_trouble;

// now_ns: of a clock that stands still while the machine sleeps (CLOCK_MONOTONIC).
cli_watch_verdict cli_watch_look(cli_watch *watch, const oct_pulse_page *page,
                                 const cli_watch_rule *rule, uint64_t now_ns,
                                 cli_watch_trouble *trouble);
// A new process has the page.
void cli_watch_begin(cli_watch *watch);
// Whether it writes a file and a byte of one moved within hang_s.
bool cli_watch_is_writing(const cli_watch *watch, const oct_pulse_page *page,
                          const cli_watch_rule *rule);
// Whether its working thread is at something that ends by itself, and began it within hang_s.
bool cli_watch_is_working(const cli_watch *watch, const oct_pulse_page *page,
                          const cli_watch_rule *rule);
// "its training thread", "its environment".
const char *cli_watch_trouble_text(const cli_watch_trouble *trouble);

#endif // CLI_RUN_CLI_WATCH_H
