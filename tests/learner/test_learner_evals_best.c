// Which version is the best, what confirms it, what is reported at the end, and what a resumed run
// goes on from.
#include "learner/learner_candidates.h"
#include "tests/learner/evals_fixture.h"

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
    newest_evaluated(3, 40, 24);
    assert_best(2, 25);
}

static void
test_evals_of_a_version_count_by_their_episodes(void **state)
{
    (void)state;
    learner_candidates candidates = {.config = &config};
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = 1;
    const learner_eval_result few = {
        .episodes = 10, .mean = 10, .min = 10, .max = 10, .mean_length = 4};
    const learner_eval_result many = {
        .episodes = 30, .mean = 50, .min = 50, .max = 50, .mean_length = 8};
    (void)learner_candidates_add(&candidates, publication, &few);
    const learner_candidate *both = learner_candidates_add(&candidates, publication, &many);
    assert_int_equal(both->result.episodes, 40);
    T_NEAR(both->result.mean, 40, 0, 1e-9);
    T_NEAR(both->result.std, sqrt((10 * 900 + 30 * 100) / 39.0), 0, 1e-9);
    T_NEAR(both->result.mean_length, 7, 0, 1e-9);
    learner_candidates_screened(&candidates, publication, &few); // late
    for (int i = 0; i < LEARNER_CANDIDATES_WAITING; i++) {
        assert_null(candidates.waiting[i].publication);
    }
    learner_candidates_clear(&candidates);
    quantizer_publication_release(publication);
}

static void
test_evals_solved_only_when_confirmed(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 150);
    assert_false(learner_evals_solved(evals));
    evaluated(1, EPISODES, 120);
    assert_false(learner_evals_solved(evals));
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 1, EPISODES);
    assert_int_equal(answered(&order, 105), LEARNER_EVAL_CONFIRM);
    assert_true(learner_evals_solved(evals));
    assert_best(1, 112.5);   // over both
    assert_nothing_for(ONE); // once for each version
}

// A version's full and confirming evaluations are one, also in what the environment measured.
static void
test_evals_measure_over_all_evaluations_of_a_version(void **state)
{
    (void)state;
    float returns[EPISODES];
    uint32_t lengths[EPISODES] = {0};
    const oct_metric often[OCT_METRICS_MAX] = {{4, 4}}, seldom[OCT_METRICS_MAX] = {{1, 6}};
    learner_eval_result result;
    newest(1);
    evaluated(1, SCREEN, GOAL + 1);
    for (int i = 0; i < EPISODES; i++) {
        returns[i] = GOAL + 1;
    }
    learner_eval_order full = ordered(ONE);
    T_OK(learner_evals_report(evals, ONE, full.ticket, 1,
                              &(learner_eval_answer){EPISODES, returns, lengths, often, 2, 1},
                              &result));
    assert_int_equal(result.metrics[0].episodes, 4);
    learner_eval_order confirm = ordered(ONE);
    T_OK(learner_evals_report(evals, ONE, confirm.ticket, 1,
                              &(learner_eval_answer){EPISODES, returns, lengths, seldom, 3, 99},
                              &result));
    assert_int_equal(result.metrics[0].episodes, 6);
    (void)learner_evals_best(evals, &result);
    assert_int_equal(result.metrics[0].episodes, 10);
    assert_int_equal(result.failed, 5);
    assert_int_equal(result.truncated, 1 + EPISODES); // no more than were played
    T_NEAR(oct_metric_mean(&result.metrics[0]), 0.5, 0, 0);
}

// What decides is no longer free of luck: the number that is reported is drawn after it, whatever
// it comes to, and only once.
static void
test_evals_the_result_is_of_an_evaluation_that_nothing_reacts_to(void **state)
{
    (void)state;
    learner_eval_result result;
    newest_evaluated(1, 150, 120);
    evaluated(1, EPISODES, 105);
    learner_evals_finish(evals);
    assert_false(learner_evals_done(evals));
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 1, EPISODES);
    assert_int_equal(answered(&order, 60), LEARNER_EVAL_RESULT); // far below the goal
    assert_true(learner_evals_done(evals));
    assert_nothing_for(ONE);
    assert_true(learner_evals_solved(evals));
    assert_best(1, 60);
    (void)learner_evals_best(evals, &result);
    assert_int_equal(result.stage, LEARNER_EVAL_RESULT);
    assert_int_equal(result.episodes, EPISODES);
}

// The version that ships stays the one that is best over all its episodes: what was better before
// is not lost.
static void
test_evals_a_failed_confirmation_gives_way_to_what_is_better(void **state)
{
    (void)state;
    learner_eval_result result;
    newest_evaluated(1, 90, 95);
    newest_evaluated(2, 150, 120);
    assert_best(2, 120);
    evaluated(2, EPISODES, 60); // to confirm it
    assert_false(learner_evals_solved(evals));
    assert_best(1, 95); // 2 has 90 over all its episodes
    newest(3);
    evaluated(3, SCREEN, 94); // not better than the best
    learner_evals_finish(evals);
    evaluated(3, EPISODES, 40); // the last one, as fully as the best
    evaluated(1, EPISODES, 93);
    assert_nothing_for(ONE);
    assert_best(1, 93);
    assert_true(learner_evals_last(evals, &result));
    assert_int_equal(result.version, 3);
    T_NEAR(result.mean, 40, 0, 0);
}

static void
test_evals_a_failed_confirmation_counts_with_the_rest(void **state)
{
    (void)state;
    learner_eval_result best;
    newest_evaluated(1, 150, 120);
    evaluated(1, EPISODES, 90);
    assert_false(learner_evals_solved(evals));
    assert_best(1, 105);
    (void)learner_evals_best(evals, &best);
    assert_int_equal(best.episodes, 2 * EPISODES);
    T_NEAR(best.std, sqrt(15.0 * 15.0 * 20 / 19), 0, 1e-9);
    T_NEAR(best.min, 90, 0, 0);
    T_NEAR(best.max, 120, 0, 0);
    assert_nothing_for(ONE); // a version is confirmed once, although its mean is at the goal
    learner_evals_finish(evals);
    evaluated(1, EPISODES, 100); // the result
    assert_true(learner_evals_done(evals));
    assert_false(learner_evals_solved(evals));
}

static void
test_evals_what_is_confirmed_ships_although_another_looks_better(void **state)
{
    (void)state;
    newest_evaluated(1, 150, 101);
    newest(2);
    learner_eval_order confirm = ordered(ONE);
    (void)answered(&confirm, 100);
    assert_true(learner_evals_solved(evals));
    learner_evals_finish(evals);
    evaluated(2, EPISODES, 130); // the last version
    assert_best(1, 100.5);
    evaluated(1, EPISODES, 99);
    assert_true(learner_evals_solved(evals));
    assert_true(learner_evals_done(evals));
}

// However many versions have a larger mean: none of them was confirmed.
static void
test_evals_what_is_confirmed_keeps_its_place(void **state)
{
    (void)state;
    newest_evaluated(1, 150, 101);
    evaluated(1, EPISODES, 100);
    for (uint64_t version = 2; version <= 8; version++) {
        newest_evaluated(version, 150, 150 + (double)version);
        evaluated(version, EPISODES, 90); // not confirmed
    }
    assert_true(learner_evals_solved(evals));
    assert_best(1, 100.5);
}

// Two versions that wait are fully evaluated in the order of their screens, each once; what cannot
// beat the best is not.
static void
test_evals_of_waiting_versions_begin_with_the_best_screen(void **state)
{
    (void)state;
    newest(1);
    evaluated(1, SCREEN, 10);
    learner_eval_order full = ordered(ONE);
    assert_order(&full, 1, EPISODES);
    newest(2);
    evaluated_by(TWO, 2, SCREEN, 30);
    newest(3);
    evaluated_by(TWO, 3, SCREEN, 40);
    newest(4);
    evaluated_by(TWO, 4, SCREEN, 20);
    answered(&full, 9);
    evaluated(3, EPISODES, 25);
    evaluated(2, EPISODES, 26);
    assert_nothing_for(ONE);
    assert_best(2, 26);
}

// A screen at the goal is looked at wholly although the best so far is better.
static void
test_evals_goal_promotes(void **state)
{
    (void)state;
    newest_evaluated(1, 200, 190);
    evaluated(1, EPISODES, 99); // not confirmed
    newest_evaluated(2, 200, 101);
    evaluated(2, EPISODES, 101);
    assert_true(learner_evals_solved(evals));
}

static void
test_evals_without_a_goal_never_solve(void **state)
{
    (void)state;
    config.run.stop_at_return = NAN;
    newest_evaluated(1, 1e9, 1e9);
    assert_nothing_for(ONE);
    learner_evals_finish(evals);
    evaluated(1, EPISODES, 1e9); // the result
    assert_nothing_for(ONE);
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
    evaluated(9, EPISODES, 2);
    assert_best(9, 2);
    assert_nothing_for(ONE);
    assert_true(learner_evals_last(evals, &result)); // it is the best, too: one number
    T_NEAR(result.mean, 2, 0, 0);
}

// The evaluator was so slow that it saw the first version only: its result is not the run's.
static void
test_evals_finish_looks_at_the_newest(void **state)
{
    (void)state;
    newest_evaluated(1, -500, -500);
    newest(9);
    learner_evals_finish(evals);
    evaluated(9, EPISODES, -90);
    evaluated(9, EPISODES, -91); // the result
    assert_best(9, -91);
    assert_true(learner_evals_done(evals));
    assert_nothing_for(ONE);
}

// Requests are repeated after training, too, where the machine is busy.
static void
test_evals_asking_again_after_training_gives_the_same_order(void **state)
{
    (void)state;
    newest_evaluated(1, 5, 5);
    newest(2);
    learner_evals_finish(evals);
    learner_eval_order full = ordered(ONE), again = ordered(ONE);
    assert_int_equal(again.ticket, full.ticket);
    (void)answered(&full, 9);
    learner_eval_order result = ordered(ONE);
    again = ordered(ONE);
    assert_int_equal(again.ticket, result.ticket);
    (void)answered(&result, 8);
    assert_best(2, 8);
}

static void
test_evals_finish_keeps_the_best_when_the_newest_is_worse(void **state)
{
    (void)state;
    newest_evaluated(1, 50, 50);
    newest(9);
    learner_evals_finish(evals);
    evaluated(9, EPISODES, 49);
    newest(10); // made of the last snapshot: one look is enough
    evaluated(1, EPISODES, 48);
    assert_best(1, 48);
    assert_nothing_for(ONE);
    learner_eval_result last;
    assert_true(learner_evals_last(evals, &last));
    assert_int_equal(last.version, 9);
    T_NEAR(last.mean, 49, 0, 0);
}

// Under way, or requested, when training ends.
static void
test_evals_finish_plays_what_screened_well(void **state)
{
    (void)state;
    newest_evaluated(1, 10, 10);
    newest(2);
    learner_eval_order screen = ordered(ONE);
    newest(3);
    learner_evals_finish(evals);
    assert_int_equal(answered(&screen, 30), LEARNER_EVAL_SCREEN);
    evaluated(3, EPISODES, 5);
    evaluated(2, EPISODES, 29);
    evaluated(2, EPISODES, 28);
    assert_best(2, 28);
    assert_nothing_for(ONE);
    learner_eval_result last; // not the one that was evaluated last
    assert_true(learner_evals_last(evals, &last));
    assert_int_equal(last.version, 3);
    T_NEAR(last.mean, 5, 0, 0);
}

// It cannot be played: the final one follows all the same.
static void
test_evals_finish_gives_up_a_newest_that_fails(void **state)
{
    (void)state;
    learner_eval_stage stage;
    newest_evaluated(1, 10, 10);
    newest(2);
    learner_evals_finish(evals);
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 2, EPISODES);
    T_OK(learner_evals_failed(evals, ONE, order.ticket, 2, &stage));
    evaluated(1, EPISODES, 9);
    assert_nothing_for(ONE);
    learner_eval_result last;
    assert_false(learner_evals_last(evals, &last)); // version 1 is not the last one
}

// The failure of the last version's environment does not cost the best screen its full evaluation.
static void
test_evals_finish_plays_what_screened_well_after_a_failure(void **state)
{
    (void)state;
    learner_eval_stage stage;
    newest(1);
    evaluated(1, SCREEN, 40);
    newest(2);
    learner_evals_finish(evals);
    learner_eval_order last = ordered(ONE);
    assert_order(&last, 2, EPISODES);
    T_OK(learner_evals_failed(evals, ONE, last.ticket, 2, &stage));
    evaluated(1, EPISODES, 30);
    assert_best(1, 30);
}

// It asks again after training has ended: the screen that it lost is not wanted any more.
static void
test_evals_the_last_version_goes_before_a_lost_screen(void **state)
{
    (void)state;
    newest_evaluated(1, 10, 10);
    newest(2);
    (void)ordered(ONE);
    learner_evals_finish(evals);
    evaluated(2, EPISODES, 9);
    evaluated(1, EPISODES, 9);
}

// A confirmation and a result that cannot be played end the waiting, too.
static void
test_evals_that_cannot_be_played_at_the_end_are_given_up(void **state)
{
    (void)state;
    learner_eval_stage stage;
    newest_evaluated(1, GOAL + 1, GOAL + 1);
    learner_eval_order order = ordered(ONE);
    T_OK(learner_evals_failed(evals, ONE, order.ticket, 1, &stage));
    assert_int_equal(stage, LEARNER_EVAL_CONFIRM);
    assert_nothing_for(ONE);
    learner_evals_finish(evals);
    order = ordered(ONE);
    T_OK(learner_evals_failed(evals, ONE, order.ticket, 1, &stage));
    assert_int_equal(stage, LEARNER_EVAL_RESULT);
    assert_nothing_for(ONE);
    assert_true(learner_evals_done(evals));
    assert_best(1, GOAL + 1);
}

// The mean of the last screens shows what the newest versions are like, not what the best was.
static void
test_evals_tell_the_mean_of_the_last_screens(void **state)
{
    (void)state;
    double mean;
    for (uint32_t i = 1; i <= LEARNER_EVAL_SCREENS + 2; i++) {
        newest(i);
        evaluated(i, SCREEN, 50 - (double)i);
        if (i == 1) {
            evaluated(1, EPISODES, 60); // no screen
        }
    }
    assert_int_equal(learner_evals_screens(evals, &mean), LEARNER_EVAL_SCREENS);
    T_NEAR(mean, 50 - 7.5, 0, 1e-9); // 3 to 12
    learner_evals_saved saved;
    learner_evals_save(evals, &saved);
    learner_evals_destroy(evals);
    evals = learner_evals_create(&config, &saved);
    assert_int_equal(learner_evals_screens(evals, &mean), LEARNER_EVAL_SCREENS);
    T_NEAR(mean, 50 - 7.5, 0, 1e-9);
}

// ---- which version ships, found out after training

// Of one evaluation of 2 episodes, whose deviation is 10, and one of 20 that all return the same:
// 1 of 20 degrees of freedom has variance 100. Two standard errors are 2 sqrt(5 (1/2 + 1/20))
// = 3.3.
static void
test_evals_a_rival_is_within_two_pooled_standard_errors(void **state)
{
    (void)state;
    quantizer_publication *one = quantizer_publication_create();
    quantizer_publication *two = quantizer_publication_create();
    learner_candidates candidates = {
        .config = &config,
        .item = {{.publication = one, .confirmed = NAN}, {.publication = two, .confirmed = NAN}}};
    candidates.item[0].result = (learner_eval_result){.episodes = 20, .mean = 50};
    candidates.item[1].result = (learner_eval_result){.episodes = 2, .mean = 46.6, .std = 10};
    assert_null(learner_candidates_contender(&candidates));
    candidates.item[1].result.mean = 46.8;
    assert_ptr_equal(learner_candidates_contender(&candidates), &candidates.item[1]);
    learner_candidates_clear(&candidates);
}

#define SPREAD 20.0 // of the returns of an evaluation, about their mean

// As evaluated; half of the episodes return SPREAD more, half of them less.
static void
evaluated_widely(uint64_t version, uint32_t episodes, double mean)
{
    learner_eval_order order = ordered(ONE);
    assert_order(&order, version, episodes);
    float returns[EPISODES];
    uint32_t lengths[EPISODES] = {0};
    for (uint32_t i = 0; i < episodes; i++) {
        returns[i] = (float)(mean + (i % 2 == 0 ? SPREAD : -SPREAD));
    }
    learner_eval_result result;
    T_OK(learner_evals_report(evals, ONE, order.ticket, version,
                              &(learner_eval_answer){episodes, returns, lengths, NULL, 0, 0},
                              &result));
}

// 1 is the best, 2 was fully evaluated as well, 3 and 4 only screened; 5 is the last.
static void
trained_widely(double share)
{
    config.run.stop_at_return = NAN;
    config.evaluation.final_share = share;
    newest(1);
    evaluated(1, SCREEN, 50);
    evaluated_widely(1, EPISODES, 52);
    newest(2);
    evaluated(2, SCREEN, 53);
    evaluated_widely(2, EPISODES, 50);
    newest(3);
    evaluated(3, SCREEN, -80);
    newest(4);
    evaluated(4, SCREEN, 51);
    newest(5);
    learner_evals_finish(evals);
    evaluated_widely(5, EPISODES, -30); // the last version
}

static void
assert_final(uint64_t played, uint64_t most)
{
    uint64_t is_played, is_most;
    learner_evals_final(evals, &is_played, &is_most);
    assert_int_equal(is_played, played);
    assert_int_equal(is_most, most);
}

// What screened well goes first, then the best or what may be better than it, the less known of the
// two; 3 and 5 are too far behind. It ends when the best is known.
static void
test_evals_after_training_find_the_best_version(void **state)
{
    (void)state;
    trained_widely(100);
    evaluated_widely(4, EPISODES, 60);
    assert_best(4, 60);
    evaluated_widely(1, EPISODES, 50);  // 51 over both
    evaluated_widely(2, EPISODES, -10); // of fewer episodes, it may be better by more than 1 may
    evaluated_widely(4, EPISODES, 60);  // less known than 1
    evaluated_widely(1, EPISODES, -40);
    assert_false(learner_evals_done(evals));
    assert_final(6 * EPISODES, 7 * EPISODES);
    evaluated_widely(4, EPISODES, 58); // the result: nobody else is within two standard errors
    assert_best(4, 58);
    assert_true(learner_evals_done(evals));
    assert_nothing_for(ONE);
}

// Three evaluations: of the last version, and two others.
static void
test_evals_after_training_keep_to_their_share(void **state)
{
    (void)state;
    enum { TRAINING = 4 * SCREEN + 2 * EPISODES };
    trained_widely(3.0 * EPISODES / TRAINING);
    assert_final(EPISODES, 4 * EPISODES); // the result is the fourth
    evaluated_widely(4, EPISODES, 60);
    evaluated_widely(1, EPISODES, 60);
    assert_final(3 * EPISODES, 4 * EPISODES);
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 4, EPISODES);
    assert_final(3 * EPISODES, 4 * EPISODES);
    (void)answered(&order, 60); // the result
    assert_final(4 * EPISODES, 4 * EPISODES);
    assert_true(learner_evals_done(evals));
}

static void
test_evals_after_training_choose_nothing_without_a_share(void **state)
{
    (void)state;
    trained_widely(0);
    evaluated_widely(1, EPISODES, 52); // the result
    assert_true(learner_evals_done(evals));
}

// Where all episodes return the same, there is nothing to find out.
static void
test_evals_after_training_stop_where_returns_do_not_vary(void **state)
{
    (void)state;
    config.run.stop_at_return = NAN;
    config.evaluation.final_share = 100;
    for (uint64_t version = 1; version <= 2; version++) {
        newest_evaluated(version, 500 + (double)version, 500);
    }
    learner_evals_finish(evals);
    evaluated(1, EPISODES, 500); // the result; the last version was fully evaluated
    assert_true(learner_evals_done(evals));
}

static void
test_evals_after_training_leave_what_was_confirmed(void **state)
{
    (void)state;
    config.evaluation.final_share = 100;
    newest(1);
    evaluated(1, SCREEN, 110);
    evaluated_widely(1, EPISODES, 110);
    evaluated_widely(1, EPISODES, 110); // confirmed
    newest(2);
    learner_evals_finish(evals);
    evaluated_widely(2, EPISODES, 99);  // the last version
    evaluated_widely(1, EPISODES, 110); // the result
    assert_true(learner_evals_done(evals));
}

static void
test_evals_after_training_give_up_when_one_fails(void **state)
{
    (void)state;
    learner_eval_stage stage;
    trained_widely(100);
    learner_eval_order order = ordered(ONE);
    assert_order(&order, 4, EPISODES);
    T_OK(learner_evals_failed(evals, ONE, order.ticket, 4, &stage));
    evaluated_widely(1, EPISODES, 52); // the result
    assert_true(learner_evals_done(evals));
}

// The four best screens wait, and a version that was fully evaluated does not.
static void
test_evals_after_training_look_at_the_best_screens(void **state)
{
    (void)state;
    config.run.stop_at_return = NAN;
    config.evaluation.final_share = 100;
    newest(1);
    evaluated(1, SCREEN, 50);
    evaluated_widely(1, EPISODES, 55);
    for (uint64_t version = 2; version <= 7; version++) {
        newest(version);
        evaluated(version, SCREEN, 45 + (double)version); // 47 to 52
    }
    learner_evals_finish(evals);
    evaluated_widely(7, EPISODES, 0);
    for (uint64_t version = 6; version >= 4; version--) {
        evaluated_widely(version, EPISODES, 0);
    }
    evaluated_widely(1, EPISODES, 54); // the result: 2 and 3 had to give way
    assert_true(learner_evals_done(evals));
}

// ---- over a resume

static void
restored(uint64_t version, learner_eval_stage stage, uint32_t episodes, double mean,
         double confirmed)
{
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = version;
    learner_eval_result best = {.stage = stage, .episodes = episodes, .mean = mean};
    learner_evals_restore(evals, publication, &best, confirmed);
    quantizer_publication_release(publication);
}

static void
test_evals_restored_best_is_not_beaten_by_a_lucky_screen(void **state)
{
    (void)state;
    restored(5, LEARNER_EVAL_FULL, EPISODES, 80, NAN);
    assert_best(5, 80);
    newest(6);
    evaluated(6, SCREEN, 95);
    assert_best(5, 80);
    evaluated(6, EPISODES, 79);
    assert_best(5, 80);
    learner_evals_finish(evals);
    evaluated(5, EPISODES, 78); // its result; the last version was fully evaluated
    assert_best(5, 78);
}

// Its result is known already: it is not drawn again.
static void
test_evals_restored_result_is_not_drawn_again(void **state)
{
    (void)state;
    learner_eval_result best;
    restored(5, LEARNER_EVAL_RESULT, EPISODES, 120, 110);
    assert_true(learner_evals_solved(evals));
    newest(6);
    learner_evals_finish(evals);
    evaluated(6, EPISODES, 500); // the last, but not confirmed
    assert_best(5, 120);
    (void)learner_evals_best(evals, &best);
    assert_int_equal(best.stage, LEARNER_EVAL_RESULT);
    assert_true(learner_evals_done(evals));
}

// Once another version's mean was held against it, it has chosen: what ships is evaluated anew.
static void
test_evals_restored_result_that_chose_is_drawn_again(void **state)
{
    (void)state;
    learner_eval_result best;
    restored(5, LEARNER_EVAL_RESULT, EPISODES, 80, NAN);
    (void)learner_evals_best(evals, &best);
    assert_int_equal(best.stage, LEARNER_EVAL_RESULT);
    newest(6);
    learner_evals_finish(evals);
    evaluated(6, EPISODES, 79);
    assert_best(5, 80);
    (void)learner_evals_best(evals, &best);
    assert_int_equal(best.stage, LEARNER_EVAL_FULL);
    assert_false(learner_evals_done(evals));
    evaluated(5, EPISODES, 60);
    assert_best(5, 60);
    (void)learner_evals_best(evals, &best);
    assert_int_equal(best.stage, LEARNER_EVAL_RESULT);
    assert_true(learner_evals_done(evals));
}

// While one evaluator plays, others screen: what screened best meanwhile is next.
static void
test_evals_what_screened_better_waits_its_turn(void **state)
{
    (void)state;
    newest_evaluated(1, 10, 10);
    newest(2);
    evaluated(2, SCREEN, 30);
    learner_eval_order full = ordered(ONE);
    assert_order(&full, 2, EPISODES);
    newest(3);
    evaluated_by(TWO, 3, SCREEN, 90);
    newest(4);
    evaluated_by(TWO, 4, SCREEN, 60);
    (void)answered(&full, 20);
    evaluated(3, EPISODES, 85);
    assert_best(3, 85);
}

// What is being played is no rival of what waits, however well it screened.
static void
test_evals_what_screened_worse_than_what_is_played_waits_too(void **state)
{
    (void)state;
    newest_evaluated(1, 10, 10);
    newest(2);
    evaluated(2, SCREEN, 90);
    learner_eval_order full = ordered(ONE);
    assert_order(&full, 2, EPISODES);
    newest(3);
    evaluated_by(TWO, 3, SCREEN, 30);
    (void)answered(&full, 20);
    evaluated(3, EPISODES, 25);
    assert_best(3, 25);
}

// The file is another than the checkpoint knows: it goes first, and no screen takes its place.
static void
test_evals_restored_unknown_is_evaluated_first(void **state)
{
    (void)state;
    learner_eval_result best;
    restored(5, LEARNER_EVAL_SCREEN, 0, NAN, NAN);
    assert_int_equal(learner_evals_best(evals, &best)->version, 5);
    assert_true(isnan(best.mean) && best.episodes == 0);
    newest(6);
    learner_eval_order full = ordered(ONE);
    assert_order(&full, 5, EPISODES);
    evaluated_by(TWO, 6, SCREEN, GOAL + 50);
    assert_int_equal(learner_evals_best(evals, &best)->version, 5);
    (void)answered(&full, 70);
    assert_best(5, 70);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_evals_a_full_result_replaces_a_lucky_screen),
        T(test_evals_of_a_version_count_by_their_episodes),
        T(test_evals_solved_only_when_confirmed),
        T(test_evals_measure_over_all_evaluations_of_a_version),
        T(test_evals_the_result_is_of_an_evaluation_that_nothing_reacts_to),
        T(test_evals_a_failed_confirmation_gives_way_to_what_is_better),
        T(test_evals_a_failed_confirmation_counts_with_the_rest),
        T(test_evals_what_is_confirmed_ships_although_another_looks_better),
        T(test_evals_what_is_confirmed_keeps_its_place),
        T(test_evals_of_waiting_versions_begin_with_the_best_screen),
        T(test_evals_goal_promotes),
        T(test_evals_without_a_goal_never_solve),
        T(test_evals_finish_takes_the_newest_when_nothing_was_evaluated),
        T(test_evals_a_rival_is_within_two_pooled_standard_errors),
        T(test_evals_after_training_find_the_best_version),
        T(test_evals_after_training_keep_to_their_share),
        T(test_evals_after_training_choose_nothing_without_a_share),
        T(test_evals_after_training_stop_where_returns_do_not_vary),
        T(test_evals_after_training_leave_what_was_confirmed),
        T(test_evals_after_training_give_up_when_one_fails),
        T(test_evals_after_training_look_at_the_best_screens),
        T(test_evals_finish_looks_at_the_newest),
        T(test_evals_asking_again_after_training_gives_the_same_order),
        T(test_evals_finish_keeps_the_best_when_the_newest_is_worse),
        T(test_evals_finish_plays_what_screened_well),
        T(test_evals_finish_gives_up_a_newest_that_fails),
        T(test_evals_finish_plays_what_screened_well_after_a_failure),
        T(test_evals_the_last_version_goes_before_a_lost_screen),
        T(test_evals_that_cannot_be_played_at_the_end_are_given_up),
        T(test_evals_tell_the_mean_of_the_last_screens),
        T(test_evals_restored_best_is_not_beaten_by_a_lucky_screen),
        T(test_evals_restored_result_is_not_drawn_again),
        T(test_evals_restored_result_that_chose_is_drawn_again),
        T(test_evals_what_screened_better_waits_its_turn),
        T(test_evals_what_screened_worse_than_what_is_played_waits_too),
        T(test_evals_restored_unknown_is_evaluated_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
