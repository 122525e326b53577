#ifndef COMMON_OCT_LOG_BOUND_H
#define COMMON_OCT_LOG_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bounds a log that processes append to. When NAME.log is larger than bytes_max, its bytes go to
// NAME.first.log, if there is none yet, or else to NAME.previous.log, which is replaced; NAME.log
// is empty then. So the oldest and the newest lines stay, in about three times bytes_max. Of a log
// that has grown beyond twice as much until it is looked at, the last bytes_max go there. A line
// that is written in the instant between the copy and the emptying is lost. A name without ".log"
// gets the word at its end.
//
// Threads: one thread of a process at a time. Several processes may bound one log. Errors: when
// there is no room for the copy, the log stays as it is.

#define OCT_LOG_BYTES_MAX (8u << 20)

// True: it is empty now.
bool oct_log_bound(const char *path, size_t bytes_max);

// Bounds the log of this process: its standard error, if that is a file that it appends to. At
// least a second passes between two copies. What fills the log sooner, for example from a plug-in
// that floods it, is dropped and counted.
#define OCT_LOG_LOOK_MS 100 // between two calls of oct_log_own_look

// Starts this, if standard error is such a file.
void oct_log_own_begin(size_t bytes_max);
bool oct_log_own_is_bounded(void);
// now_ns: as oct_clock_ns. Returns the bytes dropped so far if this look dropped some, or 0: a line
// about them goes into the log that was just emptied.
uint64_t oct_log_own_look(uint64_t now_ns);

#endif // COMMON_OCT_LOG_BOUND_H
