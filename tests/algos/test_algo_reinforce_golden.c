// REINFORCE, PPO, A2C, V-trace and TRPO against numpy float64, whose gradients come from the
// complex step: tools/golden_reinforce.py, tools/golden_ppo.py, tools/golden_vtrace.py,
// tools/golden_trpo.py.
#include <stdlib.h>

#include "algos/algo_pair.h"
#include "algos/algo_rows.h"
#include "tests/algos/golden_file.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

static const char *const net_names[] = {"policy", "value"};

typedef struct trial {
    golden_file *golden;
    uint32_t obs, dim, B, T, steps;
    config_experiment config;
    policy_spec spec;
    algo *a;
} trial;

static config_experiment
golden_config(const golden_file *g, uint32_t B, uint32_t T)
{
    config_experiment config = reinforce_fixture_config();
    golden_network(g, &config);
    golden_adam(g, &config);
    golden_critic(g, &config);
    config.algo.discount = golden_number(g, "discount");
    config.algo.reward_clip = golden_number(g, "reward_clip");
    config.algo.normalise_advantage = golden_number(g, "normalise") != 0;
    config.algo.ratio_max = golden_number(g, "ratio_max");
    config.algo.entropy_cost = golden_number(g, "entropy_cost");
    config.algo.value_cost = golden_number(g, "value_cost");
    config.algo.sequence_steps = T;
    config.learner.batch_size = B;
    return config;
}

// What only algorithms on rollouts have.
static void
golden_rollouts(const golden_file *g, config_experiment *config)
{
    static const config_algo_name names[] = {CONFIG_ALGO_PPO, CONFIG_ALGO_A2C, CONFIG_ALGO_TRPO};
    config->algo.name = names[(size_t)golden_number(g, "algorithm")];
    config->algo.correction = (config_correction_name)golden_number(g, "correction");
    config->algo.sequence_steps = (uint32_t)golden_number(g, "rollout_steps");
    config->algo.gae_lambda = golden_number(g, "gae_lambda");
    config->algo.epochs = (uint32_t)golden_number(g, "epochs");
    config->algo.minibatches = (uint32_t)golden_number(g, "minibatches");
    config->algo.clip = golden_number(g, "clip");
    config->algo.value_clip = golden_number(g, "value_clip");
    config->algo.kl_max = golden_number(g, "kl_max");
    config->algo.scale_rewards = golden_number(g, "scale_rewards") != 0;
    config->algo.mean_noise = golden_number(g, "mean_noise");
    config->algo.normalise_observations = golden_number(g, "normalise_observations") != 0;
    if (config->algo.name == CONFIG_ALGO_TRPO) {
        config->algo.cg_iterations = (uint32_t)golden_number(g, "cg_iterations");
        config->algo.cg_damping = golden_number(g, "cg_damping");
        config->algo.line_search_steps = (uint32_t)golden_number(g, "line_search_steps");
        config->algo.line_search_shrink = golden_number(g, "line_search_shrink");
    }
}

// What only V-trace has, beside REINFORCE.
static void
golden_vtrace(const golden_file *g, config_experiment *config)
{
    config->algo.name = CONFIG_ALGO_VTRACE;
    config->algo.gae_lambda = golden_number(g, "gae_lambda");
    config->algo.trace_max = golden_number(g, "trace_max");
    config->algo.scale_rewards = golden_number(g, "scale_rewards") != 0;
}

typedef void more_keys(const golden_file *g, config_experiment *config);

static size_t
net_params(const trial *t, uint32_t net)
{
    policy_spec value = reinforce_fixture_value(&t->config, &t->spec);
    return policy_spec_params(net == 0 ? &t->spec : &value);
}

// The golden file's first weights go in the way a checkpoint does.
static void
load_first_weights(trial *t)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    for (uint32_t net = 0; net < OCT_COUNTOF(net_names); net++) {
        char name[32];
        size_t count = net_params(t, net);
        (void)snprintf(name, sizeof(name), "%s.params", net_names[net]);
        golden_put_floats(bytes +
                              reinforce_fixture_part_at(&t->config, &t->spec, net, FIXTURE_PARAMS),
                          golden_array(t->golden, name, count), count);
    }
    fixture_load_changed(t->a, bytes, length);
    free(bytes);
}

static trial
trial_make(const char *name, more_keys *more)
{
    trial t = {.golden = golden_open(name)};
    const double *shape = golden_array(t.golden, "shape", 5);
    t.obs = (uint32_t)shape[0];
    t.dim = (uint32_t)shape[1];
    t.B = (uint32_t)shape[2];
    t.T = (uint32_t)shape[3];
    t.steps = (uint32_t)shape[4];
    t.config = golden_config(t.golden, t.B, t.T);
    if (more != NULL) {
        more(t.golden, &t.config);
    }
    t.spec = fixture_env(t.obs, t.dim);
    if (golden_number(t.golden, "box") != 0) {
        t.spec.action_kind = POLICY_BOX;
        golden_bounds(t.golden, &t.spec);
    }
    t.a = fixture_create(&t.spec, &t.config, 1);
    load_first_weights(&t);
    return t;
}

static algo_batch
golden_batch(const trial *t, uint32_t step)
{
    const golden_file *g = t->golden;
    size_t rows = (size_t)t->B * t->T;
    bool is_box = t->spec.action_kind == POLICY_BOX;
    uint8_t *flags = oct_alloc(rows);
    int32_t *choice = oct_alloc(rows * sizeof(*choice));
    for (size_t i = 0; i < rows; i++) {
        flags[i] = (uint8_t)golden_array(g, "flags", rows)[i];
        choice[i] = is_box ? 0 : (int32_t)golden_step(g, step, "action", rows)[i];
    }
    algo_batch batch = {
        .B = t->B,
        .T = t->T,
        .obs = golden_step_floats(g, step, "obs", (size_t)t->B * (t->T + 1) * t->obs),
        .action = choice,
        .reward = golden_step_floats(g, step, "reward", rows),
        .flags = flags,
        .extra = golden_step_floats(g, step, "extra", rows * policy_spec_extra_dim(&t->spec)),
    };
    if (is_box) {
        free(choice);
        batch.action = golden_step_floats(g, step, "action", rows * t->dim);
    }
    return batch;
}

static void
expect_part(const trial *t, uint32_t step, uint32_t net, fixture_part part, const char *name,
            double tolerance, double relative)
{
    char full[32];
    size_t length, count = net_params(t, net);
    uint8_t *bytes = fixture_save(t->a, &length);
    const uint8_t *at = bytes + reinforce_fixture_part_at(&t->config, &t->spec, net, part);
    (void)snprintf(full, sizeof(full), "%s.%s", net_names[net], name);
    golden_near_floats(at, golden_step(t->golden, step, full, count), count, tolerance, relative);
    free(bytes);
}

// fp32 against float64, as in test_algo_dpg_golden.c; advantages divided by their deviation lose
// about a digit more than values do, and steps of conjugate gradients one more.
static void
check_case(const char *name, more_keys *more)
{
    trial t = trial_make(name, more);
    double tolerance = t.config.algo.name == CONFIG_ALGO_TRPO ? 5e-5 : 6e-6;
    uint32_t numbers;
    const algo_number *number = algo_numbers(&t.config, &numbers);
    for (uint32_t step = 1; step <= t.steps; step++) {
        algo_batch batch = golden_batch(&t, step);
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(t.a, &batch, (float)t.config.algo.learning_rate, NULL, result));
        for (uint32_t i = 0; i < numbers; i++) {
            T_NEAR((double)result[i], golden_step(t.golden, step, number[i].name, 1)[0], 8e-6,
                   8e-6);
        }
        for (uint32_t net = 0; net < OCT_COUNTOF(net_names); net++) {
            expect_part(&t, step, net, FIXTURE_FIRST_MOMENT, "m", 4e-7, 2e-5);
            expect_part(&t, step, net, FIXTURE_SECOND_MOMENT, "v", 1e-8, 4e-5);
            expect_part(&t, step, net, FIXTURE_PARAMS, "params", tolerance, 0);
        }
        fixture_batch_free(&batch);
    }
    algo_destroy(t.a);
    golden_close(t.golden);
}

static void
test_softmax_with_normalised_advantages_and_entropy_equals_numpy(void **state)
{
    (void)state;
    check_case("reinforce_softmax", NULL);
}

static void
test_softmax_with_clipped_rewards_and_gradients_equals_numpy(void **state)
{
    (void)state;
    check_case("reinforce_softmax_plain", NULL);
}

static void
test_gaussian_and_its_deviations_equal_numpy(void **state)
{
    (void)state;
    check_case("reinforce_gaussian", NULL);
}

static void
test_epochs_of_shuffled_minibatches_with_clipping_equal_numpy(void **state)
{
    (void)state;
    check_case("ppo_softmax", golden_rollouts);
}

static void
test_decoupled_ratios_and_scaled_rewards_equal_numpy(void **state)
{
    (void)state;
    check_case("ppo_gaussian", golden_rollouts);
}

static void
test_normalised_observations_equal_numpy(void **state)
{
    (void)state;
    check_case("ppo_gaussian_normalised", golden_rollouts);
    check_case("trpo_softmax_normalised", golden_rollouts);
}

static void
test_means_that_move_equal_numpy(void **state)
{
    (void)state;
    check_case("ppo_gaussian_moved", golden_rollouts);
}

static void
test_an_update_ends_where_numpy_ends_it(void **state)
{
    (void)state;
    check_case("ppo_softmax_stops", golden_rollouts);
}

static void
test_a2c_equals_numpy(void **state)
{
    (void)state;
    check_case("a2c_softmax", golden_rollouts);
    check_case("a2c_gaussian", golden_rollouts);
}

static void
test_vtrace_equals_numpy(void **state)
{
    (void)state;
    check_case("vtrace_softmax", golden_vtrace);
    check_case("vtrace_softmax_cut", golden_vtrace);
    check_case("vtrace_gaussian", golden_vtrace);
}

// The Fisher matrix of the first weights, over the first batch, times a vector.
static void
check_fisher(const char *name)
{
    trial t = trial_make(name, golden_rollouts);
    algo_batch batch = golden_batch(&t, 1);
    algo_rows rows;
    algo_pair pair;
    nn_tangent tangent;
    nn_context *context = nn_context_create(NULL);
    size_t count = policy_spec_params(&t.spec);
    T_OK(algo_rows_init(&rows, context, &t.spec, t.B, t.T, 0));
    T_OK(algo_rows_take(&rows, &batch));
    T_OK(algo_pair_init(&pair, context, &t.config, &t.spec, t.B * t.T, 1));
    nn_tangent_init(&tangent, &pair.policy.tape);
    memcpy(pair.policy.tape.net.params, algo_policy_params(t.a), count * sizeof(float));
    float *log_pi = oct_alloc(rows.N * sizeof(float)), *entropy = oct_alloc(rows.N * sizeof(float));
    float *product = oct_alloc(count * sizeof(float));
    float *direction = golden_step_floats(t.golden, 1, "direction", count);
    const double *want = golden_step(t.golden, 1, "fisher", count);
    algo_pair_forward(&pair, rows.x, algo_rows_done(&rows), log_pi, entropy);
    algo_pair_fisher(&pair, &tangent, direction, product);
    for (size_t i = 0; i < count; i++) {
        T_NEAR((double)product[i], want[i], 2e-6, 2e-6);
    }
    free(log_pi);
    free(entropy);
    free(product);
    free(direction);
    nn_tangent_fini(&tangent);
    algo_pair_fini(&pair);
    algo_rows_fini(&rows);
    nn_context_destroy(context);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
    golden_close(t.golden);
}

static void
test_products_with_the_fisher_matrix_equal_numpy(void **state)
{
    (void)state;
    check_fisher("trpo_softmax");
    check_fisher("trpo_gaussian");
}

static void
test_natural_steps_and_their_line_search_equal_numpy(void **state)
{
    (void)state;
    check_case("trpo_softmax", golden_rollouts);
    check_case("trpo_gaussian", golden_rollouts);
    check_case("trpo_stays", golden_rollouts);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_with_normalised_advantages_and_entropy_equals_numpy),
        cmocka_unit_test(test_softmax_with_clipped_rewards_and_gradients_equals_numpy),
        cmocka_unit_test(test_gaussian_and_its_deviations_equal_numpy),
        cmocka_unit_test(test_epochs_of_shuffled_minibatches_with_clipping_equal_numpy),
        cmocka_unit_test(test_decoupled_ratios_and_scaled_rewards_equal_numpy),
        cmocka_unit_test(test_normalised_observations_equal_numpy),
        cmocka_unit_test(test_means_that_move_equal_numpy),
        cmocka_unit_test(test_an_update_ends_where_numpy_ends_it),
        cmocka_unit_test(test_a2c_equals_numpy),
        cmocka_unit_test(test_vtrace_equals_numpy),
        cmocka_unit_test(test_products_with_the_fisher_matrix_equal_numpy),
        cmocka_unit_test(test_natural_steps_and_their_line_search_equal_numpy),
    };
    golden_begin(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
