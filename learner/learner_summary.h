#ifndef LEARNER_LEARNER_SUMMARY_H
#define LEARNER_LEARNER_SUMMARY_H

#include "learner/learner_evals.h"

// The results of a run, as summary.json (the supervisor adds CPU seconds by daemon). Numbers that
// were not measured are null, never modelled (contract 11).
//
// Threads: any. Errors: as oct_file_write.
typedef struct learner_summary {
    const config_experiment *config;
    const char *reason;      // "solved", "budget", "interrupted", …
    const char *unlearned;   // why it ended without an update; NULL: it made updates
    const char *unevaluated; // why a run that ended by itself has no full evaluation; NULL: it has
                             // one, or did not end by itself
    const char *sampling;    // why evaluation.sampling may be needed; NULL: it seems not needed
    const char *precision;   // of the policies that this process publishes
    const char *result_precision;    // of policy.oct, which an earlier process may have made
    const oct_metric_names *metrics; // names of the environment's metrics
    const char *blas;
    uint64_t run_id;
    // The summary that a resumed run had, NULL: none. If this process has made no update, the
    // training results in it stay: a run resumed by accident loses nothing.
    const char *before;
    bool solved;
    learner_eval_result result; // of the policy in policy.oct; episodes 0: not evaluated
    bool has_last;
    learner_eval_result last_result; // of the last version, by as many episodes
    uint32_t screens; // count of the latest short evaluations, at most LEARNER_EVAL_SCREENS
    double screens_mean;
    uint64_t env_steps, updates, policy_version, inserts, samples;
    uint64_t updates_refused;   // in this process
    double env_failures;        // steps of environments, of actors of this process
    double evaluation_failures; // steps and resets of environments, of its evaluators
    uint64_t env_steps_base;    // part of env_steps before this process's first sample
    uint64_t updates_base;      // of earlier processes
    double wall_s;              // of training, over all processes
    double training_s;          // between this process's first sample and the end
    double replay_to_learner_bytes, learner_to_replay_bytes;
    double actor_to_replay_bytes;
    double learner_to_actors_bytes; // one copy of each publication
    uint64_t publications, deltas;  // counts; deltas are among the publications
    uint32_t actors;
    double wait_share;
    double actor_infer_s, actor_env_s, actor_collect_s, actor_wait_s; // all acting threads together
    double agreement, divergence;                                     // last probe, NaN: none
    double cpu_s;
    const quantizer_publication *last; // the version published last, NULL: none
} learner_summary;

OCT_CHECKED oct_err learner_summary_write(const char *path, const learner_summary *summary);

#endif // LEARNER_LEARNER_SUMMARY_H
