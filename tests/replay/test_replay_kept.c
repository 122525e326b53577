// What a file keeps of a table's configuration: every number that makes a table what it is comes
// back, and no secret is in the bytes.
#include <stddef.h>
#include <string.h>

#include "replay/replay_kept.h"
#include "tests/support/oct_test.h"

static wire_configure
all_set(void)
{
    wire_configure c = {
        .run_id = 0x0102030405060708,
        .capacity = 2,
        .streams = 3,
        .obs_bytes = 4,
        .obs_is_float = true,
        .action_bytes = 5,
        .action_is_float = false,
        .extra_dim = 6,
        .sampler = WIRE_SAMPLER_PRIORITIZED,
        .priority_exponent = 0.6,
        .window = WIRE_WINDOW_SEQUENCE,
        .window_steps = 7,
        .window_stride = 8,
        .discount = 0.99,
        .reward_clip = 1.5,
        .min_size = 9,
        .samples_per_insert = 10.5,
        .tolerance = 0.25,
        .seed = 11,
        .epoch = 12,
        .table = 13,
        .samples = 14,
        .turn_actors = 15,
        .turn = 16,
    };
    memset(c.turn_digest, 17, sizeof(c.turn_digest));
    memset(c.token_key, 0xA5, sizeof(c.token_key));
    return c;
}

static void
test_what_is_kept_comes_back(void **state)
{
    (void)state;
    wire_configure wanted = all_set(), again;
    replay_kept_configure kept = replay_kept_of(&wanted);
    assert_true(replay_kept_give(&kept, &again));
    assert_true(again.run_id == wanted.run_id && again.capacity == 2 && again.streams == 3);
    assert_true(again.obs_bytes == 4 && again.obs_is_float && again.action_bytes == 5);
    assert_true(!again.action_is_float && again.extra_dim == 6);
    assert_true(again.sampler == WIRE_SAMPLER_PRIORITIZED && again.priority_exponent == 0.6);
    assert_true(again.window == WIRE_WINDOW_SEQUENCE && again.window_steps == 7);
    assert_true(again.window_stride == 8 && again.discount == 0.99 && again.reward_clip == 1.5);
    assert_true(again.min_size == 9 && again.samples_per_insert == 10.5);
    assert_true(again.tolerance == 0.25 && again.seed == 11 && again.epoch == 12);
    assert_true(again.table == 13 && again.samples == 14 && again.turn_actors == 15);
    assert_true(again.turn == 16);
    assert_memory_equal(again.turn_digest, wanted.turn_digest, sizeof(again.turn_digest));
}

static void
test_no_key_is_kept(void **state)
{
    (void)state;
    wire_configure wanted = all_set(), again;
    replay_kept_configure kept = replay_kept_of(&wanted);
    uint8_t bytes[sizeof(kept)];
    memcpy(bytes, &kept, sizeof(kept));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        assert_int_not_equal(bytes[i], 0xA5);
    }
    assert_true(replay_kept_give(&kept, &again));
    for (size_t i = 0; i < sizeof(again.token_key); i++) {
        assert_int_equal(again.token_key[i], 0);
    }
}

// Where files of earlier releases have them.
static void
test_places_are_those_of_earlier_files(void **state)
{
    (void)state;
    assert_int_equal(offsetof(replay_kept_configure, obs_is_float), 24);
    assert_int_equal(offsetof(replay_kept_configure, sampler), 40);
    assert_int_equal(offsetof(replay_kept_configure, discount), 72);
    assert_int_equal(offsetof(replay_kept_configure, seed), 112);
    assert_int_equal(offsetof(replay_kept_configure, epoch), 128);
    assert_int_equal(offsetof(replay_kept_configure, turn_digest), 168);
}

static void
test_what_is_neither_true_nor_false_is_refused(void **state)
{
    (void)state;
    wire_configure wanted = all_set(), again;
    replay_kept_configure kept = replay_kept_of(&wanted);
    kept.obs_is_float = 2;
    assert_false(replay_kept_give(&kept, &again));
    kept.obs_is_float = 1;
    kept.action_is_float = 255;
    assert_false(replay_kept_give(&kept, &again));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_kept_comes_back),
        cmocka_unit_test(test_no_key_is_kept),
        cmocka_unit_test(test_places_are_those_of_earlier_files),
        cmocka_unit_test(test_what_is_neither_true_nor_false_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
