// Exploration follows its ladder of epsilons, anneals linearly, and differs between actors.
#include "actor/actor_explore.h"
#include "tests/support/oct_test.h"

static actor_explore
explore_of(uint32_t index, uint32_t envs, uint32_t total, double base, double power,
           uint64_t anneal)
{
    actor_explore explore;
    const config_experiment config = {
        .actor = {.epsilon_base = base, .epsilon_power = power, .epsilon_anneal_steps = anneal}};
    actor_explore_init(&explore, &config, 4, &(actor_ladder){index, envs, total}, 1);
    return explore;
}

// 0.4^k with k spaced evenly from 1 to 8, as Ape-X and Acme have it: numpy.logspace(1, 8, 5,
// base=0.4).
static void
test_explore_ladder_is_geometric(void **state)
{
    (void)state;
    static const double want[] = {0.4, 0.0804764, 0.0161909, 0.00325740, 0.00065536};
    for (uint32_t i = 0; i < 5; i++) {
        actor_explore explore = explore_of(i, 1, 5, 0.4, 8, 0);
        T_NEAR(actor_explore_epsilon(&explore, 0, 0), want[i], 0, 1e-4);
        actor_explore_fini(&explore);
    }
}

static void
test_explore_ladder_spans_all_actors(void **state)
{
    (void)state;
    actor_explore whole = explore_of(0, 6, 6, 0.4, 8, 0);
    for (uint32_t index = 0; index < 4; index++) {
        actor_explore part = explore_of(index, 2, 6, 0.4, 8, 0);
        for (uint32_t i = 0; i < 2; i++) {
            // The fourth actor is one more than planned: it goes round again.
            uint32_t place = (2 * index + i) % 6;
            assert_true(actor_explore_epsilon(&part, i, 0) ==
                        actor_explore_epsilon(&whole, place, 0));
        }
        actor_explore_fini(&part);
    }
    actor_explore_fini(&whole);
}

static void
test_explore_of_one_environment_is_the_base(void **state)
{
    (void)state;
    actor_explore explore = explore_of(0, 1, 1, 0.4, 8, 0);
    T_NEAR(actor_explore_epsilon(&explore, 0, 0), 0.4, 0, 1e-6);
    actor_explore_fini(&explore);
}

static void
test_explore_anneals_linearly_from_1(void **state)
{
    (void)state;
    actor_explore explore = explore_of(0, 1, 1, 0.4, 8, 1000);
    T_NEAR(actor_explore_epsilon(&explore, 0, 0), 1, 0, 0);
    T_NEAR(actor_explore_epsilon(&explore, 0, 500), 0.7, 0, 1e-6);
    T_NEAR(actor_explore_epsilon(&explore, 0, 999), 0.4006, 0, 1e-5);
    T_NEAR(actor_explore_epsilon(&explore, 0, 1000), 0.4, 0, 1e-6);
    T_NEAR(actor_explore_epsilon(&explore, 0, UINT64_MAX), 0.4, 0, 1e-6);
    actor_explore_fini(&explore);
}

static void
test_explore_of_base_0_never_acts_at_random(void **state)
{
    (void)state;
    actor_explore explore = explore_of(0, 3, 3, 0, 8, 0);
    for (int round = 0; round < 1000; round++) {
        int32_t actions[3] = {7, 8, 9}; // no random action is one of these
        uint8_t random[3] = {1, 1, 1};
        actor_explore_apply(&explore, actions, 0, random);
        assert_true(actions[0] == 7 && actions[1] == 8 && actions[2] == 9);
        assert_int_equal(random[0] + random[1] + random[2], 0);
    }
    actor_explore_fini(&explore);
}

// Bounds: 5 sigma of the binomial.
static void
test_explore_frequencies(void **state)
{
    (void)state;
    enum { ENVS = 4, ROUNDS = 20000, ACTIONS = 4, MINE = 9 };
    actor_explore explore = explore_of(0, ENVS, ENVS, 0.5, 4, 0);
    uint32_t random[ENVS] = {0}, chosen[ACTIONS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int32_t actions[ENVS] = {MINE, MINE, MINE, MINE};
        uint8_t replaced[ENVS];
        actor_explore_apply(&explore, actions, 0, replaced);
        for (uint32_t i = 0; i < ENVS; i++) {
            assert_int_equal(replaced[i], actions[i] != MINE);
            assert_true(actions[i] == MINE || (actions[i] >= 0 && actions[i] < ACTIONS));
            random[i] += actions[i] != MINE;
            if (i == 0 && actions[i] != MINE) {
                chosen[actions[i]]++;
            }
        }
    }
    for (uint32_t i = 0; i < ENVS; i++) {
        double p = actor_explore_epsilon(&explore, i, 0);
        T_NEAR(random[i], ROUNDS * p, 5 * sqrt(ROUNDS * p * (1 - p)), 0);
    }
    for (int a = 0; a < ACTIONS; a++) {
        double n = random[0], p = 1.0 / ACTIONS;
        T_NEAR(chosen[a], n * p, 5 * sqrt(n * p * (1 - p)), 0);
    }
    actor_explore_fini(&explore);
}

static void
test_explore_of_two_actors_differs(void **state)
{
    (void)state;
    actor_explore one = explore_of(0, 64, 64, 1, 1, 0), two = explore_of(1, 64, 64, 1, 1, 0);
    int32_t a[64] = {0}, b[64] = {0};
    uint8_t random[64];
    actor_explore_apply(&one, a, 0, random);
    actor_explore_apply(&two, b, 0, random);
    assert_memory_not_equal(a, b, sizeof(a));
    actor_explore_fini(&one);
    actor_explore_fini(&two);
}

// At the longest holds actions are random at every chance, and chances come when an episode begins.
static void
test_explore_holds_an_action_to_the_end_of_its_episode(void **state)
{
    (void)state;
    enum { EPISODES = 60, STEPS = 10 };
    actor_explore explore = explore_of(0, 2, 2, 1, 1, 0);
    actor_explore_set_persistence(&explore, 1.01); // 9 of 10 for more than 10 steps
    int held = 0, changed = 0, other_changed = 0;
    int32_t last[2] = {0}, first[2] = {0};
    for (int episode = 0; episode < EPISODES; episode++) {
        for (int step = 0; step < STEPS; step++) {
            int32_t actions[2] = {0};
            uint8_t random[2];
            actor_explore_apply(&explore, actions, 0, random);
            assert_true(random[0] == 1 && random[1] == 1); // also while it is held
            held += step > 0 && actions[0] == last[0];
            changed += step == 0 && episode > 0 && actions[0] != first[0];
            other_changed += step == 0 && episode > 0 && actions[1] != first[1];
            memcpy(last, actions, sizeof(last));
            if (step == 0) {
                memcpy(first, actions, sizeof(first));
            }
        }
        actor_explore_begin(&explore, 0); // environment 1 knows no episodes
    }
    assert_true(held > EPISODES * (STEPS - 1) * 9 / 10);
    // Three of four draws differ from the one before: 5 sigma of the binomial.
    T_NEAR(changed, 0.75 * (EPISODES - 1), 5 * sqrt(0.75 * 0.25 * (EPISODES - 1)), 0);
    assert_true(other_changed < changed / 3);
    actor_explore_fini(&explore);
}

// Of a distribution so steep that no draw is above 1 each step is a draw of its own.
static void
test_explore_that_persists_next_to_never_holds_nothing(void **state)
{
    (void)state;
    enum { STEPS = 1000 };
    actor_explore explore = explore_of(0, 1, 1, 1, 1, 0);
    actor_explore_set_persistence(&explore, 100);
    int changed = 0;
    int32_t last = 0;
    for (int step = 0; step <= STEPS; step++) {
        int32_t action = 0;
        uint8_t random;
        actor_explore_apply(&explore, &action, 0, &random);
        changed += step > 0 && action != last;
        last = action;
    }
    // Three of four draws differ from the one before: 5 sigma of the binomial.
    T_NEAR(changed, 0.75 * STEPS, 5 * sqrt(0.75 * 0.25 * STEPS), 0);
    actor_explore_fini(&explore);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explore_ladder_is_geometric),
        cmocka_unit_test(test_explore_ladder_spans_all_actors),
        cmocka_unit_test(test_explore_of_one_environment_is_the_base),
        cmocka_unit_test(test_explore_anneals_linearly_from_1),
        cmocka_unit_test(test_explore_of_base_0_never_acts_at_random),
        cmocka_unit_test(test_explore_frequencies),
        cmocka_unit_test(test_explore_of_two_actors_differs),
        cmocka_unit_test(test_explore_holds_an_action_to_the_end_of_its_episode),
        cmocka_unit_test(test_explore_that_persists_next_to_never_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
