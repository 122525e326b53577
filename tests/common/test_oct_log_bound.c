// A log that a daemon appends to is bounded: its oldest and its newest lines stay.
#include "common/oct_log_bound.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define LOG      "test_oct_log_bound.log"
#define FIRST    "test_oct_log_bound.first.log"
#define PREVIOUS "test_oct_log_bound.previous.log"
#define MAX      100u
#define SECOND   UINT64_C(1000000000)

static int log_fd; // as a daemon has it

static void
lines(const char *word, int count)
{
    for (int i = 0; i < count; i++) {
        char line[16];
        int length = snprintf(line, sizeof(line), "%-8s\n", word);
        assert_int_equal(write(log_fd, line, (size_t)length), length);
    }
}

// The file, and that it is as long as this.
static const char *
text_of(const char *path, size_t want)
{
    static uint8_t *text;
    size_t length;
    free(text);
    T_OK(oct_file_read(path, 1 << 20, &text, &length));
    assert_int_equal(length, want);
    return (const char *)text;
}

static int
begin(void **state)
{
    (void)state;
    (void)unlink(LOG);
    (void)unlink(FIRST);
    (void)unlink(PREVIOUS);
    log_fd = open(LOG, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    return log_fd < 0;
}

static int
end(void **state)
{
    (void)close(log_fd);
    (void)begin(state);
    (void)close(log_fd);
    return unlink(LOG);
}

static void
test_small_log_stays(void **state)
{
    (void)state;
    assert_false(oct_log_bound("nowhere/x.log", MAX));
    lines("small", 11); // 99 bytes
    assert_false(oct_log_bound(LOG, MAX));
    (void)text_of(LOG, 99);
    assert_int_equal(access(FIRST, F_OK), -1);
}

static void
test_oldest_and_newest_lines_stay_in_three_files(void **state)
{
    (void)state;
    lines("oldest", 12);
    assert_true(oct_log_bound(LOG, MAX));
    (void)text_of(LOG, 0);
    for (int i = 0; i < 5; i++) {
        lines("middle", 12);
        assert_true(oct_log_bound(LOG, MAX));
    }
    lines("newer", 12);
    assert_true(oct_log_bound(LOG, MAX));
    lines("newest", 3);
    assert_false(oct_log_bound(LOG, MAX));
    assert_non_null(strstr(text_of(FIRST, MAX + 8), "oldest")); // nothing is lost of 108
    assert_non_null(strstr(text_of(PREVIOUS, MAX + 8), "newer"));
    assert_null(strstr(text_of(PREVIOUS, MAX + 8), "middle"));
    assert_non_null(strstr(text_of(LOG, 27), "newest"));
}

static void
test_log_that_grew_far_beyond_keeps_its_end(void **state)
{
    (void)state;
    lines("begin", 100);
    lines("end", 3);
    assert_true(oct_log_bound(LOG, MAX));
    const char *text = text_of(FIRST, MAX);
    assert_string_equal(text + MAX - 27, "end     \nend     \nend     \n");
    (void)text_of(LOG, 0);
}

static void
test_log_without_room_for_the_copy_stays(void **state)
{
    (void)state;
    lines("kept", 12);
    T_OK(oct_file_make_folder(PREVIOUS "/x")); // a folder: nothing is renamed over it
    T_OK(oct_file_write(FIRST, "x", 1));
    assert_false(oct_log_bound(LOG, MAX));
    (void)text_of(LOG, 108);
    assert_int_equal(rmdir(PREVIOUS "/x"), 0);
    assert_int_equal(rmdir(PREVIOUS), 0);
}

// This process's own log from here on; the former standard error comes back at the end.
static int
own_begin(void **state)
{
    *state = (void *)(intptr_t)dup(STDERR_FILENO);
    return begin(NULL) != 0 || dup2(log_fd, STDERR_FILENO) < 0;
}

static int
own_end(void **state)
{
    (void)dup2((int)(intptr_t)*state, STDERR_FILENO);
    (void)close((int)(intptr_t)*state);
    oct_log_own_begin(0);
    return end(NULL);
}

static void
test_what_floods_the_own_log_is_dropped_and_counted(void **state)
{
    enum { LARGE = 1000 };
    (void)state;
    oct_log_own_begin(LARGE);
    assert_true(oct_log_own_is_bounded());
    lines("oldest", 112);
    assert_int_equal(oct_log_own_look(5 * SECOND), 0);
    assert_non_null(strstr(text_of(FIRST, 1008), "oldest"));
    (void)text_of(LOG, 0);
    for (uint64_t i = 1; i < 4; i++) { // more in the same second
        lines("flood", 112);
        assert_int_equal(oct_log_own_look(5 * SECOND + i * SECOND / 5), i * 1008);
    }
    assert_int_equal(oct_log_own_look(5 * SECOND + 4 * SECOND / 5), 0);
    (void)text_of(LOG, 0);
    assert_int_equal(access(PREVIOUS, F_OK), -1);
    lines("newer", 112);
    assert_int_equal(oct_log_own_look(6 * SECOND), 0);
    assert_non_null(strstr(text_of(PREVIOUS, 1008), "newer"));
}

static void
test_own_log_that_cannot_be_moved_stays(void **state)
{
    (void)state;
    oct_log_own_begin(MAX);
    lines("kept", 12);
    int other = open(LOG, O_RDWR | O_CLOEXEC); // as another process that is moving it
    assert_int_equal(flock(other, LOCK_EX), 0);
    (void)oct_log_own_look(SECOND);
    (void)oct_log_own_look(2 * SECOND);
    (void)close(other);
    (void)text_of(LOG, 108);
    (void)oct_log_own_look(62 * SECOND);
    (void)text_of(FIRST, 108);
    lines("kept", 12);
    assert_int_equal(rename(LOG, PREVIOUS), 0); // by logrotate, say: it has another name now
    (void)oct_log_own_look(100 * SECOND);
    (void)text_of("test_oct_log_bound.previous.first.log", 108);
    assert_int_equal(unlink("test_oct_log_bound.previous.first.log"), 0);
}

static void
test_what_is_no_log_to_append_to_is_not_bounded(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(fcntl(log_fd, F_SETFL, 0), 0); // as by 2>FILE
    oct_log_own_begin(MAX);
    assert_false(oct_log_own_is_bounded());
    assert_int_equal(pipe(fds), 0);
    (void)dup2(fds[1], STDERR_FILENO);
    oct_log_own_begin(MAX);
    assert_false(oct_log_own_is_bounded());
    (void)close(fds[0]);
    (void)close(fds[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_log_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_oldest_and_newest_lines_stay_in_three_files, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_log_that_grew_far_beyond_keeps_its_end, begin, end),
        cmocka_unit_test_setup_teardown(test_log_without_room_for_the_copy_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_what_floods_the_own_log_is_dropped_and_counted,
                                        own_begin, own_end),
        cmocka_unit_test_setup_teardown(test_own_log_that_cannot_be_moved_stays, own_begin,
                                        own_end),
        cmocka_unit_test_setup_teardown(test_what_is_no_log_to_append_to_is_not_bounded, own_begin,
                                        own_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
