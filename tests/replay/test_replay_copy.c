// Copies of a table's file: a table that is taken back to one does from there on what it did
// before.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "replay/replay_copy.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"

#define FOLDER "replay-copy-test"
#define TURNS  12
#define BATCH  4

static char path[64];
static const uint8_t nothing[WIRE_HASH_BYTES]; // no table's hash
static oct_reason reason;

static const char *
copy_path(uint64_t turn)
{
    static char name[96];
    (void)snprintf(name, sizeof(name), "%s.%d", path, (int)turn);
    return name;
}

// In the place of libc's: a disk that has no room while has_no_room.
static bool has_no_room;

int
posix_fallocate(int descriptor, off_t offset, off_t length)
{
    return has_no_room ? ENOSPC : fallocate(descriptor, 0, offset, length) == 0 ? 0 : errno;
}

// Before libc's: the error of a disk that took the bytes of a file and cannot keep them; 0: none.
static int fsync_code;

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);

int
__wrap_fsync(int descriptor)
{
    struct stat status;
    if (fsync_code != 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        errno = fsync_code;
        return -1;
    }
    return __real_fsync(descriptor);
}

static bool
is_there(uint64_t turn)
{
    return access(copy_path(turn), F_OK) == 0;
}

static replay_table *
table_begin_of(replay_file **file, uint64_t run_id, uint64_t capacity)
{
    wire_configure configure = test_configure(capacity, WIRE_SAMPLER_PRIORITIZED);
    configure.run_id = run_id;
    configure.turn_actors = 1;
    T_OK(replay_file_create(file, path, &configure, &reason));
    return replay_table_create_in(&configure, *file);
}

static replay_table *
table_begin(replay_file **file, uint64_t run_id)
{
    return table_begin_of(file, run_id, 256);
}

static void
file_copy(const replay_file *file, uint64_t turn, uint32_t kept)
{
    const replay_head *head = replay_journal_held(file);
    T_OK(replay_copy_keep(file, head, turn, kept, &reason));
}

// What a turn brings: a batch, samples, and priorities of them.
static void
turn_do(replay_table *table, test_actor *actor)
{
    wire_sampled sampled;
    float priority[BATCH];
    assert_int_equal(test_insert(table, test_batch_steps(actor, 40)).kind, REPLAY_INSERT_TAKEN);
    replay_table_end_turn(table, BATCH);
    assert_true(replay_table_turn_batches(table) > 0);
    replay_table_sample_turn(&sampled, table, BATCH, 0, 1);
    for (uint32_t i = 0; i < BATCH; i++) {
        priority[i] = (float)(sampled.key[i] % 7) + 0.5f;
    }
    replay_table_update(
        table, &(wire_priorities){.count = BATCH, .key = sampled.key, .priority = priority});
}

// The table as the file at path has it, all of it.
static replay_table *
table_found(replay_file **file)
{
    replay_recovered recovered;
    replay_table *table;
    T_OK(replay_file_open(file, path, &reason));
    replay_file_set_live(*file);
    T_OK(replay_recover(&recovered, *file, &reason));
    assert_true(recovered.is_exact);
    T_OK(replay_table_restore(&table, *file, true));
    return table;
}

static void
table_end(replay_table *table, replay_file *file)
{
    replay_table_destroy(table);
    replay_file_close(file);
}

static void
test_table_taken_back_goes_on_as_it_did(void **state)
{
    (void)state;
    static uint8_t digest[TURNS + 1][WIRE_HASH_BYTES];
    static test_actor actor, then[TURNS + 1];
    uint8_t now[WIRE_HASH_BYTES];
    replay_file *file;
    replay_table *table = table_begin(&file, 7);
    test_actor_init(&actor, 1, 11);
    for (uint64_t turn = 1; turn <= TURNS; turn++) { // the oldest blocks leave meanwhile
        turn_do(table, &actor);
        replay_table_digest(table, digest[turn]);
        then[turn] = actor;
        file_copy(file, turn, TURNS);
    }
    assert_true(replay_journal_held(file)->oldest > 0);
    for (uint64_t turn = TURNS; turn > 0; turn -= 3) {
        T_OK(replay_copy_take(path, turn, digest[turn], &reason));
        table_end(table, file); // after it: nobody needs the old file
        table = table_found(&file);
        struct stat status;
        assert_int_equal(stat(path, &status), 0);
        assert_true((uint64_t)status.st_blocks * 512 >= file->bytes); // no store lacks room
        assert_int_equal(replay_table_turn(table), turn);
        replay_table_digest(table, now);
        assert_memory_equal(now, digest[turn], sizeof(now));
        actor = then[turn]; // its pointers are to itself
        for (uint64_t next = turn + 1; next <= TURNS; next++) {
            turn_do(table, &actor);
            replay_table_digest(table, now);
            assert_memory_equal(now, digest[next], sizeof(now));
        }
    }
    table_end(table, file);
}

static void
test_so_many_copies_are_kept_and_those_of_a_later_turn_forgotten(void **state)
{
    (void)state;
    replay_file *file;
    replay_table *other = table_begin(&file, 8);
    file_copy(file, 3, 2); // another run's: never removed
    table_end(other, file);
    assert_int_equal(unlink(path), 0);
    replay_table *table = table_begin(&file, 7);
    T_OK(oct_file_write(FOLDER "/t.octx8", "a letter", 8)); // is none, and counts as none
    for (uint64_t turn = 8; turn <= 32; turn += 8) {
        file_copy(file, turn, 2);
        assert_true(is_there(turn) && is_there(3) && !is_there(turn - 16));
        assert_true(turn == 8 || is_there(turn - 8));
    }
    assert_int_equal(unlink(FOLDER "/t.octx8"), 0);
    T_OK(oct_file_write(copy_path(40), "a letter", 8)); // nor what is no copy
    replay_copy_forget(file, 24);
    assert_true(is_there(3) && is_there(24) && !is_there(32) && is_there(40));
    file_copy(file, 24, 1); // the same once more
    assert_true(is_there(24));
    table_end(table, file);
    T_ERR(replay_copy_take(path, 32, nothing, &reason), OCT_ENOTFOUND);
    assert_non_null(
        strstr(reason.text, "continues from turn 32, but replay-copy-test/t.oct has no"));
}

static void
test_copy_that_cannot_be_written_changes_nothing(void **state)
{
    (void)state;
    replay_file *file;
    replay_table *table = table_begin(&file, 7);
    const replay_head *head = replay_journal_held(file);
    file_copy(file, 8, 1);
    assert_int_equal(mkdir(copy_path(16), 0700), 0); // no file takes its name
    T_ERR(replay_copy_keep(file, head, 16, 1, &reason), OCT_EIO);
    assert_non_null(strstr(reason.text, "t.oct.16 cannot be written: "));
    assert_true(is_there(8));
    T_ERR(replay_copy_take(path, 16, nothing, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "t.oct.16 cannot be opened: Is a directory"));
    table_end(table, file);
    assert_int_equal(rmdir(copy_path(16)), 0);
    assert_int_equal(unlink(copy_path(8)), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(FOLDER), 0); // and nothing else is left
    assert_int_equal(mkdir(FOLDER, 0700), 0);
}

// The file at path has a turn more than the copy of turn 1, and keeps it.
static void
taking_is_refused(const uint8_t hash[WIRE_HASH_BYTES], oct_err err, const char *words)
{
    replay_file *file;
    T_ERR(replay_copy_take(path, 1, hash, &reason), err);
    assert_non_null(strstr(reason.text, words));
    replay_table *table = table_found(&file);
    assert_int_equal(replay_table_turn(table), 2);
    table_end(table, file);
}

static void
test_copy_that_cannot_be_taken_leaves_the_file_as_it_is(void **state)
{
    (void)state;
    uint8_t first[WIRE_HASH_BYTES], other[WIRE_HASH_BYTES];
    test_actor actor;
    replay_file *file;
    replay_table *table = table_begin(&file, 7);
    test_actor_init(&actor, 1, 11);
    turn_do(table, &actor);
    replay_table_digest(table, first);
    file_copy(file, 1, 1);
    turn_do(table, &actor);
    table_end(table, file);
    memcpy(other, first, sizeof(other));
    other[0] ^= 1;
    has_no_room = true; // which is found out first
    taking_is_refused(other, OCT_EAGAIN, "no room for");
    has_no_room = false;
    taking_is_refused(other, OCT_EINVAL, "t.oct.1 is not the table that the checkpoint names");
    struct rlimit usual, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    oct_err err = replay_copy_take(path, 1, first, &reason);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    T_ERR(err, OCT_EAGAIN);
    assert_non_null(strstr(reason.text, "t.oct.1 cannot be opened: Too many open files"));
    assert_int_equal(truncate(copy_path(1), 4096), 0);
    taking_is_refused(first, OCT_EINVAL, "t.oct.1 is 4096 bytes long");
}

// Nearly all of it is a hole, of more bytes than are copied at once.
static void
test_copy_of_a_table_of_few_rows_is_taken_back(void **state)
{
    (void)state;
    uint8_t first[WIRE_HASH_BYTES], now[WIRE_HASH_BYTES];
    test_actor actor;
    replay_file *file;
    struct stat status;
    test_actor_init(&actor, 1, 11);
    replay_table *table = table_begin_of(&file, 7, 200000);
    turn_do(table, &actor);
    replay_table_digest(table, first);
    file_copy(file, 1, 1);
    assert_int_equal(stat(copy_path(1), &status), 0);
    assert_true((uint64_t)status.st_blocks * 512 + (4u << 20) < file->bytes);
    turn_do(table, &actor);
    table_end(table, file);
    T_OK(replay_copy_take(path, 1, first, &reason));
    table = table_found(&file);
    replay_table_digest(table, now);
    assert_memory_equal(now, first, sizeof(now));
    table_end(table, file);
}

// What was written and is not on the disk is no copy, and takes no file's place.
static void
test_copy_that_did_not_reach_the_disk_is_none(void **state)
{
    (void)state;
    static const struct {
        int code;
        oct_err err;
    } codes[] = {{EIO, OCT_EIO}, {ENOSPC, OCT_EAGAIN}, {EDQUOT, OCT_EAGAIN}};
    uint8_t first[WIRE_HASH_BYTES];
    test_actor actor;
    replay_file *file;
    test_actor_init(&actor, 1, 11);
    replay_table *table = table_begin(&file, 7);
    turn_do(table, &actor);
    replay_table_digest(table, first);
    file_copy(file, 1, 1);
    turn_do(table, &actor);
    for (size_t i = 0; i < OCT_COUNTOF(codes); i++) {
        const replay_head *head = replay_journal_held(file);
        fsync_code = codes[i].code;
        oct_err err = replay_copy_keep(file, head, 2, 1, &reason);
        fsync_code = 0;
        T_ERR(err, codes[i].err);
        assert_non_null(strstr(reason.text, "t.oct.2 cannot be written: "));
        assert_true(is_there(1) && !is_there(2));
    }
    table_end(table, file);
    for (size_t i = 0; i < OCT_COUNTOF(codes); i++) {
        fsync_code = codes[i].code;
        taking_is_refused(first, codes[i].err, "t.oct cannot be written: ");
        fsync_code = 0;
    }
    assert_int_equal(unlink(copy_path(1)), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(FOLDER), 0); // and nothing else is left
    assert_int_equal(mkdir(FOLDER, 0700), 0);
}

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof(path), FOLDER "/t.oct");
    return mkdir(FOLDER, 0700);
}

static int
teardown(void **state)
{
    (void)state;
    for (uint64_t turn = 1; turn <= 40; turn++) {
        (void)unlink(copy_path(turn));
    }
    (void)unlink(path);
    return rmdir(FOLDER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(table_taken_back_goes_on_as_it_did),
        TEST(so_many_copies_are_kept_and_those_of_a_later_turn_forgotten),
        TEST(copy_that_cannot_be_written_changes_nothing),
        TEST(copy_that_cannot_be_taken_leaves_the_file_as_it_is),
        TEST(copy_of_a_table_of_few_rows_is_taken_back),
        TEST(copy_that_did_not_reach_the_disk_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
