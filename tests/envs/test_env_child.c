// What the code of an environment has started ends with the child in which it ran.
#include "common/oct_reason.h"
#include "envs/env_child.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "tests/support/oct_test.h"

// Leaves a process that lasts in a session of its own, and holds the pipe; then returns, crashes or
// hangs.
static void
leave_one(void *arg, void *answer)
{
    const char *how = arg;
    pid_t pid = fork();
    OCT_ASSERT(pid >= 0);
    if (pid == 0) {
        (void)setsid();
        for (;;) {
            pause();
        }
    }
    *(char *)answer = 'a';
    if (*how == 'c') {
        (void)raise(SIGKILL);
    }
    while (*how == 'h') {
        pause();
    }
}

static void
test_what_the_code_has_left_ends(void **state)
{
    (void)state;
    static char how[] = "rch";
    for (size_t i = 0; how[i] != '\0'; i++) {
        char answer = 0, byte;
        oct_reason why;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        oct_err err = env_child_run(&(env_child_call){leave_one, how + i, &answer, 1},
                                    how[i] == 'h' ? 100 : 60000, NULL, &why);
        assert_int_equal(err, how[i] == 'r' ? OCT_OK : OCT_EINTERNAL);
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 0); // none holds the other end
        (void)close(ends[0]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_code_has_left_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
