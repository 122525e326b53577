// What a child has left ends, however it left it; what is to stay stays.
#include "common/oct_family.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "tests/support/oct_test.h"

// Makes a process that lasts, as a child of this one (deep 0) or of processes that end at once. It
// holds fd open.
static pid_t
spawn(int deep, bool has_session)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (has_session) {
            (void)setsid();
            (void)prctl(PR_SET_NAME, "a) S 1 (b"); // as /proc shows it
        }
        if (deep > 0) {
            (void)spawn(deep - 1, has_session);
            _exit(0);
        }
        for (;;) {
            pause();
        }
    }
    return pid;
}

static void
test_what_a_child_has_left_ends(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    oct_family_adopt();
    assert_int_equal(pipe(ends), 0);
    for (int deep = 0; deep < 3; deep++) {
        (void)spawn(deep, false);
        (void)spawn(deep, true);
    }
    (void)close(ends[1]);
    oct_family_end(NULL, 0, false);
    assert_int_equal(read(ends[0], &byte, 1), 0); // none holds the other end
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    (void)close(ends[0]);
}

static void
test_what_is_to_stay_stays(void **state)
{
    (void)state;
    oct_family_adopt();
    pid_t kept = spawn(0, true), same = spawn(0, false), other = spawn(0, true);
    int status;
    while (getsid(kept) != kept || getsid(other) != other) { // they have begun
        (void)usleep(1000);
    }
    oct_family_end(&kept, 1, true);
    assert_int_equal(waitpid(other, &status, 0), -1); // it was reaped
    assert_int_equal(waitpid(kept, &status, WNOHANG), 0);
    assert_int_equal(waitpid(same, &status, WNOHANG), 0);
    oct_family_end(NULL, 0, false);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_child_has_left_ends),
        cmocka_unit_test(test_what_is_to_stay_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
