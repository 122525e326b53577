// How many actors a run can use, from who waits.
#include <math.h>

#include "learner/learner_actors_wanted.h"
#include "tests/support/oct_test.h"

#define assert_near(a, b, error) assert_true(fabs((a) - (b)) <= (error))

static double
wanted_of(double learner_wait, double actor_wait, double actors)
{
    learner_actors_wanted wanted = {0};
    learner_actors_wanted_row(&wanted, 1, learner_wait, actor_wait);
    return learner_actors_wanted_get(&wanted, actors);
}

static void
test_a_starved_learner_wants_more_and_waiting_actors_are_too_many(void **state)
{
    (void)state;
    assert_near(wanted_of(0.5, 0, 8), 16, 1e-9);
    assert_near(wanted_of(0, 0.75, 8), 2, 1e-9);
    assert_near(wanted_of(0, 0, 8), 8, 1e-9);
    assert_near(wanted_of(0.6, 0.6, 8), 8, 1e-9); // both wait for something else
}

// With exactly as many as were wanted nobody waits, and as many are wanted again.
static void
test_what_is_wanted_is_enough(void **state)
{
    (void)state;
    for (double actors = 1; actors < 64; actors *= 2) {
        double enough = 12; // make what the learner takes
        double learner_wait = OCT_MAX(0, 1 - actors / enough);
        double actor_wait = OCT_MAX(0, 1 - enough / actors);
        double wanted = wanted_of(learner_wait, actor_wait, actors);
        assert_near(wanted, actors * 10 < enough ? actors * 10 : enough, 1e-9);
    }
}

static void
test_it_is_bounded_and_never_none(void **state)
{
    (void)state;
    assert_near(wanted_of(1, 0, 8), 80, 1e-9);
    assert_near(wanted_of(0, 1, 80), 8, 1e-9);
    assert_near(wanted_of(0, 1, 2), 1, 0);
    assert_near(wanted_of(7, -3, 8), 80, 1e-9); // shares beyond what can be
    assert_near(wanted_of(0.5, 0.5, 0), 1, 0);
    assert_near(wanted_of(0.5, 0.5, NAN), 1, 0);
}

static void
test_rows_are_averaged_and_those_not_measured_count_for_nothing(void **state)
{
    (void)state;
    learner_actors_wanted wanted = {0};
    assert_true(isnan(learner_actors_wanted_get(&wanted, 4)));
    learner_actors_wanted_row(&wanted, 1, NAN, 0.5);
    learner_actors_wanted_row(&wanted, 1, 0.5, NAN);
    assert_true(isnan(learner_actors_wanted_get(&wanted, 4)));
    learner_actors_wanted_row(&wanted, 1, 0, 0);
    learner_actors_wanted_row(&wanted, 1, 0.9, 0); // one row alone
    double once = learner_actors_wanted_get(&wanted, 4);
    assert_true(once > 4 && once < 4.2);
    learner_actors_wanted_row(&wanted, 10 * LEARNER_WANTED_S, 0.9, 0);
    assert_near(learner_actors_wanted_get(&wanted, 4), 40, 0.1);
    learner_actors_wanted_row(&wanted, 1, NAN, NAN);
    assert_near(learner_actors_wanted_get(&wanted, 4), 40, 0.1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_starved_learner_wants_more_and_waiting_actors_are_too_many),
        cmocka_unit_test(test_what_is_wanted_is_enough),
        cmocka_unit_test(test_it_is_bounded_and_never_none),
        cmocka_unit_test(test_rows_are_averaged_and_those_not_measured_count_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
