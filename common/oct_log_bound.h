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

// The log of this process itself, whoever has opened it: where its standard error is a file that it
// appends to. A second copy comes a second after the first at the earliest; what fills the log
// sooner (a plug-in that floods it) is dropped, and counted.
#define OCT_LOG_LOOK_MS 100 // from one look to the next

// From now on, if it is such a file.
void oct_log_own_begin(size_t bytes_max);
bool oct_log_own_is_bounded(void);
// now_ns: as oct_clock_ns. Returns the bytes dropped so far if this look dropped some, or 0: a line
// about them goes into the log that was just emptied.
uint64_t oct_log_own_look(uint64_t now_ns);

#endif // COMMON_OCT_LOG_BOUND_H
