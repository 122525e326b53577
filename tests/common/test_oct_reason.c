// The reason of a refusal: set and returned in one expression, cut, or not asked for.
#include "common/oct_reason.h"

#include <string.h>

#include "tests/support/oct_test.h"

static void
test_a_refusal_is_set_and_returned_at_once(void **state)
{
    (void)state;
    oct_reason why;
    T_ERR(oct_refuse(&why, "%s: %u; allowed are 1 to %u", "key", 0u, 8u), OCT_EINVAL);
    assert_string_equal(why.text, "key: 0; allowed are 1 to 8");
    T_ERR(oct_fail(&why, OCT_EIO, "%s cannot be read", "file"), OCT_EIO);
    assert_string_equal(why.text, "file cannot be read");
}

static void
test_nobody_has_to_ask_for_a_reason(void **state)
{
    (void)state;
    T_ERR(oct_refuse(NULL, "key: %u", 0u), OCT_EINVAL);
    oct_reason_set(NULL, "key");
}

static void
test_a_long_reason_is_cut_and_ends(void **state)
{
    (void)state;
    char path[2 * OCT_REASON_BYTES], copy[5];
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    oct_reason why;
    oct_reason_set(&why, "%s", path);
    assert_int_equal(strlen(why.text), OCT_REASON_BYTES - 1);
    oct_reason_copy(&why, copy, sizeof(copy));
    assert_string_equal(copy, "pppp");
    oct_reason_copy(&why, NULL, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_is_set_and_returned_at_once),
        cmocka_unit_test(test_nobody_has_to_ask_for_a_reason),
        cmocka_unit_test(test_a_long_reason_is_cut_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
