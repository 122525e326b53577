#ifndef TESTS_LEARNER_EVALS_FIXTURE_H
#define TESTS_LEARNER_EVALS_FIXTURE_H

#include <stdlib.h>

#include "common/oct_base.h"
#include "learner/learner_evals.h"
#include "tests/support/oct_test.h"

#define SECOND   1000000000ull
#define EPISODES 10
#define SCREEN   3
#define GOAL     100.0
#define ONE      1 // evaluators
#define TWO      2

static config_experiment config;
static learner_evals *evals;
static uint64_t now_ns;
static uint32_t holder[256]; // of a ticket: tests give out fewer

static inline int
setup(void **state)
{
    (void)state;
    config_default(&config);
    config.run.seed = 7;
    config.run.stop_at_return = GOAL;
    config.evaluation.episodes = EPISODES;
    config.evaluation.screen_episodes = SCREEN;
    config.evaluation.period_s = 0;
    evals = learner_evals_create(&config, NULL);
    now_ns = 1000 * SECOND;
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    learner_evals_destroy(evals);
    return 0;
}

// A version with nothing in it; evals holds the last reference.
static inline void
newest(uint64_t version)
{
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = version;
    learner_evals_newest(evals, publication);
    quantizer_publication_release(publication);
}

static inline learner_eval_order
ordered(uint32_t evaluator)
{
    learner_eval_order order = {.ticket = 0};
    T_OK(learner_evals_order(evals, now_ns, now_ns, evaluator, &order));
    holder[order.ticket % OCT_COUNTOF(holder)] = evaluator;
    return order;
}

static inline void
assert_nothing_for(uint32_t evaluator)
{
    learner_eval_order order;
    T_ERR(learner_evals_order(evals, now_ns, now_ns, evaluator, &order), OCT_EAGAIN);
}

static inline void
assert_order(const learner_eval_order *order, uint64_t version, uint32_t episodes)
{
    assert_int_equal(order->publication->version, version);
    assert_int_equal(order->episodes, episodes);
}

static inline oct_err
answer_as(uint64_t ticket, uint64_t version, uint32_t episodes, double mean,
          learner_eval_result *result)
{
    float returns[EPISODES + 1];
    uint32_t lengths[EPISODES + 1];
    for (uint32_t i = 0; i <= EPISODES; i++) {
        returns[i] = (float)mean;
        lengths[i] = 4;
    }
    return learner_evals_report(evals, holder[ticket % OCT_COUNTOF(holder)], ticket, version,
                                &(learner_eval_answer){episodes, returns, lengths, NULL, 0, 0},
                                result);
}

static inline learner_eval_stage
answered(const learner_eval_order *order, double mean)
{
    learner_eval_result result;
    T_OK(answer_as(order->ticket, order->publication->version, order->episodes, mean, &result));
    return result.stage;
}

// One whole evaluation of what comes next.
static inline void
evaluated_by(uint32_t evaluator, uint64_t version, uint32_t episodes, double mean)
{
    learner_eval_order order = ordered(evaluator);
    assert_order(&order, version, episodes);
    (void)answered(&order, mean);
}

static inline void
evaluated(uint64_t version, uint32_t episodes, double mean)
{
    evaluated_by(ONE, version, episodes, mean);
}

// A version that is screened and then evaluated in full.
static inline void
newest_evaluated(uint64_t version, double screen, double full)
{
    newest(version);
    evaluated(version, SCREEN, screen);
    evaluated(version, EPISODES, full);
}

static inline void
assert_best(uint64_t version, double mean)
{
    learner_eval_result best;
    const quantizer_publication *publication = learner_evals_best(evals, &best);
    assert_non_null(publication);
    assert_int_equal(publication->version, version);
    T_NEAR(best.mean, mean, 0, 1e-6);
}

#endif // TESTS_LEARNER_EVALS_FIXTURE_H
