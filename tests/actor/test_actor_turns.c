// Which policy versions an actor in lock-step takes.
#include "actor/actor_turns.h"
#include "proto/wire_turn.h"
#include "tests/support/oct_test.h"

static void
test_turns_of_an_asynchronous_actor_take_whatever_comes(void **state)
{
    (void)state;
    actor_turns turns = {0};
    assert_false(actor_turns_is_on(&turns));
    assert_int_equal(actor_turns_look(&turns, 7), ACTOR_TURN_TAKE);
    actor_turns_taken(&turns);
    assert_int_equal(actor_turns_look(&turns, 3), ACTOR_TURN_TAKE);
}

static void
test_turns_take_every_version_of_a_life_once_and_in_order(void **state)
{
    (void)state;
    actor_turns turns;
    actor_turns_begin(&turns, 2, 10); // versions 21 .. 30
    for (uint64_t version = 21; version <= 30; version++) {
        assert_int_equal(actor_turns_look(&turns, version), ACTOR_TURN_TAKE);
        actor_turns_taken(&turns);
        assert_int_equal(actor_turns_look(&turns, version), ACTOR_TURN_PASS);
        if (version < 30) { // it is asked for before the batch is there
            assert_int_equal(actor_turns_look(&turns, version + 1), ACTOR_TURN_PASS);
        }
        if (version < 29) {
            assert_int_equal(actor_turns_look(&turns, version + 2), ACTOR_TURN_MISSED);
        }
        actor_turns_made(&turns);
    }
    assert_int_equal(actor_turns_look(&turns, 31), ACTOR_TURN_OVER);
}

static void
test_turns_of_an_actor_that_was_left_behind_are_over(void **state)
{
    (void)state;
    actor_turns turns;
    actor_turns_begin(&turns, 0, 10);
    assert_int_equal(actor_turns_look(&turns, 11), ACTOR_TURN_OVER);
    actor_turns_begin(&turns, 3, 10);
    assert_int_equal(actor_turns_look(&turns, 30), ACTOR_TURN_OVER); // the run went back
    assert_int_equal(actor_turns_look(&turns, 31), ACTOR_TURN_TAKE);
}

static void
test_lives_are_of_so_many_turns(void **state)
{
    (void)state;
    assert_int_equal(wire_turn_life(1, 10), 0);
    assert_int_equal(wire_turn_life(10, 10), 0);
    assert_int_equal(wire_turn_life(11, 10), 1);
    assert_int_equal(wire_turn_first(1, 10), 11);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_of_an_asynchronous_actor_take_whatever_comes),
        cmocka_unit_test(test_turns_take_every_version_of_a_life_once_and_in_order),
        cmocka_unit_test(test_turns_of_an_actor_that_was_left_behind_are_over),
        cmocka_unit_test(test_lives_are_of_so_many_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
