// PPO and A2C: what they ask for, how they begin, that an update that fails in a later epoch leaves
// nothing behind, what is refused, saved and loaded.
#include <math.h>
#include <stdlib.h>

#include "nn/nn_net.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = REINFORCE_OBS, DIM = REINFORCE_DIM, T = REINFORCE_STEPS, B = REINFORCE_WINDOWS };

typedef reinforce_trial trial;

static oct_config
ppo_config(void)
{
    return reinforce_fixture_rollouts(OCT_ALGO_PPO);
}

// ---- the beginning

static void
test_they_ask_for_rollouts_each_once(void **state)
{
    (void)state;
    static const oct_algo_name names[] = {OCT_ALGO_PPO, OCT_ALGO_A2C};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        oct_config config = ppo_config();
        config.algo.name = names[i];
        config.algo.sequence_steps = 128;
        config.algo.rollout_lag = 2;
        policy_spec spec = fixture_env(OBS, DIM);
        algo_wants wants;
        char reason[128];
        T_OK(algo_make_spec(&config, &spec, &wants, reason, sizeof(reason)));
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
    oct_config config = ppo_config();
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
        oct_config config = ppo_config();
        config.algo.name = is_a2c ? OCT_ALGO_A2C : OCT_ALGO_PPO;
        trial t = reinforce_fixture_trial(config, false, 1);
        float result[ALGO_NUMBERS_MAX];
        algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
        T_OK(algo_update(t.a, &batch, 1e-3f, NULL, result));
        assert_true(fixture_number(&config, result, "gradient_steps") == (is_a2c ? 1.0f : 6.0f));
        assert_int_equal(algo_updates(t.a), 1);
        reinforce_fixture_free(&batch);
        algo_destroy(t.a);
    }
}

// The first step makes the weights useless, the second one sees it.
static void
test_an_update_that_fails_later_changes_nothing(void **state)
{
    (void)state;
    for (int is_box = 0; is_box < 2; is_box++) {
        trial t = reinforce_fixture_trial(ppo_config(), is_box, 1),
              same = reinforce_fixture_trial(ppo_config(), is_box, 1);
        reinforce_fixture_train(t.a, &t.rng, &t.spec, 2);
        reinforce_fixture_train(same.a, &same.rng, &same.spec, 2);
        algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
        float result[ALGO_NUMBERS_MAX] = {7.0f};
        T_ERR(algo_update(t.a, &batch, INFINITY, NULL, result), OCT_EINTERNAL);
        assert_true(result[0] == 7.0f);
        fixture_same_state(t.a, same.a);
        T_OK(algo_update(t.a, &batch, 1e-2f, NULL, result));
        T_OK(algo_update(same.a, &batch, 1e-2f, NULL, result));
        fixture_same_state(t.a, same.a);
        reinforce_fixture_free(&batch);
        algo_destroy(t.a);
        algo_destroy(same.a);
    }
}

static void
test_they_learn_which_action_pays(void **state)
{
    (void)state;
    for (int is_a2c = 0; is_a2c < 2; is_a2c++) {
        oct_config config = ppo_config();
        config.algo.name = is_a2c ? OCT_ALGO_A2C : OCT_ALGO_PPO;
        config.algo.normalise_advantage = false;
        reinforce_fixture_learns_bandit(config, 5e-3f, 1500);
    }
}

// ---- refusals

static void
test_batches_that_cannot_be_are_refused(void **state)
{
    (void)state;
    for (int is_box = 0; is_box < 2; is_box++) {
        reinforce_fixture_refused(ppo_config(), is_box, 0, 1, NAN, OCT_EINTERNAL);
        reinforce_fixture_refused(ppo_config(), is_box, 1, 0, INFINITY, OCT_EINTERNAL);
        reinforce_fixture_refused(ppo_config(), is_box, 2, 0, NAN, OCT_EINTERNAL);
    }
    reinforce_fixture_refused(ppo_config(), true, 3, 0, 2.5f, OCT_EINVAL);
    trial t = reinforce_fixture_trial(ppo_config(), false, 1);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
    ((int32_t *)batch.action)[0] = DIM;
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    batch.T = T - 1;
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    reinforce_fixture_free(&batch);
    algo_destroy(t.a);
}

// ---- state

static void
test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint(void **state)
{
    (void)state;
    for (int is_box = 0; is_box < 2; is_box++) {
        trial t = reinforce_fixture_trial(ppo_config(), is_box, 1),
              other = reinforce_fixture_trial(ppo_config(), is_box, 2);
        reinforce_fixture_train(t.a, &t.rng, &t.spec, 5);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        oct_reader reader = {.at = bytes, .left = length};
        T_OK(algo_load(other.a, &reader));
        oct_rng rng = t.rng; // with the order of rows and the rewards' statistics
        reinforce_fixture_train(t.a, &t.rng, &t.spec, 4);
        reinforce_fixture_train(other.a, &rng, &other.spec, 4);
        fixture_same_state(t.a, other.a);
        free(bytes);
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

static void
test_a_damaged_state_is_refused_whole(void **state)
{
    (void)state;
    trial t = reinforce_fixture_trial(ppo_config(), true, 1),
          other = reinforce_fixture_trial(ppo_config(), true, 1);
    reinforce_fixture_train(t.a, &t.rng, &t.spec, 3);
    size_t length;
    uint8_t *bytes = fixture_save(t.a, &length);
    for (size_t cut = 0; cut < length; cut += 97) {
        fixture_load_refused(other.a, bytes, cut);
    }
    const double bad[] = {NAN, -1.0}; // the sum of squares, before the checksum
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        uint8_t *copy = oct_alloc(length);
        memcpy(copy, bytes, length);
        memcpy(copy + length - 4 - sizeof(double), &bad[i], sizeof(double));
        fixture_seal(copy, length);
        fixture_load_refused(other.a, copy, length);
        free(copy);
    }
    oct_config config = ppo_config();
    config.algo.name = OCT_ALGO_A2C;
    trial a2c = reinforce_fixture_trial(config, true, 1);
    fixture_load_refused(a2c.a, bytes, length);
    free(bytes);
    algo_destroy(t.a);
    algo_destroy(other.a);
    algo_destroy(a2c.a);
}

static void
test_the_policy_learns_through_its_projection(void **state)
{
    (void)state;
    trial plain = reinforce_fixture_trial(ppo_config(), false, 1),
          twice = reinforce_fixture_trial(ppo_config(), false, 1);
    size_t count = policy_spec_params(&plain.spec);
    algo_set_projection(twice.a,
                        &(algo_projection){.arg = &count, .project = fixture_double_weights});
    float result[2][ALGO_NUMBERS_MAX];
    algo_batch batch = reinforce_fixture_batch(&plain.rng, &plain.spec, B, T);
    T_OK(algo_update(plain.a, &batch, 1e-2f, NULL, result[0]));
    T_OK(algo_update(twice.a, &batch, 1e-2f, NULL, result[1]));
    const oct_config *config = &plain.config;
    assert_true(fixture_number(config, result[0], "policy_grad_norm") !=
                fixture_number(config, result[1], "policy_grad_norm"));
    assert_true(fixture_number(config, result[0], "value") ==
                fixture_number(config, result[1], "value"));
    reinforce_fixture_free(&batch);
    algo_destroy(plain.a);
    algo_destroy(twice.a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_ask_for_rollouts_each_once),
        cmocka_unit_test(test_first_weights_are_orthogonal),
        cmocka_unit_test(test_a2c_takes_one_step_and_ppo_one_for_each_minibatch),
        cmocka_unit_test(test_an_update_that_fails_later_changes_nothing),
        cmocka_unit_test(test_they_learn_which_action_pays),
        cmocka_unit_test(test_batches_that_cannot_be_are_refused),
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint),
        cmocka_unit_test(test_a_damaged_state_is_refused_whole),
        cmocka_unit_test(test_the_policy_learns_through_its_projection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
