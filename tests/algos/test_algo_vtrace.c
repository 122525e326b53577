// V-trace: its targets by hand and on policy, what it asks for, that it learns, what is refused,
// saved and loaded.
#include <math.h>
#include <stdlib.h>

#include "algos/algo_advantage.h"
#include "common/oct_reason.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = REINFORCE_OBS, DIM = REINFORCE_DIM, T = REINFORCE_STEPS, B = REINFORCE_WINDOWS };

typedef reinforce_trial trial;

// ---- targets

enum { N = 7, M = 2 };

// Three steps to the end of the window, two that terminate, two that are truncated.
static uint32_t behind[N] = {ALGO_BEHIND_NEXT,    ALGO_BEHIND_NEXT, N + 0, ALGO_BEHIND_NEXT,
                             ALGO_BEHIND_NOTHING, ALGO_BEHIND_NEXT, N + 1};
static const float rewards[N] = {1, -2, 3, 0.5f, 2, -1, 4};
static const float values[N + M] = {0.5f, -1, 2, 1, -0.25f, 3, 0.75f, 8, -6};

static void
targets_of(const algo_vtrace_rule *rule, const float *ratio, float *advantage, float *target)
{
    const algo_rows rows = {.N = N, .M = M, .behind = behind};
    algo_vtrace_targets(&rows, rule, ratio, (algo_estimates){rewards, values, advantage, target});
}

static void
test_on_policy_targets_are_n_step_returns(void **state)
{
    (void)state;
    const algo_vtrace_rule rule = {.discount = 0.5f, .lambda = 1, .ratio_max = 1, .trace_max = 1};
    const float ones[N] = {1, 1, 1, 1, 1, 1, 1};
    // 3 + 8/2, -2 + 7/2, 1 + 1.5/2; 2, 0.5 + 2/2; 4 - 6/2, -1 + 1/2
    const float want[N] = {1.75f, 1.5f, 7, 1.5f, 2, -0.5f, 1};
    float advantage[N], target[N];
    targets_of(&rule, ones, advantage, target);
    for (int n = 0; n < N; n++) {
        T_NEAR((double)target[n], (double)want[n], 1e-6, 0);
        T_NEAR((double)advantage[n], (double)(want[n] - values[n]), 1e-6, 0);
    }
}

static void
test_on_policy_targets_are_those_of_generalised_advantages(void **state)
{
    (void)state;
    const algo_vtrace_rule rule = {
        .discount = 0.9f, .lambda = 0.75f, .ratio_max = 1, .trace_max = 1};
    const float ones[N] = {1, 1, 1, 1, 1, 1, 1};
    const algo_rows rows = {.N = N, .M = M, .behind = behind};
    float advantage[N], target[N], gae_advantage[N], gae_target[N];
    targets_of(&rule, ones, advantage, target);
    algo_gae(&rows, rule.discount, rule.lambda,
             (algo_estimates){rewards, values, gae_advantage, gae_target});
    for (int n = 0; n < N; n++) {
        T_NEAR((double)target[n], (double)gae_target[n], 1e-5, 0);
    }
}

// By hand: a ratio above both limits, one between them, and 0, which ends the trace.
static void
test_ratios_are_cut_and_carry_errors_back(void **state)
{
    (void)state;
    const algo_vtrace_rule rule = {.discount = 0.5f, .lambda = 1, .ratio_max = 2, .trace_max = 1};
    const float ratio[N] = {8, 1.5f, 0.5f, 0, 1, 4, 0.25f};
    // Errors: 1 - 0.5 - 0.5 = 0, -2 + 1 + 1 = 0, 3 + 4 - 2 = 5; 0.5 - 0.125 - 1 = -0.625,
    // 2 + 0.25 = 2.25; -1 + 0.375 - 3 = -3.625, 4 - 3 - 0.75 = 0.25.
    const float want[N] = {
        0.5f + 2 * 0 + 0.5f * 1 * (0.5f * 1 * 2.5f), // c is 1, not 8
        -1 + 1.5f * 0 + 0.5f * 1 * 2.5f,             // c is 1, not 1.5
        2 + 0.5f * 5,
        1, // what never happens under pi says nothing
        -0.25f + 1 * 2.25f,
        3 + 2 * -3.625f + 0.5f * 1 * 0.0625f, // rho is 2, not 4
        0.75f + 0.25f * 0.25f,
    };
    float advantage[N], target[N];
    targets_of(&rule, ratio, advantage, target);
    for (int n = 0; n < N; n++) {
        T_NEAR((double)target[n], (double)want[n], 1e-6, 0);
    }
    T_NEAR((double)advantage[0], 1 + 0.5 * (double)want[1] - 0.5, 1e-6, 0);
    T_NEAR((double)advantage[3], 0.5 + 0.5 * (double)want[4] - 1, 1e-6, 0);
    T_NEAR((double)advantage[4], 2.25, 1e-6, 0); // nothing behind
    T_NEAR((double)advantage[2], 5, 1e-6, 0);    // the window's end: V behind it
    T_NEAR((double)advantage[6], 0.25, 1e-6, 0); // truncated: V of the true last observation
}

// Sums that never vary have no deviation: what is divided by next to nothing is cut on both sides.
static void
test_scaled_rewards_are_cut_on_both_sides(void **state)
{
    (void)state;
    static const float given[] = {-3, 3};
    uint32_t ends[] = {ALGO_BEHIND_NOTHING, ALGO_BEHIND_NOTHING};
    for (size_t i = 0; i < OCT_COUNTOF(given); i++) {
        float same[] = {given[i], given[i]}, out[2];
        algo_reward_scale scale = {0};
        const algo_rows rows = {.N = 2, .behind = ends, .reward = same};
        algo_reward_scale_apply(&scale, NULL, &rows, 0.9f, out);
        T_NEAR((double)out[0], given[i] < 0 ? -10 : 10, 0, 0);
        T_NEAR((double)out[1], given[i] < 0 ? -10 : 10, 0, 0);
    }
}

static void
test_ratios_of_probabilities_are_cut_above(void **state)
{
    (void)state;
    T_NEAR((double)algo_log_ratio(-1, -20.5f), 19.5, 0, 0);
    T_NEAR((double)algo_log_ratio(-1, -22), 20, 0, 0);
    T_NEAR((double)algo_log_ratio(-200, -1), -199, 0, 0); // an action that pi never takes: no cut
    assert_true(isnan(algo_log_ratio(NAN, -1)) && isnan(algo_log_ratio(-1, NAN)));
}

// ---- the algorithm

static config_experiment
vtrace_config(void)
{
    config_experiment config = reinforce_fixture_config();
    config.algo.name = CONFIG_ALGO_VTRACE;
    config.algo.gae_lambda = 0.95;
    config.algo.ratio_max = 1;
    config.algo.trace_max = 1;
    config.algo.normalise_advantage = false;
    config.algo.scale_rewards = true;
    return config;
}

static void
test_it_asks_for_every_step_once_in_sequences(void **state)
{
    (void)state;
    config_experiment config = vtrace_config();
    config.algo.sequence_steps = 20;
    config.algo.lag_max = 7;
    policy_spec spec = fixture_env(OBS, DIM);
    algo_wants wants;
    oct_reason why;
    T_OK(algo_make_spec(&config, &spec, &wants, &why));
    assert_int_equal(wants.window, ALGO_WINDOW_SEQUENCE);
    assert_int_equal(wants.steps, 20);
    assert_int_equal(wants.stride, 20);
    assert_true(wants.each_once);
    assert_int_equal(wants.lag_max, 7);
    assert_int_equal(spec.head, POLICY_HEAD_LOGITS);
}

static void
test_it_learns_which_action_pays(void **state)
{
    (void)state;
    reinforce_fixture_learns_bandit(vtrace_config(), 5e-3f, 1500);
}

static void
test_the_policy_learns_through_its_projection(void **state)
{
    (void)state;
    reinforce_fixture_projects(vtrace_config());
}

// ---- refusals

static void
test_batches_that_cannot_be_are_refused(void **state)
{
    (void)state;
    config_experiment config = vtrace_config();
    reinforce_fixture_refuses(config);
    // Its square is finite, but not that of its deviations from the mean: what is seen after the
    // statistics of rewards, which are put back.
    config.algo.initial_deviation = 0.25;
    reinforce_fixture_refused(config, true, 2, 1, 1.5e19f, OCT_EINTERNAL);
}

// ---- state

static void
test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint(void **state)
{
    (void)state;
    reinforce_fixture_resumes(vtrace_config());
}

static void
test_a_damaged_state_is_refused_whole(void **state)
{
    (void)state;
    reinforce_fixture_refuses_states(vtrace_config(), CONFIG_ALGO_REINFORCE);
}

static void
test_the_entropy_cost_falls(void **state)
{
    (void)state;
    reinforce_fixture_entropy_cost_falls(vtrace_config());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_policy_targets_are_n_step_returns),
        cmocka_unit_test(test_on_policy_targets_are_those_of_generalised_advantages),
        cmocka_unit_test(test_ratios_are_cut_and_carry_errors_back),
        cmocka_unit_test(test_scaled_rewards_are_cut_on_both_sides),
        cmocka_unit_test(test_ratios_of_probabilities_are_cut_above),
        cmocka_unit_test(test_it_asks_for_every_step_once_in_sequences),
        cmocka_unit_test(test_it_learns_which_action_pays),
        cmocka_unit_test(test_the_policy_learns_through_its_projection),
        cmocka_unit_test(test_batches_that_cannot_be_are_refused),
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint),
        cmocka_unit_test(test_a_damaged_state_is_refused_whole),
        cmocka_unit_test(test_the_entropy_cost_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
