#ifndef LEARNER_LEARNER_EVALS_H
#define LEARNER_LEARNER_EVALS_H

#include "common/oct_bytes.h"
#include "common/oct_config.h"
#include "common/oct_metric.h"
#include "learner/learner_curve.h"
#include "learner/learner_eval_parts.h"
#include "quantizer/quantizer_stage.h"

// Which policy version is evaluated when, and which one is best. Four stages, each on fresh seeds:
//   screen   few episodes of the newest version; most versions end here
//   full     evaluation.episodes of a version whose screen reached the goal or beat the best. When
//            training has ended: of the last version, then of those among which the best may be,
//            as long as evaluation.final_share allows it
//   confirm  the same number once more of a version whose mean reached run.stop_at_return, once for
//            each version: it decides whether the run is solved
//   result   the same number of what ships, after everything is decided: the return that is
//            reported. Nothing reacts to it, so nothing cuts it off.
// The best is a version that was confirmed at the goal, else that of the largest mean over all its
// full and confirming episodes (docs/internals/decisions/0005-evaluation.md).
//
// Threads: the loop thread. Owns: references to the publications it may still need. Time is given.
typedef struct learner_evals learner_evals;

typedef enum learner_eval_stage {
    LEARNER_EVAL_SCREEN,
    LEARNER_EVAL_FULL, // as what is known of a version: all its full and confirming episodes
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
    uint64_t env_steps; // when this version was made
    uint64_t updates;   // that it was made of; of an evaluation that has just been played
    uint64_t made_ns;   // 0: by an earlier process
    uint32_t episodes;  // 0: nothing is known, the numbers are NaN
    double mean, std, min, max;
    double mean_length;
    uint64_t failed;                     // further episodes, in which the environment failed
    uint64_t truncated;                  // of the episodes, by evaluation.max_steps
    oct_metric metrics[OCT_METRICS_MAX]; // what the environment itself measured
} learner_eval_result;

#define LEARNER_EVAL_SCREENS 10
// What a checkpoint keeps.
typedef struct learner_evals_saved {
    uint64_t evaluations;     // orders so far: seeds go on from here
    learner_eval_result best; // version 0: none
    double confirmed;         // mean of its confirming evaluation, NaN: it had none
    uint32_t screen_count;
    double screens[LEARNER_EVAL_SCREENS]; // the last ones' means, oldest first
} learner_evals_saved;

// saved: of a checkpoint, without its best; NULL: a run that begins.
learner_evals *learner_evals_create(const oct_config *config, const learner_evals_saved *saved);
void learner_evals_destroy(learner_evals *evals); // NULL is a no-op

// The policy of policy.oct as an earlier process left it; retained. best->episodes 0: nothing is
// known of its return, so it is fully evaluated before anything else, and no screen replaces it.
void learner_evals_restore(learner_evals *evals, quantizer_publication *publication,
                           const learner_eval_result *best, double confirmed);
// For a checkpoint; best is what learner_evals_best gives.
void learner_evals_save(const learner_evals *evals, learner_evals_saved *out);

// ---- learner_evals_saved.c
// All of it but the time, with the policies that are still needed: for a checkpoint.
void learner_evals_write(const learner_evals *evals, oct_writer *writer);
// What learner_evals_write wrote, in place of what create made. Evaluations that were being played
// are still with their evaluators, since now_ns; tickets that were given later name nothing.
// OCT_EPROTO: it cannot be, and evals is as it was.
OCT_CHECKED oct_err learner_evals_read(learner_evals *evals, oct_reader *reader, uint64_t now_ns);
// The weights in fp32, count parameters each, that those policies were made of, as far as they are
// known: a policy that is found to be the best after a resume ships with them. Nothing is written
// where none are.
void learner_evals_write_weights(const learner_evals *evals, size_t count, oct_writer *writer);
// What that wrote, after learner_evals_read. OCT_EPROTO: it cannot be; the policies that were come
// to by then have their weights.
OCT_CHECKED oct_err learner_evals_read_weights(learner_evals *evals, oct_reader *reader);
// What the environment measured in all that learner_evals_write writes, under these names. Nothing
// is written where it measures nothing.
void learner_evals_write_metrics(const learner_evals *evals, const oct_metric_names *names,
                                 oct_writer *writer);
// What that wrote, after learner_evals_read. Under other names it is left out. OCT_EPROTO: it
// cannot be, and nothing is known of any.
OCT_CHECKED oct_err learner_evals_read_metrics(learner_evals *evals, const oct_metric_names *names,
                                               oct_reader *reader);
// learner_eval_result.c
void learner_eval_result_write(oct_writer *writer, const learner_eval_result *result);
// OCT_EPROTO: no such result. made_ns is 0.
OCT_CHECKED oct_err learner_eval_result_read(oct_reader *reader, learner_eval_result *out);

// The newest version; retained. After training it is the last one that gets its turn: one that
// comes when that has begun changes nothing.
void learner_evals_newest(learner_evals *evals, quantizer_publication *publication);
quantizer_publication *learner_evals_policy(const learner_evals *evals); // that one; NULL: none
// How many evaluators there are: an evaluation that begins is split among them.
void learner_evals_set_evaluators(learner_evals *evals, uint32_t count);
// No more training. What is left to evaluate: the last version, what screened well, whether the
// best is confirmed, which version is the best, and its result.
void learner_evals_finish(learner_evals *evals);
// Nothing is left to be evaluated or waited for after learner_evals_finish.
bool learner_evals_done(const learner_evals *evals);

// What to evaluate next. OCT_EAGAIN: nothing now; screens are evaluation.period_s apart. An
// evaluator that asks again without having reported has lost its order and gets the same one
// (requests are repeated).
//
// An evaluation takes as long as it takes. An order whose steps have not grown for
// learner_evals_patience_s is given to another evaluator (but a screen is forgotten): that is
// LEARNER_EVAL_PATIENCE_S, or, where the simulator is slow, LEARNER_EVAL_PATIENCE times the longest
// time that steps were ever waited for.
#define LEARNER_EVAL_PATIENCE_S 60
#define LEARNER_EVAL_PATIENCE   4
//
// paced_ns is the time that screens are counted in (learner_pace.h); now_ns, here and below, that
// of a clock, which runs on while an evaluator plays.
OCT_CHECKED oct_err learner_evals_order(learner_evals *evals, uint64_t paced_ns, uint64_t now_ns,
                                        uint32_t evaluator, learner_eval_order *out);
// Nothing is being evaluated, and nothing is to be now.
bool learner_evals_rest(const learner_evals *evals, uint64_t paced_ns);
// An evaluator that is gone will not answer: its order is lost at once. is_there is asked of each
// that has one.
void learner_evals_drop_gone(learner_evals *evals, bool (*is_there)(void *arg, uint32_t evaluator),
                             void *arg);
// How far an evaluator is with its order. calls: a count that grows with each step and reset of an
// environment. True: it has grown since the last report.
bool learner_evals_progress(learner_evals *evals, uint64_t now_ns, uint32_t evaluator,
                            uint64_t ticket, uint64_t calls, uint32_t episodes_done);
double learner_evals_patience_s(const learner_evals *evals);
// The evaluation at work, of the latest stage: its episodes, and how many are played. False: none.
bool learner_evals_at_work(const learner_evals *evals, learner_eval_stage *stage, uint32_t *done,
                           uint32_t *episodes);
// After training: the episodes played since by this process, and how many that will be at most, as
// far as is known (a version at the goal is confirmed beyond them). Both 0 before.
void learner_evals_final(const learner_evals *evals, uint64_t *played, uint64_t *most);
// The longest time that an evaluator which has an order has made no step of it. 0: none has one.
double learner_evals_quiet_s(const learner_evals *evals, uint64_t now_ns);
// An answer. A ticket is good for the evaluator that it was given to, and for the version that it
// was given for. OCT_EAGAIN: taken, but other parts of this evaluation are still being
// played, out is as it was. OCT_ENOTFOUND: no such ticket, or late, or of a learner that died;
// OCT_EINVAL: it was given to another; OCT_EPROTO: not the episodes that were asked for, or returns
// that are not finite.
OCT_CHECKED oct_err learner_evals_report(learner_evals *evals, uint32_t evaluator, uint64_t ticket,
                                         uint64_t version, const learner_eval_answer *answer,
                                         learner_eval_result *out);
// The evaluator could not play it (its environment fails): the version is given up. stage gets
// which kind of evaluation it was. OCT_ENOTFOUND, OCT_EINVAL as above.
OCT_CHECKED oct_err learner_evals_failed(learner_evals *evals, uint32_t evaluator, uint64_t ticket,
                                         uint64_t version, learner_eval_stage *stage);
// The best version (before any was fully evaluated: the best screened one); NULL: none. out: its
// result, stage LEARNER_EVAL_RESULT, else all that is known of it.
quantizer_publication *learner_evals_best(const learner_evals *evals, learner_eval_result *out);
// The last version, evaluated as fully as the best. False: it was not.
bool learner_evals_last(const learner_evals *evals, learner_eval_result *out);
// How many of the last LEARNER_EVAL_SCREENS first looks at a version there were, and their mean.
uint32_t learner_evals_screens(const learner_evals *evals, double *mean);
// The best was confirmed at the goal.
bool learner_evals_solved(const learner_evals *evals);
uint64_t learner_evals_count(const learner_evals *evals);     // orders so far
uint64_t learner_evals_own_count(const learner_evals *evals); // of them, those of this process

#endif // LEARNER_LEARNER_EVALS_H
