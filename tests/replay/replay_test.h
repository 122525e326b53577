#ifndef TESTS_REPLAY_REPLAY_TEST_H
#define TESTS_REPLAY_REPLAY_TEST_H

#include "tests/support/oct_test.h"

#include "proto/wire_token.h"
#include "replay/replay_block.h"
#include "replay/replay_table.h"

// A pretended actor: rows that say whose they are and which, and batches made of them. Observation:
// 4 floats (actor id, row number, stream, 0). A row's reward is its number, its action three times
// that, its version the number / 10, its extra value twice the number, so that a sample can be
// checked.

#define TEST_OBS_FLOATS 4
#define TEST_ROWS_MAX   512
#define TEST_DISCOUNT   0.5

typedef struct test_actor {
    wire_batch batch;
    uint64_t next; // row of stream 0, of test_batch_steps
    uint32_t run_stream[TEST_ROWS_MAX];
    uint64_t run_first[TEST_ROWS_MAX];
    uint32_t run_rows[TEST_ROWS_MAX];
    uint32_t run_version[TEST_ROWS_MAX];
    float obs[TEST_ROWS_MAX][TEST_OBS_FLOATS];
    int32_t action[TEST_ROWS_MAX];
    float reward[TEST_ROWS_MAX];
    uint8_t flags[TEST_ROWS_MAX];
    float extra[TEST_ROWS_MAX];
} test_actor;

// One stream; windows of one step.
static inline wire_configure
test_configure(uint64_t capacity, wire_sampler sampler)
{
    return (wire_configure){
        .run_id = 7,
        .capacity = capacity,
        .streams = 1,
        .obs_bytes = TEST_OBS_FLOATS * sizeof(float),
        .obs_is_float = true,
        .action_bytes = sizeof(int32_t),
        .sampler = sampler,
        .priority_exponent = 1,
        .window = WIRE_WINDOW_N_STEP,
        .window_steps = 1,
        .discount = TEST_DISCOUNT,
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
        .run_stream = actor->run_stream,
        .run_first = actor->run_first,
        .run_rows = actor->run_rows,
        .run_version = actor->run_version,
        .obs_bytes = sizeof(actor->obs[0]),
        .obs = (const uint8_t *)actor->obs,
        .action_bytes = sizeof(int32_t),
        .action = (const uint8_t *)actor->action,
        .reward = actor->reward,
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

// Begins the next batch.
static inline wire_batch *
test_batch_begin(test_actor *actor)
{
    actor->batch.sequence++;
    actor->batch.run_count = 0;
    actor->batch.count = 0;
    return &actor->batch;
}

// Begins a run at row number of a stream.
static inline void
test_batch_run(test_actor *actor, uint32_t stream, uint64_t number, uint32_t version)
{
    uint32_t run = actor->batch.run_count++;
    assert_true(run < TEST_ROWS_MAX);
    actor->run_stream[run] = stream;
    actor->run_first[run] = number;
    actor->run_rows[run] = 0;
    actor->run_version[run] = version;
}

// The next row of the run. An end row has no action.
static inline void
test_batch_row(test_actor *actor, uint8_t flags)
{
    uint32_t run = actor->batch.run_count - 1, row = actor->batch.count++;
    uint64_t number = actor->run_first[run] + actor->run_rows[run]++;
    bool is_end = (flags & WIRE_END) != 0;
    assert_true(row < TEST_ROWS_MAX);
    actor->obs[row][0] = (float)actor->batch.actor_id;
    actor->obs[row][1] = (float)number;
    actor->obs[row][2] = (float)actor->run_stream[run];
    actor->obs[row][3] = 0;
    actor->action[row] = is_end ? 0 : (int32_t)number * 3;
    actor->reward[row] = is_end ? 0 : (float)number;
    actor->extra[row] = is_end ? 0 : (float)number * 2;
    actor->flags[row] = flags;
}

// The next batch of one endless episode of stream 0: count rows, and one more in the first batch,
// so that each batch makes count windows of one step complete.
static inline wire_batch *
test_batch_steps(test_actor *actor, uint32_t count)
{
    (void)test_batch_begin(actor);
    uint64_t end = actor->next + count + (actor->next == 0);
    if (actor->next < end) {
        test_batch_run(actor, 0, actor->next, (uint32_t)(actor->next / 10));
    }
    for (; actor->next < end; actor->next++) {
        test_batch_row(actor, actor->next == 0 ? WIRE_FIRST : 0);
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

// All sessions are silent for so long that they may give way.
static inline void
test_silence(replay_table *table)
{
    replay_dedupe_set_time(replay_table_dedupe(table), 1);
    replay_dedupe_set_time(replay_table_dedupe(table), 1 + REPLAY_RESEND_S);
}

// Every window of a sample is one that the rows of its stream have: one step, of no episode's end.
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
        T_NEAR(next[1], obs[1] + 1, 0, 0);
        T_NEAR(sampled->discount[i], TEST_DISCOUNT, 0, 0);
        T_NEAR(obs[0], next[0], 0, 0);
        T_NEAR(obs[2], next[2], 0, 0);
        assert_int_equal(action, (int32_t)obs[1] * 3);
    }
}

#endif // TESTS_REPLAY_REPLAY_TEST_H
