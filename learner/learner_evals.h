#ifndef LEARNER_LEARNER_EVALS_H
#define LEARNER_LEARNER_EVALS_H

#include "common/oct_bytes.h"
#include "common/oct_metric.h"
#include "config/config.h"
#include "learner/learner_curve.h"
#include "learner/learner_eval_parts.h"
#include "quantizer/quantizer_stage.h"

// Decides which policy version is evaluated when, and which version is the best. There are four
// stages, each on fresh seeds:
//   screen   few episodes of the newest version; most versions get no further stage
//   full     evaluation.episodes of a version with a screen that reached the goal or beat the best.
//            After training: of the last version, then of the versions that may be the best, within
//            evaluation.final_share
//   confirm  the same number of episodes again, once for each version with a mean that reached
//            run.stop_at_return; the confirming episodes decide whether the run is solved
//   result   the same number of episodes of the version that ships, after all decisions; their mean
//            is the reported return. No decision depends on it, so it is unbiased.
// The best is a version that was confirmed at the goal. Otherwise it is the version with the
// largest mean over all its full and confirming episodes
// (docs/internals/decisions/0005-evaluation.md). learner_evals.c explains the order of the stages
// and the effect of each failure.
//
// Threads: the loop thread. Owns: references to the publications that it may still need. The caller
// passes the time.
typedef struct learner_evals learner_evals;

typedef enum learner_eval_stage {
    LEARNER_EVAL_SCREEN,
    LEARNER_EVAL_FULL, // also the stage of all full and confirming episodes of a version together
    LEARNER_EVAL_CONFIRM,
    LEARNER_EVAL_RESULT,
} learner_eval_stage;
#define LEARNER_EVAL_STAGES 4
extern const char *const learner_eval_stage_name[LEARNER_EVAL_STAGES];

typedef struct learner_eval_order {
    quantizer_publication *publication; // borrowed
    uint64_t ticket;
    uint64_t seed;
    uint32_t episodes;
} learner_eval_order;

typedef struct learner_eval_result {
    learner_eval_stage stage;
    uint64_t version;
    uint64_t env_steps; // when this version was published
    uint64_t updates;   // that led to this version; known only in what learner_evals_report returns
    uint64_t made_ns;   // 0: published by an earlier process
    uint32_t episodes;  // 0: nothing is known, and the numbers are NaN
    double mean, std, min, max;
    double mean_length;
    uint64_t failed;                     // further episodes in which the environment failed
    uint64_t truncated;                  // number of the episodes that evaluation.max_steps ended
    oct_metric metrics[OCT_METRICS_MAX]; // measured by the environment itself
} learner_eval_result;

#define LEARNER_EVAL_SCREENS 10
// The part of the state that a checkpoint always holds.
typedef struct learner_evals_saved {
    uint64_t evaluations;     // parts of evaluations so far; seeds are counted from here
    learner_eval_result best; // version 0: there is none
    double confirmed;         // mean of the confirming evaluation of best; NaN: it had none
    uint32_t screen_count;
    double screens[LEARNER_EVAL_SCREENS]; // means of the last screens, oldest first
} learner_evals_saved;

// saved: from a checkpoint (its best is ignored), or NULL for a new run.
learner_evals *learner_evals_create(const config_experiment *config,
                                    const learner_evals_saved *saved);
void learner_evals_destroy(learner_evals *evals); // NULL is a no-op

// Restores the policy of policy.oct, as an earlier process left it. The publication is retained. If
// best->episodes is 0, its return is unknown: the policy is fully evaluated before anything else,
// and no screen replaces it.
void learner_evals_restore(learner_evals *evals, quantizer_publication *publication,
                           const learner_eval_result *best, double confirmed);
// Fills the fields of a checkpoint. best is what learner_evals_best returns.
void learner_evals_save(const learner_evals *evals, learner_evals_saved *out);

// ---- learner_evals_saved.c
// Writes the whole state except times, with the policies that are still needed, for a checkpoint.
void learner_evals_write(const learner_evals *evals, oct_writer *writer);
// Reads the state that learner_evals_write wrote, and replaces the state of learner_evals_create.
// Evaluations in progress still belong to their evaluators, with now_ns as their last progress;
// tickets that the earlier process gave after the checkpoint are unknown. OCT_EPROTO: the bytes are
// not a valid state; evals has not changed.
OCT_CHECKED oct_err learner_evals_read(learner_evals *evals, oct_reader *reader, uint64_t now_ns);
// Writes the fp32 weights, count parameters each, of the policies that learner_evals_write writes,
// as far as they are known. A policy that turns out to be the best after a resume ships with these
// weights. Writes nothing if no weights are known.
void learner_evals_write_weights(const learner_evals *evals, size_t count, oct_writer *writer);
// Reads these weights, after learner_evals_read. OCT_EPROTO: the bytes are invalid; the policies
// read before the error keep their weights.
OCT_CHECKED oct_err learner_evals_read_weights(learner_evals *evals, oct_reader *reader);
// Writes the environment's own metrics of all evaluations that learner_evals_write writes, under
// these names. Writes nothing if the environment has no metrics.
void learner_evals_write_metrics(const learner_evals *evals, const oct_metric_names *names,
                                 oct_writer *writer);
// Reads these metrics, after learner_evals_read. If the names differ from those in the checkpoint,
// no metrics are read. OCT_EPROTO: the bytes are invalid; no metrics are known.
OCT_CHECKED oct_err learner_evals_read_metrics(learner_evals *evals, const oct_metric_names *names,
                                               oct_reader *reader);
// Writes or reads what a checkpoint holds of a result: all but updates, made_ns, failed, truncated
// and metrics, which reading leaves as they are. The reader fails if the result is not possible.
void learner_eval_result_fields(const oct_archive *bytes, learner_eval_result *result);

// Sets the newest version, which is retained. After training the newest version is evaluated as the
// last one; a version that is set after that evaluation began is ignored.
void learner_evals_newest(learner_evals *evals, quantizer_publication *publication);
quantizer_publication *
learner_evals_policy(const learner_evals *evals); // the newest version; NULL: none
// Sets the number of evaluators. An evaluation that begins later is split among them.
void learner_evals_set_evaluators(learner_evals *evals, uint32_t count);
// Ends training. Still to be evaluated are the last version, the promoted version, the confirmation
// of the best, the versions that may be better than the best, and the result.
void learner_evals_finish(learner_evals *evals);
// Returns true if nothing is left to evaluate or to wait for after learner_evals_finish.
bool learner_evals_done(const learner_evals *evals);

// Gives the next order. OCT_EAGAIN: there is nothing to evaluate now; screens are
// evaluation.period_s apart. An evaluator that asks again without a report has lost its order and
// gets the same order again (requests are repeated).
//
// The duration of an evaluation has no limit. An order without progress for
// learner_evals_patience_s is given to another evaluator; a screen is dropped instead. The patience
// is LEARNER_EVAL_PATIENCE_S seconds or, for slow simulators, LEARNER_EVAL_PATIENCE times the
// longest time between two reports of progress, whichever is longer.
#define LEARNER_EVAL_PATIENCE_S 60
#define LEARNER_EVAL_PATIENCE   4
//
// paced_ns is the time by which screens are spaced (learner_pace.h). now_ns, here and below, is a
// clock that also advances while an evaluator plays.
OCT_CHECKED oct_err learner_evals_order(learner_evals *evals, uint64_t paced_ns, uint64_t now_ns,
                                        uint32_t evaluator, learner_eval_order *out);
// Returns true if nothing is being evaluated and nothing is to be evaluated now.
bool learner_evals_rest(const learner_evals *evals, uint64_t paced_ns);
// Takes back the orders of evaluators that have disconnected. is_there is called for each evaluator
// that has an order.
void learner_evals_drop_gone(learner_evals *evals, bool (*is_there)(void *arg, uint32_t evaluator),
                             void *arg);
// Takes an evaluator's progress. calls counts the steps and resets of its environments. Returns
// true if calls has grown since the last report.
bool learner_evals_progress(learner_evals *evals, uint64_t now_ns, uint32_t evaluator,
                            uint64_t ticket, uint64_t calls, uint32_t episodes_done);
double learner_evals_patience_s(const learner_evals *evals);
// Describes the evaluation in progress, that of the latest stage if there are several: done of its
// episodes are played. Returns false if there is none.
bool learner_evals_at_work(const learner_evals *evals, learner_eval_stage *stage, uint32_t *done,
                           uint32_t *episodes);
// played: episodes that this process has played since training ended. most: how many there will be
// at most, as far as is known; confirming episodes come on top. Both are 0 during training.
void learner_evals_final(const learner_evals *evals, uint64_t *played, uint64_t *most);
// Returns the longest time, over evaluators with an order, since their last progress; 0 if no
// evaluator has an order.
double learner_evals_quiet_s(const learner_evals *evals, uint64_t now_ns);
// Takes an answer. A ticket is valid only for the evaluator and the version for which it was given.
// When the last part of an evaluation is answered, out is the result of the evaluation.
//   OCT_ENOTFOUND  the ticket is unknown: invented, late, or given by a learner that has died
//   OCT_EINVAL     the ticket was given to another evaluator
//   OCT_EPROTO     the number of episodes is wrong, or a return is not finite
//   OCT_EAGAIN     taken; other parts of the evaluation are still in progress, out is not written
OCT_CHECKED oct_err learner_evals_report(learner_evals *evals, uint32_t evaluator, uint64_t ticket,
                                         uint64_t version, const learner_eval_answer *answer,
                                         learner_eval_result *out);
// Gives up an evaluation that the evaluator could not play because its environment failed. stage
// becomes the stage of the evaluation. OCT_ENOTFOUND and OCT_EINVAL as for learner_evals_report.
OCT_CHECKED oct_err learner_evals_failed(learner_evals *evals, uint32_t evaluator, uint64_t ticket,
                                         uint64_t version, learner_eval_stage *stage);
// Returns the best version, or NULL if there is none. Before the first full evaluation it is the
// version that screened best. out is its result evaluation if it had one, otherwise all its
// episodes of the other stages together.
quantizer_publication *learner_evals_best(const learner_evals *evals, learner_eval_result *out);
// Writes all that is known of the last version. Returns false if it was not fully evaluated.
bool learner_evals_last(const learner_evals *evals, learner_eval_result *out);
// Returns the number of screens that are kept, at most LEARNER_EVAL_SCREENS, and their mean (NaN if
// there are none).
uint32_t learner_evals_screens(const learner_evals *evals, double *mean);
// Returns true if the best was confirmed at the goal.
bool learner_evals_solved(const learner_evals *evals);
uint64_t learner_evals_count(const learner_evals *evals);     // parts begun so far
uint64_t learner_evals_own_count(const learner_evals *evals); // by this process

#endif // LEARNER_LEARNER_EVALS_H
