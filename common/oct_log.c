// Writes a log line with time, process, level and message id by a single write(2) to stderr.
#include "common/oct_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_failure.h"
#include "common/oct_text.h"

#define LINE_BYTES_MAX 2048 // a longer line is cut

// Set once at the start; every thread reads them.
static const char *log_name = "octet";
static oct_log_level log_most_verbose = OCT_LOG_INFO;

void
oct_log_init(const char *name, oct_log_level most_verbose)
{
    log_name = name;
    log_most_verbose = most_verbose;
}

bool
oct_log_is_on(oct_log_level level)
{
    return level <= log_most_verbose;
}

void
oct_log(oct_log_level level, const char *id, const char *format, ...)
{
    if (!oct_log_is_on(level)) {
        return;
    }
    char line[LINE_BYTES_MAX];
    uint64_t wall_us = oct_clock_wall_us();
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    size_t used = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &utc);
    used += (size_t)snprintf(line + used, sizeof(line) - used, ".%03uZ %s[%ld] %c %s ",
                             (unsigned)(wall_us / 1000 % 1000), log_name, (long)getpid(),
                             "EWNID"[level], id);
    used = OCT_MIN(used, sizeof(line) - 2); // room for the newline
    const char *message = line + used;
    va_list args;
    va_start(args, format);
    int added = vsnprintf(line + used, sizeof(line) - 1 - used, format, args);
    va_end(args);
    if (added > 0) {
        used = OCT_MIN(used + (size_t)added, sizeof(line) - 2);
    }
    // A control character in a peer's text must neither break the line nor reach a terminal.
    oct_text_tame(line, used, ' ');
    if (level == OCT_LOG_ERROR) {
        line[used] = '\0';
        oct_failure_write(OCT_FAILURE_ERROR, id, message);
    }
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; // there is no other way to report a failure
}
