#ifndef CLI_CLI_SIGNALS_H
#define CLI_CLI_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "net/net_loop.h"

// The signals that ask a command to save what it has and end: SIGINT, SIGTERM, and SIGHUP where
// whoever started the command did not have it ignored (nohup). Threads: the main thread.

// They call stop on the loop.
OCT_CHECKED oct_err cli_signals_watch(net_loop *loop, net_signal_fn stop, void *arg);

// For commands without a loop: the first of them is only noted; a second one of the same number
// ends the process.
void cli_signals_note(void);
const _Atomic(int) *cli_signals_noted(void); // its number; 0: none has come
// Says that the command ended by it; gives the exit code, 128 and its number.
int cli_signals_stopped(const char *command);

// Keeps them waiting, from the first thing that a command leaves behind until its handlers are
// there; then one that has come is handled. Of the calling thread and those that it starts.
void cli_signals_hold(bool is_held);

#endif // CLI_CLI_SIGNALS_H
