// A table that gives out each window once: in order, and none is lost while the learner waits for
// no more than the table holds.
#include "tests/replay/replay_test.h"

static test_actor actor; // large: not on the stack

static replay_table *
table_for(const wire_configure *configure)
{
    char reason[256] = "";
    T_OK(replay_config_check(configure, reason, sizeof(reason)));
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo_returns_each_once_in_order),
        cmocka_unit_test(test_fifo_whose_learner_wants_more_than_there_is_takes_inserts),
        cmocka_unit_test(test_fifo_comes_to_hold_the_largest_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
