// Every error code has a text of its own, and OCT_TRY passes errors on.
#include <stdbool.h>

#include "tests/support/oct_test.h"

#include "common/oct_err.h"

static void
test_a_number_that_is_no_code_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(oct_strerror((oct_err)9999), "unknown error");
    assert_string_equal(oct_strerror((oct_err)-1), "unknown error");
}

static void
test_every_code_has_its_own_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
#define X(name, num, text) text,
        OCT_ERR_MAP(X)
#undef X
    };
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        assert_string_equal(oct_strerror((oct_err)i), texts[i]);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(texts[i], texts[j]);
        }
    }
}

static oct_err
forward(oct_err err, bool *went_on)
{
    OCT_TRY(err);
    *went_on = true;
    return OCT_OK;
}

static void
test_try_returns_errors_and_passes_success(void **state)
{
    (void)state;
    bool went_on = false;
    assert_int_equal(forward(OCT_EIO, &went_on), OCT_EIO);
    assert_false(went_on);
    assert_int_equal(forward(OCT_OK, &went_on), OCT_OK);
    assert_true(went_on);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_number_that_is_no_code_has_a_text),
        cmocka_unit_test(test_every_code_has_its_own_text),
        cmocka_unit_test(test_try_returns_errors_and_passes_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
