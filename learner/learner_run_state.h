#ifndef LEARNER_LEARNER_RUN_STATE_H
#define LEARNER_LEARNER_RUN_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/oct_bucket.h"
#include "common/oct_reason.h"
#include "learner/learner_actors_wanted.h"
#include "learner/learner_atoms_warning.h"
#include "learner/learner_budget.h"
#include "learner/learner_external.h"
#include "learner/learner_folder.h"
#include "learner/learner_metrics.h"
#include "learner/learner_numbers.h"
#include "learner/learner_pace.h"
#include "learner/learner_peers.h"
#include "learner/learner_progress.h"
#include "learner/learner_publisher.h"
#include "learner/learner_refusals.h"
#include "learner/learner_run.h"
#include "learner/learner_versions.h"
#include "proto/wire_token.h"

// The state of a run, shared by its source files: learner_run.c (the experiment), learner_begin.c
// (its beginning), learner_experience.c (its replays), learner_end.c (its end), learner_report.c
// (its numbers), learner_folder.c (its folder) and its paces (learner_pace.h).

#define LEARNER_RETURNS   100
#define LEARNER_WHY_BYTES 256

// The run's numbers (learner_numbers.h), and their values at the end of the last row of metrics.
typedef struct learner_report {
    oct_numbers *numbers;
    learner_measurements now;
    learner_means means; // of the numbers that the algorithm gives with each update
    learner_eval_metrics eval_metrics;
    learner_metrics *metrics;
    wire_status status;
    const char *status_name[WIRE_STATS_MAX];
    double status_value[WIRE_STATS_MAX];
    // sums since the last row
    uint64_t episodes;
    double episode_return, episode_length;
    bool has_eval;      // an evaluation ended since the last row
    double eval_wall_s; // when its policy was made
    // values when the last row ended
    double begin_s, wait_s, published_bytes;
    double core_s; // of the quantizer stage
    uint64_t env_steps, updates, publications;
    learner_actors_totals totals;
    learner_staleness staleness;
    learner_actors_wanted wanted;               // over the last rows
    learner_atoms_warning cut_below, cut_above; // of targets
    double returns[LEARNER_RETURNS];            // of training episode n at n modulo LEARNER_RETURNS
} learner_report;

typedef struct learner_pacer learner_pacer; // learner_pace_turns.c

struct learner_run {
    learner_run_options options;
    const config_experiment *config;
    const learner_pace *pace;
    learner_progress *progress;
    learner_refusals *refusals;
    uint32_t action_repeat; // environment steps of a row
    learner_pacer *pacer;   // in lock-step, once training has begun
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
    uint8_t token_key[WIRE_TOKEN_KEY_BYTES]; // signs the sessions' tokens; replay has it, too
    wire_token_maker *tokens;
    uint64_t bad_requests;
    uint64_t bad_tokens;      // messages that named a registered session with a wrong token
    uint64_t places_refused;  // registrations beyond the share of their certificate
    uint64_t answers_refused; // to peers that do not read them
    uint64_t tickets_refused; // evaluations for certificates with too many unanswered ones
    oct_bucket tickets;       // unanswered evaluations, per certificate
    uint64_t bad_reports; // reports with impossible values, or about another evaluator's evaluation
    oct_bucket peer_lines;   // log lines about actors that connect and disconnect, per certificate
    uint64_t actors_refused; // registrations of actors and evaluators that do not fit the run
    uint64_t refused_ns;     // time of the last of them …
    char refused_text[WIRE_NAME_MAX];

    // what the algorithm learns from, as the first actor made it
    learner_batches *batches; // NULL: not yet
    uint32_t shards_away;     // bit mask of the shards that were logged as away
    algo_wants wants;

    uint64_t episodes;      // finished by actors
    double published_bytes; // of policies and changes
    learner_traffic traffic;
    uint32_t relays; // count of live relays
    uint64_t probe_ns;
    uint64_t checkpoint_ns; // when the pace began a checkpoint last
    char trouble[256];      // learner_run_trouble

    // evaluation
    learner_eval_result last_eval;
    bool has_eval;
    uint32_t failed_evals, failed_full_evals; // all; all except short ones
    uint64_t eval_played;                     // episodes in accepted answers, …
    double eval_played_s;  // … and the seconds that the evaluators took for them
    bool evaluator_missed; // it was logged that no evaluator is connected
    uint64_t evaluator_ns; // when an evaluator was last connected, 0: never
    uint64_t created_ns;
    bool actor_missed; // it was logged that no actor has registered, or one has

    learner_report report;
    bool failed; // for another reason than a failed write
    bool starts_over;
    uint64_t libm; // lock-step: checksum of this machine's math functions (oct_libm.h); else 0
    learner_folder *folder;

    learner_peers *peers;
};

void learner_run_stop_training(learner_run *run); // ends the thread or external learner
// Writes a checkpoint of the state, which is taken, and the present counters. async: a thread
// writes it.
void learner_run_store(learner_run *run, learner_state_bytes *take, bool async);
// ---- learner_begin.c (also learner_run_begin)
// Returns the last reason passed to learner_run_refuse: for LEARNER_PEER_GONE_S, and after that
// until an actor is live; "": there is none.
const char *learner_run_last_refused(learner_run *run);
// Reads the environment's spec if there is one. Errors as of learner_environment_read.
OCT_CHECKED oct_err learner_begin_begin(learner_run *run, oct_reason *why);
// If the environment is known, builds the algorithm, so that an impossible experiment is refused
// before an actor registers; training from a data set alone begins here. If it is not known, the
// first actor to register causes both. OCT_EINVAL: the experiment is impossible; other errors as of
// algo_create; each with a reason.
OCT_CHECKED oct_err learner_begin_known(learner_run *run, oct_reason *why);
// ---- learner_end.c (also learner_run_finish, learner_run_abandon, learner_run_save,
// learner_run_failed)
// Ends the run if its budget or time is spent, or if it cannot learn any more. It fails if too many
// updates in a row were refused, or at its end all were, or if no external learner connected.
void learner_run_check_budget(learner_run *run);
// Takes a version that was still being quantized when training ended, so that the final evaluation
// includes it.
void learner_end_published(learner_run *run);
void learner_end_again(learner_run *run); // begins the final evaluation instead of training
// Writes to out why no full evaluation of the policy in policy.oct succeeded. Returns NULL if one
// did, or none was tried.
const char *learner_end_unevaluated(const learner_run *run, char *out, size_t size);
// Writes to out why evaluation.sampling may be needed: training episodes, which sample actions, had
// much better returns than policy.oct, which acts greedily. Returns NULL if they had not.
const char *learner_end_sampling(const learner_run *run, char *out, size_t size);

// ---- learner_report.c (also learner_run_status, learner_run_peers, learner_run_prometheus)
// OCT_EIO: metrics.csv cannot be written in the folder.
OCT_CHECKED oct_err learner_report_begin(learner_run *run);
void learner_report_end(learner_run *run);
// Adds columns for the environment's own metrics. Call once, before the first row.
void learner_report_metrics(learner_run *run);
// Starts counting rows, when training begins.
void learner_report_start(learner_run *run);
// Counts a finished training episode, number run->episodes.
void learner_report_episode(learner_run *run, double episode_return, double episode_length);
// Writes a row of metrics if one is due, or always if now is true.
void learner_report_row(learner_run *run, bool now);

#endif // LEARNER_LEARNER_RUN_STATE_H
