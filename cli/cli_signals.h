#ifndef CLI_CLI_SIGNALS_H
#define CLI_CLI_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

// The signals that ask a command to save what it has and end: SIGINT, SIGTERM, and SIGHUP where
// whoever started the command did not have it ignored (nohup). Call before SIGHUP is handled.
// Threads: any. Their number is returned.
#define CLI_SIGNALS_MAX 3
uint32_t cli_signals_stopping(int number[CLI_SIGNALS_MAX]);

// Keeps them waiting, from the first thing that a command leaves behind until its handlers are
// there; then one that has come is handled. Of the calling thread and those that it starts.
void cli_signals_hold(bool is_held);

#endif // CLI_CLI_SIGNALS_H
