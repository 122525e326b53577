// Updates of REINFORCE, PPO, V-trace and TRPO allocate nothing.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "tests/algos/allocations.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

// Wide enough to leave OpenBLAS' small-matrix path.
static void
check_no_allocation(config_algo_name name, bool is_box, bool projected)
{
    enum { B = 16, STEPS = 11, OBS = 5, DIM = 3 };
    char warning[200];
    config_experiment config = reinforce_fixture_config();
    config.network.hidden = (config_ints){.count = 2, .value = {192, 64}};
    config.network.critic_hidden = (config_ints){.count = 2, .value = {256, 192}};
    config.network.first_layer_norm = true;
    config.algo.name = name;
    bool has_rollouts = config_has_rollouts(&config);
    config.algo.sequence_steps = has_rollouts ? 8 : STEPS; // whose windows have STEPS rows
    assert_int_equal(config_rollout_rows(8) - 1, STEPS);
    config.algo.epochs = 2;
    config.algo.minibatches = 3;
    config.algo.clip = 0.2;
    config.algo.correction = CONFIG_CORRECTION_DECOUPLED;
    config.algo.scale_rewards = true;
    config.algo.normalise_observations = projected && config_has_rollouts(&config);
    config.algo.kl_max = 0.01;
    config.algo.cg_iterations = 3;
    config.algo.cg_damping = 0.1;
    config.algo.line_search_steps = 4;
    config.algo.line_search_shrink = 0.5;
    config.learner.batch_size = B;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    policy_spec spec;
    float result[ALGO_NUMBERS_MAX];
    (void)nn_blas_init(1, warning, sizeof(warning));
    algo *a = reinforce_fixture_algo(&spec, &config, is_box, OBS, DIM, 1);
    size_t count = policy_spec_params(&spec);
    if (projected) {
        algo_set_projection(a,
                            &(algo_projection){.arg = &count, .project = fixture_double_weights});
    }
    algo_batch few = reinforce_fixture_batch(&rng, &spec, 3, STEPS);
    algo_batch all = reinforce_fixture_batch(&rng, &spec, B, STEPS);
    allocations_begin();
    for (int i = 0; i < 3; i++) {
        T_OK(algo_update(a, &few, 1e-3f, NULL, result));
        T_OK(algo_update(a, &all, 1e-3f, NULL, result));
    }
    allocations_expect_none();
    fixture_batch_free(&few);
    fixture_batch_free(&all);
    algo_destroy(a);
}

static void
test_updates_allocate_nothing(void **state)
{
    (void)state;
    check_no_allocation(CONFIG_ALGO_REINFORCE, false, false);
    check_no_allocation(CONFIG_ALGO_REINFORCE, true, false);
    check_no_allocation(CONFIG_ALGO_PPO, false, false);
    check_no_allocation(CONFIG_ALGO_PPO, true, false);
    check_no_allocation(CONFIG_ALGO_VTRACE, false, false);
    check_no_allocation(CONFIG_ALGO_VTRACE, true, false);
    check_no_allocation(CONFIG_ALGO_TRPO, false, false);
    check_no_allocation(CONFIG_ALGO_TRPO, true, false);
}

static void
test_updates_through_a_projection_allocate_nothing(void **state)
{
    (void)state;
    check_no_allocation(CONFIG_ALGO_REINFORCE, true, true);
    check_no_allocation(CONFIG_ALGO_PPO, true, true);
    check_no_allocation(CONFIG_ALGO_TRPO, true, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates_allocate_nothing),
        cmocka_unit_test(test_updates_through_a_projection_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
