#ifndef LEARNER_LEARNER_EXTERNAL_H
#define LEARNER_LEARNER_EXTERNAL_H

#include "algos/algo_external.h"
#include "common/oct_config.h"
#include "policy/policy_spec.h"

// The process that learns in a run of algo.name: external (include/octet/learner.h), as the learner
// sees it: a socket in the run folder, which only the run's user may open, and memory that both
// have mapped. One process learns at a time; another is refused in words. Where it goes, a batch
// waits for the next one, for algo.client_wait_s.
//
// Threads: the training thread learns; the loop thread does all else. Owns: socket and memory.
typedef struct learner_external learner_external;

// Listens in the folder, for an algorithm of algo.name: external, which is borrowed and only read:
// batches are numbered from its updates on, and each process that learns begins with its
// parameters. OCT_EINVAL, OCT_EIO: a reason for a person.
OCT_CHECKED oct_err learner_external_open(learner_external **out, const oct_config *config,
                                          const policy_spec *spec, const algo_wants *wants,
                                          const algo *a, const char *folder, char *reason,
                                          size_t reason_size);
// For algo_external_set_learner. learn is OCT_EAGAIN once learner_external_stop was called, or when
// nobody came in time.
algo_external_learner learner_external_learner(learner_external *x);
// A batch that is learned from, or waits, ends soon, and so do all after it.
void learner_external_stop(learner_external *x);
// Nobody came in time: the run is to end.
bool learner_external_is_lost(const learner_external *x);
// Tells the process that learns why there is no more, and listens no longer. Nobody learns any
// more.
void learner_external_end(learner_external *x, const char *reason);
void learner_external_close(learner_external *x); // NULL is a no-op; ended or not

#endif // LEARNER_LEARNER_EXTERNAL_H
