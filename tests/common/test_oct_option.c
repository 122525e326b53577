// The end of an option: at a comma that is neither in brackets nor in quotes.
#include "common/oct_option.h"

#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "tests/support/oct_test.h"

static void
test_an_option_that_is_not_closed_has_no_end(void **state)
{
    (void)state;
    const char *bad[] = {"a=(1,2", "a=[",     "a={1:(2,3)", "a='",   "a='b",
                         "a=\"b'", "a='b\\'", "a=b'c",      "a=('b)"};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        assert_null(oct_option_end(bad[i]));
    }
}

static void
test_an_option_ends_at_a_comma_outside_of_brackets_and_quotes(void **state)
{
    (void)state;
    const char *options[] = {
        "",
        "a",
        "a=",
        "a=1",
        "a=b=c",
        "a=it's",
        "a=f(x",
        "a=)",
        "a=(3,3)",
        "a=[1,[2,3],4]",
        "a={'k': (1, 2)}",
        "a='b,c'",
        "a=\"b,c\"",
        "a='it\\'s,b'",
        "a=b'b,c'",
        "a=('),',2)",
        "a=\"',\"",
        "a=(1,2)3",
        "a=()",
        "a=''",
        "a=b",
    };
    for (size_t i = 0; i < OCT_COUNTOF(options); i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "%s,z=1", options[i]);
        assert_int_equal(oct_option_end(text) - text, strlen(options[i]));
        assert_int_equal(*oct_option_end(options[i]), '\0');
    }
}

static void
test_an_action_repeat_within_another_option_is_none(void **state)
{
    (void)state;
    assert_int_equal(oct_action_repeat_of("a=(1,action_repeat=3)"), 1);
    assert_int_equal(oct_action_repeat_of("a:=[1, \"action_repeat:=3\"],action_repeat:=3"), 3);
    assert_int_equal(oct_action_repeat_of("a=(1,2),action_repeat=3"), 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_option_that_is_not_closed_has_no_end),
        cmocka_unit_test(test_an_option_ends_at_a_comma_outside_of_brackets_and_quotes),
        cmocka_unit_test(test_an_action_repeat_within_another_option_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
