// TRPO: how far a step goes and when none is taken, that an update that fails leaves nothing
// behind, what is refused, saved and loaded; and the conjugate gradients under it.
#include <math.h>
#include <stdlib.h>

#include "algos/algo_cg.h"
#include "common/oct_reason.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { T = REINFORCE_STEPS, B = REINFORCE_WINDOWS };

typedef reinforce_trial trial;

static trial
trial_of(config_experiment config, bool is_box, uint64_t seed)
{
    return reinforce_fixture_trial(config, is_box, seed);
}

// ---- conjugate gradients

// A small matrix with eigenvalues of different sizes: diag(1 .. COUNT) + ones.
enum { COUNT = 6 };
static void
matrix_product(void *arg, const float *v, float *Av)
{
    unsigned *calls = arg;
    float sum = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += v[i];
    }
    for (int i = 0; i < COUNT; i++) {
        Av[i] = (float)(i + 1) * v[i] + sum;
    }
    (*calls)++;
}

static void
test_conjugate_gradients_solve(void **state)
{
    (void)state;
    const float b[COUNT] = {1, -2, 0.5f, 3, 0, -1};
    algo_cg cg;
    unsigned calls = 0;
    nn_context *context = nn_context_create(NULL);
    algo_cg_init(&cg, context, COUNT);
    double energy = algo_cg_solve(&cg, b, 100, matrix_product, &calls);
    assert_true(calls >= COUNT - 1 && calls <= COUNT + 2); // as many as there are dimensions
    double sum = 0, want = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += cg.x[i];
        want += cg.x[i] * (double)b[i];
    }
    for (int i = 0; i < COUNT; i++) {
        T_NEAR((i + 1) * cg.x[i] + sum, (double)b[i], 1e-5, 0);
    }
    T_NEAR(energy, want, 1e-5, 0); // x'Ax = x'b
    calls = 0;
    (void)algo_cg_solve(&cg, b, 2, matrix_product, &calls);
    assert_int_equal(calls, 2);
    const float nothing[COUNT] = {0};
    calls = 0;
    assert_true(algo_cg_solve(&cg, nothing, 100, matrix_product, &calls) == 0 && calls == 0);
    algo_cg_fini(&cg);
    nn_context_destroy(context);
}

// ---- steps

static void
test_steps_are_as_long_as_the_divergence_allows(void **state)
{
    (void)state;
    const double limits[] = {0.001, 0.01, 0.1};
    for (int is_box = 0; is_box < 2; is_box++) {
        for (size_t i = 0; i < OCT_COUNTOF(limits); i++) {
            config_experiment config = reinforce_fixture_rollouts(CONFIG_ALGO_TRPO);
            config.algo.kl_max = limits[i];
            config.algo.cg_damping = 0.001;
            trial t = trial_of(config, is_box, 1);
            algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
            float result[ALGO_NUMBERS_MAX];
            T_OK(algo_update(t.a, &batch, 1e-3f, NULL, result));
            double kl = (double)fixture_number(&config, result, "step_kl");
            assert_true(kl < limits[i] && kl > 0.1 * limits[i]);
            assert_true(fixture_number(&config, result, "line_search_success") == 1.0f);
            assert_true(fixture_number(&config, result, "line_search_steps") >= 1.0f);
            assert_int_equal(algo_updates(t.a), 1);
            fixture_batch_free(&batch);
            algo_destroy(t.a);
        }
    }
}

// Where no gradient is left, for the policy never does any more what was done, or one step of a
// limit far beyond the quadratic model is too long, the policy stays to the bit; values learn.
static void
test_a_policy_that_finds_no_step_stays(void **state)
{
    (void)state;
    for (int is_too_long = 0; is_too_long < 2; is_too_long++) {
        config_experiment config = reinforce_fixture_rollouts(CONFIG_ALGO_TRPO);
        config.algo.kl_max = is_too_long ? 1e5 : 0.01;
        config.algo.line_search_steps = is_too_long ? 1 : 10;
        config.algo.gae_lambda = 0;
        config.algo.discount = 0;
        config.algo.normalise_advantage = is_too_long;
        config.algo.entropy_cost = 0;
        trial t = trial_of(config, true, 1);
        size_t bytes = policy_spec_params(&t.spec) * sizeof(float);
        float *was = oct_alloc(bytes), result[ALGO_NUMBERS_MAX];
        size_t value_at = reinforce_fixture_part_at(&config, &t.spec, 1, FIXTURE_PARAMS), length;
        uint8_t *before = fixture_save(t.a, &length);
        algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
        for (size_t i = 0; !is_too_long && i < B * T; i++) {
            ((float *)batch.extra)[i * policy_spec_extra_dim(&t.spec)] = 80.0f; // log mu
        }
        memcpy(was, algo_policy_params(t.a), bytes);
        T_OK(algo_update(t.a, &batch, 1e-2f, NULL, result));
        assert_memory_equal(was, algo_policy_params(t.a), bytes);
        assert_true(fixture_number(&config, result, "line_search_success") == 0.0f);
        assert_true(fixture_number(&config, result, "step_kl") == 0.0f);
        assert_true(fixture_number(&config, result, "line_search_steps") ==
                    (is_too_long ? 1.0f : 0.0f));
        uint8_t *after = fixture_save(t.a, &length);
        assert_memory_not_equal(before + value_at, after + value_at, 64);
        free(was);
        free(before);
        free(after);
        fixture_batch_free(&batch);
        algo_destroy(t.a);
    }
}

// What was drawn was good everywhere: a step that goes far beyond it in all rows makes it unlikely,
// however long a step the divergence allows.
static void
test_a_step_that_makes_the_objective_worse_is_not_taken(void **state)
{
    (void)state;
    config_experiment config = reinforce_fixture_rollouts(CONFIG_ALGO_TRPO);
    config.algo.kl_max = 20;
    config.algo.line_search_steps = 1;
    config.algo.discount = 0;
    config.algo.gae_lambda = 0;
    config.algo.normalise_advantage = false;
    config.algo.scale_rewards = false;
    config.algo.initial_deviation = 0.1;
    config.algo.correction = CONFIG_CORRECTION_NONE;
    trial t = trial_of(config, true, 1);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
    float result[ALGO_NUMBERS_MAX];
    for (size_t row = 0; row < B * T; row++) {
        ((float *)batch.reward)[row] = 100;
        for (size_t i = 0; i < REINFORCE_DIM;
             i++) { // a deviation above the mean: all of the step is its
            ((float *)batch.extra)[row * policy_spec_extra_dim(&t.spec) + 1 + i] = 0.1f;
        }
    }
    T_OK(algo_update(t.a, &batch, 1e-3f, NULL, result));
    assert_true(fixture_number(&config, result, "line_search_success") == 0.0f);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

static void
test_it_learns_which_action_pays(void **state)
{
    (void)state;
    config_experiment config = reinforce_fixture_rollouts(CONFIG_ALGO_TRPO);
    config.algo.scale_rewards = false;
    reinforce_fixture_learns_bandit(config, 5e-3f, 300);
}

static void
test_the_policy_learns_through_its_projection(void **state)
{
    (void)state;
    reinforce_fixture_projects(reinforce_fixture_rollouts(CONFIG_ALGO_TRPO));
}

// ---- refusals

static void
test_an_update_that_fails_later_changes_nothing(void **state)
{
    (void)state;
    reinforce_fixture_undoes(reinforce_fixture_rollouts(CONFIG_ALGO_TRPO));
}

static void
test_batches_that_cannot_be_are_refused(void **state)
{
    (void)state;
    reinforce_fixture_refuses(reinforce_fixture_rollouts(CONFIG_ALGO_TRPO));
}

static void
test_without_a_limit_of_the_divergence_there_is_none(void **state)
{
    (void)state;
    config_experiment config = reinforce_fixture_rollouts(CONFIG_ALGO_TRPO);
    config.algo.kl_max = 0;
    policy_spec spec = fixture_env(REINFORCE_OBS, REINFORCE_DIM);
    algo *a = NULL;
    oct_reason why = {""};
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
    T_ERR(algo_create(&a, NULL, &config, &spec, 1), OCT_EINVAL);
    assert_null(a);
}

// ---- state

static void
test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint(void **state)
{
    (void)state;
    reinforce_fixture_resumes(reinforce_fixture_rollouts(CONFIG_ALGO_TRPO));
}

static void
test_a_damaged_state_is_refused_whole(void **state)
{
    (void)state;
    reinforce_fixture_refuses_states(reinforce_fixture_rollouts(CONFIG_ALGO_TRPO), CONFIG_ALGO_PPO);
}

static void
test_the_entropy_cost_falls(void **state)
{
    (void)state;
    reinforce_fixture_entropy_cost_falls(reinforce_fixture_rollouts(CONFIG_ALGO_TRPO));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conjugate_gradients_solve),
        cmocka_unit_test(test_steps_are_as_long_as_the_divergence_allows),
        cmocka_unit_test(test_a_policy_that_finds_no_step_stays),
        cmocka_unit_test(test_a_step_that_makes_the_objective_worse_is_not_taken),
        cmocka_unit_test(test_it_learns_which_action_pays),
        cmocka_unit_test(test_the_policy_learns_through_its_projection),
        cmocka_unit_test(test_an_update_that_fails_later_changes_nothing),
        cmocka_unit_test(test_batches_that_cannot_be_are_refused),
        cmocka_unit_test(test_without_a_limit_of_the_divergence_there_is_none),
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint),
        cmocka_unit_test(test_a_damaged_state_is_refused_whole),
        cmocka_unit_test(test_the_entropy_cost_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
