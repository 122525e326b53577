#include <stdlib.h>

#include "learner/learner_evals.h"
#include "tests/support/oct_test.h"

#define SECOND   1000000000ull
#define EPISODES 10
#define SCREEN   3
#define GOAL     100.0
#define ONE      1 // evaluators
#define TWO      2

static oct_config config;
static learner_evals *evals;
static uint64_t now_ns;

static int
setup(void **state)
{
    (void)state;
    oct_config_default(&config);
    config.run.seed = 7;
    config.run.stop_at_return = GOAL;
    config.evaluation.episodes = EPISODES;
    config.evaluation.screen_episodes = SCREEN;
    config.evaluation.period_s = 0;
    evals = learner_evals_create(&config, 0);
    now_ns = 1000 * SECOND;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    learner_evals_destroy(evals);
    return 0;
}

// A version with nothing in it; evals holds the last reference.
static void
newest(uint64_t version)
{
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = version;
    learner_evals_newest(evals, publication);
    quantizer_publication_release(publication);
}

static learner_eval_order
ordered(uint32_t evaluator)
{
    learner_eval_order order = {.ticket = 0};
    T_OK(learner_evals_order(evals, now_ns, evaluator, &order));
    return order;
}

static void
assert_nothing_for(uint32_t evaluator)
{
    learner_eval_order order;
    T_ERR(learner_evals_order(evals, now_ns, evaluator, &order), OCT_EAGAIN);
}

static void
assert_order(const learner_eval_order *order, uint64_t version, uint32_t episodes)
{
    assert_int_equal(order->publication->version, version);
    assert_int_equal(order->episodes, episodes);
}

static oct_err
answer_as(uint64_t ticket, uint64_t version, uint32_t episodes, double mean,
          learner_eval_result *result)
{
    float returns[EPISODES + 1];
    uint32_t lengths[EPISODES + 1];
    for (uint32_t i = 0; i <= EPISODES; i++) {
        returns[i] = (float)mean;
        lengths[i] = 4;
    }
    return learner_evals_report(evals, ticket, version, episodes, returns, lengths, result);
}

static learner_eval_stage
answered(const learner_eval_order *order, double mean)
{
    learner_eval_result result;
    T_OK(answer_as(order->ticket, order->publication->version, order->episodes, mean, &result));
    return result.stage;
}

// One whole evaluation of what comes next.
static void
evaluated(uint64_t version, uint32_t episodes, double mean)
{
    learner_eval_order order = ordered(ONE);
    assert_order(&order, version, episodes);
    (void)answered(&order, mean);
}

static void
assert_best(uint64_t version, double mean)
{
    learner_eval_result best;
    const quantizer_publication *publication = learner_evals_best(evals, &best);
    assert_non_null(publication);
    assert_int_equal(publication->version, version);
    T_NEAR(best.mean, mean, 0, 1e-6);
}

static void
test_evals_refuse_a_report_that_nobody_asked_for(void **state)
{
    (void)state;
    learner_eval_result result;
    T_ERR(answer_as(0, 0, SCREEN, 5, &result), OCT_ENOTFOUND);
    T_ERR(answer_as(1, 1, SCREEN, 5, &result), OCT_ENOTFOUND);
    newest(1);
    learner_eval_order order = ordered(ONE);
    T_ERR(answer_as(order.ticket, 2, SCREEN, 5, &result), OCT_ENOTFOUND); // of another version
    T_ERR(answer_as(order.ticket, 1, SCREEN - 1, 5, &result), OCT_EPROTO);
    T_ERR(answer_as(order.ticket, 1, SCREEN + 1, 5, &result), OCT_EPROTO);
    T_ERR(answer_as(order.ticket, 1, 0, 5, &result), OCT_EPROTO);
    T_OK(answer_as(order.ticket, 1, SCREEN, 5, &result));
    T_ERR(answer_as(order.ticket, 1, SCREEN, 5, &result), OCT_ENOTFOUND); // twice
}

static void
test_evals_of_nothing(void **state)
{
    (void)state;
    learner_eval_result result;
    assert_nothing_for(ONE);
    assert_null(learner_evals_best(evals, &result));
    assert_false(learner_evals_final(evals, &result));
    assert_false(learner_evals_solved(evals));
    learner_evals_finish(evals);
    assert_nothing_for(ONE);
    learner_evals_destroy(NULL);
}

static void
test_evals_screen_each_newest_version_once(void **state)
{
    (void)state;
    newest(1);
    newest(3);
    evaluated(3, SCREEN, 5); // the first is full then, as the best so far
    evaluated(3, EPISODES, 6);
    assert_nothing_for(ONE);
    newest(3);
    assert_nothing_for(ONE);
    newest(4);
    evaluated(4, SCREEN, 1);
    assert_nothing_for(ONE); // worse than the best: it ends here
    assert_best(3, 6);
}

static void
test_evals_screens_are_a_period_apart(void **state)
{
    (void)state;
    config.evaluation.period_s = 5;
    newest(1);
    evaluated(1, SCREEN, 5);
    evaluated(1, EPISODES, 5); // what it promised is not kept waiting
    newest(2);
    now_ns += 4 * SECOND;
    assert_nothing_for(ONE);
    now_ns += SECOND;
    evaluated(2, SCREEN, 1);
}

static void
test_evals_a_full_result_replaces_a_lucky_screen(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 50);
    assert_best(1, 50);
    evaluated(1, EPISODES, 20);
    assert_best(1, 20);
    newest(2);
    evaluated(2, SCREEN, 30);
    assert_best(1, 20); // a screen does not replace a full evaluation
    evaluated(2, EPISODES, 25);
    assert_best(2, 25);
    newest(3);
    evaluated(3, SCREEN, 40);
    evaluated(3, EPISODES, 24);
    assert_best(2, 25);
}

static void
test_evals_solved_only_after_the_final(void **state)
{
    (void)state;
    learner_eval_result result;
    newest(1);
    evaluated(1, SCREEN, 150);
    assert_false(learner_evals_solved(evals));
    evaluated(1, EPISODES, 120);
    assert_false(learner_evals_solved(evals));
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 1, EPISODES);
    assert_int_equal(answered(&order, 105), LEARNER_EVAL_FINAL);
    assert_true(learner_evals_solved(evals));
    assert_true(learner_evals_final(evals, &result));
    T_NEAR(result.mean, 105, 0, 0);
    assert_best(1, 105); // the fresh number, without the luck that picked it
    learner_evals_finish(evals);
    assert_nothing_for(ONE); // it was evaluated finally already
}

static void
test_evals_not_solved_when_the_final_fails(void **state)
{
    (void)state;
    learner_eval_result result;
    newest(1);
    evaluated(1, SCREEN, 150);
    evaluated(1, EPISODES, 120);
    evaluated(1, EPISODES, 80);
    assert_false(learner_evals_solved(evals));
    assert_best(1, 80);
    newest(2);
    evaluated(2, SCREEN, 90);
    evaluated(2, EPISODES, 95);
    assert_best(2, 95);
    assert_false(learner_evals_final(evals, &result)); // that was of version 1
    learner_evals_finish(evals);
    evaluated(2, EPISODES, 94);
    assert_true(learner_evals_final(evals, &result));
    T_NEAR(result.mean, 94, 0, 0);
}

// A screen at the goal is looked at wholly although the best so far is better.
static void
test_evals_goal_promotes(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 200);
    evaluated(1, EPISODES, 190);
    evaluated(1, EPISODES, 99); // not confirmed
    newest(2);
    evaluated(2, SCREEN, 200);
    evaluated(2, EPISODES, 101);
    evaluated(2, EPISODES, 101);
    assert_true(learner_evals_solved(evals));
}

static void
test_evals_without_a_goal_never_solve(void **state)
{
    (void)state;
    config.run.stop_at_return = NAN;
    newest(1);
    evaluated(1, SCREEN, 1e9);
    evaluated(1, EPISODES, 1e9);
    assert_nothing_for(ONE);
    learner_evals_finish(evals);
    evaluated(1, EPISODES, 1e9);
    assert_false(learner_evals_solved(evals));
}

static void
test_evals_finish_takes_the_newest_when_nothing_was_evaluated(void **state)
{
    (void)state;
    newest(9);
    learner_eval_order lost = ordered(TWO); // under way when training ends
    learner_evals_finish(evals);
    learner_evals_finish(evals);
    evaluated(9, EPISODES, 3);
    assert_best(9, 3);
    learner_eval_result result;
    T_OK(answer_as(lost.ticket, 9, SCREEN, 50, &result)); // late, but harmless
    assert_best(9, 3);
    assert_nothing_for(ONE);
}

// The evaluator was so slow that it saw the first version only: its result is not the run's.
static void
test_evals_finish_looks_at_the_newest(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, -500);
    evaluated(1, EPISODES, -500);
    newest(9);
    learner_evals_finish(evals);
    evaluated(9, SCREEN, -80);
    evaluated(9, EPISODES, -90);
    evaluated(9, EPISODES, -91); // finally
    assert_best(9, -91);
    learner_eval_result result;
    assert_true(learner_evals_final(evals, &result));
    assert_nothing_for(ONE);
}

// Requests are repeated after training, too, where the machine is busy.
static void
test_evals_asking_again_after_training_gives_the_same_order(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 5);
    evaluated(1, EPISODES, 5);
    newest(2);
    learner_evals_finish(evals);
    learner_eval_order screen = ordered(ONE), again = ordered(ONE);
    assert_int_equal(again.ticket, screen.ticket);
    (void)answered(&screen, 9);
    learner_eval_order full = ordered(ONE);
    again = ordered(ONE);
    assert_int_equal(again.ticket, full.ticket);
    (void)answered(&full, 9);
    evaluated(2, EPISODES, 8);
    assert_best(2, 8);
}

static void
test_evals_finish_keeps_the_best_when_the_newest_is_worse(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 50);
    evaluated(1, EPISODES, 50);
    newest(9);
    learner_evals_finish(evals);
    evaluated(9, SCREEN, 49);
    newest(10); // made of the last snapshot: one look is enough
    evaluated(1, EPISODES, 48);
    assert_best(1, 48);
    assert_nothing_for(ONE);
}

// Under way, or promised, when training ends.
static void
test_evals_finish_plays_what_screened_well(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 10);
    evaluated(1, EPISODES, 10);
    newest(2);
    learner_eval_order screen = ordered(ONE);
    learner_evals_finish(evals);
    assert_int_equal(answered(&screen, 30), LEARNER_EVAL_SCREEN);
    evaluated(2, EPISODES, 29);
    evaluated(2, EPISODES, 28);
    assert_best(2, 28);
    assert_nothing_for(ONE);
}

// It cannot be played: the final one follows all the same.
static void
test_evals_finish_gives_up_a_newest_that_fails(void **state)
{
    (void)state;
    learner_eval_stage stage;
    newest(1);
    evaluated(1, SCREEN, 10);
    evaluated(1, EPISODES, 10);
    newest(2);
    learner_evals_finish(evals);
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 2, SCREEN);
    T_OK(learner_evals_failed(evals, order.ticket, 2, &stage));
    evaluated(1, EPISODES, 9);
    assert_nothing_for(ONE);
}

// The request is repeated, or its answer was lost: the same order again, not another.
static void
test_evals_asking_again_gives_the_same_order(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 10);
    learner_eval_order first = ordered(ONE), again = ordered(ONE);
    assert_order(&first, 1, EPISODES);
    assert_int_equal(again.ticket, first.ticket);
    assert_int_equal(again.seed, first.seed);
    assert_int_equal(again.episodes, EPISODES);
    assert_ptr_equal(again.publication, first.publication);
    assert_int_equal(learner_evals_count(evals), 2);
}

// It asks again after training has ended: the screen that it lost is not wanted any more.
static void
test_evals_final_goes_before_a_lost_screen(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 10);
    evaluated(1, EPISODES, 10);
    newest(2);
    (void)ordered(ONE);
    learner_evals_finish(evals);
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 1, EPISODES);
}

// The evaluator dies: after a minute another gets the order, and then its late report is none.
static void
test_evals_order_is_given_again_after_a_minute(void **state)
{
    (void)state;
    learner_eval_result result;
    newest(1);
    evaluated(1, SCREEN, 10);
    learner_eval_order lost = ordered(ONE);
    assert_nothing_for(TWO);
    now_ns += LEARNER_EVAL_TICKET_S * SECOND;
    assert_nothing_for(TWO);
    now_ns += 1;
    learner_eval_order again = ordered(TWO);
    assert_order(&again, 1, EPISODES);
    assert_true(again.ticket != lost.ticket && again.seed != lost.seed);
    T_ERR(answer_as(lost.ticket, 1, EPISODES, 99, &result), OCT_ENOTFOUND);
    assert_int_equal(answered(&again, 12), LEARNER_EVAL_FULL);
    assert_best(1, 12);
}

static void
test_evals_of_a_dead_evaluator_do_not_stop_a_single_other(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 10);
    (void)ordered(ONE); // the full evaluation of 1, never answered
    newest(2);
    learner_eval_order order = ordered(TWO);
    assert_order(&order, 2, SCREEN);
    (void)answered(&order, 30); // promising, but one full evaluation at a time
    assert_nothing_for(TWO);
    now_ns += (LEARNER_EVAL_TICKET_S + 1) * SECOND;
    order = ordered(TWO);
    assert_order(&order, 2, EPISODES);
}

static void
test_evals_have_a_bound_on_open_orders(void **state)
{
    (void)state;
    uint32_t given = 0;
    learner_eval_order order;
    for (uint32_t i = 1; i <= 100; i++) {
        newest(i);
        given += learner_evals_order(evals, now_ns, 100 + i, &order) == OCT_OK;
    }
    assert_in_range(given, 2, 20);
    now_ns += 61 * SECOND;
    newest(101);
    assert_order(&(learner_eval_order){.publication = ordered(ONE).publication, .episodes = SCREEN},
                 101, SCREEN);
}

static void
test_evals_seeds_never_repeat(void **state)
{
    (void)state;
    enum { MANY = 500 };
    static uint64_t seeds[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        if (i == MANY / 2) { // resumed from a checkpoint
            uint64_t count = learner_evals_count(evals);
            learner_evals_destroy(evals);
            evals = learner_evals_create(&config, count);
        }
        newest(i + 1);
        learner_eval_order order = ordered(ONE);
        seeds[i] = order.seed;
        (void)answered(&order, -(double)i);
        for (uint32_t k = 0; k < i; k++) {
            // No environment of one evaluation begins as one of another.
            uint64_t apart = seeds[i] > seeds[k] ? seeds[i] - seeds[k] : seeds[k] - seeds[i];
            assert_true(apart >= 65536);
        }
    }
}

static void
test_evals_all_full_when_a_screen_would_be_as_long(void **state)
{
    (void)state;
    config.evaluation.screen_episodes = EPISODES;
    newest(1);
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 1, EPISODES);
    assert_int_equal(answered(&order, 5), LEARNER_EVAL_FULL);
    assert_nothing_for(ONE);
}

static void
test_evals_that_cannot_be_played_are_given_up(void **state)
{
    (void)state;
    learner_eval_stage stage;
    newest(1);
    learner_eval_order screen = ordered(ONE);
    T_OK(learner_evals_failed(evals, screen.ticket, 1, &stage));
    assert_int_equal(stage, LEARNER_EVAL_SCREEN);
    T_ERR(learner_evals_failed(evals, screen.ticket, 1, &stage), OCT_ENOTFOUND);
    assert_nothing_for(ONE);
    // A full one: not asked for again, and the next version gets its turn.
    newest(2);
    evaluated(2, SCREEN, GOAL + 1);
    learner_eval_order full = ordered(ONE);
    assert_order(&full, 2, EPISODES);
    T_ERR(learner_evals_failed(evals, full.ticket, 1, &stage), OCT_ENOTFOUND);
    T_OK(learner_evals_failed(evals, full.ticket, 2, &stage));
    assert_int_equal(stage, LEARNER_EVAL_FULL);
    assert_nothing_for(ONE);
    // The final one ends the waiting.
    learner_evals_finish(evals);
    learner_eval_order final = ordered(ONE);
    T_OK(learner_evals_failed(evals, final.ticket, 2, &stage));
    assert_int_equal(stage, LEARNER_EVAL_FINAL);
    assert_nothing_for(ONE);
    assert_false(learner_evals_solved(evals));
}

static void
test_evals_summarise(void **state)
{
    (void)state;
    const float returns[SCREEN] = {1, 2, 6};
    const uint32_t lengths[SCREEN] = {10, 20, 60};
    learner_eval_result result;
    newest(1);
    learner_eval_order order = ordered(ONE);
    T_OK(learner_evals_report(evals, order.ticket, 1, SCREEN, returns, lengths, &result));
    assert_int_equal(result.version, 1);
    assert_int_equal(result.episodes, SCREEN);
    T_NEAR(result.mean, 3, 0, 1e-9);
    T_NEAR(result.std, sqrt(7), 0, 1e-9); // (4 + 1 + 9) / 2
    T_NEAR(result.min, 1, 0, 0);
    T_NEAR(result.max, 6, 0, 0);
    T_NEAR(result.mean_length, 30, 0, 1e-9);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_evals_refuse_a_report_that_nobody_asked_for),
        T(test_evals_of_nothing),
        T(test_evals_screen_each_newest_version_once),
        T(test_evals_screens_are_a_period_apart),
        T(test_evals_a_full_result_replaces_a_lucky_screen),
        T(test_evals_solved_only_after_the_final),
        T(test_evals_not_solved_when_the_final_fails),
        T(test_evals_goal_promotes),
        T(test_evals_without_a_goal_never_solve),
        T(test_evals_finish_takes_the_newest_when_nothing_was_evaluated),
        T(test_evals_finish_looks_at_the_newest),
        T(test_evals_asking_again_after_training_gives_the_same_order),
        T(test_evals_finish_keeps_the_best_when_the_newest_is_worse),
        T(test_evals_finish_plays_what_screened_well),
        T(test_evals_finish_gives_up_a_newest_that_fails),
        T(test_evals_asking_again_gives_the_same_order),
        T(test_evals_final_goes_before_a_lost_screen),
        T(test_evals_order_is_given_again_after_a_minute),
        T(test_evals_of_a_dead_evaluator_do_not_stop_a_single_other),
        T(test_evals_have_a_bound_on_open_orders),
        T(test_evals_seeds_never_repeat),
        T(test_evals_all_full_when_a_screen_would_be_as_long),
        T(test_evals_that_cannot_be_played_are_given_up),
        T(test_evals_summarise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
