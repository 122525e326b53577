// Names of papers and of other libraries: each leads to an algorithm or a key that exists, in
// files, with --set and in the hints of errors.
#include <stdlib.h>
#include <string.h>

#include "config/config_algos.h"
#include "config/config_synonyms.h"
#include "tests/support/oct_test.h"

static char message[4096];

static void
parse_good(config_experiment *out, const char *text)
{
    config_default(out);
    if (config_parse(out, "x.yaml", text, strlen(text), message, sizeof(message)) != OCT_OK) {
        fail_msg("%s", message);
    }
}

static void
expect_hint(const char *assignment, const char *hint)
{
    config_experiment config;
    config_default(&config);
    T_ERR(config_set(&config, assignment, message, sizeof(message)), OCT_EINVAL);
    if (strstr(message, hint) == NULL) {
        fail_msg("'%s' lacks '%s'", message, hint);
    }
}

static void
test_every_synonym_of_an_algorithm_sets_what_it_says(void **state)
{
    (void)state;
    const config_key *name_key = config_key_find("algo.name");
    for (size_t i = 0; i < config_synonym_count; i++) {
        const config_synonym *synonym = &config_synonyms[i];
        const char *settings = synonym->settings;
        char assignment[256], value[CONFIG_NAME_MAX], printed[CONFIG_VALUE_MAX];
        config_experiment config;
        const config_key *key;
        config_default(&config);
        (void)snprintf(assignment, sizeof(assignment), "algo.name=%s", synonym->word);
        T_OK(config_set(&config, assignment, message, sizeof(message)));
        assert_string_equal(config_value_print(&config, name_key, printed), synonym->algorithm);
        while ((key = config_synonym_next(&settings, value)) != NULL) {
            assert_string_equal(config_value_print(&config, key, printed), value);
            assert_true(config.is_given[key - config_keys]);
        }
        assert_string_equal(settings, "");
        char *explained = config_explain(synonym->word);
        assert_non_null(explained);
        assert_int_equal(strncmp(explained, synonym->word, strlen(synonym->word)), 0);
        free(explained);
        assert_true(config_is_algorithm(synonym->word));
        assert_non_null(strstr(name_key->help, synonym->word));
    }
    assert_false(config_is_algorithm("rain"));
    assert_null(config_explain("rain"));
}

static void
test_keys_of_the_file_stay_where_a_synonym_sets_others(void **state)
{
    (void)state;
    config_experiment config;
    parse_good(&config, "algo:\n  dueling: false\n  name: rainbow\n  noisy: false\n"
                        "actor:\n  epsilon_base: 0.25\n");
    assert_int_equal(config.algo.name, CONFIG_ALGO_DQN);
    assert_true(config.algo.distributional);
    assert_false(config.algo.dueling || config.algo.noisy);
    T_NEAR(config.actor.epsilon_base, 0.25, 0, 0);
    T_OK(config_set(&config, "algo.name=rainbow", message, sizeof(message)));
    assert_true(config.algo.dueling && config.algo.noisy);
    T_NEAR(config.actor.epsilon_base, 0, 0, 0);
}

static void
test_a_mistyped_synonym_is_suggested(void **state)
{
    (void)state;
    expect_hint("algo.name=ranbow", "; did you mean rainbow?");
    expect_hint("algo.name=dpqn", "; did you mean dqn?");
    expect_hint("algo.target=rainbow", "rainbow is not one of q_learning, sarsa, expected_sarsa\n");
    expect_hint("algo=impala", "; did you mean algo.name=impala?");
}

static void
test_every_name_of_another_library_leads_to_keys_that_exist(void **state)
{
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < config_meaning_count; i++) {
        const config_meaning *meaning = &config_meanings[i];
        char keys[256], names[1024], *rest = keys, *key, *name;
        (void)snprintf(keys, sizeof(keys), "%s", meaning->key);
        for (; (key = strsep(&rest, " ")) != NULL;) {
            assert_true(strcmp(key, "or") == 0 || config_key_find(key) != NULL);
        }
        (void)snprintf(names, sizeof(names), "%s", meaning->names);
        for (rest = names; (name = strsep(&rest, " ")) != NULL; count++) {
            char own[CONFIG_NAME_MAX];
            (void)snprintf(own, sizeof(own), ".%s", name);
            const char *at = strstr(meaning->key, own);
            assert_true(name[0] != '\0' && (at == NULL || at[strlen(own)] != '\0'));
            assert_ptr_equal(config_key_meant(name), meaning->key); // no other row has it
        }
    }
    assert_true(count > 250);
}

static void
test_names_of_other_libraries_are_suggested_wherever_a_key_stands(void **state)
{
    (void)state;
    config_experiment config;
    const char *text = "algo:\n  gamma: 0.9\nbuffer_size: 10\nlearner:\n  ent_coef: 1\n";
    expect_hint("gamma=0.9", "unknown key gamma; did you mean algo.discount?");
    expect_hint("ppo.n_envs=3", "; did you mean actor.envs?");
    expect_hint("algo.Max-Grad-Norm=1", "; did you mean algo.grad_norm_max?");
    config_default(&config);
    T_ERR(config_parse(&config, "x.yaml", text, strlen(text), message, sizeof(message)),
          OCT_EINVAL);
    assert_string_equal(
        message, "x.yaml:2:3: error: unknown key algo.gamma; did you mean algo.discount?\n"
                 "x.yaml:3:1: error: unknown section buffer_size; did you mean replay.capacity?\n"
                 "x.yaml:5:3: error: unknown key learner.ent_coef; did you mean "
                 "algo.entropy_cost or algo.temperature?\n");
    assert_null(config_key_meant("nonsense"));
    assert_null(config_key_meant(""));
    assert_null(config_key_meant("gam"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_synonym_of_an_algorithm_sets_what_it_says),
        cmocka_unit_test(test_keys_of_the_file_stay_where_a_synonym_sets_others),
        cmocka_unit_test(test_a_mistyped_synonym_is_suggested),
        cmocka_unit_test(test_every_name_of_another_library_leads_to_keys_that_exist),
        cmocka_unit_test(test_names_of_other_libraries_are_suggested_wherever_a_key_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
