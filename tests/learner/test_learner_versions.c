// Lags are counted over versions that were published, also where a run has gone on above those that
// were reserved.
#include "tests/support/oct_test.h"

#include "learner/learner_versions.h"

static const learner_versions new_run = {0}, gone_on = {.kept = 38, .reserved = 1000};

static void
test_in_a_new_run_it_is_the_difference(void **state)
{
    (void)state;
    assert_int_equal(learner_versions_lag(&new_run, 9, 9), 0);
    assert_int_equal(learner_versions_lag(&new_run, 9, 4), 5);
    assert_int_equal(learner_versions_lag(&new_run, 9, 12), 0);
    assert_int_equal(learner_versions_lag(&new_run, 0, 0), 0);
    assert_int_equal(learner_versions_oldest(&new_run, 9, 4), 5);
    assert_int_equal(learner_versions_oldest(&new_run, 9, 0), 9);
    assert_int_equal(learner_versions_oldest(&new_run, 4, 4), 0);
    assert_int_equal(learner_versions_oldest(&new_run, 0, 4), 0);
}

static void
test_versions_that_were_only_reserved_are_no_distance(void **state)
{
    (void)state;
    assert_int_equal(learner_versions_lag(&gone_on, 1001, 38), 1);
    assert_int_equal(learner_versions_lag(&gone_on, 1003, 36), 5);
    assert_int_equal(learner_versions_lag(&gone_on, 1003, 1001), 2);
    assert_int_equal(learner_versions_lag(&gone_on, 1000, 38), 0);
    // Published after the checkpoint by the process that died.
    assert_int_equal(learner_versions_lag(&gone_on, 1001, 39), 1);
    assert_int_equal(learner_versions_lag(&gone_on, 1001, 1000), 1);
    assert_int_equal(learner_versions_lag(&gone_on, 0, 38), 0); // nothing is published yet
}

// Whatever the bound, exactly the versions from the oldest one on are within it.
static void
test_the_oldest_is_the_first_within_the_bound(void **state)
{
    (void)state;
    const learner_versions of[] = {
        {0}, {.kept = 5, .reserved = 5}, {.kept = 5, .reserved = 12}, {.kept = 0, .reserved = 7}};
    for (size_t i = 0; i < OCT_COUNTOF(of); i++) {
        for (uint64_t newest = 0; newest < 30; newest++) {
            for (uint64_t lag_max = 0; lag_max < 32; lag_max++) {
                uint64_t oldest = learner_versions_oldest(&of[i], newest, lag_max);
                for (uint64_t version = 0; version <= newest; version++) {
                    // Of those of which nothing is known the last kept one stands for all.
                    uint64_t known =
                        version > of[i].kept && version <= of[i].reserved ? of[i].kept : version;
                    assert_int_equal(learner_versions_lag(&of[i], newest, version) <= lag_max,
                                     known >= oldest);
                }
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_a_new_run_it_is_the_difference),
        cmocka_unit_test(test_versions_that_were_only_reserved_are_no_distance),
        cmocka_unit_test(test_the_oldest_is_the_first_within_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
