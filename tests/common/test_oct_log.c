// Log lines have the documented format, and text from a peer cannot forge or split one.
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#include "common/oct_log.h"

static int pipe_ends[2];
static int stderr_saved;

// From here on stderr is a pipe, until captured() gives it back with what was written.
static void
capture(void)
{
    assert_int_equal(pipe(pipe_ends), 0);
    stderr_saved = dup(STDERR_FILENO);
    (void)dup2(pipe_ends[1], STDERR_FILENO);
    (void)close(pipe_ends[1]);
}

static const char *
captured(void)
{
    static char text[8192];
    (void)dup2(stderr_saved, STDERR_FILENO);
    (void)close(stderr_saved);
    ssize_t got = read(pipe_ends[0], text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = 0;
    (void)close(pipe_ends[0]);
    return text;
}

static void
test_levels_beyond_the_asked_one_are_silent(void **state)
{
    (void)state;
    oct_log_init("test", OCT_LOG_NOTICE);
    capture();
    oct_log_info("TEST-QUIET", "n=%d", 1);
    oct_log_debug("TEST-QUIET", "n=%d", 2);
    assert_string_equal(captured(), "");
}

static void
test_control_characters_of_a_peer_cannot_forge_a_line(void **state)
{
    (void)state;
    oct_log_init("test", OCT_LOG_DEBUG);
    capture();
    oct_log_warn("TEST-PEER", "reason=%s", "a\nb\x1b[31m\rc\t\xC2\x9B[\x7f");
    const char *line = captured();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_non_null(strstr(line, "reason=a b [31m c   [ \n"));
}

static void
test_a_long_line_is_cut_and_still_one_line(void **state)
{
    (void)state;
    char long_text[5000];
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    oct_log_init("test", OCT_LOG_DEBUG);
    capture();
    oct_log_error("TEST-LONG", "%s", long_text);
    const char *line = captured();
    assert_in_range(strlen(line), 1000, 2048);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

// 'd' stands for a digit.
static bool
matches(const char *text, const char *pattern)
{
    for (; *pattern != 0; pattern++, text++) {
        if (*pattern == 'd' ? !isdigit((unsigned char)*text) : *pattern != *text) {
            return false;
        }
    }
    return true;
}

static void
test_line_has_time_name_process_level_id_and_fields(void **state)
{
    (void)state;
    static const char letters[] = "EWNID";
    oct_log_init("replay", OCT_LOG_DEBUG);
    for (int level = OCT_LOG_ERROR; level <= OCT_LOG_DEBUG; level++) {
        char want[64];
        (void)snprintf(want, sizeof(want), " replay[%ld] %c TEST-ID inserts=12 ok\n",
                       (long)getpid(), letters[level]);
        capture();
        oct_log((oct_log_level)level, "TEST-ID", "inserts=%d %s", 12, "ok");
        const char *line = captured();
        assert_true(matches(line, "dddd-dd-ddTdd:dd:dd.dddZ "));
        assert_string_equal(line + strlen("2026-01-31T12:00:00.123Z"), want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_beyond_the_asked_one_are_silent),
        cmocka_unit_test(test_control_characters_of_a_peer_cannot_forge_a_line),
        cmocka_unit_test(test_a_long_line_is_cut_and_still_one_line),
        cmocka_unit_test(test_line_has_time_name_process_level_id_and_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
