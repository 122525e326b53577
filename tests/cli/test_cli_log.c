// A log that a daemon appends to is bounded: its oldest and its newest lines stay.
#include "cli/run/cli_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define LOG      "test_cli_log.log"
#define FIRST    "test_cli_log.first.log"
#define PREVIOUS "test_cli_log.previous.log"
#define MAX      100u

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
    assert_false(cli_log_bound("nowhere/x.log", MAX));
    lines("small", 11); // 99 bytes
    assert_false(cli_log_bound(LOG, MAX));
    (void)text_of(LOG, 99);
    assert_int_equal(access(FIRST, F_OK), -1);
}

static void
test_oldest_and_newest_lines_stay_in_three_files(void **state)
{
    (void)state;
    lines("oldest", 12);
    assert_true(cli_log_bound(LOG, MAX));
    (void)text_of(LOG, 0);
    for (int i = 0; i < 5; i++) {
        lines("middle", 12);
        assert_true(cli_log_bound(LOG, MAX));
    }
    lines("newer", 12);
    assert_true(cli_log_bound(LOG, MAX));
    lines("newest", 3);
    assert_false(cli_log_bound(LOG, MAX));
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
    assert_true(cli_log_bound(LOG, MAX));
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
    assert_false(cli_log_bound(LOG, MAX));
    (void)text_of(LOG, 108);
    assert_int_equal(rmdir(PREVIOUS "/x"), 0);
    assert_int_equal(rmdir(PREVIOUS), 0);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
