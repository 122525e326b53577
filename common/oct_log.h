#ifndef COMMON_OCT_LOG_H
#define COMMON_OCT_LOG_H

#include <stdbool.h>

#include "common/oct_base.h"

// One line to stderr by one write(2):
//   2026-01-31T12:00:00.123Z replay[4711] W REPLAY-STALL inserts=120000 waited_ms=5012
// id is stable: alerts and tests look for it, docs/reference.md lists each. Only shells
// (*_main.c, *_io.c, cli/) log; cores return errors. An error is recorded for the parent process,
// too (oct_failure.h). Threads: any.
typedef enum oct_log_level {
    OCT_LOG_ERROR,  // a person must act
    OCT_LOG_WARN,   // a person should know
    OCT_LOG_NOTICE, // once per start, stop, checkpoint
    OCT_LOG_INFO,   // per minute at most
    OCT_LOG_DEBUG,  // off unless asked for
} oct_log_level;

// name is borrowed for the life of the process. Call once, before other threads start.
void oct_log_init(const char *name, oct_log_level most_verbose);
// Returns true if lines of that level are written, so that a caller need not compute what would not
// be.
bool oct_log_is_on(oct_log_level level);
void oct_log(oct_log_level level, const char *id, const char *format, ...) OCT_PRINTF(3, 4);

#define oct_log_error(...)  oct_log(OCT_LOG_ERROR, __VA_ARGS__)
#define oct_log_warn(...)   oct_log(OCT_LOG_WARN, __VA_ARGS__)
#define oct_log_notice(...) oct_log(OCT_LOG_NOTICE, __VA_ARGS__)
#define oct_log_info(...)   oct_log(OCT_LOG_INFO, __VA_ARGS__)
#define oct_log_debug(...)  oct_log(OCT_LOG_DEBUG, __VA_ARGS__)

#endif // COMMON_OCT_LOG_H
