#ifndef LEARNER_LEARNER_INIT_FROM_H
#define LEARNER_LEARNER_INIT_FROM_H

#include "algos/algo.h"
#include "common/oct_reason.h"
#include "quantizer/quantizer_observed.h"

// learner.init_from: starts a run with networks of another run. A run folder supplies the networks
// of its newest complete checkpoint, with targets and critics if the algorithm is the same, and the
// statistics of its observations. Where the averaged policy acted (learner.ema_decay), the policy
// is that average. A policy file supplies the policy's layers; rounded layers are decoded. A folder
// with policy.fp32.oct and without config.yaml counts as that file. algos/algo_transfer.h says
// which layers fit.
//
// Threads: the thread that owns the algorithm, before training starts; octet train also calls it,
// to check. Allocates only during the call.

// Receives one line of text for the log.
typedef void (*learner_init_from_fn)(void *arg, const char *line);

// Loads into a, which was made of config and spec and has not learned yet. observed is NULL if
// observations are not scaled. tell receives one line per layer. OCT_EINVAL, OCT_ENOTFOUND,
// OCT_EPROTO, OCT_EIO with one line in why, which names the file: the file cannot be read, is of
// another release, or none of its layers fits. a and observed are then unchanged.
OCT_CHECKED oct_err learner_init_from(algo *a, const config_experiment *config,
                                      const policy_spec *spec, quantizer_observed *observed,
                                      learner_init_from_fn tell, void *arg, oct_reason *why);

// Returns true if the configuration names a source of networks.
bool learner_init_from_is_wanted(const config_experiment *config);
// Reports which layers learner.freeze names; reports nothing if it is empty.
void learner_init_from_frozen(const config_experiment *config, learner_init_from_fn tell,
                              void *arg);

#endif // LEARNER_LEARNER_INIT_FROM_H
