#ifndef LEARNER_LEARNER_RUN_STATE_H
#define LEARNER_LEARNER_RUN_STATE_H

#include "common/oct_reason.h"
#include "learner/learner_admission.h"
#include "learner/learner_budget.h"
#include "learner/learner_external.h"
#include "learner/learner_folder.h"
#include "learner/learner_pace.h"
#include "learner/learner_progress.h"
#include "learner/learner_publisher.h"
#include "learner/learner_refusals.h"
#include "learner/learner_report.h"
#include "learner/learner_run.h"

// The state of a run: its parts, and what is left beside them. learner_run.c, learner_training.c
// and learner_experience.c share it; no part of the run includes this header.

struct learner_run {
    learner_run_options options;
    const config_experiment *config;
    const learner_pace *pace;
    learner_progress *progress;
    learner_refusals *refusals;
    learner_pacer *pacer;
    uint64_t run_id;
    policy_spec environment;  // every actor's environment must equal it (learner_environment.h)
    bool has_environment;     // false: the first actor that registers sets it
    oct_metric_names metrics; // what the environment measures itself
    policy_spec spec;
    learner_budget budget;
    const char *blas;
    char run_name[POLICY_NAME_MAX];

    learner_publisher *publisher;
    learner_average *average; // learner.ema_decay; NULL: the parameters are published
    nn_context *nn;           // used by the training thread once it runs
    algo *algorithm;          // owned here from when the environment is known until train takes it
    learner_train *train;
    learner_external *external; // learns instead of the training thread, or NULL
    learner_evals *evals;
    learner_actors *actors;
    learner_admission *admission;

    // what the algorithm learns from, as the first actor made it
    learner_batches *batches; // NULL: not yet
    uint32_t shards_away;     // bit mask of the shards that were logged as away
    algo_wants wants;

    uint64_t probe_ns;
    char trouble[256]; // learner_run_trouble

    // evaluation
    bool evaluator_missed; // it was logged that no evaluator is connected
    uint64_t evaluator_ns; // when an evaluator was last connected, 0: never
    uint64_t created_ns;
    bool actor_missed; // it was logged that no actor has registered, or one has

    learner_report *report;
    learner_tallies tallies;
    bool failed; // for another reason than a failed write
    bool starts_over;
    uint64_t libm; // lock-step: checksum of this machine's math functions (oct_libm.h); else 0
    learner_folder *folder;
};

void learner_run_stop_training(learner_run *run); // ends the thread or external learner

// ---- learner_training.c
// Reads the environment's spec if there is one. Errors as of learner_environment_read.
OCT_CHECKED oct_err learner_training_environment(learner_run *run, oct_reason *why);
// If the environment is known, builds the algorithm, so that an impossible experiment is refused
// before an actor registers; training from a data set alone begins here. If it is not known, the
// first actor to register causes both. OCT_EINVAL: the experiment is impossible; other errors as of
// algo_create; each with a reason.
OCT_CHECKED oct_err learner_training_prepare(learner_run *run, oct_reason *why);
// Takes a version that was still being quantized when training ended, so that the final evaluation
// includes it.
void learner_training_published(learner_run *run);

#endif // LEARNER_LEARNER_RUN_STATE_H
