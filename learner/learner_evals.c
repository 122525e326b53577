// Chooses which policy version is evaluated, gives the episodes to evaluators, and decides from the
// returns which version is the best.
//
// 1. An evaluator asks for an order: a part of an evaluation (learner_eval_parts.c), with a seed.
// 2. During training the newest version is screened every evaluation.period_s, on few episodes,
//    because most versions are no better than the best so far.
// 3. The four versions that screened best wait. The best of them is fully evaluated if its screen
// is
//    at the goal or above the best full mean. The episodes of the screen do not count in the full
//    mean: they selected the version, so their mean is biased upwards.
// 4. A fully evaluated version (learner_candidates.c) with a mean at run.stop_at_return is
//    confirmed once, on fresh episodes. Only their mean decides whether the run is solved.
// 5. After training the last version is fully evaluated, then the best screen, then the versions
//    that may still be the best. The best of several noisy means is too high, so the version that
//    ships is played once more: the return that is reported decided nothing.
//
// Failures. An evaluator that disconnects, or makes no progress for learner_evals_patience_s, loses
// its part. A lost screen is dropped (in lock-step it is played again); any other part goes to the
// next evaluator that asks, with the same seed, so that no crash changes a return. If an
// environment fails, its evaluation is given up: a promotion ends, a confirmation is not repeated,
// after training no further rivals are tried, and without a result the mean of all other
// episodes is reported. learner_progress.c ends the wait if no evaluator answers.
#include "learner/learner_evals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_spread.h"
#include "learner/learner_evals_state.h"

#define SEEDS_FROM 0x80000000u // seeds from here on do not overlap with those of actors

const char *const learner_eval_stage_name[LEARNER_EVAL_STAGES] = {"screen", "full", "confirm",
                                                                  "result"};

// ---- lifetime

learner_evals *
learner_evals_create(const config_experiment *config, const learner_evals_saved *saved)
{
    learner_evals *evals = oct_alloc(sizeof(*evals));
    evals->config = config;
    evals->candidates.config = config;
    evals->evaluators = 1;
    if (saved != NULL) {
        evals->evaluations = evals->tickets = saved->evaluations;
        evals->screen_count = saved->screen_count;
        memcpy(evals->screens, saved->screens, sizeof(evals->screens));
    }
    return evals;
}

static void
evaluation_drop(struct evaluation *evaluation)
{
    quantizer_publication_release(evaluation->publication);
    learner_eval_parts_end(&evaluation->parts);
    *evaluation = (struct evaluation){0};
}

void
learner_evals_destroy(learner_evals *evals)
{
    if (evals == NULL) {
        return;
    }
    quantizer_publication_release(evals->newest);
    learner_candidates_clear(&evals->candidates);
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        evaluation_drop(&evals->evaluation[i]);
    }
    free(evals);
}

void
learner_evals_newest(learner_evals *evals, quantizer_publication *publication)
{
    if (evals->last_tried == 0) {
        quantizer_publication *earlier = evals->newest;
        evals->newest = publication != NULL ? quantizer_publication_retain(publication) : NULL;
        quantizer_publication_release(earlier);
    }
}

quantizer_publication *
learner_evals_policy(const learner_evals *evals)
{
    return evals->newest;
}

void
learner_evals_set_evaluators(learner_evals *evals, uint32_t count)
{
    evals->evaluators = OCT_MAX(1u, count);
}

void
learner_evals_finish(learner_evals *evals)
{
    evals->finishing = true;
}

// ---- resume

void
learner_evals_restore(learner_evals *evals, quantizer_publication *publication,
                      const learner_eval_result *best, double confirmed)
{
    learner_eval_result known = *best;
    known.version = publication->version;
    known.env_steps = publication->env_steps;
    known.made_ns = 0;
    if (best->episodes > 0 && best->stage != LEARNER_EVAL_SCREEN) {
        learner_candidate *candidate =
            learner_candidates_add(&evals->candidates, publication, &known);
        OCT_ASSERT(candidate != NULL);
        candidate->is_tried = !isnan(confirmed);
        candidate->confirmed = confirmed;
        if (best->stage == LEARNER_EVAL_RESULT) {
            evals->result = known;
        }
        return;
    }
    if (best->episodes == 0) {
        known.stage = LEARNER_EVAL_SCREEN;
        known.mean = known.std = known.min = known.max = known.mean_length = NAN;
    }
    learner_candidates_screened(&evals->candidates, publication, &known);
}

// ---- the next evaluation

static bool
in_work(const learner_evals *evals, learner_eval_stage stage)
{
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        const struct evaluation *evaluation = &evals->evaluation[i];
        if (evaluation->publication != NULL && evaluation->stage == stage) {
            return true;
        }
    }
    return false;
}

static bool
newest_is_unseen(const learner_evals *evals)
{
    return evals->newest != NULL && evals->newest->version > evals->screened_version;
}

// Full evaluations that evaluation.final_share still allows after training.
static uint64_t
contests_left(const learner_evals *evals)
{
    double most = evals->config->evaluation.final_share * (double)evals->episodes;
    double left = (most - (double)evals->final_episodes) / evals->config->evaluation.episodes;
    return evals->final_failed || left < 1 ? 0 : (uint64_t)left;
}

// Chooses after training. Slow evaluators may have seen only old versions, perhaps only the first
// one. So the last version and that of the best screen are evaluated before the best is taken.
static quantizer_publication *
choose_at_the_end(const learner_evals *evals, learner_eval_stage *stage)
{
    const learner_candidate *best = learner_candidates_best(&evals->candidates),
                            *wants = learner_candidates_unconfirmed(&evals->candidates);
    *stage = LEARNER_EVAL_FULL;
    if (in_work(evals, LEARNER_EVAL_RESULT) || in_work(evals, LEARNER_EVAL_FULL)) {
        return NULL;
    }
    if (evals->newest != NULL && evals->last_tried == 0 &&
        evals->last.version != evals->newest->version) {
        return evals->newest;
    }
    const learner_candidate *promoted = learner_candidates_promoted(&evals->candidates);
    bool is_solved = best != NULL && learner_candidate_is_solved(&evals->candidates, best);
    if (promoted != NULL && !is_solved &&
        evals->final_episodes < 2 * (uint64_t)evals->config->evaluation.episodes) {
        return promoted->publication;
    }
    *stage = LEARNER_EVAL_CONFIRM;
    if (in_work(evals, LEARNER_EVAL_CONFIRM)) {
        return NULL;
    }
    if (wants != NULL && !is_solved) {
        return wants->publication;
    }
    *stage = LEARNER_EVAL_FULL;
    const learner_candidate *contender = learner_candidates_contender(&evals->candidates);
    if (contender != NULL && contests_left(evals) > 0) {
        return contender->publication;
    }
    *stage = LEARNER_EVAL_RESULT;
    bool is_known = best == NULL || evals->result.version == best->publication->version;
    return is_known || evals->result_failed ? NULL : best->publication;
}

// Returns the next version to evaluate, or NULL if there is nothing to evaluate now. While one
// evaluator plays a long evaluation, another may screen.
static quantizer_publication *
choose(const learner_evals *evals, uint64_t paced_ns, learner_eval_stage *stage)
{
    if (evals->finishing) {
        return choose_at_the_end(evals, stage);
    }
    const learner_candidate *wants = learner_candidates_unconfirmed(&evals->candidates);
    *stage = LEARNER_EVAL_CONFIRM;
    if (wants != NULL && !in_work(evals, LEARNER_EVAL_CONFIRM)) {
        return wants->publication;
    }
    *stage = LEARNER_EVAL_FULL;
    const learner_candidate *promoted = learner_candidates_promoted(&evals->candidates);
    if (promoted != NULL && !in_work(evals, LEARNER_EVAL_FULL)) {
        return promoted->publication;
    }
    // In lock-step the caller spaces turns by evaluation.period_turns; each has at most one screen.
    double since_s = (double)(paced_ns - evals->screened_ns) * 1e-9;
    bool is_soon = evals->config->run.deterministic ? paced_ns == evals->screened_ns
                                                    : since_s < evals->config->evaluation.period_s;
    if (!newest_is_unseen(evals) || (evals->screened_version != 0 && is_soon)) {
        return NULL;
    }
    bool screens = evals->config->evaluation.screen_episodes < evals->config->evaluation.episodes;
    *stage = screens ? LEARNER_EVAL_SCREEN : LEARNER_EVAL_FULL;
    return evals->newest;
}

bool
learner_evals_done(const learner_evals *evals)
{
    learner_eval_stage stage;
    return evals->finishing && !in_work(evals, LEARNER_EVAL_FULL) &&
           !in_work(evals, LEARNER_EVAL_CONFIRM) && !in_work(evals, LEARNER_EVAL_RESULT) &&
           choose(evals, 0, &stage) == NULL;
}

// ---- orders

static struct evaluation *
evaluation_begin(learner_evals *evals, quantizer_publication *publication, learner_eval_stage stage,
                 uint64_t paced_ns)
{
    struct evaluation *evaluation = evals->evaluation;
    while (evaluation->publication != NULL) {
        if (++evaluation == evals->evaluation + LEARNER_EVALUATIONS_MAX) {
            return NULL;
        }
    }
    const config_experiment *config = evals->config;
    bool is_short = stage == LEARNER_EVAL_SCREEN;
    uint32_t episodes =
        is_short ? OCT_MAX(1u, config->evaluation.screen_episodes) : config->evaluation.episodes;
    evaluation->publication = quantizer_publication_retain(publication);
    evaluation->stage = stage;
    evaluation->is_first_look =
        !evals->finishing && publication == evals->newest && newest_is_unseen(evals);
    learner_eval_parts_begin(&evaluation->parts, OCT_MAX(1u, episodes), evals->evaluators,
                             (config->run.seed << 32) + SEEDS_FROM, evals->evaluations + 1);
    evals->evaluations += evaluation->parts.count;
    evals->own_evaluations += evaluation->parts.count;
    if (!evals->finishing) {
        evals->episodes += evaluation->parts.episodes;
    } else if (stage == LEARNER_EVAL_FULL) {
        evals->final_episodes += evaluation->parts.episodes;
    }
    if (evaluation->is_first_look) {
        evals->screened_ns = paced_ns;
        evals->screened_version = publication->version;
    }
    if (evals->finishing && stage == LEARNER_EVAL_FULL && publication == evals->newest) {
        evals->last_tried = publication->version;
    }
    return evaluation;
}

static uint64_t
patience_ns(const learner_evals *evals)
{
    return OCT_MAX(LEARNER_EVAL_PATIENCE_S * 1000000000ull,
                   LEARNER_EVAL_PATIENCE * evals->slowest_ns);
}

double
learner_evals_patience_s(const learner_evals *evals)
{
    return (double)patience_ns(evals) * 1e-9;
}

bool
learner_evals_rest(const learner_evals *evals, uint64_t paced_ns)
{
    learner_eval_stage stage;
    for (int i = 0; i < LEARNER_EVALUATIONS_MAX; i++) {
        if (evals->evaluation[i].publication != NULL) {
            return false;
        }
    }
    return choose(evals, paced_ns, &stage) == NULL;
}

// Takes the part from its evaluator. A lost screen is not worth another try, except in lock-step,
// where every evaluation is played.
static void
part_lose(const learner_evals *evals, struct evaluation *evaluation, learner_eval_part *part)
{
    part->ticket = 0;
    if (evaluation->stage == LEARNER_EVAL_SCREEN && !evals->config->run.deterministic) {
        evaluation_drop(evaluation);
    }
}

// Takes back the parts that are late and, after training, the screens of the evaluator that asks
// for an order.
static void
drop_late(learner_evals *evals, uint64_t now_ns, uint32_t asks)
{
    uint64_t most_ns = patience_ns(evals);
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        struct evaluation *evaluation = &evals->evaluation[e];
        for (uint32_t i = 0; i < evaluation->parts.count; i++) {
            learner_eval_part *part = &evaluation->parts.part[i];
            bool is_late = now_ns - part->advanced_ns > most_ns;
            bool is_unwanted = part->evaluator == asks && evals->finishing &&
                               evaluation->stage == LEARNER_EVAL_SCREEN;
            if (part->ticket != 0 && (is_late || is_unwanted)) {
                part_lose(evals, evaluation, part);
            }
        }
    }
}

void
learner_evals_drop_gone(learner_evals *evals, bool (*is_there)(void *arg, uint32_t evaluator),
                        void *arg)
{
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        struct evaluation *evaluation = &evals->evaluation[e];
        for (uint32_t i = 0; i < evaluation->parts.count; i++) {
            learner_eval_part *part = &evaluation->parts.part[i];
            if (part->ticket != 0 && !is_there(arg, part->evaluator)) {
                part_lose(evals, evaluation, part);
            }
        }
    }
}

// Returns the part that the evaluator plays, or NULL if it plays none.
static learner_eval_part *
part_held(learner_evals *evals, uint32_t evaluator, struct evaluation **of)
{
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        for (uint32_t i = 0; i < evals->evaluation[e].parts.count; i++) {
            learner_eval_part *part = &evals->evaluation[e].parts.part[i];
            if (part->ticket != 0 && part->evaluator == evaluator) {
                *of = &evals->evaluation[e];
                return part;
            }
        }
    }
    return NULL;
}

// Returns an open part of the latest stage that has one, neither played nor answered, or NULL.
static learner_eval_part *
part_open(learner_evals *evals, struct evaluation **of)
{
    learner_eval_part *found = NULL;
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        struct evaluation *evaluation = &evals->evaluation[e];
        learner_eval_part *part = learner_eval_parts_open(&evaluation->parts);
        if (part != NULL && (found == NULL || evaluation->stage > (*of)->stage)) {
            found = part;
            *of = evaluation;
        }
    }
    return found;
}

oct_err
learner_evals_order(learner_evals *evals, uint64_t paced_ns, uint64_t now_ns, uint32_t evaluator,
                    learner_eval_order *out)
{
    struct evaluation *evaluation = NULL;
    drop_late(evals, now_ns, evaluator);
    learner_eval_part *part = part_held(evals, evaluator, &evaluation);
    if (part != NULL) {
        part->advanced_ns = now_ns;
    } else {
        part = part_open(evals, &evaluation);
        if (part == NULL) {
            learner_eval_stage stage;
            quantizer_publication *publication = choose(evals, paced_ns, &stage);
            evaluation =
                publication != NULL ? evaluation_begin(evals, publication, stage, paced_ns) : NULL;
            if (evaluation == NULL) {
                return OCT_EAGAIN;
            }
            part = &evaluation->parts.part[0];
        }
        learner_eval_part_give(part, ++evals->tickets, evaluator, now_ns);
    }
    *out = (learner_eval_order){
        .publication = evaluation->publication,
        .ticket = part->ticket,
        .seed = part->seed,
        .episodes = part->count,
    };
    return OCT_OK;
}

bool
learner_evals_progress(learner_evals *evals, uint64_t now_ns, uint32_t evaluator, uint64_t ticket,
                       uint64_t calls, uint32_t episodes_done)
{
    struct evaluation *evaluation;
    learner_eval_part *part = part_held(evals, evaluator, &evaluation);
    if (part == NULL || part->ticket != ticket || calls <= part->calls) {
        return false;
    }
    evals->slowest_ns = OCT_MAX(evals->slowest_ns, now_ns - part->advanced_ns);
    part->advanced_ns = now_ns;
    part->calls = calls;
    part->episodes_done = OCT_MIN(episodes_done, part->count);
    return true;
}

bool
learner_evals_at_work(const learner_evals *evals, learner_eval_stage *stage, uint32_t *done,
                      uint32_t *episodes)
{
    const struct evaluation *found = NULL;
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        const struct evaluation *evaluation = &evals->evaluation[e];
        if (evaluation->publication != NULL &&
            (found == NULL || evaluation->stage > found->stage)) {
            found = evaluation;
        }
    }
    if (found == NULL) {
        return false;
    }
    *stage = found->stage;
    *done = learner_eval_parts_done(&found->parts);
    *episodes = found->parts.episodes;
    return true;
}

void
learner_evals_final(const learner_evals *evals, uint64_t *played, uint64_t *most)
{
    learner_eval_stage stage;
    *played = *most = 0;
    if (!evals->finishing) {
        return;
    }
    *played = *most = evals->final_played;
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        const struct evaluation *evaluation = &evals->evaluation[e];
        if (evaluation->publication != NULL) {
            *played += learner_eval_parts_done(&evaluation->parts);
            *most += evaluation->parts.episodes;
        }
    }
    const quantizer_publication *next = choose(evals, 0, &stage);
    bool is_last = in_work(evals, LEARNER_EVAL_RESULT) || learner_evals_done(evals);
    bool is_known = learner_evals_solved(evals) || (next != NULL && stage == LEARNER_EVAL_RESULT);
    if (!is_last) { // the full evaluations that may come before the result, and the result
        uint64_t others = is_known ? 0 : contests_left(evals);
        bool owes_newest = others == 0 && next != NULL && stage == LEARNER_EVAL_FULL;
        *most += (others + owes_newest + 1) * evals->config->evaluation.episodes;
    }
}

double
learner_evals_quiet_s(const learner_evals *evals, uint64_t now_ns)
{
    uint64_t quiet_ns = 0;
    for (int e = 0; e < LEARNER_EVALUATIONS_MAX; e++) {
        const learner_eval_parts *parts = &evals->evaluation[e].parts;
        for (uint32_t i = 0; i < parts->count; i++) {
            if (parts->part[i].ticket != 0 && now_ns > parts->part[i].advanced_ns) {
                quiet_ns = OCT_MAX(quiet_ns, now_ns - parts->part[i].advanced_ns);
            }
        }
    }
    return (double)quiet_ns * 1e-9;
}

// ---- reports

static void
screen_keep(learner_evals *evals, double mean)
{
    if (evals->screen_count == LEARNER_EVAL_SCREENS) {
        memmove(evals->screens, evals->screens + 1,
                (LEARNER_EVAL_SCREENS - 1) * sizeof(*evals->screens));
        evals->screen_count--;
    }
    evals->screens[evals->screen_count++] = mean;
}

// The result of an earlier process may be the mean that ranks its version, because policy.oct holds
// no other. Once that mean was compared with another version's, it has chosen, so it is biased and
// is forgotten: the version that ships gets a new result.
static void
result_forget_if_compared(learner_evals *evals, const learner_candidate *other)
{
    const learner_candidates *all = &evals->candidates;
    const learner_eval_result *result = &evals->result;
    const learner_candidate *own = learner_candidates_find(&evals->candidates, result->version);
    bool is_rank =
        own != NULL && own->result.episodes == result->episodes && own->result.mean == result->mean;
    if (is_rank && other != NULL && own != other &&
        learner_candidate_is_solved(all, own) == learner_candidate_is_solved(all, other)) {
        evals->result = (learner_eval_result){0};
    }
}

// Takes the mean of full or confirming episodes.
static void
mean_take(learner_evals *evals, quantizer_publication *publication,
          const learner_eval_result *result)
{
    learner_candidate *candidate = learner_candidates_add(&evals->candidates, publication, result);
    if (candidate != NULL && result->stage == LEARNER_EVAL_CONFIRM) {
        candidate->is_tried = true;
        candidate->confirmed = result->mean;
    }
    result_forget_if_compared(evals, candidate);
    bool is_last = result->stage == LEARNER_EVAL_FULL
                       ? publication->version >= evals->last.version
                       : candidate != NULL && publication->version == evals->last.version;
    if (is_last) {
        evals->last = candidate != NULL ? candidate->result : *result;
    }
}

// Finds the part of an answer. OCT_ENOTFOUND: the ticket is unknown, or the part was taken back
// because it was late. OCT_EINVAL: the ticket was given to another evaluator.
static oct_err
part_given(learner_evals *evals, uint32_t evaluator, uint64_t ticket, uint64_t version,
           learner_eval_part **out, struct evaluation **of)
{
    for (int e = 0; ticket != 0 && e < LEARNER_EVALUATIONS_MAX; e++) {
        struct evaluation *evaluation = &evals->evaluation[e];
        for (uint32_t i = 0; i < evaluation->parts.count; i++) {
            if (evaluation->parts.part[i].ticket == ticket &&
                evaluation->publication->version == version) {
                *of = evaluation;
                *out = &evaluation->parts.part[i];
                return (*out)->evaluator == evaluator ? OCT_OK : OCT_EINVAL;
            }
        }
    }
    return OCT_ENOTFOUND;
}

oct_err
learner_evals_failed(learner_evals *evals, uint32_t evaluator, uint64_t ticket, uint64_t version,
                     learner_eval_stage *stage)
{
    struct evaluation *evaluation;
    learner_eval_part *part;
    OCT_TRY(part_given(evals, evaluator, ticket, version, &part, &evaluation));
    *stage = evaluation->stage;
    if (*stage != LEARNER_EVAL_SCREEN) {
        learner_candidates_failed(&evals->candidates, *stage, version);
    }
    evals->result_failed = evals->result_failed || evaluation->stage == LEARNER_EVAL_RESULT;
    evals->final_failed =
        evals->final_failed || (evals->finishing && evaluation->stage == LEARNER_EVAL_FULL);
    evaluation_drop(evaluation);
    return OCT_OK;
}

static learner_eval_result
evaluation_result(const struct evaluation *evaluation)
{
    const learner_eval_parts *parts = &evaluation->parts;
    oct_spread spread = oct_spread_of(parts->returns, parts->episodes);
    learner_eval_result result = {
        .stage = evaluation->stage,
        .version = evaluation->publication->version,
        .env_steps = evaluation->publication->env_steps,
        .updates = evaluation->publication->updates,
        .made_ns = evaluation->publication->made_ns,
        .episodes = parts->episodes,
        .mean = spread.mean,
        .std = spread.std,
        .min = spread.min,
        .max = spread.max,
        .mean_length = oct_spread_mean_u32(parts->lengths, parts->episodes),
    };
    learner_eval_parts_counts(parts, &result.failed, &result.truncated);
    learner_eval_parts_metrics(parts, result.metrics);
    return result;
}

static bool
are_finite(const float *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(numbers[i])) {
            return false;
        }
    }
    return true;
}

oct_err
learner_evals_report(learner_evals *evals, uint32_t evaluator, uint64_t ticket, uint64_t version,
                     const learner_eval_answer *answer, learner_eval_result *out)
{
    struct evaluation *evaluation;
    learner_eval_part *part;
    OCT_TRY(part_given(evals, evaluator, ticket, version, &part, &evaluation));
    if (answer->episodes != part->count || !are_finite(answer->returns, answer->episodes)) {
        return OCT_EPROTO;
    }
    learner_eval_parts_answer(&evaluation->parts, part, answer);
    if (!learner_eval_parts_complete(&evaluation->parts)) {
        return OCT_EAGAIN;
    }
    *out = evaluation_result(evaluation);
    quantizer_publication *publication = quantizer_publication_retain(evaluation->publication);
    if (evaluation->is_first_look) {
        screen_keep(evals, out->mean);
    }
    evals->final_played += evals->finishing ? out->episodes : 0;
    evaluation_drop(evaluation);
    if (out->stage == LEARNER_EVAL_SCREEN) {
        learner_candidates_screened(&evals->candidates, publication, out);
    } else if (out->stage == LEARNER_EVAL_RESULT) {
        evals->result = *out;
    } else {
        mean_take(evals, publication, out);
    }
    quantizer_publication_release(publication);
    return OCT_OK;
}

// ---- results

quantizer_publication *
learner_evals_best(const learner_evals *evals, learner_eval_result *out)
{
    const learner_candidate *best = learner_candidates_best(&evals->candidates);
    best = best != NULL ? best : learner_candidates_waiting(&evals->candidates);
    if (best == NULL) {
        return NULL;
    }
    *out = evals->result.version == best->publication->version ? evals->result : best->result;
    return best->publication;
}

bool
learner_evals_last(const learner_evals *evals, learner_eval_result *out)
{
    learner_eval_result best;
    const quantizer_publication *shipped = learner_evals_best(evals, &best);
    uint64_t newest = evals->newest != NULL ? evals->newest->version : 0;
    bool is_known = evals->last.version != 0 &&
                    (evals->last.version == newest || evals->last.version == evals->last_tried);
    if (is_known) {
        *out = shipped != NULL && shipped->version == evals->last.version ? best : evals->last;
    }
    return is_known;
}

uint32_t
learner_evals_screens(const learner_evals *evals, double *mean)
{
    double sum = 0;
    for (uint32_t i = 0; i < evals->screen_count; i++) {
        sum += evals->screens[i];
    }
    *mean = evals->screen_count > 0 ? sum / evals->screen_count : NAN;
    return evals->screen_count;
}

bool
learner_evals_solved(const learner_evals *evals)
{
    const learner_candidate *best = learner_candidates_best(&evals->candidates);
    return best != NULL && learner_candidate_is_solved(&evals->candidates, best);
}

void
learner_evals_save(const learner_evals *evals, learner_evals_saved *out)
{
    const learner_candidate *best = learner_candidates_best(&evals->candidates);
    *out = (learner_evals_saved){
        .evaluations = evals->evaluations,
        .confirmed = best != NULL ? best->confirmed : NAN,
        .screen_count = evals->screen_count,
    };
    (void)learner_evals_best(evals, &out->best);
    memcpy(out->screens, evals->screens, sizeof(out->screens));
}

uint64_t
learner_evals_count(const learner_evals *evals)
{
    return evals->evaluations;
}

uint64_t
learner_evals_own_count(const learner_evals *evals)
{
    return evals->own_evaluations;
}
