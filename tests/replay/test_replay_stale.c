// Late batches of an earlier life are no news; a living session that was shut out is, once.
#include "tests/support/oct_test.h"

#include "replay/replay_stale.h"

#define SECOND_NS UINT64_C(1000000000)

static bool
came(replay_stale *stale, uint64_t session, double at_s)
{
    return replay_stale_came(stale, session, (uint64_t)(at_s * (double)SECOND_NS));
}

static void
test_stale_says_nothing_of_batches_that_were_left_behind(void **state)
{
    (void)state;
    replay_stale stale = {0};
    for (int i = 0; i < 1000; i++) { // many at once
        assert_false(came(&stale, 10, 100 + 0.02 * i));
    }
    for (int i = 0; i < 1000; i++) { // for long, and the newest between them
        if (i % 10 == 0) {
            replay_stale_end(&stale);
        }
        assert_false(came(&stale, 10, 200 + i));
    }
    replay_stale few = {0};
    for (int i = 0; i < REPLAY_STALE_BATCHES - 1; i++) { // far apart
        assert_false(came(&few, 10, 1000 * i));
    }
}

static void
test_stale_names_a_session_that_goes_on_alone_once(void **state)
{
    (void)state;
    replay_stale stale = {0};
    double at_s = 100, wait_s = 1;
    bool is_told = false;
    for (int i = 0; !is_told; i++) { // as an actor resends that is not answered
        assert_in_range(i, 0, 7);
        is_told = came(&stale, 10, at_s);
        assert_int_equal(is_told, at_s - 100 >= REPLAY_STALE_S);
        at_s += wait_s;
        wait_s = wait_s < 30 ? 2 * wait_s : 60;
    }
    for (int i = 0; i < 100; i++) {
        assert_false(came(&stale, 10, at_s + 60 * i));
    }
}

static void
test_stale_begins_anew_with_another_session(void **state)
{
    (void)state;
    replay_stale stale = {0};
    for (int i = 0; i < 10; i++) { // two dead ones, in turns
        assert_false(came(&stale, 10, 100 + 10 * i));
        assert_false(came(&stale, 11, 100 + 10 * i));
    }
    assert_false(came(&stale, 12, 300));
    assert_false(came(&stale, 12, 310));
    assert_false(came(&stale, 12, 320));
    assert_true(came(&stale, 12, 330));
    assert_false(came(&stale, 13, 340)); // its next life: it is not said of that one yet
    assert_false(came(&stale, 13, 350));
    assert_false(came(&stale, 13, 360));
    assert_true(came(&stale, 13, 370));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_says_nothing_of_batches_that_were_left_behind),
        cmocka_unit_test(test_stale_names_a_session_that_goes_on_alone_once),
        cmocka_unit_test(test_stale_begins_anew_with_another_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
