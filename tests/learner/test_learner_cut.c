// When it is told that the ends of the atoms cut targets.
#include <math.h>

#include "learner/learner_cut.h"
#include "tests/support/oct_test.h"

#define OFTEN (LEARNER_CUT_UPDATES / 2)

static void
test_it_is_told_once_after_enough_updates(void **state)
{
    (void)state;
    learner_cut cut = {0};
    assert_false(learner_cut_row(&cut, LEARNER_CUT_SHARE, OFTEN));
    assert_false(learner_cut_row(&cut, 1, OFTEN - 1));
    assert_true(learner_cut_row(&cut, LEARNER_CUT_SHARE, 1));
    assert_false(learner_cut_row(&cut, 1, 10 * OFTEN));
    assert_false(learner_cut_row(&cut, 0, OFTEN));
    assert_false(learner_cut_row(&cut, 1, 10 * OFTEN));
}

static void
test_a_row_without_a_cut_begins_anew_and_one_not_measured_says_nothing(void **state)
{
    (void)state;
    learner_cut cut = {0};
    assert_false(learner_cut_row(&cut, 1, OFTEN));
    assert_false(learner_cut_row(&cut, 0.99 * LEARNER_CUT_SHARE, 10 * OFTEN));
    assert_false(learner_cut_row(&cut, 1, OFTEN));
    assert_false(learner_cut_row(&cut, NAN, 10 * OFTEN));
    assert_true(learner_cut_row(&cut, 1, OFTEN));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_told_once_after_enough_updates),
        cmocka_unit_test(test_a_row_without_a_cut_begins_anew_and_one_not_measured_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
