// Environment variables that force kernels on OpenBLAS are removed and reported, once.
#include <stdlib.h>
#include <string.h>

#include "common/oct_blas.h"
#include "tests/support/oct_test.h"

static int
no_variables(void **state)
{
    (void)state;
    return unsetenv("OPENBLAS_CORETYPE") + unsetenv("OPENBLAS_L2_SIZE") +
           unsetenv("OPENBLAS_BLOCK_FACTOR") + unsetenv("OCTET_BLAS_REMOVED");
}

static void
test_nothing_forced_is_nothing_removed(void **state)
{
    (void)state;
    assert_false(oct_blas_clear_environment());
    assert_string_equal(oct_blas_removed(), "");
    char *argv[] = {"never started", NULL};
    oct_blas_restart(argv); // comes back
}

static void
test_what_forces_kernels_is_removed_and_told(void **state)
{
    (void)state;
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Haswell", 1), 0);
    assert_int_equal(setenv("OPENBLAS_L2_SIZE", "512", 1), 0);
    assert_int_equal(setenv("OPENBLAS_NUM_THREADS", "1", 1), 0);
    assert_true(oct_blas_clear_environment());
    assert_null(getenv("OPENBLAS_CORETYPE"));
    assert_null(getenv("OPENBLAS_L2_SIZE"));
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "1");
    assert_string_equal(oct_blas_removed(), "OPENBLAS_CORETYPE=Haswell OPENBLAS_L2_SIZE=512");
}

// A program that finds them again after its restart must not start for ever.
static void
test_second_time_removes_nothing(void **state)
{
    (void)state;
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Zen", 1), 0);
    assert_true(oct_blas_clear_environment());
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Zen", 1), 0);
    assert_false(oct_blas_clear_environment());
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "Zen");
}

int
main(int argc, char **argv)
{
    // As its own child: what a restarted program has.
    if (argc == 2 && strcmp(argv[1], "restart") == 0) {
        oct_blas_restart(argv);
        return getenv("OPENBLAS_CORETYPE") == NULL ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_forced_is_nothing_removed, no_variables),
        cmocka_unit_test_setup(test_what_forces_kernels_is_removed_and_told, no_variables),
        cmocka_unit_test_setup(test_second_time_removes_nothing, no_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
