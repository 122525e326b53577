// Keeps the best few of the fully evaluated versions, of which one ships, and beside them the
// versions that screened best.
#include "learner/learner_candidates.h"

#include <math.h>

#include "common/oct_base.h"

#define STANDARD_ERRORS 2 // of the difference of two means that separate two versions

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

static learner_candidate *
item_find(learner_candidate *items, int count, uint64_t version)
{
    for (int i = 0; i < count; i++) {
        if (items[i].publication != NULL && items[i].publication->version == version) {
            return &items[i];
        }
    }
    return NULL;
}

learner_candidate *
learner_candidates_find(learner_candidates *candidates, uint64_t version)
{
    return item_find(candidates->item, LEARNER_CANDIDATES_MAX, version);
}

// Compares by mean, an unknown one as the best, and equal ones by age.
static bool
is_worse(const learner_candidate *item, const learner_candidate *other)
{
    double a = item->result.mean, b = other->result.mean;
    bool is_equal = a == b || (isnan(a) && isnan(b));
    return is_equal ? item->publication->version < other->publication->version : isnan(b) || a < b;
}

// Returns a free slot, or that of the worst item except kept if its mean is not above mean, or
// NULL.
static learner_candidate *
slot_for(learner_candidate *items, int count, const learner_candidate *kept, double mean)
{
    learner_candidate *worst = NULL;
    for (int i = 0; i < count; i++) {
        if (items[i].publication == NULL) {
            return &items[i];
        }
        if (&items[i] != kept && (worst == NULL || is_worse(&items[i], worst))) {
            worst = &items[i];
        }
    }
    return isnan(mean) || worst->result.mean <= mean ? worst : NULL;
}

// Pools two evaluations of one version into one of stage full.
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
    all->failed += more->failed;
    all->truncated += more->truncated;
    for (int i = 0; i < OCT_METRICS_MAX; i++) {
        oct_metric_join(&all->metrics[i], &more->metrics[i]);
    }
}

static void
candidate_drop(learner_candidate *candidate)
{
    quantizer_publication_release(candidate->publication);
    candidate->publication = NULL;
}

static void
candidate_put(learner_candidate *candidate, quantizer_publication *publication,
              const learner_eval_result *result)
{
    (void)quantizer_publication_retain(publication);
    quantizer_publication_release(candidate->publication);
    *candidate = (learner_candidate){
        .publication = publication,
        .result = *result,
        .confirmed = NAN,
    };
}

static void
waits_no_longer(learner_candidates *candidates, uint64_t version)
{
    learner_candidate *waiting =
        item_find(candidates->waiting, LEARNER_CANDIDATES_WAITING, version);
    if (waiting != NULL) {
        candidate_drop(waiting);
    }
}

learner_candidate *
learner_candidates_add(learner_candidates *candidates, quantizer_publication *publication,
                       const learner_eval_result *result)
{
    waits_no_longer(candidates, publication->version);
    learner_candidate *candidate = learner_candidates_find(candidates, publication->version);
    if (candidate != NULL) {
        result_pool(&candidate->result, result);
        return candidate;
    }
    candidate = slot_for(candidates->item, LEARNER_CANDIDATES_MAX,
                         learner_candidates_best(candidates), result->mean);
    if (candidate == NULL) {
        return NULL;
    }
    candidate_put(candidate, publication, result);
    candidate->result.stage = LEARNER_EVAL_FULL;
    return candidate;
}

void
learner_candidates_screened(learner_candidates *candidates, quantizer_publication *publication,
                            const learner_eval_result *result)
{
    if (learner_candidates_find(candidates, publication->version) != NULL) {
        return; // its full evaluation finished before this screen
    }
    waits_no_longer(candidates, publication->version);
    learner_candidate *slot =
        slot_for(candidates->waiting, LEARNER_CANDIDATES_WAITING, NULL, result->mean);
    if (slot != NULL) {
        candidate_put(slot, publication, result);
    }
}

const learner_candidate *
learner_candidates_waiting(const learner_candidates *candidates)
{
    const learner_candidate *best = NULL;
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        const learner_candidate *waiting = &candidates->waiting[i];
        if (waiting->publication != NULL && (best == NULL || is_worse(best, waiting))) {
            best = waiting;
        }
    }
    return best;
}

const learner_candidate *
learner_candidates_promoted(const learner_candidates *candidates)
{
    const learner_candidate *best = learner_candidates_best(candidates), *promoted = NULL;
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        const learner_candidate *waiting = &candidates->waiting[i];
        double mean = waiting->result.mean;
        bool is_wanted = waiting->publication != NULL && !waiting->is_tried &&
                         (best == NULL || isnan(mean) || mean > best->result.mean ||
                          learner_candidates_reach_goal(candidates, mean));
        if (is_wanted && (promoted == NULL || is_worse(promoted, waiting))) {
            promoted = waiting;
        }
    }
    return promoted;
}

void
learner_candidates_failed(learner_candidates *candidates, learner_eval_stage stage,
                          uint64_t version)
{
    learner_candidate *candidate =
        stage == LEARNER_EVAL_CONFIRM
            ? learner_candidates_find(candidates, version)
            : item_find(candidates->waiting, LEARNER_CANDIDATES_WAITING, version);
    if (candidate != NULL) {
        candidate->is_tried = true;
    }
}

const learner_candidate *
learner_candidates_unconfirmed(const learner_candidates *candidates)
{
    const learner_candidate *best = NULL;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        const learner_candidate *candidate = &candidates->item[i];
        bool wants = candidate->publication != NULL && !candidate->is_tried &&
                     learner_candidates_reach_goal(candidates, candidate->result.mean);
        if (wants && (best == NULL || candidate->result.mean > best->result.mean)) {
            best = candidate;
        }
    }
    return best;
}

// Returns the standard deviation of an episode's return around the mean of its candidate, pooled
// over all candidates.
static double
pooled_std(const learner_candidates *candidates)
{
    double squares = 0, freedom = 0;
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        const learner_candidate *candidate = &candidates->item[i];
        if (candidate->publication != NULL && candidate->result.episodes > 1) {
            double n = candidate->result.episodes - 1.0;
            squares += candidate->result.std * candidate->result.std * n;
            freedom += n;
        }
    }
    return freedom > 0 ? sqrt(squares / freedom) : 0;
}

// Returns the upper bound of the lead of other over best. Above 0, the better version is not known.
static double
lead_at_most(const learner_candidate *other, const learner_candidate *best, double std)
{
    double variances = 1.0 / other->result.episodes + 1.0 / best->result.episodes;
    return other->result.mean - best->result.mean + STANDARD_ERRORS * std * sqrt(variances);
}

const learner_candidate *
learner_candidates_contender(const learner_candidates *candidates)
{
    const learner_candidate *best = learner_candidates_best(candidates), *rival = NULL;
    if (best == NULL || learner_candidate_is_solved(candidates, best)) {
        return NULL;
    }
    double std = pooled_std(candidates), most = 0;
    uint32_t episodes = 0; // full episodes of the rival
    for (int i = 0; i < LEARNER_CANDIDATES_MAX + LEARNER_CANDIDATES_WAITING; i++) {
        bool waits = i >= LEARNER_CANDIDATES_MAX;
        const learner_candidate *other =
            waits ? &candidates->waiting[i - LEARNER_CANDIDATES_MAX] : &candidates->item[i];
        bool is_rival = other->publication != NULL && other != best && !(waits && other->is_tried);
        if (is_rival && lead_at_most(other, best, std) > most) {
            most = lead_at_most(other, best, std);
            rival = other;
            episodes = waits ? 0 : other->result.episodes;
        }
    }
    return rival == NULL || episodes <= best->result.episodes ? rival : best;
}

void
learner_candidates_clear(learner_candidates *candidates)
{
    for (int i = 0; i < LEARNER_CANDIDATES_MAX; i++) {
        candidate_drop(&candidates->item[i]);
    }
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        candidate_drop(&candidates->waiting[i]);
    }
}
