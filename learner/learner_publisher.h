#ifndef LEARNER_LEARNER_PUBLISHER_H
#define LEARNER_LEARNER_PUBLISHER_H

#include "algos/algo.h"
#include "common/oct_reason.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_stage.h"

// Publishing: starts the quantizer stage as configured and takes its publications. Knows which
// version is the newest, what it was made of, and what publishing costs. Versions are reserved
// before they are sent (learner_folder_reserve).
//
// Threads: the loop thread; the training thread offers to the stage and owns observed once it runs.
// Owns: the stage, the projection of quantisation-aware training, the newest publications.
typedef struct learner_publisher learner_publisher;

// Properties of the newest publications (NaN: not measured), and counts of this process.
typedef struct learner_publishing {
    double fp32_bytes; // of all weights and biases
    double bytes, ratio, changed_share, encode_ms;
    double weight_error; // relative, of the worst layer
    double layer_error[POLICY_LAYERS_MAX];
    quantizer_divergence divergence;
    uint64_t publications, deltas;
    double published_bytes;
    uint64_t refused, unchanged; // snapshots
    double core_s;               // seconds of a core that the stage used
} learner_publishing;

learner_publisher *learner_publisher_create(const config_experiment *config); // borrowed
// The training thread must have ended.
void learner_publisher_destroy(learner_publisher *publisher); // NULL is a no-op

const char *learner_publisher_precision(const learner_publisher *publisher); // "int8"
// Checks that policies of spec are small enough to be sent. OCT_EINVAL with a reason: they are not.
OCT_CHECKED oct_err learner_publisher_check(const config_experiment *config,
                                            const policy_spec *spec, oct_reason *why);
// Quantisation-aware training, if configured: until destroy the algorithm learns through the
// quantizer's rounding of its parameters. Also makes observed, if spec normalises. May be called
// again for another algorithm.
OCT_CHECKED oct_err learner_publisher_project(learner_publisher *publisher, const policy_spec *spec,
                                              algo *algorithm);
// Returns the bytes of folded copies of layers (quantizer_fold.h): the stage's, and those for
// learning through the quantizer.
size_t learner_publisher_fold_bytes(const config_experiment *config, const policy_spec *spec);
// Returns means and deviations of observations; NULL: observations are not scaled.
quantizer_observed *learner_publisher_observed(const learner_publisher *publisher);

typedef struct learner_publisher_options {
    const policy_spec *spec; // borrowed until destroy
    uint64_t run_id;
    const char *run_name;  // borrowed until destroy
    uint64_t last_version; // the first publication is the next one
    quantizer_notify_fn notify;
    void *arg;
} learner_publisher_options;
// Starts the stage, once. OCT_EIO: no thread.
OCT_CHECKED oct_err learner_publisher_begin(learner_publisher *publisher,
                                            const learner_publisher_options *options);
quantizer_stage *learner_publisher_stage(const learner_publisher *publisher); // NULL before begin

// The next publication in order, borrowed until the next call; NULL: none. LEARNER-DIVERGENCE is
// logged when the newest probe is beyond learner.divergence_warn.
const quantizer_publication *learner_publisher_take(learner_publisher *publisher);
// For an algorithm that learns from each batch once; call after each take. Returns true, at most
// once, if versions were so far apart over the first LEARNER_INTERVAL_VERSIONS that actors act with
// policies at least LEARNER_INTERVAL_MAX updates old. updates_at_once: learners that each make an
// update at the same time; these count as one update.
#define LEARNER_INTERVAL_VERSIONS 10u
#define LEARNER_INTERVAL_MAX      2u
bool learner_publisher_is_rare(learner_publisher *publisher, uint32_t updates_at_once);
// Sets a publication of an earlier process, which is retained. Only learner_publisher_newest and
// _version use it, until this process has published.
void learner_publisher_restore(learner_publisher *publisher, quantizer_publication *publication);
// _latest returns what actors run, _policy the newest publication without noise, which is
// evaluated, saved and reported. NULL: none yet.
quantizer_publication *learner_publisher_latest(const learner_publisher *publisher);
quantizer_publication *learner_publisher_policy(const learner_publisher *publisher);
// Returns the newest publication for an audience, or the policy without noise if the audience has
// none yet.
quantizer_publication *learner_publisher_newest(const learner_publisher *publisher,
                                                uint32_t audience);
// Forgets publications of samples that no actor uses now (learner_actors_samples): actors that
// connect later must not get a publication made for earlier actors.
void learner_publisher_forget(learner_publisher *publisher, uint64_t samples);
// Returns the version of the newest publication, or else of the restored one; 0: none.
uint64_t learner_publisher_version(const learner_publisher *publisher);
// Returns the count of updates from which a version was made; NaN: not one of the last
// LEARNER_VERSIONS_KEPT.
#define LEARNER_VERSIONS_KEPT 1024
double learner_publisher_updates_of(const learner_publisher *publisher, uint64_t version);
learner_publishing learner_publisher_counts(const learner_publisher *publisher);

// Returns true if a divergence is to be logged: it exceeds limit (0: no limit), and it has been
// below half the limit since the last logged one. *above remembers that between calls.
bool learner_publisher_rises(double relative, double limit, bool *above);

#endif // LEARNER_LEARNER_PUBLISHER_H
