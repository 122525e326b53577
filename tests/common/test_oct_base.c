// Failed assertions and allocations end the process with a message; allocations are zeroed and
// aligned.
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#include "common/oct_base.h"

// Runs body in a child and keeps what it printed; true when the child ended by SIGABRT.
static bool
aborts(void (*body)(void), char *printed, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        body();
        _exit(0);
    }
    (void)close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used < size - 1; used += (size_t)got) {
        got = read(ends[0], printed + used, size - 1 - used);
        got = got > 0 ? got : 0;
    }
    printed[used] = 0;
    (void)close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
assert_false_thing(void)
{
    OCT_ASSERT(1 + 1 == 3);
}

static void
alloc_too_much(void)
{
    (void)oct_alloc(SIZE_MAX - 1);
}

// Sanitizers end the program when a block is too large, unless they are asked to answer like libc.
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *
__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void
reserve_too_much(void)
{
    (void)oct_reserve((size_t)2 << 20, SIZE_MAX / 2);
}

static void
test_false_assertion_aborts_and_says_where(void **state)
{
    (void)state;
    char printed[256];
    assert_true(aborts(assert_false_thing, printed, sizeof(printed)));
    assert_non_null(strstr(printed, "test_oct_base.c:"));
    assert_non_null(strstr(printed, "assertion failed: 1 + 1 == 3"));
}

static void
test_alloc_aborts_with_its_size_when_there_is_none(void **state)
{
    (void)state;
    char printed[4096];
    assert_true(aborts(alloc_too_much, printed, sizeof(printed)));
    assert_non_null(strstr(printed, "out of memory: 18446744073709551614 bytes"));
    assert_true(aborts(reserve_too_much, printed, sizeof(printed)));
    assert_non_null(strstr(printed, "out of memory: 9223372036854775807 bytes"));
}

static void
test_true_assertion_does_nothing_and_keeps_else(void **state)
{
    (void)state;
    bool reached = false;
    if (state == NULL)
        OCT_ASSERT(true);
    else
        reached = true;
    assert_true(reached);
}

static void
test_alloc_is_zeroed_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4097};
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        // A dirtied block of the same size is freed before, so that zeros are not luck.
        void *dirty = oct_alloc(sizes[i]);
        memset(dirty, 0xA5, sizes[i]);
        free(dirty);
        uint8_t *memory = oct_alloc(sizes[i]);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(memory[j], 0);
        }
        free(memory);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false_assertion_aborts_and_says_where),
        cmocka_unit_test(test_alloc_aborts_with_its_size_when_there_is_none),
        cmocka_unit_test(test_true_assertion_does_nothing_and_keeps_else),
        cmocka_unit_test(test_alloc_is_zeroed_and_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
