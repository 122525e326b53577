#ifndef COMMON_OCT_LOG_BOUND_H
#define COMMON_OCT_LOG_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bounds a log that processes append to. When NAME.log exceeds bytes_max, its content moves to
// NAME.first.log if that does not exist, else to NAME.previous.log, which is replaced; then
// NAME.log is emptied. So the oldest and the newest lines stay, in about three times bytes_max. If
// the log exceeds twice bytes_max before that happens, only its last bytes_max are moved. A line
// that a process writes between the copy and the emptying is lost. If the name has no ".log", the
// word is appended to it.
//
// Threads: one thread of a process at a time. Several processes may bound the same log. Errors: if
// the copy fails (no space, for example), the log stays as it is.

#define OCT_LOG_BYTES_MAX (8u << 20)

// Returns true if the log was moved, so that it is empty now.
bool oct_log_bound(const char *path, size_t bytes_max);

// Bounds the log of this process: its standard error, if that is a file that it appends to. Two
// copies are at least a second apart. If the log fills faster than that, because a plug-in floods
// it for example, the excess is dropped and counted.
#define OCT_LOG_LOOK_MS 100 // between two calls of oct_log_own_look

// Begins this, if standard error is such a file.
void oct_log_own_begin(size_t bytes_max);
bool oct_log_own_is_bounded(void);
// now_ns: as oct_clock_ns. Returns all bytes dropped so far if this call dropped some, else 0. The
// caller logs the number into the log that was just emptied.
uint64_t oct_log_own_look(uint64_t now_ns);

#endif // COMMON_OCT_LOG_BOUND_H
