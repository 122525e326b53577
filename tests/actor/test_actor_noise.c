// Exploration noise has its deviation and correlation, and stays within the bounds.
#include "actor/actor_noise.h"

#include <math.h>

#include "tests/support/oct_test.h"

enum { DIM = 2, ROUNDS = 20000 };

static policy_spec
spec_of(float low, float high)
{
    policy_spec spec = {.action_kind = POLICY_BOX, .action_count = DIM};
    for (int k = 0; k < DIM; k++) {
        spec.action_low[k] = low;
        spec.action_high[k] = high;
    }
    return spec;
}

static config_experiment
config_of(double noise, double noise_low, double correlation, uint64_t random_steps)
{
    config_experiment config;
    config_default(&config);
    config.actor.noise = noise;
    config.actor.noise_low = noise_low;
    config.actor.noise_correlation = correlation;
    config.actor.random_steps = random_steps;
    return config;
}

// Mean, mean square and mean product with the number before of the first action of environment 0.
struct moments {
    double mean, square, product;
};

static struct moments
noise_moments(actor_noise *noise, float greedy, uint64_t env_steps)
{
    struct moments sum = {0};
    double before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        float actions[8 * DIM];
        for (uint32_t k = 0; k < noise->envs * DIM; k++) {
            actions[k] = greedy;
        }
        uint8_t random[8];
        actor_noise_apply(noise, actions, env_steps, random);
        for (uint32_t i = 0; i < noise->envs; i++) {
            assert_int_equal(random[i], env_steps < noise->random_steps);
        }
        double x = (double)(actions[0] - greedy);
        sum.mean += x / ROUNDS;
        sum.square += x * x / ROUNDS;
        sum.product += x * before / ROUNDS;
        before = x;
    }
    return sum;
}

// The deviation is a share of half the range; bounds of the checks are 5 sigma of the estimates.
static void
test_noise_is_gaussian_with_its_deviation(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-20, 60); // half of the range is 40
    config_experiment config = config_of(0.1, 0.1, 0, 0);
    actor_noise noise;
    actor_noise_init(&noise, &config, &spec, &(actor_ladder){0, 1, 1}, 5);
    struct moments m = noise_moments(&noise, 20, 0);
    T_NEAR(m.mean, 0, 5 * 4 / sqrt(ROUNDS), 0);
    T_NEAR(m.square, 16, 5 * 16 * sqrt(2.0 / ROUNDS), 0);
    T_NEAR(m.product, 0, 5 * 16 / sqrt(ROUNDS), 0);
    actor_noise_fini(&noise);
}

static void
test_noise_with_correlation_keeps_its_deviation(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-10, 10);
    config_experiment config = config_of(0.1, 0.1, 0.8, 0);
    actor_noise noise;
    actor_noise_init(&noise, &config, &spec, &(actor_ladder){0, 1, 1}, 5);
    struct moments m = noise_moments(&noise, 0, 0);
    T_NEAR(m.square, 1, 0.1, 0);
    T_NEAR(m.product, 0.8, 0.1, 0);
    actor_noise_fini(&noise);
}

static void
test_noise_of_an_episode_begins_anew(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-10, 10);
    config_experiment config = config_of(0.1, 0.1, 0.9999, 0);
    actor_noise noise;
    actor_noise_init(&noise, &config, &spec, &(actor_ladder){0, 2, 2}, 5);
    double square = 0, product = 0;
    enum { EPISODES = 2000 };
    for (int episode = 0; episode < EPISODES; episode++) {
        float before[2][DIM], *x = noise.x;
        memcpy(before, x, sizeof(before));
        actor_noise_begin(&noise, 1);
        assert_memory_equal(before[0], x, sizeof(before[0])); // the other's goes on
        for (int k = 0; k < DIM; k++) {
            square += (double)x[DIM + k] * (double)x[DIM + k] / (EPISODES * DIM);
            product += (double)x[DIM + k] * (double)before[1][k] / (EPISODES * DIM);
        }
    }
    T_NEAR(square, 1, 5 * sqrt(2.0 / (EPISODES * DIM)), 0);
    T_NEAR(product, 0, 5 / sqrt(EPISODES * DIM), 0);
    actor_noise_fini(&noise);
}

static void
test_noise_ladder_spans_all_actors(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-1, 1);
    config_experiment config = config_of(0.7, 0.1, 0, 0);
    static const float want[] = {0.1f, 0.3f, 0.5f, 0.7f};
    for (uint32_t index = 0; index < 3; index++) {
        actor_noise noise;
        actor_noise_init(&noise, &config, &spec, &(actor_ladder){index, 2, 4}, 5);
        for (uint32_t i = 0; i < 2; i++) { // the third actor is one more than planned
            T_NEAR(noise.share[i], want[(2 * index + i) % 4], 1e-6, 0);
        }
        actor_noise_fini(&noise);
    }
    actor_noise alone;
    actor_noise_init(&alone, &config, &spec, &(actor_ladder){0, 1, 1}, 5);
    T_NEAR(alone.share[0], 0.7, 1e-6, 0);
    actor_noise_fini(&alone);
}

// What the noise of environment i makes of an action of 0 that far into the run, in units of the
// noise: its deviation as a share of half the range.
static double
noise_share(actor_noise *noise, uint32_t i, uint64_t env_steps)
{
    float actions[4 * DIM] = {0};
    uint8_t random[4];
    double x = (double)noise->x[i * DIM];
    actor_noise_apply(noise, actions, env_steps, random);
    return (double)actions[i * DIM] / x;
}

// From its own deviation to the final one over the budget, or over noise_steps, up or down, and no
// further.
static void
test_noise_changes_to_its_final_deviation(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-100, 100); // wide, so nothing is cut
    config_experiment config = config_of(0.008, 0.002, 0, 0);
    config.actor.noise_final = 0.004;
    for (int variant = 0; variant < 3; variant++) {
        bool same = variant == 1;
        config.actor.noise_final_is_same = same;
        config.run.env_steps = variant == 2 ? 1000000 : 4000;
        config.actor.noise_steps = variant == 2 ? 4000 : 0;
        actor_noise noise;
        actor_noise_init(&noise, &config, &spec, &(actor_ladder){0, 4, 4}, 5);
        static const uint64_t at[] = {0, 1000, 4000, 9000};
        static const double want[][4] = {{0.2, 0.25, 0.4, 0.4}, {0.8, 0.7, 0.4, 0.4}};
        for (int k = 0; k < 4; k++) {
            T_NEAR(noise_share(&noise, 0, at[k]), same ? 0.2 : want[0][k], 1e-6, 0);
            T_NEAR(noise_share(&noise, 3, at[k]), same ? 0.8 : want[1][k], 1e-6, 0);
        }
        actor_noise_fini(&noise);
    }
}

static void
test_noise_is_cut_at_the_bounds(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-1, 3);
    config_experiment config = config_of(10, 10, 0, 0);
    actor_noise noise;
    actor_noise_init(&noise, &config, &spec, &(actor_ladder){0, 4, 4}, 5);
    bool low = false, high = false;
    for (int round = 0; round < 100; round++) {
        float actions[4 * DIM] = {0};
        uint8_t random[4];
        actor_noise_apply(&noise, actions, 0, random);
        for (int k = 0; k < 4 * DIM; k++) {
            assert_true(actions[k] >= -1 && actions[k] <= 3);
            low = low || actions[k] == -1;
            high = high || actions[k] == 3;
        }
    }
    assert_true(low && high);
    actor_noise_fini(&noise);
}

// Uniform over the box, whatever the policy says, until the run has had its random steps.
static void
test_noise_begins_with_random_actions(void **state)
{
    (void)state;
    policy_spec spec = spec_of(0, 6);
    config_experiment config = config_of(0, 0, 0, 1000);
    actor_noise noise;
    actor_noise_init(&noise, &config, &spec, &(actor_ladder){0, 1, 1}, 5);
    struct moments m = noise_moments(&noise, 6, 999);
    T_NEAR(m.mean, -3, 0.07, 0);
    T_NEAR(m.square - m.mean * m.mean, 3, 0.2, 0); // 6^2 / 12
    m = noise_moments(&noise, 6, 1000);
    assert_true(m.square == 0);
    actor_noise_fini(&noise);
}

static void
test_noise_differs_between_actors_and_seeds(void **state)
{
    (void)state;
    policy_spec spec = spec_of(-1, 1);
    config_experiment config = config_of(0.2, 0.2, 0, 0);
    float actions[4][DIM] = {{0}};
    static const uint32_t index[4] = {0, 0, 1, 0};
    static const uint64_t seed[4] = {5, 5, 5, 6};
    for (int k = 0; k < 4; k++) {
        actor_noise noise;
        actor_noise_init(&noise, &config, &spec, &(actor_ladder){index[k], 1, 2}, seed[k]);
        uint8_t random[1];
        actor_noise_apply(&noise, actions[k], 0, random);
        actor_noise_fini(&noise);
    }
    assert_true(actions[0][0] == actions[1][0]);
    assert_true(actions[0][0] != actions[2][0] && actions[0][0] != actions[3][0]);
    assert_true(actions[0][0] != actions[0][1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_is_gaussian_with_its_deviation),
        cmocka_unit_test(test_noise_with_correlation_keeps_its_deviation),
        cmocka_unit_test(test_noise_of_an_episode_begins_anew),
        cmocka_unit_test(test_noise_ladder_spans_all_actors),
        cmocka_unit_test(test_noise_changes_to_its_final_deviation),
        cmocka_unit_test(test_noise_is_cut_at_the_bounds),
        cmocka_unit_test(test_noise_begins_with_random_actions),
        cmocka_unit_test(test_noise_differs_between_actors_and_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
