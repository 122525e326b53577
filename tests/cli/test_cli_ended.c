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
    HEAD "no summary.json: the run was killed or could not be saved; --resume continues it\n"

static char folder[] = "/tmp/test_cli_ended_XXXXXX";
static config_experiment config;
static char *text;

static int
setup(void **state)
{
    (void)state;
    config_default(&config);
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
    assert_string_equal(shown(false), HEAD "neither summary.json nor metrics.csv was written\n");
    assert_string_equal(shown(true), "{\"folder\":\"runs/1\",\"ended\":true,"
                                     "\"env\":\"CartPole-v1\",\"summary\":null}\n");
    put("metrics.csv", "time_s,lo"); // nothing whole
    assert_string_equal(shown(false), HEAD "neither summary.json nor metrics.csv was written\n");
}

// Of each number the newest; a row that was being written is none.
static void
test_ended_without_a_summary_tells_of_the_last_rows(void **state)
{
    (void)state;
    put("metrics.csv", "wall_s,loss,env_steps,updates,eval_return\n");
    assert_string_equal(shown(false), LAST "  metrics.csv has no complete row\n");
    put("metrics.csv", "wall_s,loss,env_steps,updates,eval_return\n"
                       "1,2,1000,10,9.5\n2,2,2000,20,\n3,\x1b[2J,3000,30,7\n4,2,4000,4");
    assert_string_equal(shown(false), LAST "  spent      2.0 s, 2.0 k env steps, 20 updates\n"
                                           "  return     9.50 in its last evaluation\n");
    put("metrics.csv", "wall_s,env_steps,updates\n1,2000,1\n");
    assert_string_equal(shown(false), LAST "  spent      1.0 s, 2.0 k env steps, 1 update\n");
    put("metrics.csv", "loss\n1\n");
    assert_string_equal(shown(false), LAST "  spent      -, - env steps, - updates\n");
}

// It is no sign of a run that was killed.
static void
test_ended_with_a_damaged_summary_says_so(void **state)
{
    (void)state;
    put("summary.json", "{\"env\": \"CartPole-v1\", \"upda");
    put("metrics.csv", "wall_s,env_steps,updates\n1,1000,10\n");
    assert_string_equal(shown(false), HEAD "summary.json is damaged; metrics.csv says:\n"
                                           "  spent      1.0 s, 1.0 k env steps, 10 updates\n");
    put("metrics.csv", "");
    assert_string_equal(shown(false),
                        HEAD "summary.json is damaged, and metrics.csv was not written\n");
    (void)unlink("summary.json");
}

// More than can be held in memory, say: only its ends are read.
static void
test_ended_with_a_file_of_any_size(void **state)
{
    (void)state;
    put("metrics.csv", "wall_s,env_steps\n");
    FILE *file = fopen("metrics.csv", "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 1L << 40, SEEK_SET), 0); // a hole
    assert_true(fputs("\n5,600\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(shown(false), LAST "  spent      5.0 s, 600 env steps, - updates\n"));
}

// Letters of others reach no terminal as commands, and numbers may be any.
static void
test_ended_with_a_strange_summary(void **state)
{
    (void)state;
    put("summary.json", "{\"supervisor\": {\"exit_reason\": \"a\\u001b[31m\", \"exit_code\": "
                        "1e300}, \"learner_wall_s\": 1e300}");
    assert_non_null(strstr(shown(false), HEAD "CartPole-v1 a?[31m\n"));
    assert_null(strchr(text, '\x1b'));
    put("summary.json", "{\"supervisor\": {\"exit_code\": 1}, \"reason\": \"failed\"}");
    assert_non_null(strstr(shown(false), "CartPole-v1 failed\n"));
}

// First of all, whatever the return looks like.
static void
test_ended_without_a_full_evaluation(void **state)
{
    (void)state;
    put("summary.json",
        "{\"reason\": \"budget\", \"unevaluated_why\": \"3 full evaluations failed\", \"goal\": "
        "100, "
        "\"solved\": false, \"evaluation_failures\": 6, \"return\": {\"mean\": 5, \"std\": 1, "
        "\"episodes\": 10, \"final\": false}, \"supervisor\": {\"exit_reason\": \"finished\"}}");
    assert_non_null(strstr(shown(false),
                           "CartPole-v1 finished without a full evaluation: not solved\n"
                           "  evaluation 3 full evaluations failed: "));
    assert_non_null(strstr(text, "\n  failed     6 steps or resets in evaluations"));
}

// What the return is of stands before it.
static void
test_ended_says_what_makes_the_return_questionable(void **state)
{
    (void)state;
    put("summary.json",
        "{\"return\": {\"mean\": 5, \"std\": 1, \"episodes\": 10, \"precision\": \"int8\", "
        "\"actions\": "
        "\"sampled\", \"failed_episodes\": 1, \"truncated_episodes\": 4}, \"sampling_why\": "
        "\"greedy\\u001b[2J\", \"supervisor\": {\"exit_reason\": \"finished\"}}");
    const char *at =
        strstr(shown(false), "CartPole-v1 finished\n  failed     1 further episode, repeated: ");
    assert_non_null(at);
    at = strstr(at, "\n  truncated  4 of the 10 episodes of the return, by evaluation.max_steps\n"
                    "  sampling   greedy?[2J\n"
                    "  return     5.00 ± 1.00 over 10 sampled episodes, ");
    assert_non_null(at);
}

// Of a run that was resumed: the time of all its commands, as its steps and updates are.
static void
test_ended_spent_is_of_the_whole_run(void **state)
{
    (void)state;
    put("summary.json", "{\"env_steps\": 22016, \"updates\": 660, \"learner_wall_s\": 2.4, "
                        "\"supervisor\": {\"exit_reason\": \"finished\", \"wall_s\": 0.4}}");
    assert_non_null(strstr(shown(false), "  spent      2.4 s, 22.0 k env steps, 660 updates\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_folder_with_nothing_in_it),
        cmocka_unit_test(test_ended_without_a_summary_tells_of_the_last_rows),
        cmocka_unit_test(test_ended_with_a_damaged_summary_says_so),
        cmocka_unit_test(test_ended_with_a_file_of_any_size),
        cmocka_unit_test(test_ended_with_a_strange_summary),
        cmocka_unit_test(test_ended_without_a_full_evaluation),
        cmocka_unit_test(test_ended_says_what_makes_the_return_questionable),
        cmocka_unit_test(test_ended_spent_is_of_the_whole_run),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
