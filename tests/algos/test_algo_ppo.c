// PPO and A2C: what they ask for, how they begin, that an update that fails in a later epoch leaves
// nothing behind, what is refused, saved and loaded.
#include <math.h>
#include <stdlib.h>

#include "algos/algo_transfer.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "nn/nn_net.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = REINFORCE_OBS, DIM = REINFORCE_DIM, T = REINFORCE_STEPS, B = REINFORCE_WINDOWS };

typedef reinforce_trial trial;

static config_experiment
ppo_config(void)
{
    return reinforce_fixture_rollouts(CONFIG_ALGO_PPO);
}

static config_experiment
normalising_config(void)
{
    config_experiment config = ppo_config();
    config.algo.normalise_observations = true;
    return config;
}

// ---- the beginning

static void
test_they_ask_for_rollouts_each_once(void **state)
{
    (void)state;
    static const config_algo_name names[] = {CONFIG_ALGO_PPO, CONFIG_ALGO_A2C};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        config_experiment config = ppo_config();
        config.algo.name = names[i];
        config.algo.sequence_steps = 128;
        config.algo.rollout_lag = 2;
        policy_spec spec = fixture_env(OBS, DIM);
        algo_wants wants;
        oct_reason why;
        T_OK(algo_make_spec(&config, &spec, &wants, &why));
        assert_int_equal(wants.window, ALGO_WINDOW_ROLLOUT);
        assert_int_equal(wants.steps, 128 + 32 + 1);
        assert_true(wants.each_once);
        assert_int_equal(wants.lag_max, 2);
        assert_int_equal(spec.head, POLICY_HEAD_LOGITS);
    }
}

// All actions are about as likely as each other at first; a box has the deviation asked for.
static void
test_first_weights_are_orthogonal(void **state)
{
    (void)state;
    config_experiment config = ppo_config();
    config.algo.initial_deviation = 0.25;
    trial t = reinforce_fixture_trial(config, true, 1);
    nn_context *context = nn_context_create(NULL);
    nn_net net;
    nn_net_init(&net, context, &t.spec, 1);
    memcpy(net.params, algo_policy_params(t.a), net.param_count * sizeof(*net.params));
    const nn_layer *first = &net.layers[0], *last = &net.layers[net.layer_count - 1];
    for (uint32_t i = 0; i < first->columns; i++) { // fewer than units: the columns
        for (uint32_t k = 0; k <= i; k++) {
            double dot = 0;
            for (uint32_t o = 0; o < first->units; o++) {
                const float *row = net.params + first->at.weight + (size_t)o * first->columns;
                dot += (double)row[i] * (double)row[k];
            }
            T_NEAR(dot, i == k ? 2.0 : 0.0, 1e-5, 0);
        }
    }
    double squares = 0;
    for (uint32_t i = 0; i < last->columns; i++) {
        double weight = (double)net.params[last->at.weight + i];
        squares += weight * weight;
    }
    T_NEAR(sqrt(squares), 0.01, 1e-6, 0);
    const float *log_std = net.params + policy_spec_deviation(&t.spec);
    T_NEAR((double)log_std[0], log(0.25), 1e-6, 0);
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(t.a);
}

// ---- updates

static void
test_a2c_takes_one_step_and_ppo_one_for_each_minibatch(void **state)
{
    (void)state;
    for (int is_a2c = 0; is_a2c < 2; is_a2c++) {
        config_experiment config = ppo_config();
        config.algo.name = is_a2c ? CONFIG_ALGO_A2C : CONFIG_ALGO_PPO;
        trial t = reinforce_fixture_trial(config, false, 1);
        float result[ALGO_NUMBERS_MAX];
        algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
        // A supervisor sees each minibatch: a whole update may take minutes.
        oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WORKS);
        uint64_t beats = oct_pulse_last_beat(OCT_PULSE_WORK) / 4;
        T_OK(algo_update(t.a, &batch, 1e-3f, NULL, result));
        assert_true(fixture_number(&config, result, "gradient_steps") == (is_a2c ? 1.0f : 6.0f));
        assert_int_equal(oct_pulse_last_beat(OCT_PULSE_WORK) / 4 - beats, is_a2c ? 1 : 6);
        assert_int_equal(oct_pulse_doing_of(oct_pulse_last_beat(OCT_PULSE_WORK)), OCT_PULSE_WORKS);
        assert_int_equal(algo_updates(t.a), 1);
        fixture_batch_free(&batch);
        algo_destroy(t.a);
    }
}

// Its advantage is no distance from a mean.
static void
test_a_minibatch_of_one_row_teaches_the_policy(void **state)
{
    (void)state;
    config_experiment config = ppo_config();
    config.algo.minibatches = B * T;
    config.algo.entropy_cost = 0;
    config.algo.epochs = 1;
    trial t = reinforce_fixture_trial(config, false, 1);
    float result[ALGO_NUMBERS_MAX];
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
    T_OK(algo_update(t.a, &batch, 1e-3f, NULL, result));
    assert_true(fixture_number(&config, result, "policy_grad_norm") > 0);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

static void
test_an_update_that_fails_later_changes_nothing(void **state)
{
    (void)state;
    reinforce_fixture_undoes(ppo_config());
    reinforce_fixture_undoes(normalising_config());
}

static void
test_they_learn_which_action_pays(void **state)
{
    (void)state;
    for (int is_a2c = 0; is_a2c < 2; is_a2c++) {
        config_experiment config = ppo_config();
        config.algo.name = is_a2c ? CONFIG_ALGO_A2C : CONFIG_ALGO_PPO;
        config.algo.normalise_advantage = false;
        reinforce_fixture_learns_bandit(config, 5e-3f, 1500);
    }
}

// ---- normalised observations

// x -> spread x + shift, by powers of two, so that no number is rounded.
static algo_batch
batch_stretch(algo_batch batch)
{
    static const float spread[] = {0.125f, 64.0f, 1.0f};
    static const float shift[] = {4.0f, -32.0f, 0.0f};
    float *obs = (float *)(uintptr_t)batch.obs;
    for (size_t i = 0; i < (size_t)batch.B * (batch.T + 1) * OBS; i++) {
        size_t k = OCT_MIN(i % OBS, 2u);
        obs[i] = spread[k] * roundf(obs[i] * 256.0f) / 256.0f + shift[k];
    }
    return batch;
}

static nn_net
policy_net(nn_context *context, const trial *t, uint32_t rows)
{
    nn_net net;
    nn_net_init(&net, context, &t->spec, rows);
    memcpy(net.params, algo_policy_params(t->a), net.param_count * sizeof(*net.params));
    return net;
}

// log mu of what batch did becomes that of net, which reads observations as they are.
static void
batch_acted(algo_batch *batch, nn_net *net)
{
    const float *y = nn_net_forward(net, batch->obs, batch->B * (batch->T + 1));
    for (uint32_t row = 0; row < batch->B * batch->T; row++) {
        const float *of = y + (size_t)(row / batch->T * (batch->T + 1) + row % batch->T) * DIM;
        double sum = 0;
        for (uint32_t k = 0; k < DIM; k++) {
            sum += exp((double)of[k]);
        }
        ((float *)(uintptr_t)batch->extra)[row] =
            of[((const int32_t *)batch->action)[row]] - (float)log(sum);
    }
}

// What is published reads observations as they are, and computes what was learned: the next update
// finds the ratio to be that of the same probabilities, whatever the observations' units.
static void
test_what_is_published_reads_raw_observations(void **state)
{
    (void)state;
    enum { ROWS = B * (T + 1) };
    trial t = reinforce_fixture_trial(normalising_config(), false, 1);
    nn_context *context = nn_context_create(NULL);
    for (int i = 0; i < 3; i++) {
        float result[ALGO_NUMBERS_MAX];
        algo_batch batch = batch_stretch(reinforce_fixture_batch(&t.rng, &t.spec, B, T));
        nn_net net = policy_net(context, &t, ROWS);
        batch_acted(&batch, &net);
        T_OK(algo_update(t.a, &batch, 1e-2f, NULL, result));
        T_NEAR((double)fixture_number(&t.config, result, "ratio_mean"), 1.0, 1e-5, 0);
        T_NEAR((double)fixture_number(&t.config, result, "kl"), 0.0, 1e-6, 0);
        nn_net_fini(&net);
        fixture_batch_free(&batch);
    }
    nn_context_destroy(context);
    algo_destroy(t.a);
}

// Learning does not depend on the units that observations are in, from the first statistics on.
static void
test_units_of_observations_do_not_matter(void **state)
{
    (void)state;
    enum { ROWS = B * (T + 1) };
    config_experiment config = normalising_config();
    config.algo.adam_beta1 = config.algo.adam_beta2 = 0; // nothing of the first gradient is kept
    trial t = reinforce_fixture_trial(config, false, 1);
    trial other = reinforce_fixture_trial(config, false, 1);
    nn_context *context = nn_context_create(NULL);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 6; i++) {
        algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
        algo_batch wide = reinforce_fixture_batch(&other.rng, &other.spec, B, T);
        float *obs = (float *)(uintptr_t)batch.obs, *wide_obs = (float *)(uintptr_t)wide.obs;
        for (size_t k = 0; k < (size_t)ROWS * OBS; k++) {
            wide_obs[k] = k % OBS == 1 ? 64.0f * obs[k] : obs[k];
        }
        float rate = i == 0 ? 0.0f : 1e-2f; // before there are any, they do
        T_OK(algo_update(t.a, &batch, rate, NULL, result));
        T_OK(algo_update(other.a, &wide, rate, NULL, result));
        nn_net net = policy_net(context, &t, ROWS), wide_net = policy_net(context, &other, ROWS);
        const float *y = nn_net_forward(&net, obs, ROWS);
        const float *wide_y = nn_net_forward(&wide_net, wide_obs, ROWS);
        for (uint32_t k = 0; k < ROWS * DIM; k++) {
            T_NEAR((double)wide_y[k], (double)y[k], 2e-4, 2e-4);
        }
        nn_net_fini(&net);
        nn_net_fini(&wide_net);
        fixture_batch_free(&batch);
        fixture_batch_free(&wide);
    }
    nn_context_destroy(context);
    algo_destroy(t.a);
    algo_destroy(other.a);
}

// Always projects to the same weights. expected: what an update begins with; NULL behind that.
typedef struct constant_projection {
    const float *weights, *expected;
    size_t count;
} constant_projection;

static void
constant_project(void *arg, const float *params, float *out)
{
    constant_projection *constant = arg;
    for (size_t i = 0; constant->expected != NULL && i < constant->count; i++) {
        T_NEAR((double)params[i], (double)constant->expected[i], 1e-5, 1e-5);
    }
    constant->expected = NULL;
    memcpy(out, constant->weights, constant->count * sizeof(*out));
}

// A projection sees, and gives, weights for observations as they are: an update that follows what
// the projected policy did finds it to be the same policy in every epoch.
static void
test_a_projection_is_of_what_is_published(void **state)
{
    (void)state;
    enum { ROWS = B * (T + 1) };
    trial t = reinforce_fixture_trial(normalising_config(), false, 1);
    trial other = reinforce_fixture_trial(normalising_config(), false, 2);
    nn_context *context = nn_context_create(NULL);
    nn_net net = policy_net(context, &other, ROWS);
    constant_projection constant = {.weights = net.params, .count = net.param_count};
    algo_set_projection(t.a, &(algo_projection){.arg = &constant, .project = constant_project});
    float *begun = oct_alloc(net.param_count * sizeof(*begun));
    for (int i = 0; i < 3; i++) {
        float result[ALGO_NUMBERS_MAX];
        algo_batch batch = batch_stretch(reinforce_fixture_batch(&t.rng, &t.spec, B, T));
        batch_acted(&batch, &net);
        memcpy(begun, algo_policy_params(t.a), net.param_count * sizeof(*begun));
        constant.expected = begun;
        T_OK(algo_update(t.a, &batch, 1e-2f, NULL, result));
        assert_null(constant.expected);
        assert_memory_not_equal(algo_policy_params(t.a), begun, net.param_count * sizeof(*begun));
        T_NEAR((double)fixture_number(&t.config, result, "ratio_mean"), 1.0, 1e-4, 0);
        T_NEAR((double)fixture_number(&t.config, result, "update_kl"), 0.0, 1e-5, 0);
        fixture_batch_free(&batch);
    }
    free(begun);
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(t.a);
    algo_destroy(other.a);
}

static void
nobody(void *arg, const algo_taken *taken)
{
    (void)arg;
    (void)taken;
}

// A policy that was taken from elsewhere stays what it is behind the first update; a value that
// began anew is that of a run that took nothing.
static void
test_a_value_that_begins_anew_begins_as_ever(void **state)
{
    (void)state;
    trial from = reinforce_fixture_trial(normalising_config(), false, 1);
    trial t = reinforce_fixture_trial(normalising_config(), false, 2);
    trial fresh = reinforce_fixture_trial(normalising_config(), false, 2);
    trial *both[] = {&t, &fresh};
    algo_network own[ALGO_NETWORKS_MAX], others[ALGO_NETWORKS_MAX];
    size_t bytes = policy_spec_params(&t.spec) * sizeof(float);
    assert_true(algo_take(t.a, &t.spec,
                          &(algo_source){&from.spec, NULL, algo_policy_params(from.a)}, nobody,
                          NULL) > 0);
    for (size_t i = 0; i < OCT_COUNTOF(both); i++) {
        float result[ALGO_NUMBERS_MAX];
        algo_batch batch =
            batch_stretch(reinforce_fixture_batch(&both[i]->rng, &both[i]->spec, B, T));
        T_OK(algo_update(both[i]->a, &batch, 0.0f, NULL, result));
        fixture_batch_free(&batch);
    }
    (void)t.a->ops->networks(t.a, own);
    (void)fresh.a->ops->networks(fresh.a, others);
    assert_memory_equal(own[1].net->params, others[1].net->params,
                        own[1].net->param_count * sizeof(float));
    assert_memory_equal(algo_policy_params(t.a), algo_policy_params(from.a), bytes);
    assert_memory_not_equal(algo_policy_params(fresh.a), algo_policy_params(from.a), bytes);
    algo_destroy(from.a);
    algo_destroy(t.a);
    algo_destroy(fresh.a);
}

static void
test_what_cannot_be_normalised_is_refused(void **state)
{
    (void)state;
    fixture_normalising_refused(normalising_config(), fixture_env(OBS, DIM));
}

// ---- refusals

static void
test_batches_that_cannot_be_are_refused(void **state)
{
    (void)state;
    reinforce_fixture_refuses(ppo_config());
}

// ---- state

static void
test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint(void **state)
{
    (void)state;
    reinforce_fixture_resumes(ppo_config());
    reinforce_fixture_resumes(normalising_config());
}

static void
test_a_damaged_state_is_refused_whole(void **state)
{
    (void)state;
    reinforce_fixture_refuses_states(ppo_config(), CONFIG_ALGO_A2C);
    reinforce_fixture_refuses_states(normalising_config(), CONFIG_ALGO_A2C);
}

static void
test_the_policy_learns_through_its_projection(void **state)
{
    (void)state;
    reinforce_fixture_projects(ppo_config());
    reinforce_fixture_projects(normalising_config());
}

static void
test_the_entropy_cost_falls(void **state)
{
    (void)state;
    reinforce_fixture_entropy_cost_falls(ppo_config());
    reinforce_fixture_entropy_cost_falls(reinforce_fixture_rollouts(CONFIG_ALGO_A2C));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_ask_for_rollouts_each_once),
        cmocka_unit_test(test_first_weights_are_orthogonal),
        cmocka_unit_test(test_a2c_takes_one_step_and_ppo_one_for_each_minibatch),
        cmocka_unit_test(test_a_minibatch_of_one_row_teaches_the_policy),
        cmocka_unit_test(test_an_update_that_fails_later_changes_nothing),
        cmocka_unit_test(test_they_learn_which_action_pays),
        cmocka_unit_test(test_what_is_published_reads_raw_observations),
        cmocka_unit_test(test_units_of_observations_do_not_matter),
        cmocka_unit_test(test_a_projection_is_of_what_is_published),
        cmocka_unit_test(test_a_value_that_begins_anew_begins_as_ever),
        cmocka_unit_test(test_what_cannot_be_normalised_is_refused),
        cmocka_unit_test(test_batches_that_cannot_be_are_refused),
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint),
        cmocka_unit_test(test_a_damaged_state_is_refused_whole),
        cmocka_unit_test(test_the_policy_learns_through_its_projection),
        cmocka_unit_test(test_the_entropy_cost_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
