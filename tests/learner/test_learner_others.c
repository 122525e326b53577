// The limiter over all shards when its numbers change, and when a table is lost.
#include "tests/learner/shards_fixture.h"

// The learner hears of all shards, and these of each other.
static void
all_tell(void)
{
    for (uint32_t turn = 0; turn < 2; turn++) {
        now_ns += SECOND;
        for (uint32_t s = 0; s < SHARDS; s++) {
            tell(s);
        }
    }
}

// Of all tables, which is the same wherever it is asked for.
static double
balance_of_all(void)
{
    const replay_limiter first = replay_table_joined(table[0]);
    double balance = replay_limiter_balance(&first);
    for (uint32_t s = 1; s < SHARDS; s++) {
        const replay_limiter limiter = replay_table_joined(table[s]);
        T_NEAR(replay_limiter_balance(&limiter), balance, 1e-6, 0);
        assert_int_equal(limiter.inserts, first.inserts);
    }
    return balance;
}

// Inserts come to one shard alone, samples of all: the tables' own balances grow apart.
static void
drift_apart(void)
{
    begin(CONFIG_SAMPLER_UNIFORM);
    config.replay.min_size = 200;
    config.replay.samples_per_insert = 4;
    config.replay.tolerance = 0.5;
    start();
    for (uint32_t turn = 0; turn < 3000; turn++) {
        (void)rows_insert(0, 4);
    }
    all_tell();
    T_NEAR(balance_of_all(), 800, 400, 0);
    assert_true(replay_limiter_balance(replay_table_limiter(table[0])) > 800);
    assert_true(replay_limiter_balance(replay_table_limiter(table[2])) < -200);
}

// … and the others have more than min_size without the first one.
static void
drift_apart_for_long(void)
{
    drift_apart();
    (void)rows_insert(1, 80);
    (void)rows_insert(1, 80);
    all_tell();
}

// As a daemon that has the table still, or again: then it knows of no others before.
static void
configure(uint32_t s)
{
    static const wire_others none;
    wire_configure wanted = learner_batches_configure(batches, s, false);
    replay_table_set_others(table[s], &none);
    replay_table_set(table[s], &wanted);
    const replay_limiter *limiter = replay_table_limiter(table[s]);
    const wire_configured answer = {.incarnation = 50 + s,
                                    .table = wanted.table,
                                    .inserts = limiter->inserts,
                                    .samples = limiter->samples,
                                    .balance = replay_limiter_balance(limiter)};
    learner_batches_configured(batches, s, OCT_OK, &answer);
}

// The learner begins again, from what a checkpoint has.
static void
learner_restart(void)
{
    learner_source_place place[SHARDS];
    double gone = learner_batches_gone(batches);
    for (uint32_t s = 0; s < SHARDS; s++) {
        place[s] = learner_source_place_after(source[s], 0);
    }
    learner_end();
    learner_begin(place, gone);
    for (uint32_t s = 0; s < SHARDS; s++) {
        configure(s);
    }
    all_tell();
}

// As octet train --resume --set does: each shard is told by itself, and makes its part.
static void
test_shards_that_get_another_limiter_make_one_change(void **state)
{
    (void)state;
    drift_apart();
    double before = balance_of_all();
    config.replay.samples_per_insert = 32;
    learner_restart();
    T_NEAR(balance_of_all() - before, 200 * (32 - 4), 1e-6, 0);
    config.replay.min_size = 1000;
    learner_restart();
    T_NEAR(balance_of_all() - before, 1000 * 32 - 200 * 4, 1e-6, 0);
    config.replay.min_size = 200;
    config.replay.samples_per_insert = 4;
    learner_restart();
    T_NEAR(balance_of_all(), before, 1e-6, 0);
}

static void
table_lose(uint32_t s)
{
    static uint64_t id = 1000;
    replay_table_destroy(table[s]);
    table[s] = table_make();
    test_actor_init(&actor[s], s, 200 + s);
    const wire_configured answer = {.incarnation = 50 + s, .table = id++};
    learner_batches_configured(batches, s, OCT_OK, &answer);
    all_tell();
}

// What the tables have together stays when one of them begins empty: its part was large.
static void
test_shards_keep_the_balance_of_a_table_that_is_lost(void **state)
{
    (void)state;
    drift_apart_for_long();
    double before = balance_of_all();
    table_lose(0);
    T_NEAR(balance_of_all(), before, 1e-6, 0);
    learner_restart();
    T_NEAR(balance_of_all(), before, 1e-6, 0);
    table_lose(2);
    T_NEAR(balance_of_all(), before, 1e-6, 0);
    for (uint32_t turn = 0; turn < 100; turn++) { // neither side waits for long
        (void)rows_insert(0, 4);
    }
    all_tell();
    T_NEAR(balance_of_all(), 800, 400 + 4 * 4, 0);
}

// octet set has changed the ratio. A new table has the configuration's, and then all others have.
static void
test_shards_that_get_the_limiter_of_a_new_table_make_one_change(void **state)
{
    (void)state;
    drift_apart_for_long();
    double before = balance_of_all();
    for (uint32_t s = 0; s < SHARDS; s++) {
        wire_configure wanted = *replay_table_configure(table[s]);
        wanted.samples_per_insert = 32;
        wanted.limiter_only = true;
        wanted.limiter_parts = SHARDS;
        replay_table_set(table[s], &wanted);
    }
    all_tell();
    T_NEAR(balance_of_all() - before, 200 * (32 - 4), 1e-6, 0);
    table_lose(0);
    for (uint32_t s = 1; s < SHARDS; s++) {
        wire_configure wanted = learner_batches_configure(batches, s, true);
        replay_table_set(table[s], &wanted);
    }
    all_tell();
    T_NEAR(balance_of_all(), before, 1e-6, 0);
}

// Where fewer than min_size inserts are left, the warm-up begins anew, and ends in the middle.
static void
test_shards_that_lose_their_tables_warm_up_again(void **state)
{
    (void)state;
    drift_apart();
    table_lose(0);
    T_NEAR(balance_of_all(), (ROWS[1] + ROWS[2]) * 4, 1e-6, 0);
    table_lose(2);
    table_lose(1);
    T_NEAR(balance_of_all(), 0, 1e-6, 0);
    (void)rows_insert(1, 200);
    all_tell();
    T_NEAR(balance_of_all(), 800, 1e-6, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_shards_that_get_another_limiter_make_one_change, stop_all),
        cmocka_unit_test_teardown(test_shards_keep_the_balance_of_a_table_that_is_lost, stop_all),
        cmocka_unit_test_teardown(test_shards_that_get_the_limiter_of_a_new_table_make_one_change,
                                  stop_all),
        cmocka_unit_test_teardown(test_shards_that_lose_their_tables_warm_up_again, stop_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
