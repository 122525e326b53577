// A table that gives out each window once: in order, and none is lost while the learner waits for
// no more than the table holds.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

static test_actor actor; // large: not on the stack

static replay_table *
table_for(const wire_configure *configure)
{
    oct_reason why = {""};
    if (replay_config_check(configure, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    test_actor_init(&actor, 3, 30);
    return replay_table_create(configure);
}

static replay_table *
table_of(uint64_t capacity)
{
    wire_configure configure = test_configure(capacity, WIRE_SAMPLER_FIFO);
    return table_for(&configure);
}

static void
test_fifo_returns_each_once_in_order(void **state)
{
    (void)state;
    replay_table *table = table_of(32);
    uint64_t next = 0;
    uint32_t sent = 0;
    bool is_offered = false;
    while (next < 1000) {
        if (!is_offered) {
            (void)test_batch_steps(&actor, 1 + sent++ % 9);
            is_offered = true;
        }
        replay_insert result;
        oct_err err = replay_table_insert(&result, table, &actor.batch);
        if (err == OCT_OK) {
            assert_int_equal(result.kind, REPLAY_INSERT_TAKEN);
            is_offered = false;
            continue;
        }
        T_ERR(err, OCT_EAGAIN);
        wire_sampled sampled;
        uint32_t batches = replay_table_may_sample(table, 4, 3, 0);
        assert_true(batches >= 2);
        replay_table_sample(&sampled, table, 4, batches);
        test_check_rows(&sampled);
        for (uint32_t i = 0; i < sampled.count; i++) {
            assert_int_equal(sampled.key[i], next);
            T_NEAR(sampled.reward[i], (double)next, 0, 0);
            T_NEAR(sampled.probability[i], 1, 0, 0);
            next++;
        }
    }
    assert_int_equal(replay_table_stats_get(table).overrun, 0);
    replay_table_destroy(table);
}

static void
test_fifo_whose_learner_wants_more_than_there_is_takes_inserts(void **state)
{
    (void)state;
    replay_table *table = table_of(32);
    (void)test_batch_begin(&actor);
    for (uint32_t stream = 0; stream < 4; stream++) { // a block each, with one window
        test_batch_run(&actor, stream, 0, 0);
        test_batch_row(&actor, WIRE_FIRST);
        test_batch_row(&actor, 0);
    }
    assert_int_equal(test_insert(table, &actor.batch).windows, 4);
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 4, 0, 0);
    for (int i = 0; i < 8; i++) {
        test_batch_row(&actor, i == 0 ? WIRE_FIRST : 0);
    }
    replay_insert result;
    T_ERR(replay_table_insert(&result, table, &actor.batch), OCT_EAGAIN);
    assert_false(replay_table_may_insert(table));
    assert_int_equal(replay_table_may_sample(table, 5, 1, 0), 0); // both would wait for ever
    assert_true(replay_table_may_insert(table));
    result = test_insert(table, &actor.batch);
    assert_int_equal(result.windows, 7);
    assert_int_equal(result.overrun, 1);
    assert_int_equal(replay_table_stats_get(table).overrun, 1);
    assert_int_equal(replay_table_may_sample(table, 5, 1, 0), 1);
    replay_table_destroy(table);
}

// Whatever batch_size is allowed, a learner that waits for it gets it, and loses no window: also
// where all windows are as long as they may be.
static void
test_fifo_comes_to_hold_the_largest_batch(void **state)
{
    (void)state;
    static const struct {
        wire_window window;
        uint32_t steps, stride, episode;
    } cases[] = {{WIRE_WINDOW_N_STEP, 1, 0, 1},     {WIRE_WINDOW_N_STEP, 3, 0, 5},
                 {WIRE_WINDOW_SEQUENCE, 50, 0, 50}, {WIRE_WINDOW_SEQUENCE, 50, 0, 200},
                 {WIRE_WINDOW_SEQUENCE, 50, 0, 3},  {WIRE_WINDOW_SEQUENCE, 300, 0, 300},
                 {WIRE_WINDOW_SEQUENCE, 10, 10, 7}, {WIRE_WINDOW_SEQUENCE, 1, 1, 1}};
    for (size_t c = 0; c < OCT_COUNTOF(cases); c++) {
        wire_configure configure = test_configure(1000, WIRE_SAMPLER_FIFO);
        configure.window = cases[c].window;
        configure.window_steps = cases[c].steps;
        configure.window_stride = cases[c].stride;
        replay_table *table = table_for(&configure);
        uint32_t size = replay_table_batch_max(table), in = 0;
        uint64_t number = 0;
        assert_true(size > 1);
        for (uint32_t batch = 0; batch < 1000; batch++) {
            (void)test_batch_begin(&actor);
            test_batch_run(&actor, 0, number, 1);
            for (uint32_t i = 0; i < 16; i++, number++) {
                bool is_end = in == cases[c].episode;
                bool is_last = in + 1 == cases[c].episode;
                test_batch_row(&actor, is_end ? WIRE_END
                                              : (in == 0 ? WIRE_FIRST : 0) |
                                                    (is_last ? WIRE_TERMINATED : 0));
                in = is_end ? 0 : in + 1;
            }
            if (replay_table_may_sample(table, size, 1, 0) > 0) {
                wire_sampled sampled;
                replay_table_sample(&sampled, table, size, 1);
            }
            assert_int_equal(test_insert(table, &actor.batch).overrun, 0);
        }
        assert_true(replay_table_stats_get(table).samples > 0);
        replay_table_destroy(table);
    }
}

// ---- actors of different speeds

#define SPEED_ACTORS  2
#define SPEED_STREAMS 4 // of each
#define SPEED_STREAM  (SPEED_ACTORS * SPEED_STREAMS)

static struct speeds {
    test_actor actor[SPEED_ACTORS];
    uint64_t row[SPEED_ACTORS];  // that comes next, of each of its streams
    uint64_t next[SPEED_STREAM]; // first row of the window that is to be drawn next
    uint64_t drawn[SPEED_ACTORS];
} speeds;

struct speed_case {
    wire_window window;
    uint32_t steps, stride, episode; // rows with an action, and an end row behind them
};

// Flags of a row of an actor all of whose episodes have the same length, and are rollouts.
static uint8_t
speed_flags(const struct speed_case *c, uint64_t row)
{
    uint64_t in = row % (c->episode + 1);
    return in == 0            ? WIRE_FIRST | WIRE_ROLLOUT | (c->episode == 1 ? WIRE_TRUNCATED : 0)
           : in == c->episode ? WIRE_END | WIRE_ROLLOUT
                              : (in + 1 == c->episode ? WIRE_TRUNCATED : 0);
}

// Where the window begins that comes behind the one at row.
static uint64_t
speed_behind(const struct speed_case *c, uint64_t row)
{
    uint64_t in = row % (c->episode + 1), left = c->episode - in; // actions from row on
    uint64_t step = c->window == WIRE_WINDOW_N_STEP    ? 1
                    : c->window == WIRE_WINDOW_ROLLOUT ? left
                    : c->stride == 0                   ? OCT_MIN(c->steps, left)
                                                       : 0;
    return step == 0 ? row + c->stride : row + step + (in + step == c->episode);
}

static void
speed_batch(const struct speed_case *c, uint32_t a, uint32_t rows)
{
    (void)test_batch_begin(&speeds.actor[a]);
    for (uint32_t stream = 0; stream < SPEED_STREAMS; stream++) {
        test_batch_run(&speeds.actor[a], stream, speeds.row[a], 1);
        for (uint32_t i = 0; i < rows; i++) {
            test_batch_row(&speeds.actor[a], speed_flags(c, speeds.row[a] + i));
        }
    }
    speeds.row[a] += rows;
}

// All windows of a stream come, one behind the other.
static void
speed_sample(const struct speed_case *c, replay_table *table, uint32_t size)
{
    wire_sampled sampled;
    replay_table_sample(&sampled, table, size, 1);
    size_t rows = c->window == WIRE_WINDOW_N_STEP ? 1 : c->steps + 1;
    for (uint32_t i = 0; i < size; i++) {
        float obs[TEST_OBS_FLOATS];
        memcpy(obs, sampled.obs + i * rows * sizeof(obs), sizeof(obs));
        uint32_t a = (uint32_t)obs[0] - 1, stream = a * SPEED_STREAMS + (uint32_t)obs[2];
        assert_true((float)speeds.next[stream] == obs[1]);
        speeds.next[stream] = speed_behind(c, speeds.next[stream]);
        speeds.drawn[a]++;
    }
}

// One actor sends ratio batches while the other sends one; the learner takes size windows whenever
// replay has no room. Nothing is lost where replay has room for these, for what streams fill and
// for one batch.
static void
speeds_run(const struct speed_case *c, uint32_t ratio, uint32_t rows, uint32_t size)
{
    wire_configure configure = test_configure(SPEED_STREAM * (c->steps + 32), WIRE_SAMPLER_FIFO);
    configure.streams = SPEED_STREAM;
    configure.window = c->window;
    configure.window_steps = c->steps;
    configure.window_stride = c->stride;
    configure.capacity = replay_config_capacity_for(&configure, size) + rows * SPEED_STREAMS;
    replay_table *table = table_for(&configure);
    memset(&speeds, 0, sizeof(speeds));
    for (uint32_t a = 0; a < SPEED_ACTORS; a++) {
        test_actor_init(&speeds.actor[a], a + 1, 10 + a);
    }
    uint64_t turns = 20 * configure.capacity / (rows * SPEED_STREAMS);
    for (uint64_t batch = 0; batch < turns + 40 * (ratio + 1); batch++) {
        uint32_t a = batch % (ratio + 1) == 0;
        speed_batch(c, a, rows);
        replay_insert result;
        while (replay_table_insert(&result, table, &speeds.actor[a].batch) == OCT_EAGAIN) {
            if (replay_table_may_sample(table, size, 1, 0) > 0) {
                speed_sample(c, table, size);
            }
            assert_true(replay_table_may_insert(table) || replay_table_stats_get(table).size > 0);
        }
        assert_int_equal(result.kind, REPLAY_INSERT_TAKEN);
        assert_int_equal(result.overrun, 0);
    }
    for (uint32_t left; (left = (uint32_t)replay_table_stats_get(table).size) > 0;) {
        left = OCT_MIN(left, size);
        assert_int_equal(replay_table_may_sample(table, left, 1, 0), 1);
        speed_sample(c, table, left);
    }
    assert_int_equal(replay_table_stats_get(table).cut, 0);
    assert_int_equal(replay_table_stats_get(table).overrun, 0);
    for (uint32_t stream = 0; stream < SPEED_STREAM; stream++) {
        uint64_t behind = speeds.row[stream / SPEED_STREAMS];
        assert_in_range(speeds.next[stream], behind - OCT_MIN(behind, c->steps),
                        behind + c->stride);
    }
    assert_true(speeds.drawn[0] > 0 && speeds.drawn[1] > 0);
    replay_table_destroy(table);
}

static void
test_fifo_loses_nothing_of_slow_actors(void **state)
{
    (void)state;
    static const struct speed_case cases[] = {
        {WIRE_WINDOW_N_STEP, 1, 0, 50},         {WIRE_WINDOW_N_STEP, 5, 0, 7},
        {WIRE_WINDOW_SEQUENCE, 20, 20, 30},     {WIRE_WINDOW_SEQUENCE, 5, 1, 10},
        {WIRE_WINDOW_SEQUENCE, 100, 100, 1000}, {WIRE_WINDOW_SEQUENCE, 3, 10, 1000},
        {WIRE_WINDOW_SEQUENCE, 50, 0, 20},      {WIRE_WINDOW_SEQUENCE, 50, 0, 120},
        {WIRE_WINDOW_ROLLOUT, 100, 0, 100},     {WIRE_WINDOW_ROLLOUT, 16, 0, 9}};
    static const uint32_t ratios[] = {1, 2, 9, 65};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(ratios); k++) {
            bool is_rollout = cases[i].window == WIRE_WINDOW_ROLLOUT; // they come whole
            speeds_run(&cases[i], ratios[k], is_rollout ? cases[i].episode + 1 : 3, 8);
            speeds_run(&cases[i], ratios[k], is_rollout ? cases[i].episode + 1 : 64, 32);
        }
    }
}

// The last block of a stream that nobody waits for any more may leave before earlier ones, whose
// windows wait. Then, too, windows of another kind begin where its episode says.
static void
test_fifo_stream_without_its_last_block_gets_another_window(void **state)
{
    (void)state;
    wire_configure configure = test_configure(64, WIRE_SAMPLER_FIFO);
    replay_table *table = table_for(&configure);
    uint32_t rows = replay_table_blocks(table).rows, blocks = replay_table_blocks(table).count;
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 0, 0, 1);
    for (uint32_t i = 0; i <= rows; i++) { // one block, and a row of the next episode
        test_batch_row(&actor, i == 0 || i == rows ? WIRE_FIRST
                               : i + 2 == rows     ? WIRE_TRUNCATED
                               : i + 1 == rows     ? WIRE_END
                                                   : 0);
    }
    assert_int_equal(test_insert(table, &actor.batch).windows, rows - 1);
    assert_int_equal(replay_table_may_sample(table, rows, 1, 0), 0); // nothing is held back
    for (uint32_t i = 0; i < 3 * blocks; i++) {                      // streams without a window
        (void)test_batch_begin(&actor);
        test_batch_run(&actor, 1 + i, 0, 1);
        test_batch_row(&actor, WIRE_FIRST);
        assert_int_equal(test_insert(table, &actor.batch).overrun, 0);
    }
    assert_int_equal(replay_table_stats_get(table).size, rows - 1);
    wire_sampled sampled;
    assert_int_equal(replay_table_may_sample(table, rows - 1, 1, 0), 1);
    configure.window = WIRE_WINDOW_SEQUENCE;
    configure.window_steps = 3;
    replay_table_set(table, &configure);
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 0, rows + 1, 1);
    for (uint32_t i = 0; i < 6; i++) { // up to the row behind the window that begins 3 rows in
        test_batch_row(&actor, 0);
    }
    assert_int_equal(test_insert(table, &actor.batch).windows, 1);
    uint32_t held = (uint32_t)replay_table_stats_get(table).size;
    assert_int_equal(replay_table_may_sample(table, held, 1, 0), 1);
    replay_table_sample(&sampled, table, held, 1);
    float obs[TEST_OBS_FLOATS];
    memcpy(obs, sampled.obs + (size_t)(held - 1) * 4 * sizeof(obs), sizeof(obs));
    assert_true(obs[1] == (float)(rows + 3));
    replay_table_destroy(table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo_returns_each_once_in_order),
        cmocka_unit_test(test_fifo_whose_learner_wants_more_than_there_is_takes_inserts),
        cmocka_unit_test(test_fifo_comes_to_hold_the_largest_batch),
        cmocka_unit_test(test_fifo_loses_nothing_of_slow_actors),
        cmocka_unit_test(test_fifo_stream_without_its_last_block_gets_another_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
