#ifndef LEARNER_LEARNER_INIT_H
#define LEARNER_LEARNER_INIT_H

#include "algos/algo.h"
#include "quantizer/quantizer_observed.h"

// learner.init_from: what a run begins with from another. A run folder gives the networks of its
// newest whole checkpoint, with targets and critics if the algorithm is the same, and what its
// observations were like; the policy is the average where that acted (learner.ema_decay). A policy
// file gives the policy's layers, rounded ones as what they stand for; of a folder with
// policy.fp32.oct and no config.yaml, it is that file. algos/algo_transfer.h says which layers fit.
//
// Threads: the training thread's, before it starts; octet train asks beforehand. Allocates during
// the call.

// One line for a person.
typedef void (*learner_init_fn)(void *arg, const char *line);

// Into a, of config and spec, that has not learned yet; observed NULL: nothing is scaled. tell
// hears of each layer. OCT_EINVAL, OCT_ENOTFOUND, OCT_EPROTO, OCT_EIO with one line in reason,
// which names the file: it cannot be read, is of another release, or no layer fits; then a and
// observed are as they were.
OCT_CHECKED oct_err learner_init(algo *a, const oct_config *config, const policy_spec *spec,
                                 quantizer_observed *observed, learner_init_fn tell, void *arg,
                                 char *reason, size_t reason_size);

// Whether the configuration names something to begin with.
bool learner_init_is_wanted(const oct_config *config);
// Tells which layers learner.freeze names; nothing if it is empty.
void learner_init_frozen(const oct_config *config, learner_init_fn tell, void *arg);

#endif // LEARNER_LEARNER_INIT_H
