// What environments write while they are checked: every line once, with its count.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_reason.h"
#include "envs/env_check.h"
#include "envs/env_child.h"
#include "tests/support/oct_test.h"

static int
setup(void **state)
{
    *state = env_check_said_create();
    return 0;
}

static int
teardown(void **state)
{
    env_check_said_destroy(*state);
    return 0;
}

static void
take(env_check_said *said, const char *text)
{
    env_check_said_take(said, text, strlen(text));
}

static void
test_a_line_that_comes_again_is_counted(void **state)
{
    uint32_t count;
    uint64_t others;
    take(*state, "warning: a\nbeg");
    take(*state, "un\nwarning: a\nwarning: a\nlast");
    env_check_said_end(*state);
    env_check_said_end(*state);
    const env_check_line *line = env_check_said_lines(*state, &count, &others);
    assert_int_equal(count, 3);
    assert_int_equal(others, 0);
    assert_string_equal(line[0].text, "warning: a");
    assert_int_equal(line[0].count, 3);
    assert_false(line[0].varies);
    assert_string_equal(line[1].text, "begun");
    assert_string_equal(line[2].text, "last");
    assert_int_equal(line[2].count, 1);
}

static void
test_lines_with_other_digits_are_one(void **state)
{
    uint32_t count;
    uint64_t others;
    take(*state, "step 9: slow\nstep 10: slow\nstep: slow\nstep 10: slow!\nstep 9\n");
    const env_check_line *line = env_check_said_lines(*state, &count, &others);
    assert_int_equal(count, 4);
    assert_string_equal(line[0].text, "step 9: slow");
    assert_int_equal(line[0].count, 2);
    assert_true(line[0].varies);
    assert_false(line[1].varies);
}

static void
test_colours_and_control_characters_are_left_out(void **state)
{
    uint32_t count;
    uint64_t others;
    take(*state, "\033[33mWARN\033[0m: \ttext\a\n\033[1\nnext\n");
    const env_check_line *line = env_check_said_lines(*state, &count, &others);
    assert_int_equal(count, 3);
    assert_string_equal(line[0].text, "WARN:  text ");
    assert_string_equal(line[1].text, "");
    assert_string_equal(line[2].text, "next");
}

static void
test_long_lines_are_cut_and_too_many_are_counted(void **state)
{
    uint32_t count;
    uint64_t others;
    for (unsigned i = 0; i < 2 * ENV_CHECK_SAID_BYTES; i++) {
        take(*state, "x");
    }
    take(*state, "\n");
    for (unsigned i = 0; i < ENV_CHECK_SAID_LINES + 20; i++) {
        char line[512];
        memset(line, 'a', i + 1);
        (void)snprintf(line + i + 1, sizeof(line) - i - 1, "\n");
        take(*state, line);
    }
    const env_check_line *line = env_check_said_lines(*state, &count, &others);
    assert_int_equal(count, ENV_CHECK_SAID_LINES);
    assert_int_equal(others, 21);
    assert_int_equal(strlen(line[0].text), ENV_CHECK_SAID_BYTES - 1);
}

static void
write_much(void *arg, void *answer)
{
    for (int i = 0; i < 100000; i++) { // more than a pipe holds
        fprintf(stderr, "line\n");
    }
    *(int *)answer = *(int *)arg;
}

static void
write_and_crash(void *arg, void *answer)
{
    (void)arg;
    (void)answer;
    fputs("the last words", stderr);
    abort();
}

static void
write_for_ever(void *arg, void *answer)
{
    (void)arg;
    (void)answer;
    for (;;) {
        fputs("on and on\n", stderr);
    }
}

static void
on_bytes(void *arg, const char *bytes, size_t length)
{
    env_check_said_take(arg, bytes, length);
}

static void
test_a_child_is_read_while_it_runs_and_when_it_has_ended(void **state)
{
    const env_child_said said = {.take = on_bytes, .arg = *state};
    oct_reason why;
    int given = 7, answer = 0;
    uint32_t count;
    uint64_t others;
    T_OK(env_child_run(&(env_child_call){write_much, &given, &answer, sizeof(answer)}, 60000, &said,
                       &why));
    assert_int_equal(answer, 7);
    T_ERR(env_child_run(&(env_child_call){write_and_crash, NULL, &answer, sizeof(answer)}, 60000,
                        &said, &why),
          OCT_EINTERNAL);
    assert_non_null(strstr(why.text, "crashed: signal 6"));
    env_check_said_end(*state);
    T_ERR(env_child_run(&(env_child_call){write_for_ever, NULL, &answer, sizeof(answer)}, 100,
                        &said, &why),
          OCT_EINTERNAL);
    assert_string_equal(why.text, "did not return within 0.1 s");
    const env_check_line *line = env_check_said_lines(*state, &count, &others);
    assert_true(count >= 3);
    assert_string_equal(line[0].text, "line");
    assert_int_equal(line[0].count, 100000);
    assert_string_equal(line[1].text, "the last words");
    assert_string_equal(line[2].text, "on and on");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_line_that_comes_again_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lines_with_other_digits_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_colours_and_control_characters_are_left_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_long_lines_are_cut_and_too_many_are_counted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_child_is_read_while_it_runs_and_when_it_has_ended,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
