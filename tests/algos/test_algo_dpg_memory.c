// Updates of the policy gradient algorithms allocate no memory.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "tests/algos/allocations.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/support/oct_test.h"

// Wide enough to leave OpenBLAS' small-matrix path, which takes products of up to 100 * 100 * 100.
static void
check_no_allocation(size_t method, bool projected)
{
    enum { B = 128, OBS = 5, DIM = 3 };
    char warning[200];
    config_experiment config = dpg_fixture_method(method);
    config.network.hidden = (config_ints){.count = 2, .value = {192, 64}};
    config.network.critic_hidden =
        config.network.critic_residual
            ? (config_ints){.count = 5, .value = {112, 112, 112, 112, 112}}
            : (config_ints){.count = 2, .value = {128, 96}};
    config.network.first_layer_norm = true;
    config.learner.batch_size = B;
    config.algo.target_period = 2;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    policy_spec spec;
    float result[ALGO_NUMBERS_MAX];
    float priorities[B];
    (void)nn_blas_init(1, warning, sizeof(warning));
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    size_t count = policy_spec_params(&spec);
    if (projected) {
        algo_set_projection(a,
                            &(algo_projection){.arg = &count, .project = fixture_double_weights});
    }
    algo_batch batch = dpg_fixture_batch(&rng, B, OBS, DIM);
    allocations_begin();
    for (int i = 0; i < 5; i++) {
        T_OK(algo_update(a, &batch, 1e-3f, priorities, result));
    }
    allocations_expect_none();
    fixture_batch_free(&batch);
    algo_destroy(a);
}

static void
test_updates_allocate_nothing(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        check_no_allocation(n, false);
    }
}

static void
test_updates_through_a_projection_allocate_nothing(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        check_no_allocation(n, true);
    }
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
