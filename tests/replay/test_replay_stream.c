// Streams are found by their whole name, and leave room for others.
#include "tests/support/oct_test.h"

#include "replay/replay_stream.h"

// Streams come and go in one table; each is found by its whole name and by nothing else.

static void
test_streams_are_found_by_actor_session_and_number(void **state)
{
    (void)state;
    replay_streams *streams = replay_streams_create(64);
    uint32_t index[4][4][4];
    for (uint32_t a = 0; a < 4; a++) {
        for (uint32_t s = 0; s < 4; s++) {
            for (uint32_t n = 0; n < 4; n++) {
                assert_int_equal(replay_streams_find(streams, a, s, n), REPLAY_STREAM_NONE);
                index[a][s][n] = replay_streams_add(streams, a, s, n);
                replay_streams_at(streams, index[a][s][n])->next = 16 * a + 4 * s + n;
            }
        }
    }
    assert_int_equal(replay_streams_count(streams), 64); // full
    for (uint32_t i = 0; i < 64; i += 2) {
        replay_streams_remove(streams, index[i / 16][i / 4 % 4][i % 4]);
    }
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t found = replay_streams_find(streams, i / 16, i / 4 % 4, i % 4);
        assert_true((found == REPLAY_STREAM_NONE) == (i % 2 == 0));
        assert_true(i % 2 == 0 || replay_streams_at(streams, found)->next == i);
    }
    assert_int_equal(replay_streams_count(streams), 32);
    for (uint32_t i = 0; i < 32; i++) { // what is free is used again, and is new
        uint32_t added = replay_streams_add(streams, 9, 9, i);
        assert_int_equal(replay_streams_at(streams, added)->next, 0);
    }
    replay_streams_destroy(streams);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_found_by_actor_session_and_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
