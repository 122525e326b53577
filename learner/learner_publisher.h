#ifndef LEARNER_LEARNER_PUBLISHER_H
#define LEARNER_LEARNER_PUBLISHER_H

#include "algos/algo.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_stage.h"

// What is published: starts the quantizer stage as the configuration wants it, takes its
// publications, and knows which version is the newest, what it was made of, and what publishing
// costs. Their versions are reserved before they are sent (learner_files_reserve).
//
// Threads: the loop thread; the training thread offers to the stage and owns observed once it runs.
// Owns: the stage, the projection of quantisation-aware training, the newest publications.
typedef struct learner_publisher learner_publisher;

// What the newest publications were like (NaN: not measured), and counts of all of this process.
typedef struct learner_publishing {
    double fp32_bytes; // of all weights and biases
    double bytes, ratio, changed_share, encode_ms;
    double weight_error; // relative, of the worst layer
    double layer_error[POLICY_LAYERS_MAX];
    quantizer_divergence divergence;
    uint64_t publications, deltas;
    double published_bytes;
    uint64_t refused, unchanged; // snapshots
    double core_s;               // seconds of a core, of the stage
} learner_publishing;

learner_publisher *learner_publisher_create(const oct_config *config); // borrowed
// The training thread has ended.
void learner_publisher_destroy(learner_publisher *publisher); // NULL is a no-op

const char *learner_publisher_precision(const learner_publisher *publisher); // "int8"
// Whether policies of spec are small enough to be sent; if not, OCT_EINVAL and why.
OCT_CHECKED oct_err learner_publisher_check(const oct_config *config, const policy_spec *spec,
                                            char *reason, size_t reason_size);
// Quantisation-aware training, when the configuration wants it: algorithm learns through what the
// quantizer makes of its parameters, until destroy. Makes observed, too, where spec normalises. May
// be called again for another algorithm.
OCT_CHECKED oct_err learner_publisher_project(learner_publisher *publisher, const policy_spec *spec,
                                              algo *algorithm);
// Memory of the folded copies of layers (quantizer_fold.h): the stage's, and that of learning
// through the quantizer.
size_t learner_publisher_fold_bytes(const oct_config *config, const policy_spec *spec);
// Means and deviations of observations; NULL: observations are not scaled.
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
// Of an algorithm that learns from each batch once, after each take: whether versions have been so
// far apart that actors go on with policies of LEARNER_INTERVAL_MAX updates ago and more, over the
// first LEARNER_INTERVAL_VERSIONS. updates_at_once: how many learners make one each at the same
// time, which count as one. True once at most.
#define LEARNER_INTERVAL_VERSIONS 10u
#define LEARNER_INTERVAL_MAX      2u
bool learner_publisher_is_rare(learner_publisher *publisher, uint32_t updates_at_once);
// What an earlier process published: what learner_publisher_newest gives until there is a newer
// one, and nothing else; retained.
void learner_publisher_restore(learner_publisher *publisher, quantizer_publication *publication);
// What actors run; and the newest that is no noisy one: evaluated, saved, reported. NULL: none.
quantizer_publication *learner_publisher_latest(const learner_publisher *publisher);
quantizer_publication *learner_publisher_policy(const learner_publisher *publisher);
// The newest for an audience, to act with; the policy itself where there is none yet.
quantizer_publication *learner_publisher_newest(const learner_publisher *publisher,
                                                uint32_t audience);
// Nobody acts with other samples than these now (learner_actors_samples): actors that come later do
// not get what was made for earlier ones.
void learner_publisher_forget(learner_publisher *publisher, uint64_t samples);
// Of latest, else of what was restored; 0: none.
uint64_t learner_publisher_version(const learner_publisher *publisher);
// Updates that a version was made after; NaN: not one of the last LEARNER_VERSIONS_KEPT.
#define LEARNER_VERSIONS_KEPT 1024
double learner_publisher_updates_of(const learner_publisher *publisher, uint64_t version);
learner_publishing learner_publisher_counts(const learner_publisher *publisher);

// Whether a divergence is to be told: it is above limit (0: none is), and since the last time that
// it was, which above remembers, it has been below half of it.
bool learner_publisher_rises(double relative, double limit, bool *above);

#endif // LEARNER_LEARNER_PUBLISHER_H
