// The last checkpoints of a folder: how many are kept, which one is taken, and what is said of the
// others.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_bytes.h"
#include "learner/learner_checkpoints.h"
#include "tests/support/oct_test.h"

static char folder[64], words[1024];

static int
enter(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int
leave(void **state)
{
    (void)state;
    char path[OCT_FILE_PATH_MAX];
    for (uint32_t i = 0; i < LEARNER_CHECKPOINTS_MAX; i++) {
        learner_checkpoints_path(folder, i, path);
        (void)unlink(path);
    }
    return rmdir(folder); // nothing else is left in it
}

static oct_err
write_one(uint32_t kept, uint64_t updates)
{
    const learner_checkpoint checkpoint = {.run_id = 1, .updates = updates, .env_steps = 7};
    return learner_checkpoints_write(folder, kept, &checkpoint);
}

// Which one is taken, and of how many updates it is; OCT_OK or why not.
static oct_err
taken(uint32_t *number, uint64_t *updates)
{
    learner_checkpoint got;
    oct_err err = learner_checkpoints_read(folder, &got, number, words, sizeof(words));
    if (err == OCT_OK) {
        *updates = got.updates;
        learner_checkpoint_fini(&got);
    }
    return err;
}

static void
assert_taken(uint32_t number, uint64_t updates)
{
    uint32_t got;
    uint64_t got_updates = 0;
    T_OK(taken(&got, &got_updates));
    assert_int_equal(got, number);
    assert_int_equal(got_updates, updates);
}

static void
assert_refused(oct_err want, const char *says)
{
    uint32_t number;
    uint64_t updates;
    T_ERR(taken(&number, &updates), want);
    assert_non_null(strstr(words, says));
}

static const char *
path_of(uint32_t number)
{
    static char path[OCT_FILE_PATH_MAX];
    learner_checkpoints_path(folder, number, path);
    return path;
}

static bool
is_there(uint32_t number)
{
    return access(path_of(number), F_OK) == 0;
}

static void
damage(uint32_t number)
{
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(path_of(number), 1 << 20, &bytes, &length));
    bytes[length / 2] ^= 4;
    T_OK(oct_file_write(path_of(number), bytes, length));
    free(bytes);
}

static void
test_checkpoints_the_last_ones_are_kept(void **state)
{
    (void)state;
    assert_false(learner_checkpoints_any(folder));
    assert_refused(OCT_ENOTFOUND, "no checkpoint");
    for (uint64_t updates = 1; updates <= 6; updates++) {
        T_OK(write_one(3, updates));
        assert_taken(0, updates);
    }
    assert_true(is_there(0) && is_there(1) && is_there(2) && !is_there(3));
    T_OK(write_one(5, 7)); // more from now on
    assert_true(is_there(3) && !is_there(4));
    T_OK(write_one(2, 8)); // fewer
    assert_true(is_there(1) && !is_there(2) && !is_there(3));
    T_OK(write_one(1, 9));
    assert_true(is_there(0) && !is_there(1));
    assert_taken(0, 9);
}

static void
test_checkpoints_the_newest_whole_one_is_taken(void **state)
{
    (void)state;
    for (uint64_t updates = 1; updates <= 3; updates++) {
        T_OK(write_one(3, updates));
    }
    assert_taken(0, 3);
    assert_null(strstr(words, "damaged"));
    damage(0);
    assert_taken(1, 2);
    assert_non_null(strstr(words, "checkpoint.1.oct, of 2 updates and 7 environment steps; newer "
                                  "ones cannot be used: "));
    assert_non_null(strstr(words, "checkpoint.oct: damaged: the checksum differs"));
    assert_int_equal(truncate(path_of(1), 20), 0);
    assert_taken(2, 1);
    assert_non_null(strstr(words, "checkpoint.1.oct: damaged: "));
    assert_int_equal(unlink(path_of(1)), 0); // a number that is free is passed over
    assert_taken(2, 1);
    damage(2);
    assert_true(learner_checkpoints_any(folder));
    assert_refused(OCT_EPROTO, "there is no other checkpoint");
    T_OK(write_one(3, 4));
    assert_taken(0, 4);
}

// One that is whole and of a later release: what an older one knows is not taken for it.
static void
test_checkpoints_a_later_release_is_not_passed_over(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length;
    T_OK(write_one(3, 1));
    T_OK(write_one(3, 2));
    T_OK(oct_file_read(path_of(0), 1 << 20, &bytes, &length));
    bytes[4] = LEARNER_CHECKPOINT_FORMAT + 1;
    uint32_t crc = oct_crc32(0, bytes, length - 4);
    memcpy(bytes + length - 4, &crc, 4);
    T_OK(oct_file_write(path_of(0), bytes, length));
    free(bytes);
    assert_refused(OCT_EINVAL, "checkpoint.oct: written by a later release");
}

// Before libc's: the disk cannot read the newest one.
static bool is_unreadable;
ssize_t __real_read(int descriptor, void *bytes, size_t length);
ssize_t __wrap_read(int descriptor, void *bytes, size_t length);

ssize_t
__wrap_read(int descriptor, void *bytes, size_t length)
{
    struct stat newest, this;
    if (is_unreadable && stat(path_of(0), &newest) == 0 && fstat(descriptor, &this) == 0 &&
        this.st_ino == newest.st_ino) {
        errno = EIO;
        return -1;
    }
    return __real_read(descriptor, bytes, length);
}

// What the disk cannot read is damaged; what this process may not read is not, and no older one is
// taken in its place.
static void
test_checkpoints_that_cannot_be_read(void **state)
{
    (void)state;
    T_OK(write_one(3, 1));
    T_OK(write_one(3, 2));
    is_unreadable = true;
    assert_taken(1, 1);
    is_unreadable = false;
    assert_non_null(strstr(words, "checkpoint.oct: Input/output error"));
    assert_taken(0, 2);
    assert_int_equal(unlink(path_of(0)), 0);
    assert_int_equal(mkdir(path_of(0), 0700), 0);
    assert_refused(OCT_EIO, "checkpoint.oct: Is a directory");
    assert_int_equal(rmdir(path_of(0)), 0);
    assert_taken(1, 1);
}

// Before libc's: the file system has no links.
static bool has_no_links;
int __real_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags);

int
__wrap_linkat(int a, const char *from, int b, const char *to, int flags)
{
    if (has_no_links) {
        errno = EPERM;
        return -1;
    }
    return __real_linkat(a, from, b, to, flags);
}

static void
test_checkpoints_are_kept_without_links(void **state)
{
    (void)state;
    has_no_links = true;
    for (uint64_t updates = 1; updates <= 5; updates++) {
        T_OK(write_one(3, updates));
    }
    has_no_links = false;
    for (uint32_t i = 0; i < 3; i++) {
        assert_taken(i, 5 - i);
        assert_int_equal(unlink(path_of(i)), 0);
    }
}

// As many as may be; no number is beyond what is read and cleared.
static void
test_checkpoints_as_many_as_may_be_kept(void **state)
{
    (void)state;
    for (uint64_t updates = 1; updates <= LEARNER_CHECKPOINTS_MAX + 2; updates++) {
        T_OK(write_one(LEARNER_CHECKPOINTS_MAX, updates));
    }
    for (uint32_t i = 0; i < LEARNER_CHECKPOINTS_MAX; i++) {
        assert_taken(i, LEARNER_CHECKPOINTS_MAX + 2 - i);
        assert_int_equal(unlink(path_of(i)), 0);
    }
}

// Neither the newest nor the older ones give way to one that cannot be written.
static void
test_checkpoints_stay_when_there_is_no_room(void **state)
{
    (void)state;
    for (uint64_t updates = 1; updates <= 3; updates++) {
        T_OK(write_one(3, updates));
    }
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 50;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (uint64_t updates = 4; updates <= 9; updates++) {
        T_ERR(write_one(3, updates), OCT_EIO);
        assert_int_equal(errno, EFBIG);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_taken(i, 3 - i);
        assert_int_equal(unlink(path_of(i)), 0);
    }
}

// The newest one's name is not given.
static bool is_kept_out;
static bool was_without; // at some time there was no newest one
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);

int
__wrap_renameat(int a, const char *from, int b, const char *to)
{
    char newest[OCT_FILE_PATH_MAX]; // from may be what path_of gave
    learner_checkpoints_path(folder, 0, newest);
    was_without = was_without || strcmp(from, newest) == 0;
    if (is_kept_out && strcmp(to, newest) == 0) {
        errno = EIO;
        return -1;
    }
    return __real_renameat(a, from, b, to);
}

// However often it is tried: each try would cost the oldest of them.
static void
test_checkpoints_stay_where_the_newest_gets_no_name(void **state)
{
    (void)state;
    for (uint64_t updates = 1; updates <= 4; updates++) {
        T_OK(write_one(4, updates));
    }
    is_kept_out = true;
    for (uint64_t updates = 5; updates <= 7; updates++) {
        T_ERR(write_one(4, updates), OCT_EIO);
        assert_int_equal(errno, EIO);
    }
    T_ERR(write_one(3, 8), OCT_EIO); // nor when fewer are to be kept
    assert_true(is_there(3));
    is_kept_out = false;
    assert_taken(0, 4);
    T_OK(write_one(4, 8));
    static const uint64_t left[] = {8, 4, 3, 2};
    for (uint32_t i = 0; i < 4; i++) {
        assert_taken(i, left[i]);
        assert_int_equal(unlink(path_of(i)), 0);
    }
}

// Whoever looks meanwhile, or goes on after a kill.
static void
test_checkpoints_there_is_a_newest_one_at_every_time(void **state)
{
    (void)state;
    was_without = false;
    for (uint32_t kept = 1; kept <= 3; kept++) {
        for (uint64_t updates = 1; updates <= 4; updates++) {
            T_OK(write_one(kept, updates));
        }
    }
    assert_false(was_without);
}

// Killed after the newest got its second name: the same content twice is no fault.
static void
test_checkpoints_go_on_where_a_writer_was_killed(void **state)
{
    (void)state;
    T_OK(write_one(3, 1));
    T_OK(write_one(3, 2));
    char next[OCT_FILE_PATH_MAX];
    learner_checkpoints_path(folder, 2, next);
    assert_int_equal(rename(path_of(1), next), 0);
    learner_checkpoints_path(folder, 1, next);
    assert_int_equal(link(path_of(0), next), 0);
    assert_taken(0, 2);
    for (uint64_t updates = 3; updates <= 5; updates++) {
        T_OK(write_one(3, updates));
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_taken(i, 5 - i);
        assert_int_equal(unlink(path_of(i)), 0);
    }
}

// Of a process that is no more; this one's own would be at work.
static void
test_checkpoints_clear_what_killed_writers_left(void **state)
{
    (void)state;
    char left[OCT_FILE_PATH_MAX + 32];
    T_OK(write_one(3, 1));
    (void)snprintf(left, sizeof(left), "%s.tmp.2147483646", path_of(0));
    T_OK(oct_file_write(left, "half", 4));
    learner_checkpoints_clear(folder);
    assert_int_equal(access(left, F_OK), -1);
    assert_taken(0, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_checkpoints_the_last_ones_are_kept, enter, leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_the_newest_whole_one_is_taken, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_a_later_release_is_not_passed_over, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_that_cannot_be_read, enter, leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_are_kept_without_links, enter, leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_as_many_as_may_be_kept, enter, leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_stay_when_there_is_no_room, enter, leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_stay_where_the_newest_gets_no_name, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_there_is_a_newest_one_at_every_time, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_go_on_where_a_writer_was_killed, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_clear_what_killed_writers_left, enter,
                                        leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
