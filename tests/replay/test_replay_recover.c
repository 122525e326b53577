// What recovery takes of a file, and what it says that it left out: states that cannot be,
// snapshots and blocks that are not whole.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "replay/replay_file.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_sync.h"

static struct fixture {
    char folder[32], path[64];
    replay_file *file;
    replay_table *table;
    replay_sync *sync;
    test_actor actor;
    replay_recovered recovered;
    oct_reason why;
} f;

static int
fixture_open(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    (void)snprintf(f.folder, sizeof(f.folder), "/tmp/octet-recover-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    (void)snprintf(f.path, sizeof(f.path), "%s/replay.oct", f.folder);
    wire_configure configure = test_configure(1024, WIRE_SAMPLER_UNIFORM);
    configure.streams = 2;
    T_OK(replay_file_create(&f.file, f.path, &configure, &f.why));
    f.table = replay_table_create_in(&configure, f.file);
    f.sync = replay_sync_create(f.file);
    test_actor_init(&f.actor, 1, 2);
    return 0;
}

static void
table_close(void)
{
    replay_sync_destroy(f.sync);
    replay_table_destroy(f.table);
    f.sync = NULL;
    f.table = NULL;
}

static int
fixture_close(void **state)
{
    (void)state;
    table_close();
    replay_file_close(f.file);
    (void)unlink(f.path);
    (void)rmdir(f.folder);
    return 0;
}

static void
insert(uint32_t rows)
{
    (void)test_insert(f.table, test_batch_steps(&f.actor, rows));
}

static void
sync_all(void)
{
    assert_true(replay_sync_begin(f.sync) && replay_sync_mark(f.sync, UINT64_MAX));
    T_OK(replay_sync_write(f.sync, true));
    replay_sync_end(f.sync, OCT_OK);
}

// The file as a process finds it that comes after one that was killed.
static oct_err
recovered(void)
{
    table_close();
    replay_file_close(f.file);
    T_OK(replay_file_open(&f.file, f.path, &f.why));
    return replay_recover(&f.recovered, f.file, &f.why);
}

// … or after a power failure: all that lay in memory got to the disk, whether it was synced or not.
static oct_err
recovered_by_syncs(void)
{
    memset(f.file->base + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity));
    return recovered();
}

static replay_head *
head_held(void)
{
    return &f.file->live->head[f.file->live->commits % 2];
}

// ---- states that cannot be

static void
assert_head_refused(const char *what)
{
    if (recovered() != OCT_EINVAL || strstr(f.why.text, "its state is damaged") == NULL) {
        fail_msg("%s was taken: %s", what, f.why.text);
    }
}

static void
test_recover_refuses_a_state_that_cannot_be(void **state)
{
    (void)state;
    insert(100);
    const replay_head whole = *head_held();
    T_OK(recovered());
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        replay_head *head = head_held();                                                           \
        change;                                                                                    \
        assert_head_refused(#change);                                                              \
        *head_held() = whole;                                                                      \
    } while (0)
    REFUSED(head->oldest = head->next + 1);
    REFUSED(head->next = head->oldest + f.file->header->blocks + 1);
    REFUSED(head->rng.stream ^= 1);
    REFUSED(head->configure.extra_dim++);
    REFUSED(head->configure.run_id++);
    REFUSED(head->configure.sampler = WIRE_SAMPLER_FIFO);
    REFUSED(head->configure.capacity += f.file->header->block_rows);
    REFUSED(head->configure.capacity--); // of as many blocks
    REFUSED(memset(&head->limiter.is_widened, 2, 1));
    REFUSED(head->limiter.balance_max = head->limiter.balance_min - 1);
    REFUSED(head->limiter.spec.tolerance = -1);
    REFUSED(head->limiter.offset = NAN);
    REFUSED(head->limiter.balance_max = INFINITY);
#undef REFUSED
    T_OK(recovered());
    assert_int_equal(f.recovered.rows, 101);
}

// The last commit's session has its place among the sessions, or none.
static void
test_recover_writes_no_session_beyond_the_last(void **state)
{
    (void)state;
    insert(10);
    replay_snapshot before = *f.file->snapshot[0]; // lies behind them
    head_held()->session_index = f.file->header->sessions;
    T_OK(recovered());
    assert_memory_equal(f.file->snapshot[0], &before, sizeof(before));
}

// A journal that says that it has more blocks than there is room for: no more are looked at.
static void
test_recover_reads_no_journal_beyond_its_end(void **state)
{
    (void)state;
    insert(10);
    replay_journal *journal = f.file->journal;
    memset(journal->entry, 0xff, f.file->header->journal_runs * sizeof(*journal->entry));
    journal->count = UINT32_MAX;
    journal->commit = f.file->live->commits + 1;
    T_OK(recovered());
    assert_int_equal(f.recovered.rows, 11);
}

// Of a block nothing is taken; the others stay.
static void
test_recover_leaves_out_blocks_that_cannot_be(void **state)
{
    (void)state;
    uint32_t rows = f.file->layout.rows;
    insert(4 * rows - 1);
    replay_block *block = replay_file_block(f.file, 1), whole = *block;
    T_OK(recovered());
    assert_int_equal(f.recovered.rows, 4 * rows);
    for (int i = 0; i < 5; i++) {
        block = replay_file_block(f.file, 1);
        switch (i) {
        case 0:
            block->layout++;
            break;
        case 1:
            block->count = (uint16_t)(rows + 1);
            break;
        case 2:
            block->first = INT64_MAX;
            break;
        case 3:
            block->stream = WIRE_STREAMS_MAX;
            break;
        default:
            block->episode_age = (uint32_t)block->first + 1;
            break;
        }
        T_OK(recovered());
        assert_int_equal(f.recovered.blocks_torn, 1);
        assert_int_equal(f.recovered.blocks, 3);
        assert_int_equal(f.recovered.rows, 3 * rows);
        *replay_file_block(f.file, 1) = whole;
    }
    T_OK(recovered());
    assert_int_equal(f.recovered.rows, 4 * rows);
}

// ---- generations

static void
test_recover_tells_the_newest_generation(void **state)
{
    (void)state;
    insert(50);
    sync_all();
    insert(50);
    T_OK(recovered());
    assert_true(f.recovered.is_exact);
    assert_int_equal(f.recovered.generation, 2); // the first is of the table as it was made
    assert_int_equal(f.recovered.rows, 101);
    assert_int_equal(f.recovered.rows_cut, 0);
}

// A power failure in the middle of its write: the one before it counts.
static void
test_recover_takes_no_snapshot_that_is_not_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        insert(50);
        sync_all();
    }
    for (uint64_t newest = 4; newest > 2; newest--) {
        for (int i = 0; i < 2; i++) {
            replay_snapshot *snapshot = f.file->snapshot[i];
            if (snapshot->generation == newest) {
                snapshot->head.stats.rows_taken++;
            }
        }
        oct_err err = recovered_by_syncs();
        if (newest == 4) {
            T_OK(err);
            assert_int_equal(f.recovered.generation, 3);
            assert_int_equal(f.recovered.rows, 101);
        } else {
            T_ERR(err, OCT_EINVAL); // there is no other
            assert_non_null(strstr(f.why.text, "nothing in it was synced"));
        }
    }
}

// A byte of the newest one is another, wherever it lies: the one before it counts.
static void
test_recover_takes_no_snapshot_of_which_a_byte_is_another(void **state)
{
    (void)state;
    insert(50);
    sync_all();
    insert(50);
    sync_all();
    uint8_t *whole = malloc(f.file->bytes);
    memcpy(whole, f.file->base, f.file->bytes);
    uint64_t end = replay_snapshot_bytes(f.file->header->sessions);
    const uint64_t at[] = {offsetof(replay_snapshot, generation) + 4,
                           offsetof(replay_snapshot, crc),
                           offsetof(replay_snapshot, head),
                           offsetof(replay_snapshot, head) + sizeof(replay_head) - 1,
                           offsetof(replay_snapshot, sessions) + offsetof(replay_session, sequence),
                           end - 1};
    for (size_t i = 0; i < OCT_COUNTOF(at); i++) {
        int newest = f.file->snapshot[1]->generation > f.file->snapshot[0]->generation;
        ((uint8_t *)f.file->snapshot[newest])[at[i]] ^= 1;
        T_OK(recovered_by_syncs());
        assert_int_equal(f.recovered.generation, 2);
        assert_int_equal(f.recovered.rows, 51);
        memcpy(f.file->base, whole, f.file->bytes);
    }
    T_OK(recovered_by_syncs());
    assert_int_equal(f.recovered.generation, 3);
    assert_int_equal(f.recovered.rows, 101);
    free(whole);
}

// Rows behind what was synced: in the block that was open then, and in later ones.
static void
test_recover_counts_the_rows_that_it_cuts(void **state)
{
    (void)state;
    uint32_t rows = f.file->layout.rows;
    insert(rows / 2);
    sync_all();
    insert(3); // into the same block
    insert(2 * rows);
    T_OK(recovered_by_syncs());
    assert_false(f.recovered.is_exact);
    assert_int_equal(f.recovered.generation, 2);
    assert_int_equal(f.recovered.rows, rows / 2 + 1);
    assert_int_equal(f.recovered.rows_cut, 3 + 2 * rows);
    assert_int_equal(f.recovered.blocks_torn, 0);
    T_OK(recovered_by_syncs()); // again, as after a power failure meanwhile
    assert_int_equal(f.recovered.rows, rows / 2 + 1);
}

// The last commit is read for a count alone: however far from the snapshot it says that it is, it
// costs no time.
static void
test_recover_counts_no_rows_of_a_last_commit_that_cannot_be(void **state)
{
    (void)state;
    const uint64_t far[] = {(uint64_t)1 << 50, UINT64_MAX / 2};
    for (size_t i = 0; i < OCT_COUNTOF(far); i++) {
        if (i == 0) {
            insert(20);
            sync_all();
        }
        head_held()->oldest += i == 0 ? far[i] : 0;
        head_held()->next += far[i];
        T_OK(recovered_by_syncs());
        assert_int_equal(f.recovered.rows, 21);
        assert_int_equal(f.recovered.rows_cut, 0);
    }
}

// Of a process after one that was killed: its rows go on in the block that was open.
static void
test_recover_rows_that_were_synced_after_a_kill(void **state)
{
    (void)state;
    insert(20);
    sync_all();
    T_OK(recovered());
    T_OK(replay_table_restore(&f.table, f.file, true));
    f.sync = replay_sync_create(f.file);
    insert(10);
    sync_all();
    T_OK(recovered_by_syncs());
    assert_int_equal(f.recovered.generation, 3);
    assert_int_equal(f.recovered.rows, 31);
}

// Those that came while it was being written are not of a generation: their actor sends them again.
static void
test_recover_no_rows_that_came_during_a_sync(void **state)
{
    (void)state;
    insert(20);
    assert_true(replay_sync_begin(f.sync));
    insert(3);
    assert_true(replay_sync_mark(f.sync, UINT64_MAX));
    insert(2);
    T_OK(replay_sync_write(f.sync, true));
    replay_sync_end(f.sync, OCT_OK);
    T_OK(recovered_by_syncs());
    assert_int_equal(f.recovered.generation, 2);
    assert_int_equal(f.recovered.rows, 21);
    assert_int_equal(f.recovered.rows_cut, 5);
}

// A block that says that it has fewer rows than were synced was written in part.
static void
test_recover_leaves_out_a_block_that_lost_rows(void **state)
{
    (void)state;
    uint32_t rows = f.file->layout.rows;
    insert(2 * rows - 1);
    sync_all();
    replay_file_block(f.file, 1)->count--;
    T_OK(recovered_by_syncs());
    assert_int_equal(f.recovered.blocks_torn, 1);
    assert_int_equal(f.recovered.rows, rows);
}

// Of a block that was synced, each byte that says something has to be there: pages of two times lie
// on a disk whose power failed.
static void
test_recover_leaves_out_a_block_that_is_not_as_it_was_synced(void **state)
{
    (void)state;
    uint32_t rows = f.file->layout.rows;
    insert(2 * rows - 1);
    sync_all();
    uint8_t *block = (uint8_t *)replay_file_block(f.file, 1), *whole = malloc(f.file->layout.bytes);
    replay_mark marks[2];
    memcpy(whole, block, f.file->layout.bytes);
    memcpy(marks, f.file->marks[1], sizeof(marks));
    const size_t at[] = {offsetof(replay_block, previous),
                         offsetof(replay_block, session),
                         offsetof(replay_block, actor_id),
                         offsetof(replay_block, stream),
                         offsetof(replay_block, first),
                         offsetof(replay_block, episode_age),
                         f.file->layout.obs,
                         f.file->layout.reward + (rows - 1) * sizeof(float),
                         f.file->layout.flags + rows - 1};
    for (size_t i = 0; i < OCT_COUNTOF(at); i++) {
        bool is_age = at[i] == offsetof(replay_block, episode_age);
        ((uint8_t *)replay_file_block(f.file, 1))[at[i]] ^= is_age ? 0x40 : 1; // which may be
        T_OK(recovered_by_syncs());
        assert_int_equal(f.recovered.blocks_torn, 1);
        assert_int_equal(f.recovered.rows, rows);
        memcpy(replay_file_block(f.file, 1), whole, f.file->layout.bytes);
        memcpy(f.file->marks[1], marks, sizeof(marks));
    }
    T_OK(recovered_by_syncs());
    assert_int_equal(f.recovered.blocks_torn, 0);
    assert_int_equal(f.recovered.rows, 2 * rows);
    free(whole);
}

// A copy is another file: what it has beyond its syncs may be of two times.
static void
test_recover_takes_a_copy_as_it_was_synced(void **state)
{
    (void)state;
    struct stat status;
    insert(20);
    sync_all();
    insert(10);
    const replay_file_identity *life = (const void *)(f.file->base + REPLAY_FILE_LIFE_AT);
    assert_int_equal(stat(f.path, &status), 0);
    assert_int_equal(life->device, status.st_dev);
    assert_int_equal(life->inode, status.st_ino);
    uint8_t *bytes;
    size_t length;
    char other[80];
    (void)snprintf(other, sizeof(other), "%s/other", f.folder);
    T_OK(oct_file_read(f.path, 1u << 24, &bytes, &length));
    T_OK(oct_file_write(other, bytes, length));
    free(bytes);
    assert_int_equal(rename(other, f.path), 0);
    T_OK(recovered());
    assert_false(f.recovered.is_exact);
    assert_int_equal(f.recovered.rows, 21);
}

// What a batch that was never committed was to extend is nothing to take back after a power
// failure, however often commits are counted anew.
static void
test_recover_forgets_the_journal_of_before_a_power_failure(void **state)
{
    (void)state;
    insert(20);
    sync_all();
    T_OK(recovered_by_syncs());
    replay_journal *journal = f.file->journal;
    journal->count = 1;
    journal->entry[0] = (replay_journal_entry){.serial = 0, .place = 0, .count = 1};
    journal->commit = f.file->live->commits + 2; // taking the table over is a commit
    T_OK(recovered_by_syncs());
    T_OK(replay_table_restore(&f.table, f.file, false));
    T_OK(recovered()); // killed before its first batch
    assert_true(f.recovered.is_exact);
    assert_int_equal(f.recovered.rows, 21);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_recover_##name, fixture_open, fixture_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refuses_a_state_that_cannot_be),
        TEST(writes_no_session_beyond_the_last),
        TEST(reads_no_journal_beyond_its_end),
        TEST(leaves_out_blocks_that_cannot_be),
        TEST(tells_the_newest_generation),
        TEST(takes_no_snapshot_that_is_not_whole),
        TEST(takes_no_snapshot_of_which_a_byte_is_another),
        TEST(counts_the_rows_that_it_cuts),
        TEST(counts_no_rows_of_a_last_commit_that_cannot_be),
        TEST(rows_that_were_synced_after_a_kill),
        TEST(no_rows_that_came_during_a_sync),
        TEST(leaves_out_a_block_that_lost_rows),
        TEST(leaves_out_a_block_that_is_not_as_it_was_synced),
        TEST(takes_a_copy_as_it_was_synced),
        TEST(forgets_the_journal_of_before_a_power_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
