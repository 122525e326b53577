// A replay file and its disk: what of a new one is on it.
#include "tests/replay/replay_test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "replay/replay_file.h"

static char folder[32], path[64], reason[OCT_FILE_PATH_MAX + 256];

// ---- the disk

static bool fsync_fails;
static ino_t fsynced; // of what was last

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

static int
setup(void **state)
{
    (void)state;
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
    oct_err err = replay_file_create_for(&file, path, &configure, 64, reason, sizeof(reason));
    if (err != OCT_OK) {
        fail_msg("%s", reason);
    }
    return file;
}

static void
assert_refused(const char *name, oct_err want, const char *words)
{
    replay_file *file;
    T_ERR(replay_file_open(&file, name, reason, sizeof(reason)), want);
    if (strstr(reason, words) == NULL || strstr(reason, name) == NULL) {
        fail_msg("'%s' is not in '%s'", words, reason);
    }
}

// ---- tests

// A power failure may else take the name, and all acknowledged rows with it.
static void
test_file_that_is_new_is_in_its_folder_on_the_disk(void **state)
{
    (void)state;
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    struct stat status;
    replay_file *file;
    fsync_fails = true;
    oct_err err = replay_file_create(&file, path, &configure, reason, sizeof(reason));
    fsync_fails = false;
    T_ERR(err, OCT_EIO);
    assert_non_null(strstr(reason, path));
    assert_non_null(strstr(reason, strerror(EIO)));
    assert_int_not_equal(access(path, F_OK), 0);
    fsynced = 0;
    replay_file_close(file_make());
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(fsynced, status.st_ino);
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

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(file_of_another_length_is_refused),
        TEST(file_that_is_new_is_in_its_folder_on_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
