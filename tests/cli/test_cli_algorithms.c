// The table of octet config --algorithms, cell by cell: what it calls possible is accepted as octet
// train accepts it, with an environment of that kind, and all else is refused.
#include "cli/cli_algorithms.h"
#include "common/oct_reason.h"

#include <stdlib.h>

#include "cli/run/cli_preflight.h"
#include "config/config.h"
#include "tests/envs/env_test.h"

#define AMPLE_MS 60000

enum { ACTIONS = 2, OBSERVATIONS = 3, NETWORKS = 2, CELLS = 9, CELL_BYTES = 128 };
enum { NAME, WINDOW, ACTION, OBSERVATION, NETWORK, DATA, LEARNERS, DETERMINISTIC, OTHERS };
static const char *const actions[ACTIONS] = {"discrete", "box"};
static const char *const observations[OBSERVATIONS] = {"vector", "pictures", "states"};
static const char *const networks[NETWORKS] = {"dense", "conv"};

static cli_environment environments[ACTIONS][OBSERVATIONS];
static char table[CONFIG_ALGOS + 1][CELLS][CELL_BYTES];
static size_t row_count;
static config_experiment config;
static oct_reason reason;

static void
set(const char *key, const char *value)
{
    char setting[1024], message[1024];
    (void)snprintf(setting, sizeof(setting), "%s=%s", key, value);
    assert_int_equal(config_set(&config, setting, message, sizeof(message)), OCT_OK);
}

static void
open_environments(void)
{
    static const char *const options[ACTIONS][OBSERVATIONS] = {
        {"n=3,obs=8", "n=3,obs=2,side=10,obs_dtype=3", "n=3,states=24"},
        {"actions=2,obs=8", "actions=2,obs=2,side=10,obs_dtype=3", "actions=2,states=24"},
    };
    for (size_t i = 0; i < (size_t)ACTIONS * OBSERVATIONS; i++) {
        config_default(&config);
        set("env.id", plugin_path("shape"));
        set("env.options", options[i / OBSERVATIONS][i % OBSERVATIONS]);
        assert_int_equal(cli_preflight_open(&environments[i / OBSERVATIONS][i % OBSERVATIONS],
                                            &config, AMPLE_MS, NULL, &reason),
                         OCT_OK);
    }
}

// | `dqn` | replay | … |
static void
read_row(char *line)
{
    char *rest = line + 1;
    for (size_t k = 0; k < CELLS; k++) {
        char *cell = strsep(&rest, "|");
        assert_non_null(cell);
        cell += strspn(cell, " `");
        size_t length = strlen(cell);
        while (length > 0 && strchr(" `", cell[length - 1]) != NULL) {
            length--;
        }
        assert_in_range(length, 0, CELL_BYTES - 1);
        memcpy(table[row_count][k], cell, length);
    }
    row_count++;
}

static void
read_table(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    cli_algorithms_print(stream, true);
    assert_int_equal(fclose(stream), 0);
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != 0;) {
        if (strncmp(line, "| `", 3) == 0) {
            assert_in_range(row_count, 0, CONFIG_ALGOS - 1);
            read_row(line);
        }
    }
    free(text);
}

static int
setup(void **state)
{
    (void)state;
    open_environments();
    read_table();
    return 0;
}

static bool
has(size_t row, size_t column, const char *word)
{
    return strstr(table[row][column], word) != NULL;
}

static void
begin(size_t row)
{
    config_default(&config);
    set("env.id", plugin_path("shape"));
    set("algo.name", table[row][NAME]);
}

static bool
is_accepted(size_t action, size_t observation)
{
    return config_check(&config, reason.text, sizeof(reason.text)) == OCT_OK &&
           cli_preflight_suits(&environments[action][observation], &config, &reason) == OCT_OK;
}

// In the first kind of environment that the row has.
static bool
is_accepted_somewhere(size_t row)
{
    return is_accepted(has(row, ACTION, actions[0]) ? 0 : 1,
                       has(row, OBSERVATION, "vector") ? 0 : 2);
}

static void
test_every_algorithm_has_a_row(void **state)
{
    (void)state;
    assert_int_equal(row_count, CONFIG_ALGOS);
    for (size_t row = 0; row < row_count; row++) {
        assert_string_equal(table[row][NAME], config_algo_word((config_algo_name)row));
    }
}

static void
test_spaces_and_networks_are_those_that_training_accepts(void **state)
{
    (void)state;
    size_t accepted = 0;
    for (size_t i = 0; i < row_count * ACTIONS * OBSERVATIONS * NETWORKS; i++) {
        size_t network = i % NETWORKS, observation = i / NETWORKS % OBSERVATIONS;
        size_t action = i / NETWORKS / OBSERVATIONS % ACTIONS;
        size_t row = i / NETWORKS / OBSERVATIONS / ACTIONS;
        bool is_table = strcmp(table[row][NETWORK], "table") == 0;
        bool is_in_table = has(row, ACTION, actions[action]) &&
                           has(row, OBSERVATION, observations[observation]) &&
                           has(row, NETWORK, is_table ? "table" : networks[network]);
        if (network == 1) { // convolutions need pictures
            is_in_table &= !is_table && observation == 1;
        }
        begin(row);
        set("network.conv", network == 1 ? "[4]" : "[]");
        bool is_possible = is_accepted(action, observation);
        if (is_possible != is_in_table) {
            fail_msg("%s, %s, %s, %s: %s%s", table[row][NAME], actions[action],
                     observations[observation], networks[network],
                     is_possible ? "accepted, but not in the table" : "refused: ",
                     is_possible ? "" : reason.text);
        }
        accepted += is_possible;
    }
    assert_in_range(accepted, 50, row_count * ACTIONS * OBSERVATIONS * NETWORKS / 2);
}

static void
test_what_is_learned_from_is_what_replay_is_asked_for(void **state)
{
    (void)state;
    for (size_t row = 0; row < row_count; row++) {
        bool has_replay = false, has_rollouts = false, has_sequences = false;
        for (int window = 0; window < 2; window++) {
            begin(row);
            set("algo.window", window == 0 ? "n_step" : "rollout");
            bool each_once = config_takes_each_once(&config);
            has_replay |= !each_once;
            has_rollouts |= config_has_rollouts(&config);
            has_sequences |= each_once && !config_has_rollouts(&config);
        }
        assert_int_equal(has(row, WINDOW, "replay"), has_replay);
        assert_int_equal(has(row, WINDOW, "rollouts"), has_rollouts);
        assert_int_equal(has(row, WINDOW, "sequences") || has(row, WINDOW, "episodes"),
                         has_sequences);
    }
}

static void
test_ways_of_training_are_those_that_training_accepts(void **state)
{
    (void)state;
    for (size_t row = 0; row < row_count; row++) {
        begin(row);
        assert_true(is_accepted_somewhere(row));
        set("learner.count", "2");
        assert_int_equal(is_accepted_somewhere(row), has(row, LEARNERS, "several"));
        assert_int_equal(has(row, LEARNERS, "one"), !has(row, LEARNERS, "several"));
        set("learner.asynchronous", "true");
        assert_int_equal(is_accepted_somewhere(row), has(row, LEARNERS, "asynchronous"));
        begin(row);
        set("run.deterministic", "true");
        assert_string_equal(table[row][DETERMINISTIC], is_accepted_somewhere(row) ? "yes" : "no");
        begin(row);
        set("replay.data", "steps.data"); // which is not there
        set("run.updates", "1");
        bool is_allowed = config_check(&config, reason.text, sizeof(reason.text)) == OCT_OK;
        assert_string_equal(table[row][DATA], is_allowed ? "yes" : "no");
    }
}

static void
test_other_names_are_those_that_select_the_algorithm(void **state)
{
    (void)state;
    static const char *const known[] = {"rainbow",        "c51", "q_learning", "sarsa",
                                        "expected_sarsa", "a3c", "impala"};
    for (size_t i = 0; i < OCT_COUNTOF(known); i++) {
        size_t found = 0;
        config_default(&config);
        set("algo.name", known[i]);
        const char *word = config_algo_word(config.algo.name);
        for (size_t row = 0; row < row_count; row++) {
            bool is_listed = has(row, OTHERS, known[i]);
            assert_true(!is_listed || strcmp(table[row][NAME], word) == 0);
            found += is_listed;
        }
        assert_int_equal(found, 1);
    }
}

static void
test_as_text_it_says_what_other_names_stand_for(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    cli_algorithms_print(stream, false);
    assert_int_equal(fclose(stream), 0);
    T_SAYS(text, "\nc51: dqn with algo.distributional: true\n");
    T_SAYS(text, "\nimpala: vtrace\n");
    T_SAYS(text, "\nsac        replay ");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_algorithm_has_a_row),
        cmocka_unit_test(test_spaces_and_networks_are_those_that_training_accepts),
        cmocka_unit_test(test_what_is_learned_from_is_what_replay_is_asked_for),
        cmocka_unit_test(test_ways_of_training_are_those_that_training_accepts),
        cmocka_unit_test(test_other_names_are_those_that_select_the_algorithm),
        cmocka_unit_test(test_as_text_it_says_what_other_names_stand_for),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
