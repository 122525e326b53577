// Where standard output is no terminal, the status is plain lines: one when it is due and one at
// the end, never the same one twice.
#include <string.h>
#include <unistd.h>

#include "cli/status/cli_screen.h"
#include "tests/support/oct_test.h"

static cli_snapshot run;
static cli_screen *screen;
static int out[2]; // a pipe in the place of standard output, and what that was
static int out_before;

static int
begin(void **unused)
{
    (void)unused;
    cli_snapshot_clear(&run);
    run.wall_s = 1;
    assert_false(fflush(stdout) != 0 || pipe(out) != 0);
    out_before = dup(STDOUT_FILENO);
    assert_int_equal(dup2(out[1], STDOUT_FILENO), STDOUT_FILENO);
    screen = cli_screen_create(true);
    return 0;
}

static int
end(void **unused)
{
    (void)unused;
    cli_screen_destroy(screen);
    (void)close(out[0]);
    return 0;
}

// Ends the output; how many lines it had.
static size_t
lines(void)
{
    assert_int_equal(dup2(out_before, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(out_before);
    (void)close(out[1]);
    size_t count = 0;
    char byte;
    while (read(out[0], &byte, 1) == 1) {
        count += byte == '\n';
    }
    return count;
}

static void
test_end_does_not_repeat_the_last_line(void **unused)
{
    (void)unused;
    cli_screen_show(screen, &run, true);
    run.wall_s = 1.01;
    cli_screen_end(screen, &run);
    assert_int_equal(lines(), 1);
}

static void
test_end_writes_what_has_changed_since(void **unused)
{
    (void)unused;
    cli_screen_show(screen, &run, true);
    run.wall_s = 1.01;
    cli_snapshot_put(&run, "learner.updates", 5);
    cli_screen_end(screen, &run);
    assert_int_equal(lines(), 2);
}

static void
test_lines_are_seconds_apart(void **unused)
{
    (void)unused;
    cli_screen_show(screen, &run, false);
    run.wall_s = 2.9;
    cli_screen_show(screen, &run, false);
    run.wall_s = 3;
    cli_screen_show(screen, &run, false);
    assert_int_equal(lines(), 2);
}

// One that is read again gets whole lines: what was shown before it stopped, then what is new.
static void
test_reader_that_takes_nothing_is_not_waited_for(void **unused)
{
    (void)unused;
    static char text[1 << 20], *line = text;
    for (int i = 0; i < 10000; i++) {
        cli_screen_print(screen, "line %d of many", i);
    }
    cli_screen_end(screen, &run);
    assert_false(cli_screen_has_room(out[1], 0));
    ssize_t used = read(out[0], text, sizeof(text) / 2);
    assert_true(used > 0 && cli_screen_has_room(out[1], 0));
    cli_screen_print(screen, "that is read");
    ssize_t more = read(out[0], text + used, sizeof(text) / 2 - 1);
    assert_true(more > 0);
    text[used + more] = '\0';
    for (int i = 0; strncmp(line, "that", 4) != 0; i++) {
        char wanted[64];
        int length = snprintf(wanted, sizeof(wanted), "line %d of many\n", i);
        assert_memory_equal(line, wanted, (size_t)length);
        line += length;
    }
    assert_string_equal(line, "that is read\n");
    assert_int_equal(lines(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_end_does_not_repeat_the_last_line, begin, end),
        cmocka_unit_test_setup_teardown(test_end_writes_what_has_changed_since, begin, end),
        cmocka_unit_test_setup_teardown(test_lines_are_seconds_apart, begin, end),
        cmocka_unit_test_setup_teardown(test_reader_that_takes_nothing_is_not_waited_for, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
