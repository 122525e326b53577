// The versions that were fully evaluated: the few best are kept, and one of them ships.
#include "learner/learner_candidates.h"

#include <math.h>

#include "common/oct_base.h"

bool
learner_candidates_reach_goal(const learner_candidates *candidates, double mean)
{
    double goal = candidates->config->run.stop_at_return;
    return !isnan(goal) && mean >= goal;
}

bool
learner_candidate_is_solved(const learner_candidates *candidates,
                            const learner_candidate *candidate)
{
    return learner_candidates_reach_goal(candidates, candidate->confirmed); // NaN reaches nothing
}

const learner_candidate *
learner_candidates_best(const learner_candidates *candidates)
{
    const learner_candidate *best = NULL;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        const learner_candidate *candidate = &candidates->item[i];
        if (candidate->publication == NULL) {
            continue;
        }
        int more = best == NULL ? 1
                                : learner_candidate_is_solved(candidates, candidate) -
                                      learner_candidate_is_solved(candidates, best);
        if (more > 0 || (more == 0 && candidate->result.mean > best->result.mean)) {
            best = candidate;
        }
    }
    return best;
}

learner_candidate *
learner_candidates_find(learner_candidates *candidates, uint64_t version)
{
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        learner_candidate *candidate = &candidates->item[i];
        if (candidate->publication != NULL && candidate->publication->version == version) {
            return candidate;
        }
    }
    return NULL;
}

// A free place, or that of the worst one where it is worse than mean; NULL: none.
static learner_candidate *
place_of(learner_candidates *candidates, double mean)
{
    const learner_candidate *best = learner_candidates_best(candidates);
    learner_candidate *place = NULL;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        learner_candidate *candidate = &candidates->item[i];
        if (candidate->publication == NULL) {
            return candidate;
        }
        if (candidate != best && candidate->result.mean < mean &&
            (place == NULL || candidate->result.mean < place->result.mean)) {
            place = candidate;
        }
    }
    return place;
}

// Two evaluations of one version as one, of stage full.
static void
result_pool(learner_eval_result *all, const learner_eval_result *more)
{
    double n = all->episodes, m = more->episodes, between = more->mean - all->mean;
    double squares = all->std * all->std * (n - 1) + more->std * more->std * (m - 1) +
                     between * between * n * m / (n + m);
    all->mean += between * m / (n + m);
    all->std = sqrt(squares / (n + m - 1));
    all->min = OCT_MIN(all->min, more->min);
    all->max = OCT_MAX(all->max, more->max);
    all->mean_length += (more->mean_length - all->mean_length) * m / (n + m);
    all->episodes += more->episodes;
}

learner_candidate *
learner_candidates_add(learner_candidates *candidates, quantizer_publication *publication,
                       const learner_eval_result *result)
{
    learner_candidate *candidate = learner_candidates_find(candidates, publication->version);
    if (candidate != NULL) {
        result_pool(&candidate->result, result);
        return candidate;
    }
    candidate = place_of(candidates, result->mean);
    if (candidate == NULL) {
        return NULL;
    }
    quantizer_publication_release(candidate->publication);
    candidate->publication = quantizer_publication_retain(publication);
    candidate->result = *result;
    candidate->result.stage = LEARNER_EVAL_FULL;
    candidate->confirm_tried = false;
    candidate->confirmed = NAN;
    return candidate;
}

const learner_candidate *
learner_candidates_unconfirmed(const learner_candidates *candidates)
{
    const learner_candidate *best = NULL;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        const learner_candidate *candidate = &candidates->item[i];
        bool wants = candidate->publication != NULL && !candidate->confirm_tried &&
                     learner_candidates_reach_goal(candidates, candidate->result.mean);
        if (wants && (best == NULL || candidate->result.mean > best->result.mean)) {
            best = candidate;
        }
    }
    return best;
}

void
learner_candidates_clear(learner_candidates *candidates)
{
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        quantizer_publication_release(candidates->item[i].publication);
        candidates->item[i].publication = NULL;
    }
}
