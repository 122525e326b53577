// Disks that refuse what they were given, or change it: a file is replaced by what is on the disk,
// or not at all.
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/oct_folder.h"
#include "tests/support/oct_test.h"

#include "common/oct_file.h"

int __real_close(int fd);
int __wrap_close(int fd);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

static _Thread_local int close_errno; // what this thread's next close fails with, unless 0

// As a file system of another machine that learns of a full disk when it sends what it was given.
int
__wrap_close(int fd)
{
    int failed = close_errno;
    int result = __real_close(fd);
    close_errno = 0;
    if (result == 0 && failed != 0) {
        errno = failed;
        return -1;
    }
    return result;
}

static _Thread_local unsigned synced_files, synced_folders;
static _Thread_local mode_t sync_refused; // files or folders, S_IFREG or S_IFDIR, are not synced

int
__wrap_fsync(int fd)
{
    struct stat found;
    assert_int_equal(fstat(fd, &found), 0);
    synced_files += S_ISREG(found.st_mode);
    synced_folders += S_ISDIR(found.st_mode);
    if ((found.st_mode & S_IFMT) == sync_refused) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(fd);
}

static void
test_what_close_refuses_replaces_nothing(void **state)
{
    (void)state;
    static const int refused[] = {ENOSPC, EDQUOT, EIO};
    char path[512];
    uint8_t *bytes = NULL;
    size_t length = 0;
    (void)snprintf(path, sizeof(path), "%s", in_folder("kept"));
    T_OK(oct_file_replace(path, "the old content", 15));
    for (size_t i = 0; i < OCT_COUNTOF(refused); i++) {
        close_errno = refused[i];
        T_ERR(oct_file_replace(path, "new", 3), OCT_EIO);
        assert_int_equal(errno, refused[i]);
        assert_int_equal(close_errno, 0);
        T_OK(oct_file_read(path, 100, &bytes, &length));
        assert_string_equal((const char *)bytes, "the old content");
        free(bytes);
        assert_int_equal(entries(), 1);
    }
    close_errno = EINTR; // it is closed, and nothing is lost
    T_OK(oct_file_replace(path, "new", 3));
    T_OK(oct_file_read(path, 100, &bytes, &length));
    assert_string_equal((const char *)bytes, "new");
    free(bytes);
    assert_int_equal(unlink(path), 0);
}

// The rename, too: a power failure leaves the old content or the new one.
static void
test_what_is_written_is_on_the_disk(void **state)
{
    (void)state;
    char path[512], draft[OCT_FILE_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", in_folder("f"));
    synced_files = synced_folders = 0;
    T_OK(oct_file_replace(path, "old", 3)); // this one need not be
    assert_int_equal(synced_files + synced_folders, 0);
    T_OK(oct_file_write(path, "old", 3));
    assert_int_equal(synced_files, 1);
    assert_int_equal(synced_folders, 1);
    T_OK(oct_file_draft(path, &(oct_file_part){"old", 3}, 1, draft));
    assert_int_equal(synced_files, 2);
    T_OK(oct_file_adopt(draft, path));
    assert_int_equal(synced_folders, 2);
    sync_refused = S_IFREG;
    T_ERR(oct_file_write(path, "new", 3), OCT_EIO);
    assert_int_equal(errno, EIO);
    T_ERR(oct_file_draft(path, &(oct_file_part){"new", 3}, 1, draft), OCT_EIO);
    assert_content(path, "old");
    assert_int_equal(entries(), 1);
    sync_refused = S_IFDIR;
    T_ERR(oct_file_write(path, "new", 3), OCT_EIO);
    sync_refused = 0;
    assert_content(path, "new"); // it is there, but not for certain
    assert_int_equal(unlink(path), 0);
}

// What the disk makes of a file that was synced, by the time that it is read back: in libc's place.
static enum { DISK_KEEPS, DISK_FLIPS, DISK_CUTS, DISK_ADDS } disk;

int
posix_fadvise(int fd, off_t from, off_t length, int advice)
{
    (void)from;
    (void)length;
    (void)advice;
    if (disk == DISK_KEEPS) {
        return 0;
    }
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0 && fstat(file, &status) == 0);
    if (disk == DISK_CUTS) {
        assert_int_equal(ftruncate(file, status.st_size - 1), 0);
    } else {
        assert_int_equal(pwrite(file, "F", 1, status.st_size - (disk == DISK_FLIPS)), 1);
    }
    (void)close(file);
    return 0;
}

static void
test_draft_that_the_disk_changed_is_none(void **state)
{
    (void)state;
    static const oct_file_part parts[] = {{"one ", 4}, {"file", 4}};
    char path[512], draft[OCT_FILE_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", in_folder("file"));
    T_OK(oct_file_write(path, "old", 3));
    for (disk = DISK_FLIPS; disk <= DISK_ADDS; disk++) {
        T_ERR(oct_file_draft(path, parts, OCT_COUNTOF(parts), draft), OCT_EIO);
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(entries(), 1);
        assert_content(path, "old");
    }
    disk = DISK_KEEPS;
    T_OK(oct_file_draft(path, parts, OCT_COUNTOF(parts), draft));
    assert_content(draft, "one file");
    assert_int_equal(unlink(draft), 0);
    assert_int_equal(unlink(path), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_what_close_refuses_replaces_nothing),
        IN_FOLDER(test_what_is_written_is_on_the_disk),
        IN_FOLDER(test_draft_that_the_disk_changed_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
