#ifndef LEARNER_LEARNER_REPORT_H
#define LEARNER_LEARNER_REPORT_H

#include "common/oct_prometheus.h"
#include "learner/learner_folder.h"
#include "learner/learner_group.h"
#include "learner/learner_peers.h"
#include "learner/learner_progress.h"
#include "learner/learner_refusals.h"
#include "learner/learner_train.h"

// What a run tells about itself: rows of metrics.csv, the status, the list of peers, numbers for
// Prometheus, and the values of the summary. All of them come from one measurement of the run's
// parts, and from what the run notes here.
//
// Threads: the loop thread. Owns: the registry of numbers and the files of metrics.
typedef struct learner_report learner_report;

// Bytes of frames so far, by direction. The owner of the sockets sets them.
typedef struct learner_traffic {
    uint64_t to_replay, from_replay;
    uint64_t to_data, from_data;
    uint64_t published;                // each publication counted once
    uint64_t from_callers, to_callers; // requests of all peers, and their answers
} learner_traffic;

// What the run counts about its peers.
typedef struct learner_tallies {
    uint64_t bad_requests;
    uint64_t bad_tokens;      // messages that named a registered session with a wrong token
    uint64_t bad_reports;     // impossible values, or about another evaluator's evaluation
    uint64_t places_refused;  // registrations beyond the share of their certificate
    uint64_t answers_refused; // to peers that do not read them
    uint64_t tickets_refused; // evaluations for certificates with too many unanswered ones
    uint64_t actors_refused;  // registrations of actors and evaluators that do not fit the run
    learner_traffic traffic;
    uint32_t relays; // count of live relays
    bool is_unkept;  // lock-step: the run waits for replay to copy its table (learner_run_unkept)
} learner_tallies;

// All pointers are borrowed for as long as the report.
typedef struct learner_report_options {
    const config_experiment *config;
    const char *path; // of the run folder
    const learner_progress *progress;
    learner_folder *folder;
    const learner_refusals *refusals;
    const learner_publisher *publisher;
    const learner_evals *evals;
    learner_actors *actors;
    learner_group *lg; // NULL: the run has one learner
    const learner_tallies *tallies;
} learner_report_options;

// OCT_EIO: metrics.csv cannot be written in the folder; errno has the reason.
OCT_CHECKED oct_err learner_report_open(learner_report **out,
                                        const learner_report_options *options);
void learner_report_close(learner_report *report); // NULL is a no-op
// Starts counting rows when training begins, and adds columns for the environment's own metrics.
// All pointers are borrowed.
void learner_report_start(learner_report *report, const oct_metric_names *names,
                          const learner_train *train, const learner_batches *batches);

// ---- what the run notes

// Steps of an earlier process were found (learner_progress_found): rates are of later steps.
void learner_report_found(learner_report *report, uint64_t env_steps);
void learner_report_update(learner_report *report, const float *numbers); // algo_numbers
void learner_report_episode(learner_report *report, double episode_return, double episode_length);
// An evaluation ended. wall_s: when its policy was made. After training each evaluation has a row,
// because none is due by time any more.
void learner_report_evaluation(learner_report *report, const learner_eval_result *result,
                               double wall_s);
void learner_report_played(learner_report *report, uint32_t episodes, double seconds);
// Counts an evaluation that failed, and logs the first.
void learner_report_failed(learner_report *report, learner_eval_stage stage, uint64_t version);

// ---- what it tells

// Writes a row of metrics if one is due, or always if now is true.
void learner_report_row(learner_report *report, bool now);
// Returns the status, borrowed until the next call. refused: why the last actor was refused, or "".
const wire_status *learner_report_status(learner_report *report, const char *refused);
// As learner_run_peers.
const wire_peers *learner_report_peers(learner_report *report, const learner_relays *relays,
                                       uint32_t count_max);
void learner_report_prometheus(learner_report *report, oct_prometheus *text);
// Returns the values of the summary; its texts are borrowed until the next call. The caller fills
// in blas, learner_folder_summary the rest.
learner_summary learner_report_summary(learner_report *report, const policy_spec *spec);

#endif // LEARNER_LEARNER_REPORT_H
