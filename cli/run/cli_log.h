#ifndef CLI_RUN_CLI_LOG_H
#define CLI_RUN_CLI_LOG_H

#include <stdbool.h>
#include <stddef.h>

// Bounds a log that a daemon has open and appends to. When NAME.log is larger than bytes_max, its
// bytes go to NAME.first.log, if there is none yet, or else to NAME.previous.log, which is
// replaced; NAME.log is empty then. So the oldest and the newest lines stay, in about three times
// bytes_max. Of a log that has grown beyond twice as much until it is looked at, the last bytes_max
// go there. A line that is written in the instant between the copy and the emptying is lost.
//
// Threads: main thread. Errors: when there is no room for the copy, the log stays as it is.

#define CLI_LOG_BYTES_MAX (8u << 20)

// path ends in ".log". True: it is empty now.
bool cli_log_bound(const char *path, size_t bytes_max);

#endif // CLI_RUN_CLI_LOG_H
