// When it is told that the ends of the atoms cut targets.
#include <math.h>

#include "learner/learner_atoms_warning.h"
#include "tests/support/oct_test.h"

#define OFTEN (LEARNER_ATOMS_WARNING_UPDATES / 2)

static void
test_it_is_told_once_after_enough_updates(void **state)
{
    (void)state;
    learner_atoms_warning cut = {0};
    assert_false(learner_atoms_warning_row(&cut, LEARNER_ATOMS_WARNING_SHARE, OFTEN));
    assert_false(learner_atoms_warning_row(&cut, 1, OFTEN - 1));
    assert_true(learner_atoms_warning_row(&cut, LEARNER_ATOMS_WARNING_SHARE, 1));
    assert_false(learner_atoms_warning_row(&cut, 1, 10 * OFTEN));
    assert_false(learner_atoms_warning_row(&cut, 0, OFTEN));
    assert_false(learner_atoms_warning_row(&cut, 1, 10 * OFTEN));
}

static void
test_a_row_without_a_cut_begins_anew_and_one_not_measured_says_nothing(void **state)
{
    (void)state;
    learner_atoms_warning cut = {0};
    assert_false(learner_atoms_warning_row(&cut, 1, OFTEN));
    assert_false(learner_atoms_warning_row(&cut, 0.99 * LEARNER_ATOMS_WARNING_SHARE, 10 * OFTEN));
    assert_false(learner_atoms_warning_row(&cut, 1, OFTEN));
    assert_false(learner_atoms_warning_row(&cut, NAN, 10 * OFTEN));
    assert_true(learner_atoms_warning_row(&cut, 1, OFTEN));
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
