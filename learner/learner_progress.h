#ifndef LEARNER_LEARNER_PROGRESS_H
#define LEARNER_LEARNER_PROGRESS_H

#include "learner/learner_batches.h"
#include "learner/learner_checkpoint.h"

// How far a run is, and why it ends: its phase, its steps, updates and seconds over all processes,
// the share of its budget that is spent, and the limits of the final evaluation. learner_progress.c
// explains the phases.
//
// Threads: the loop thread. Owns: plain values.
typedef struct learner_progress learner_progress;

typedef enum learner_phase {
    LEARNER_WAITING, // for the first actor, which brings the environment's spec
    LEARNER_TRAINING,
    LEARNER_FINAL, // the final evaluation
    LEARNER_DONE,
} learner_phase;

// Reasons why a run ends by itself. Checkpoints store them.
#define LEARNER_END_SOLVED "solved"
#define LEARNER_END_BUDGET "budget"
#define LEARNER_END_TIME   "time"

typedef struct learner_counts {
    uint64_t env_steps; // of the batches that replay took, not those that actors report
    uint64_t updates;
    double wall_s; // of training; a killed process counts up to its last checkpoint
} learner_counts;

// evaluator_wait_s as in learner_run_options. config and resumed are borrowed.
learner_progress *learner_progress_create(const config_experiment *config,
                                          const learner_checkpoint *resumed,
                                          double evaluator_wait_s);
void learner_progress_destroy(learner_progress *progress); // NULL is a no-op

learner_phase learner_progress_phase(const learner_progress *progress);
bool learner_progress_is(const learner_progress *progress, learner_phase phase);
void learner_progress_enter(learner_progress *progress, learner_phase phase);

// ---- counts

// Starts the clock, with this many updates. batches is borrowed.
void learner_progress_begin(learner_progress *progress, const learner_batches *batches,
                            uint64_t updates);
uint64_t learner_progress_begin_ns(const learner_progress *progress); // 0: not started
void learner_progress_updated(learner_progress *progress, uint64_t updates);
// Returns the environment steps of rows in replay.
uint64_t learner_progress_steps_of(const learner_progress *progress, uint64_t rows);
// Notes environment steps after the checkpoint that replay already had when this process found it.
// They are steps of the run, but not of this process.
void learner_progress_found(learner_progress *progress, uint64_t env_steps);
// Return the counts over all processes: of the checkpoint, and now. Steps after the end of training
// do not count, because actors do not know when training ends.
learner_counts learner_progress_before(const learner_progress *progress);
learner_counts learner_progress_now(const learner_progress *progress);
// Returns the seconds of training over all processes at a time; 0: when this process began.
double learner_progress_wall_s(const learner_progress *progress, uint64_t at_ns);
uint64_t learner_progress_own_env_steps(const learner_progress *progress); // of this process
// Returns the share of the budget that is spent, 0 to 1.
double learner_progress_share(const learner_progress *progress);
bool learner_progress_is_spent(const learner_progress *progress);
bool learner_progress_is_out_of_time(const learner_progress *progress);

// ---- the end

// Notes why the run ends. The reason holds from the end of training on.
void learner_progress_end(learner_progress *progress, const char *reason);
const char *
learner_progress_reason(const learner_progress *progress); // "running": it has not ended
// Stops the counts of steps.
void learner_progress_end_training(learner_progress *progress);
uint64_t learner_progress_end_ns(const learner_progress *progress); // 0: training has not ended
// Logs why a run that ended by itself made no update, if it made none.
void learner_progress_explain(learner_progress *progress);
const char *learner_progress_unlearned(const learner_progress *progress); // that reason, or NULL
// A run that was killed in its final evaluation continues that evaluation if the reason for its end
// still holds under the present configuration. If not, training continues, as in any resumed run.
void learner_progress_resume(learner_progress *progress, const char *path, bool is_solved);
bool learner_progress_ends_again(const learner_progress *progress); // it continues the evaluation
// Begins to wait for the final evaluation. awaits_evaluator: no evaluator has registered yet.
// is_kept: if the reason holds after a restart, checkpoints contain it from now on.
void learner_progress_await(learner_progress *progress, bool awaits_evaluator, bool is_kept,
                            bool is_solved);
void learner_progress_heard(learner_progress *progress); // an evaluator works
// Ends the final evaluation when a time limit has passed. patience_s: learner_evals_patience_s.
void learner_progress_tick(learner_progress *progress, uint32_t evaluators, double patience_s,
                           uint64_t now_ns);
const char *learner_progress_no_final(const learner_progress *progress); // which limit, or NULL
// Returns the reason that checkpoints contain; NULL: none.
const char *learner_progress_ending(const learner_progress *progress);
void learner_progress_ended(learner_progress *progress); // the result is saved: they contain none

#endif // LEARNER_LEARNER_PROGRESS_H
