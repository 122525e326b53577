// Clocks go forward, and count what they say.
#include <time.h>

#include "tests/support/oct_test.h"

#include "common/oct_clock.h"

static void
test_monotonic_clock_never_steps_back(void **state)
{
    (void)state;
    uint64_t before = oct_clock_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = oct_clock_ns();
        assert_true(now >= before);
        before = now;
    }
}

static void
test_wall_clock_is_the_systems_in_microseconds(void **state)
{
    (void)state;
    uint64_t before = (uint64_t)time(NULL);
    uint64_t wall_us = oct_clock_wall_us();
    uint64_t after = (uint64_t)time(NULL);
    // time() may lag the precise clock by one tick of the kernel.
    assert_true(wall_us / 1000000 >= before && wall_us / 1000000 <= after + 1);
}

// Spins until both clocks have moved: one that stands still would run into the test's time limit.
static void
test_cpu_clocks_grow_with_work(void **state)
{
    (void)state;
    uint64_t thread = oct_clock_thread_cpu_ns(), process = oct_clock_process_cpu_ns();
    while (oct_clock_thread_cpu_ns() - thread < 1000000 ||
           oct_clock_process_cpu_ns() - process < 1000000) {
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic_clock_never_steps_back),
        cmocka_unit_test(test_wall_clock_is_the_systems_in_microseconds),
        cmocka_unit_test(test_cpu_clocks_grow_with_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
