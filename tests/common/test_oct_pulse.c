// What a process shows on its page is what its supervisor reads, and what oct_file moves counts.
#include "common/oct_pulse.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define FILE_BYTES (9u << 20)

static const char path[] = "oct_pulse.tmp";

// In a child of its own: joining is for the life of a process.
static int
child_show(int fd)
{
    uint8_t *bytes = oct_alloc(FILE_BYTES);
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_ENV); // seen by nobody yet
    bool was_joined = oct_pulse_is_joined();
    if (was_joined || oct_pulse_join(fd) != OCT_OK || !oct_pulse_is_joined() ||
        oct_pulse_restarts() != 3 || oct_pulse_hangs() != 2) {
        return 1;
    }
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WAITS);
    oct_err err = oct_file_write(path, bytes, FILE_BYTES);
    free(bytes);
    return err == OCT_OK ? 0 : 2;
}

static void
test_pulse_of_a_child_is_seen(void **state)
{
    (void)state;
    oct_pulse_page *page;
    int fd, status;
    T_OK(oct_pulse_open(&page, &fd));
    oct_pulse_tell(page, 3, 2);
    pid_t child = fork();
    if (child == 0) {
        _exit(child_show(fd));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    uint64_t loop = atomic_load(&page->beat[OCT_PULSE_LOOP]);
    assert_int_equal(loop / 4, 2);
    assert_int_equal(oct_pulse_doing_of(loop), OCT_PULSE_WAITS);
    assert_int_equal(atomic_load(&page->beat[OCT_PULSE_WORK]), 0);
    assert_int_equal(atomic_load(&page->bytes), FILE_BYTES);
    assert_int_equal(atomic_load(&page->writing), 0);
    oct_pulse_clear(page);
    assert_int_equal(atomic_load(&page->beat[OCT_PULSE_LOOP]), 0);
    assert_int_equal(atomic_load(&page->bytes), 0);
    assert_int_equal(atomic_load(&page->restarts), 3); // for the next process, too
    assert_int_equal(oct_pulse_restarts(), 0);         // this one has no supervisor
    oct_pulse_close(page, fd);
    (void)unlink(path);
}

static void
test_pulse_of_something_else_is_refused(void **state)
{
    (void)state;
    int empty = open("/dev/null", O_RDWR);
    T_ERR(oct_pulse_join(empty), OCT_EINVAL);
    T_ERR(oct_pulse_join(-1), OCT_EINVAL);
    assert_false(oct_pulse_is_joined());
    (void)close(empty);
}

// Again: the same, since now.
static void
test_pulse_beats_again_with_what_it_did(void **state)
{
    (void)state;
    assert_true(oct_pulse_doing_s(OCT_PULSE_ENCODE, OCT_PULSE_WORKS) == 0);
    oct_pulse_beat(OCT_PULSE_ENCODE, OCT_PULSE_ENV);
    uint64_t before = oct_pulse_last_beat(OCT_PULSE_ENCODE);
    while (oct_pulse_doing_s(OCT_PULSE_ENCODE, OCT_PULSE_ENV) == 0) {
    }
    assert_true(oct_pulse_doing_s(OCT_PULSE_ENCODE, OCT_PULSE_WORKS) == 0);
    oct_pulse_beat_again();
    uint64_t after = oct_pulse_last_beat(OCT_PULSE_ENCODE);
    assert_true(after > before);
    assert_int_equal(oct_pulse_doing_of(after), OCT_PULSE_ENV);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pulse_beats_again_with_what_it_did),
        cmocka_unit_test(test_pulse_of_a_child_is_seen),
        cmocka_unit_test(test_pulse_of_something_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
