#ifndef COMMON_OCT_PULSE_H
#define COMMON_OCT_PULSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// What a process shows whoever supervises it: that its threads go on, what each of them does, and
// how many bytes of files it has moved; and what the supervisor tells it. A page of memory that
// both have mapped (docs/internals/decisions/0028): showing costs two stores and no call, and a
// process that is stopped or blocked can be judged without its help.
//
// Threads: any; each of the named threads is one thread of the process, and only it beats its own
// place. Without a supervisor the page is the process's own, and nobody looks.

typedef enum oct_pulse_thread {
    OCT_PULSE_LOOP,   // the event loop; while starting and ending the main thread
    OCT_PULSE_WORK,   // learner: training; actor: acting or evaluating
    OCT_PULSE_ENCODE, // learner: quantising and encoding policies
    OCT_PULSE_THREADS,
} oct_pulse_thread;

typedef enum oct_pulse_doing {
    OCT_PULSE_ABSENT, // has not begun, or has ended
    OCT_PULSE_WORKS,  // on something that ends soon
    OCT_PULSE_WAITS,  // for another part, for as long as that takes
    OCT_PULSE_ENV,    // in code of an environment
} oct_pulse_doing;

// One place a thread: how often it beat, times 4, plus what it does.
typedef struct oct_pulse_page {
    _Atomic uint64_t beat[OCT_PULSE_THREADS];
    _Atomic uint64_t writing; // files that are being written now
    _Atomic uint64_t bytes;   // of files, read or written, ever
    // The supervisor's own, about all processes of the run.
    _Atomic uint64_t restarts;
    _Atomic uint64_t hangs; // processes that it killed since they did not go on
} oct_pulse_page;

static inline oct_pulse_doing
oct_pulse_doing_of(uint64_t beat)
{
    return (oct_pulse_doing)(beat % 4);
}

// This thread goes on, and does that from now on.
void oct_pulse_beat(oct_pulse_thread thread, oct_pulse_doing doing);
// Renews the last beat of the calling thread. Does nothing in a thread that has none.
void oct_pulse_beat_again(void);
// The last beat of a thread: it changes with each, and oct_pulse_doing_of reads it.
uint64_t oct_pulse_last_beat(oct_pulse_thread thread);
// Seconds since a thread of this process beat, if it does that; otherwise 0.
double oct_pulse_doing_s(oct_pulse_thread thread, oct_pulse_doing doing);
// A file is being written from here on, until the end.
void oct_pulse_write_begin(void);
void oct_pulse_write_end(void);
// Bytes of a file were read or have reached the disk.
void oct_pulse_moved(size_t bytes);

// Shows it on the page behind a descriptor of oct_pulse_open from now on. The descriptor stays
// open, so that the process may start itself anew.
OCT_CHECKED oct_err oct_pulse_join(int fd);
// False: what this process shows is seen by nobody.
bool oct_pulse_is_joined(void);
// What the supervisor told; 0 without one.
uint64_t oct_pulse_restarts(void);
uint64_t oct_pulse_hangs(void);

// The supervisor's side: an empty page, and the descriptor to hand to one process at a time.
OCT_CHECKED oct_err oct_pulse_open(oct_pulse_page **out, int *fd);
// For the next process: as if just opened, but for what the supervisor told.
void oct_pulse_clear(oct_pulse_page *page);
void oct_pulse_tell(oct_pulse_page *page, uint64_t restarts, uint64_t hangs);
void oct_pulse_close(oct_pulse_page *page, int fd); // NULL is a no-op

#endif // COMMON_OCT_PULSE_H
