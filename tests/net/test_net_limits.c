// A process that may have too few files says so, and has them again where the limit is raised.
#include "common/oct_reason.h"
#include "net/net_limits.h"

#include <string.h>
#include <sys/resource.h>

#include "tests/net/net_test.h"

static void
test_too_few_files_are_told(void **state)
{
    (void)state;
    oct_reason why = {""};
    struct rlimit usual, few;
    unsigned before = net_test_files_open();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = (struct rlimit){before + 20, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    oct_err err = net_limits_check(&why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    T_ERR(err, OCT_EIO);
    assert_non_null(strstr(why.text, "Too many open files: "));
    assert_non_null(strstr(why.text, "are needed here: raise the limit on open files (ulimit -n"));
    T_OK(net_limits_check(&why));
    assert_int_equal(net_test_files_open(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_few_files_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
