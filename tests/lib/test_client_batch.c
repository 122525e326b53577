// Windows of a reply become memory of their own: each column, any part of the reply.
#include "lib/client_batch.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

enum { COUNT = 6, OBS = 3, ACTION = 4, STEPS = 2 };

static uint8_t obs[COUNT * (STEPS + 1) * OBS], next[COUNT * OBS], action[COUNT * STEPS * ACTION];
static uint8_t flags[COUNT * STEPS];
static float reward[COUNT * STEPS], discount[COUNT], probability[COUNT];
static uint64_t key[COUNT];

static wire_sampled
reply(uint32_t steps)
{
    for (size_t i = 0; i < sizeof(obs); i++) {
        obs[i] = (uint8_t)i;
    }
    for (size_t i = 0; i < sizeof(action); i++) {
        action[i] = (uint8_t)(100 + i);
    }
    for (int i = 0; i < COUNT * STEPS; i++) {
        reward[i] = (float)i;
        flags[i] = (uint8_t)i;
    }
    for (int i = 0; i < COUNT; i++) {
        memset(next + i * OBS, 200 + i, OBS);
        discount[i] = 0.5f * (float)i;
        probability[i] = 0.125f * (float)(i + 1);
        key[i] = 1000 + (uint64_t)i;
    }
    return (wire_sampled){
        .incarnation = 77,
        .configured = true,
        .count = COUNT,
        .window_steps = steps,
        .obs_bytes = OBS,
        .action_bytes = ACTION,
        .obs = obs,
        .next = steps == 0 ? next : NULL,
        .action = action,
        .reward = reward,
        .discount = steps == 0 ? discount : NULL,
        .flags = steps == 0 ? NULL : flags,
        .probability = probability,
        .key = key,
        .size = 8,
        .inserts = 9,
        .samples = 10,
    };
}

static void
test_batch_is_a_part_of_a_reply(void **state)
{
    (void)state;
    wire_sampled sampled = reply(0);
    octet_replay_batch got = {0};
    client_batch_give(client_batch_create(&sampled, 2, 3), 1.0, &got);
    memset(obs, 0, sizeof(obs)); // it has its own
    assert_true(got.count == 3 && got.steps == 0 && got.incarnation == 77 && got.windows == 8);
    assert_int_equal(((const uint8_t *)got.observations)[0], 2 * OBS);
    assert_int_equal(((const uint8_t *)got.observations)[3 * OBS - 1], 5 * OBS - 1);
    assert_int_equal(((const uint8_t *)got.next_observations)[OBS], 203);
    assert_int_equal(((const uint8_t *)got.actions)[0], 100 + 2 * ACTION);
    assert_true(got.rewards[2] == 4 && got.discounts[1] == 1.5f && got.keys[2] == 1004);
    assert_null(got.flags);
    // (8 p)^-1 = 1/3, 1/4, 1/5 over the largest.
    T_NEAR(got.weights[0], 1, 0, 0);
    T_NEAR(got.weights[2], 0.6, 1e-6, 0);
    octet_replay_batch_free(got.memory);
}

static void
test_batch_of_sequences_has_their_rows(void **state)
{
    (void)state;
    wire_sampled sampled = reply(STEPS);
    octet_replay_batch got = {0};
    client_batch_give(client_batch_create(&sampled, 4, 2), 0, &got);
    assert_true(got.count == 2 && got.steps == STEPS);
    assert_int_equal(((const uint8_t *)got.observations)[0], 4 * (STEPS + 1) * OBS);
    assert_int_equal(((const uint8_t *)got.actions)[2 * STEPS * ACTION - 1],
                     100 + COUNT * STEPS * ACTION - 1);
    assert_true(got.rewards[3] == 11 && got.flags[0] == 8 && got.weights[0] == 1);
    assert_null(got.discounts);
    assert_null(got.next_observations);
    octet_replay_batch_free(got.memory);
}

static void
test_batch_that_failed_says_why(void **state)
{
    (void)state;
    client_batch *batch = client_batch_fail(OCT_EINVAL, "too many");
    assert_string_equal(batch->reason, "too many");
    T_ERR(batch->err, OCT_EINVAL);
    client_batch_destroy(batch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_is_a_part_of_a_reply),
        cmocka_unit_test(test_batch_of_sequences_has_their_rows),
        cmocka_unit_test(test_batch_that_failed_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
