// Files that are locked, and plain files in folders that others write to: nobody waits, and nobody
// keeps the owner out.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/oct_flock.h"
#include "tests/support/oct_folder.h"
#include "tests/support/oct_test.h"

#include "common/oct_file.h"

// What waits for nobody: nothing is there, a pipe without a writer, a folder.
static void
test_read_plain(void **state)
{
    (void)state;
    const char *path = in_folder("plain");
    uint8_t *bytes;
    size_t length;
    uid_t owner = 0;
    T_ERR(oct_file_read_owner(path, 64, &bytes, &length, &owner), OCT_ENOTFOUND);
    assert_int_equal(mkfifo(path, 0600), 0);
    errno = 0;
    T_ERR(oct_file_read_owner(path, 64, &bytes, &length, &owner), OCT_EIO);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    T_ERR(oct_file_read_owner(path, 64, &bytes, &length, &owner), OCT_EIO);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(rmdir(path), 0);
    T_OK(oct_file_write(path, "abc", 3));
    uid_t other = geteuid() == 0 ? 65534 : geteuid();
    assert_int_equal(chown(path, other, (gid_t)-1), 0);
    T_OK(oct_file_read_owner(path, 3, &bytes, &length, &owner));
    assert_int_equal(owner, other);
    assert_int_equal(length, 3);
    assert_memory_equal(bytes, "abc", 4);
    free(bytes);
    T_ERR(oct_file_read(path, 2, &bytes, &length), OCT_EINVAL);
    FILE *file = oct_file_stream(path, "r");
    assert_true(file != NULL && fgetc(file) == (int)*"a" && fclose(file) == 0);
    assert_int_equal(unlink(path), 0);
}

static void
test_a_file_to_be_locked_is_its_owners_alone(void **state)
{
    (void)state;
    char path[512], victim[512];
    struct stat found;
    (void)snprintf(path, sizeof(path), "%s", in_folder("lock"));
    (void)snprintf(victim, sizeof(victim), "%s", in_folder("victim"));
    mode_t before = umask(0);
    for (int i = 0; i < 2; i++) {
        int fd = oct_file_lock_open(path);
        T_OK(oct_file_write_all(fd, "x", 1));
        assert_int_equal(fstat(fd, &found), 0);
        assert_int_equal(found.st_mode & 07777, 0600);
        assert_int_equal(close(fd), 0);
        assert_int_equal(chmod(path, 0666), 0); // as one that others made could be
    }
    (void)umask(before);
    assert_content(path, "x");
    assert_int_equal(unlink(path), 0);
    T_OK(oct_file_write(victim, "old", 3));
    assert_int_equal(chmod(victim, 0644), 0);
    assert_int_equal(symlink(victim, path), 0);
    assert_int_equal(oct_file_lock_open(path), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(stat(victim, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0644);
    assert_int_equal(unlink(victim), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(oct_file_lock_open(path), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(oct_file_locked(path), OCT_LOCKED_NO);
    assert_int_equal(unlink(path), 0);
}

static void
test_a_lock_that_may_not_be_looked_at_is_unknown(void **state)
{
    (void)state;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", in_folder("lock"));
    uid_t user = geteuid();
    assert_int_equal(close(oct_file_lock_open(path)), 0);
    assert_int_equal(oct_file_locked(path), OCT_LOCKED_NO);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(user == 0 ? seteuid(65534) : 0, 0); // root may look at all
    oct_locked got = oct_file_locked(path);
    assert_int_equal(user == 0 ? seteuid(user) : 0, 0);
    assert_int_equal(got, OCT_LOCKED_UNKNOWN);
    assert_int_equal(unlink(path), 0);
}

static void
test_lock_is_held_or_taken_or_there_is_none(void **state)
{
    (void)state;
    const char *path = in_folder("locked");
    T_OK(oct_file_write(path, "", 0));
    int first = open(path, O_RDWR | O_CLOEXEC), second = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(oct_file_lock(first, false), OCT_LOCK_HELD);
    assert_int_equal(oct_file_lock(second, true), OCT_LOCK_TAKEN);
    assert_int_equal(oct_file_locked(path), OCT_LOCKED_YES);
    assert_int_equal(oct_file_lock(first, true), OCT_LOCK_HELD);
    assert_int_equal(oct_file_lock(second, true), OCT_LOCK_HELD); // by several
    assert_int_equal(oct_file_lock(first, false), OCT_LOCK_TAKEN);
    (void)close(first);
    assert_int_equal(oct_file_lock(second, false), OCT_LOCK_HELD);
    for (size_t i = 0; i < OCT_COUNTOF(flock_none); i++) {
        flock_errno = flock_none[i];
        assert_int_equal(oct_file_lock(second, false), OCT_LOCK_NONE);
        assert_int_equal(oct_file_locked(path), OCT_LOCKED_NO);
    }
    flock_errno = EIO;
    assert_int_equal(oct_file_lock(second, false), OCT_LOCK_FAILED);
    assert_int_equal(errno, EIO);
    flock_errno = 0;
    (void)close(second);
    assert_int_equal(unlink(path), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_read_plain),
        IN_FOLDER(test_a_file_to_be_locked_is_its_owners_alone),
        IN_FOLDER(test_a_lock_that_may_not_be_looked_at_is_unknown),
        IN_FOLDER(test_lock_is_held_or_taken_or_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
