// Lock-step: in which order the batches of a turn go into the table.
#include "replay/replay_turns.h"
#include "tests/support/oct_test.h"

// Messages are numbers: of the actor, and how often it was sent.
static int messages[8][4];
static int released;

static void
release(void *message)
{
    assert_non_null(message);
    released++;
}

static replay_turns *
turns_of(uint32_t actors, uint64_t done)
{
    released = 0;
    replay_turns *turns = replay_turns_create(release);
    assert_false(replay_turns_is_on(turns));
    replay_turns_set(turns, actors, done);
    assert_true(replay_turns_is_on(turns));
    return turns;
}

static void
held(replay_turns *turns, uint32_t actor, uint64_t turn, int time)
{
    assert_int_equal(replay_turns_offer(turns, actor, turn, &messages[actor][time]),
                     REPLAY_TURN_HELD);
}

static void
stores(replay_turns *turns, uint32_t actor, int time)
{
    assert_ptr_equal(replay_turns_next(turns), &messages[actor][time]);
    replay_turns_stored(turns, true);
}

static void
test_turn_is_stored_in_the_order_of_the_list_whatever_comes_first(void **state)
{
    (void)state;
    static const uint32_t list[] = {5, 2, 7};
    static const uint32_t arrivals[][3] = {{5, 2, 7}, {7, 2, 5}, {2, 7, 5}};
    for (size_t a = 0; a < OCT_COUNTOF(arrivals); a++) {
        for (int asked_after = 0; asked_after <= 3; asked_after++) {
            replay_turns *turns = turns_of(3, 41);
            for (int i = 0; i <= 3; i++) {
                assert_false(i < 3 && replay_turns_ready(turns));
                if (i == asked_after) {
                    T_OK(replay_turns_ask(turns, 42, list, 3));
                }
                if (i < 3) {
                    held(turns, arrivals[a][i], 42, 0);
                }
            }
            assert_true(replay_turns_ready(turns));
            for (size_t i = 0; i < 3; i++) {
                stores(turns, list[i], 0);
            }
            assert_null(replay_turns_next(turns));
            replay_turns_end(turns);
            assert_int_equal(replay_turns_done(turns), 42);
            assert_int_equal(released, 3);
            assert_false(replay_turns_ready(turns)); // the next one has not been asked for
            replay_turns_destroy(turns);
        }
    }
}

static void
test_turn_takes_what_was_sent_again_once(void **state)
{
    (void)state;
    static const uint32_t list[] = {1, 2};
    replay_turns *turns = turns_of(2, 0);
    T_OK(replay_turns_ask(turns, 1, list, 2));
    held(turns, 1, 1, 0);
    held(turns, 1, 1, 1); // its acknowledgement is late
    assert_int_equal(released, 1);
    held(turns, 2, 1, 0);
    T_OK(replay_turns_ask(turns, 1, list, 2)); // so is the answer
    stores(turns, 1, 1);
    stores(turns, 2, 0);
    replay_turns_end(turns);
    assert_int_equal(replay_turns_offer(turns, 1, 1, &messages[1][2]), REPLAY_TURN_EARLIER);
    T_OK(replay_turns_ask(turns, 1, list, 2)); // the last one may be asked for again
    T_ERR(replay_turns_ask(turns, 3, list, 2), OCT_EINVAL);
    replay_turns_destroy(turns);
    assert_int_equal(released, 3);
}

static void
test_turn_waits_for_another_where_one_was_not_the_next(void **state)
{
    (void)state;
    static const uint32_t list[] = {1, 2};
    replay_turns *turns = turns_of(2, 0);
    uint32_t first;
    T_OK(replay_turns_ask(turns, 1, list, 2));
    held(turns, 1, 1, 0);
    held(turns, 2, 1, 0);
    stores(turns, 1, 0);
    replay_turns_stored(turns, false); // of actor 2
    assert_false(replay_turns_ready(turns));
    assert_int_equal(replay_turns_awaited(turns, &first), 1);
    assert_int_equal(first, 1);
    assert_int_equal(replay_turns_offer(turns, 1, 1, &messages[1][1]), REPLAY_TURN_OTHER); // is in
    held(turns, 2, 1, 1);
    assert_true(replay_turns_ready(turns));
    stores(turns, 2, 1);
    replay_turns_end(turns);
    replay_turns_destroy(turns);
}

static void
test_turn_refuses_who_and_what_is_not_of_it(void **state)
{
    (void)state;
    static const uint32_t list[] = {1, 2}, three[] = {1, 2, 3}, twice[] = {1, 1};
    replay_turns *turns = turns_of(2, 7);
    held(turns, 3, 8, 0); // nobody knows yet
    T_ERR(replay_turns_ask(turns, 8, three, 3), OCT_EINVAL);
    T_ERR(replay_turns_ask(turns, 8, twice, 2), OCT_EINVAL);
    T_ERR(replay_turns_ask(turns, 9, list, 2), OCT_EINVAL);
    T_ERR(replay_turns_ask(turns, 6, list, 2), OCT_EINVAL);
    T_OK(replay_turns_ask(turns, 8, list, 2));
    assert_int_equal(released, 1); // of actor 3
    assert_int_equal(replay_turns_offer(turns, 3, 8, &messages[3][1]), REPLAY_TURN_OTHER);
    assert_int_equal(replay_turns_offer(turns, 1, 9, &messages[1][1]), REPLAY_TURN_OTHER);
    assert_int_equal(replay_turns_offer(turns, 1, 7, &messages[1][1]), REPLAY_TURN_EARLIER);
    held(turns, 1, 8, 0);
    replay_turns_set(turns, 2, 0); // the run went back
    assert_int_equal(released, 2);
    assert_int_equal(replay_turns_offer(turns, 1, 8, &messages[1][1]), REPLAY_TURN_OTHER);
    replay_turns_set(turns, 0, 0);
    T_ERR(replay_turns_ask(turns, 1, list, 2), OCT_EINVAL); // not in lock-step
    replay_turns_destroy(turns);
}

static void
test_turn_list_is_of_one_turn_only(void **state)
{
    (void)state;
    static const uint32_t list[] = {1, 2};
    replay_turns *turns = turns_of(2, 4);
    T_OK(replay_turns_ask(turns, 4, list, 2)); // done already
    held(turns, 3, 5, 0);                      // who is of the next one nobody has said yet
    T_OK(replay_turns_ask(turns, 5, list, 2));
    assert_int_equal(released, 1);
    held(turns, 1, 5, 0);
    replay_turns_destroy(turns);
    assert_int_equal(released, 2); // and what was held
}

static void
test_turns_begin_anew_in_the_middle_of_one(void **state)
{
    (void)state;
    static const uint32_t list[] = {1, 2}, other[] = {3};
    replay_turns *turns = turns_of(2, 0);
    T_OK(replay_turns_ask(turns, 1, list, 2));
    held(turns, 1, 1, 0);
    held(turns, 2, 1, 0);
    stores(turns, 1, 0);
    replay_turns_set(turns, 1, 9); // another learner
    assert_int_equal(released, 2);
    assert_false(replay_turns_ready(turns));
    held(turns, 3, 10, 0); // whoever it is
    T_OK(replay_turns_ask(turns, 10, other, 1));
    assert_true(replay_turns_ready(turns));
    stores(turns, 3, 0);
    replay_turns_end(turns);
    assert_int_equal(replay_turns_done(turns), 10);
    replay_turns_destroy(turns);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turn_is_stored_in_the_order_of_the_list_whatever_comes_first),
        cmocka_unit_test(test_turn_takes_what_was_sent_again_once),
        cmocka_unit_test(test_turn_waits_for_another_where_one_was_not_the_next),
        cmocka_unit_test(test_turn_refuses_who_and_what_is_not_of_it),
        cmocka_unit_test(test_turn_list_is_of_one_turn_only),
        cmocka_unit_test(test_turns_begin_anew_in_the_middle_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
