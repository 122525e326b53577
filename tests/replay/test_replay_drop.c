// The rows of a session leave the file of a table; all else of it stays.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "replay/replay_drop.h"
#include "replay/replay_file.h"
#include "replay/replay_recover.h"

enum { ACTORS = 3, STEPS = 200 };

static test_actor actors[ACTORS];
static char path[64];

static int
path_make(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/octet-drop-test-XXXXXX");
    (void)close(mkstemp(path));
    return 0;
}

static int
path_remove(void **state)
{
    (void)state;
    return unlink(path);
}

static void
table_fill(const wire_configure *configure)
{
    oct_reason why = {""};
    replay_file *file;
    T_OK(replay_file_create(&file, path, configure, &why));
    replay_table *table = replay_table_create_in(configure, file);
    for (uint32_t i = 0; i < ACTORS; i++) {
        test_actor_init(&actors[i], i + 1, 11 + i);
    }
    for (uint32_t i = 0; i < ACTORS * STEPS / 10; i++) {
        (void)test_insert(table, test_batch_steps(&actors[i % ACTORS], 10));
    }
    replay_table_destroy(table);
    replay_file_close(file);
}

static replay_table *
table_again(replay_file **file)
{
    oct_reason why = {""};
    replay_recovered recovered;
    replay_table *table;
    T_OK(replay_file_open(file, path, &why));
    T_OK(replay_recover(&recovered, *file, &why));
    assert_true(recovered.is_exact);
    T_OK(replay_table_restore(&table, *file, recovered.is_exact));
    return table;
}

// A sample of every window that is held is of the other actors.
static void
check_gone(wire_sampler sampler, uint64_t session)
{
    oct_reason why = {""};
    uint64_t rows;
    wire_sampled sampled;
    replay_file *file;
    const wire_configure configure = test_configure(4096, sampler);
    table_fill(&configure);
    T_OK(replay_drop(path, session, &rows, &why));
    assert_int_equal(rows, STEPS + 1);
    replay_table *table = table_again(&file);
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.rows, (ACTORS - 1) * (STEPS + 1));
    assert_int_equal(stats.size, (ACTORS - 1) * STEPS);
    assert_int_equal(stats.rows_taken, ACTORS * (STEPS + 1)); // what it once took it took
    assert_int_equal(replay_table_may_sample(table, (ACTORS - 1) * STEPS, 1, 0), 1);
    replay_table_sample(&sampled, table, (ACTORS - 1) * STEPS, 1);
    for (uint32_t i = 0; i < sampled.count; i++) {
        float actor;
        memcpy(&actor, sampled.obs + i * sampled.obs_bytes, sizeof(actor));
        assert_true(actor != (float)(session - 10));
    }
    // The actors go on, also that of the session.
    for (uint32_t i = 0; i < ACTORS; i++) {
        assert_int_equal(test_insert(table, test_batch_steps(&actors[i], 10)).kind,
                         REPLAY_INSERT_TAKEN);
    }
    replay_table_destroy(table);
    replay_file_close(file);
}

static void
test_rows_of_a_session_are_dropped(void **state)
{
    (void)state;
    check_gone(WIRE_SAMPLER_UNIFORM, 12);
}

static void
test_rows_of_a_session_are_dropped_from_a_prioritized_table(void **state)
{
    (void)state;
    check_gone(WIRE_SAMPLER_PRIORITIZED, 13);
}

static void
test_rows_of_the_first_session_are_dropped_from_a_fifo_table(void **state)
{
    (void)state;
    check_gone(WIRE_SAMPLER_FIFO, 11);
}

static void
test_a_session_without_rows_changes_nothing(void **state)
{
    (void)state;
    oct_reason why = {""};
    uint64_t rows = 1;
    replay_file *file;
    const wire_configure configure = test_configure(4096, WIRE_SAMPLER_UNIFORM);
    table_fill(&configure);
    T_OK(replay_drop(path, 99, &rows, &why));
    assert_int_equal(rows, 0);
    replay_table *table = table_again(&file);
    assert_int_equal(replay_table_stats_get(table).rows, ACTORS * (STEPS + 1));
    replay_table_destroy(table);
    replay_file_close(file);
}

static void
test_a_table_in_use_or_in_lock_step_is_refused(void **state)
{
    (void)state;
    oct_reason why = {""};
    uint64_t rows;
    replay_file *file;
    wire_configure configure = test_configure(4096, WIRE_SAMPLER_UNIFORM);
    configure.turn_actors = ACTORS;
    table_fill(&configure);
    T_ERR(replay_drop(path, 12, &rows, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "lock-step"));
    replay_table *table = table_again(&file); // and nothing was dropped
    assert_int_equal(replay_table_stats_get(table).rows, ACTORS * (STEPS + 1));
    T_ERR(replay_drop(path, 12, &rows, &why), OCT_EIO);
    assert_non_null(strstr(why.text, "in use"));
    replay_table_destroy(table);
    replay_file_close(file);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, path_make, path_remove)
    const struct CMUnitTest tests[] = {
        TEST(rows_of_a_session_are_dropped),
        TEST(rows_of_a_session_are_dropped_from_a_prioritized_table),
        TEST(rows_of_the_first_session_are_dropped_from_a_fifo_table),
        TEST(a_session_without_rows_changes_nothing),
        TEST(a_table_in_use_or_in_lock_step_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
