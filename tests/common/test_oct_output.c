// What stdio prints after oct_output_guard, as a reader of the descriptor gets it.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#include "common/oct_output.h"

static char out[1 << 16];

// Runs print in a process whose standard output and standard error are one pipe, and reads it.
static void
printed(void (*print)(void))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        oct_output_guard();
        print();
        (void)fflush(stdout);
        _exit(0);
    }
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], out + used, sizeof(out) - 1 - used)) > 0) {
        used += (size_t)got;
    }
    out[used] = '\0';
    (void)close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void
print_controls(void)
{
    printf("a\x1b[2J\tb\xE2\x80\xAE"
           "c\xC2\x9B"
           "d\x9B"
           "e\n%s\n",
           "\xC3\xBC \xE2\x80\x94 \xE2\x81\xA6");
    puts("f\rg");
    fputs("h\x07", stdout);
    putchar(0x7f);
}

static void
test_output_has_no_control_characters(void **state)
{
    (void)state;
    printed(print_controls);
    assert_string_equal(out, "a?[2J\tb???c??d?e\n\xC3\xBC \xE2\x80\x94 ???\nf?g\nh??");
}

static void
print_warning(void)
{
    fprintf(stderr, "a\x1b%s\n", "\xE2\x80");
    fputs("\xAE", stderr); // no character with what came before
}

static void
test_standard_error_is_guarded_too(void **state)
{
    (void)state;
    printed(print_warning);
    assert_string_equal(out, "a?\xE2?\n\xAE");
}

// A character that two writes divide.
static void
print_divided(void)
{
    for (int i = 0; i < 5000; i++) {
        fputs(i % 2 == 0 ? "\xE2\x80\xAE" : "\xE2\x82\xAC", stdout); // the second is a euro sign
        if (i % 7 == 0) {
            fputs("\xE2", stdout);
            (void)fflush(stdout);
            fputs("\x80", stdout);
            (void)fflush(stdout);
            fputs("\xAE\xE2\x81", stdout);
            (void)fflush(stdout);
            fputs("\xA6", stdout);
        }
    }
}

static void
test_character_that_two_writes_divide_is_one(void **state)
{
    (void)state;
    printed(print_divided);
    size_t marks = 0, euros = 0;
    for (const char *at = out; *at != '\0'; at++) {
        marks += *at == '?';
        euros += (unsigned char)*at == 0x82;
    }
    assert_int_equal(euros, 2500);
    assert_int_equal(marks, 3 * (2500 + 2 * 715));
    assert_true(strstr(out, "\xE2\x80") == NULL && strstr(out, "\xE2\x81") == NULL);
}

static void
print_styled(void)
{
    printf("first\x1b ");
    oct_output_styled(STDOUT_FILENO, "\x1b[1mbold");
    printf(" last");
}

static void
test_styled_text_comes_behind_what_was_printed(void **state)
{
    (void)state;
    printed(print_styled);
    assert_string_equal(out, "first? \x1b[1mbold last");
}

static void
ignore(int number)
{
    (void)number;
}

// A reader that takes nothing is waited for once, however often signals interrupt the wait.
static void
test_signals_do_not_lengthen_the_wait_for_a_reader(void **state)
{
    (void)state;
    int ends[2], status;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct itimerval often = {{0, 20000}, {0, 20000}};
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)signal(SIGALRM, ignore);
        (void)setitimer(ITIMER_REAL, &often, NULL);
        oct_output_guard();
        for (int i = 0; i < 100000; i++) {
            (void)printf("more than a pipe holds\n");
        }
        (void)fflush(stdout);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child); // the test's time limit, if it waits on
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_has_no_control_characters),
        cmocka_unit_test(test_standard_error_is_guarded_too),
        cmocka_unit_test(test_character_that_two_writes_divide_is_one),
        cmocka_unit_test(test_styled_text_comes_behind_what_was_printed),
        cmocka_unit_test(test_signals_do_not_lengthen_the_wait_for_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
