// Which batches the table rejects, and what it samples, drops and acknowledges.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <float.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_rng.h"
#include "replay/replay_file.h"
#include "replay/replay_select.h"

static test_actor actor; // large: not on the stack

static replay_table *
table_for(const wire_configure *configure)
{
    oct_reason why = {""};
    T_OK(replay_config_check(configure, &why));
    test_actor_init(&actor, 3, 30);
    return replay_table_create(configure);
}

static replay_table *
table_of(uint64_t capacity, wire_sampler sampler)
{
    wire_configure configure = test_configure(capacity, sampler);
    return table_for(&configure);
}

static wire_sampled
sample(replay_table *table, uint32_t batch_size)
{
    wire_sampled sampled;
    assert_int_equal(replay_table_may_sample(table, batch_size, 1, 0), 1);
    replay_table_sample(&sampled, table, batch_size, 1);
    test_check_rows(&sampled);
    return sampled;
}

// ---- forbidden

static void
assert_rejected(replay_table *table, const wire_batch *batch, const char *reason)
{
    uint64_t before = replay_table_stats_get(table).rejected;
    uint64_t size = replay_table_stats_get(table).size;
    replay_insert result = test_insert(table, batch);
    assert_int_equal(result.kind, REPLAY_INSERT_REJECTED);
    assert_string_equal(result.reason, reason);
    assert_int_equal(replay_table_stats_get(table).rejected, before + 1);
    assert_int_equal(replay_table_stats_get(table).size, size);
}

static void
test_table_rejects_a_session_without_number(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    wire_batch batch = *test_batch_steps(&actor, 4);
    batch.session = 0;
    assert_rejected(table, &batch, "session is 0");
    assert_int_equal(replay_table_stats_get(table).sessions, 0);
    replay_table_destroy(table);
}

static void
test_table_rejects_shapes_of_another_table(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    wire_batch batch = *test_batch_steps(&actor, 4);
    batch.obs_bytes = 8;
    assert_rejected(table, &batch, "observations of the wrong size");
    batch = *test_batch_steps(&actor, 4);
    batch.action_bytes = 8;
    assert_rejected(table, &batch, "actions of the wrong size");
    batch = *test_batch_steps(&actor, 4);
    batch.extra_dim = 1;
    assert_rejected(table, &batch, "the wrong extra_dim");
    assert_rejected(table, test_batch_steps(&actor, 101), "more rows than the table holds");
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 0, (uint64_t)INT64_MAX + 1, 0);
    test_batch_row(&actor, 0);
    assert_rejected(table, &actor.batch, "a row's number is out of range");
    (void)test_batch_begin(&actor);
    for (uint32_t stream = 0; stream < 5; stream++) { // four blocks of 32 rows
        test_batch_run(&actor, stream, 0, 0);
        test_batch_row(&actor, WIRE_FIRST);
    }
    assert_rejected(table, &actor.batch, "more rows and streams than the table holds");
    assert_int_equal(replay_table_stats_get(table).streams, 0); // nothing of them is left
    replay_table_destroy(table);
}

static void
test_table_rejects_numbers_that_are_not_finite_whole(void **state)
{
    (void)state;
    wire_configure configure = test_configure(100, WIRE_SAMPLER_UNIFORM);
    configure.action_is_float = true;
    replay_table *table = table_for(&configure);
    (void)test_batch_steps(&actor, 4);
    actor.obs[3][2] = NAN;
    assert_rejected(table, &actor.batch, "an observation is not finite");
    (void)test_batch_steps(&actor, 4);
    actor.action[2] = 0x7f800000; // infinity as a float32
    assert_rejected(table, &actor.batch, "an action is not finite");
    // The rows of rejected batches are missing: the stream begins where it goes on.
    assert_int_equal(test_insert(table, test_batch_steps(&actor, 4)).windows, 3);
    replay_table_destroy(table);

    table = table_of(100, WIRE_SAMPLER_UNIFORM); // int actions: any bits
    (void)test_batch_steps(&actor, 4);
    actor.action[2] = 0x7f800000;
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    replay_table_destroy(table);
}

static void
test_table_rejects_actions_that_the_environment_does_not_have(void **state)
{
    (void)state;
    static const uint32_t bad[] = {3, 999, UINT32_MAX, INT32_MAX};
    wire_configure configure = test_configure(100, WIRE_SAMPLER_UNIFORM);
    replay_table *table = table_for(&configure); // as of a file, which does not have the number
    configure.action_count = 3;
    replay_table_set(table, &configure); // the learner brings it
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        (void)test_batch_steps(&actor, 4);
        for (uint32_t row = 0; row < 3; row++) {
            actor.action[row] = row;
        }
        actor.action[3] = bad[i];
        assert_rejected(table, &actor.batch, "an action that the environment does not have");
    }
    (void)test_batch_steps(&actor, 4);
    for (uint32_t row = 0; row < 4; row++) {
        actor.action[row] = row % 3;
    }
    assert_int_equal(test_insert(table, &actor.batch).windows, 3);
    replay_table_destroy(table);
}

static void
test_table_rejects_rows_sent_twice(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    (void)test_insert(table, test_batch_steps(&actor, 10));
    actor.next -= 1;
    assert_rejected(table, test_batch_steps(&actor, 4), "rows sent twice");
    (void)test_batch_begin(&actor); // within one batch, of a stream that nobody knows yet
    test_batch_run(&actor, 9, 5, 0);
    test_batch_row(&actor, 0);
    test_batch_run(&actor, 9, 5, 1);
    test_batch_row(&actor, 0);
    assert_rejected(table, &actor.batch, "rows sent twice");
    replay_table_destroy(table);
}

static void
test_table_rejects_episodes_out_of_order_across_batches(void **state)
{
    (void)state;
    static const struct {
        uint8_t before, now;
        const char *reason;
    } cases[] = {
        {0, WIRE_FIRST, "a misplaced FIRST flag"},
        {WIRE_END, 0, "a misplaced FIRST flag"},
        {WIRE_END, WIRE_END, "a misplaced FIRST flag"},
        {0, WIRE_END, "a misplaced END flag"},
        {WIRE_TERMINATED, 0, "a misplaced END flag"},
        {WIRE_TRUNCATED, WIRE_END | WIRE_FAILED, "a misplaced END flag"},
        {WIRE_TERMINATED, WIRE_END, NULL},
        {0, WIRE_END | WIRE_FAILED, NULL},
        {WIRE_END, WIRE_FIRST, NULL},
        {WIRE_END | WIRE_FAILED, WIRE_FIRST, NULL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        for (int missing = 0; missing < 2; missing++) { // nothing is known about what comes then
            replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
            (void)test_batch_begin(&actor);
            test_batch_run(&actor, 3, 7, 0);
            test_batch_row(&actor, cases[i].before);
            (void)test_insert(table, &actor.batch);
            (void)test_batch_begin(&actor);
            test_batch_run(&actor, 3, 8 + (uint64_t)missing, 0);
            test_batch_row(&actor, cases[i].now);
            if (cases[i].reason && !missing) {
                assert_rejected(table, &actor.batch, cases[i].reason);
            } else {
                assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
            }
            replay_table_destroy(table);
        }
    }
}

static void
test_table_counts_windows_that_missing_rows_cut(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.window_steps = 3;
    replay_table *table = table_for(&configure);
    assert_int_equal(test_insert(table, test_batch_steps(&actor, 10)).windows, 8); // of 11 rows
    actor.next += 5;
    assert_int_equal(test_insert(table, test_batch_steps(&actor, 10)).windows, 7);
    assert_int_equal(replay_table_stats_get(table).cut, 3);
    assert_int_equal(replay_table_stats_get(table).rows, 21);
    replay_table_destroy(table);
}

// A stream that pauses, while another one fills the table.
static void
test_table_counts_windows_that_begin_in_overwritten_rows_as_cut(void **state)
{
    (void)state;
    wire_configure configure = test_configure(64, WIRE_SAMPLER_UNIFORM);
    configure.streams = 2;
    configure.window_steps = 3;
    replay_table *table = table_for(&configure);
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 1, 0, 0);
    for (int i = 0; i < 3; i++) {
        test_batch_row(&actor, i == 0 ? WIRE_FIRST : 0);
    }
    assert_int_equal(test_insert(table, &actor.batch).windows, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(replay_table_stats_get(table).cut, i < 2 ? 0 : 3);
        (void)test_insert(table, test_batch_steps(&actor, 32));
    }
    replay_table_destroy(table);
}

static void
test_table_counts_sequences_that_missing_rows_cut(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.window = WIRE_WINDOW_SEQUENCE;
    configure.window_steps = 3;
    configure.window_stride = 2;
    replay_table *table = table_for(&configure);
    assert_int_equal(test_insert(table, test_batch_steps(&actor, 10)).windows,
                     4); // from 0, 2, 4, 6
    actor.next += 5;
    (void)test_insert(table, test_batch_steps(&actor, 10));
    assert_int_equal(replay_table_stats_get(table).cut, 2); // from 8 and 10
    replay_table_destroy(table);
}

// Windows that were found in what is there already are no steps of actors.
static void
test_table_set_to_other_windows_lets_nobody_wait_longer(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.window_steps = 3;
    configure.min_size = 1;
    configure.samples_per_insert = 4;
    replay_table *table = table_for(&configure);
    assert_int_equal(test_insert(table, test_batch_steps(&actor, 10)).windows, 8); // of 11 rows
    double balance = replay_limiter_balance(replay_table_limiter(table));
    configure.window_steps = 1;
    replay_table_set(table, &configure);
    assert_int_equal(replay_table_stats_get(table).size, 10);
    assert_int_equal(replay_table_stats_get(table).inserts, 10);
    T_NEAR(replay_limiter_balance(replay_table_limiter(table)), balance, 0, 0);
    replay_table_destroy(table);
}

// In lock-step a turn's batches count as drawn when it ends, however often they are asked for.
static void
test_table_turns_draw_what_the_ratio_allows(void **state)
{
    (void)state;
    enum { STEPS = 20, BATCH = 8, TURNS = 5 };
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.samples_per_insert = 4;
    replay_table *table = table_for(&configure);
    const replay_limiter *limiter = replay_table_limiter(table);
    uint64_t drawn = 0;
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        assert_int_equal(test_insert(table, test_batch_steps(&actor, STEPS)).kind,
                         REPLAY_INSERT_TAKEN);
        replay_table_end_turn(table, BATCH);
        drawn += (uint64_t)replay_table_turn_batches(table) * BATCH;
        assert_int_equal(replay_table_turn(table), turn);
        assert_int_equal(limiter->samples, drawn);
        double left = replay_limiter_balance(limiter) - limiter->balance_min;
        assert_true(left >= 0 && left < BATCH);
    }
    replay_table_end_turn(table, BATCH); // without new rows
    assert_int_equal(replay_table_turn_batches(table), 0);
    assert_int_equal(limiter->samples, drawn);
    replay_table_destroy(table);
}

// The keys that the first batch of a turn draws; turns before it are without rows.
static void
keys_of_turn(uint64_t seed, uint64_t turn, uint64_t key[8])
{
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.seed = seed;
    replay_table *table = table_for(&configure);
    wire_sampled sampled;
    for (uint64_t i = 1; i <= turn; i++) {
        if (i == turn) {
            (void)test_insert(table, test_batch_steps(&actor, 40));
        }
        replay_table_end_turn(table, 8);
    }
    replay_table_sample_turn(&sampled, table, 8, 0, 1);
    memcpy(key, sampled.key, 8 * sizeof(*key));
    replay_table_destroy(table);
}

static void
test_table_draws_by_seed_and_turn(void **state)
{
    (void)state;
    uint64_t one[8], two[8];
    keys_of_turn(2, 1, one);
    keys_of_turn(2, 1, two);
    assert_memory_equal(one, two, sizeof(one));
    keys_of_turn(1, 2, two);
    assert_memory_not_equal(one, two, sizeof(one));
}

// Asked for at once or one by one, and no two of them are the same.
static void
test_table_batches_of_a_turn_do_not_depend_on_requests(void **state)
{
    (void)state;
    enum { BATCH = 8, BATCHES = 3 };
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.samples_per_insert = 1;
    replay_table *table = table_for(&configure);
    uint64_t key[BATCHES][BATCH];
    wire_sampled sampled;
    (void)test_insert(table, test_batch_steps(&actor, 40));
    replay_table_end_turn(table, BATCH);
    assert_true(replay_table_turn_batches(table) >= BATCHES);
    replay_table_sample_turn(&sampled, table, BATCH, 0, BATCHES);
    memcpy(key, sampled.key, sizeof(key));
    assert_memory_not_equal(key[0], key[1], sizeof(key[0]));
    assert_memory_not_equal(key[1], key[2], sizeof(key[1]));
    for (uint32_t b = BATCHES; b-- > 0;) {
        replay_table_sample_turn(&sampled, table, BATCH, b, 1);
        assert_memory_equal(sampled.key, key[b], sizeof(key[b]));
    }
    replay_table_destroy(table);
}

static void
test_table_ignores_late_priorities(void **state)
{
    (void)state;
    replay_table *table = table_of(32, WIRE_SAMPLER_PRIORITIZED); // four blocks of eight
    (void)test_insert(table, test_batch_steps(&actor, 30));
    (void)test_insert(table, test_batch_steps(&actor, 2)); // keys 0 .. 7 are gone
    uint64_t key[] = {7, 32, UINT64_MAX};
    float priority[] = {1e9f, 1e9f, 1e9f};
    wire_priorities late = {.count = 3, .key = key, .priority = priority};
    replay_table_update(table, &late);
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.updates_late, 3);
    assert_int_equal(stats.updates, 0);
    wire_sampled sampled = sample(table, 64);
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.probability[i], 1.0 / 24, 0, 1e-6); // row 32 has none behind it
    }
    replay_table_destroy(table);
}

// ---- edges

static void
test_table_of_four_blocks_works_row_by_row(void **state)
{
    (void)state;
    replay_table *table = table_of(32, WIRE_SAMPLER_PRIORITIZED);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(test_insert(table, test_batch_steps(&actor, 1)).windows, 1);
        wire_sampled sampled = sample(table, 3);
        assert_true(sampled.key[2] <= i && sampled.key[2] + 32 > i);
        // Whole blocks leave: 25 to 32 rows are held, one of which has no row behind it yet.
        uint64_t held = i + 2 <= 32 ? i + 2 : 25 + (i + 1) % 8;
        assert_int_equal(replay_table_stats_get(table).rows, held);
        T_NEAR(sampled.probability[0], 1.0 / (double)(held - 1), 0, 1e-6);
    }
    replay_table_destroy(table);
}

static void
test_table_takes_an_empty_batch(void **state)
{
    (void)state;
    replay_table *table = table_of(32, WIRE_SAMPLER_PRIORITIZED);
    actor.batch.obs = NULL;
    assert_int_equal(test_insert(table, test_batch_begin(&actor)).kind, REPLAY_INSERT_TAKEN);
    assert_int_equal(replay_table_may_sample(table, 1, 1, 0), 0);
    replay_table_destroy(table);
}

static void
test_table_never_samples_what_was_overwritten(void **state)
{
    (void)state;
    static const wire_sampler samplers[] = {WIRE_SAMPLER_UNIFORM, WIRE_SAMPLER_PRIORITIZED};
    for (size_t s = 0; s < OCT_COUNTOF(samplers); s++) {
        replay_table *table = table_of(64, samplers[s]);
        uint64_t sent = 0;
        for (uint32_t round = 0; round < 60; round++) {
            sent += test_insert(table, test_batch_steps(&actor, 1 + round % 17)).windows;
            wire_sampled sampled = sample(table, 100);
            for (uint32_t i = 0; i < sampled.count; i++) {
                assert_true(sampled.key[i] < sent && sampled.key[i] + 64 >= sent);
                T_NEAR(sampled.reward[i], (double)sampled.key[i], 0, 0); // one row a key here
            }
        }
        replay_table_destroy(table);
    }
}

// Episodes of 3 steps, 2-step returns, cut into batches of 5 rows wherever they fall.
static void
test_table_bootstraps_from_truncated_episodes_and_not_from_terminated_ones(void **state)
{
    (void)state;
    wire_configure configure = test_configure(64, WIRE_SAMPLER_UNIFORM);
    configure.window_steps = 2;
    replay_table *table = table_for(&configure);
    uint64_t number = 0;
    for (int round = 0; round < 40; round++) {
        (void)test_batch_begin(&actor);
        test_batch_run(&actor, 0, number, 0);
        for (int i = 0; i < 5; i++, number++) {
            uint8_t last = number % 8 == 2 ? WIRE_TERMINATED : WIRE_TRUNCATED;
            test_batch_row(&actor, number % 4 == 0   ? WIRE_FIRST
                                   : number % 4 == 2 ? last
                                   : number % 4 == 3 ? WIRE_END
                                                     : 0);
        }
        (void)test_insert(table, &actor.batch);
    }
    wire_sampled sampled;
    assert_int_equal(replay_table_may_sample(table, 512, 1, 0), 1);
    replay_table_sample(&sampled, table, 512, 1);
    for (uint32_t i = 0; i < sampled.count; i++) {
        float obs[TEST_OBS_FLOATS], next[TEST_OBS_FLOATS];
        memcpy(obs, sampled.obs + i * sizeof(obs), sizeof(obs));
        memcpy(next, sampled.next + i * sizeof(next), sizeof(next));
        uint64_t at = (uint64_t)obs[1], step = at % 4, k = step == 2 ? 1 : 2;
        assert_true(step != 3 && next[1] == obs[1] + (float)k);
        T_NEAR(sampled.reward[i], k == 1 ? obs[1] : obs[1] + 0.5f * (obs[1] + 1), 0, 0);
        bool is_terminated = step > 0 && at % 8 < 4;
        T_NEAR(sampled.discount[i], is_terminated ? 0 : k == 1 ? 0.5 : 0.25, 0, 0);
    }
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.ends, 50);
    assert_int_equal(stats.rows_taken, 200);
    replay_table_destroy(table);
}

// Rows 0 .. 299 are an episode that terminates, the next begins at row 301: a row's reward is its
// number, so that a window's is known from its first row.
static void
check_long_windows(const wire_sampled *sampled, uint32_t steps)
{
    for (uint32_t i = 0; i < sampled->count; i++) {
        float obs[TEST_OBS_FLOATS], next[TEST_OBS_FLOATS];
        memcpy(obs, sampled->obs + i * sizeof(obs), sizeof(obs));
        memcpy(next, sampled->next + i * sizeof(next), sizeof(next));
        uint32_t first = (uint32_t)obs[1], end = first + steps;
        end = first < 300 ? OCT_MIN(end, 300) : end;
        uint32_t sum = (end - first) * (first + end - 1) / 2;
        T_NEAR(sampled->reward[i], sum, 0, 0);
        T_NEAR(sampled->discount[i], end == 300 ? 0 : 1, 0, 0);
        T_NEAR(next[1], end, 0, 0);
    }
}

// Rewards of the largest size, in a window of a block and in one of two: what is beyond float32 is
// the largest there is, for a learner takes no answer with an infinite reward. No actor can bring
// them, but a file of an earlier release has them.
static void
test_table_sums_of_rewards_stay_finite(void **state)
{
    (void)state;
    wire_configure configure = test_configure(4096, WIRE_SAMPLER_UNIFORM);
    configure.window_steps = 3;
    configure.discount = 1;
    char path[64] = "/tmp/octet-table-test-XXXXXX";
    oct_reason why;
    (void)close(mkstemp(path));
    replay_file *file;
    T_OK(replay_file_create(&file, path, &configure, &why));
    replay_table *table = replay_table_create_in(&configure, file);
    test_actor_init(&actor, 1, 1);
    uint32_t rows = replay_table_blocks(table).rows;
    (void)test_insert(table, test_batch_steps(&actor, rows + 3));
    for (uint32_t row = 0; row < actor.batch.count; row++) {
        float reward = row < rows / 2 ? FLT_MAX : -FLT_MAX;
        const replay_block *block = replay_file_block(file, row / rows);
        *(float *)(uintptr_t)replay_block_reward(&file->layout, block, row % rows) = reward;
    }
    wire_sampled sampled;
    assert_int_equal(replay_table_may_sample(table, 512, 1, 0), 1);
    replay_table_sample(&sampled, table, 512, 1);
    for (uint32_t i = 0; i < sampled.count; i++) {
        float obs[TEST_OBS_FLOATS];
        memcpy(obs, sampled.obs + i * sizeof(obs), sizeof(obs));
        uint32_t first = (uint32_t)obs[1];
        // In order: two alike are infinite whatever follows; one of each is nothing.
        assert_true(sampled.reward[i] == (first + 1 < rows / 2 ? FLT_MAX : -FLT_MAX));
    }
    replay_table_destroy(table);
    replay_file_close(file);
    (void)unlink(path);
}

static void
test_table_windows_may_be_longer_than_blocks(void **state)
{
    (void)state;
    static const uint32_t steps[] = {1, 2, 7, 8, 31, 63, 64, 65, 127, 128, 129};
    for (size_t k = 0; k < OCT_COUNTOF(steps); k++) {
        wire_configure configure = test_configure(4096, WIRE_SAMPLER_UNIFORM);
        configure.window_steps = steps[k];
        configure.discount = 1;
        replay_table *table = table_for(&configure);
        assert_int_equal(replay_table_blocks(table).rows, 64);
        (void)test_batch_begin(&actor);
        test_batch_run(&actor, 0, 0, 1);
        for (uint32_t row = 0; row < 450; row++) {
            test_batch_row(&actor, row == 0 || row == 301 ? WIRE_FIRST
                                   : row == 299           ? WIRE_TERMINATED
                                   : row == 300           ? WIRE_END
                                                          : 0);
        }
        assert_int_equal(test_insert(table, &actor.batch).windows, 449 - steps[k]);
        wire_sampled sampled;
        assert_int_equal(replay_table_may_sample(table, 4096, 1, 0), 1);
        replay_table_sample(&sampled, table, 4096, 1);
        check_long_windows(&sampled, steps[k]);
        replay_table_destroy(table);
    }
}

static void
test_table_gives_credit_while_it_takes_inserts(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.min_size = 10;
    configure.samples_per_insert = 1;
    configure.tolerance = 10; // band 200: -90 .. 110
    replay_table *table = table_for(&configure);
    (void)test_insert(table, test_batch_steps(&actor, 10));
    assert_int_equal(replay_table_credit(table, 64), 9); // of 11 rows, as the batch before
    assert_int_equal(replay_table_credit(table, 4), 4);
    for (int i = 0; i < 10; i++) {
        (void)test_insert(table, test_batch_steps(&actor, 10));
    }
    assert_int_equal(replay_table_credit(table, 64), 0);
    replay_insert result;
    T_ERR(replay_table_insert(&result, table, test_batch_steps(&actor, 10)), OCT_EAGAIN);
    (void)sample(table, 10);
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    replay_table_destroy(table);
}

// ---- ordinary

static void
test_table_acknowledges_exactly_once(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    replay_insert first = test_insert(table, test_batch_steps(&actor, 5));
    assert_int_equal(first.kind, REPLAY_INSERT_TAKEN);
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_DUPLICATE);
    assert_int_equal(replay_table_session(table, first.session)->sequence, 1);
    actor.batch.sequence = 3;
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_GAP);
    assert_int_equal(replay_table_session(table, first.session)->sequence, 1);
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.duplicates, 1);
    assert_int_equal(stats.gaps, 1);
    assert_int_equal(stats.inserts, 5);
    replay_table_destroy(table);
}

// 5 sigma of a binomial with share 1/size, for every window.
static void
test_table_uniform_draws_all_alike(void **state)
{
    (void)state;
    enum { SIZE = 60, ROUNDS = 400, BATCH = 500 };
    replay_table *table = table_of(64, WIRE_SAMPLER_UNIFORM); // four blocks of sixteen
    for (int i = 0; i < 4; i++) {
        (void)test_insert(table, test_batch_steps(&actor, 27)); // wrapped: keys 48 .. 107
    }
    uint32_t drawn[SIZE] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        wire_sampled sampled = sample(table, BATCH);
        for (uint32_t k = 0; k < sampled.count; k++) {
            drawn[sampled.key[k] - 48]++;
            T_NEAR(sampled.probability[k], 1.0 / SIZE, 0, 1e-6);
        }
    }
    double n = ROUNDS * BATCH, p = 1.0 / SIZE;
    for (int i = 0; i < SIZE; i++) {
        T_NEAR(drawn[i], n * p, 5 * sqrt(n * p * (1 - p)), 0);
    }
    replay_table_destroy(table);
}

static void
test_table_prioritized_draws_by_priority(void **state)
{
    (void)state;
    enum { SIZE = 30, ROUNDS = 400, BATCH = 500 };
    wire_configure configure = test_configure(32, WIRE_SAMPLER_PRIORITIZED); // blocks of eight
    configure.priority_exponent = 0.5;
    replay_table *table = table_for(&configure);
    (void)test_insert(table, test_batch_steps(&actor, 20));
    (void)test_insert(table, test_batch_steps(&actor, 26)); // wrapped: keys 16 .. 45
    uint64_t key[SIZE];
    float priority[SIZE];
    double weight[SIZE], total = 0;
    for (int i = 0; i < SIZE; i++) {
        key[i] = 16 + (uint64_t)i;
        priority[i] = (float)(i % 7);
        weight[i] = sqrt(i % 7);
        total += weight[i];
    }
    wire_priorities update = {.count = SIZE, .key = key, .priority = priority};
    replay_table_update(table, &update);
    uint32_t drawn[SIZE] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        wire_sampled sampled = sample(table, BATCH);
        for (uint32_t k = 0; k < sampled.count; k++) {
            uint64_t at = sampled.key[k] - 16;
            drawn[at]++;
            T_NEAR(sampled.probability[k], weight[at] / total, 0, 1e-6);
        }
    }
    for (int i = 0; i < SIZE; i++) {
        double n = ROUNDS * BATCH, p = weight[i] / total;
        T_NEAR(drawn[i], n * p, 5 * sqrt(n * p * (1 - p)), 0);
    }
    replay_table_destroy(table);
}

static void
test_table_new_windows_get_the_largest_priority(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_PRIORITIZED);
    (void)test_insert(table, test_batch_steps(&actor, 2));
    uint64_t key[] = {0, 1};
    float priority[] = {8, 0.5f};
    wire_priorities update = {.count = 2, .key = key, .priority = priority};
    replay_table_update(table, &update);
    (void)test_insert(table, test_batch_steps(&actor, 1));
    wire_sampled sampled = sample(table, 200);
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.probability[i], (sampled.key[i] == 1 ? 0.5 : 8) / 16.5, 0, 1e-6);
    }
    replay_table_destroy(table);
}

static void
test_table_with_all_priorities_zero_draws_uniformly(void **state)
{
    (void)state;
    replay_table *table = table_of(32, WIRE_SAMPLER_PRIORITIZED);
    (void)test_insert(table, test_batch_steps(&actor, 4));
    uint64_t key[] = {0, 1, 2, 3};
    float priority[] = {0, 0, 0, 0};
    wire_priorities update = {.count = 4, .key = key, .priority = priority};
    replay_table_update(table, &update);
    wire_sampled sampled = sample(table, 64);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.probability[i], 0.25, 0, 0);
        seen |= 1u << sampled.key[i];
    }
    assert_int_equal(seen, 15);
    replay_table_destroy(table);
}

// What lies there after a power failure may be of a window that has left, which weighs nothing: one
// that is there weighs as a new one does. So does, always, what can be no weight.
static void
test_table_weights_that_may_be_of_another_time_become_those_of_new_windows(void **state)
{
    (void)state;
    static const double found[] = {0, 2, NAN, 1e300, -1, INFINITY, 5, 3}; // the last has no window
    const uint64_t mask[] = {0x7f};
    const replay_span span = {.size = 8, .capacity = 8, .shift = 3, .windows = 7, .mask = mask};
    const replay_select_state known[] = {{.weight_max = 4}, {.weight_max = 0.5}};
    const replay_select_ops *ops = &replay_select_prioritized;
    for (int is_exact = 0; is_exact < 2; is_exact++) {
        for (int i = 0; i < 2; i++) {
            _Alignas(64) double kept[OCT_COUNTOF(found)];
            uint64_t scratch[1];
            memcpy(kept, found, sizeof(kept));
            void *select = ops->create(8, 0.5, kept);
            ops->restore(select, &span, &known[i], is_exact, scratch);
            double of_new = i == 0 ? 4 : 1; // below 1 it never was
            const double want[] = {is_exact ? 0 : of_new, 2, of_new, of_new, of_new, of_new, 5, 0};
            assert_memory_equal(kept, want, sizeof(want));
            T_NEAR(ops->mass(select), want[0] + 7 + 4 * of_new, 0, 1e-12);
            ops->destroy(select);
        }
    }
}

// Also in another run, whose id is another: it is drawn by chance.
static void
test_table_gives_the_same_samples_for_the_same_seed(void **state)
{
    (void)state;
    uint64_t key[2][64];
    wire_configure configure = test_configure(100, WIRE_SAMPLER_PRIORITIZED);
    for (int run = 0; run < 2; run++) {
        configure.run_id = 7 + (uint64_t)run;
        replay_table *table = table_for(&configure);
        (void)test_insert(table, test_batch_steps(&actor, 90));
        wire_sampled sampled = sample(table, 64);
        memcpy(key[run], sampled.key, sizeof(key[run]));
        replay_table_destroy(table);
    }
    assert_memory_equal(key[0], key[1], sizeof(key[0]));
}

static void
test_table_sample_reports_sizes_and_extras(void **state)
{
    (void)state;
    wire_configure configure = test_configure(100, WIRE_SAMPLER_UNIFORM);
    configure.extra_dim = 1;
    replay_table *table = table_for(&configure);
    actor.batch.extra_dim = 1;
    (void)test_batch_steps(&actor, 30);
    (void)test_insert(table, &actor.batch);
    wire_sampled sampled = sample(table, 20);
    assert_true(sampled.configured);
    assert_int_equal(sampled.count, 20);
    assert_int_equal(sampled.size, 30);
    assert_int_equal(sampled.inserts, 30);
    assert_int_equal(sampled.samples, 20);
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.extra[i], 2 * sampled.reward[i], 0, 0);
    }
    replay_table_destroy(table);
}

#define TEST(name) cmocka_unit_test(test_table_##name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rejects_a_session_without_number),
        TEST(rejects_shapes_of_another_table),
        TEST(rejects_numbers_that_are_not_finite_whole),
        TEST(rejects_actions_that_the_environment_does_not_have),
        TEST(rejects_rows_sent_twice),
        TEST(rejects_episodes_out_of_order_across_batches),
        TEST(counts_windows_that_missing_rows_cut),
        TEST(counts_windows_that_begin_in_overwritten_rows_as_cut),
        TEST(counts_sequences_that_missing_rows_cut),
        TEST(set_to_other_windows_lets_nobody_wait_longer),
        TEST(turns_draw_what_the_ratio_allows),
        TEST(draws_by_seed_and_turn),
        TEST(batches_of_a_turn_do_not_depend_on_requests),
        TEST(ignores_late_priorities),
        TEST(of_four_blocks_works_row_by_row),
        TEST(takes_an_empty_batch),
        TEST(never_samples_what_was_overwritten),
        TEST(bootstraps_from_truncated_episodes_and_not_from_terminated_ones),
        TEST(sums_of_rewards_stay_finite),
        TEST(windows_may_be_longer_than_blocks),
        TEST(gives_credit_while_it_takes_inserts),
        TEST(acknowledges_exactly_once),
        TEST(uniform_draws_all_alike),
        TEST(prioritized_draws_by_priority),
        TEST(new_windows_get_the_largest_priority),
        TEST(with_all_priorities_zero_draws_uniformly),
        TEST(weights_that_may_be_of_another_time_become_those_of_new_windows),
        TEST(gives_the_same_samples_for_the_same_seed),
        TEST(sample_reports_sizes_and_extras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
