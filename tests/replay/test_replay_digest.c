// What the hash of a table covers: everything that decides what the table does next, and nothing
// that two runs which did the same may differ in.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "replay/replay_file.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"

static char path[64];

static replay_file *
file_open(void)
{
    oct_reason why = {""};
    replay_file *file;
    if (replay_file_open(&file, path, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return file;
}

// Of the table that is in the file at path.
static void
digest_of(uint8_t out[WIRE_HASH_BYTES])
{
    oct_reason why = {""};
    replay_recovered recovered;
    replay_table *table;
    replay_file *file = file_open();
    if (replay_recover(&recovered, file, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    T_OK(replay_table_restore(&table, file, true));
    replay_table_digest(table, out);
    replay_table_destroy(table);
    replay_file_close(file);
}

// Two blocks and a part of a third, some of whose windows have another priority.
static void
file_make(uint64_t run_id, uint64_t session)
{
    oct_reason why;
    static test_actor actor;
    wire_sampled sampled;
    const float priority[] = {0.5f, 3, 2, 7};
    wire_configure configure = test_configure(256, WIRE_SAMPLER_PRIORITIZED);
    configure.run_id = run_id;
    configure.extra_dim = 1;
    configure.turn_actors = 1;
    replay_file *file;
    (void)unlink(path);
    T_OK(replay_file_create_for(&file, path, &configure, 4, &why));
    replay_table *table = replay_table_create_in(&configure, file);
    test_actor_init(&actor, 1, session);
    actor.batch.extra_dim = 1;
    uint32_t rows = 2 * file->layout.rows + file->layout.rows / 2;
    assert_int_equal(test_insert(table, test_batch_steps(&actor, rows)).kind, REPLAY_INSERT_TAKEN);
    assert_int_equal(replay_table_may_sample(table, OCT_COUNTOF(priority), 1, 0), 1);
    replay_table_sample(&sampled, table, OCT_COUNTOF(priority), 1);
    replay_table_update(table, &(wire_priorities){.count = OCT_COUNTOF(priority),
                                                  .key = sampled.key,
                                                  .priority = priority});
    replay_table_destroy(table);
    replay_file_close(file);
}

// A byte of the file, and which of its bits is another.
typedef struct change {
    const char *what;
    const void *at;
    uint8_t bits;
} change;

// The file as it was, but for that byte; the hash of its table is another one.
static void
assert_is_another(const uint8_t *whole, const uint8_t want[WIRE_HASH_BYTES], const char *what,
                  uint64_t at, uint8_t bits)
{
    uint8_t now[WIRE_HASH_BYTES];
    replay_file *file = file_open();
    memcpy(file->base, whole, file->bytes);
    file->base[at] ^= bits;
    replay_file_close(file);
    digest_of(now);
    if (memcmp(now, want, sizeof(now)) == 0) {
        fail_msg("the hash does not cover %s", what);
    }
}

static void
test_digest_is_of_what_the_table_does_next(void **state)
{
    (void)state;
    uint8_t want[WIRE_HASH_BYTES];
    file_make(7, 11);
    digest_of(want);
    replay_file *file = file_open();
    const replay_head *head = replay_journal_held(file);
    const replay_layout *layout = &file->layout;
    const replay_block *block = replay_file_block(file, 1);
    uint32_t last = layout->rows - 1; // of its rows
    const double *leaves = file->regions.select;
    const change changes[] = {
        {"the generator's state", &head->rng.state, 1},
        {"the generator's stream", &head->rng.stream, 2},
        {"inserts", &head->limiter.inserts, 1},
        {"samples", &head->limiter.samples, 1},
        {"the limiter's offset", (const uint8_t *)&head->limiter.offset + 6, 1},
        {"what a new window weighs", (const uint8_t *)&head->select.weight_max + 6, 1},
        {"the turn", &head->turn, 1},
        {"batches of the turn", &head->turn_batches, 1},
        {"the stream of a block", &block->stream, 1},
        {"how old its episode is", &block->episode_age, 1},
        {"an observation", replay_block_obs(layout, block, 0), 1},
        {"the last observation", replay_block_obs(layout, block, last), 1},
        {"an action", replay_block_action(layout, block, last), 1},
        {"a reward", replay_block_reward(layout, block, last), 1},
        {"a version", replay_block_version(layout, block, last), 1},
        {"an extra value", replay_block_extra(layout, block, last), 1},
        {"flags", replay_block_flags(layout, block, last), WIRE_RANDOM},
        {"a priority", (const uint8_t *)&leaves[layout->rows + last] + 6, 1},
    };
    uint8_t *whole = malloc(file->bytes);
    uint64_t at[OCT_COUNTOF(changes)];
    memcpy(whole, file->base, file->bytes);
    for (size_t i = 0; i < OCT_COUNTOF(changes); i++) {
        at[i] = (uint64_t)((const uint8_t *)changes[i].at - file->base);
    }
    replay_file_close(file);
    for (size_t i = 0; i < OCT_COUNTOF(changes); i++) {
        assert_is_another(whole, want, changes[i].what, at[i], changes[i].bits);
    }
    free(whole);
}

static void
test_digest_is_the_same_for_two_runs_that_did_the_same(void **state)
{
    (void)state;
    uint8_t first[WIRE_HASH_BYTES], second[WIRE_HASH_BYTES];
    file_make(7, 11);
    digest_of(first);
    file_make(8, 12);
    digest_of(second);
    assert_memory_equal(first, second, sizeof(first));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_is_of_what_the_table_does_next),
        cmocka_unit_test(test_digest_is_the_same_for_two_runs_that_did_the_same),
    };
    (void)snprintf(path, sizeof(path), "/tmp/octet-replay-digest-XXXXXX");
    int file = mkstemp(path);
    if (file < 0) {
        return 1;
    }
    (void)close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
