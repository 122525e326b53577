#ifndef LEARNER_LEARNER_CANDIDATES_H
#define LEARNER_LEARNER_CANDIDATES_H

#include "learner/learner_evals.h"

// The fully evaluated versions that a run chooses from: a confirmed one before all others, then by
// the mean over all full and confirming episodes. Part of learner_evals, which decides what is
// evaluated.
//
// Threads: the loop thread. Owns: a reference to each publication.
// Full: a new version takes the place of the worst that is worse than it, never of the best.

#define LEARNER_CANDIDATES_MAX 4

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
learner_candidate *learner_candidates_add(learner_candidates *candidates,
                                          quantizer_publication *publication,
                                          const learner_eval_result *result);
// The best of those that want to be confirmed; NULL: none.
const learner_candidate *learner_candidates_unconfirmed(const learner_candidates *candidates);

#endif // LEARNER_LEARNER_CANDIDATES_H
