#ifndef LEARNER_LEARNER_DATA_IO_H
#define LEARNER_LEARNER_DATA_IO_H

#include "learner/learner_run.h"
#include "net/net_loop.h"

// The link to the octet-replay that serves a data set beside the live one: configures it, keeps
// samples of it in flight, returns priorities.
//
// Threads: the loop thread. Owns: its link. Lost: it is asked again at every tick.
typedef struct learner_data_io learner_data_io;

typedef struct learner_data_io_options {
    net_loop *loop;
    learner_run *run; // borrowed
    const char *url;  // borrowed
    // It serves another learner of this run by now, or refuses what was asked for: detail says it.
    void (*ended)(void *arg, oct_err err, const char *detail);
    void *arg;
} learner_data_io_options;

OCT_CHECKED oct_err learner_data_io_open(learner_data_io **out,
                                         const learner_data_io_options *options);
void learner_data_io_close(learner_data_io *io); // NULL is a no-op
// Every 20 ms or so: whatever is due. is_over: the run needs it no more.
void learner_data_io_tick(learner_data_io *io, bool is_over);
// The training thread has something: priorities go out, samples are asked for.
void learner_data_io_woke(learner_data_io *io);

#endif // LEARNER_LEARNER_DATA_IO_H
