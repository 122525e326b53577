#ifndef LEARNER_LEARNER_CANDIDATES_H
#define LEARNER_LEARNER_CANDIDATES_H

#include "learner/learner_evals.h"

// The fully evaluated versions that a run chooses from: a confirmed one before all others, then by
// the mean over all full and confirming episodes. Beside them wait the versions that screened best
// and were not fully evaluated. Part of learner_evals, which decides what is evaluated.
//
// Threads: the loop thread. Owns: a reference to each publication.
// Full: a new version takes the place of the worst that is worse than it, never of the best.

#define LEARNER_CANDIDATES_MAX     4
#define LEARNER_CANDIDATES_WAITING 4

// Free: publication is NULL.
typedef struct learner_candidate {
    quantizer_publication *publication;
    learner_eval_result result; // over all full and confirming episodes
    bool confirm_tried;
    double confirmed; // mean of that evaluation, NaN: none
} learner_candidate;

typedef struct learner_candidates {
    const oct_config *config; // borrowed
    learner_candidate item[LEARNER_CANDIDATES_MAX];
    learner_candidate waiting[LEARNER_CANDIDATES_WAITING]; // result: of the screen
} learner_candidates;

void learner_candidates_clear(learner_candidates *candidates);
bool learner_candidates_reach_goal(const learner_candidates *candidates, double mean);
// It was confirmed at the goal.
bool learner_candidate_is_solved(const learner_candidates *candidates,
                                 const learner_candidate *candidate);
// The one that ships; NULL: none was fully evaluated.
const learner_candidate *learner_candidates_best(const learner_candidates *candidates);
learner_candidate *learner_candidates_find(learner_candidates *candidates, uint64_t version);
// Another evaluation of a version that is there counts with those before. NULL: all are better.
// Either way the version waits no longer.
learner_candidate *learner_candidates_add(learner_candidates *candidates,
                                          quantizer_publication *publication,
                                          const learner_eval_result *result);
// A version that was screened: it waits, where its mean is among the best. One that is a candidate
// does not.
void learner_candidates_screened(learner_candidates *candidates, quantizer_publication *publication,
                                 const learner_eval_result *result);
// The best of those that want to be confirmed; NULL: none.
const learner_candidate *learner_candidates_unconfirmed(const learner_candidates *candidates);
// Which version another full evaluation tells most about: the best, or the one that may most
// probably be better than it, the one of fewer episodes of the two; one that waits has none. NULL:
// no other version's mean is within two standard errors of the difference, or the best was
// confirmed. Errors are those of the standard deviation pooled over the candidates, as thirty
// episodes without a failure say little of how rare failures are. This is LUCB (Kalyanakrishnan et
// al., PAC subset selection in stochastic multi-armed bandits, ICML 2012) with one evaluation for a
// round instead of two.
const learner_candidate *learner_candidates_contender(const learner_candidates *candidates);

#endif // LEARNER_LEARNER_CANDIDATES_H
