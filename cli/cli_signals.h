#ifndef CLI_CLI_SIGNALS_H
#define CLI_CLI_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "net/net_loop.h"

// The signals that ask a command to save and end: SIGINT, SIGTERM, and SIGHUP unless the command
// was started with SIGHUP ignored (nohup). Threads: the main thread.

// Calls stop, on the loop, for each of these signals.
OCT_CHECKED oct_err cli_signals_watch(net_loop *loop, net_signal_fn stop, void *arg);

// For commands without a loop: the first signal is only recorded. A second one of the same number
// ends the process.
void cli_signals_note(void);
const _Atomic(int) *cli_signals_noted(void); // number of the signal; 0: none came
// Prints that a signal ended the command. Returns the exit code, 128 + its number.
int cli_signals_stopped(const char *command);

// Blocks these signals, from the first effect of a command until its handlers are installed; a
// signal that came meanwhile is then handled. Applies to the calling thread and the threads that it
// starts.
void cli_signals_hold(bool is_held);

#endif // CLI_CLI_SIGNALS_H
