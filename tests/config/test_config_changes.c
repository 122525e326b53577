// Differences between two experiments, and the key that a message is about, are found.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "config/config_text.h"
#include "tests/support/oct_test.h"

static void
test_equal_experiments_have_no_change(void **state)
{
    (void)state;
    config_experiment config;
    config_change change;
    size_t at = 0;
    config_default(&config);
    assert_false(config_next_change(&change, &config, &config, &at));
}

static void
test_every_change_is_told_in_the_tables_order(void **state)
{
    (void)state;
    config_experiment before, now;
    config_change change;
    char message[256];
    size_t at = 0;
    config_default(&before);
    now = before;
    T_OK(config_set(&now, "replay.capacity=4096", message, sizeof(message)));
    T_OK(config_set(&now, "run.seed=9", message, sizeof(message)));
    assert_true(config_next_change(&change, &before, &now, &at));
    assert_string_equal(change.name, "run.seed");
    assert_string_equal(change.before, "1");
    assert_string_equal(change.now, "9");
    assert_true(config_next_change(&change, &before, &now, &at));
    assert_string_equal(change.name, "replay.capacity");
    assert_string_equal(change.now, "4096");
    assert_false(config_next_change(&change, &before, &now, &at));
}

static bool
is_changed(const char *key, const config_experiment *before, const config_experiment *now)
{
    config_change change;
    for (size_t at = 0; config_next_change(&change, before, now, &at);) {
        if (strcmp(change.name, key) == 0) {
            return true;
        }
    }
    return false;
}

// A key of each kind, and a key that changes from a word to the number that the word stood for.
static void
test_a_change_of_any_kind_is_told(void **state)
{
    (void)state;
    static const char *const settings[][2] = {
        {"learner.batch_size", "512"},
        {"run.env_steps", "1000000000000000"},
        {"algo.discount", "0.5"},
        {"algo.dueling", "true"},
        {"run.name", "x"},
        {"network.activation", "tanh"},
        {"network.hidden", "[256, 128]"},
        {"run.stop_at_return", "-1e9"},
        {"actor.noise_low", "NUMBER"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(settings); i++) {
        const char *key = settings[i][0], *value = settings[i][1];
        config_experiment before, now;
        char setting[128], message[256], number[32];
        config_default(&before);
        now = before;
        (void)snprintf(number, sizeof(number), "%.17g", before.actor.noise_low);
        (void)snprintf(setting, sizeof(setting), "%s=%s", key,
                       strcmp(value, "NUMBER") == 0 ? number : value);
        assert_false(is_changed(key, &before, &now));
        T_OK(config_set(&now, setting, message, sizeof(message)));
        assert_true(is_changed(key, &before, &now));
    }
}

static void
test_line_of_a_key(void **state)
{
    (void)state;
    static const char text[] = "env:\n  id: CartPole-v1\n\nalgo:\n  n_step: 3\n  name: dqn\n";
    char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/octet-test-%ld.yaml", (long)getpid());
    T_OK(oct_file_write(path, text, strlen(text)));
    assert_int_equal(config_line(path, "env.id"), 2);
    assert_int_equal(config_line(path, "algo.name"), 6);
    assert_int_equal(config_line(path, "algo.discount"), 0);
    assert_int_equal(config_line(path, "algo.nothing"), 0);
    (void)unlink(path);
    assert_int_equal(config_line(path, "env.id"), 0);
    // A pipe can be read only once, and no writer may open it again.
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(config_line(path, "env.id"), 0);
    (void)unlink(path);
}

static void
test_the_first_key_that_a_message_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key; // NULL: none
    } cases[] = {
        {"network.conv: convolutions need maps", "network.conv"},
        {"dqn needs discrete actions: algo.name: d4pg, or env.id", "algo.name"},
        {"make network.hidden smaller, or policy.precision", "network.hidden"},
        {"lower learner.publish_s_min.", "learner.publish_s_min"},
        {"the file algo.name.yaml", NULL},
        {"./octet/env.idea", NULL},
        {"rerun.seed, or run.seeds: run.env_steps", "run.env_steps"},
        {"nothing", NULL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char key[CONFIG_NAME_MAX] = "";
        assert_int_equal(config_key_in(key, cases[i].text), cases[i].key != NULL);
        assert_string_equal(key, cases[i].key != NULL ? cases[i].key : "");
    }
}

static void
noted(const config_experiment *before, const config_experiment *now, uint64_t env_steps,
      uint64_t updates, const char *want)
{
    char notes[1024];
    config_note_schedules(before, now, env_steps, updates, notes, sizeof(notes));
    assert_string_equal(notes, want);
}

// Values that are linear over the budget jump when the budget changes in the middle.
static void
test_another_budget_names_the_schedules_that_jump(void **state)
{
    (void)state;
    static const char *const settings[] = {"algo.name=dqn",
                                           "algo.learning_rate=0.001",
                                           "algo.learning_rate_final=0.0001",
                                           "replay.importance_exponent=0.4",
                                           "replay.importance_exponent_final=1",
                                           "run.env_steps=1000000"};
    config_experiment before, now;
    char message[256];
    config_default(&before);
    for (size_t i = 0; i < OCT_COUNTOF(settings); i++) {
        T_OK(config_set(&before, settings[i], message, sizeof(message)));
    }
    now = before;
    noted(&before, &now, 1000000, 10, "");
    now.algo.learning_rate_final = 0.0005; // said as a change of that key
    noted(&before, &now, 1000000, 10, "");
    now = before;
    now.run.env_steps = 2000000;
    noted(&before, &now, 0, 0, ""); // both are at their start
    noted(&before, &now, 1000000, 10,
          "run.env_steps: algo.learning_rate continues at 0.00055, where it was 0.0001\n"
          "run.env_steps: replay.importance_exponent continues at 0.7, where it was 1\n");
    now = before;
    now.run.updates = 20;
    noted(&before, &now, 0, 10,
          "run.updates: algo.learning_rate continues at 0.00055, where it was 0.001\n"
          "run.updates: replay.importance_exponent continues at 0.7, where it was 0.4\n");
    T_OK(config_set(&before, "replay.sampler=uniform", message, sizeof(message)));
    T_OK(config_set(&before, "algo.learning_rate_final=same", message, sizeof(message)));
    now = before;
    now.run.env_steps = 2000000;
    noted(&before, &now, 1000000, 10, ""); // no schedule is read
    // Noise, critics and the entropy of other algorithms.
    T_OK(config_set(&before, "algo.name=d4pg", message, sizeof(message)));
    T_OK(config_set(&before, "algo.learning_rate_final=0", message, sizeof(message)));
    T_OK(config_set(&before, "algo.critic_learning_rate=0.01", message, sizeof(message)));
    T_OK(config_set(&before, "actor.noise=0.5", message, sizeof(message)));
    T_OK(config_set(&before, "actor.noise_final=0.1", message, sizeof(message)));
    now = before;
    now.run.env_steps = 4000000;
    noted(&before, &now, 1000000, 10,
          "run.env_steps: algo.learning_rate continues at 0.00075, where it was 0\n"
          "run.env_steps: algo.critic_learning_rate continues at 0.0075, where it was 0\n"
          "run.env_steps: actor.noise continues at 0.4, where it was 0.1\n");
    before.actor.noise_steps = now.actor.noise_steps = 1000; // noise follows these instead
    noted(&before, &now, 1000000, 10,
          "run.env_steps: algo.learning_rate continues at 0.00075, where it was 0\n"
          "run.env_steps: algo.critic_learning_rate continues at 0.0075, where it was 0\n");
    T_OK(config_set(&before, "algo.name=ppo", message, sizeof(message)));
    T_OK(config_set(&before, "algo.learning_rate_final=same", message, sizeof(message)));
    T_OK(config_set(&before, "algo.entropy_cost=0.02", message, sizeof(message)));
    T_OK(config_set(&before, "algo.entropy_cost_final=0", message, sizeof(message)));
    now = before;
    now.run.env_steps = 4000000;
    noted(&before, &now, 1000000, 10,
          "run.env_steps: algo.entropy_cost continues at 0.015, where it was 0\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_experiments_have_no_change),
        cmocka_unit_test(test_every_change_is_told_in_the_tables_order),
        cmocka_unit_test(test_a_change_of_any_kind_is_told),
        cmocka_unit_test(test_line_of_a_key),
        cmocka_unit_test(test_another_budget_names_the_schedules_that_jump),
        cmocka_unit_test(test_the_first_key_that_a_message_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
