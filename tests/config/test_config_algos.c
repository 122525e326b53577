// The table of algorithms knows every algorithm and every key of algo and network, and keys that
// have no effect are reported.
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "config/config_algos.h"
#include "config/config_effects.h"
#include "config/config_text.h"

static char message[4096];

static bool
is_of_algorithms(const config_key *key)
{
    return strcmp(key->section, "network") == 0 ||
           (strcmp(key->section, "algo") == 0 && strcmp(key->leaf, "name") != 0);
}

static void
test_every_algorithm_has_a_row(void **state)
{
    (void)state;
    assert_int_equal(strncmp(config_algo_words(), "dqn d4pg ", 9), 0);
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        const char *word = config_algo_word((config_algo_name)i);
        if (config_algos[i].about == NULL || config_algos[i].use_count == 0) {
            fail_msg("%s has no row in config/config_algos.c", word);
        }
        assert_non_null(config_use_find((config_algo_name)i, "algo.discount"));
        assert_non_null(config_use_find((config_algo_name)i, "algo.learning_rate"));
    }
}

static void
test_listed_keys_exist_and_are_listed_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        const config_algo *algo = &config_algos[i];
        for (size_t k = 0; k < algo->use_count; k++) {
            const char *key = algo->uses[k].key;
            if (config_key_find(key) == NULL || algo->uses[k].usual[0] == 0 ||
                config_use_find((config_algo_name)i, key) != &algo->uses[k]) {
                fail_msg("%s of algorithm %zu: unknown, twice, or without usual values", key, i);
            }
        }
    }
}

static void
test_every_key_of_algorithms_is_read_by_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        char readers[CONFIG_READERS_MAX];
        config_readers(config_keys[i].name, readers);
        if (is_of_algorithms(&config_keys[i]) && readers[0] == 0) {
            fail_msg("%s: no algorithm in config/config_algos.c reads it", config_keys[i].name);
        }
    }
}

static void
test_readers_stand_before_what_a_key_means(void **state)
{
    (void)state;
    const struct {
        const char *key, *before;
    } known[] = {
        {"algo.critics", "d4pg, ddpg, td3, sac: "},
        {"network.critic_hidden", "all but dqn, table, external: "},
        {"network.hidden", "all but table: "},
        {"evaluation.sampling", "reinforce, sac, ppo, a2c, vtrace, trpo, external: "},
        {"algo.discount", ""}, // all read it
        {"run.seed", ""},      // of no algorithm
    };
    for (size_t i = 0; i < OCT_COUNTOF(known); i++) {
        char before[CONFIG_READERS_MAX];
        assert_string_equal(config_readers_brief(known[i].key, before), known[i].before);
    }
}

// What is read of some keys, known from the algorithms' files.
static void
test_algorithms_read_their_own_keys(void **state)
{
    (void)state;
    const struct {
        config_algo_name name;
        const char *key;
        bool is_read;
    } known[] = {
        {CONFIG_ALGO_DQN, "algo.dueling", true},
        {CONFIG_ALGO_TD3, "algo.dueling", false},
        {CONFIG_ALGO_TD3, "algo.target_noise", true},
        {CONFIG_ALGO_SAC, "algo.target_noise", false},
        {CONFIG_ALGO_SAC, "algo.temperature", true},
        {CONFIG_ALGO_D4PG, "algo.temperature", false},
        {CONFIG_ALGO_SAC, "actor.noise", false}, // it draws
        {CONFIG_ALGO_DDPG, "actor.noise", true},
        {CONFIG_ALGO_REINFORCE, "replay.sampler", false},
        {CONFIG_ALGO_REINFORCE, "run.seed", true}, // in no list
        {CONFIG_ALGO_D4PG, "algo.critics", true},
        {CONFIG_ALGO_DDPG, "algo.critics", true},
        {CONFIG_ALGO_TD3, "algo.critics", true},
        {CONFIG_ALGO_SAC, "algo.critics", true},
        {CONFIG_ALGO_DQN, "algo.critics", false},
        {CONFIG_ALGO_PPO, "algo.critics", false},
        {CONFIG_ALGO_SAC, "replay.min_size", true},
        {CONFIG_ALGO_PPO, "replay.min_size", false},
        {CONFIG_ALGO_VTRACE, "replay.tolerance", false},
        {CONFIG_ALGO_EXTERNAL, "replay.tolerance", true},
        {CONFIG_ALGO_TABLE, "replay.samples_per_insert", false},
        {CONFIG_ALGO_VTRACE, "learner.publish_period", true},
        {CONFIG_ALGO_A2C, "learner.publish_period", false},
        {CONFIG_ALGO_TRPO, "learner.prefetch", false},
        {CONFIG_ALGO_REINFORCE, "learner.prefetch", true},
        {CONFIG_ALGO_PPO, "actor.batch_steps", false},
        {CONFIG_ALGO_TABLE, "actor.flush_s", true},
    };
    for (size_t i = 0; i < OCT_COUNTOF(known); i++) {
        assert_int_equal(config_is_read(known[i].name, known[i].key), known[i].is_read);
    }
}

static void
assert_unread(const char *name, const char *assignment, const char *want)
{
    config_experiment config;
    config_default(&config);
    T_OK(config_set(&config, name, message, sizeof(message)));
    T_OK(config_set(&config, assignment, message, sizeof(message)));
    config_warn_idle(&config, &config, message, sizeof(message));
    assert_string_equal(message, want);
}

static void
test_keys_without_effect_are_told(void **state)
{
    (void)state;
    assert_unread(
        "algo.name=td3", "algo.huber_delta=2",
        "warning: algo.huber_delta: 2 has no effect with algo.name: td3; it is an option of dqn\n");
    assert_unread("algo.name=sac", "algo.target_noise_clip=0.25",
                  "warning: algo.target_noise_clip: 0.25 has no effect with algo.name: sac; it is "
                  "an option of td3\n");
    assert_unread("algo.name=ppo", "algo.critics=2",
                  "warning: algo.critics: 2 has no effect with algo.name: ppo; it is an option of "
                  "d4pg, ddpg, td3, sac\n");
    assert_unread("algo.name=ppo", "replay.min_size=100",
                  "warning: replay.min_size: 100 has no effect with algo.name: ppo; it is an "
                  "option of dqn, d4pg, ddpg, td3, sac, external\n");
    assert_unread("algo.name=vtrace", "learner.publish_period=2", ""); // its default is 1
    assert_unread("algo.name=td3", "algo.target_noise=0.1", "");
    assert_unread("algo.name=sac", "algo.target_noise=0.2", ""); // the default
    assert_unread("algo.name=td3", "algo.dueling=true", "");     // an error of the check
}

static void
test_explain_has_a_line_for_each_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        const char *word = config_algo_word((config_algo_name)i);
        char *text = config_explain(word);
        size_t lines = 0;
        assert_non_null(text);
        assert_int_equal(strncmp(text, word, strlen(word)), 0);
        for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
            lines++;
        }
        assert_int_equal(lines, 2 + config_algos[i].use_count);
        free(text);
    }
    char *sac = config_explain("sac");
    assert_non_null(strstr(sac, "  algo.temperature                   learned"));
    assert_null(strstr(sac, "algo.entropy_cost"));
    free(sac);
    assert_null(config_explain("sak"));
    assert_null(config_explain(""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_algorithm_has_a_row),
        cmocka_unit_test(test_listed_keys_exist_and_are_listed_once),
        cmocka_unit_test(test_every_key_of_algorithms_is_read_by_one),
        cmocka_unit_test(test_readers_stand_before_what_a_key_means),
        cmocka_unit_test(test_algorithms_read_their_own_keys),
        cmocka_unit_test(test_keys_without_effect_are_told),
        cmocka_unit_test(test_explain_has_a_line_for_each_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
