#ifndef LEARNER_LEARNER_IO_H
#define LEARNER_LEARNER_IO_H

#include "common/oct_prometheus.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "learner/learner_group.h"
#include "learner/learner_lock.h"
#include "net/net_loop.h"

// The learner daemon's network side: serves actors, publishes policies, samples from replay.
//
// Threads: the loop thread. Owns: the run, all links.
typedef struct learner_io learner_io;

typedef struct learner_io_options {
    const config_experiment *config; // borrowed; net.learner and net.replay are its addresses
    const char *folder;              // of the run; exists
    bool resume;
    const char *environment;  // of learner_run_options
    const learner_lock *lock; // of the folder, borrowed
    double evaluator_wait_s;  // of learner_run_options
    learner_group *lg;        // of learner_run_options
} learner_io_options;

// Opens the sockets and the run. Errors, each with one line in reason:
//   OCT_EAGAIN a listening address is in use or not available yet (logged); a retry may succeed
//   OCT_EIO    the folder cannot be written
//   OCT_EPROTO the checkpoint is damaged or of another release
//   OCT_EINVAL the same, or an address is invalid
OCT_CHECKED oct_err learner_io_open(learner_io **out, net_loop *loop,
                                    const learner_io_options *options, oct_reason *why);
// Asks the run to end at once and to be saved; the loop stops by itself soon after.
void learner_io_stop(learner_io *io, const char *reason);
void learner_io_close(learner_io *io);
int learner_io_exit_code(const learner_io *io);
// Returns true if the loop ended so that the process restarts itself with --resume.
bool learner_io_starts_over(const learner_io *io);

// Callbacks for net_metrics; arg is the learner_io. Trouble is: a replay that does not answer while
// it is needed, files that cannot be written, a run that has ended. Waiting for actors is no
// trouble.
void learner_io_prometheus(void *arg, oct_prometheus *text);
const char *learner_io_trouble(void *arg);

#endif // LEARNER_LEARNER_IO_H
