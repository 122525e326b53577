// Files that are not what they should be: refused in words and left alone, or taken as far as they
// make sense; never a crash.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"
#include "tests/support/oct_flock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_bytes.h"
#include "common/oct_rng.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_sync.h"

static char path[64];
static oct_rng rng;

static uint32_t
below(uint32_t bound)
{
    return oct_rng_below(&rng, bound);
}

static replay_file *
file_make_for(const wire_configure *configure, uint32_t sessions)
{
    oct_reason why;
    replay_file *file;
    (void)unlink(path);
    oct_err err = replay_file_create_for(&file, path, configure, sessions, &why);
    if (err != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return file;
}

static replay_file *
file_make(const wire_configure *configure)
{
    return file_make_for(configure, REPLAY_SESSIONS_MAX);
}

static void
file_write(uint64_t at, const void *bytes, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(file, bytes, length, (off_t)at), length);
    (void)close(file);
}

static void
refused(oct_err want, const char *words)
{
    oct_reason why = {""};
    replay_file *file;
    T_ERR(replay_file_open(&file, path, &why), want);
    if (!strstr(why.text, words) || !strstr(why.text, path)) {
        fail_msg("'%s' is not in '%s'", words, why.text);
    }
}

static void
test_file_refuses_in_words(void **state)
{
    (void)state;
    oct_reason why;
    wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    (void)unlink(path);
    refused(OCT_ENOTFOUND, "does not exist");
    replay_file *file = file_make(&configure);
    refused(OCT_EIO, "in use"); // and may not be, later
    replay_file *second;
    T_ERR(replay_file_create(&second, path, &configure, &why), OCT_EIO);
    uint64_t bytes = file->bytes;
    replay_file_header header = *file->header, other = header;
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, bytes);
    assert_true((uint64_t)status.st_blocks * 512 >= bytes); // all of it is there
    assert_int_equal(status.st_mode & 0777, 0600);
    replay_file_close(file);
    T_ERR(replay_file_create(&second, path, &configure, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "exists"));
    other.version++;
    file_write(0, &other, sizeof(other));
    refused(OCT_EINVAL, "version 5.1 of the format, this program reads 4.1");
    other = header;
    other.byte_order = __builtin_bswap32(other.byte_order);
    file_write(0, &other, sizeof(other));
    refused(OCT_EINVAL, "another byte order");
    other = header;
    other.blocks ^= 1;
    file_write(0, &other, sizeof(other));
    refused(OCT_EINVAL, "header is damaged");
    file_write(0, "something else", 14);
    refused(OCT_EINVAL, "not a file of octet-replay");
    file_write(0, &header, sizeof(header));
    assert_int_equal(truncate(path, (off_t)bytes - 4096), 0);
    refused(OCT_EINVAL, "was cut off");
    assert_int_equal(truncate(path, 0), 0);
    refused(OCT_ENOTFOUND, "is empty");
    (void)unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    refused(OCT_EINVAL, "cannot be opened: Is a directory");
    assert_int_equal(rmdir(path), 0);
}

static void
test_file_is_used_by_one_and_looked_at_by_several(void **state)
{
    (void)state;
    oct_reason why;
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    replay_file *file = file_make(&configure), *copy[2];
    assert_true(file->is_locked);
    T_ERR(replay_file_open_copy(&copy[0], path, &why), OCT_EIO);
    assert_non_null(strstr(
        why.text, "is in use by octet-replay; first end its run, or close its octet.Replay"));
    refused(OCT_EIO, "is in use by another octet-replay");
    replay_file_close(file);
    T_OK(replay_file_open_copy(&copy[0], path, &why));
    T_OK(replay_file_open_copy(&copy[1], path, &why));
    refused(OCT_EIO, "by a command that reads it");
    replay_file_close(copy[0]);
    replay_file_close(copy[1]);
}

static void
test_file_system_without_locks_is_no_hindrance(void **state)
{
    (void)state;
    oct_reason why;
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    for (size_t i = 0; i < OCT_COUNTOF(flock_none); i++) {
        flock_errno = flock_none[i];
        replay_file *file = file_make(&configure);
        assert_false(file->is_locked);
        replay_file_close(file);
        T_OK(replay_file_open(&file, path, &why));
        assert_false(file->is_locked);
        replay_file_close(file);
    }
    flock_errno = EIO;
    refused(OCT_EIO, "cannot be locked: Input/output error");
    flock_errno = 0;
}

// A table with some streams, sampled, synced now and then.
static void
table_fill(replay_file *file, const wire_configure *configure)
{
    static test_actor actor;
    replay_table *table = replay_table_create_in(configure, file);
    replay_sync *sync = replay_sync_create(file);
    uint64_t next[3] = {0};
    for (uint64_t session = 1; session <= 3; session++) {
        test_actor_init(&actor, (uint32_t)session, session);
        memset(next, 0, sizeof(next));
        for (int i = 0; i < 6; i++) {
            (void)test_batch_begin(&actor);
            for (uint32_t stream = 0; stream < 3; stream++) {
                test_batch_run(&actor, stream, next[stream], 1);
                for (uint32_t rows = 1 + below(9); rows > 0; rows--) {
                    test_batch_row(&actor, next[stream]++ == 0 ? WIRE_FIRST : 0);
                }
            }
            replay_insert result;
            if (replay_table_insert(&result, table, &actor.batch) == OCT_OK && below(4) == 0 &&
                replay_sync_begin(sync)) {
                assert_true(replay_sync_mark(sync, UINT64_MAX));
                oct_err err = replay_sync_write(sync, false);
                replay_sync_end(sync, err);
            }
        }
    }
    replay_sync_destroy(sync);
    replay_table_destroy(table);
}

// The recovered table does what tables do.
static void
table_use(replay_file *file, const replay_recovered *recovered)
{
    static test_actor actor;
    replay_table *table;
    if (replay_table_restore(&table, file, recovered->is_exact) != OCT_OK) {
        return;
    }
    wire_configure wanted = *replay_table_configure(table);
    test_actor_init(&actor, 9, 99);
    for (int i = 0; i < 20; i++) {
        replay_insert result;
        wire_sampled sampled;
        uint32_t size = OCT_MIN(4, replay_table_batch_max(table));
        (void)test_batch_steps(&actor, 10);
        actor.batch.extra_dim = wanted.extra_dim;
        actor.batch.first_unacked = actor.batch.sequence;
        oct_err err = replay_table_insert(&result, table, &actor.batch);
        if (replay_table_may_sample(table, size, 1, 0) > 0) {
            replay_table_sample(&sampled, table, size, 1);
        }
        assert_true(err == OCT_OK || err == OCT_EAGAIN);
    }
    wanted.window = WIRE_WINDOW_SEQUENCE;
    wanted.window_steps = 3;
    wanted.window_stride = 2;
    replay_table_set(table, &wanted);
    replay_table_destroy(table);
}

static void
bytes_damage(uint8_t *bytes, uint64_t count)
{
    for (uint32_t i = 1 + below(12); i > 0; i--) {
        // Mostly near the beginning: that is where heads, sessions and headers are.
        uint64_t range = below(2) == 0 ? OCT_MIN(count, 8192) : count;
        uint64_t at = 4096 + oct_rng_below64(&rng, range - 4096);
        bytes[at] = (uint8_t)(below(3) == 0 ? 0xff : below(256));
    }
}

static void
damaged_run(wire_sampler sampler, int times)
{
    wire_configure configure = test_configure(256, sampler);
    configure.streams = 4;
    replay_file *file = file_make(&configure);
    table_fill(file, &configure);
    uint64_t bytes = file->bytes;
    uint64_t blocks_at = file->header->blocks_at;
    uint8_t *whole = malloc(bytes), *damaged = malloc(bytes);
    memcpy(whole, file->base, bytes);
    replay_file_close(file);
    for (int i = 0; i < times; i++) {
        oct_reason why;
        replay_recovered recovered;
        memcpy(damaged, whole, bytes);
        bytes_damage(damaged, bytes);
        for (uint32_t k = below(6); k > 0; k--) { // headers of blocks
            damaged[blocks_at + below(8) * 64 + below(64)] = (uint8_t)below(256);
        }
        if (below(2) == 0) { // as after a power failure
            memset(damaged + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity));
        }
        file_write(0, damaged, bytes);
        T_OK(replay_file_open(&file, path, &why));
        if (replay_recover(&recovered, file, &why) == OCT_OK) {
            table_use(file, &recovered);
        }
        replay_file_close(file);
    }
    free(whole);
    free(damaged);
}

static void
test_file_damaged_anywhere_never_crashes(void **state)
{
    (void)state;
    oct_rng_init(&rng, 5, 0);
    damaged_run(WIRE_SAMPLER_UNIFORM, 300);
    damaged_run(WIRE_SAMPLER_PRIORITIZED, 300);
    damaged_run(WIRE_SAMPLER_FIFO, 300);
}

// A table of a file that is there takes a batch of that actor; the file is closed again.
static void
insert_into(uint32_t actor_id)
{
    static test_actor actor;
    oct_reason why = {""};
    replay_file *file;
    replay_recovered recovered;
    replay_table *table;
    T_OK(replay_file_open(&file, path, &why));
    T_OK(replay_recover(&recovered, file, &why));
    T_OK(replay_table_restore(&table, file, recovered.is_exact));
    test_actor_init(&actor, actor_id, 100 + actor_id);
    assert_int_equal(test_insert(table, test_batch_steps(&actor, 10)).kind, REPLAY_INSERT_TAKEN);
    replay_table_destroy(table);
    replay_file_close(file);
}

static void
test_what_lies_behind_the_sessions_never_becomes_one(void **state)
{
    (void)state;
    oct_rng_init(&rng, 5, 0);
    wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    configure.streams = 4;
    replay_file *file = file_make(&configure);
    table_fill(file, &configure); // three sessions, of actors 1 to 3
    file->sessions[4] = file->sessions[0];
    replay_file_close(file);
    insert_into(8);
    insert_into(9);
}

// Syncs all that the table has, and closes it.
static void
table_sync_and_close(replay_table *table, replay_sync *sync, replay_file *file)
{
    assert_true(replay_sync_begin(sync) && replay_sync_mark(sync, UINT64_MAX));
    T_OK(replay_sync_write(sync, true));
    replay_sync_end(sync, OCT_OK);
    replay_sync_destroy(sync);
    replay_table_destroy(table);
    replay_file_close(file);
}

// The table in the file at path. power_failed: only what was synced is there.
static replay_table *
table_again(replay_file **file, bool power_failed)
{
    static const replay_file_identity other;
    oct_reason why = {""};
    replay_recovered recovered;
    replay_table *table;
    if (power_failed) {
        file_write(REPLAY_FILE_LIFE_AT, &other, sizeof(other));
    }
    T_OK(replay_file_open(file, path, &why));
    T_OK(replay_recover(&recovered, *file, &why));
    assert_true(recovered.is_exact == !power_failed);
    T_OK(replay_table_restore(&table, *file, recovered.is_exact));
    return table;
}

static void
test_table_that_was_never_synced_again_is_as_it_was_made(void **state)
{
    (void)state;
    uint8_t made[WIRE_HASH_BYTES], found[WIRE_HASH_BYTES];
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    replay_file *file = file_make(&configure);
    replay_table *table = replay_table_create_in(&configure, file);
    replay_table_digest(table, made);
    replay_table_destroy(table);
    replay_file_close(file);
    table = table_again(&file, true);
    replay_table_digest(table, found);
    assert_memory_equal(found, made, sizeof(made)); // its generator, too
    replay_table_destroy(table);
    replay_file_close(file);
}

// Which of two sessions has been silent longer is known after a power failure and a kill, too.
static void
test_session_that_was_silent_longest_goes_after_a_power_failure(void **state)
{
    (void)state;
    static test_actor actors[3];
    const wire_configure configure = test_configure(1024, WIRE_SAMPLER_UNIFORM);
    replay_file *file = file_make_for(&configure, 2);
    replay_table *table = replay_table_create_in(&configure, file);
    replay_sync *sync = replay_sync_create(file);
    for (uint32_t i = 0; i < 3; i++) {
        test_actor_init(&actors[i], i + 1, 11 + i);
    }
    for (int i = 0; i < 8; i++) { // that of actor 2 is the later one
        (void)test_insert(table, test_batch_steps(&actors[i % 2], 10));
    }
    table_sync_and_close(table, sync, file);
    table = table_again(&file, true);
    (void)test_insert(table, test_batch_steps(&actors[0], 10));
    replay_table_destroy(table);
    replay_file_close(file);
    table = table_again(&file, false);
    test_silence(table);
    (void)test_insert(table, test_batch_steps(&actors[2], 10));
    assert_true(replay_table_find_session(table, 1, 11) != REPLAY_SESSION_NONE);
    assert_true(replay_table_find_session(table, 2, 12) == REPLAY_SESSION_NONE);
    replay_table_destroy(table);
    replay_file_close(file);
}

// The version of the file at path, which is whole.
static void
version_set(uint32_t version)
{
    replay_file_header header;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(file, &header, sizeof(header), 0), sizeof(header));
    (void)close(file);
    header.version = version;
    header.crc = oct_crc32(0, &header, offsetof(replay_file_header, crc));
    file_write(0, &header, sizeof(header));
}

// It goes on with as many as it has places for.
static void
test_file_of_a_release_with_fewer_sessions_is_read(void **state)
{
    (void)state;
    enum { OLD = 4096 };
    static test_actor actor;
    oct_reason why = {""};
    wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    oct_rng_init(&rng, 6, 0);
    replay_file *file = file_make_for(&configure, OLD);
    table_fill(file, &configure);
    replay_file_close(file);
    version_set(REPLAY_FILE_VERSION_OLD);
    for (uint32_t round = 0; round < 2; round++) {
        replay_recovered recovered;
        replay_table *table;
        T_OK(replay_file_open(&file, path, &why));
        assert_int_equal(file->header->sessions, OLD);
        T_OK(replay_recover(&recovered, file, &why));
        T_OK(replay_table_restore(&table, file, recovered.is_exact));
        assert_int_equal(replay_table_stats_get(table).sessions, round == 0 ? 3 : OLD);
        replay_sync *sync = replay_sync_create(file);
        test_silence(table);
        for (uint32_t i = 0; i < OLD; i++) {
            test_actor_init(&actor, 1000 + i, 1000 + i);
            replay_insert result = test_insert(table, test_batch_steps(&actor, 2));
            assert_int_equal(result.kind,
                             round == 0 ? REPLAY_INSERT_TAKEN : REPLAY_INSERT_DUPLICATE);
        }
        assert_null(replay_table_session(table, OLD));
        assert_true(replay_sync_begin(sync));
        assert_true(replay_sync_mark(sync, UINT64_MAX));
        T_OK(replay_sync_write(sync, false));
        replay_sync_end(sync, OCT_OK);
        uint32_t index = replay_table_find_session(table, 1000 + OLD - 1, 1000 + OLD - 1);
        assert_int_equal(replay_sync_sequence(sync, index, 1000 + OLD - 1), 1);
        replay_sync_destroy(sync);
        replay_table_destroy(table);
        replay_file_close(file);
    }
}

// In the place of libc's: the room of a file system that is pretended; count.
static const struct statvfs *pretended;
static unsigned reservations;

int
fstatvfs(int descriptor, struct statvfs *out)
{
    char name[64];
    if (pretended != NULL) {
        *out = *pretended;
        return 0;
    }
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
    return statvfs(name, out);
}

int
posix_fallocate(int descriptor, off_t offset, off_t length)
{
    reservations++;
    return fallocate(descriptor, 0, offset, length) == 0 ? 0 : errno;
}

// Nor is the disk filled in the attempt, which others write to.
static void
test_file_of_a_table_without_room_is_not_made(void **state)
{
    (void)state;
    reservations = 0;
    oct_reason why;
    replay_file *file;
    wire_configure configure = test_configure(4000000000u, WIRE_SAMPLER_UNIFORM);
    configure.obs_bytes = 1u << 20; // 4 PB
    (void)unlink(path);
    oct_err err = replay_file_create(&file, path, &configure, &why);
    assert_true(err == OCT_EAGAIN || err == OCT_EIO); // no room, or no such size
    assert_non_null(strstr(why.text, "no room for"));
    assert_int_equal(reservations, 0);
    assert_int_not_equal(access(path, F_OK), 0);
    configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    assert_int_equal(replay_file_create(&file, path, &configure, &why), OCT_OK);
    assert_true(reservations > 0);
    replay_file_close(file);
}

// Root can use the blocks that a file system reserves only with CAP_SYS_RESOURCE.
static void
test_reserved_blocks_are_no_room(void **state)
{
    (void)state;
    const struct statvfs system = {
        .f_frsize = 4096, .f_blocks = 1u << 20, .f_bfree = 1u << 20, .f_bavail = 1};
    oct_reason why;
    replay_file *file;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    (void)unlink(path);
    reservations = 0;
    pretended = &system;
    oct_err err = replay_file_create(&file, path, &configure, &why);
    pretended = NULL;
    T_ERR(err, OCT_EAGAIN);
    assert_non_null(strstr(why.text, "no room for"));
    assert_int_equal(reservations, 0);
}

static uint64_t
allocated_bytes(void)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

// A file as a copy leaves it that makes holes of zeros: no row was ever in its blocks.
static void
file_make_with_holes(void)
{
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    replay_file *file = file_make(&configure);
    uint64_t at = file->header->blocks_at, bytes = file->bytes;
    assert_int_equal(fallocate(file->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               (off_t)at, (off_t)(bytes - at)),
                     0);
    replay_file_close(file);
    assert_true(allocated_bytes() < bytes);
}

static void
test_holes_of_a_file_are_filled_before_it_is_used(void **state)
{
    (void)state;
    oct_reason why;
    replay_file *file;
    file_make_with_holes();
    T_OK(replay_file_open_copy(&file, path, &why));
    assert_true(allocated_bytes() < file->bytes); // nothing is stored in it
    replay_file_close(file);
    T_OK(replay_file_open(&file, path, &why));
    assert_true(allocated_bytes() >= file->bytes);
    replay_file_close(file);
}

// On a full disk: a store into a hole would end the process.
static void
test_a_file_whose_holes_find_no_room_is_not_opened(void **state)
{
    (void)state;
    const struct statvfs full = {.f_frsize = 4096, .f_blocks = 1u << 20};
    oct_reason why;
    replay_file *file;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    replay_file_close(file_make(&configure));
    pretended = &full;
    oct_err whole = replay_file_open(&file, path, &why);
    assert_int_equal(whole, OCT_OK); // it has all that it needs
    replay_file_close(file);
    pretended = NULL;
    file_make_with_holes();
    uint64_t before = allocated_bytes();
    reservations = 0;
    pretended = &full;
    refused(OCT_EAGAIN, "no room for");
    oct_err copy = replay_file_open_copy(&file, path, &why);
    pretended = NULL;
    assert_int_equal(copy, OCT_OK);
    replay_file_close(file);
    assert_int_equal(reservations, 0);
    assert_int_equal(allocated_bytes(), before);
    T_OK(replay_file_open(&file, path, &why));
    replay_file_close(file);
}

// ---- a table of a million rows

enum { MILLION = 1000000, ACTORS = 4, DRAWN = 64 };

// What a process that is killed leaves to be compared with.
typedef struct million {
    uint8_t digest[WIRE_HASH_BYTES];
    replay_table_stats stats;
    uint64_t sequence; // of each actor's last batch
} million;

static void
million_insert(replay_table *table, test_actor *actors, replay_insert_kind want)
{
    for (uint32_t i = 0; i < ACTORS; i++) {
        replay_insert result;
        actors[i].batch.first_unacked = actors[i].batch.sequence;
        T_OK(replay_table_insert(&result, table, &actors[i].batch));
        assert_int_equal(result.kind, want);
    }
}

// Another priority for some of the windows.
static void
million_sample(replay_table *table)
{
    wire_sampled sampled;
    float priority[DRAWN];
    assert_int_equal(replay_table_may_sample(table, DRAWN, 1, 0), 1);
    replay_table_sample(&sampled, table, DRAWN, 1);
    for (uint32_t i = 0; i < DRAWN; i++) {
        int32_t action;
        memcpy(&action, sampled.action + i * sizeof(action), sizeof(action));
        assert_int_equal(action, (int32_t)sampled.reward[i] * 3); // a row that was made
        priority[i] = 1 + (float)(i % 7);
    }
    replay_table_update(
        table, &(wire_priorities){.count = DRAWN, .key = sampled.key, .priority = priority});
}

static void
million_fill(million *out, test_actor *actors)
{
    wire_configure configure = test_configure(MILLION, WIRE_SAMPLER_PRIORITIZED);
    replay_file *file = file_make(&configure);
    replay_table *table = replay_table_create_in(&configure, file);
    while (replay_table_stats_get(table).rows_taken < MILLION) {
        for (uint32_t i = 0; i < ACTORS; i++) {
            (void)test_batch_steps(&actors[i], TEST_ROWS_MAX - 1);
        }
        million_insert(table, actors, REPLAY_INSERT_TAKEN);
        million_sample(table);
    }
    replay_table_digest(table, out->digest);
    out->stats = replay_table_stats_get(table);
    out->sequence = actors[0].batch.sequence;
}

// Blocks stay as they were made, whatever number of streams would be best served by today.
static void
test_file_made_for_other_streams_takes_what_its_blocks_do(void **state)
{
    (void)state;
    oct_reason why;
    static test_actor actor;
    replay_recovered recovered;
    wire_configure configure = test_configure(400000, WIRE_SAMPLER_UNIFORM);
    configure.streams = 8000;
    replay_file *file = file_make_for(&configure, 16);
    replay_table *table = replay_table_create_in(&configure, file);
    uint64_t bytes = replay_table_stats_get(table).memory_bytes;
    configure.streams = 64;
    assert_true(replay_config_layout(&configure).count < replay_table_blocks(table).count);
    replay_table_set(table, &configure);
    test_actor_init(&actor, 1, 2);
    (void)test_insert(table, test_batch_steps(&actor, 4)); // and what holds now is kept
    replay_table_destroy(table);
    replay_file_close(file);
    T_OK(replay_file_open(&file, path, &why));
    T_OK(replay_recover(&recovered, file, &why));
    T_OK(replay_table_restore(&table, file, true));
    assert_int_equal(replay_table_configure(table)->streams, 64);
    assert_int_equal(replay_table_stats_get(table).memory_bytes, bytes);
    replay_table_destroy(table);
    replay_file_close(file);
    (void)unlink(path);
}

// Bytes of the mapping that are not the file's any more.
static uint64_t
mapping_own_bytes(const replay_file *file)
{
    char line[512];
    uint64_t begin, end, kilobytes, total = 0;
    bool is_in = false;
    FILE *maps = fopen("/proc/self/smaps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2) {
            is_in = begin >= (uintptr_t)file->base && end <= (uintptr_t)file->base + file->bytes;
        } else if (is_in && sscanf(line, "Anonymous: %" SCNu64 " kB", &kilobytes) == 1) {
            total += kilobytes << 10;
        }
    }
    (void)fclose(maps);
    return total;
}

// A copy takes memory for what is another than in the file, which is next to nothing.
static void
test_file_that_is_looked_at_takes_no_memory(void **state)
{
    (void)state;
    oct_reason why;
    static test_actor actor;
    const wire_configure configure = test_configure(65536, WIRE_SAMPLER_UNIFORM);
    replay_file *file = file_make_for(&configure, 16);
    replay_table *table = replay_table_create_in(&configure, file);
    replay_sync *sync = replay_sync_create(file);
    test_actor_init(&actor, 1, 2);
    for (uint32_t i = 0; i < 128; i++) {
        (void)test_insert(table, test_batch_steps(&actor, 500));
    }
    table_sync_and_close(table, sync, file);
    for (uint32_t is_synced = 0; is_synced < 2; is_synced++) {
        replay_recovered recovered;
        T_OK(replay_file_open_copy(&file, path, &why));
        T_OK(replay_recover(&recovered, file, &why));
        assert_int_equal(recovered.is_exact, !is_synced);
        assert_int_equal(recovered.rows, 64001);
        uint64_t blocks_bytes = recovered.blocks * file->layout.bytes;
        assert_true(mapping_own_bytes(file) < blocks_bytes / 8);
        replay_file_close(file);
        const replay_file_identity elsewhere = {0};
        file_write(REPLAY_FILE_LIFE_AT, &elsewhere, sizeof(elsewhere));
    }
    (void)unlink(path);
}

// The process that filled it is killed; the next one has the same rows, priorities, counters,
// sessions and generator.
static void
test_file_of_a_million_rows_is_there_again_after_a_kill(void **state)
{
    (void)state;
    static test_actor actors[ACTORS];
    million *before =
        mmap(NULL, sizeof(*before), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(before != MAP_FAILED);
    for (uint32_t i = 0; i < ACTORS; i++) {
        test_actor_init(&actors[i], i + 1, i + 1);
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        million_fill(before, actors);
        (void)raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    oct_reason why = {""};
    replay_file *file;
    replay_recovered recovered;
    replay_table *table;
    if (replay_file_open(&file, path, &why) != OCT_OK ||
        replay_recover(&recovered, file, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    assert_true(recovered.is_exact && recovered.blocks_torn == 0);
    T_OK(replay_table_restore(&table, file, true));
    uint8_t digest[WIRE_HASH_BYTES];
    replay_table_digest(table, digest);
    assert_memory_equal(digest, before->digest, sizeof(digest));
    replay_table_stats after = replay_table_stats_get(table);
    assert_true(after.rows_taken >= MILLION && after.rows > MILLION - 64 * ACTORS);
    after.memory_bytes = before->stats.memory_bytes;
    assert_memory_equal(&after, &before->stats, sizeof(after));
    while (actors[0].batch.sequence < before->sequence) {
        for (uint32_t i = 0; i < ACTORS; i++) {
            (void)test_batch_steps(&actors[i], TEST_ROWS_MAX - 1);
        }
    }
    million_insert(table, actors, REPLAY_INSERT_DUPLICATE);
    for (uint32_t i = 0; i < ACTORS; i++) {
        (void)test_batch_steps(&actors[i], TEST_ROWS_MAX - 1);
    }
    million_insert(table, actors, REPLAY_INSERT_TAKEN);
    million_sample(table);
    replay_table_destroy(table);
    replay_file_close(file);
    (void)munmap(before, sizeof(*before));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_refuses_in_words),
        cmocka_unit_test(test_file_is_used_by_one_and_looked_at_by_several),
        cmocka_unit_test(test_file_system_without_locks_is_no_hindrance),
        cmocka_unit_test(test_file_of_a_table_without_room_is_not_made),
        cmocka_unit_test(test_reserved_blocks_are_no_room),
        cmocka_unit_test(test_holes_of_a_file_are_filled_before_it_is_used),
        cmocka_unit_test(test_a_file_whose_holes_find_no_room_is_not_opened),
        cmocka_unit_test(test_file_damaged_anywhere_never_crashes),
        cmocka_unit_test(test_file_of_a_release_with_fewer_sessions_is_read),
        cmocka_unit_test(test_what_lies_behind_the_sessions_never_becomes_one),
        cmocka_unit_test(test_table_that_was_never_synced_again_is_as_it_was_made),
        cmocka_unit_test(test_session_that_was_silent_longest_goes_after_a_power_failure),
        cmocka_unit_test(test_file_made_for_other_streams_takes_what_its_blocks_do),
        cmocka_unit_test(test_file_that_is_looked_at_takes_no_memory),
        cmocka_unit_test(test_file_of_a_million_rows_is_there_again_after_a_kill),
    };
    (void)snprintf(path, sizeof(path), "/tmp/octet-replay-file-XXXXXX");
    int file = mkstemp(path);
    if (file < 0) {
        return 1;
    }
    (void)close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
