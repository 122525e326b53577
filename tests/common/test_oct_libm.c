// The sum over the C library's mathematics is the same each time, and changes with what it stands
// for. With an argument: prints it, for tests on simulated CPUs.
#include "common/oct_libm.h"

#include <fenv.h>
#include <inttypes.h>
#include <stdio.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "tests/support/oct_test.h"

static void
test_the_sum_is_the_same_each_time(void **state)
{
    (void)state;
    assert_true(oct_libm_sum() == oct_libm_sum());
}

static void
test_another_rounding_is_another_sum(void **state)
{
    (void)state;
    const uint64_t nearest = oct_libm_sum();
    assert_int_equal(fesetround(FE_DOWNWARD), 0);
    const uint64_t down = oct_libm_sum();
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    assert_true(down != nearest);
}

// A library that was linked with -ffast-math sets this for the thread that loads it.
static void
test_denormals_taken_for_zero_are_another_sum(void **state)
{
    (void)state;
#if defined(__SSE2__)
    const uint64_t kept = oct_libm_sum();
    const unsigned control = _mm_getcsr();
    _mm_setcsr(control | 0x8040u); // flush to zero, denormals are zero
    const uint64_t flushed = oct_libm_sum();
    _mm_setcsr(control);
    assert_true(flushed != kept);
#else
    skip();
#endif
}

int
main(int argc, char **argv)
{
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sum_is_the_same_each_time),
        cmocka_unit_test(test_another_rounding_is_another_sum),
        cmocka_unit_test(test_denormals_taken_for_zero_are_another_sum),
    };
    if (argc > 1) {
        printf("%016" PRIx64 "\n", oct_libm_sum());
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
