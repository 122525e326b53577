#ifndef LEARNER_LEARNER_IO_H
#define LEARNER_LEARNER_IO_H

#include "common/oct_config.h"
#include "common/oct_prometheus.h"
#include "learner/learner_group.h"
#include "learner/learner_lock.h"
#include "net/net_loop.h"

// The learner daemon's network side: serves actors, publishes policies, samples from replay.
//
// Threads: the loop thread. Owns: the run, all links.
typedef struct learner_io learner_io;

typedef struct learner_io_options {
    const oct_config *config; // borrowed; net.learner and net.replay are its addresses
    const char *folder;       // of the run; exists
    bool resume;
    const char *environment;  // of learner_run_options
    const learner_lock *lock; // of the folder, borrowed
    double evaluator_wait_s;  // of learner_run_options
    learner_group *lg;        // of learner_run_options
} learner_io_options;

// OCT_EAGAIN: an address cannot be listened on (logged), which may pass; OCT_EIO: the folder cannot
// be written; OCT_EPROTO, OCT_EINVAL: the checkpoint, or no such address. One line in reason.
OCT_CHECKED oct_err learner_io_open(learner_io **out, net_loop *loop,
                                    const learner_io_options *options, char *reason,
                                    size_t reason_size);
// Asks the run to end at once and be saved; the loop stops by itself soon after.
void learner_io_stop(learner_io *io, const char *reason);
void learner_io_close(learner_io *io);
int learner_io_exit_code(const learner_io *io);
// The loop ended so that the process starts itself anew, with --resume.
bool learner_io_starts_over(const learner_io *io);

// For net_metrics; arg is the learner_io. Trouble: a replay that does not answer while it is
// needed, files that cannot be written, a run that is over. Waiting for actors is none.
void learner_io_prometheus(void *arg, oct_prometheus *text);
const char *learner_io_trouble(void *arg);

#endif // LEARNER_LEARNER_IO_H
