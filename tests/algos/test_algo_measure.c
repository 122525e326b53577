// What an algorithm takes is known before it takes any of it.
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "tests/algos/algo_fixture.h"
#include "tests/algos/allocations.h"
#include "tests/support/oct_test.h"

// Blocks, none of which has a large page, have a header; structs and what OpenBLAS keeps are not
// measured.
#define ROUNDED_BYTES (64u << 10)

typedef struct experiment {
    const char *set[8];
    bool is_box;
    uint32_t pictures; // side of square maps with 2 channels; 0: numbers
    uint32_t high;     // of bytes; 0: they are floats
} experiment;

static config_experiment
config_of(const experiment *x)
{
    char message[512];
    config_experiment config;
    const char *common[] = {"network.hidden=[192, 160]", "network.critic_hidden=[224, 160]",
                            "learner.batch_size=24"};
    config_default(&config);
    for (size_t i = 0; i < OCT_COUNTOF(x->set) && x->set[i] != NULL; i++) {
        T_OK(config_set(&config, x->set[i], message, sizeof(message)));
    }
    for (size_t i = 0; i < OCT_COUNTOF(common); i++) {
        T_OK(config_set(&config, common[i], message, sizeof(message)));
    }
    return config;
}

static policy_spec
spec_of(const experiment *x, const config_experiment *config)
{
    oct_reason why;
    policy_spec spec = {
        .env_id = "made",
        .obs_dtype = POLICY_F32,
        .obs_count = 17,
        .action_kind = x->is_box ? POLICY_BOX : POLICY_DISCRETE,
        .action_count = 6,
    };
    if (config->algo.name == CONFIG_ALGO_TABLE) { // states
        spec.obs_dtype = POLICY_U8;
        spec.obs_rank = 1;
        spec.obs_shape[0] = spec.obs_count;
    }
    if (x->pictures > 0) {
        spec.obs_rank = 3;
        spec.obs_shape[0] = spec.obs_shape[1] = x->pictures;
        spec.obs_shape[2] = 2;
        spec.obs_count = x->pictures * x->pictures * 2;
    }
    if (x->high > 0) {
        spec.obs_dtype = POLICY_U8;
        spec.obs_high = x->high;
    }
    for (uint32_t i = 0; x->is_box && i < spec.action_count; i++) {
        spec.action_low[i] = -1;
        spec.action_high[i] = 1;
    }
    oct_err err = algo_make_spec(config, &spec, NULL, &why);
    if (err != OCT_OK) {
        fail_msg("%s: %s", x->set[0], why.text);
    }
    return spec;
}

static const experiment experiments[] = {
    {.set = {"algo.name=dqn"}},
    {.set = {"algo.name=dqn", "network.conv=[16, 8]"}, .pictures = 10},
    {.set = {"algo.name=dqn"}, .pictures = 10, .high = 255},
    {.set = {"algo.name=dqn", "algo.target=sarsa", "network.first_layer_norm=true"}},
    {.set = {"algo.name=dqn", "algo.distributional=true", "algo.atoms=21", "algo.dueling=true",
             "algo.noisy=true"}},
    {.set = {"algo.name=d4pg", "algo.atoms=301"}, .is_box = true},
    {.set = {"algo.name=ddpg", "algo.normalise_observations=true"}, .is_box = true},
    {.set = {"algo.name=td3", "network.critic_residual=true"}, .is_box = true},
    {.set = {"algo.name=sac"}, .is_box = true},
    {.set = {"algo.name=reinforce", "algo.sequence_steps=20"}},
    {.set = {"algo.name=vtrace", "algo.sequence_steps=20"}, .is_box = true},
    {.set = {"algo.name=ppo"}},
    {.set = {"algo.name=ppo", "network.conv=[6]", "algo.sequence_steps=30"}, .pictures = 10},
    {.set = {"algo.name=ppo", "algo.normalise_observations=true"}, .is_box = true},
    {.set = {"algo.name=a2c"}},
    {.set = {"algo.name=trpo", "algo.sequence_steps=60"}, .is_box = true},
    {.set = {"algo.name=table"}},
    {.set = {"algo.name=external"}},
};

static void
experiment_check(const experiment *x)
{
    algo *a = NULL;
    config_experiment config = config_of(x);
    if (config.network.critic_residual) {
        config.network.critic_hidden = (config_ints){.count = 3, .value = {192, 192, 192}};
    }
    policy_spec spec = spec_of(x, &config);
    const nn_context_options options = {.threads = 1};
    algo_memory memory;
    size_t before = allocations_held_bytes();
    T_OK(algo_measure(&memory, &options, &config, &spec));
    assert_int_equal(allocations_held_bytes(), before);
    nn_context *context = nn_context_create(&options);
    T_OK(algo_create(&a, context, &config, &spec, 1));
    size_t taken = allocations_held_bytes() - before;
    oct_writer state = {0};
    algo_save(a, &state);
    assert_in_range(taken, memory.bytes, memory.bytes + ROUNDED_BYTES);
    assert_int_equal(state.used, memory.state_bytes);
    algo_destroy(a);
    nn_context_destroy(context);
    assert_int_equal(allocations_held_bytes(), before);
}

static void
test_what_an_algorithm_takes_is_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(experiments); i++) {
        experiment_check(&experiments[i]);
    }
}

// More than any machine has: nothing is reserved.
static void
test_the_largest_algorithms_are_measured(void **state)
{
    (void)state;
    const experiment x = {.set = {"algo.name=d4pg", "algo.atoms=4096"}, .is_box = true};
    algo_memory memory;
    config_experiment config = config_of(&x);
    config.learner.batch_size = 65536;
    config.network.hidden = (config_ints){.count = 2, .value = {65536, 1024}};
    config.network.critic_hidden = (config_ints){.count = 0};
    policy_spec spec = spec_of(&x, &config);
    const nn_context_options options = {.threads = 1};
    T_OK(algo_measure(&memory, &options, &config, &spec));
    uint64_t rows = 65536, first = rows * 65536 * sizeof(float),
             atoms = rows * 4096 * sizeof(float);
    assert_true(memory.bytes > 2 * first + 5 * atoms);
    assert_true(memory.state_bytes > UINT64_C(4) * 65536 * 1024 * sizeof(float));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_an_algorithm_takes_is_measured),
        cmocka_unit_test(test_the_largest_algorithms_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
