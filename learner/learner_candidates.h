#ifndef LEARNER_LEARNER_CANDIDATES_H
#define LEARNER_LEARNER_CANDIDATES_H

#include "learner/learner_evals.h"

// The versions from which a run chooses the version that ships. Those that were fully evaluated are
// the candidates: a confirmed one comes before all others, then the mean over all full and
// confirming episodes decides. Beside them wait the versions that screened best and were not fully
// evaluated. Part of learner_evals, which decides what is evaluated.
//
// Threads: the loop thread. Owns: a reference to each publication. Full: a new version replaces the
// worst of its kind if that is no better, but never the best candidate.

#define LEARNER_CANDIDATES_MAX     4
#define LEARNER_CANDIDATES_WAITING 4

// publication is NULL if the slot is free.
typedef struct learner_candidate {
    quantizer_publication *publication;
    learner_eval_result result; // over all full and confirming episodes; while it waits, the screen
    bool is_tried;              // its next stage ended: full while it waits, then confirm
    double confirmed;           // mean of the confirming evaluation; NaN: there is none
} learner_candidate;

typedef struct learner_candidates {
    const config_experiment *config; // borrowed
    learner_candidate item[LEARNER_CANDIDATES_MAX];
    learner_candidate waiting[LEARNER_CANDIDATES_WAITING];
} learner_candidates;

void learner_candidates_clear(learner_candidates *candidates);
bool learner_candidates_reach_goal(const learner_candidates *candidates, double mean);
// Returns true if the candidate was confirmed at the goal.
bool learner_candidate_is_solved(const learner_candidates *candidates,
                                 const learner_candidate *candidate);
// Returns the candidate that ships, or NULL if no version was fully evaluated.
const learner_candidate *learner_candidates_best(const learner_candidates *candidates);
learner_candidate *learner_candidates_find(learner_candidates *candidates, uint64_t version);
// Adds an evaluation of a version. If the version is a candidate already, its episodes are pooled.
// Returns NULL if the version is new and all candidates are better. In either case the version does
// not wait any longer.
learner_candidate *learner_candidates_add(learner_candidates *candidates,
                                          quantizer_publication *publication,
                                          const learner_eval_result *result);
// Takes a screened version: it waits if its mean is among the best of those that wait. A mean of
// NaN is unknown, and counts as the best. A version that is a candidate already does not wait.
void learner_candidates_screened(learner_candidates *candidates, quantizer_publication *publication,
                                 const learner_eval_result *result);
// Returns the version that screened best among those that wait, or NULL if none waits.
const learner_candidate *learner_candidates_waiting(const learner_candidates *candidates);
// Returns the version to evaluate fully next: that of the best screen, if the screen reached the
// goal or is above the best candidate. NULL: there is none.
const learner_candidate *learner_candidates_promoted(const learner_candidates *candidates);
// Marks a stage of the version, full while it waits or confirm, as tried: it could not be played.
void learner_candidates_failed(learner_candidates *candidates, learner_eval_stage stage,
                               uint64_t version);
// Returns the best candidate that reached the goal and has not been confirmed, or NULL if there is
// none.
const learner_candidate *learner_candidates_unconfirmed(const learner_candidates *candidates);
// Returns the version for which another full evaluation helps most to decide which version is the
// best. It is either the best or its strongest rival, whichever has fewer full episodes; a waiting
// version has none. The rival is the version that may be better by the most. Returns NULL if no
// other version's mean is within two standard errors of the difference, or the best was confirmed.
//
// The errors use the standard deviation pooled over the candidates, because thirty episodes without
// a failure say little about how rare failures are. This is LUCB (Kalyanakrishnan et al., PAC
// subset selection in stochastic multi-armed bandits, ICML 2012) with one evaluation per round
// instead of two.
const learner_candidate *learner_candidates_contender(const learner_candidates *candidates);

#endif // LEARNER_LEARNER_CANDIDATES_H
