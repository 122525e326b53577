// Tables against numpy float64, which learns episode by episode: tools/golden_table.py.
#include <stdlib.h>

#include "tests/algos/algo_fixture.h"
#include "tests/algos/golden_file.h"
#include "tests/support/oct_test.h"

typedef struct trial {
    golden_file *golden;
    uint32_t states, actions, B, T, steps;
    config_experiment config;
    algo *a;
} trial;

static trial
trial_make(const char *name)
{
    trial t = {.golden = golden_open(name)};
    const double *shape = golden_array(t.golden, "shape", 5);
    t.states = (uint32_t)shape[0];
    t.actions = (uint32_t)shape[1];
    t.B = (uint32_t)shape[2];
    t.steps = (uint32_t)shape[4];
    t.config = fixture_config();
    t.config.algo.name = CONFIG_ALGO_TABLE;
    t.config.algo.target = (config_target_name)golden_number(t.golden, "target");
    t.config.algo.n_step = (uint32_t)golden_number(t.golden, "n");
    t.config.algo.sequence_steps = (uint32_t)shape[3];
    t.T = t.config.algo.sequence_steps + t.config.algo.n_step;
    t.config.algo.discount = golden_number(t.golden, "discount");
    t.config.algo.target_epsilon = golden_number(t.golden, "epsilon");
    t.config.algo.reward_clip = golden_number(t.golden, "reward_clip");
    t.config.algo.initial_value = golden_number(t.golden, "initial");
    t.config.learner.batch_size = t.B;
    t.a = fixture_table(&t.config, t.states, t.actions);
    return t;
}

static algo_batch
batch_of(const trial *t, uint32_t step)
{
    size_t rows = (size_t)t->B * t->T, observed = rows + t->B;
    float *obs = oct_alloc(observed * t->states * sizeof(float));
    uint8_t *flags = oct_alloc(rows);
    int32_t *action = oct_alloc(rows * sizeof(int32_t));
    const double *state = golden_step(t->golden, step, "state", observed);
    for (size_t i = 0; i < observed; i++) {
        obs[i * t->states + (size_t)state[i]] = 1;
    }
    for (size_t i = 0; i < rows; i++) {
        flags[i] = (uint8_t)golden_step(t->golden, step, "flags", rows)[i];
        action[i] = (int32_t)golden_step(t->golden, step, "action", rows)[i];
    }
    return (algo_batch){.B = t->B,
                        .T = t->T,
                        .obs = obs,
                        .action = action,
                        .flags = flags,
                        .reward = golden_step_floats(t->golden, step, "reward", rows)};
}

// Rates, discounts and rewards are floats, and a table is some dozens of additions.
#define NEAR(got, name, i, count)                                                                  \
    T_NEAR((double)(got), golden_step(t.golden, step, (name), (count))[i], 2e-6, 2e-6)

static void
check_case(const char *name)
{
    trial t = trial_make(name);
    size_t values = (size_t)t.states * t.actions;
    for (uint32_t step = 1; step <= t.steps; step++) {
        algo_batch batch = batch_of(&t, step);
        float result[ALGO_NUMBERS_MAX];
        float *priorities = oct_alloc(t.B * sizeof(*priorities));
        T_OK(algo_update(t.a, &batch, (float)golden_number(t.golden, "rate"), priorities, result));
        NEAR(result[ALGO_LOSS], "loss", 0, 1);
        NEAR(result[ALGO_TD_ABS], "td_abs", 0, 1);
        NEAR(result[ALGO_VALUE], "value", 0, 1);
        for (uint32_t b = 0; b < t.B; b++) {
            NEAR(priorities[b], "priority", b, t.B);
        }
        const float *q = algo_policy_params(t.a);
        for (size_t i = 0; i < values; i++) {
            NEAR(q[i], "q", i, values);
        }
        for (size_t i = 0; i < t.actions; i++) { // biases
            assert_true(q[values + i] == 0);
        }
        free(priorities);
        fixture_batch_free(&batch);
    }
    algo_destroy(t.a);
    golden_close(t.golden);
}

static void
test_q_learning_equals_numpy(void **state)
{
    (void)state;
    check_case("table_q_learning");
    check_case("table_q_learning_2");
}

static void
test_sarsa_equals_numpy(void **state)
{
    (void)state;
    check_case("table_sarsa");
    check_case("table_sarsa_2");
}

static void
test_expected_sarsa_equals_numpy(void **state)
{
    (void)state;
    check_case("table_expected_sarsa");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_q_learning_equals_numpy),
        cmocka_unit_test(test_sarsa_equals_numpy),
        cmocka_unit_test(test_expected_sarsa_equals_numpy),
    };
    golden_begin(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
