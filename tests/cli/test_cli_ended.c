// octet status of a run that has ended: what its folder says, whatever somebody wrote into it.
#include "cli/run/cli_ended.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define HEAD "runs/1: the run has ended\n"
#define LAST                                                                                       \
    HEAD "no summary.json: killed, or not saved; --resume continues it; last line of "             \
         "metrics.csv:\n"

static char folder[] = "/tmp/test_cli_ended_XXXXXX";
static oct_config config;
static char *text;

static int
setup(void **state)
{
    (void)state;
    oct_config_default(&config);
    (void)snprintf(config.env.id, sizeof(config.env.id), "CartPole-v1");
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int
teardown(void **state)
{
    (void)state;
    free(text);
    (void)unlink("summary.json");
    (void)unlink("metrics.csv");
    return rmdir(folder);
}

static const char *
shown(bool json)
{
    size_t size;
    free(text);
    FILE *out = open_memstream(&text, &size);
    cli_ended_show(out, "runs/1", &config, json);
    (void)fclose(out);
    return text;
}

static void
put(const char *path, const char *content)
{
    T_OK(oct_file_write(path, content, strlen(content)));
}

static void
test_ended_folder_with_nothing_in_it(void **state)
{
    (void)state;
    assert_string_equal(shown(false), HEAD "neither summary.json nor metrics.csv were written\n");
    assert_string_equal(shown(true), "{\"folder\":\"runs/1\",\"ended\":true,"
                                     "\"env\":\"CartPole-v1\",\"summary\":null}\n");
    put("metrics.csv", "time_s,lo"); // nothing whole
    assert_string_equal(shown(false), HEAD "neither summary.json nor metrics.csv were written\n");
}

static void
test_ended_without_a_summary_shows_the_last_row(void **state)
{
    (void)state;
    put("metrics.csv", "time_s,loss\n");
    assert_string_equal(shown(false), LAST "time_s,loss\n\n");
    put("metrics.csv", "time_s,loss\n1,2\n3,\x1b[2J4\n\n");
    assert_string_equal(shown(false), LAST "time_s,loss\n3,?[2J4\n");
}

// More than can be held in memory, say: only its ends are read.
static void
test_ended_with_a_file_of_any_size(void **state)
{
    (void)state;
    put("metrics.csv", "time_s,loss\n");
    FILE *file = fopen("metrics.csv", "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 1L << 40, SEEK_SET), 0); // a hole
    assert_true(fputs("\n5,6\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(shown(false), LAST "time_s,loss\n5,6\n");
}

// Letters of others reach no terminal as commands, and numbers may be any.
static void
test_ended_with_a_strange_summary(void **state)
{
    (void)state;
    put("summary.json", "{\"supervisor\": {\"exit_reason\": \"a\\u001b[31m\", \"exit_code\": "
                        "1e300, \"wall_s\": 1e300}}");
    assert_non_null(strstr(shown(false), HEAD "CartPole-v1 a?[31m\n"));
    assert_null(strchr(text, '\x1b'));
    put("summary.json", "{\"supervisor\": {\"exit_code\": 1}, \"reason\": \"failed\"}");
    assert_non_null(strstr(shown(false), "CartPole-v1 failed\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_folder_with_nothing_in_it),
        cmocka_unit_test(test_ended_without_a_summary_shows_the_last_row),
        cmocka_unit_test(test_ended_with_a_file_of_any_size),
        cmocka_unit_test(test_ended_with_a_strange_summary),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
