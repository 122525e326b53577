// A replay file and its disk: what is reserved, what an error of the disk means, and headers whose
// sum is right although they cannot be.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "replay/replay_file.h"

static char folder[32], path[64];
static oct_reason reason;

// ---- the disk

static int fallocate_code;  // what it answers
static uint64_t allocated;  // bytes from the first one on, without a gap
static bool has_no_boot_id; // it cannot be read
static bool fsync_fails;
static ino_t fsynced; // of what was last

// In the place of libc's.
int
posix_fallocate(int descriptor, off_t offset, off_t length)
{
    if (fallocate_code != 0) {
        return fallocate_code;
    }
    if ((uint64_t)offset <= allocated) {
        allocated = OCT_MAX(allocated, (uint64_t)(offset + length));
    }
    struct stat status;
    bool is_longer = fstat(descriptor, &status) == 0 && status.st_size < offset + length;
    return is_longer && ftruncate(descriptor, offset + length) != 0 ? errno : 0;
}

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);

int
__wrap_fsync(int descriptor)
{
    struct stat status;
    assert_int_equal(fstat(descriptor, &status), 0);
    fsynced = status.st_ino;
    if (fsync_fails) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(descriptor);
}

ssize_t __real_read(int descriptor, void *bytes, size_t length);
ssize_t __wrap_read(int descriptor, void *bytes, size_t length);

ssize_t
__wrap_read(int descriptor, void *bytes, size_t length)
{
    if (has_no_boot_id) {
        errno = EIO;
        return -1;
    }
    return __real_read(descriptor, bytes, length);
}

static int
setup(void **state)
{
    (void)state;
    fallocate_code = 0;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet-disk-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/replay.oct", folder);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder); // nothing else is left in it
}

static replay_file *
file_make(void)
{
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    replay_file *file;
    oct_err err = replay_file_create_for(&file, path, &configure, 64, &reason);
    if (err != OCT_OK) {
        fail_msg("%s", reason.text);
    }
    return file;
}

static void
assert_refused(const char *name, oct_err want, const char *words)
{
    replay_file *file;
    T_ERR(replay_file_open(&file, name, &reason), want);
    if (strstr(reason.text, words) == NULL || strstr(reason.text, name) == NULL) {
        fail_msg("'%s' is not in '%s'", words, reason.text);
    }
}

// ---- tests

// A file system may give its pages piece by piece: none is left out.
static void
test_every_page_of_a_large_file_is_reserved(void **state)
{
    (void)state;
    const uint64_t bytes = (200ull << 20) + 4096;
    int file = memfd_create("replay_file_disk", MFD_CLOEXEC);
    assert_true(file >= 0);
    allocated = 0;
    T_OK(replay_file_reserve(file, "large", bytes, &reason));
    assert_int_equal(allocated, bytes);
    (void)close(file);
}

// Room may come; another error of the disk is told as what it is.
static void
test_disk_without_room_is_waited_for(void **state)
{
    (void)state;
    static const struct {
        int code;
        oct_err err;
    } codes[] = {{ENOSPC, OCT_EAGAIN}, {EDQUOT, OCT_EAGAIN}, {EIO, OCT_EIO}, {EFBIG, OCT_EIO}};
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    replay_file *file;
    for (size_t i = 0; i < OCT_COUNTOF(codes); i++) {
        fallocate_code = codes[i].code;
        T_ERR(replay_file_create(&file, path, &configure, &reason), codes[i].err);
        assert_non_null(strstr(reason.text, path));
        assert_non_null(strstr(reason.text, strerror(codes[i].code)));
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

// A name that leads nowhere stays so until a person changes it: nobody waits for that.
static void
test_name_that_cannot_be_opened_is_not_waited_for(void **state)
{
    (void)state;
    char below[80], longer[300];
    assert_int_equal(symlink(path, path), 0);
    assert_refused(path, OCT_EINVAL, strerror(ELOOP));
    assert_int_equal(unlink(path), 0);
    replay_file_close(file_make());
    (void)snprintf(below, sizeof(below), "%s/replay.oct", path);
    assert_refused(below, OCT_EINVAL, strerror(ENOTDIR));
    (void)snprintf(longer, sizeof(longer), "%s/%0260d", folder, 1);
    assert_refused(longer, OCT_EINVAL, strerror(ENAMETOOLONG));
}

// The sum is right, but not what it is of: a build with other structs, or a file that somebody
// made.
static void
test_header_that_cannot_be_is_refused_although_its_sum_is_right(void **state)
{
    (void)state;
    replay_file *file = file_make();
    const replay_file_header whole = *file->header;
    replay_file_close(file);
    T_OK(replay_file_open(&file, path, &reason));
    replay_file_close(file);
    for (int i = 0; i < 12; i++) {
        replay_file_header header = whole;
        uint32_t *const numbers[] = {&header.head_bytes, &header.blocks,       &header.block_rows,
                                     &header.obs_bytes,  &header.action_bytes, &header.sessions};
        uint64_t *const places[] = {&header.live_at,     &header.journal_at, &header.snapshot_at[1],
                                    &header.sessions_at, &header.marks_at,   &header.blocks_at};
        if (i < 6) {
            *numbers[i] += 64;
        } else {
            *places[i - 6] += 4096;
        }
        header.crc = oct_crc32(0, &header, offsetof(replay_file_header, crc));
        int descriptor = open(path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(descriptor, &header, sizeof(header), 0), sizeof(header));
        (void)close(descriptor);
        assert_refused(path, OCT_EINVAL, "its header is damaged");
    }
}

// A power failure may else take the name, and all acknowledged rows with it.
static void
test_file_that_is_new_is_in_its_folder_on_the_disk(void **state)
{
    (void)state;
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    struct stat status;
    replay_file *file;
    fsync_fails = true;
    oct_err err = replay_file_create(&file, path, &configure, &reason);
    fsync_fails = false;
    T_ERR(err, OCT_EIO);
    assert_non_null(strstr(reason.text, path));
    assert_non_null(strstr(reason.text, strerror(EIO)));
    assert_int_not_equal(access(path, F_OK), 0);
    fsynced = 0;
    replay_file_close(file_make());
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(fsynced, status.st_ino);
}

// Neither what is no replay file, nor one that is damaged, gives way to a new one.
static void
test_nothing_is_written_over(void **state)
{
    (void)state;
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    replay_file *file = file_make();
    replay_file_header damaged = *file->header;
    replay_file_close(file);
    damaged.blocks++;
    static const char letter[] = "Dear reader, this is no replay file.";
    static const uint8_t zeros[8192];
    const void *const contents[] = {letter, &damaged, zeros};
    const size_t lengths[] = {sizeof(letter), sizeof(damaged), sizeof(zeros)};
    for (size_t i = 0; i < OCT_COUNTOF(contents); i++) {
        uint8_t *bytes;
        size_t length;
        T_OK(oct_file_write(path, contents[i], lengths[i]));
        T_ERR(replay_file_create(&file, path, &configure, &reason), OCT_EINVAL);
        assert_non_null(strstr(reason.text, path));
        T_OK(oct_file_read(path, 1 << 20, &bytes, &length));
        assert_int_equal(length, lengths[i]);
        assert_memory_equal(bytes, contents[i], length);
        free(bytes);
    }
}

// A first page of zeros is damage, unless there is no other page. A process that is killed while it
// makes a file leaves a mark, and the file is made again.
static void
test_file_that_never_held_rows_is_made_again(void **state)
{
    (void)state;
    static const uint8_t zeros[4096];
    static const char mark[16384] = "OCTETNEW";
    replay_file_close(file_make());
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(descriptor, zeros, sizeof(zeros), 0), sizeof(zeros));
    (void)close(descriptor);
    assert_refused(path, OCT_EINVAL, "its header is damaged: the first page holds only zeros");
    T_OK(oct_file_write(path, zeros, sizeof(zeros)));
    assert_refused(path, OCT_ENOTFOUND, "is empty");
    replay_file_close(file_make());
    T_OK(oct_file_write(path, mark, sizeof(mark)));
    assert_refused(path, OCT_ENOTFOUND, "is not finished");
    replay_file_close(file_make());
}

static void
test_file_of_another_length_is_refused(void **state)
{
    (void)state;
    replay_file *file = file_make();
    uint64_t bytes = file->bytes;
    replay_file_close(file);
    assert_int_equal(truncate(path, (off_t)bytes - 1), 0);
    assert_refused(path, OCT_EINVAL, ": it was cut off");
    assert_int_equal(truncate(path, (off_t)bytes + 1), 0);
    assert_refused(path, OCT_EINVAL, ": something was added to it");
}

// Where the kernel does not say which boot this is, the machine may have been started anew since.
static void
test_without_a_boot_id_only_what_was_synced_is_there(void **state)
{
    (void)state;
    has_no_boot_id = true;
    replay_file *file = file_make();
    bool is_live = replay_file_is_live(file);
    has_no_boot_id = false;
    assert_false(is_live);
    assert_false(replay_file_is_live(file));
    replay_file_set_live(file);
    assert_true(replay_file_is_live(file));
    replay_file_close(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_page_of_a_large_file_is_reserved),
        TEST(disk_without_room_is_waited_for),
        TEST(name_that_cannot_be_opened_is_not_waited_for),
        TEST(header_that_cannot_be_is_refused_although_its_sum_is_right),
        TEST(file_that_is_new_is_in_its_folder_on_the_disk),
        TEST(nothing_is_written_over),
        TEST(file_that_never_held_rows_is_made_again),
        TEST(file_of_another_length_is_refused),
        TEST(without_a_boot_id_only_what_was_synced_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
