#include "learner/learner_evals.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_spread.h"

#define TICKETS_MAX     8
#define TICKET_LIFE_NS  (LEARNER_EVAL_TICKET_S * 1000000000ull)
#define SEEDS_PER_ORDER 1000003u

struct ticket {
    uint64_t id; // 0: free
    uint64_t given_ns;
    uint64_t seed;
    uint32_t evaluator;
    uint32_t episodes;
    learner_eval_stage stage;
    bool last; // given after training
    quantizer_publication *publication;
};

struct candidate {
    quantizer_publication *publication; // NULL: none
    learner_eval_result result;
};

struct learner_evals {
    const oct_config *config;
    uint64_t evaluations;
    uint64_t screened_version;
    uint64_t screened_ns;
    bool screened_any;
    bool finishing;
    bool looked; // finishing: the newest version had its turn
    bool closed; // the last final evaluation was answered
    bool solved;
    struct candidate newest;
    struct candidate promoted; // screened well: wants a full evaluation
    struct candidate confirm;  // fully evaluated above the goal: wants a final one
    struct candidate best;
    struct candidate final;
    struct ticket tickets[TICKETS_MAX];
};

static void
candidate_set(struct candidate *candidate, quantizer_publication *publication)
{
    if (publication != NULL) {
        quantizer_publication_retain(publication);
    }
    quantizer_publication_release(candidate->publication);
    candidate->publication = publication;
}

learner_evals *
learner_evals_create(const oct_config *config, uint64_t evaluations)
{
    learner_evals *evals = oct_alloc(sizeof(*evals));
    evals->config = config;
    evals->evaluations = evaluations;
    return evals;
}

static void
ticket_drop(struct ticket *ticket)
{
    quantizer_publication_release(ticket->publication);
    *ticket = (struct ticket){0};
}

void
learner_evals_destroy(learner_evals *evals)
{
    if (evals == NULL) {
        return;
    }
    struct candidate *all[] = {&evals->newest, &evals->promoted, &evals->confirm, &evals->best,
                               &evals->final};
    for (size_t i = 0; i < OCT_COUNTOF(all); i++) {
        candidate_set(all[i], NULL);
    }
    for (int i = 0; i < TICKETS_MAX; i++) {
        ticket_drop(&evals->tickets[i]);
    }
    free(evals);
}

void
learner_evals_newest(learner_evals *evals, quantizer_publication *publication)
{
    candidate_set(&evals->newest, publication);
}

static bool
goal_reached(const learner_evals *evals, double mean)
{
    double goal = evals->config->run.stop_at_return;
    return !isnan(goal) && mean >= goal;
}

void
learner_evals_finish(learner_evals *evals)
{
    evals->finishing = true;
    evals->closed = evals->closed || (evals->final.publication != NULL &&
                                      evals->final.publication == evals->best.publication &&
                                      evals->confirm.publication == NULL);
}

static bool
stage_in_work(const learner_evals *evals, learner_eval_stage stage)
{
    for (int i = 0; i < TICKETS_MAX; i++) {
        if (evals->tickets[i].id != 0 && evals->tickets[i].stage == stage) {
            return true;
        }
    }
    return false;
}

static quantizer_publication *
screen_choose(learner_evals *evals, uint64_t now_ns, learner_eval_stage *stage, uint32_t *episodes)
{
    quantizer_publication *newest = evals->newest.publication;
    bool screens = evals->config->evaluation.screen_episodes < *episodes;
    evals->screened_any = true;
    evals->screened_ns = now_ns;
    evals->screened_version = newest->version;
    *stage = screens ? LEARNER_EVAL_SCREEN : LEARNER_EVAL_FULL;
    *episodes = screens ? OCT_MAX(1u, evals->config->evaluation.screen_episodes) : *episodes;
    return newest;
}

static bool
newest_is_unseen(const learner_evals *evals)
{
    const quantizer_publication *newest = evals->newest.publication;
    return newest != NULL && newest->version > evals->screened_version;
}

// After training. Evaluators that could not keep up have seen old versions only, perhaps none but
// the first: the newest gets its turn, and so does what screened well, before the best is taken.
static quantizer_publication *
last_choose(learner_evals *evals, uint64_t now_ns, learner_eval_stage *stage, uint32_t *episodes)
{
    if (evals->closed || stage_in_work(evals, LEARNER_EVAL_FINAL)) {
        return NULL;
    }
    if (evals->best.publication != NULL && !evals->looked && newest_is_unseen(evals)) {
        evals->looked = true;
        return screen_choose(evals, now_ns, stage, episodes);
    }
    if (evals->promoted.publication != NULL && !stage_in_work(evals, LEARNER_EVAL_FULL)) {
        *stage = LEARNER_EVAL_FULL;
        return evals->promoted.publication;
    }
    *stage = LEARNER_EVAL_FINAL;
    candidate_set(&evals->confirm, evals->best.publication != NULL ? evals->best.publication
                                                                   : evals->newest.publication);
    return evals->confirm.publication;
}

// The next thing to evaluate and on how many episodes; NULL: nothing now. While one evaluator plays
// a final or full evaluation, another may screen.
static quantizer_publication *
evals_choose(learner_evals *evals, uint64_t now_ns, learner_eval_stage *stage, uint32_t *episodes)
{
    *episodes = evals->config->evaluation.episodes;
    if (evals->confirm.publication != NULL && !stage_in_work(evals, LEARNER_EVAL_FINAL)) {
        *stage = LEARNER_EVAL_FINAL;
        return evals->confirm.publication;
    }
    if (evals->finishing) {
        return last_choose(evals, now_ns, stage, episodes);
    }
    if (evals->promoted.publication != NULL && !stage_in_work(evals, LEARNER_EVAL_FULL)) {
        *stage = LEARNER_EVAL_FULL;
        return evals->promoted.publication;
    }
    double since_s = (double)(now_ns - evals->screened_ns) * 1e-9;
    if (!newest_is_unseen(evals) ||
        (evals->screened_any && since_s < evals->config->evaluation.period_s)) {
        return NULL;
    }
    return screen_choose(evals, now_ns, stage, episodes);
}

// Drops what is late, or no longer wanted. The ticket that evaluator holds, else a free one; NULL:
// none.
static struct ticket *
ticket_find(learner_evals *evals, uint64_t now_ns, uint32_t evaluator)
{
    struct ticket *held = NULL, *free_ticket = NULL;
    for (int i = 0; i < TICKETS_MAX; i++) {
        struct ticket *ticket = &evals->tickets[i];
        bool late = ticket->id != 0 && now_ns - ticket->given_ns > TICKET_LIFE_NS;
        bool own = ticket->id != 0 && ticket->evaluator == evaluator;
        bool unwanted = evals->finishing && !ticket->last && ticket->stage != LEARNER_EVAL_FINAL;
        if (late || (own && unwanted)) {
            ticket_drop(ticket);
        } else if (own) {
            held = ticket;
        }
        if (ticket->id == 0) {
            free_ticket = ticket;
        }
    }
    return held != NULL ? held : free_ticket;
}

oct_err
learner_evals_order(learner_evals *evals, uint64_t now_ns, uint32_t evaluator,
                    learner_eval_order *out)
{
    struct ticket *ticket = ticket_find(evals, now_ns, evaluator);
    if (ticket == NULL) {
        return OCT_EAGAIN;
    }
    if (ticket->id == 0) {
        learner_eval_stage stage;
        uint32_t episodes;
        quantizer_publication *publication = evals_choose(evals, now_ns, &stage, &episodes);
        if (publication == NULL) {
            return OCT_EAGAIN;
        }
        evals->evaluations++;
        *ticket = (struct ticket){
            .id = evals->evaluations,
            // Far from the actors' seeds, and from those of every other order.
            .seed = (evals->config->run.seed << 32) + 0x80000000u +
                    evals->evaluations * SEEDS_PER_ORDER,
            .evaluator = evaluator,
            .episodes = episodes,
            .stage = stage,
            .last = evals->finishing,
            .publication = quantizer_publication_retain(publication),
        };
    }
    ticket->given_ns = now_ns;
    *out = (learner_eval_order){
        .publication = ticket->publication,
        .ticket = ticket->id,
        .seed = ticket->seed,
        .episodes = ticket->episodes,
    };
    return OCT_OK;
}

static void
result_summarise(learner_eval_result *result, const float *returns, const uint32_t *lengths,
                 uint32_t n)
{
    oct_spread spread = oct_spread_of(returns, n);
    result->mean = spread.mean;
    result->std = spread.std;
    result->min = spread.min;
    result->max = spread.max;
    result->mean_length = oct_spread_mean_u32(lengths, n);
    result->episodes = n;
}

static void
best_offer(learner_evals *evals, quantizer_publication *publication,
           const learner_eval_result *result)
{
    const struct candidate *best = &evals->best;
    bool better = best->publication == NULL || result->stage > best->result.stage ||
                  (result->stage == best->result.stage && result->mean > best->result.mean);
    if (better) {
        candidate_set(&evals->best, publication);
        evals->best.result = *result;
    }
}

static void
screened(learner_evals *evals, quantizer_publication *publication,
         const learner_eval_result *result)
{
    bool first = evals->best.publication == NULL || evals->best.result.stage == LEARNER_EVAL_SCREEN;
    bool promising =
        first ? evals->best.publication == NULL || result->mean >= evals->best.result.mean
              : result->mean > evals->best.result.mean;
    best_offer(evals, publication, result);
    if (goal_reached(evals, result->mean) || promising) {
        candidate_set(&evals->promoted, publication);
    }
}

static void
fully_evaluated(learner_evals *evals, quantizer_publication *publication,
                const learner_eval_result *result)
{
    if (evals->promoted.publication == publication) {
        candidate_set(&evals->promoted, NULL);
    }
    best_offer(evals, publication, result);
    if (!evals->finishing && goal_reached(evals, result->mean)) {
        candidate_set(&evals->confirm, publication);
    }
}

static void
finally_evaluated(learner_evals *evals, quantizer_publication *publication,
                  const learner_eval_result *result)
{
    evals->closed = evals->finishing;
    candidate_set(&evals->confirm, NULL);
    candidate_set(&evals->final, publication);
    evals->final.result = *result;
    // The fresh number replaces the one that picked this version: it has no luck in it.
    candidate_set(&evals->best, publication);
    evals->best.result = *result;
    evals->best.result.stage = LEARNER_EVAL_FULL;
    evals->solved = goal_reached(evals, result->mean);
}

// The ticket of an answer; NULL: unknown, or dropped for being late.
static struct ticket *
ticket_given(learner_evals *evals, uint64_t id, uint64_t version)
{
    for (int i = 0; i < TICKETS_MAX; i++) {
        struct ticket *ticket = &evals->tickets[i];
        if (id != 0 && ticket->id == id && ticket->publication->version == version) {
            return ticket;
        }
    }
    return NULL;
}

oct_err
learner_evals_failed(learner_evals *evals, uint64_t id, uint64_t version, learner_eval_stage *stage)
{
    struct ticket *ticket = ticket_given(evals, id, version);
    if (ticket == NULL) {
        return OCT_ENOTFOUND;
    }
    *stage = ticket->stage;
    if (ticket->stage == LEARNER_EVAL_FULL) {
        candidate_set(&evals->promoted, NULL);
    } else if (ticket->stage == LEARNER_EVAL_FINAL) {
        evals->closed = evals->finishing;
        candidate_set(&evals->confirm, NULL);
    }
    ticket_drop(ticket);
    return OCT_OK;
}

oct_err
learner_evals_report(learner_evals *evals, uint64_t id, uint64_t version, uint32_t episode_count,
                     const float *episode_return, const uint32_t *episode_length,
                     learner_eval_result *out)
{
    struct ticket *ticket = ticket_given(evals, id, version);
    if (ticket == NULL) {
        return OCT_ENOTFOUND;
    }
    if (episode_count != ticket->episodes) {
        return OCT_EPROTO;
    }
    quantizer_publication *publication = quantizer_publication_retain(ticket->publication);
    learner_eval_result result = {
        .stage = ticket->stage,
        .version = publication->version,
        .env_steps = publication->env_steps,
        .made_ns = publication->made_ns,
    };
    result_summarise(&result, episode_return, episode_length, episode_count);
    ticket_drop(ticket);
    switch (result.stage) {
    case LEARNER_EVAL_SCREEN:
        screened(evals, publication, &result);
        break;
    case LEARNER_EVAL_FULL:
        fully_evaluated(evals, publication, &result);
        break;
    case LEARNER_EVAL_FINAL:
        finally_evaluated(evals, publication, &result);
        break;
    }
    quantizer_publication_release(publication);
    *out = result;
    return OCT_OK;
}

quantizer_publication *
learner_evals_best(const learner_evals *evals, learner_eval_result *out)
{
    if (evals->best.publication != NULL) {
        *out = evals->best.result;
    }
    return evals->best.publication;
}

bool
learner_evals_final(const learner_evals *evals, learner_eval_result *out)
{
    if (evals->final.publication == NULL || evals->final.publication != evals->best.publication) {
        return false;
    }
    *out = evals->final.result;
    return true;
}

bool
learner_evals_solved(const learner_evals *evals)
{
    return evals->solved;
}

uint64_t
learner_evals_count(const learner_evals *evals)
{
    return evals->evaluations;
}
