// A mistyped word gets the name that was meant, and one that is far gets none.
#include "common/oct_suggest.h"
#include "tests/support/oct_test.h"

static const char *const words[] = {"train", "status", "set", "eval", "config", NULL};

static void
test_suggest_is_silent_about_what_is_far(void **state)
{
    (void)state;
    assert_null(oct_suggest("", words));
    assert_null(oct_suggest("x", words));
    assert_null(oct_suggest("inference", words));
    assert_null(oct_suggest("s", words)); // the beginning of two
}

static void
test_suggest_names_the_nearest(void **state)
{
    (void)state;
    assert_string_equal(oct_suggest("trian", words), "train");
    assert_string_equal(oct_suggest("conf", words), "config");
    assert_string_equal(oct_suggest("sat", words), "set");
    assert_string_equal(oct_suggest("statsu", words), "status");
}

static void
test_suggest_prefers_what_begins_so(void **state)
{
    (void)state;
    static const char *const keys[] = {"learner.batches_per_request", "learner.batch_size",
                                       "learner.bf16", NULL};
    assert_string_equal(oct_suggest("learner.batch", keys), "learner.batch_size");
    assert_string_equal(oct_suggest("learner.batches", keys), "learner.batches_per_request");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggest_is_silent_about_what_is_far),
        cmocka_unit_test(test_suggest_names_the_nearest),
        cmocka_unit_test(test_suggest_prefers_what_begins_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
