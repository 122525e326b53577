// The auditor of script/test-chaos: what it must find in a table, one thing at a time.
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "replay/replay_table.h"
#include "tests/chaos/chaos_audit.h"
#include "tests/chaos/chaos_digest.h"
#include "tests/chaos/chaos_row.h"

#define ROWS_MAX    64
#define PLAIN_BYTES 16u // of an observation that does not say whose it is
#define TAG         0x1234567890abcdefu
#define SESSION     77u
#define ACTOR       5u

typedef struct fixture {
    char folder[32], path[64];
    replay_file *file;
    replay_table *table;
    uint64_t sequence;
    chaos_ack acks[512];
    uint64_t ack_count;
    // The batch at work, and where its rows differ from what they should be.
    uint32_t obs_bytes;
    uint8_t obs[ROWS_MAX * CHAOS_ROW_BYTES];
    int32_t action[ROWS_MAX];
    float reward[ROWS_MAX];
    uint8_t flags[ROWS_MAX];
    uint64_t session, tag;
    uint32_t shift; // content is that of the row so many before
} fixture;

static void
table_make(fixture *f)
{
    const wire_configure configure = {
        .run_id = 7,
        .capacity = 512,
        .streams = 2,
        .obs_bytes = f->obs_bytes,
        .action_bytes = sizeof(int32_t),
        .sampler = WIRE_SAMPLER_UNIFORM,
        .window = WIRE_WINDOW_N_STEP,
        .window_steps = 1,
        .discount = 1,
        .min_size = 1,
        .seed = 1,
    };
    oct_reason why;
    T_OK(replay_file_create(&f->file, f->path, &configure, &why));
    f->table = replay_table_create_in(&configure, f->file);
}

static int
fixture_open(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/octet-audit-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/replay.oct", f->folder);
    f->obs_bytes = CHAOS_ROW_BYTES;
    table_make(f);
    f->session = SESSION;
    f->tag = TAG;
    *state = f;
    return 0;
}

static int
fixture_close(void **state)
{
    fixture *f = *state;
    replay_table_destroy(f->table);
    replay_file_close(f->file);
    (void)unlink(f->path);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

static void
row_fill(fixture *f, uint32_t i, uint32_t number)
{
    chaos_row row = chaos_row_make(f->tag, 0, number - f->shift);
    chaos_row next = chaos_row_make(f->tag, 0, number - f->shift + 1);
    memcpy(f->obs + (size_t)i * f->obs_bytes, &row, f->obs_bytes);
    f->action[i] = chaos_row_is_end(&row) ? 0 : 1;
    f->reward[i] = chaos_row_reward(&row);
    f->flags[i] = chaos_row_is_end(&row)         ? WIRE_END
                  : !chaos_row_is_end(&next)     ? chaos_row_is_first(&row) ? WIRE_FIRST : 0
                  : chaos_row_is_truncated(&row) ? WIRE_TRUNCATED
                                                 : WIRE_TERMINATED;
}

// Rows of stream 0 into the table.
static void
batch_insert(fixture *f, uint32_t number, uint32_t rows, uint32_t version)
{
    uint32_t stream = 0;
    uint64_t first = number;
    wire_batch batch = {
        .actor_id = ACTOR,
        .session = f->session,
        .sequence = ++f->sequence,
        .first_unacked = f->sequence,
        .run_count = 1,
        .run_stream = &stream,
        .run_first = &first,
        .run_rows = &rows,
        .run_version = &version,
        .count = rows,
        .obs_bytes = f->obs_bytes,
        .obs = f->obs,
        .action_bytes = sizeof(int32_t),
        .action = (const uint8_t *)f->action,
        .reward = f->reward,
        .flags = f->flags,
    };
    replay_insert done;
    T_OK(replay_table_insert(&done, f->table, &batch));
    assert_int_equal(done.kind, REPLAY_INSERT_TAKEN);
}

// What the actor writes down when it is told of the batch at work.
static void
batch_acked(fixture *f, uint32_t number, uint32_t rows)
{
    uint64_t digest = CHAOS_DIGEST_NONE;
    for (uint32_t i = 0; i < rows; i++) {
        digest = chaos_digest_row(digest, f->obs + (size_t)i * f->obs_bytes, f->obs_bytes,
                                  &f->action[i], sizeof(f->action[i]), f->reward[i], f->flags[i]);
    }
    f->acks[f->ack_count++] = (chaos_ack){
        .session = f->session,
        .first = number,
        .digest = digest,
        .tag = f->tag,
        .actor_id = ACTOR,
        .rows = rows,
        .number = number,
    };
}

static void
rows_insert(fixture *f, uint32_t number, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        row_fill(f, i, number + i);
    }
    batch_insert(f, number, rows, 1 + number / 10);
    batch_acked(f, number, rows);
}

static chaos_audit_result
audited(fixture *f, chaos_audit_mode mode)
{
    chaos_audit *audit = chaos_audit_create(mode);
    chaos_audit_take(audit, f->file);
    chaos_audit_claim(audit, f->acks, f->ack_count);
    chaos_audit_result result = chaos_audit_end(audit);
    assert_int_equal(chaos_audit_is_sound(&result), chaos_audit_words(audit)[0] == '\0');
    chaos_audit_destroy(audit);
    return result;
}

static void
test_audit_finds_a_row_that_was_acknowledged_and_is_lost(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 30);
    batch_acked(f, 30, 2); // acknowledged before it was inserted
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).missing, 2);
}

static void
test_audit_finds_one_row_lost_and_one_twice(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 9);
    f->shift = 1; // row 8 again, and never row 18
    rows_insert(f, 9, 10);
    chaos_audit_result result = audited(f, CHAOS_AUDIT_KILLED);
    assert_int_equal(result.rows, result.acked); // the sum is right
    assert_false(chaos_audit_is_sound(&result));
    assert_true(result.foreign > 0);
}

static void
test_audit_finds_rows_that_are_there_twice(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 30);
    f->session++; // as if it were another's
    f->sequence = 0;
    rows_insert(f, 0, 30);
    chaos_audit_result result = audited(f, CHAOS_AUDIT_KILLED);
    assert_int_equal(result.doubled, 30);
    assert_int_equal(result.missing, 0);
}

static void
test_audit_finds_what_was_altered(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 30);
    replay_block *block = replay_file_block(f->file, 0);
    uint8_t *base = (uint8_t *)block;
    base[f->file->layout.reward + 4 * 3 + 2] ^= 0x40;
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).altered, 1);
    base[f->file->layout.flags + 7] ^= WIRE_TERMINATED;
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).altered, 2);
    base[f->file->layout.obs + 5 * CHAOS_ROW_BYTES] ^= 1;
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).foreign, 1);
}

static void
test_audit_finds_an_older_policy_behind_a_newer_one(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 15); // by version 1
    for (uint32_t i = 0; i < 10; i++) {
        row_fill(f, i, 15 + i);
    }
    batch_insert(f, 15, 10, 0);
    assert_true(audited(f, CHAOS_AUDIT_KILLED).backward > 0);
}

static void
test_audit_finds_rows_missing_between_others(void **state)
{
    fixture *f = *state;
    for (uint32_t number = 0; number < 200; number += 20) {
        rows_insert(f, number, 20);
    }
    replay_file_block(f->file, 1)->count = 0;
    chaos_audit_result result = audited(f, CHAOS_AUDIT_KILLED);
    assert_true(result.holes > 0 && result.missing == result.holes && result.miscount > 0);
    assert_int_equal(audited(f, CHAOS_AUDIT_DAMAGED).missing, 0); // as a torn block may be
}

static void
test_audit_lets_the_oldest_leave_a_full_table_and_nothing_else(void **state)
{
    fixture *f = *state;
    for (uint32_t number = 0; number < 2000; number += 20) {
        rows_insert(f, number, 20);
    }
    chaos_audit_result result = audited(f, CHAOS_AUDIT_KILLED);
    assert_true(chaos_audit_is_sound(&result));
    assert_int_equal(result.acked, 2000);
    assert_int_equal(result.left, 2000 - result.rows);
    f->session++; // a session of which nothing was ever taken
    batch_acked(f, 0, 1);
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).missing, 1);
}

// Of a full table: the place of its third block was used again, and nothing before it was.
static void
test_audit_lets_blocks_leave_in_any_order_when_the_power_failed_and_only_then(void **state)
{
    fixture *f = *state;
    for (uint32_t number = 0; number < 2000; number += 20) {
        rows_insert(f, number, 20);
    }
    uint64_t oldest = audited(f, CHAOS_AUDIT_KILLED).oldest;
    replay_block *block = replay_file_block(f->file, oldest + 2);
    uint16_t rows = block->count;
    block->count = 0;
    chaos_audit_result result = audited(f, CHAOS_AUDIT_CUT);
    assert_true(chaos_audit_is_sound(&result) && rows > 0);
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).missing, rows);
    block->count = (uint16_t)(rows - 1); // a row is no block
    assert_true(audited(f, CHAOS_AUDIT_CUT).missing > 0);
}

static void
test_audit_lets_the_newest_be_missing_where_only_what_was_synced_counts(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 30);
    batch_acked(f, 30, 2);
    chaos_audit_result result = audited(f, CHAOS_AUDIT_SYNCED);
    assert_true(chaos_audit_is_sound(&result));
    assert_int_equal(result.unsynced, 2);
}

// Rows of an environment that says nothing of itself, known by where they are.
static void
test_audit_knows_rows_of_other_environments_by_their_digest(void **state)
{
    fixture *f = *state;
    replay_table_destroy(f->table);
    replay_file_close(f->file);
    assert_int_equal(unlink(f->path), 0);
    f->obs_bytes = PLAIN_BYTES;
    table_make(f);
    for (uint32_t number = 0; number < 200; number += 20) {
        rows_insert(f, number, 20);
    }
    chaos_audit_result result = audited(f, CHAOS_AUDIT_KILLED);
    assert_true(chaos_audit_is_sound(&result));
    assert_int_equal(result.acked, 200);
    uint8_t *base = (uint8_t *)replay_file_block(f->file, 0);
    base[f->file->layout.obs + 3 * PLAIN_BYTES] ^= 1;
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).foreign, 20); // of that acknowledgement
    base[f->file->layout.obs + 3 * PLAIN_BYTES] ^= 1;
    batch_acked(f, 200, 1);
    assert_int_equal(audited(f, CHAOS_AUDIT_KILLED).missing, 1);
    replay_file_block(f->file, 1)->first -= 1;
    result = audited(f, CHAOS_AUDIT_KILLED);
    assert_true(result.doubled == 1 && result.holes == 1);
}

static void
test_audit_finds_rows_that_two_shards_have(void **state)
{
    fixture *f = *state;
    rows_insert(f, 0, 30);
    chaos_audit *audit = chaos_audit_create(CHAOS_AUDIT_KILLED);
    chaos_audit_take(audit, f->file);
    chaos_audit_take(audit, f->file);
    chaos_audit_claim(audit, f->acks, f->ack_count);
    chaos_audit_result result = chaos_audit_end(audit);
    assert_int_equal(result.doubled, 30);
    assert_int_equal(result.rows, 60);
    assert_int_equal(result.missing + result.miscount, 0);
    chaos_audit_destroy(audit);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit_##name, fixture_open, fixture_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_a_row_that_was_acknowledged_and_is_lost),
        TEST(finds_one_row_lost_and_one_twice),
        TEST(finds_rows_that_are_there_twice),
        TEST(finds_rows_that_two_shards_have),
        TEST(finds_what_was_altered),
        TEST(finds_an_older_policy_behind_a_newer_one),
        TEST(finds_rows_missing_between_others),
        TEST(lets_the_oldest_leave_a_full_table_and_nothing_else),
        TEST(lets_blocks_leave_in_any_order_when_the_power_failed_and_only_then),
        TEST(lets_the_newest_be_missing_where_only_what_was_synced_counts),
        TEST(knows_rows_of_other_environments_by_their_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
