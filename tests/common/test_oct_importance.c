// Importance weights of any probability and exponent.
#include "tests/support/oct_test.h"

#include <math.h>
#include <stdint.h>

#include "common/oct_base.h"
#include "common/oct_importance.h"

enum { SIZE = 1000 };

// Also where (size p)^-exponent exceeds what a float holds.
static void
test_a_smaller_probability_has_no_smaller_weight(void **state)
{
    (void)state;
    static const double exponents[] = {0.2, 1, 3, 10};
    static const float probability[] = {1e-38f, 1e-7f, 1e-4f, 1e-3f, 0.5f};
    float weight[OCT_COUNTOF(probability)];
    for (size_t e = 0; e < OCT_COUNTOF(exponents); e++) {
        oct_importance_weights(weight, probability, OCT_COUNTOF(probability), SIZE, exponents[e]);
        assert_true(weight[0] == 1);
        for (size_t i = 1; i < OCT_COUNTOF(probability); i++) {
            assert_true(weight[i] >= 0 && weight[i] <= weight[i - 1]);
        }
        assert_true(weight[2] < weight[0]);
    }
}

static void
test_what_is_no_probability_has_a_weight(void **state)
{
    (void)state;
    static const float probability[] = {0, -1, NAN, 1};
    float weight[OCT_COUNTOF(probability)];
    oct_importance_weights(weight, probability, OCT_COUNTOF(probability), 1, 3);
    for (size_t i = 0; i < OCT_COUNTOF(probability); i++) {
        assert_true(weight[i] == 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_smaller_probability_has_no_smaller_weight),
        cmocka_unit_test(test_what_is_no_probability_has_a_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
