// Whether a daemon hangs, is slow, waits or has been asleep, by what it shows; the clock is an
// argument.
#include "cli/run/cli_watch.h"
#include "tests/support/oct_test.h"

#define S 1000000000ull

static const cli_watch_rule rule = {.hang_s = 60, .env_hang_s = 600};

typedef struct daemon_seen {
    oct_pulse_page page;
    cli_watch watch;
    cli_watch_trouble trouble;
    uint64_t now_ns;
} daemon_seen;

static void
show(daemon_seen *d, oct_pulse_thread thread, oct_pulse_doing doing)
{
    uint64_t beats = atomic_load(&d->page.beat[thread]) / 4 + 1;
    atomic_store(&d->page.beat[thread], 4 * beats + (uint64_t)doing);
}

static daemon_seen
begin(oct_pulse_thread thread, oct_pulse_doing doing)
{
    daemon_seen d = {.now_ns = 7 * S};
    show(&d, thread, doing);
    assert_int_equal(cli_watch_check(&d.watch, &d.page, &rule, d.now_ns, &d.trouble),
                     CLI_WATCH_WELL);
    return d;
}

// A look every second; the verdict that is not CLI_WATCH_WELL, or that when there is none.
static cli_watch_verdict
look_for(daemon_seen *d, int seconds)
{
    cli_watch_verdict found = CLI_WATCH_WELL;
    for (int i = 0; i < seconds; i++) {
        d->now_ns += S;
        cli_watch_verdict verdict =
            cli_watch_check(&d->watch, &d->page, &rule, d->now_ns, &d->trouble);
        found = verdict != CLI_WATCH_WELL ? verdict : found;
    }
    return found;
}

static void
test_thread_that_works_without_a_beat_is_told_and_hangs(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_WORK, OCT_PULSE_WORKS);
    assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL);
    assert_int_equal(look_for(&d, 1), CLI_WATCH_QUIET);
    assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL); // said once
    assert_int_equal(look_for(&d, 1), CLI_WATCH_HUNG);
    assert_int_equal(d.trouble.thread, OCT_PULSE_WORK);
    assert_false(d.trouble.in_environment);
    T_NEAR(d.trouble.silent_s, 60, 1e-9, 0);
    T_NEAR(d.trouble.limit_s, 60, 0, 0);
}

static void
test_beat_in_time_is_progress(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL);
        show(&d, OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    }
    assert_int_equal(look_for(&d, 40), CLI_WATCH_QUIET);
    show(&d, OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    assert_int_equal(look_for(&d, 1), CLI_WATCH_BACK);
    assert_int_equal(look_for(&d, 20), CLI_WATCH_WELL);
}

static void
test_one_silent_thread_is_enough(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_WORK, OCT_PULSE_WORKS);
    cli_watch_verdict verdict = CLI_WATCH_WELL;
    for (int i = 0; i < 60; i++) {
        show(&d, OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        show(&d, OCT_PULSE_ENCODE, OCT_PULSE_WAITS);
        verdict = look_for(&d, 1);
    }
    assert_int_equal(verdict, CLI_WATCH_HUNG);
    assert_string_equal(cli_watch_trouble_text(&d.trouble), "its working thread");
}

static void
test_who_waits_or_is_not_there_may_be_silent(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_WORK, OCT_PULSE_WAITS);
    show(&d, OCT_PULSE_ENCODE, OCT_PULSE_ABSENT);
    assert_int_equal(look_for(&d, 100000), CLI_WATCH_WELL);
}

static void
test_slow_environment_has_its_own_limit(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_WORK, OCT_PULSE_ENV);
    for (int i = 0; i < 100; i++) { // steps of 20 s, and of 4 minutes
        assert_int_equal(look_for(&d, i % 2 == 0 ? 20 : 240), CLI_WATCH_WELL);
        show(&d, OCT_PULSE_WORK, OCT_PULSE_ENV);
    }
    assert_int_equal(look_for(&d, 600), CLI_WATCH_QUIET); // the first one sees the last beat
    assert_int_equal(look_for(&d, 1), CLI_WATCH_HUNG);
    assert_string_equal(cli_watch_trouble_text(&d.trouble), "its environment");
}

static void
test_pause_of_the_supervisor_begins_anew(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL);
    d.now_ns += 3600 * S;
    assert_int_equal(look_for(&d, 1), CLI_WATCH_WELL);
    assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL);
    assert_int_equal(look_for(&d, 1), CLI_WATCH_QUIET);
}

static void
test_bytes_of_files_are_progress(void **state)
{
    (void)state;
    uint64_t moved = 0;
    daemon_seen d = begin(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    assert_false(cli_watch_is_writing(&d.watch, &d.page, &rule));
    atomic_store(&d.page.writing, 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL);
        assert_true(cli_watch_is_writing(&d.watch, &d.page, &rule));
        atomic_store(&d.page.bytes, ++moved);
    }
    assert_int_equal(look_for(&d, 61), CLI_WATCH_HUNG);
    assert_false(cli_watch_is_writing(&d.watch, &d.page, &rule));
}

static void
test_bytes_of_files_are_no_progress_of_a_thread_without_files(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_WORK, OCT_PULSE_WORKS);
    atomic_store(&d.page.writing, 1);
    for (uint64_t moved = 1; moved <= 59; moved++) {
        show(&d, OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        atomic_store(&d.page.bytes, moved);
        assert_int_not_equal(look_for(&d, 1), CLI_WATCH_HUNG);
    }
    atomic_store(&d.page.bytes, 60);
    assert_int_equal(look_for(&d, 1), CLI_WATCH_HUNG);
    assert_int_equal(d.trouble.thread, OCT_PULSE_WORK);
    assert_true(cli_watch_is_writing(&d.watch, &d.page, &rule));
}

// What Ctrl-C waits for: an update ends by itself, and what it has learned is saved then.
static void
test_an_update_is_work_until_it_hangs(void **state)
{
    (void)state;
    daemon_seen d = begin(OCT_PULSE_WORK, OCT_PULSE_WORKS);
    assert_true(cli_watch_is_working(&d.watch, &d.page, &rule));
    assert_int_equal(look_for(&d, 29), CLI_WATCH_WELL);
    assert_true(cli_watch_is_working(&d.watch, &d.page, &rule));
    (void)look_for(&d, 31);
    assert_false(cli_watch_is_working(&d.watch, &d.page, &rule));
    show(&d, OCT_PULSE_WORK, OCT_PULSE_WORKS); // the next one
    (void)look_for(&d, 1);
    assert_true(cli_watch_is_working(&d.watch, &d.page, &rule));
    show(&d, OCT_PULSE_WORK, OCT_PULSE_WAITS);
    assert_false(cli_watch_is_working(&d.watch, &d.page, &rule));
    show(&d, OCT_PULSE_WORK, OCT_PULSE_ABSENT);
    assert_false(cli_watch_is_working(&d.watch, &d.page, &rule));
    show(&d, OCT_PULSE_LOOP, OCT_PULSE_WORKS); // which it always says
    assert_false(cli_watch_is_working(&d.watch, &d.page, &rule));
}

static void
test_rule_of_0_is_never(void **state)
{
    (void)state;
    const cli_watch_rule never = {0};
    daemon_seen d = begin(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    show(&d, OCT_PULSE_WORK, OCT_PULSE_ENV);
    for (int i = 0; i < 100000; i++) {
        d.now_ns += S;
        assert_int_equal(cli_watch_check(&d.watch, &d.page, &never, d.now_ns, &d.trouble),
                         CLI_WATCH_WELL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_that_works_without_a_beat_is_told_and_hangs),
        cmocka_unit_test(test_beat_in_time_is_progress),
        cmocka_unit_test(test_one_silent_thread_is_enough),
        cmocka_unit_test(test_who_waits_or_is_not_there_may_be_silent),
        cmocka_unit_test(test_slow_environment_has_its_own_limit),
        cmocka_unit_test(test_pause_of_the_supervisor_begins_anew),
        cmocka_unit_test(test_bytes_of_files_are_progress),
        cmocka_unit_test(test_bytes_of_files_are_no_progress_of_a_thread_without_files),
        cmocka_unit_test(test_an_update_is_work_until_it_hangs),
        cmocka_unit_test(test_rule_of_0_is_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
