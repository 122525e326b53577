#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "common/oct_stats.h"

#define SECOND 1000000000ull

// The number of that name in a snapshot at now_ns; fails when there is none.
static double
number(oct_stats *stats, const char *name, uint64_t now_ns)
{
    const char *const *names;
    const double *values;
    uint32_t count = oct_stats_snapshot(stats, now_ns, &names, &values);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return values[i];
        }
    }
    fail_msg("no number is called %s", name);
    return NAN;
}

static void
test_empty_stats_have_an_empty_snapshot(void **state)
{
    (void)state;
    const char *const *names;
    const double *values;
    oct_stats *stats = oct_stats_create(1, 0);
    assert_int_equal(oct_stats_snapshot(stats, 5, &names, &values), 0);
    oct_stats_roll(stats, 6);
    oct_stats_destroy(stats);
    oct_stats_destroy(NULL);
}

static void
test_counter_gives_its_total_and_its_rate_in_the_window(void **state)
{
    (void)state;
    oct_stats *stats = oct_stats_create(8, 10 * SECOND);
    oct_counter steps = oct_stats_counter(stats, "steps");
    assert_true(number(stats, "steps_per_s", 10 * SECOND) == 0);
    oct_stats_add(stats, steps, 300);
    assert_true(number(stats, "steps_per_s", 12 * SECOND) == 150);
    oct_stats_roll(stats, 13 * SECOND);
    oct_stats_add(stats, steps, 50);
    // The rate is the closed window's until the next roll, the total is of now.
    assert_true(number(stats, "steps_per_s", 20 * SECOND) == 100);
    assert_true(number(stats, "steps", 20 * SECOND) == 350);
    assert_int_equal(oct_stats_count(stats, steps), 350);
    oct_stats_roll(stats, 15 * SECOND);
    assert_true(number(stats, "steps_per_s", 15 * SECOND) == 25);
    oct_stats_destroy(stats);
}

static void
test_gauge_gives_what_was_set_last(void **state)
{
    (void)state;
    oct_stats *stats = oct_stats_create(1, 0);
    oct_gauge lag = oct_stats_gauge(stats, "lag");
    assert_true(number(stats, "lag", 0) == 0);
    oct_stats_set(stats, lag, 3);
    oct_stats_roll(stats, SECOND);
    oct_stats_set(stats, lag, -1.5);
    assert_true(number(stats, "lag", SECOND) == -1.5);
    oct_stats_destroy(stats);
}

static const char *const state_names[] = {"infer", "env", "wait"};

static void
test_states_share_the_wall_time_of_the_window(void **state)
{
    (void)state;
    oct_stats *stats = oct_stats_create(3, 0);
    oct_states time = oct_stats_states(stats, "time", state_names, 3, 0);
    assert_true(number(stats, "time_infer", 0) == 1);
    oct_stats_enter(stats, time, 1, 1 * SECOND);
    oct_stats_enter(stats, time, 2, 3 * SECOND);
    T_NEAR(number(stats, "time_infer", 4 * SECOND), 0.25, 1e-12, 0);
    T_NEAR(number(stats, "time_env", 4 * SECOND), 0.5, 1e-12, 0);
    T_NEAR(number(stats, "time_wait", 4 * SECOND), 0.25, 1e-12, 0);
    oct_stats_roll(stats, 4 * SECOND);
    // Nothing was entered in this window: all of it belongs to the state from before.
    oct_stats_roll(stats, 6 * SECOND);
    assert_true(number(stats, "time_wait", 6 * SECOND) == 1);
    assert_true(number(stats, "time_env", 6 * SECOND) == 0);
    oct_stats_destroy(stats);
}

static void
test_a_clock_that_steps_back_counts_as_standing_still(void **state)
{
    (void)state;
    oct_stats *stats = oct_stats_create(5, 0);
    oct_states time = oct_stats_states(stats, "time", state_names, 3, 10 * SECOND);
    oct_counter steps = oct_stats_counter(stats, "steps");
    oct_stats_add(stats, steps, 5);
    oct_stats_enter(stats, time, 1, 5 * SECOND);
    oct_stats_enter(stats, time, 2, 12 * SECOND);
    oct_stats_roll(stats, 12 * SECOND);
    assert_true(number(stats, "time_env", 12 * SECOND) == 1);
    oct_stats_roll(stats, 11 * SECOND);
    assert_true(number(stats, "steps_per_s", 11 * SECOND) == 0);
    oct_stats_destroy(stats);
}

static void
test_latency_gives_percentiles_of_the_window_in_seconds(void **state)
{
    (void)state;
    oct_stats *stats = oct_stats_create(3, 0);
    oct_latency sample = oct_stats_latency(stats, "sample_s");
    assert_true(number(stats, "sample_s_p99", 0) == 0);
    for (uint64_t ms = 1; ms <= 1000; ms++) {
        oct_stats_record(stats, sample, ms * 1000000);
    }
    oct_stats_roll(stats, SECOND);
    // Buckets are 1/8 wide and answer with their middle.
    T_NEAR(number(stats, "sample_s_p50", SECOND), 0.5, 0, 1.0 / 16);
    T_NEAR(number(stats, "sample_s_p99", SECOND), 0.99, 0, 1.0 / 16);
    T_NEAR(number(stats, "sample_s_max", SECOND), 1.0, 1e-12, 0);
    oct_stats_roll(stats, 2 * SECOND);
    assert_true(number(stats, "sample_s_max", 2 * SECOND) == 0);
    oct_stats_destroy(stats);
}

static int
compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void
test_histogram_percentiles_are_within_a_sixteenth_at_every_scale(void **state)
{
    (void)state;
    enum { N = 2000 };
    static uint64_t values[N];
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    oct_histogram *histogram = calloc(1, sizeof(*histogram));
    for (int i = 0; i < N; i++) {
        values[i] = oct_rng_u64(&rng) >> oct_rng_below(&rng, 64);
        oct_histogram_record(histogram, values[i]);
    }
    qsort(values, N, sizeof(values[0]), compare_u64);
    for (int i = 1; i <= 100; i++) {
        double want = (double)values[(i * N + 99) / 100 - 1];
        T_NEAR(oct_histogram_percentile(histogram, i / 100.0), want, 0, 1.0 / 16);
    }
    free(histogram);
}

static void
test_histogram_holds_zero_one_and_the_largest_value(void **state)
{
    (void)state;
    oct_histogram *histogram = calloc(1, sizeof(*histogram));
    assert_true(oct_histogram_percentile(histogram, 0.5) == 0);
    oct_histogram_record(histogram, 0);
    oct_histogram_record(histogram, 1);
    oct_histogram_record(histogram, UINT64_MAX);
    assert_true(oct_histogram_percentile(histogram, 0) == 0);
    assert_true(oct_histogram_percentile(histogram, 0.5) == 1);
    T_NEAR(oct_histogram_percentile(histogram, 1), (double)UINT64_MAX, 0, 1.0 / 16);
    assert_int_equal(histogram->bucket[OCT_HISTOGRAM_BUCKETS - 1], 1);
    free(histogram);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_stats_have_an_empty_snapshot),
        cmocka_unit_test(test_counter_gives_its_total_and_its_rate_in_the_window),
        cmocka_unit_test(test_gauge_gives_what_was_set_last),
        cmocka_unit_test(test_states_share_the_wall_time_of_the_window),
        cmocka_unit_test(test_a_clock_that_steps_back_counts_as_standing_still),
        cmocka_unit_test(test_latency_gives_percentiles_of_the_window_in_seconds),
        cmocka_unit_test(test_histogram_percentiles_are_within_a_sixteenth_at_every_scale),
        cmocka_unit_test(test_histogram_holds_zero_one_and_the_largest_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
