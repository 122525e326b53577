// SAC: the temperature that it learns, and the distribution that it draws from.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "policy/policy_net.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 3, DIM = 2, B = 16 };
enum { ALPHA = ALGO_VALUE_NUMBERS, ENTROPY, POLICY_VALUE }; // of its numbers

// A bandit: every episode has one step, and the reward is worth times how near each number of the
// action is to 1. Rows have actions spread evenly.
typedef struct bandit {
    float obs[B][OBS], next[B][OBS], action[B][DIM], reward[B], discount[B], weight[B];
} bandit;

static algo_batch
bandit_batch(bandit *b, float worth)
{
    memset(b, 0, sizeof(*b));
    for (int i = 0; i < B; i++) {
        const float unit[DIM] = {-1.0f + 2.0f * (float)(i % 4) / 3.0f,
                                 -1.0f + 2.0f * (float)(i / 4) / 3.0f};
        for (int k = 0; k < DIM; k++) {
            b->action[i][k] = 2.0f * unit[k];
            b->reward[i] += worth * unit[k];
        }
        b->weight[i] = 1.0f;
    }
    return (algo_batch){
        .B = B,
        .obs = &b->obs[0][0],
        .next = &b->next[0][0],
        .action = b->action,
        .reward = b->reward,
        .discount = b->discount,
        .weight = b->weight,
    };
}

// The numbers of update number count.
static void
learn(algo *a, const algo_batch *batch, int count, float numbers[ALGO_NUMBERS_MAX])
{
    for (int i = 0; i < count; i++) {
        T_OK(algo_update(a, batch, 1e-2f, NULL, numbers));
    }
}

static void
test_the_temperature_leads_the_entropy_to_its_target(void **state)
{
    (void)state;
    const double wanted[] = {NAN, 0.5, -5.0};
    for (size_t i = 0; i < OCT_COUNTOF(wanted); i++) {
        bandit b;
        policy_spec spec;
        float numbers[ALGO_NUMBERS_MAX];
        config_experiment config = dpg_fixture_config(CONFIG_ALGO_SAC);
        config.algo.target_entropy = wanted[i];
        algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
        algo_batch batch = bandit_batch(&b, 1.0f);
        double mean = 0;
        learn(a, &batch, 1500, numbers);
        for (int n = 0; n < 200; n++) {
            learn(a, &batch, 1, numbers);
            mean += (double)numbers[ENTROPY] / 200;
        }
        T_NEAR(mean, isnan(wanted[i]) ? -DIM : wanted[i], 0.2, 0);
        assert_true(numbers[ALPHA] > 0.0f && numbers[ALPHA] != 1.0f);
        algo_destroy(a);
    }
}

// Where nothing is worth more than anything else, all that counts is entropy: actions become
// uniform, whose density is 1/2 in each dimension.
static void
test_without_rewards_the_policy_becomes_uniform(void **state)
{
    (void)state;
    bandit b;
    policy_spec spec;
    float numbers[ALGO_NUMBERS_MAX];
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_SAC);
    config.algo.temperature = 0.25;
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    algo_batch batch = bandit_batch(&b, 0.0f);
    double mean = 0;
    learn(a, &batch, 1500, numbers);
    for (int n = 0; n < 200; n++) {
        learn(a, &batch, 1, numbers);
        mean += (double)numbers[ENTROPY] / 200;
    }
    // Of tanh of a normal number the largest is 0.69, at deviation 0.87.
    T_NEAR(mean, DIM * log(2.0), 0.05, 0);
    assert_true(numbers[ALPHA] == 0.25f);
    algo_destroy(a);
}

static void
test_a_fixed_temperature_of_zero_seeks_the_return_alone(void **state)
{
    (void)state;
    bandit b;
    policy_spec spec;
    float numbers[ALGO_NUMBERS_MAX];
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_SAC);
    config.algo.temperature = 0;
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    algo_batch batch = bandit_batch(&b, 1.0f);
    learn(a, &batch, 1500, numbers);
    assert_true(numbers[ALPHA] == 0.0f && numbers[ENTROPY] < -DIM);
    T_NEAR((double)numbers[POLICY_VALUE], DIM, 0.1, 0); // the best action's reward
    algo_destroy(a);
}

// What a checkpoint has of the temperature goes on; a fixed one takes its key's value.
static void
test_the_temperature_is_saved(void **state)
{
    (void)state;
    bandit b;
    policy_spec spec;
    size_t length;
    float numbers[ALGO_NUMBERS_MAX], alpha;
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_SAC);
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    algo_batch batch = bandit_batch(&b, 1.0f);
    learn(a, &batch, 100, numbers);
    uint8_t *bytes = fixture_save(a, &length);
    learn(a, &batch, 1, numbers);
    alpha = numbers[ALPHA];
    assert_true(alpha < 0.9f);
    const double given[] = {NAN, 0.5};
    for (size_t i = 0; i < OCT_COUNTOF(given); i++) {
        config.algo.temperature = given[i];
        algo *other = dpg_fixture_algo(&spec, &config, OBS, DIM, 2);
        oct_reader reader = {.at = bytes, .left = length};
        T_OK(algo_load(other, &reader));
        learn(other, &batch, 1, numbers);
        assert_true(numbers[ALPHA] == (isnan(given[i]) ? alpha : 0.5f));
        algo_destroy(other);
    }
    free(bytes);
    algo_destroy(a);
}

static void
test_a_broken_temperature_is_refused(void **state)
{
    (void)state;
    policy_spec spec;
    size_t length, at = dpg_fixture_temperature_at() + sizeof(uint64_t);
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_SAC);
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    uint8_t *bytes = fixture_save(a, &length);
    const float bad[3] = {NAN, INFINITY, -1.0f}; // the last: a second moment
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        float kept;
        memcpy(&kept, bytes + at + i * sizeof(kept), sizeof(kept));
        memcpy(bytes + at + i * sizeof(kept), &bad[i], sizeof(kept));
        fixture_seal(bytes, length);
        fixture_load_refused(a, bytes, length);
        memcpy(bytes + at + i * sizeof(kept), &kept, sizeof(kept));
    }
    free(bytes);
    algo_destroy(a);
}

// An actor of this policy begins near the middle of the box, with deviations of about 1.
static void
test_the_first_policy_spreads_over_the_box(void **state)
{
    (void)state;
    enum { ROWS = 4096 };
    policy_spec spec;
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_SAC);
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    assert_int_equal(spec.head, POLICY_HEAD_TANH_GAUSSIAN);
    assert_int_equal(policy_spec_outputs(&spec), 2 * DIM);
    nn_net net;
    nn_context *context = nn_context_create(NULL);
    nn_net_init(&net, context, &spec, 1);
    memcpy(net.params, algo_policy_params(a), net.param_count * sizeof(float));
    const float *y = nn_net_forward(&net, (float[OBS]){1, -1, 2}, 1);
    policy_rng rng;
    policy_rng_init(&rng, 1, 2);
    int beyond = 0;
    for (int i = 0; i < ROWS; i++) {
        float action[DIM], extra[1 + DIM];
        policy_sample(&spec, NULL, y, 1, &rng, action, extra);
        beyond += fabsf(action[0]) > 1.0f;
    }
    T_NEAR((double)beyond / ROWS, 0.583, 0.1, 0); // P(|tanh N(0, 1)| > 1/2)
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_temperature_leads_the_entropy_to_its_target),
        cmocka_unit_test(test_without_rewards_the_policy_becomes_uniform),
        cmocka_unit_test(test_a_fixed_temperature_of_zero_seeks_the_return_alone),
        cmocka_unit_test(test_the_temperature_is_saved),
        cmocka_unit_test(test_a_broken_temperature_is_refused),
        cmocka_unit_test(test_the_first_policy_spreads_over_the_box),
    };
    char warning[200];
    (void)nn_blas_init(1, warning, sizeof(warning)); // idle threads would only spin
    return cmocka_run_group_tests(tests, NULL, NULL);
}
