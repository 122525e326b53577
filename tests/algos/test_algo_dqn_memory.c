// Updates of DQN allocate no memory, with any option.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "tests/algos/algo_fixture.h"
#include "tests/algos/allocations.h"
#include "tests/support/oct_test.h"

// Wide enough to leave OpenBLAS' small-matrix path, too.
static void
check_no_allocation(uint32_t width, bool first_layer_norm, bool projected, bool rainbow)
{
    enum { B = 128, OBS = 5, ACTIONS = 3 };
    char warning[200];
    config_experiment config = fixture_config();
    config.network.hidden = (config_ints){.count = 2, .value = {width, width}};
    config.network.first_layer_norm = first_layer_norm;
    config.learner.batch_size = B;
    config.algo.target_period = 2;
    config.algo.distributional = config.algo.dueling = config.algo.noisy = rainbow;
    config.algo.atoms = 51;
    config.algo.value_max = 1;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    policy_spec spec;
    float result[ALGO_NUMBERS_MAX];
    float priorities[B];
    (void)nn_blas_init(1, warning, sizeof(warning));
    algo *a = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    size_t count = policy_spec_params(&spec);
    if (projected) {
        algo_set_projection(a,
                            &(algo_projection){.arg = &count, .project = fixture_double_weights});
    }
    algo_batch batch = fixture_batch(&rng, B, OBS, ACTIONS);
    allocations_begin();
    for (int i = 0; i < 5; i++) {
        T_OK(algo_update(a, &batch, 1e-3f, priorities, result));
        (void)algo_policy_params(a);
        (void)algo_behaviour_params(a, 0);
    }
    allocations_expect_none();
    fixture_batch_free(&batch);
    algo_destroy(a);
}

static void
test_update_of_a_small_network_allocates_nothing(void **state)
{
    (void)state;
    check_no_allocation(32, true, false, false);
}

static void
test_update_of_a_wide_network_allocates_nothing(void **state)
{
    (void)state;
    check_no_allocation(256, false, false, false);
}

static void
test_update_through_a_projection_allocates_nothing(void **state)
{
    (void)state;
    check_no_allocation(32, true, true, false);
}

static void
test_update_with_all_options_of_rainbow_allocates_nothing(void **state)
{
    (void)state;
    check_no_allocation(32, true, true, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_update_of_a_small_network_allocates_nothing),
        cmocka_unit_test(test_update_of_a_wide_network_allocates_nothing),
        cmocka_unit_test(test_update_through_a_projection_allocates_nothing),
        cmocka_unit_test(test_update_with_all_options_of_rainbow_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
