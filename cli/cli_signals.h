#ifndef CLI_CLI_SIGNALS_H
#define CLI_CLI_SIGNALS_H

#include <stdint.h>

// The signals that ask a command to save what it has and end: SIGINT, SIGTERM, and SIGHUP where
// whoever started the command did not have it ignored (nohup). Call before SIGHUP is handled.
// Threads: any. Their number is returned.
#define CLI_SIGNALS_MAX 3
uint32_t cli_signals_stopping(int number[CLI_SIGNALS_MAX]);

#endif // CLI_CLI_SIGNALS_H
