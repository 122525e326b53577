#ifndef COMMON_OCT_PULSE_H
#define COMMON_OCT_PULSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The page of memory by which a process shows its supervisor that its threads make progress, what
// each of them is doing, and how many bytes of files it has moved; the supervisor writes counts of
// its own to it. Both have it mapped (docs/internals/decisions/0028): a beat costs two stores and
// no system call, and the supervisor can judge a process that is stopped or blocked.
//
// Threads: any. Each enumerator is one thread of the process, and only that thread writes its
// entry. Without a supervisor the page is private to the process, and no one reads it.

typedef enum oct_pulse_thread {
    OCT_PULSE_LOOP,   // the event loop; during start and end, the main thread
    OCT_PULSE_WORK,   // learner: training; actor: acting or evaluating
    OCT_PULSE_ENCODE, // learner: quantising and encoding policies
    OCT_PULSE_THREADS,
} oct_pulse_thread;

typedef enum oct_pulse_doing {
    OCT_PULSE_ABSENT, // the thread has not begun, or has ended
    OCT_PULSE_WORKS,  // on something that ends soon, so that a long silence means a hang
    OCT_PULSE_WAITS,  // for another part, as long as that takes
    OCT_PULSE_ENV,    // in code of an environment, which may be slow
} oct_pulse_doing;

// A beat is 4 times the number of beats so far, plus an oct_pulse_doing: one atomic word has both.
typedef struct oct_pulse_page {
    _Atomic uint64_t beat[OCT_PULSE_THREADS];
    _Atomic uint64_t writing; // number of files that are being written
    _Atomic uint64_t bytes;   // of files, read or written since the start
    // Written by the supervisor, about all processes of the run.
    _Atomic uint64_t restarts;
    _Atomic uint64_t hangs; // processes that it killed because they made no progress
} oct_pulse_page;

static inline oct_pulse_doing
oct_pulse_doing_of(uint64_t beat)
{
    return (oct_pulse_doing)(beat % 4);
}

// Says that this thread makes progress, and what it is doing from now on.
void oct_pulse_beat(oct_pulse_thread thread, oct_pulse_doing doing);
// Repeats the last beat of the calling thread. A thread that never beat does nothing.
void oct_pulse_beat_again(void);
// Returns the last beat of a thread. Each beat has a new value; oct_pulse_doing_of says what the
// thread is doing.
uint64_t oct_pulse_last_beat(oct_pulse_thread thread);
// Returns the seconds since the last beat of a thread of this process if that is what it is doing,
// else 0.
double oct_pulse_doing_s(oct_pulse_thread thread, oct_pulse_doing doing);
// Begin and end the writing of a file, during which the process is not judged by its beats alone.
void oct_pulse_write_begin(void);
void oct_pulse_write_end(void);
// Adds bytes of a file that were read, or that have reached the disk.
void oct_pulse_moved(size_t bytes);

// Uses the page behind a descriptor of oct_pulse_open from now on. The descriptor stays open,
// because the process may start itself again (exec).
OCT_CHECKED oct_err oct_pulse_join(int fd);
// False: the page is private, because there is no supervisor.
bool oct_pulse_is_joined(void);
// The supervisor's counts; 0 without a supervisor.
uint64_t oct_pulse_restarts(void);
uint64_t oct_pulse_hangs(void);

// For the supervisor: makes an empty page and its descriptor, which is passed to one process at a
// time.
OCT_CHECKED oct_err oct_pulse_open(oct_pulse_page **out, int *fd);
// Empties the page for the next process, except for the supervisor's counts.
void oct_pulse_clear(oct_pulse_page *page);
void oct_pulse_tell(oct_pulse_page *page, uint64_t restarts, uint64_t hangs);
void oct_pulse_close(oct_pulse_page *page, int fd); // NULL is a no-op

#endif // COMMON_OCT_PULSE_H
