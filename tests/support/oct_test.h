#ifndef TESTS_SUPPORT_OCT_TEST_H
#define TESTS_SUPPORT_OCT_TEST_H

// cmocka.h needs these four before it; this header is the only one that includes it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_err.h"

#define T_OK(call)        assert_string_equal(oct_strerror(call), oct_strerror(OCT_OK))
#define T_ERR(call, want) assert_string_equal(oct_strerror(call), oct_strerror(want))

// |got - want| <= abs_tolerance + rel_tolerance * |want|; NaN never passes.
#define T_NEAR(got, want, abs_tolerance, rel_tolerance)                                            \
    oct_test_near((got), (want), (abs_tolerance), (rel_tolerance), __FILE__, __LINE__)

__attribute__((unused)) static inline void
oct_test_near(double got, double want, double abs_tolerance, double rel_tolerance, const char *file,
              int line)
{
    if (!(fabs(got - want) <= abs_tolerance + rel_tolerance * fabs(want))) {
        print_error("%.17g is not near %.17g\n", got, want);
        _fail(file, line);
    }
}

#endif // TESTS_SUPPORT_OCT_TEST_H
