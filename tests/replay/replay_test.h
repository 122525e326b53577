#ifndef TESTS_REPLAY_REPLAY_TEST_H
#define TESTS_REPLAY_REPLAY_TEST_H

#include "tests/support/oct_test.h"

#include "proto/wire_token.h"
#include "replay/replay_table.h"

// A pretended actor: observations that say whose they are and which, and batches made of them.
// Observation: 4 floats (actor id, number within the session, 0, 0). A transition's reward is the
// number of its s_t, its discount that of s_{t+k} / 2^20 (a discount is at most 1; exact), so that
// a sample can be checked.

#define TEST_OBS_FLOATS 4
#define TEST_ROWS_MAX   256
#define TEST_DISCOUNT   0x1p-20f

typedef struct test_actor {
    wire_batch batch;
    uint64_t obs_sent; // observations of the session so far
    float obs[TEST_ROWS_MAX][TEST_OBS_FLOATS];
    int32_t action[TEST_ROWS_MAX];
    int32_t obs_offset[TEST_ROWS_MAX];
    int32_t next_offset[TEST_ROWS_MAX];
    float reward[TEST_ROWS_MAX];
    float discount[TEST_ROWS_MAX];
    uint8_t flags[TEST_ROWS_MAX];
    float extra[TEST_ROWS_MAX];
} test_actor;

static inline wire_configure
test_configure(uint64_t capacity, wire_sampler sampler)
{
    return (wire_configure){
        .run_id = 7,
        .capacity = capacity,
        .obs_bytes = TEST_OBS_FLOATS * sizeof(float),
        .obs_is_float = true,
        .action_bytes = sizeof(int32_t),
        .sampler = sampler,
        .priority_exponent = 1,
        .min_size = 1,
        .seed = 1,
    };
}

static inline void
test_actor_init(test_actor *actor, uint32_t id, uint64_t session)
{
    memset(actor, 0, sizeof(*actor));
    actor->batch = (wire_batch){
        .actor_id = id,
        .session = session,
        .first_unacked = 1,
        .obs_bytes = sizeof(actor->obs[0]),
        .obs = (const uint8_t *)actor->obs,
        .action_bytes = sizeof(int32_t),
        .action = (const uint8_t *)actor->action,
        .obs_offset = actor->obs_offset,
        .next_offset = actor->next_offset,
        .reward = actor->reward,
        .discount = actor->discount,
        .flags = actor->flags,
        .extra = actor->extra,
    };
}

// Registers it with a run, as the learner with that key would.
static inline void
test_actor_sign(test_actor *actor, const uint8_t key[WIRE_TOKEN_KEY_BYTES], uint64_t run_id)
{
    wire_token_maker *maker = wire_token_maker_create(key);
    wire_token_make(maker, run_id, actor->batch.session, actor->batch.actor_id, actor->batch.token);
    wire_token_maker_destroy(maker);
}

// Begins the next batch, with obs_count new observations.
static inline wire_batch *
test_batch_begin(test_actor *actor, uint32_t obs_count)
{
    assert_true(obs_count <= TEST_ROWS_MAX);
    actor->batch.sequence++;
    actor->batch.obs_first = actor->obs_sent;
    actor->batch.obs_count = obs_count;
    actor->batch.count = 0;
    for (uint32_t i = 0; i < obs_count; i++) {
        actor->obs[i][0] = (float)actor->batch.actor_id;
        actor->obs[i][1] = (float)(actor->obs_sent + i);
    }
    actor->obs_sent += obs_count;
    return &actor->batch;
}

// A transition from the session's observation number obs to number next.
static inline void
test_batch_add(test_actor *actor, uint64_t obs, uint64_t next)
{
    uint32_t row = actor->batch.count++;
    assert_true(row < TEST_ROWS_MAX);
    actor->obs_offset[row] = (int32_t)((int64_t)obs - (int64_t)actor->batch.obs_first);
    actor->next_offset[row] = (int32_t)((int64_t)next - (int64_t)actor->batch.obs_first);
    actor->reward[row] = (float)obs;
    actor->discount[row] = (float)next * TEST_DISCOUNT;
    actor->action[row] = (int32_t)(obs * 3 + next);
    actor->flags[row] = 0;
}

// The next batch of one endless episode: count steps of one step each.
static inline wire_batch *
test_batch_steps(test_actor *actor, uint32_t count)
{
    uint64_t first = actor->obs_sent;
    (void)test_batch_begin(actor, count + (first == 0));
    for (uint64_t at = first == 0 ? 0 : first - 1; at + 1 < actor->obs_sent; at++) {
        test_batch_add(actor, at, at + 1);
    }
    return &actor->batch;
}

static inline replay_insert
test_insert(replay_table *table, const wire_batch *batch)
{
    replay_insert result;
    T_OK(replay_table_insert(&result, table, batch));
    return result;
}

// Every row of a sample holds the observations that its transition was sent with.
static inline void
test_check_rows(const wire_sampled *sampled)
{
    for (uint32_t i = 0; i < sampled->count; i++) {
        float obs[TEST_OBS_FLOATS], next[TEST_OBS_FLOATS];
        int32_t action;
        memcpy(obs, sampled->obs + i * sizeof(obs), sizeof(obs));
        memcpy(next, sampled->next + i * sizeof(next), sizeof(next));
        memcpy(&action, sampled->action + i * sizeof(action), sizeof(action));
        T_NEAR(obs[1], sampled->reward[i], 0, 0);
        T_NEAR(next[1] * TEST_DISCOUNT, sampled->discount[i], 0, 0);
        T_NEAR(obs[0], next[0], 0, 0);
        assert_int_equal(action, (int32_t)(obs[1] * 3 + next[1]));
    }
}

#endif // TESTS_REPLAY_REPLAY_TEST_H
