// An experiment that sets only its environment and algorithm can run, and defaults replace no key
// that it sets.
#include <stdlib.h>

#include "tests/config/config_fixture.h"

#include "config/config_algos.h"
#include "config/config_effects.h"
#include "config/config_table.h"
#include "config/config_text.h"

static char message[8192];

static void
test_no_algorithm_is_refused_with_its_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        char text[256];
        const char *word = config_algo_word((config_algo_name)i);
        config_experiment config;
        config_default(&config);
        (void)snprintf(text, sizeof(text), "env: {id: CartPole-v1}\nalgo: {name: %s}\n", word);
        T_OK(config_parse(&config, "minimal", text, strlen(text), message, sizeof(message)));
        message[0] = '\0';
        if (config_check(&config, message, sizeof(message)) != OCT_OK) {
            fail_msg("%s: %s", word, message);
        }
        config_warn_idle(&config, &config, message, sizeof(message));
        assert_string_equal(message, "");
    }
    config_experiment rollouts = config_with("algo.name=external;algo.window=rollout");
    T_OK(config_check(&rollouts, message, sizeof(message)));
}

static void
test_a_key_that_is_set_stays_whatever_comes_first(void **state)
{
    (void)state;
    config_experiment before =
        config_with("learner.batch_size=7;replay.capacity=50000;algo.name=vtrace");
    config_experiment after =
        config_with("algo.name=vtrace;learner.batch_size=7;replay.capacity=50000");
    assert_int_equal(before.learner.batch_size, 7);
    assert_int_equal(after.learner.batch_size, 7);
    assert_int_equal(before.replay.capacity, 50000);
    assert_int_equal(before.learner.prefetch, 2);
    assert_int_equal(before.algo.sequence_steps, 32);
    config_experiment usual =
        config_with("algo.name=table;learner.batch_size=256"); // said, though usual
    assert_int_equal(usual.learner.batch_size, 256);
}

static void
test_the_last_algorithm_counts(void **state)
{
    (void)state;
    config_experiment config = config_with("algo.name=trpo;algo.name=dqn"), defaults;
    config_default(&defaults);
    assert_int_equal(config.learner.batch_size, defaults.learner.batch_size);
    assert_int_equal(config.algo.sequence_steps, defaults.algo.sequence_steps);
    assert_true(config.algo.kl_max == 0);
}

static void
test_rollouts_are_as_many_as_environments(void **state)
{
    (void)state;
    assert_int_equal(config_with("algo.name=ppo").learner.batch_size, 16);
    assert_int_equal(config_with("actor.envs=3;algo.name=a2c;actor.count=5").learner.batch_size,
                     15);
    assert_int_equal(
        config_with("actor.envs=65536;actor.count=256;algo.name=trpo").learner.batch_size, 65536);
    assert_int_equal(config_with("algo.name=external").learner.batch_size, 256);
}

static uint64_t
rollout_capacity(const char *settings)
{
    config_experiment config = config_with(settings);
    T_OK(config_check(&config, message, sizeof(message)));
    return config.replay.capacity;
}

// 162 rows for 128 steps, in two versions; for twice as many actors as there is one.
static void
test_a_table_has_room_for_the_rollouts_of_all_actors(void **state)
{
    (void)state;
    assert_int_equal(rollout_capacity("env.id=a;algo.name=ppo;actor.envs=1"), 4096);
    assert_int_equal(rollout_capacity("env.id=a;algo.name=ppo;actor.envs=1;replay.shards=2"), 8192);
    const uint64_t two = 2 * 64 * 162 * 2;
    assert_int_equal(rollout_capacity("env.id=a;algo.name=ppo;actor.envs=64"), two);
    assert_int_equal(rollout_capacity("env.id=a;algo.name=ppo;actor.envs=64;actor.count=2"), two);
    assert_int_equal(rollout_capacity("env.id=a;algo.name=trpo;actor.envs=64;actor.count=6"),
                     3 * two);
    assert_int_equal(rollout_capacity("env.id=a;algo.name=ppo;actor.envs=64;algo.rollout_lag=1"),
                     two / 2 * 3);
    assert_int_equal(rollout_capacity("env.id=a;algo.name=ppo;actor.envs=64;replay.shards=3"),
                     3 * two);
    assert_int_equal(rollout_capacity("env.id=a;algo.name=a2c;actor.envs=64"), 2 * 64 * 256);
    assert_int_equal(config_with("algo.name=ppo;actor.envs=65536;actor.count=256").replay.capacity,
                     2147483648);
    assert_int_equal(config_with("algo.name=dqn;actor.envs=64").replay.capacity, 100000);
}

static void
test_a_printed_experiment_keeps_the_values_that_it_ran_with(void **state)
{
    (void)state;
    config_experiment config = config_with("algo.name=ppo"), again;
    char *text = config_print(&config);
    config_default(&again);
    T_OK(config_parse(&again, "printed", text, strlen(text), message, sizeof(message)));
    T_OK(config_set(&again, "actor.envs=32", message, sizeof(message)));
    assert_int_equal(again.learner.batch_size, 16);
    free(text);
}

static void
test_what_follows_in_a_printed_experiment_can_follow_again(void **state)
{
    (void)state;
    const struct {
        const char *first, *then;
        uint32_t batch_size, sequence_steps;
        uint64_t capacity;
    } cases[] = {
        {"algo.name=ppo", "actor.count=2", 32, 128, 2 * 16 * 324},
        {"algo.name=ppo;actor.count=2", "actor.count=1", 16, 128, 2 * 16 * 324},
        {"algo.name=ppo;actor.count=2", "actor.count=5", 80, 128, 5 * 16 * 324},
        {"algo.name=ppo;learner.batch_size=8", "actor.count=2", 8, 128, 2 * 16 * 324},
        {"algo.name=ppo;algo.sequence_steps=64", "actor.count=3", 48, 64, 3 * 16 * 256},
        {"algo.name=ppo;replay.capacity=30000", "actor.count=3", 48, 128, 30000},
        {"algo.name=external;algo.window=rollout", "actor.envs=4", 4, 128, 4096},
        {"algo.name=vtrace", "algo.name=a2c", 16, 16, 2 * 16 * 256},
        {"algo.name=dqn;learner.batch_size=64", "actor.count=2", 64, 500, 100000},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        config_experiment config = config_with(cases[i].first), again;
        char *text = config_print(&config);
        config_default(&again);
        T_OK(config_parse(&again, "printed", text, strlen(text), message, sizeof(message)));
        config_unset_defaults(&again);
        T_OK(config_set(&again, cases[i].then, message, sizeof(message)));
        assert_int_equal(again.learner.batch_size, cases[i].batch_size);
        assert_int_equal(again.algo.sequence_steps, cases[i].sequence_steps);
        assert_int_equal(again.replay.capacity, cases[i].capacity);
        free(text);
    }
}

static void
assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("not there: %s", words);
    }
}

static void
test_help_has_the_defaults_of_each_algorithm(void **state)
{
    (void)state;
    char *keys = config_describe(false), *table = config_describe_markdown();
    char *explained = config_explain("table");
    assert_says(keys,
                "  batch_size: 256 (ppo, a2c, trpo: actor.count * actor.envs; reinforce, vtrace: "
                "16; table: 8)\n");
    assert_says(table, "| `algo.kl_max` | 0 .. 1000000 | `0`; trpo: `0.01` |");
    assert_says(explained, "algo.sequence_steps                16           16\n");
    free(keys);
    free(table);
    free(explained);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_algorithm_is_refused_with_its_defaults),
        cmocka_unit_test(test_a_key_that_is_set_stays_whatever_comes_first),
        cmocka_unit_test(test_the_last_algorithm_counts),
        cmocka_unit_test(test_rollouts_are_as_many_as_environments),
        cmocka_unit_test(test_a_table_has_room_for_the_rollouts_of_all_actors),
        cmocka_unit_test(test_a_printed_experiment_keeps_the_values_that_it_ran_with),
        cmocka_unit_test(test_what_follows_in_a_printed_experiment_can_follow_again),
        cmocka_unit_test(test_help_has_the_defaults_of_each_algorithm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
