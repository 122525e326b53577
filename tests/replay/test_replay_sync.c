// Generations of a durable table, on a disk that fails: which pages the next one gives to the
// kernel, and what the last one that succeeded still has.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/replay_file.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_sync.h"

#define PAGE      4096u
#define PAGES_MAX 4096u

static struct fixture {
    char folder[32], path[64];
    replay_file *file;
    replay_table *table;
    replay_sync *sync;
    test_actor actor;
    bool is_dirty[PAGES_MAX]; // since pages_clean
} f;

// ---- the disk

int __real_msync(void *at, size_t bytes, int flags);
int __wrap_msync(void *at, size_t bytes, int flags);
int __real_fdatasync(int file);
int __wrap_fdatasync(int file);

static bool msync_fails, fdatasync_fails; // with EIO
static const void *msynced;               // last
static size_t msynced_bytes;

int
__wrap_msync(void *at, size_t bytes, int flags)
{
    assert_int_equal(flags, MS_SYNC); // what is not waited for is on no disk yet
    msynced = at;
    msynced_bytes = bytes;
    errno = msync_fails ? EIO : errno;
    return msync_fails ? -1 : __real_msync(at, bytes, flags);
}

int
__wrap_fdatasync(int file)
{
    errno = fdatasync_fails ? EIO : errno;
    return fdatasync_fails ? -1 : __real_fdatasync(file);
}

// A store into a page that is clean.
static void
page_stored(int number, siginfo_t *info, void *context)
{
    (void)context;
    uint64_t at = (uint64_t)((uint8_t *)info->si_addr - f.file->base);
    if (at >= f.file->bytes ||
        mprotect(f.file->base + at / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE) != 0) {
        (void)signal(number, SIG_DFL); // not ours: let it happen again
        return;
    }
    f.is_dirty[at / PAGE] = true;
}

// As after the kernel has written them, or has tried to. (cmocka sets its own handler after the
// setup.)
static void
pages_clean(void)
{
    struct sigaction action = {.sa_sigaction = page_stored, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
    memset(f.is_dirty, 0, sizeof(f.is_dirty));
    assert_int_equal(mprotect(f.file->base, f.file->bytes, PROT_READ), 0);
}

static int
fixture_open(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    (void)snprintf(f.folder, sizeof(f.folder), "/tmp/octet-sync-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    (void)snprintf(f.path, sizeof(f.path), "%s/replay.oct", f.folder);
    const wire_configure configure = test_configure(4096, WIRE_SAMPLER_UNIFORM);
    oct_reason why;
    T_OK(replay_file_create(&f.file, f.path, &configure, &why));
    assert_true(f.file->bytes <= (uint64_t)PAGES_MAX * PAGE);
    f.table = replay_table_create_in(&configure, f.file);
    f.sync = replay_sync_create(f.file);
    test_actor_init(&f.actor, 1, 2);
    return 0;
}

static int
fixture_close(void **state)
{
    (void)state;
    assert_int_equal(mprotect(f.file->base, f.file->bytes, PROT_READ | PROT_WRITE), 0);
    replay_sync_destroy(f.sync);
    replay_table_destroy(f.table);
    replay_file_close(f.file);
    (void)unlink(f.path);
    (void)rmdir(f.folder);
    return 0;
}

// Rows, and a generation that gets to the disk or does not.
static void
generation(uint32_t rows, oct_err err)
{
    for (; rows > 0; rows -= 100) {
        (void)test_insert(f.table, test_batch_steps(&f.actor, 100));
    }
    assert_true(replay_sync_begin(f.sync));
    assert_true(replay_sync_mark(f.sync, UINT64_MAX));
    T_OK(replay_sync_write(f.sync, false));
    replay_sync_end(f.sync, err);
}

// Pages of the blocks from this serial on to the last, and how many of them are dirty.
static uint32_t
dirty_pages(uint64_t serial, uint32_t *pages)
{
    const replay_head *head = replay_journal_held(f.file);
    uint32_t dirty = 0;
    *pages = 0;
    for (uint64_t last = UINT64_MAX; serial < head->next; serial++) {
        uint64_t at = (uint64_t)((uint8_t *)replay_file_block(f.file, serial) - f.file->base);
        for (uint64_t page = at / PAGE; page <= (at + f.file->layout.bytes - 1) / PAGE; page++) {
            if (page != last) {
                (*pages)++;
                dirty += f.is_dirty[page];
            }
            last = page;
        }
    }
    return dirty;
}

static void
test_sync_after_one_that_failed_gives_its_pages_again(void **state)
{
    (void)state;
    uint32_t pages;
    generation(1000, OCT_EIO);
    pages_clean();
    generation(0, OCT_OK); // the same commits
    uint32_t dirty = dirty_pages(0, &pages);
    assert_int_equal(dirty, pages);
    assert_true(f.is_dirty[0]); // the header is not on the disk either
}

static void
test_sync_after_one_that_failed_leaves_what_is_on_the_disk(void **state)
{
    (void)state;
    uint32_t pages;
    generation(1000, OCT_OK);
    uint64_t serial = replay_journal_held(f.file)->next;
    generation(1000, OCT_EIO);
    pages_clean();
    generation(0, OCT_OK);
    uint32_t dirty = dirty_pages(serial, &pages);
    assert_int_equal(dirty, pages);
    dirty = dirty_pages(0, &pages);
    assert_in_range(dirty, 1, pages * 3 / 4);
}

static void
test_sync_after_one_that_succeeded_gives_new_pages_alone(void **state)
{
    (void)state;
    uint32_t pages;
    generation(1000, OCT_OK);
    pages_clean();
    generation(100, OCT_OK);
    assert_false(f.is_dirty[0]);
    assert_in_range(dirty_pages(0, &pages), 1, 6);
    assert_false(replay_sync_begin(f.sync)); // there is nothing new
}

// A daemon that is started again because its disk failed: the kernel does not say so twice.
static void
test_sync_of_a_next_process_gives_pages_that_may_have_failed_again(void **state)
{
    (void)state;
    uint32_t pages;
    pages_clean();
    generation(100, OCT_OK);
    assert_false(f.is_dirty[0]); // there was no process before
    for (int i = 0; i < 10; i++) {
        (void)test_insert(f.table, test_batch_steps(&f.actor, 100));
    }
    assert_true(replay_sync_begin(f.sync) && replay_sync_mark(f.sync, UINT64_MAX));
    fdatasync_fails = true;
    oct_err err = replay_sync_write(f.sync, true);
    fdatasync_fails = false;
    T_ERR(err, OCT_EIO);
    replay_sync_destroy(f.sync); // and the process ends
    f.sync = replay_sync_create(f.file);
    pages_clean();
    generation(0, OCT_OK);
    uint32_t dirty = dirty_pages(2, &pages); // the first two hold 100 rows
    assert_int_equal(dirty, pages);
    assert_true(f.is_dirty[0]);
}

// That one failed is over when one has succeeded.
static void
test_sync_after_one_that_made_up_for_another_gives_new_pages_alone(void **state)
{
    (void)state;
    uint32_t pages;
    generation(1000, OCT_EIO);
    generation(0, OCT_OK);
    pages_clean();
    generation(100, OCT_OK);
    assert_false(f.is_dirty[0]);
    assert_in_range(dirty_pages(0, &pages), 1, 6);
}

// A generation whose write fails, before its snapshot or with it, is none.
static void
test_sync_that_fails_leaves_the_generation_before(void **state)
{
    (void)state;
    generation(100, OCT_OK);
    for (int i = 0; i < 4; i++) {
        (void)test_insert(f.table, test_batch_steps(&f.actor, 100));
        assert_true(replay_sync_begin(f.sync) && replay_sync_mark(f.sync, UINT64_MAX));
        fdatasync_fails = i % 2 == 0;
        msync_fails = !fdatasync_fails;
        errno = 0;
        T_ERR(replay_sync_write(f.sync, true), OCT_EIO);
        assert_int_equal(errno, EIO); // which is told
        fdatasync_fails = msync_fails = false;
        replay_sync_end(f.sync, OCT_EIO);
        assert_int_equal(replay_recover_snapshot(f.file)->generation, 2);
        assert_int_equal(replay_sync_generation(f.sync), 2);
    }
    generation(100, OCT_OK);
    assert_int_equal(replay_recover_snapshot(f.file)->generation, replay_sync_generation(f.sync));
}

// What is on the disk of a session, for its acknowledgements: of another one that has its place
// now, nothing.
static void
test_sync_tells_what_it_has_of_a_session(void **state)
{
    (void)state;
    replay_insert result = test_insert(f.table, test_batch_steps(&f.actor, 100));
    generation(0, OCT_OK);
    assert_int_equal(replay_sync_sequence(f.sync, result.session, 2), 1);
    assert_int_equal(replay_sync_sequence(f.sync, result.session, 3), 0);
    (void)test_insert(f.table, test_batch_steps(&f.actor, 100)); // is not yet
    assert_int_equal(replay_sync_sequence(f.sync, result.session, 2), 1);
}

// The place of a block that left has the mark of the next one, beside its own: what lies on the
// disk may still be the block that left.
static void
test_sync_after_one_that_failed_keeps_the_marks_of_the_last_one(void **state)
{
    (void)state;
    generation(1000, OCT_OK);
    uint64_t serial = replay_journal_held(f.file)->next - 1; // is open, and has a mark
    generation(1000, OCT_OK);
    for (int i = 0; replay_file_block(f.file, serial)->serial == serial; i++) {
        assert_true(i < 100);
        (void)test_insert(f.table, test_batch_steps(&f.actor, 100));
    }
    for (int i = 0; i < 3; i++) {
        generation(100, OCT_EIO);
        const replay_mark *pair = f.file->marks[serial % f.file->header->blocks];
        const replay_mark *own = pair[0].serial == serial ? &pair[0] : &pair[1];
        assert_int_equal(own->serial, serial);
        assert_int_equal(own->generation, 3);
        assert_int_equal(own->count, f.file->layout.rows);
    }
}

// A file of which not all is on the disk is none: its header would say that it is.
static void
test_sync_that_fails_makes_no_file(void **state)
{
    (void)state;
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    char path[80];
    oct_reason why;
    replay_file *file;
    (void)snprintf(path, sizeof(path), "%s/other.oct", f.folder);
    msync_fails = true;
    T_ERR(replay_file_create(&file, path, &configure, &why), OCT_EIO);
    msync_fails = false;
    assert_non_null(strstr(why.text, "cannot be written"));
    assert_int_equal(access(path, F_OK), -1);
}

// What a process before this one has written may lie in memory alone: marks change after it.
static void
test_sync_begins_with_a_snapshot_that_is_on_the_disk(void **state)
{
    (void)state;
    generation(100, OCT_OK);
    replay_sync_destroy(f.sync);
    msynced = NULL;
    f.sync = replay_sync_create(f.file);
    assert_ptr_equal(msynced, replay_recover_snapshot(f.file));
    assert_int_equal(msynced_bytes, replay_snapshot_bytes(f.file->header->sessions));
}

// Its sessions are the larger part of it.
static void
test_sync_waits_for_all_of_its_snapshot(void **state)
{
    (void)state;
    (void)test_insert(f.table, test_batch_steps(&f.actor, 100));
    assert_true(replay_sync_begin(f.sync) && replay_sync_mark(f.sync, UINT64_MAX));
    T_OK(replay_sync_write(f.sync, true));
    replay_sync_end(f.sync, OCT_OK);
    assert_ptr_equal(msynced, replay_recover_snapshot(f.file));
    assert_int_equal(msynced_bytes, replay_snapshot_bytes(f.file->header->sessions));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_sync_##name, fixture_open, fixture_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(after_one_that_failed_gives_its_pages_again),
        TEST(after_one_that_failed_leaves_what_is_on_the_disk),
        TEST(after_one_that_succeeded_gives_new_pages_alone),
        TEST(of_a_next_process_gives_pages_that_may_have_failed_again),
        TEST(after_one_that_made_up_for_another_gives_new_pages_alone),
        TEST(that_fails_leaves_the_generation_before),
        TEST(after_one_that_failed_keeps_the_marks_of_the_last_one),
        TEST(tells_what_it_has_of_a_session),
        TEST(that_fails_makes_no_file),
        TEST(begins_with_a_snapshot_that_is_on_the_disk),
        TEST(waits_for_all_of_its_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
