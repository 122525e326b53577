#ifndef LEARNER_LEARNER_EVALS_H
#define LEARNER_LEARNER_EVALS_H

#include "common/oct_config.h"
#include "learner/learner_curve.h"
#include "quantizer/quantizer_stage.h"

// Which policy version is evaluated when, and which one is best. Three stages, each on fresh seeds:
//   screen  few episodes of the newest version; most versions end here
//   full    evaluation.episodes of a version whose screen reached the goal or beat the best
//   final   evaluation.episodes of the best once more: the number that summary.json reports, free
//           of the luck that picked it
// run.stop_at_return ends the run when full and then final reach it.
//
// Threads: the loop thread. Owns: references to the publications it may still need. Time is given.
typedef struct learner_evals learner_evals;

typedef enum learner_eval_stage {
    LEARNER_EVAL_SCREEN,
    LEARNER_EVAL_FULL,
    LEARNER_EVAL_FINAL,
} learner_eval_stage;

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
    uint64_t made_ns;
    uint32_t episodes;
    double mean, std, min, max;
    double mean_length;
} learner_eval_result;

// evaluations: how many were asked for before (a resumed run), so that seeds never repeat.
learner_evals *learner_evals_create(const oct_config *config, uint64_t evaluations);
void learner_evals_destroy(learner_evals *evals); // NULL is a no-op

// The newest version; retained.
void learner_evals_newest(learner_evals *evals, quantizer_publication *publication);
// No more training. What is left to evaluate: the newest version if it was not yet, what screened
// well, and then the best (else the newest) finally.
void learner_evals_finish(learner_evals *evals);
// What to evaluate next. OCT_EAGAIN: nothing now; screens are evaluation.period_s apart. An
// evaluator that asks again without having reported has lost its order and gets the same one
// (requests are repeated). An order that is not answered within LEARNER_EVAL_TICKET_S is given out
// again.
#define LEARNER_EVAL_TICKET_S 60
OCT_CHECKED oct_err learner_evals_order(learner_evals *evals, uint64_t now_ns, uint32_t evaluator,
                                        learner_eval_order *out);
// OCT_ENOTFOUND: unknown (or late) ticket, or one that was given for another version: by a learner
// that died, say; OCT_EPROTO: not the episodes that were asked for.
OCT_CHECKED oct_err learner_evals_report(learner_evals *evals, uint64_t ticket, uint64_t version,
                                         uint32_t episode_count, const float *episode_return,
                                         const uint32_t *episode_length, learner_eval_result *out);
// The evaluator could not play it (its environment fails): the version is given up. stage gets
// which kind of evaluation it was. OCT_ENOTFOUND as above.
OCT_CHECKED oct_err learner_evals_failed(learner_evals *evals, uint64_t ticket, uint64_t version,
                                         learner_eval_stage *stage);
// The best fully evaluated version (or, before any, the best screened one) and its result; NULL:
// none.
quantizer_publication *learner_evals_best(const learner_evals *evals, learner_eval_result *out);
// The final evaluation, when there was one for the best.
bool learner_evals_final(const learner_evals *evals, learner_eval_result *out);
// Goal reached and confirmed by a final evaluation.
bool learner_evals_solved(const learner_evals *evals);
uint64_t learner_evals_count(const learner_evals *evals);

#endif // LEARNER_LEARNER_EVALS_H
