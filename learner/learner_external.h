#ifndef LEARNER_LEARNER_EXTERNAL_H
#define LEARNER_LEARNER_EXTERNAL_H

#include "algos/algo_external.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "policy/policy_spec.h"

// The connection to the external process that learns in a run of algo.name: external
// (include/octet/learner.h): a socket in the run folder, which only the run's user may open, and
// memory that both processes map. Only one process learns at a time; a second one is refused with a
// reason. If the process disconnects, its batch waits up to algo.client_wait_s for another process.
//
// Threads: the training thread learns; the loop thread does all else. Owns: the socket and the
// memory.
typedef struct learner_external learner_external;

// Listens in the folder. a is an algorithm of algo.name: external, borrowed and only read: batches
// are numbered from its count of updates on, and each process that learns begins with its
// parameters. OCT_EINVAL, OCT_EIO: reason is for a person.
OCT_CHECKED oct_err learner_external_open(learner_external **out, const config_experiment *config,
                                          const policy_spec *spec, const algo_wants *wants,
                                          const algo *a, const char *folder, oct_reason *why);
// The functions for algo_external_set_learner. learn returns OCT_EAGAIN once learner_external_stop
// was called, or if no process connected in time.
algo_external_learner learner_external_learner(learner_external *x);
// Makes the call that learns or waits return soon, and every later call at once.
void learner_external_stop(learner_external *x);
// Returns true if no process connected in time, so that the run must end.
bool learner_external_is_lost(const learner_external *x);
// Sends the learning process the reason why there are no more batches, and stops listening. The
// training thread must have stopped.
void learner_external_end(learner_external *x, const char *reason);
void learner_external_close(learner_external *x); // NULL is a no-op; ends first if not ended

#endif // LEARNER_LEARNER_EXTERNAL_H
