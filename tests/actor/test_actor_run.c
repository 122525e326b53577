// The acting core records every step once and handles failing environments. odd_env observes seed,
// episode and step, and its reward is the number of the step plus a tenth of the action.
#include "actor/actor_run.h"
#include "tests/actor/actor_session.h"

enum { ODD_OBS = 3 };

static const actor_seed some_seed = {7, 0, 0};

// A session of the odd environment whose policy always takes action 1.
static session *
odd_session(const char *options, uint32_t envs, uint32_t batch_steps)
{
    config_experiment config = fixture_config(odd_path());
    config.actor.batch_steps = batch_steps;
    return session_open(&config, options, envs, fixture_policy(ODD_OBS, 5, 0, -1), some_seed);
}

static void
test_run_refuses_what_no_batch_can_hold(void **state)
{
    (void)state;
    config_experiment config = fixture_config(odd_path());
    policy_net *net = fixture_policy(ODD_OBS, 1, 0, 0);
    env *e = fixture_env(odd_path(), "", WIRE_BATCH_COUNT_MAX / 2, 1);
    actor_run *run = NULL;
    T_ERR(actor_run_create(&run, e, &config, policy_net_spec(net), &some_seed), OCT_EINVAL);
    env_close(e);
    policy_net_destroy(net);
}

// The learner waits for rollouts of the length that it was told.
static void
test_run_refuses_rollouts_that_no_batch_can_hold(void **state)
{
    (void)state;
    enum { STEPS = 1024, ENVS = 51 }; // 1282 rows of each
    config_experiment config = fixture_config(odd_path());
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = STEPS;
    config.replay.capacity = 2 * WIRE_BATCH_COUNT_MAX; // two versions
    policy_net *net = fixture_policy(ODD_OBS, 1, 0, 0);
    actor_run *run = NULL;
    env *e = fixture_env(odd_path(), "", ENVS + 1, 1);
    T_ERR(actor_run_create(&run, e, &config, policy_net_spec(net), &some_seed), OCT_EINVAL);
    env_close(e);
    e = fixture_env(odd_path(), "", ENVS, 1);
    T_OK(actor_run_create(&run, e, &config, policy_net_spec(net), &some_seed));
    assert_int_equal(actor_run_shape(run)->steps, ENVS * STEPS);
    actor_run_destroy(run);
    policy_net_destroy(net);
}

static void
test_run_says_when_the_environment_is_broken(void **state)
{
    (void)state;
    session *s = odd_session("error_at=3", 2, 8);
    T_OK(actor_run_step(s->run, s->batch));
    T_OK(actor_run_step(s->run, s->batch));
    T_ERR(actor_run_step(s->run, s->batch), OCT_EINTERNAL);
    assert_non_null(strstr(actor_run_error(s->run), "the odd environment is broken"));
    session_close(s);
}

// ---- rows

// However episodes end and wherever batches are cut, the rows are what happened.
static void
test_run_records_what_happened(void **state)
{
    (void)state;
    static const char *const options[] = {
        "length=5",
        "length=1",
        "length=4,spread=3,truncate=1",
        "length=7,truncate=2",
        "length=1,truncate=2",
        "length=0",
        "length=6,nan_at=4,nan_once=1",
        "length=6,nan_at=6,nan_once=1",
        "length=6,nan_at=1,nan_once=1",
        "length=5,nan_at=3",
        "length=3,spread=2,nan_at=4",
        "length=1,nan_at=1",
    };
    static const uint32_t batch_steps[] = {1, 7, 24, 300};
    for (size_t i = 0; i < OCT_COUNTOF(options); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(batch_steps); k++) {
            session *s = odd_session(options[i], 1 + (uint32_t)k % SESSION_ENVS, batch_steps[k]);
            session_steps(s, 60, 0);
            session_compare(s);
            session_close(s);
        }
    }
}

// Stopped after any number of steps, what was sent is a beginning of what would have been.
static void
test_run_stopped_at_any_batch_has_recorded_all_before(void **state)
{
    (void)state;
    for (uint32_t every = 1; every <= 9; every++) {
        for (uint32_t steps = 1; steps <= 20; steps += 1 + every % 3) {
            session *s = odd_session("length=4,spread=1,truncate=2", 3, 300);
            session_steps(s, steps, every);
            session_compare(s);
            session_close(s);
        }
    }
}

static void
test_run_records_what_happened_in_cartpole(void **state)
{
    (void)state;
    config_experiment config = fixture_config("CartPole-v1");
    config.actor.epsilon_base = 0.5;
    config.actor.epsilon_power = 1;
    session *s = session_open(&config, "", 3, fixture_policy(4, 5, 0, 0), some_seed);
    session_steps(s, 800, 0);
    session_compare(s);
    assert_true(actor_run_numbers(s->run)->episode_count > 20);
    session_close(s);
}

static void
assert_rows(const session *s, uint32_t stream, const uint8_t *flags, const float *steps,
            uint32_t count)
{
    assert_int_equal(s->count[stream], count);
    for (uint32_t row = 0; row < count; row++) {
        assert_int_equal(s->rows[stream][row].flags, flags[row]);
        T_NEAR(s->rows[stream][row].obs[2], steps[row], 0, 0);
    }
}

// The flags of both ways to end stand on the row of the last action; the end row holds the
// observation that followed it.
static void
test_run_marks_how_episodes_end(void **state)
{
    (void)state;
    static const uint8_t ends[] = {WIRE_TERMINATED, WIRE_TRUNCATED,
                                   WIRE_TERMINATED | WIRE_TRUNCATED};
    static const float steps[] = {0, 1, 2, 0, 1, 2, 0};
    for (size_t i = 0; i < OCT_COUNTOF(ends); i++) {
        char options[32];
        (void)snprintf(options, sizeof(options), "length=2,truncate=%zu", i);
        session *s = odd_session(options, 1, 100);
        session_steps(s, 5, 0);
        const uint8_t flags[] = {WIRE_FIRST, ends[i],  WIRE_END,  WIRE_FIRST,
                                 ends[i],    WIRE_END, WIRE_FIRST};
        assert_rows(s, 0, flags, steps, OCT_COUNTOF(steps));
        T_NEAR(s->rows[0][0].reward, 1.1, 0, 1e-6); // as the environment gave it
        T_NEAR(s->rows[0][1].reward, 2.1, 0, 1e-6);
        T_NEAR(s->rows[0][2].reward, 0, 0, 0);
        session_close(s);
    }
}

// Step 3 fails: what was seen before it closes the episode. An episode whose first step fails never
// was.
static void
test_run_closes_an_episode_that_failed(void **state)
{
    (void)state;
    session *s = odd_session("length=4,nan_at=3,nan_once=1", 1, 100);
    session_steps(s, 4, 0);
    static const uint8_t flags[] = {WIRE_FIRST, 0, WIRE_END | WIRE_FAILED, WIRE_FIRST};
    static const float steps[] = {0, 1, 2, 0};
    assert_rows(s, 0, flags, steps, OCT_COUNTOF(steps));
    assert_int_equal(actor_run_numbers(s->run)->failures, 1);
    assert_int_equal(actor_run_numbers(s->run)->episode_count, 0);
    session_close(s);

    s = odd_session("length=4,nan_at=1,nan_once=1", 1, 100);
    session_steps(s, 3, 0);
    static const uint8_t later[] = {WIRE_FIRST, 0};
    assert_rows(s, 0, later, steps, 2);
    assert_int_equal(actor_run_numbers(s->run)->failures, 1);
    session_close(s);
}

// Nothing is learned from an environment that always fails, and nothing grows.
static void
test_run_of_an_environment_that_always_fails(void **state)
{
    (void)state;
    session *s = odd_session("nan_at=1", 2, 8);
    session_steps(s, 100, 0);
    assert_int_equal(s->count[0] + s->count[1], 0);
    assert_int_equal(actor_run_numbers(s->run)->rows, 0);
    assert_int_equal(actor_run_numbers(s->run)->failures, 200);
    assert_int_equal(actor_run_numbers(s->run)->failures_each, 100);
    assert_string_equal(actor_run_numbers(s->run)->failure,
                        "environment 1: the reward is not finite");
    session_close(s);
}

// It fails in each step; the others have an episode that goes on.
static void
test_run_of_an_environment_that_is_never_reset_beside_others(void **state)
{
    (void)state;
    session *s = odd_session("length=0,shut=100000", 3, 3000);
    session_steps(s, 900, 0);
    const actor_numbers *numbers = actor_run_numbers(s->run);
    assert_int_equal(numbers->failures, 900);
    assert_int_equal(numbers->failures_each, 0);
    assert_int_equal(numbers->rows, 1800);
    session_close(s);
}

// Without end it would only seem to wait. A step asks for a reset of both, then of each.
static void
test_run_ends_where_no_environment_can_be_reset(void **state)
{
    (void)state;
    session *s = odd_session("length=0,nan_at=1,nan_once=1,reset_errors=300", 2, 300);
    for (int t = 1; t < 100; t++) {
        T_OK(actor_run_step(s->run, s->batch));
    }
    T_ERR(actor_run_step(s->run, s->batch), OCT_EINTERNAL);
    assert_non_null(strstr(actor_run_error(s->run), "environment 1: "));
    assert_non_null(strstr(actor_run_error(s->run), "the odd environment is broken"));
    session_close(s);
}

// The first reset asks for both and for each, the first step for environment 1 twice.
static void
test_run_begins_though_an_environment_cannot(void **state)
{
    (void)state;
    session *s = odd_session("length=5,shut=3", 2, 300);
    session_steps(s, 6, 0);
    assert_int_equal(actor_run_numbers(s->run)->failures, 1);
    const float steps[] = {0, 1, 2, 3, 4, 5, 0};
    const uint8_t flags[] = {WIRE_FIRST, 0, 0, 0, WIRE_TERMINATED, WIRE_END, WIRE_FIRST};
    assert_rows(s, 0, flags, steps, 7);
    assert_rows(s, 1, flags, steps, 6);
    uint64_t seed = actor_seed_of(&some_seed, ACTOR_SEED_ENV, 0);
    T_NEAR(s->rows[0][0].obs[0], (float)(seed % 65536), 0, 0);
    session_close(s);
}

static void
test_run_ends_where_no_environment_can_begin(void **state)
{
    (void)state;
    session *s = odd_session("shut=2", 1, 300); // of all, of one
    T_ERR(actor_run_step(s->run, s->batch), OCT_EINTERNAL);
    assert_string_equal(actor_run_error(s->run), "Odd-v0: reset: the odd environment is broken");
    session_close(s);
}

// Twice 60 steps in which the environment cannot be reset, with others between them. Such a step
// asks twice.
static void
test_run_counts_steps_without_a_reset_in_a_row(void **state)
{
    (void)state;
    session *s = odd_session("nan_at=1,reset_errors=120,shut=120,shut_from=140", 1, 300);
    session_steps(s, 150, 0);
    assert_int_equal(actor_run_numbers(s->run)->failures, 150);
    session_close(s);
}

// In step 100 environment 1 is reset, and in step 101 environment 0.
static void
test_run_goes_on_while_an_environment_can_be_reset(void **state)
{
    (void)state;
    session *s = odd_session("length=0,nan_at=1,nan_once=1,reset_errors=299", 2, 1000);
    session_steps(s, 300, 0);
    assert_int_equal(actor_run_numbers(s->run)->failures, 201);
    assert_int_equal(s->count[0], 199);
    assert_int_equal(s->count[1], 200);
    session_close(s);
}

static void
test_run_notes_which_version_acted(void **state)
{
    (void)state;
    session *s = odd_session("length=5", 2, 100);
    policy_net *second = fixture_policy(ODD_OBS, 9, 0, 1); // always action 0
    for (int t = 0; t < 12; t++) {
        if (t == 7) {
            actor_run_set_policy(s->run, second);
        }
        T_OK(actor_run_step(s->run, s->batch));
        s->steps++;
    }
    session_seal(s); // one batch: two runs of each environment
    session_compare(s);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(s->count[i], 12 + 2);
        for (uint32_t row = 0; row < s->count[i]; row++) {
            const session_row *kept = &s->rows[i][row];
            bool early = row < 5 + 1 + 2;
            assert_int_equal(kept->version, early ? 5 : 9);
            assert_true((kept->flags & WIRE_END) != 0 || kept->action == (early ? 1 : 0));
        }
    }
    assert_int_equal(actor_run_numbers(s->run)->policy_version, 9);
    session_close(s);
    policy_net_destroy(second);
}

// A batch that is given up leaves a hole in the numbers, never two rows of one number.
static void
test_run_numbers_go_on_over_a_dropped_batch(void **state)
{
    (void)state;
    session *s = odd_session("length=5", 2, 100);
    T_OK(actor_run_step(s->run, s->batch));
    T_OK(actor_run_step(s->run, s->batch));
    actor_run_open_batch(s->run, s->batch);
    for (int t = 0; t < 4; t++) {
        T_OK(actor_run_step(s->run, s->batch));
    }
    actor_batch_seal(s->batch);
    assert_int_equal(s->batch->run_count, 2);
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(s->batch->run_first[k], 2);
        assert_int_equal(s->batch->run_rows[k], 5); // 3 to the end, the end, the next one's first
    }
    assert_int_equal(s->batch->flags[0], 0); // in the middle of its episode
    assert_int_equal(s->batch->flags[4], WIRE_FIRST);
    session_close(s);
}

// A rollout ends with a row of its own where no episode just did, and what follows goes on behind
// that: as a new episode.
static void
test_run_numbers_go_on_over_rollouts(void **state)
{
    (void)state;
    enum { STEPS = 3, ROLLOUTS = 3, ENVS = 2 };
    // 3 steps of 5; 2, and 1 of 5; to 4 of 5.
    static const uint8_t want[] = {WIRE_FIRST | WIRE_ROLLOUT,
                                   0,
                                   0,
                                   WIRE_END | WIRE_ROLLOUT,
                                   WIRE_FIRST | WIRE_ROLLOUT,
                                   WIRE_TERMINATED,
                                   WIRE_END,
                                   WIRE_FIRST,
                                   WIRE_END | WIRE_ROLLOUT,
                                   WIRE_FIRST | WIRE_ROLLOUT,
                                   0,
                                   0,
                                   WIRE_END | WIRE_ROLLOUT};
    config_experiment config = fixture_config(odd_path());
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = STEPS;
    config.replay.capacity = 2 * WIRE_BATCH_COUNT_MAX; // two versions
    session *s =
        session_open(&config, "length=5", ENVS, fixture_policy(ODD_OBS, 5, 0, -1), some_seed);
    for (int rollout = 0; rollout < ROLLOUTS; rollout++) {
        for (int t = 0; t < STEPS; t++) {
            assert_true(actor_batch_has_room(s->batch, actor_run_shape(s->run)));
            T_OK(actor_run_step(s->run, s->batch));
            s->steps++;
        }
        actor_run_end_rollout(s->run, s->batch);
        session_seal(s); // looks at the numbers
    }
    for (uint32_t i = 0; i < ENVS; i++) {
        assert_int_equal(s->count[i], OCT_COUNTOF(want));
        for (uint32_t row = 0; row < s->count[i]; row++) {
            assert_int_equal(s->rows[i][row].flags, want[row]);
        }
    }
    assert_int_equal(actor_run_numbers(s->run)->rows, ENVS * OCT_COUNTOF(want));
    session_close(s);
}

// The row that ends a rollout shows the policy's view of where the environment is.
static void
test_run_ends_rollouts_with_one_hot_rows(void **state)
{
    (void)state;
    enum { STEPS = 3, ROLLOUTS = 40, ENVS = 3, CELLS = 16 };
    const uint32_t widths[] = {CELLS, 8, 4};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    spec.obs_dtype = POLICY_U8;
    oct_rng rng;
    oct_rng_init(&rng, 5, 3);
    policy_net *net = net_of(random_image(&spec, POLICY_FP32, false, &rng));
    config_experiment config = fixture_config("FrozenLake-v1");
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = STEPS;
    config.replay.capacity = 2 * WIRE_BATCH_COUNT_MAX; // two versions
    session *s = session_open(&config, "", ENVS, net, some_seed);
    session_rollouts(s, ROLLOUTS, STEPS);
    uint32_t ends = 0;  // of rollouts in the middle of an episode
    uint32_t cells = 0; // that were seen, a bit for each
    for (uint32_t i = 0; i < ENVS; i++) {
        bool continues = false;
        for (uint32_t row = 0; row < s->count[i]; row++) {
            const uint8_t *obs = (const uint8_t *)s->rows[i][row].obs;
            uint8_t flags = s->rows[i][row].flags;
            uint32_t ones = 0, others = 0;
            for (uint32_t k = 0; k < CELLS; k++) {
                ones += obs[k] == 1;
                cells |= (uint32_t)(obs[k] == 1) << k;
                others += obs[k] > 1;
            }
            assert_int_equal(ones, 1);
            assert_int_equal(others, 0);
            if (continues && flags == (WIRE_END | WIRE_ROLLOUT) && row + 1 < s->count[i]) {
                ends++;
                assert_memory_equal(obs, s->rows[i][row + 1].obs, CELLS);
            }
            continues = (flags & (WIRE_TERMINATED | WIRE_TRUNCATED)) == 0;
        }
    }
    assert_true(ends > ROLLOUTS);
    assert_true(__builtin_popcount(cells) > 4); // they move
    session_close(s);
}

// ---- numbers

static void
test_run_counts_each_step_of_a_repeated_action(void **state)
{
    (void)state;
    static const char options[] = "length=9,action_repeat=4";
    config_experiment config = fixture_config(odd_path());
    (void)snprintf(config.env.options, sizeof(config.env.options), "%s", options);
    session *s = session_open(&config, options, 2, fixture_policy(ODD_OBS, 5, 0, -1), some_seed);
    T_OK(actor_run_step(s->run, s->batch));
    assert_int_equal(actor_run_numbers(s->run)->env_steps, 8);
    assert_int_equal(actor_run_numbers(s->run)->rows, 2);
    assert_int_equal(s->batch->env_steps, 8);
    session_close(s);
}

static void
test_run_counts_steps_and_rows(void **state)
{
    (void)state;
    session *s = odd_session("length=5", 3, 24);
    session_steps(s, 60, 0);
    const actor_numbers *numbers = actor_run_numbers(s->run);
    assert_int_equal(numbers->env_steps, 180);
    assert_int_equal(numbers->rows, 180 + 36);
    assert_int_equal(numbers->policy_version, 5);
    assert_int_equal(numbers->failures, 0);
    session_close(s);
}

static void
test_run_tells_each_episode(void **state)
{
    (void)state;
    session *s = odd_session("length=5", 2, 8);
    session_steps(s, 14, 0);
    actor_numbers *numbers = actor_run_numbers(s->run);
    assert_int_equal(numbers->episode_count, 4);
    assert_int_equal(numbers->episode_length[0], 5);
    T_NEAR(numbers->episode_return[0], 15.5, 0, 1e-6);
    assert_int_equal(numbers->ended, 4);
    session_close(s);
}

// Neither what the environment says of it, nor what was earned in a part that failed.
static void
test_run_adds_up_the_rewards_itself(void **state)
{
    (void)state;
    session *s = odd_session("length=5,no_sums=1,nan_at=3,nan_once=1", 2, 8);
    session_steps(s, 3 + 10, 0); // two steps and one that fails, then two episodes
    actor_numbers *numbers = actor_run_numbers(s->run);
    assert_int_equal(numbers->failures, 2);
    assert_int_equal(numbers->episode_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(numbers->episode_length[i], 5);
        T_NEAR(numbers->episode_return[i], 15.5, 0, 1e-6);
    }
    session_close(s);
}

static void
test_run_counts_episodes_that_nobody_asked_for(void **state)
{
    (void)state;
    session *s = odd_session("length=1", 2, 8);
    session_steps(s, ACTOR_EPISODES_MAX / 2 + 3, 0);
    actor_numbers *numbers = actor_run_numbers(s->run);
    assert_int_equal(numbers->episode_count, ACTOR_EPISODES_MAX);
    assert_int_equal(numbers->episodes_lost, 6);
    assert_int_equal(numbers->ended, ACTOR_EPISODES_MAX + 6);
    session_close(s);
}

// ---- seeds

static bool
same_rows(const session *a, const session *b)
{
    return memcmp(a->count, b->count, sizeof(a->count)) == 0 &&
           memcmp(a->rows, b->rows, sizeof(a->rows)) == 0;
}

// All randomness of a session, exploration and environments, is that of its seed.
static void
test_run_repeats_itself_with_its_seed_and_with_no_other(void **state)
{
    (void)state;
    static const actor_seed seeds[] = {{7, 0, 0}, {7, 0, 0}, {8, 0, 0}, {7, 0, 1}, {7, 1, 0}};
    session *first = NULL;
    for (size_t i = 0; i < OCT_COUNTOF(seeds); i++) {
        config_experiment config = fixture_config("CartPole-v1");
        config.actor.epsilon_base = config.actor.epsilon_power = 1;
        session *s = session_open(&config, "", 2, fixture_policy(4, 1, 0, 0), seeds[i]);
        session_steps(s, 100, 0);
        session_compare(s);
        if (first == NULL) {
            first = s;
            continue;
        }
        assert_int_equal(same_rows(first, s), i == 1);
        if (i > 1) { // another beginning, and other actions
            assert_true(memcmp(first->rows[0][0].obs, s->rows[0][0].obs, 16) != 0);
        }
        session_close(s);
    }
    session_close(first);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_refuses_what_no_batch_can_hold),
        cmocka_unit_test(test_run_refuses_rollouts_that_no_batch_can_hold),
        cmocka_unit_test(test_run_says_when_the_environment_is_broken),
        cmocka_unit_test(test_run_closes_an_episode_that_failed),
        cmocka_unit_test(test_run_of_an_environment_that_always_fails),
        cmocka_unit_test(test_run_of_an_environment_that_is_never_reset_beside_others),
        cmocka_unit_test(test_run_ends_where_no_environment_can_be_reset),
        cmocka_unit_test(test_run_begins_though_an_environment_cannot),
        cmocka_unit_test(test_run_ends_where_no_environment_can_begin),
        cmocka_unit_test(test_run_counts_steps_without_a_reset_in_a_row),
        cmocka_unit_test(test_run_goes_on_while_an_environment_can_be_reset),
        cmocka_unit_test(test_run_numbers_go_on_over_a_dropped_batch),
        cmocka_unit_test(test_run_numbers_go_on_over_rollouts),
        cmocka_unit_test(test_run_ends_rollouts_with_one_hot_rows),
        cmocka_unit_test(test_run_marks_how_episodes_end),
        cmocka_unit_test(test_run_records_what_happened),
        cmocka_unit_test(test_run_stopped_at_any_batch_has_recorded_all_before),
        cmocka_unit_test(test_run_records_what_happened_in_cartpole),
        cmocka_unit_test(test_run_notes_which_version_acted),
        cmocka_unit_test(test_run_counts_steps_and_rows),
        cmocka_unit_test(test_run_counts_each_step_of_a_repeated_action),
        cmocka_unit_test(test_run_tells_each_episode),
        cmocka_unit_test(test_run_adds_up_the_rewards_itself),
        cmocka_unit_test(test_run_counts_episodes_that_nobody_asked_for),
        cmocka_unit_test(test_run_repeats_itself_with_its_seed_and_with_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
