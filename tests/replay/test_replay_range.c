// Batches with numbers that no update can use are set aside, and large ones of an environment are
// not.
#include "tests/replay/replay_test.h"

#include <float.h>
#include <math.h>

#include "replay/replay_aside.h"
#include "replay/replay_range.h"

static test_actor actor; // large: not on the stack

static void
test_range_sets_aside_what_overflows_when_it_is_squared(void **state)
{
    (void)state;
    static const struct {
        float obs, reward;
        const char *want; // NULL: taken
    } cases[] = {
        {FLT_MAX, 0, "an observation is too large"},
        {-2e19f, 0, "an observation is too large"},
        {0, -FLT_MAX, "a reward is too large"},
        {0, 2e19f, "a reward is too large"},
        {1.7e19f, -1.7e19f, NULL}, // the first rows of a run may have any number below
        {NAN, 0, "an observation is not finite"},
        {-INFINITY, 0, "an observation is not finite"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        const wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
        replay_range range = {0};
        test_actor_init(&actor, 3, 30);
        (void)test_batch_steps(&actor, 10);
        actor.obs[4][3] = cases[i].obs;
        actor.reward[5] = cases[i].reward;
        replay_fault fault = replay_range_judge(&range, &configure, &actor.batch);
        if (cases[i].want == NULL) {
            assert_null(fault.reason);
            assert_int_equal(range.rows, actor.batch.count);
            continue;
        }
        assert_string_equal(fault.reason, cases[i].want);
        assert_int_equal(fault.is_aside, isfinite(cases[i].obs));
        assert_int_equal(range.rows, 0);
    }
}

// Of batches of one kind, of which each would be judged otherwise with the other kind.
static void
test_range_judges_numbers_by_their_type(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    replay_range range = {0};
    const float none = NAN;
    test_actor_init(&actor, 3, 30);
    (void)test_batch_steps(&actor, 10);
    memcpy(&actor.action[3], &none, sizeof(none));
    configure.action_is_float = true;
    assert_string_equal(replay_range_judge(&range, &configure, &actor.batch).reason,
                        "an action is not finite");
    configure.action_is_float = false; // the same bits are an index
    assert_null(replay_range_judge(&range, &configure, &actor.batch).reason);
    configure.action_count = 2;
    assert_string_equal(replay_range_judge(&range, &configure, &actor.batch).reason,
                        "an action that the environment does not have");
    configure.action_count = 0;
    actor.obs[4][3] = NAN; // bytes may have these bits
    assert_non_null(replay_range_judge(&range, &configure, &actor.batch).reason);
    configure.obs_is_float = false;
    assert_null(replay_range_judge(&range, &configure, &actor.batch).reason);
    // The largest number stays the largest when smaller ones follow.
    actor.reward[5] = 1e13f;
    assert_null(replay_range_judge(&range, &configure, &actor.batch).reason);
    actor.reward[5] = 1;
    assert_null(replay_range_judge(&range, &configure, &actor.batch).reason);
    assert_true(range.reward == 1e13f);
}

// The verdict on a batch with this observation and reward after rows of magnitudes up to before.
static replay_fault
judge_after(float before, uint64_t rows, float obs, float reward, uint32_t turn_actors)
{
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.turn_actors = turn_actors;
    replay_range range = {.rows = rows, .obs = before, .reward = before};
    test_actor_init(&actor, 3, 30);
    (void)test_batch_steps(&actor, 10);
    actor.obs[4][3] = obs;
    actor.reward[5] = reward;
    return replay_range_judge(&range, &configure, &actor.batch);
}

static void
test_range_sets_aside_what_is_far_beyond_the_runs_history(void **state)
{
    (void)state;
    const uint64_t rows = REPLAY_RANGE_ROWS;
    // Any environment may have numbers up to the floor, at any time.
    assert_null(judge_after(0, rows, 1e12f, -1e12f, 0).reason);
    assert_null(judge_after(1, rows, 1e12f, 1e12f, 0).reason);
    assert_string_equal(judge_after(1, rows, 1.1e12f, 0, 0).reason, "an observation is too large");
    assert_string_equal(judge_after(1, rows, 0, -1.1e12f, 0).reason, "a reward is too large");
    // One of large numbers may have larger ones.
    assert_null(judge_after(1e9f, rows, 1e15f, 1e15f, 0).reason);
    assert_string_equal(judge_after(1e9f, rows, 1.1e15f, 0, 0).reason,
                        "an observation is too large");
    assert_string_equal(judge_after(1e18f, rows, 2e19f, 0, 0).reason,
                        "an observation is too large");
    // A short history, and a run in lock-step, say nothing.
    assert_null(judge_after(1, rows - 1, 1e15f, 1e15f, 0).reason);
    assert_null(judge_after(1, rows, 1e15f, 1e15f, 2).reason);
    assert_string_equal(judge_after(1, rows, 2e19f, 0, 2).reason, "an observation is too large");
}

static void
test_range_holds_actions_to_their_bounds(void **state)
{
    (void)state;
    static const struct {
        float low, high, number;
        bool is_taken;
    } cases[] = {
        {-1, 1, 1, true},           {-1, 1, 1.0005f, true}, // the tolerance of learners
        {-1, 1, 1.01f, false},      {-1, 1, -5, false},
        {0, INFINITY, 1e30f, true}, {-INFINITY, INFINITY, -1e30f, true},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
        replay_range range = {0};
        configure.action_is_float = true;
        configure.action_bounds = 1;
        configure.action_low[0] = cases[i].low;
        configure.action_high[0] = cases[i].high;
        test_actor_init(&actor, 3, 30);
        (void)test_batch_begin(&actor);
        test_batch_run(&actor, 0, 0, 0);
        test_batch_row(&actor, WIRE_FIRST | WIRE_TERMINATED);
        test_batch_row(&actor, WIRE_END);
        const float end = 99, number = cases[i].number; // nobody acts in an end row
        memcpy(&actor.action[0], &number, sizeof(number));
        memcpy(&actor.action[1], &end, sizeof(end));
        replay_fault fault = replay_range_judge(&range, &configure, &actor.batch);
        assert_int_equal(fault.reason == NULL, cases[i].is_taken);
        assert_int_equal(fault.is_aside, !cases[i].is_taken);
        configure.action_bounds = 0; // unknown: any number is taken
        assert_null(replay_range_judge(&range, &configure, &actor.batch).reason);
    }
}

static void
test_aside_counts_by_session_and_keeps_those_with_the_most(void **state)
{
    (void)state;
    replay_aside aside = {0};
    const oct_holder holder = {.id = {1}, .name = "actor-7"};
    for (uint32_t i = 0; i < REPLAY_ASIDE_MAX; i++) {
        (void)replay_aside_note(&aside, 100 + i, i, &holder, 5 + i);
    }
    const replay_aside_session *entry = replay_aside_note(&aside, 100, 0, NULL, 20);
    assert_int_equal(entry->rows, 25);
    assert_string_equal(entry->certificate, "actor-7");
    entry = replay_aside_note(&aside, 9, 9, NULL, 1); // 101 has the fewest
    assert_int_equal(entry->rows, 1);
    assert_string_equal(entry->certificate, "");
    assert_int_equal(aside.count, REPLAY_ASIDE_MAX);
    for (uint32_t i = 0; i < aside.count; i++) {
        assert_int_not_equal(aside.sessions[i].session, 101);
    }
    assert_int_equal(aside.all, 32 * 5 + 31 * 16 + 21);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range_sets_aside_what_overflows_when_it_is_squared),
        cmocka_unit_test(test_range_judges_numbers_by_their_type),
        cmocka_unit_test(test_range_sets_aside_what_is_far_beyond_the_runs_history),
        cmocka_unit_test(test_range_holds_actions_to_their_bounds),
        cmocka_unit_test(test_aside_counts_by_session_and_keeps_those_with_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
