// The lock of a run folder: one learner at a time, and epochs that grow.
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "learner/learner_lock.h"
#include "tests/learner/run_folder.h"
#include "tests/support/oct_flock.h"
#include "tests/support/oct_test.h"

#define FOLDER "test_learner_lock.run"

static oct_reason reason;

static int
setup(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    reason.text[0] = '\0';
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    folder_end(FOLDER);
    return 0;
}

static learner_lock *
taken(void)
{
    learner_lock *lock = NULL;
    T_OK(learner_lock_take(&lock, FOLDER, 0, &reason));
    assert_true(learner_lock_is_held(lock));
    return lock;
}

static void
test_lock_needs_a_folder(void **state)
{
    (void)state;
    learner_lock *lock = NULL;
    T_ERR(learner_lock_take(&lock, FOLDER "/none", 0, &reason), OCT_EIO);
    assert_non_null(strstr(reason.text, "none/learner.lock: No such file"));
    assert_null(lock);
    learner_lock_release(NULL);
}

static void
test_lock_is_of_one_learner(void **state)
{
    (void)state;
    char who[64];
    learner_lock *first = taken(), *second = NULL;
    T_ERR(learner_lock_take(&second, FOLDER, 30, &reason), OCT_EAGAIN);
    assert_null(second);
    (void)snprintf(who, sizeof(who), "octet-learner with pid %ld on ", (long)getpid());
    assert_non_null(strstr(reason.text, who));
    assert_non_null(strstr(reason.text, FOLDER));
    assert_false(learner_lock_lost(first)); // who was refused has changed nothing
    learner_lock_release(first);
    learner_lock_release(taken());
}

// Whoever can read it could lock it, and no learner would start.
static void
test_lock_is_its_owners_alone(void **state)
{
    (void)state;
    struct stat found;
    for (int i = 0; i < 2; i++) {
        learner_lock_release(taken());
        assert_int_equal(stat(FOLDER "/learner.lock", &found), 0);
        assert_int_equal(found.st_mode & 07777, 0600);
        assert_int_equal(chmod(FOLDER "/learner.lock", 0644), 0); // as one that was made before
    }
}

// Whoever asks takes nothing, and needs no file.
static void
test_lock_can_be_asked_for(void **state)
{
    (void)state;
    assert_int_equal(learner_lock_is_taken(FOLDER), OCT_LOCKED_NO);
    learner_lock *lock = taken();
    assert_int_equal(learner_lock_is_taken(FOLDER), OCT_LOCKED_YES);
    assert_int_equal(learner_lock_is_taken(FOLDER), OCT_LOCKED_YES);
    learner_lock_release(lock);
    assert_int_equal(learner_lock_is_taken(FOLDER), OCT_LOCKED_NO);
    learner_lock_release(taken());
}

static void
test_lock_epochs_grow(void **state)
{
    (void)state;
    uint64_t before = 0;
    for (int i = 0; i < 20; i++) {
        learner_lock *lock = taken();
        assert_true(learner_lock_epoch(lock) > before);
        before = learner_lock_epoch(lock);
        learner_lock_release(lock);
    }
    // Also when the clock was set back.
    static const char ahead[] = "epoch=18000000000000000000 pid=1 host=x\n";
    T_OK(oct_file_write(FOLDER "/learner.lock", ahead, sizeof(ahead) - 1));
    learner_lock *lock = taken();
    assert_true(learner_lock_epoch(lock) == 18000000000000000001u);
    learner_lock_release(lock);
    // And a file that says nothing is none.
    T_OK(oct_file_write(FOLDER "/learner.lock", "nonsense", 8));
    lock = taken();
    assert_true(learner_lock_epoch(lock) > before);
    learner_lock_release(lock);
}

// The file was replaced, or the file system has no locks: who came first finds out.
static void
test_lock_is_lost_to_one_that_came_later(void **state)
{
    (void)state;
    learner_lock *first = taken();
    assert_false(learner_lock_lost(first));
    assert_int_equal(unlink(FOLDER "/learner.lock"), 0);
    assert_false(learner_lock_lost(first)); // gone is not another's
    learner_lock *second = taken();
    assert_true(learner_lock_lost(first));
    assert_false(learner_lock_lost(second));
    learner_lock_release(first);
    learner_lock_release(second);
}

// Then nothing is held, and it is known who came later; a lock that fails is told as what it is.
static void
test_lock_goes_on_where_there_are_none(void **state)
{
    (void)state;
    learner_lock *first, *second;
    for (size_t i = 0; i < OCT_COUNTOF(flock_none); i++) {
        flock_errno = flock_none[i];
        T_OK(learner_lock_take(&first, FOLDER, 0, &reason));
        T_OK(learner_lock_take(&second, FOLDER, 0, &reason));
        assert_false(learner_lock_is_held(first));
        assert_true(learner_lock_lost(first));
        learner_lock_release(first);
        learner_lock_release(second);
    }
    flock_errno = EIO;
    T_ERR(learner_lock_take(&first, FOLDER, 1000, &reason), OCT_EIO);
    assert_non_null(strstr(reason.text, "learner.lock cannot be locked: Input/output error"));
    flock_errno = 0;
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_lock_needs_a_folder),
        T(test_lock_is_of_one_learner),
        T(test_lock_is_its_owners_alone),
        T(test_lock_can_be_asked_for),
        T(test_lock_epochs_grow),
        T(test_lock_is_lost_to_one_that_came_later),
        T(test_lock_goes_on_where_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
