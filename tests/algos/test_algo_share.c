// Algorithms that share parameters: alone one learns what it would without; two apply gradients to
// the same parameters, of which each has what it fetched; what is not learned so is refused.
#include <stdlib.h>

#include "tests/algos/dpg_fixture.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 5, DIM = 3, B = 12, UPDATES = 7 };

static const float rate = 1e-2f;

typedef struct trial {
    config_experiment config;
    policy_spec spec;
    bool is_box, has_windows;
} trial;

static trial
trial_of(config_algo_name name)
{
    trial t = {.has_windows = name == CONFIG_ALGO_REINFORCE || name == CONFIG_ALGO_VTRACE};
    t.is_box = name != CONFIG_ALGO_DQN;
    t.config = t.has_windows ? reinforce_fixture_method(name)
               : t.is_box    ? dpg_fixture_config(name)
                             : fixture_config();
    t.config.algo.name = name;
    t.config.algo.scale_rewards = name == CONFIG_ALGO_VTRACE;
    t.config.learner.batch_size = B;
    t.config.algo.target_period = 2;
    t.config.algo.target_rate = 0.1;
    return t;
}

static trial
trial_of_rainbow(void)
{
    trial t = trial_of(CONFIG_ALGO_DQN);
    fixture_set_rainbow(&t.config);
    return t;
}

static trial
trial_of_two_residual_critics(void)
{
    trial t = trial_of(CONFIG_ALGO_D4PG);
    t.config.algo.critics = 2;
    t.config.network.critic_residual = true;
    t.config.network.critic_hidden = (config_ints){.count = 3, .value = {8, 8, 8}};
    return t;
}

static algo *
make(trial *t, uint64_t seed)
{
    t->spec = t->is_box ? fixture_box_env(OBS, DIM) : fixture_env(OBS, DIM);
    return fixture_create(&t->spec, &t->config, seed);
}

static algo_batch
batch_of(const trial *t, oct_rng *rng)
{
    return t->has_windows ? reinforce_fixture_batch(rng, &t->spec, B, REINFORCE_STEPS)
           : t->is_box    ? dpg_fixture_batch(rng, B, OBS, DIM)
                          : fixture_batch(rng, B, OBS, DIM);
}

static void *
memory_of(algo *a)
{
    size_t bytes = algo_shared_bytes(a);
    void *memory = NULL;
    assert_true(bytes > 0);
    assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
    memset(memory, 0, bytes);
    return memory;
}

static void
gradient(const trial *t, algo *a, oct_rng *rng)
{
    float numbers[ALGO_NUMBERS_MAX], priority[B];
    algo_batch batch = batch_of(t, rng);
    T_OK(algo_gradient(a, &batch, priority, numbers));
    fixture_batch_free(&batch);
}

static void
expect_one_learns_as_alone(trial t)
{
    oct_rng rngs[2];
    algo *alone = make(&t, 1), *sharing = make(&t, 1);
    void *memory = NULL;
    oct_rng_init(&rngs[0], 5, 0);
    rngs[1] = rngs[0];
    for (int i = 0; i < UPDATES; i++) {
        if (i == UPDATES / 2) { // goes on from a state
            memory = memory_of(sharing);
            algo_share(sharing, memory, 0);
        }
        gradient(&t, alone, &rngs[0]);
        algo_apply(alone, rate);
        if (memory != NULL) {
            algo_fetch(sharing);
        }
        gradient(&t, sharing, &rngs[1]);
        algo_apply(sharing, rate);
    }
    algo_fetch(sharing);
    fixture_same_state(alone, sharing);
    assert_memory_equal(algo_policy_params(alone), algo_policy_params(sharing),
                        policy_spec_params(&t.spec) * sizeof(float));
    algo_destroy(alone);
    algo_destroy(sharing);
    free(memory);
}

static const config_algo_name names[] = {CONFIG_ALGO_DQN,   CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG,
                                         CONFIG_ALGO_TD3,   CONFIG_ALGO_SAC,  CONFIG_ALGO_REINFORCE,
                                         CONFIG_ALGO_VTRACE};

static void
test_one_that_shares_with_nobody_learns_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        expect_one_learns_as_alone(trial_of(names[i]));
    }
    expect_one_learns_as_alone(trial_of_rainbow());
    expect_one_learns_as_alone(trial_of_two_residual_critics());
}

// The second one was made by another seed: it takes what the first one has.
static void
expect_two_have_one_state(trial t)
{
    oct_rng rng;
    algo *two[2] = {make(&t, 1), make(&t, 2)};
    void *memory = memory_of(two[0]);
    size_t bytes = policy_spec_params(&t.spec) * sizeof(float);
    oct_rng_init(&rng, 5, 0);
    algo_share(two[0], memory, 0);
    algo_share(two[1], memory, 1);
    for (int i = 0; i < UPDATES; i++) {
        algo_fetch(two[i % 2]);
        gradient(&t, two[i % 2], &rng);
        assert_int_equal(algo_staleness(two[i % 2]), 0);
        algo_apply(two[i % 2], rate);
        assert_int_equal(algo_updates(two[i % 2]), i + 1);
    }
    algo_fetch(two[0]);
    algo_fetch(two[1]);
    assert_int_equal(algo_updates(two[0]), UPDATES);
    assert_int_equal(algo_updates(two[1]), UPDATES);
    assert_memory_equal(algo_policy_params(two[0]), algo_policy_params(two[1]), bytes);
    algo_destroy(two[0]);
    algo_destroy(two[1]);
    free(memory);
}

static void
test_two_have_one_set_of_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        expect_two_have_one_state(trial_of(names[i]));
    }
    expect_two_have_one_state(trial_of_rainbow());
    expect_two_have_one_state(trial_of_two_residual_critics());
}

// Of two gradients at the same parameters the second one is applied to what the first one left;
// what was fetched stays as it was meanwhile.
static void
test_a_gradient_is_as_old_as_the_updates_of_others_since(void **state)
{
    (void)state;
    trial t = trial_of(CONFIG_ALGO_DQN);
    algo *two[2] = {make(&t, 1), make(&t, 1)};
    void *memory = memory_of(two[0]);
    size_t count = policy_spec_params(&t.spec);
    float *fetched = calloc(count, sizeof(float)), *first = calloc(count, sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_share(two[0], memory, 0);
    algo_share(two[1], memory, 1);
    algo_fetch(two[0]);
    algo_fetch(two[1]);
    memcpy(fetched, algo_policy_params(two[1]), count * sizeof(float));
    gradient(&t, two[1], &rng);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(algo_staleness(two[1]), i);
        algo_fetch(two[0]);
        gradient(&t, two[0], &rng);
        algo_apply(two[0], rate);
    }
    assert_int_equal(algo_staleness(two[1]), 3);
    assert_int_equal(algo_updates(two[1]), 0);
    assert_memory_equal(algo_policy_params(two[1]), fetched, count * sizeof(float));
    algo_fetch(two[0]);
    memcpy(first, algo_policy_params(two[0]), count * sizeof(float));
    assert_memory_not_equal(first, fetched, count * sizeof(float));
    algo_apply(two[1], rate);
    assert_int_equal(algo_updates(two[1]), 4);
    algo_fetch(two[0]);
    for (size_t i = 0; i < count; i++) { // one step of Adam, not the way back
        T_NEAR(algo_policy_params(two[0])[i], first[i], 10 * rate, 0);
    }
    assert_memory_not_equal(algo_policy_params(two[0]), first, count * sizeof(float));
    algo_destroy(two[0]);
    algo_destroy(two[1]);
    free(memory);
    free(fetched);
    free(first);
}

// Policies that learn at every other gradient do so whoever computes it.
static void
test_turns_are_of_all_learners(void **state)
{
    (void)state;
    trial t = trial_of(CONFIG_ALGO_TD3);
    algo *two[2] = {make(&t, 1), make(&t, 1)};
    void *memory = memory_of(two[0]);
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_share(two[0], memory, 0);
    algo_share(two[1], memory, 1);
    for (uint64_t i = 0; i < 4; i++) {
        algo_fetch(two[0]);
        algo_fetch(two[1]);
        gradient(&t, two[0], &rng);
        gradient(&t, two[1], &rng);
        assert_int_equal(two[0]->turn, 2 * i + 1);
        assert_int_equal(two[1]->turn, 2 * i + 2);
    }
    algo_destroy(two[0]);
    algo_destroy(two[1]);
    free(memory);
}

// The same batch at the same parameters.
static void
expect_noise_of_its_own(trial t)
{
    algo *two[2] = {make(&t, 1), make(&t, 1)};
    void *memory = memory_of(two[0]);
    float numbers[2][ALGO_NUMBERS_MAX], priority[B];
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_batch batch = batch_of(&t, &rng);
    for (uint32_t r = 0; r < 2; r++) {
        algo_share(two[r], memory, r);
        algo_fetch(two[r]);
        T_OK(algo_gradient(two[r], &batch, priority, numbers[r]));
    }
    assert_true(numbers[0][ALGO_LOSS] < numbers[1][ALGO_LOSS] ||
                numbers[0][ALGO_LOSS] > numbers[1][ALGO_LOSS]);
    fixture_batch_free(&batch);
    algo_destroy(two[0]);
    algo_destroy(two[1]);
    free(memory);
}

static void
test_each_learner_has_noise_of_its_own(void **state)
{
    (void)state;
    trial td3 = trial_of(CONFIG_ALGO_TD3);
    td3.config.algo.target_noise = 0.2;
    td3.config.algo.target_noise_clip = 0.5;
    expect_noise_of_its_own(td3);
    expect_noise_of_its_own(trial_of(CONFIG_ALGO_SAC));
    expect_noise_of_its_own(trial_of_rainbow());
}

static void
test_seeds_near_each_other_give_no_learner_the_same(void **state)
{
    (void)state;
    uint64_t seed[8 * 7];
    size_t count = 0;
    for (uint32_t given = 0; given < 8; given++) {
        for (uint32_t learner = 1; learner < 8; learner++) {
            algo_sharing sharing = {.carver.base = (char *)seed, .learner = learner};
            seed[count] = given;
            assert_true(algo_share_own_seed(&sharing, &seed[count]));
            for (size_t i = 0; i < count; i++) {
                assert_true(seed[i] != seed[count]);
            }
            count++;
        }
    }
}

static void
test_what_needs_a_common_update_is_refused(void **state)
{
    (void)state;
    static const config_algo_name others[] = {CONFIG_ALGO_PPO, CONFIG_ALGO_A2C, CONFIG_ALGO_TRPO};
    static const char *const words[] = {"ppo", "a2c", "trpo"};
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        char want[64];
        config_experiment config = reinforce_fixture_rollouts(others[i]);
        config.learner.asynchronous = true;
        policy_spec spec = fixture_env(OBS, DIM);
        T_OK(algo_make_spec(&config, &spec, NULL, NULL)); // with one learner it says nothing
        config.learner.count = 2;
        (void)snprintf(want, sizeof(want), "algo.name %s", words[i]);
        fixture_spec_refused(&config, spec, want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_shares_with_nobody_learns_the_same_bits),
        cmocka_unit_test(test_two_have_one_set_of_parameters),
        cmocka_unit_test(test_a_gradient_is_as_old_as_the_updates_of_others_since),
        cmocka_unit_test(test_turns_are_of_all_learners),
        cmocka_unit_test(test_each_learner_has_noise_of_its_own),
        cmocka_unit_test(test_seeds_near_each_other_give_no_learner_the_same),
        cmocka_unit_test(test_what_needs_a_common_update_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
