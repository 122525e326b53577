// Tables: what they refuse, that they are saved and loaded, that updates allocate nothing, and that
// on FrozenLake, CliffWalking, Taxi and Blackjack they come to what an exact solver finds.
#include <stdlib.h>

#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_native.h"
#include "envs/env_registry.h"
#include "tests/algos/algo_fixture.h"
#include "tests/algos/allocations.h"
#include "tests/envs/toy_solver.h"
#include "tests/support/oct_test.h"

#define STATES_MAX 704
#define STRIDE     16

static config_experiment
table_config(void)
{
    config_experiment config = fixture_config();
    config.algo.name = CONFIG_ALGO_TABLE;
    config.algo.sequence_steps = STRIDE;
    config.algo.learning_rate = 0.5;
    config.learner.batch_size = 4;
    return config;
}

static void
test_table_refuses_what_has_no_table(void **state)
{
    (void)state;
    config_experiment config = table_config();
    policy_spec floats = fixture_env(4, 2), bytes = floats, box = floats;
    fixture_spec_refused(&config, floats, "discrete observations");
    bytes.obs_dtype = POLICY_U8;
    bytes.obs_rank = 1;
    bytes.obs_shape[0] = 4;
    policy_spec pictures = bytes;
    pictures.obs_high = 255;
    fixture_spec_refused(&config, pictures, "discrete observations");
    box = bytes;
    box.action_kind = POLICY_BOX;
    fixture_spec_refused(&config, box, "discrete actions");
    config.algo.learning_rate = 1.5;
    fixture_spec_refused(&config, bytes, "algo.learning_rate: 1.5 is above 1");
    config = table_config();
    config.algo.learning_rate_final = 1.5;
    fixture_spec_refused(&config, bytes, "algo.learning_rate_final: 1.5 is above 1");
    config = table_config();
    config.learner.quantisation_aware = true;
    fixture_spec_refused(&config, bytes, "learner.quantisation_aware");
    config = table_config();
    algo_wants wants;
    T_OK(algo_make_spec(&config, &bytes, &wants, NULL));
    assert_int_equal(bytes.layer_count, 1);
    assert_int_equal(wants.steps, STRIDE + 1);
    assert_int_equal(wants.stride, STRIDE);
    assert_true(wants.each_once);
}

// One window of one step and zeros; obs[T + 1][3].
typedef struct one {
    float obs[(STRIDE + 2) * 3], reward[STRIDE + 1];
    int32_t action[STRIDE + 1];
    uint8_t flags[STRIDE + 1];
    algo_batch batch;
} one;

static void
one_make(one *o)
{
    *o = (one){.reward = {1}, .flags = {ALGO_FIRST | ALGO_TERMINATED}};
    for (int i = 0; i < STRIDE + 2; i++) {
        o->obs[3 * i] = 1;
    }
    for (int i = 1; i <= STRIDE; i++) {
        o->flags[i] = ALGO_END;
    }
    o->batch = (algo_batch){.B = 1,
                            .T = STRIDE + 1,
                            .obs = o->obs,
                            .action = o->action,
                            .reward = o->reward,
                            .flags = o->flags};
}

static void
test_table_refuses_batches_without_a_trace(void **state)
{
    (void)state;
    config_experiment config = table_config();
    algo *a = fixture_table(&config, 3, 2);
    one o;
    one_make(&o);
    o.obs[1] = 1; // two states at once
    fixture_update_refused(a, &o.batch, OCT_EINVAL);
    one_make(&o);
    o.obs[0] = 0; // none
    fixture_update_refused(a, &o.batch, OCT_EINVAL);
    one_make(&o);
    o.obs[0] = 0.5f;
    fixture_update_refused(a, &o.batch, OCT_EINVAL);
    one_make(&o);
    o.action[0] = 2;
    fixture_update_refused(a, &o.batch, OCT_EINVAL);
    one_make(&o);
    o.batch.T = STRIDE;
    fixture_update_refused(a, &o.batch, OCT_EINVAL);
    one_make(&o);
    o.reward[0] = NAN;
    fixture_update_refused(a, &o.batch, OCT_EINTERNAL);
    algo_destroy(a);
}

// Beyond 1 each step would move a value past its target, until it is not finite.
static void
test_table_refuses_rates_beyond_1(void **state)
{
    (void)state;
    static const float rates[] = {1.01f, -0.5f, INFINITY, NAN};
    config_experiment config = table_config();
    algo *a = fixture_table(&config, 3, 2);
    float result[ALGO_NUMBERS_MAX];
    one o;
    one_make(&o);
    size_t length;
    uint8_t *was = fixture_save(a, &length);
    for (size_t i = 0; i < OCT_COUNTOF(rates); i++) {
        T_ERR(algo_update(a, &o.batch, rates[i], NULL, result), OCT_EINVAL);
        uint8_t *now = fixture_save(a, &length);
        assert_memory_equal(now, was, length);
        free(now);
    }
    free(was);
    T_OK(algo_update(a, &o.batch, 1, NULL, result));
    assert_true(algo_policy_params(a)[0] == 1);
    algo_destroy(a);
}

static void
test_table_tells_all_numbers_that_it_names(void **state)
{
    (void)state;
    config_experiment config = table_config();
    algo *a = fixture_table(&config, 3, 2);
    float result[ALGO_NUMBERS_MAX];
    uint32_t count;
    one o;
    one_make(&o);
    for (size_t i = 0; i < ALGO_NUMBERS_MAX; i++) {
        result[i] = 12;
    }
    T_OK(algo_update(a, &o.batch, 0.5f, NULL, result));
    const algo_number *numbers = algo_numbers(&config, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (result[i] == 12) {
            fail_msg("no %s", numbers[i].name);
        }
    }
    algo_destroy(a);
}

static void
test_table_goes_on_after_load(void **state)
{
    (void)state;
    config_experiment config = table_config();
    algo *a = fixture_table(&config, 3, 2), *b = fixture_table(&config, 3, 2);
    one o;
    float result[ALGO_NUMBERS_MAX];
    one_make(&o);
    T_OK(algo_update(a, &o.batch, 0.5f, NULL, result));
    assert_true(algo_policy_params(a)[0] == 0.5f);
    size_t length;
    uint8_t *bytes = fixture_save(a, &length);
    oct_reader reader = {.at = bytes, .left = length};
    T_OK(algo_load(b, &reader));
    assert_int_equal(algo_updates(b), 1);
    assert_true(algo_policy_params(b)[0] == 0.5f);
    for (size_t cut = 0; cut < length; cut++) {
        fixture_load_refused(b, bytes, cut);
    }
    algo *other = fixture_table(&config, 4, 2);
    fixture_load_refused(other, bytes, length);
    float nan = NAN;
    memcpy(bytes + FIXTURE_HEADER_BYTES + 8, &nan, sizeof(nan));
    fixture_seal(bytes, length);
    fixture_load_refused(b, bytes, length);
    free(bytes);
    algo_destroy(other);
    algo_destroy(b);
    algo_destroy(a);
}

static void
test_table_updates_allocate_nothing(void **state)
{
    (void)state;
    const config_target_name targets[] = {CONFIG_TARGET_Q_LEARNING, CONFIG_TARGET_SARSA,
                                          CONFIG_TARGET_EXPECTED_SARSA};
    for (size_t i = 0; i < OCT_COUNTOF(targets); i++) {
        config_experiment config = table_config();
        config.algo.target = targets[i];
        algo *a = fixture_table(&config, 3, 2);
        one o;
        float result[ALGO_NUMBERS_MAX], priorities[1];
        one_make(&o);
        allocations_begin();
        for (int k = 0; k < 10; k++) {
            T_OK(algo_update(a, &o.batch, 0.5f, priorities, result));
        }
        allocations_expect_none();
        algo_destroy(a);
    }
}

// ---- learning, in an environment, by epsilon-greedy play

typedef struct play {
    env *e;
    algo *a;
    uint32_t states, actions;
    oct_rng rng;
    int32_t action, seen, last; // the environment's rows
    double reward;
    uint8_t flags;
    octet_env_io io;
    // A window of STRIDE + 1 rows and what is behind them.
    float *obs;
    float rewards[STRIDE + 1];
    int32_t choices[STRIDE + 1];
    uint8_t marks[STRIDE + 1];
    uint32_t rows;
} play;

static uint32_t
greedy(const play *p, uint32_t s)
{
    const float *q = algo_policy_params(p->a);
    uint32_t best = 0;
    for (uint32_t a = 1; a < p->actions; a++) {
        best = q[a * p->states + s] > q[best * p->states + s] ? a : best;
    }
    return best;
}

static void
row_add(play *p, int32_t seen, uint8_t mark, float rate)
{
    memset(p->obs + (size_t)p->rows * p->states, 0, p->states * sizeof(float));
    p->obs[(size_t)p->rows * p->states + (uint32_t)seen] = 1;
    if (p->rows == STRIDE + 1) { // the row behind the window: it is complete
        algo_batch batch = {.B = 1,
                            .T = STRIDE + 1,
                            .obs = p->obs,
                            .action = p->choices,
                            .reward = p->rewards,
                            .flags = p->marks};
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(p->a, &batch, rate, NULL, result));
        // The last row of the window is the first of the next one.
        memmove(p->obs, p->obs + (size_t)STRIDE * p->states, 2 * p->states * sizeof(float));
        p->rewards[0] = p->rewards[STRIDE];
        p->choices[0] = p->choices[STRIDE];
        p->marks[0] = p->marks[STRIDE];
        p->rows = 1;
    }
    p->rewards[p->rows] = (float)p->reward;
    p->choices[p->rows] = mark == ALGO_END ? 0 : p->action;
    p->marks[p->rows++] = mark;
}

static void
play_steps(play *p, uint32_t steps, float epsilon, float rate)
{
    for (uint32_t k = 0; k < steps; k++) {
        int32_t seen = p->seen;
        p->action = oct_rng_float(&p->rng) < epsilon ? (int32_t)oct_rng_below(&p->rng, p->actions)
                                                     : (int32_t)greedy(p, (uint32_t)seen);
        T_OK(env_step(p->e, &p->io));
        uint8_t mark = (uint8_t)(((p->flags & OCTET_ENV_TERMINATED) != 0 ? ALGO_TERMINATED : 0) |
                                 ((p->flags & OCTET_ENV_TRUNCATED) != 0 ? ALGO_TRUNCATED : 0));
        row_add(p, seen, mark, rate);
        if (mark != 0) {
            p->reward = 0;
            row_add(p, p->last, ALGO_END, rate);
        }
    }
}

static void
play_begin(play *p, const config_experiment *config, const char *id, const char *options,
           uint64_t seed)
{
    oct_reason why = {""};
    *p = (play){.rows = 0};
    env_request request = {
        .id = id, .options = options, .count = 1, .seed = seed, .autoreset = true};
    if (env_open(&p->e, &request, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    p->states = env_spec(p->e)->obs.n;
    p->actions = env_spec(p->e)->action.n;
    p->a = fixture_table(config, p->states, p->actions);
    p->obs = oct_alloc((size_t)(STRIDE + 2) * p->states * sizeof(float));
    oct_rng_init(&p->rng, seed, 1);
    p->io = (octet_env_io){.size = sizeof(p->io),
                           .action = &p->action,
                           .action_stride = sizeof(p->action),
                           .obs = &p->seen,
                           .obs_stride = sizeof(p->seen),
                           .final_obs = &p->last,
                           .final_obs_stride = sizeof(p->last),
                           .reward64 = &p->reward,
                           .flags = &p->flags};
    T_OK(env_reset(p->e, NULL, NULL, &p->io));
}

static void
play_end(play *p)
{
    algo_destroy(p->a);
    env_close(p->e);
    free(p->obs);
}

// Exact mean return of the greedy policy; model NULL: Blackjack.
static double
exact(const play *p, const char *id, const char *options, uint32_t limit)
{
    uint32_t policy[STATES_MAX];
    for (uint32_t s = 0; s < p->states; s++) {
        policy[s] = greedy(p, s);
    }
    if (strcmp(id, "Blackjack-v1") == 0) {
        return toy_blackjack_return(policy);
    }
    char reason[128];
    const octet_env_option option = {"is_slippery", "false"};
    octet_env_config config = {.size = sizeof(config), .count = 1, .options = &option};
    config.option_count = strstr(options, "is_slippery") != NULL;
    octet_env_handle *handle = NULL;
    assert_int_equal(env_registry_find(id)->create(&config, &handle, reason, sizeof(reason)), 0);
    double value = toy_return(env_native_task_of(handle)->model, policy, limit);
    env_native_destroy(handle);
    return value;
}

typedef struct trial {
    const char *id, *options;
    config_target_name target;
    double discount;
    uint32_t limit, rounds, steps; // rounds of steps; rate and epsilon fall from round to round
    float epsilon[2], rate[2];
    double least; // exact return that is reached
} trial;

static const trial trials[] = {
    // The best are 0.740 (discount 0.99), 1, -13, 7.93 and -0.0431 (tests/data/toy_text).
    {"FrozenLake-v1",
     "",
     CONFIG_TARGET_Q_LEARNING,
     0.99,
     100,
     50,
     20000,
     {1, 0.1f},
     {0.1f, 0.005f},
     0.73},
    {"FrozenLake-v1",
     "is_slippery=false",
     CONFIG_TARGET_SARSA,
     0.99,
     100,
     20,
     2000,
     {1, 0},
     {0.5f, 0.5f},
     1},
    {"CliffWalking-v1",
     "max_episode_steps=200",
     CONFIG_TARGET_Q_LEARNING,
     1,
     200,
     10,
     5000,
     {0.1f, 0.1f},
     {0.5f, 0.5f},
     -13},
    {"Taxi-v4",
     "",
     CONFIG_TARGET_Q_LEARNING,
     0.99,
     200,
     20,
     20000,
     {0.3f, 0.1f},
     {0.4f, 0.4f},
     7.9},
    {"Taxi-v4",
     "",
     CONFIG_TARGET_EXPECTED_SARSA,
     0.99,
     200,
     20,
     20000,
     {0.3f, 0.1f},
     {0.4f, 0.4f},
     7.9},
    {"Blackjack-v1",
     "",
     CONFIG_TARGET_Q_LEARNING,
     1,
     100,
     20,
     50000,
     {1, 0.5f},
     {0.1f, 0.001f},
     -0.048},
};

static void
test_tables_come_to_the_exact_optimum(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(trials); i++) {
        const trial *t = &trials[i];
        config_experiment config = table_config();
        config.algo.target = t->target;
        config.algo.target_epsilon = 0.1;
        config.algo.discount = t->discount;
        play p;
        play_begin(&p, &config, t->id, t->options, 7);
        for (uint32_t k = 0; k < t->rounds; k++) {
            float done = (float)k / (float)(t->rounds - 1);
            play_steps(&p, t->steps, t->epsilon[0] + done * (t->epsilon[1] - t->epsilon[0]),
                       t->rate[0] * powf(t->rate[1] / t->rate[0], done));
        }
        double reached = exact(&p, t->id, t->options, t->limit);
        if (!(reached >= t->least - 1e-9)) {
            fail_msg("%s %s, target %d: %g, want %g", t->id, t->options, (int)t->target, reached,
                     t->least);
        }
        play_end(&p);
    }
}

// The path along the cliff is the shortest, but not for one who slips now and then: on-policy
// methods learn to keep away from it (Sutton and Barto 2018, example 6.6).
static void
test_sarsa_keeps_away_from_the_cliff(void **state)
{
    (void)state;
    config_experiment config = table_config();
    config.algo.target = CONFIG_TARGET_EXPECTED_SARSA;
    config.algo.target_epsilon = 0.1;
    config.algo.discount = 1;
    play p;
    play_begin(&p, &config, "CliffWalking-v1", "max_episode_steps=200", 3);
    play_steps(&p, 60000, 0.1f, 0.5f);
    double reached = exact(&p, "CliffWalking-v1", "", 200);
    assert_true(reached <= -15 && reached >= -17);
    play_end(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_refuses_what_has_no_table),
        cmocka_unit_test(test_table_refuses_batches_without_a_trace),
        cmocka_unit_test(test_table_refuses_rates_beyond_1),
        cmocka_unit_test(test_table_tells_all_numbers_that_it_names),
        cmocka_unit_test(test_table_goes_on_after_load),
        cmocka_unit_test(test_table_updates_allocate_nothing),
        cmocka_unit_test(test_tables_come_to_the_exact_optimum),
        cmocka_unit_test(test_sarsa_keeps_away_from_the_cliff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
