// The numbers of a process are its own.
#include "tests/support/oct_test.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_process.h"

static double
number_of(const char *text, const char *name)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(text, line);
    assert_non_null(at);
    return strtod(at + strlen(line), NULL);
}

static void
test_process_numbers_are_those_of_this_process(void **state)
{
    (void)state;
    oct_prometheus *text = oct_prometheus_create();
    size_t length;
    oct_process_prometheus(text, "learner");
    const char *got = oct_prometheus_text(text, &length);
    assert_non_null(
        strstr(got, "octet_build_info{daemon=\"learner\",version=\"" OCTET_VERSION "\"} 1\n"));
    double now_s = (double)time(NULL);
    double start_s = number_of(got, "process_start_time_seconds");
    assert_true(start_s > now_s - 600 && start_s < now_s + 60); // btime is in whole seconds
    assert_true(number_of(got, "process_cpu_seconds_total") > 0);
    assert_true(number_of(got, "process_resident_memory_bytes") > 1e5);
    assert_true(number_of(got, "process_virtual_memory_bytes") >
                number_of(got, "process_resident_memory_bytes"));
    assert_true(number_of(got, "process_threads") >= 1);
    double fds = number_of(got, "process_open_fds");
    assert_true(fds < number_of(got, "process_max_fds"));
    int more = dup(STDOUT_FILENO);
    oct_prometheus *again = oct_prometheus_create();
    oct_process_prometheus(again, "learner");
    T_NEAR(number_of(oct_prometheus_text(again, &length), "process_open_fds"), fds + 1, 0, 0);
    (void)close(more);
    oct_prometheus_destroy(again);
    oct_prometheus_destroy(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_numbers_are_those_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
