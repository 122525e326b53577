// Algorithms of a group: ranks that have the parts of a batch learn what one learns that has all of
// it, and with the same bits as each other; what one of them refuses is refused by all.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "algos/algo_pg_numbers.h"
#include "common/oct_reason.h"
#include "nn/group/group_fork.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum {
    OBS = 5,
    DIM = 3,
    B = 24,
    T = REINFORCE_STEPS,
    UPDATES = 6,
    PARAMS_MAX = 4096,
    STATE_MAX = 1 << 17
};

typedef struct trial {
    const char *name;
    uint32_t numbers;
    config_experiment config; // of the whole batch
    bool is_box;
    bool has_windows; // of T rows, some of which have no action: parts have other numbers of them
    bool has_nan;     // the last update has one, in the last rank's part
    bool has_wild;    // and so a batch with an action that there is not
    bool is_uneven;   // the second half of the last batch has one row with an action
} trial;

typedef struct outcome {
    size_t length;
    uint8_t state[STATE_MAX];
    float params[PARAMS_MAX];
    size_t params_count;
    float numbers[ALGO_NUMBERS_MAX];
    float priority[B]; // rank 0: of all parts
    oct_err last;
} outcome;

// In copies of this process no assertion of cmocka's may fail: they end instead.
static algo_batch
batch_of(const trial *t, const policy_spec *spec, oct_rng *rng)
{
    if (t->has_windows) {
        return reinforce_fixture_batch(rng, spec, B, T);
    }
    return t->is_box ? dpg_fixture_batch(rng, B, OBS, DIM) : fixture_batch(rng, B, OBS, DIM);
}

static algo_batch
part_of(const trial *t, const policy_spec *spec, const algo_batch *whole, uint32_t rank,
        uint32_t size)
{
    size_t rows = B / size, first = rank * rows, action_bytes = t->is_box ? DIM * 4 : 4;
    algo_batch part = *whole;
    part.B = (uint32_t)rows;
    if (t->has_windows) {
        part.obs += first * (T + 1) * OBS;
        part.action = (const uint8_t *)whole->action + first * T * action_bytes;
        part.reward += first * T;
        part.flags += first * T;
        part.extra += first * T * policy_spec_extra_dim(spec);
        return part;
    }
    part.obs += first * OBS;
    part.next += first * OBS;
    part.action = (const uint8_t *)whole->action + first * action_bytes;
    part.reward += first;
    part.discount += first;
    part.weight += first;
    return part;
}

static void
batch_spoil(const trial *t, algo_batch *whole)
{
    if (t->has_nan) {
        size_t last = t->has_windows ? (B - 1) * T : B - 1;
        ((float *)(uintptr_t)whole->reward)[last] = NAN;
    }
    if (t->is_uneven) {
        size_t first = B / 2 * T;
        uint8_t *flags = (uint8_t *)(uintptr_t)whole->flags;
        flags[first] = 0;
        memset(flags + first + 1, ALGO_END, B * T - first - 1);
    }
    if (t->has_wild && t->is_box) {
        ((float *)(uintptr_t)whole->action)[B * DIM - 1] = 99;
    } else if (t->has_wild) {
        ((int32_t *)(uintptr_t)whole->action)[B - 1] = DIM;
    }
}

static void
learn(outcome *out, const trial *t, group *g)
{
    config_experiment config = t->config;
    config.learner.batch_size = B / group_size(g);
    policy_spec spec = t->is_box ? fixture_box_env(OBS, DIM) : fixture_env(OBS, DIM);
    nn_context *context = nn_context_create(&(nn_context_options){.threads = 1, .group = g});
    algo *a = NULL;
    oct_err err = algo_make_spec(&config, &spec, NULL, NULL);
    OCT_ASSERT(err == OCT_OK);
    err = algo_create(&a, context, &config, &spec, 1);
    OCT_ASSERT(err == OCT_OK);
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    for (int i = 0; i < UPDATES; i++) {
        float priority[B];
        algo_batch whole = batch_of(t, &spec, &rng);
        bool is_last = i == UPDATES - 1;
        if (is_last) {
            batch_spoil(t, &whole);
        }
        algo_batch part = part_of(t, &spec, &whole, group_rank(g), group_size(g));
        out->last = algo_update(a, &part, 1e-2f, priority, out->numbers);
        OCT_ASSERT(is_last || out->last == OCT_OK);
        if (out->last == OCT_OK) {
            group_gather(g, priority, out->priority, part.B * sizeof(float));
        }
        fixture_batch_free(&whole);
    }
    oct_writer writer = {.base = out->state, .capacity = sizeof(out->state)};
    algo_save(a, &writer);
    OCT_ASSERT(!writer.failed);
    out->length = writer.used;
    out->params_count = policy_spec_params(&spec);
    OCT_ASSERT(out->params_count <= PARAMS_MAX);
    memcpy(out->params, algo_policy_params(a), out->params_count * sizeof(float));
    algo_destroy(a);
    nn_context_destroy(context);
}

// In a group of so many; alike: all ranks have rank 0's state.
static void
learn_together(outcome *out, const trial *t, uint32_t size, bool *alike)
{
    group *g;
    T_OK(group_fork(&g, size));
    learn(out, t, g);
    uint32_t own[2] = {algo_saved_crc(out->state, out->length), (uint32_t)out->last};
    uint32_t all[GROUP_SIZE_MAX][2];
    group_gather(g, own, all, sizeof(own));
    if (group_rank(g) != 0) {
        group_destroy(g);
        _exit(0);
    }
    *alike = true;
    for (uint32_t r = 1; r < size; r++) {
        *alike &= memcmp(all[r], all[0], sizeof(own)) == 0;
    }
    group_destroy(g);
}

static void
expect_near(const float *got, const float *want, size_t count, double tolerance, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        bool both_none = isnan(got[i]) && isnan(want[i]);
        if (!both_none &&
            !(fabs((double)got[i] - (double)want[i]) <= tolerance * (1 + fabs((double)want[i])))) {
            fail_msg("%s: number %zu is %g, not %g", name, i, (double)got[i], (double)want[i]);
        }
    }
}

// as_one: and learn what one learns.
static void
expect_alike(const trial *t, bool as_one)
{
    static outcome one, together, again;
    static const uint32_t sizes[] = {2, 3};
    bool alike;
    learn(&one, t, NULL);
    assert_int_equal(one.last, OCT_OK);
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        learn_together(&together, t, sizes[i], &alike);
        assert_true(alike);
        assert_int_equal(together.last, OCT_OK);
        // Sums in another order: some roundings of each of the updates.
        if (as_one) {
            expect_near(together.params, one.params, one.params_count, 1e-5, t->name);
            expect_near(together.priority, one.priority, B, 1e-4, t->name);
            expect_near(together.numbers, one.numbers, t->numbers, 1e-4, t->name);
        }
        learn_together(&again, t, sizes[i], &alike);
        assert_int_equal(again.length, together.length);
        assert_memory_equal(again.state, together.state, again.length);
    }
}

static void
expect_refused(trial t, oct_err want)
{
    static outcome before, after;
    bool alike;
    learn_together(&after, &t, 2, &alike);
    assert_true(alike);
    assert_int_equal(after.last, want);
    learn(&before, &t, NULL); // refuses the same batch
    assert_int_equal(before.last, want);
    expect_near(after.params, before.params, before.params_count, 1e-5, t.name);
}

static trial
trial_of(config_algo_name name)
{
    trial t = {.is_box = name != CONFIG_ALGO_DQN, .numbers = ALGO_VALUE_NUMBERS};
    t.config = t.is_box ? dpg_fixture_config(name) : fixture_config();
    t.config.learner.batch_size = B;
    t.config.algo.grad_norm_max = 0.5;
    t.config.algo.target_period = 2;
    t.config.algo.target_rate = 0.1;
    t.config.algo.adam_epsilon = 1e-2; // else Adam makes steps of roundings where gradients are 0
    return t;
}

static trial
trial_of_windows(config_algo_name name, bool is_box)
{
    trial t = {.is_box = is_box, .has_windows = true, .numbers = ALGO_PG_NUMBERS};
    t.config = reinforce_fixture_method(name);
    t.config.algo.scale_rewards = true;
    t.config.learner.batch_size = B;
    t.config.algo.grad_norm_max = 0.5;
    t.config.algo.adam_epsilon = 1e-2;
    return t;
}

static void
test_two_or_three_learn_what_one_learns(void **state)
{
    (void)state;
    static const config_algo_name names[] = {CONFIG_ALGO_DQN, CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG,
                                             CONFIG_ALGO_TD3, CONFIG_ALGO_SAC};
    static const char *const words[] = {"dqn", "d4pg", "ddpg", "td3", "sac"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        trial t = trial_of(names[i]);
        t.name = words[i];
        expect_alike(&t, true);
    }
    trial two_critics = trial_of(CONFIG_ALGO_D4PG);
    two_critics.name = "d4pg of two critics";
    two_critics.config.algo.critics = 2;
    expect_alike(&two_critics, true);
    two_critics.name = "d4pg of two residual critics";
    two_critics.config.network.critic_residual = true;
    two_critics.config.network.critic_hidden = (config_ints){.count = 3, .value = {8, 8, 8}};
    expect_alike(&two_critics, true);
    for (size_t i = 1; i < OCT_COUNTOF(names); i++) {
        trial normalised = trial_of(names[i]);
        normalised.name = "normalised observations";
        normalised.config.algo.normalise_observations = true;
        expect_alike(&normalised, true);
    }
    trial rainbow = trial_of(CONFIG_ALGO_DQN);
    rainbow.name = "rainbow";
    rainbow.config.algo.distributional = rainbow.config.algo.dueling = true;
    rainbow.config.algo.noisy = true;
    rainbow.config.algo.noisy_sigma = 0.5;
    rainbow.config.algo.noisy_samples = 1;
    rainbow.config.algo.atoms = 11;
    rainbow.config.algo.value_min = -5;
    rainbow.config.algo.value_max = 5;
    expect_alike(&rainbow, true);
}

static void
test_parts_with_other_numbers_of_rows_count_by_row(void **state)
{
    (void)state;
    static const config_algo_name names[] = {CONFIG_ALGO_REINFORCE, CONFIG_ALGO_A2C,
                                             CONFIG_ALGO_PPO, CONFIG_ALGO_VTRACE, CONFIG_ALGO_TRPO};
    static const char *const words[] = {"reinforce", "a2c", "ppo", "vtrace", "trpo"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        for (int is_box = 0; is_box < 2; is_box++) {
            trial t = trial_of_windows(names[i], is_box == 1);
            t.name = words[i];
            expect_alike(&t, true);
        }
    }
}

// Each has an order of its own rows, and they stay together.
static void
test_minibatches_are_of_all_ranks_rows(void **state)
{
    (void)state;
    trial t = trial_of_windows(CONFIG_ALGO_PPO, true);
    t.name = "minibatches";
    t.config.algo.minibatches = 3;
    t.config.algo.correction = CONFIG_CORRECTION_DECOUPLED;
    expect_alike(&t, false);
}

// Rollouts end sooner where many episodes end.
static void
test_ranks_with_few_rows_make_fewer_minibatches(void **state)
{
    (void)state;
    trial t = trial_of_windows(CONFIG_ALGO_PPO, false);
    t.name = "few rows";
    t.config.algo.minibatches = B / 3 * T - 2; // some of three ranks have fewer rows
    expect_alike(&t, false);
}

// There is no room for all of a rank's rows in the one minibatch that the other has.
static void
test_ranks_that_have_too_uneven_parts_refuse_them(void **state)
{
    (void)state;
    static outcome out;
    bool alike;
    trial t = trial_of_windows(CONFIG_ALGO_PPO, false);
    t.config.algo.minibatches = 3;
    t.is_uneven = true;
    learn_together(&out, &t, 2, &alike);
    assert_true(alike);
    assert_int_equal(out.last, OCT_EINVAL);
}

static void
test_observations_are_normalised_by_all_ranks_rows(void **state)
{
    (void)state;
    static const config_algo_name names[] = {CONFIG_ALGO_A2C, CONFIG_ALGO_PPO, CONFIG_ALGO_TRPO};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        trial t = trial_of_windows(names[i], true);
        t.name = "normalised";
        t.config.algo.normalise_observations = true;
        expect_alike(&t, true);
    }
}

// Each rank moves its own part of the parameters, in which some are frozen.
static void
test_frozen_layers_are_those_of_all_ranks(void **state)
{
    (void)state;
    trial trials[] = {trial_of(CONFIG_ALGO_DQN), trial_of(CONFIG_ALGO_TD3),
                      trial_of_windows(CONFIG_ALGO_TRPO, true),
                      trial_of_windows(CONFIG_ALGO_PPO, false)};
    for (size_t i = 0; i < OCT_COUNTOF(trials); i++) {
        trials[i].name = "frozen";
        trials[i].config.learner.freeze = (config_ints){.count = 1, .value = {1}};
        expect_alike(&trials[i], true);
    }
}

static void
test_what_one_refuses_all_refuse(void **state)
{
    (void)state;
    static const config_algo_name names[] = {CONFIG_ALGO_DQN, CONFIG_ALGO_TD3, CONFIG_ALGO_SAC};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        trial t = trial_of(names[i]);
        t.name = "refused";
        t.has_nan = true;
        expect_refused(t, OCT_EINTERNAL);
        t.has_nan = false;
        t.has_wild = true;
        expect_refused(t, OCT_EINVAL);
    }
    trial ppo = trial_of_windows(CONFIG_ALGO_PPO, false);
    ppo.name = "refused";
    ppo.has_nan = true;
    expect_refused(ppo, OCT_EINTERNAL);
}

static void
test_a_table_learns_alone(void **state)
{
    (void)state;
    oct_reason why = {""};
    config_experiment config = fixture_config();
    config.algo.name = CONFIG_ALGO_TABLE;
    config.learner.count = 2;
    policy_spec spec = fixture_env(4, 2);
    T_ERR(algo_make_spec(&config, &spec, NULL, &why), OCT_EINVAL);
    assert_string_equal(why.text, "learner.count: algo.name table allows only one learner, not 2");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_or_three_learn_what_one_learns),
        cmocka_unit_test(test_parts_with_other_numbers_of_rows_count_by_row),
        cmocka_unit_test(test_minibatches_are_of_all_ranks_rows),
        cmocka_unit_test(test_ranks_with_few_rows_make_fewer_minibatches),
        cmocka_unit_test(test_ranks_that_have_too_uneven_parts_refuse_them),
        cmocka_unit_test(test_observations_are_normalised_by_all_ranks_rows),
        cmocka_unit_test(test_frozen_layers_are_those_of_all_ranks),
        cmocka_unit_test(test_what_one_refuses_all_refuse),
        cmocka_unit_test(test_a_table_learns_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
