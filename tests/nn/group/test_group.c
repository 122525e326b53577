// A group of one, and groups of forked processes: sums in rank order, copies, and what happens when
// one of them dies.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nn/group/group_fork.h"
#include "tests/nn/group/group_checks.h"
#include "tests/support/oct_test.h"

static void
test_one_is_a_group_where_nothing_is_sent(void **state)
{
    (void)state;
    group *g = (group *)1;
    T_OK(group_fork(&g, 1));
    assert_null(g);
    assert_int_equal(group_size(NULL), 1);
    assert_int_equal(group_rank(NULL), 0);
    assert_true(group_checks(NULL));
    group_counts counts;
    group_counts_get(NULL, &counts);
    assert_true(counts.bytes == 0 && counts.seconds == 0);
    group_destroy(NULL);
}

static void
test_copies_and_sums_of_two_to_five_processes(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 5; size++) {
        group *g;
        T_OK(group_fork(&g, size));
        bool holds = group_checks(g);
        if (group_rank(g) != 0) {
            group_destroy(g);
            _exit(holds ? 0 : 1);
        }
        assert_true(holds);
        group_counts counts;
        group_counts_get(g, &counts);
        assert_true(counts.bytes > 1e6 && counts.seconds > 0);
        group_destroy(g);
    }
}

typedef struct common_memory {
    group_lock lock;
    uint32_t count[3]; // guarded by lock
} common_memory;

enum { ADDITIONS = 20000 };

static void
test_a_lock_in_common_memory_is_taken_by_one_at_a_time(void **state)
{
    (void)state;
    group *g;
    T_OK(group_fork(&g, 3));
    common_memory *memory = group_memory(g, 3 * sizeof(*memory));
    double sum = 1;
    for (int i = 0; memory != NULL && i < ADDITIONS; i++) {
        group_lock_take(g, &memory->lock);
        for (int k = 0; k < 3; k++) {
            memory->count[k]++;
        }
        group_lock_give(&memory->lock);
    }
    group_sum(g, &sum, 1);
    if (group_rank(g) != 0) {
        group_destroy(g);
        _exit(0);
    }
    assert_non_null(memory);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(memory->count[k], 3 * ADDITIONS);
    }
    group_destroy(g);
}

// Of a process that waits for a lock that rank 1 has taken to its grave.
static void
test_a_rank_that_dies_with_the_lock_ends_the_group(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        group *g;
        double x = 1;
        if (group_fork(&g, 2) != OCT_OK) {
            _exit(9);
        }
        common_memory *memory = group_memory(g, sizeof(*memory));
        if (group_rank(g) == 1) {
            group_lock_take(g, &memory->lock);
            group_sum(g, &x, 1);
            (void)raise(SIGKILL);
        }
        group_sum(g, &x, 1);
        group_lock_take(g, &memory->lock);
        _exit(0); // never
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

// Of a process that forks a group of three and calls in it what does not end without rank 2.
static int
status_of_a_group_whose_rank_2_dies(bool by_signal)
{
    pid_t pid = fork();
    if (pid == 0) {
        group *g;
        double x = 1;
        if (group_fork(&g, 3) != OCT_OK) {
            _exit(9);
        }
        group_sum(g, &x, 1);
        if (group_rank(g) == 2) {
            if (by_signal) {
                (void)raise(SIGKILL);
            }
            _exit(7);
        }
        group_sum(g, &x, 1);
        _exit(0); // never
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
test_a_rank_that_dies_ends_the_group(void **state)
{
    (void)state;
    assert_int_equal(status_of_a_group_whose_rank_2_dies(false), EXIT_FAILURE);
    assert_int_equal(status_of_a_group_whose_rank_2_dies(true), EXIT_FAILURE);
}

// All ranks hold the pipe's end: it is closed when none of them is left.
static void
test_killing_rank_0_leaves_nobody(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        group *g;
        double x = 1;
        (void)close(ends[0]);
        if (group_fork(&g, 3) != OCT_OK) {
            _exit(9);
        }
        group_sum(g, &x, 1); // all are there
        if (group_rank(g) == 0) {
            (void)!write(ends[1], "x", 1);
            (void)pause();
        }
        group_sum(g, &x, 1);
        _exit(0); // never
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_is_a_group_where_nothing_is_sent),
        cmocka_unit_test(test_copies_and_sums_of_two_to_five_processes),
        cmocka_unit_test(test_a_lock_in_common_memory_is_taken_by_one_at_a_time),
        cmocka_unit_test(test_a_rank_that_dies_with_the_lock_ends_the_group),
        cmocka_unit_test(test_a_rank_that_dies_ends_the_group),
        cmocka_unit_test(test_killing_rank_0_leaves_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
