// Which version is evaluated while a run trains, by whom and for how long.
#include <math.h>

#include "tests/learner/evals_fixture.h"
#include "tests/learner/random_publication.h"

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

// A ticket is no secret: numbers are counted up. It is good for the one that it was given to.
static void
test_evals_take_answers_only_from_whom_they_asked(void **state)
{
    (void)state;
    float returns[SCREEN] = {GOAL + 1, GOAL + 1, GOAL + 1};
    const uint32_t lengths[SCREEN] = {1, 1, 1};
    learner_eval_result result = {.episodes = 77};
    learner_eval_stage stage;
    newest(1);
    learner_eval_order order = ordered(ONE);
    T_ERR(learner_evals_report(evals, TWO, order.ticket, 1,
                               &(learner_eval_answer){SCREEN, returns, lengths, NULL, 0, 0},
                               &result),
          OCT_EINVAL);
    T_ERR(learner_evals_failed(evals, TWO, order.ticket, 1, &stage), OCT_EINVAL);
    assert_false(learner_evals_progress(evals, now_ns, TWO, order.ticket, 1000, 1));
    returns[2] = NAN;
    T_ERR(learner_evals_report(evals, ONE, order.ticket, 1,
                               &(learner_eval_answer){SCREEN, returns, lengths, NULL, 0, 0},
                               &result),
          OCT_EPROTO);
    assert_int_equal(result.episodes, 77);
    assert_true(learner_evals_progress(evals, now_ns, ONE, order.ticket, 1000, 1));
    assert_int_equal(answered(&order, 5), LEARNER_EVAL_SCREEN); // it is still its own
}

// A result in a checkpoint: numbers of no episodes are not looked at.
static void
test_evals_refuse_a_result_that_cannot_be(void **state)
{
    (void)state;
    const learner_eval_result sound = {.stage = LEARNER_EVAL_FULL, .episodes = 3, .mean = 5};
    learner_eval_result bad[] = {sound, sound, sound, sound, sound, sound, sound};
    bad[0].stage = LEARNER_EVAL_STAGES;
    bad[1].mean = NAN;
    bad[2].std = INFINITY;
    bad[3].min = -INFINITY;
    bad[4].max = NAN;
    bad[5].mean_length = NAN;
    bad[6].mean = NAN;
    bad[6].episodes = 0;
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        uint8_t bytes[128];
        oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
        learner_eval_result_fields(&(oct_archive){.writer = &writer}, &bad[i]);
        assert_false(writer.failed);
        oct_reader reader = {.at = bytes, .left = writer.used};
        learner_eval_result out = {0};
        learner_eval_result_fields(&(oct_archive){.reader = &reader}, &out);
        assert_int_equal(reader.failed, i != 6);
    }
}

static void
test_evals_of_nothing(void **state)
{
    (void)state;
    learner_eval_result result;
    learner_eval_stage stage;
    uint32_t done, episodes;
    double mean;
    assert_nothing_for(ONE);
    assert_null(learner_evals_best(evals, &result));
    assert_false(learner_evals_last(evals, &result));
    assert_false(learner_evals_solved(evals));
    assert_false(learner_evals_at_work(evals, &stage, &done, &episodes));
    assert_false(learner_evals_progress(evals, now_ns, ONE, 0, 1, 0));
    assert_false(learner_evals_progress(evals, now_ns, ONE, 1, 1, 0));
    assert_int_equal(learner_evals_screens(evals, &mean), 0);
    assert_false(learner_evals_done(evals));
    learner_evals_finish(evals);
    assert_true(learner_evals_done(evals));
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
    newest_evaluated(1, 5, 5); // what it promised is not kept waiting
    newest(2);
    now_ns += 4 * SECOND;
    assert_nothing_for(ONE);
    now_ns += SECOND;
    evaluated(2, SCREEN, 1);
}

// In lock-step, where each turn that evaluates has a time of its own, seconds do not count.
static void
test_evals_of_turns_know_no_period(void **state)
{
    (void)state;
    config.run.deterministic = true;
    config.evaluation.period_s = 31622400;
    newest_evaluated(1, 5, 5);
    newest(2);
    assert_nothing_for(ONE);
    now_ns += SECOND;
    evaluated(2, SCREEN, 1);
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

// The evaluator dies: after a minute another gets the order, with the same seed, as no return is
// drawn anew; and then its late report is none.
static void
test_evals_order_is_given_again_after_a_minute(void **state)
{
    (void)state;
    learner_eval_result result;
    newest(1);
    evaluated(1, SCREEN, 10);
    learner_eval_order lost = ordered(ONE);
    assert_nothing_for(TWO);
    now_ns += LEARNER_EVAL_PATIENCE_S * SECOND;
    assert_nothing_for(TWO);
    now_ns += 1;
    learner_eval_order again = ordered(TWO);
    assert_order(&again, 1, EPISODES);
    assert_true(again.ticket != lost.ticket && again.seed == lost.seed);
    T_ERR(answer_as(lost.ticket, 1, EPISODES, 99, &result), OCT_ENOTFOUND);
    assert_int_equal(answered(&again, 12), LEARNER_EVAL_FULL);
    assert_best(1, 12);
}

// An evaluation of hours is as good as one of seconds, as long as it goes on.
static void
test_evals_that_go_on_are_not_given_to_another(void **state)
{
    (void)state;
    learner_eval_stage stage;
    uint32_t done, episodes;
    newest(1);
    evaluated(1, SCREEN, 10);
    learner_eval_order slow = ordered(ONE);
    for (uint64_t hour = 0, steps = 0; hour < 2; hour++) {
        for (int i = 0; i < 72; i++) {
            now_ns += 50 * SECOND;
            assert_nothing_for(TWO);
            assert_true(
                learner_evals_progress(evals, now_ns, ONE, slow.ticket, ++steps, (uint32_t)hour));
        }
    }
    assert_true(learner_evals_at_work(evals, &stage, &done, &episodes));
    assert_int_equal(stage, LEARNER_EVAL_FULL);
    assert_int_equal(done, 1);
    assert_int_equal(episodes, EPISODES);
    assert_false(learner_evals_progress(evals, now_ns, ONE, slow.ticket + 1, 1000, 0));
    // Steps took 50 s: one that takes three times as long is waited for, an endless one is not.
    T_NEAR(learner_evals_quiet_s(evals, now_ns), 0, 0, 0);
    now_ns += 150 * SECOND;
    assert_false(
        learner_evals_progress(evals, now_ns, ONE, slow.ticket, 144, 1)); // it stands still
    T_NEAR(learner_evals_quiet_s(evals, now_ns), 150, 0, 1e-9);
    assert_nothing_for(TWO);
    now_ns += 60 * SECOND;
    assert_int_equal(ordered(TWO).seed, slow.seed);
    assert_false(learner_evals_progress(evals, now_ns, ONE, slow.ticket, 145, 1));
}

// In lock-step screens are counted in turns, but an evaluator's silence is not.
static void
test_evals_of_another_time_are_quiet_by_the_clock(void **state)
{
    (void)state;
    learner_eval_order order;
    newest(1);
    now_ns = 5853 * SECOND;
    T_OK(learner_evals_order(evals, 0, now_ns, ONE, &order));
    now_ns += SECOND;
    T_NEAR(learner_evals_quiet_s(evals, now_ns), 1, 0, 1e-9);
    assert_true(learner_evals_progress(evals, now_ns, ONE, order.ticket, 1, 0));
    now_ns += 2 * SECOND;
    T_NEAR(learner_evals_quiet_s(evals, now_ns), 2, 0, 1e-9);
}

static oct_err
answered_part(const learner_eval_order *order, float from, learner_eval_result *result)
{
    float returns[EPISODES];
    uint32_t lengths[EPISODES];
    for (uint32_t i = 0; i < EPISODES; i++) {
        returns[i] = from + (float)i;
        lengths[i] = 4;
    }
    return learner_evals_report(
        evals, holder[order->ticket % OCT_COUNTOF(holder)], order->ticket,
        order->publication->version,
        &(learner_eval_answer){order->episodes, returns, lengths, NULL, 0, 0}, result);
}

static void
test_evals_are_shared_by_evaluators(void **state)
{
    (void)state;
    learner_eval_result result = {.episodes = 77};
    newest(1);
    evaluated(1, SCREEN, 10);
    learner_evals_set_evaluators(evals, 3);
    learner_eval_order one = ordered(ONE), two = ordered(TWO), three = ordered(3);
    assert_order(&one, 1, 4);
    assert_order(&two, 1, 4);
    assert_order(&three, 1, 2); // 10 episodes in all
    assert_true(one.seed != two.seed && two.seed != three.seed && one.seed != three.seed);
    assert_nothing_for(4);
    T_ERR(answered_part(&two, 5, &result), OCT_EAGAIN); // 5 6 7 8
    assert_int_equal(result.episodes, 77);
    T_ERR(answered_part(&two, 5, &result), OCT_ENOTFOUND);
    assert_nothing_for(TWO);
    T_ERR(answered_part(&one, 1, &result), OCT_EAGAIN); // 1 2 3 4
    learner_eval_stage stage;
    uint32_t done, episodes;
    assert_true(learner_evals_at_work(evals, &stage, &done, &episodes));
    assert_int_equal(done, 8);
    assert_int_equal(episodes, EPISODES);
    // The third dies: another plays its part, from the same seed.
    now_ns += (LEARNER_EVAL_PATIENCE_S + 1) * SECOND;
    learner_eval_order again = ordered(TWO);
    assert_order(&again, 1, 2);
    assert_true(again.seed == three.seed && again.ticket != three.ticket);
    T_OK(answered_part(&again, 9, &result)); // 9 10
    assert_int_equal(result.episodes, EPISODES);
    T_NEAR(result.mean, 5.5, 0, 1e-9);
    T_NEAR(result.min, 1, 0, 0);
    T_NEAR(result.max, 10, 0, 0);
    assert_best(1, 5.5);
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
    now_ns += (LEARNER_EVAL_PATIENCE_S + 1) * SECOND;
    evaluated_by(TWO, 1, EPISODES, 5);
    evaluated_by(TWO, 2, EPISODES, 25);
    assert_best(2, 25);
}

static void
test_evals_have_a_bound_on_open_orders(void **state)
{
    (void)state;
    uint32_t given = 0;
    learner_eval_order order;
    for (uint32_t i = 1; i <= 100; i++) {
        newest(i);
        given += learner_evals_order(evals, now_ns, now_ns, 100 + i, &order) == OCT_OK;
    }
    assert_in_range(given, 2, 20);
    now_ns += 61 * SECOND;
    newest(101);
    assert_order(&(learner_eval_order){.publication = ordered(ONE).publication, .episodes = SCREEN},
                 101, SCREEN);
}

// No environment of one evaluator, in one part of an evaluation, begins as one of another.
static void
seed_take(uint64_t *seeds, uint32_t *count, uint64_t seed)
{
    for (uint32_t i = 0; i < *count; i++) {
        assert_true((seed > seeds[i] ? seed - seeds[i] : seeds[i] - seed) >= 65536);
    }
    seeds[(*count)++] = seed;
}

static void
test_evals_seeds_never_repeat(void **state)
{
    (void)state;
    enum { MANY = 500, PARTS = 3 };
    static uint64_t seeds[PARTS * MANY];
    uint32_t count = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        if (i == MANY / 2) { // resumed from a checkpoint
            learner_evals_saved saved;
            learner_evals_save(evals, &saved);
            learner_evals_destroy(evals);
            evals = learner_evals_create(&config, &saved);
        }
        newest(i + 1);
        learner_evals_set_evaluators(evals, 1 + i % PARTS);
        learner_eval_order order = ordered(ONE);
        seed_take(seeds, &count, order.seed);
        learner_eval_result result;
        while (answer_as(order.ticket, order.publication->version, order.episodes, -(double)i,
                         &result) == OCT_EAGAIN) {
            order = ordered(ONE); // the rest of it
            seed_take(seeds, &count, order.seed);
        }
    }
    assert_true(count > MANY);
}

// What a checkpoint does not know of may still be answered.
static void
test_evals_tickets_after_a_resume_are_none_that_were_given_since_the_checkpoint(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    learner_evals_write(evals, &writer);
    assert_false(writer.failed);
    newest(1);
    uint64_t before = ordered(ONE).ticket;
    learner_evals_destroy(evals);
    evals = learner_evals_create(&config, NULL);
    oct_reader reader = {.at = bytes, .left = writer.used};
    T_OK(learner_evals_read(evals, &reader, now_ns));
    newest(1);
    assert_true(ordered(ONE).ticket != before);
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
    T_OK(learner_evals_failed(evals, ONE, screen.ticket, 1, &stage));
    assert_int_equal(stage, LEARNER_EVAL_SCREEN);
    T_ERR(learner_evals_failed(evals, ONE, screen.ticket, 1, &stage), OCT_ENOTFOUND);
    assert_nothing_for(ONE);
    // A full one: not asked for again, and the next version gets its turn.
    newest(2);
    evaluated(2, SCREEN, GOAL + 1);
    learner_eval_order full = ordered(ONE);
    assert_order(&full, 2, EPISODES);
    T_ERR(learner_evals_failed(evals, ONE, full.ticket, 1, &stage), OCT_ENOTFOUND);
    T_OK(learner_evals_failed(evals, ONE, full.ticket, 2, &stage));
    assert_int_equal(stage, LEARNER_EVAL_FULL);
    assert_nothing_for(ONE);
    // The last try, and nothing is left to wait for.
    learner_evals_finish(evals);
    learner_eval_order last = ordered(ONE);
    T_OK(learner_evals_failed(evals, ONE, last.ticket, 2, &stage));
    assert_int_equal(stage, LEARNER_EVAL_FULL);
    assert_nothing_for(ONE);
    assert_true(learner_evals_done(evals));
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
    T_OK(learner_evals_report(evals, ONE, order.ticket, 1,
                              &(learner_eval_answer){SCREEN, returns, lengths, NULL, 0, 0},
                              &result));
    assert_int_equal(result.version, 1);
    assert_int_equal(result.episodes, SCREEN);
    T_NEAR(result.mean, 3, 0, 1e-9);
    T_NEAR(result.std, sqrt(7), 0, 1e-9); // (4 + 1 + 9) / 2
    T_NEAR(result.min, 1, 0, 0);
    T_NEAR(result.max, 6, 0, 0);
    T_NEAR(result.mean_length, 30, 0, 1e-9);
}

// Two evaluators play a screen of three episodes; whoever answers first, the sum is of both.
static void
test_evals_measure_over_all_parts(void **state)
{
    (void)state;
    const float returns[SCREEN] = {1, 2, 6};
    const uint32_t lengths[SCREEN] = {10, 20, 60};
    const oct_metric one[OCT_METRICS_MAX] = {{2, 2}, {5, 1}}, two[OCT_METRICS_MAX] = {{0, 1}};
    learner_eval_result result;
    newest(1);
    learner_evals_set_evaluators(evals, 2);
    learner_eval_order first = ordered(ONE), second = ordered(TWO);
    T_ERR(learner_evals_report(evals, TWO, second.ticket, 1,
                               &(learner_eval_answer){second.episodes, returns, lengths,
                                                      second.episodes == 1 ? two : one, 5, 1},
                               &result),
          OCT_EAGAIN);
    T_OK(learner_evals_report(evals, ONE, first.ticket, 1,
                              &(learner_eval_answer){first.episodes, returns, lengths,
                                                     first.episodes == 1 ? two : one, 2, 1},
                              &result));
    assert_int_equal(result.episodes, SCREEN);
    assert_int_equal(result.metrics[0].episodes, 3);
    T_NEAR(oct_metric_mean(&result.metrics[0]), 2 / 3.0, 0, 1e-12);
    assert_int_equal(result.metrics[1].episodes, 1);
    T_NEAR(oct_metric_mean(&result.metrics[1]), 5, 0, 0);
    assert_int_equal(result.metrics[2].episodes, 0);
    assert_int_equal(result.failed, 7);
    assert_int_equal(result.truncated, 2);
}

static const oct_metric_names laps = {.count = 1, .name = {"laps"}};

// A version whose policy can be read again.
static void
newest_policy(uint64_t version)
{
    const uint32_t widths[] = {2, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    quantizer_publication *publication = random_publication(&spec, version);
    learner_evals_newest(evals, publication);
    quantizer_publication_release(publication);
}

// What evals has at this time as another one that reads it; writes the bytes of metrics.
static void
resumed(uint8_t *metrics, size_t *length)
{
    uint8_t bytes[4096];
    oct_writer all = {.base = bytes, .capacity = sizeof(bytes)};
    oct_writer writer = {.base = metrics, .capacity = *length};
    learner_evals_write(evals, &all);
    learner_evals_write_metrics(evals, &laps, &writer);
    assert_false(all.failed || writer.failed);
    *length = writer.used;
    learner_evals_destroy(evals);
    evals = learner_evals_create(&config, NULL);
    oct_reader reader = {.at = bytes, .left = all.used};
    T_OK(learner_evals_read(evals, &reader, now_ns));
}

// Of a screen in two parts one is answered when the process is killed.
static void
test_evals_measure_on_over_a_resume(void **state)
{
    (void)state;
    static const oct_metric_names other = {.count = 1, .name = {"falls"}};
    const float returns[SCREEN] = {1, 2, 6};
    const uint32_t lengths[SCREEN] = {10, 20, 60};
    const oct_metric first[OCT_METRICS_MAX] = {{2, 1}}, second[OCT_METRICS_MAX] = {{5, 1}};
    uint8_t metrics[4096];
    size_t length = sizeof(metrics);
    learner_eval_result result;
    newest_policy(1);
    learner_evals_set_evaluators(evals, 2);
    learner_eval_order one = ordered(ONE), two = ordered(TWO);
    T_ERR(learner_evals_report(evals, ONE, one.ticket, 1,
                               &(learner_eval_answer){one.episodes, returns, lengths, first, 3, 1},
                               &result),
          OCT_EAGAIN);
    resumed(metrics, &length);
    oct_reader cut = {.at = metrics, .left = length - 1};
    T_ERR(learner_evals_read_metrics(evals, &laps, &cut), OCT_EPROTO);
    oct_reader foreign = {.at = metrics, .left = length};
    T_OK(learner_evals_read_metrics(evals, &other, &foreign)); // another build of the plug-in
    assert_true(foreign.left > 0);                             // its numbers are left out
    oct_reader reader = {.at = metrics, .left = length};
    T_OK(learner_evals_read_metrics(evals, &laps, &reader));
    T_OK(learner_evals_report(evals, TWO, two.ticket, 1,
                              &(learner_eval_answer){two.episodes, returns, lengths, second, 4, 1},
                              &result));
    assert_int_equal(result.metrics[0].episodes, 2);
    T_NEAR(result.metrics[0].sum, 7, 0, 0);
    assert_int_equal(result.failed, 7);
    assert_int_equal(result.truncated, 2);
    length = sizeof(metrics);
    resumed(metrics, &length); // as the best that was screened
    metrics[length] = 0;
    reader = (oct_reader){.at = metrics, .left = length + 1}; // something lies behind them
    T_ERR(learner_evals_read_metrics(evals, &laps, &reader), OCT_EPROTO);
    reader = (oct_reader){.at = metrics, .left = length};
    T_OK(learner_evals_read_metrics(evals, &laps, &reader));
    (void)learner_evals_best(evals, &result);
    T_NEAR(result.metrics[0].sum, 7, 0, 0);
    assert_int_equal(result.failed, 7);
    assert_int_equal(result.truncated, 2);
    metrics[length - 1] = 0x7f; // of more episodes than were played
    reader = (oct_reader){.at = metrics, .left = length};
    T_ERR(learner_evals_read_metrics(evals, &laps, &reader), OCT_EPROTO);
    (void)learner_evals_best(evals, &result);
    assert_int_equal(result.metrics[0].episodes, 0);
}

static uint8_t *
written(const learner_evals *of, size_t *length)
{
    oct_writer measure = {0};
    learner_evals_write(of, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used), .capacity = measure.used};
    learner_evals_write(of, &writer);
    assert_false(writer.failed);
    *length = writer.used;
    return writer.base;
}

// A process that goes on from it would leave the same: counts, candidates, what is being played.
// Its tickets alone are others, by a bit, than those that were given since.
static void
assert_state_is_whole(void)
{
    size_t length, again_length;
    uint8_t *bytes = written(evals, &length);
    learner_evals *other = learner_evals_create(&config, NULL);
    oct_reader reader = {.at = bytes, .left = length};
    T_OK(learner_evals_read(other, &reader, now_ns));
    uint8_t *again = written(other, &again_length);
    assert_int_equal(again_length, length);
    uint32_t others = 0;
    for (size_t i = 0; i < length; i++) {
        others += again[i] != bytes[i];
    }
    assert_int_equal(others, 1);
    learner_evals_destroy(other);
    free(bytes);
    free(again);
}

static void
test_evals_state_is_whole_over_a_resume(void **state)
{
    (void)state;
    for (uint64_t version = 1; version <= 3; version++) {
        newest_policy(version);
        evaluated(version, SCREEN, 10 * (double)version);
        evaluated(version, EPISODES, 9 * (double)version);
    }
    newest_policy(4);
    learner_evals_set_evaluators(evals, 2);
    learner_eval_order one = ordered(ONE);
    assert_true(learner_evals_progress(evals, now_ns, ONE, one.ticket, 50, 1));
    learner_eval_order two = ordered(TWO);
    T_ERR(answer_as(two.ticket, 4, two.episodes, 7, &(learner_eval_result){0}), OCT_EAGAIN);
    assert_state_is_whole();
}

// The policy of a version that waits for its full evaluation, and of the best that was screened,
// when neither is the newest one.
static void
test_evals_policies_are_whole_over_a_resume(void **state)
{
    (void)state;
    learner_eval_stage stage;
    learner_eval_result best;
    newest_policy(1);
    evaluated(1, SCREEN, 10);
    learner_eval_order full = ordered(ONE);
    T_OK(learner_evals_failed(evals, ONE, full.ticket, 1, &stage));
    newest_policy(2); // nothing else has version 1
    assert_state_is_whole();
    assert_int_equal(learner_evals_best(evals, &best)->version, 1);
    evaluated(2, SCREEN, 20);
    evaluated(2, EPISODES, 20);
    newest_policy(3);
    evaluated(3, SCREEN, 30);
    full = ordered(ONE);
    assert_order(&full, 3, EPISODES);
    newest_policy(4);
    evaluated_by(TWO, 4, SCREEN, 40);
    newest_policy(5); // nothing else has version 4
    assert_state_is_whole();
}

// What was compared with the result of an earlier process, and the screens of before.
static void
test_evals_of_an_earlier_process_are_whole_over_a_resume(void **state)
{
    (void)state;
    const learner_eval_result result = {
        .stage = LEARNER_EVAL_RESULT, .episodes = EPISODES, .mean = 60, .mean_length = 4};
    const uint32_t widths[] = {2, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    quantizer_publication *publication = random_publication(&spec, 7);
    learner_evals_restore(evals, publication, &result, NAN);
    quantizer_publication_release(publication);
    assert_state_is_whole();
    double mean;
    const learner_evals_saved saved = {.confirmed = NAN, .screen_count = 2, .screens = {50, 60}};
    learner_evals *other = learner_evals_create(&config, &saved);
    size_t length;
    uint8_t *bytes = written(evals, &length);
    oct_reader reader = {.at = bytes, .left = length};
    T_OK(learner_evals_read(other, &reader, now_ns));
    assert_int_equal(learner_evals_screens(other, &mean), 2);
    T_NEAR(mean, 55, 0, 1e-9);
    learner_evals_destroy(other);
    free(bytes);
}

static void
assert_refused(const uint8_t *bytes, size_t length)
{
    oct_reader reader = {.at = bytes, .left = length};
    learner_evals *other = learner_evals_create(&config, NULL);
    T_ERR(learner_evals_read(other, &reader, now_ns), OCT_EPROTO);
    learner_evals_destroy(other);
}

// What cannot be is none of ours: a part of which more was played than it has, weights that are
// none.
static void
test_evals_refuse_a_state_that_cannot_be(void **state)
{
    (void)state;
    enum { PARAMS = 2 * 2 + 2 };
    static const uint64_t mark = 0x1122334455667788;
    uint8_t bytes[4096], weights[256];
    newest_policy(1);
    learner_eval_order order = ordered(ONE);
    assert_true(learner_evals_progress(evals, now_ns, ONE, order.ticket, mark, SCREEN));
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    learner_evals_write(evals, &writer);
    quantizer_publication *policy = learner_evals_policy(evals);
    if (policy->params == NULL) {
        policy->params = oct_alloc(PARAMS * sizeof(float));
    }
    for (uint32_t k = 0; k < 2; k++) {
        oct_writer made = {.base = weights, .capacity = sizeof(weights)};
        policy->params[PARAMS - 1] = k == 0 ? 1 : NAN;
        learner_evals_write_weights(evals, PARAMS, &made);
        assert_false(made.failed);
        learner_evals *other = learner_evals_create(&config, NULL);
        oct_reader reader = {.at = bytes, .left = writer.used};
        T_OK(learner_evals_read(other, &reader, now_ns));
        assert_int_equal(learner_evals_policy(other)->updates, 10);
        assert_int_equal(learner_evals_policy(other)->env_steps, 100);
        oct_reader of_weights = {.at = weights, .left = made.used};
        T_ERR(learner_evals_read_weights(other, &of_weights), k == 0 ? OCT_OK : OCT_EPROTO);
        learner_evals_destroy(other);
    }
    uint8_t *at = memmem(bytes, writer.used, &mark, sizeof(mark));
    assert_non_null(at);
    const float infinite = INFINITY;
    const uint32_t more = SCREEN + 1, first = 1, stage = LEARNER_EVAL_STAGES;
    const struct {
        int at; // from the steps of the only part
        const void *bytes;
    } others[] = {
        {8, &more},      // episodes that were played of it
        {-29, &first},   // its first one
        {-42, &stage},   // what is evaluated
        {12, &infinite}, // the first return
    };
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        uint8_t kept[4];
        memcpy(kept, at + others[i].at, sizeof(kept));
        memcpy(at + others[i].at, others[i].bytes, sizeof(kept));
        assert_refused(bytes, writer.used);
        memcpy(at + others[i].at, kept, sizeof(kept));
    }
    bytes[writer.used] = 0;
    assert_refused(bytes, writer.used + 1); // something lies behind it
    learner_evals *whole = learner_evals_create(&config, NULL);
    oct_reader reader = {.at = bytes, .left = writer.used};
    T_OK(learner_evals_read(whole, &reader, now_ns));
    oct_writer fewer = {.base = weights, .capacity = sizeof(weights)};
    policy->params[PARAMS - 1] = 1;
    learner_evals_write_weights(evals, PARAMS - 1, &fewer); // than the policy has
    reader = (oct_reader){.at = weights, .left = fewer.used};
    T_ERR(learner_evals_read_weights(whole, &reader), OCT_EPROTO);
    learner_evals_destroy(whole);
}

// A version that is named, and whose policy is not there.
static void
test_evals_refuse_a_state_without_a_policy(void **state)
{
    (void)state;
    const uint64_t version = 0x1122334455667788, other = version + 1;
    size_t length;
    newest_policy(version);
    uint8_t *bytes = written(evals, &length), *last = NULL;
    for (uint8_t *at = bytes; at + sizeof(version) <= bytes + length; at++) {
        last = memcmp(at, &version, sizeof(version)) == 0 ? at : last;
    }
    assert_non_null(last);
    memcpy(last, &other, sizeof(other)); // the newest
    assert_refused(bytes, length);
    free(bytes);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_evals_refuse_a_report_that_nobody_asked_for),
        T(test_evals_take_answers_only_from_whom_they_asked),
        T(test_evals_refuse_a_result_that_cannot_be),
        T(test_evals_of_nothing),
        T(test_evals_measure_over_all_parts),
        T(test_evals_measure_on_over_a_resume),
        T(test_evals_state_is_whole_over_a_resume),
        T(test_evals_policies_are_whole_over_a_resume),
        T(test_evals_of_an_earlier_process_are_whole_over_a_resume),
        T(test_evals_refuse_a_state_that_cannot_be),
        T(test_evals_refuse_a_state_without_a_policy),
        T(test_evals_screen_each_newest_version_once),
        T(test_evals_screens_are_a_period_apart),
        T(test_evals_of_turns_know_no_period),
        T(test_evals_asking_again_gives_the_same_order),
        T(test_evals_order_is_given_again_after_a_minute),
        T(test_evals_that_go_on_are_not_given_to_another),
        T(test_evals_of_another_time_are_quiet_by_the_clock),
        T(test_evals_are_shared_by_evaluators),
        T(test_evals_of_a_dead_evaluator_do_not_stop_a_single_other),
        T(test_evals_have_a_bound_on_open_orders),
        T(test_evals_seeds_never_repeat),
        T(test_evals_tickets_after_a_resume_are_none_that_were_given_since_the_checkpoint),
        T(test_evals_all_full_when_a_screen_would_be_as_long),
        T(test_evals_that_cannot_be_played_are_given_up),
        T(test_evals_summarise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
