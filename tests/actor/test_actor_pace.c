// Versions decide how many batches are made; time only ends a wait for one that does not come.
#include "tests/support/oct_test.h"

#include "actor/actor_pace.h"

#define S UINT64_C(1000000000)

static actor_pace
pace_of(config_algo_name name, uint32_t lag, bool deterministic)
{
    config_experiment config;
    config_default(&config);
    config.algo.name = name;
    config.algo.rollout_lag = lag;
    config.run.deterministic = deterministic;
    config.actor.rollout_wait_s = 5;
    actor_pace pace;
    actor_pace_init(&pace, &config);
    return pace;
}

static void
test_pace_is_free_where_versions_do_not_decide(void **state)
{
    (void)state;
    actor_pace pace = pace_of(CONFIG_ALGO_DQN, 0, false);
    for (uint64_t i = 1; i < 100; i++) {
        assert_true(actor_pace_is_due(&pace, i * S));
        actor_pace_made(&pace, i * S);
    }
}

static void
test_pace_in_lock_step_waits_for_ever(void **state)
{
    (void)state;
    actor_pace pace = pace_of(CONFIG_ALGO_DQN, 0, true);
    assert_false(actor_pace_is_due(&pace, S));
    actor_pace_version(&pace, 0, 1, S);
    assert_true(actor_pace_is_due(&pace, S));
    actor_pace_made(&pace, S);
    assert_false(actor_pace_is_due(&pace, 1000000 * S));
    actor_pace_version(&pace, 1, 3, 1000000 * S); // some were missed: one batch all the same
    actor_pace_made(&pace, 1000000 * S);
    assert_false(actor_pace_is_due(&pace, 1000000 * S));
}

static void
test_pace_of_rollouts_is_ahead_by_the_lag(void **state)
{
    (void)state;
    actor_pace pace = pace_of(CONFIG_ALGO_PPO, 2, false);
    actor_pace_version(&pace, 0, 1, S);
    assert_int_equal(pace.due, 3);
    actor_pace_made(&pace, S);
    actor_pace_version(&pace, 1, 2, 2 * S);
    assert_int_equal(pace.due, 3);
    for (int i = 0; i < 3; i++) {
        actor_pace_made(&pace, 2 * S);
    }
    actor_pace_version(&pace, 2, 3, 3 * S);
    assert_int_equal(pace.due, 1);
    actor_pace_version(&pace, 3, 9, 3 * S);
    assert_int_equal(pace.due, 3);
}

// An update that takes 20 s is not taken for one that was lost, but the first time.
static void
test_pace_waits_for_a_slow_learner(void **state)
{
    (void)state;
    actor_pace pace = pace_of(CONFIG_ALGO_PPO, 0, false);
    actor_pace_version(&pace, 0, 1, S);
    actor_pace_made(&pace, 10 * S);
    assert_false(actor_pace_is_due(&pace, 10 * S + 4 * S));
    assert_true(actor_pace_is_due(&pace, 10 * S + 5 * S));
    actor_pace_made(&pace, 16 * S);
    assert_false(actor_pace_is_due(&pace, 16 * S + 4 * S));
    actor_pace_version(&pace, 1, 2, 30 * S); // 20 s after the first batch
    actor_pace_made(&pace, 31 * S);
    assert_false(actor_pace_is_due(&pace, 31 * S + 79 * S));
    assert_true(actor_pace_is_due(&pace, 31 * S + 80 * S));
}

// A version that came late because rollouts, or an answer with them, were lost does not make later
// waits longer, nor do several of them.
static void
test_pace_forgets_long_waits(void **state)
{
    (void)state;
    actor_pace pace = pace_of(CONFIG_ALGO_PPO, 0, false);
    uint64_t now = S;
    actor_pace_version(&pace, 0, 1, now);
    actor_pace_made(&pace, now);
    actor_pace_version(&pace, 1, 2, now += S); // a quick one
    for (uint64_t version = 2; version < 5; version++) {
        actor_pace_made(&pace, now);
        assert_false(actor_pace_is_due(&pace, now + 4 * S));
        assert_true(actor_pace_is_due(&pace, now + 5 * S));
        actor_pace_made(&pace, now += 3600 * S);
        actor_pace_version(&pace, version, version + 1, now += S);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace_is_free_where_versions_do_not_decide),
        cmocka_unit_test(test_pace_in_lock_step_waits_for_ever),
        cmocka_unit_test(test_pace_of_rollouts_is_ahead_by_the_lag),
        cmocka_unit_test(test_pace_waits_for_a_slow_learner),
        cmocka_unit_test(test_pace_forgets_long_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
