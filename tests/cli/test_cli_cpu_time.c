// The CPU time of a daemon's session: each process counts while it lives, and only once when it has
// ended. The processes are files of a made-up /proc; times are in ticks.
#include "cli/run/cli_cpu_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define LEADER 10
#define CHILD  11
#define OTHER  12
#define PIDS   16

static char root[64];
static int session_of[PIDS];
static cli_cpu_time *cpu;

pid_t __wrap_getsid(pid_t pid);

pid_t
__wrap_getsid(pid_t pid)
{
    return session_of[pid];
}

static void
stat_put(int pid, const char *text)
{
    char folder[96], path[112];
    (void)snprintf(folder, sizeof(folder), "%s/proc/%d", root, pid);
    (void)snprintf(path, sizeof(path), "%s/stat", folder);
    T_OK(oct_file_make_folder(folder));
    T_OK(oct_file_replace(path, text, strlen(text)));
}

static void
show(int pid, char state, int parent, int start, int own, int waited)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "%d (a (b) c) %c %d 10 10 0 -1 4194560 100 200 0 0 %d %d %d %d 20 0 1 0 %d "
                   "1000000 100 18446744073709551615\n",
                   pid, state, parent, own / 2, own - own / 2, waited / 2, waited - waited / 2,
                   start);
    stat_put(pid, text);
}

// A process of the leader's session.
static void
run(int pid, int parent, int start, int own, int waited)
{
    session_of[pid] = LEADER;
    show(pid, 'S', parent, start, own, waited);
}

static void
end(int pid)
{
    char path[112];
    (void)snprintf(path, sizeof(path), "%s/proc/%d/stat", root, pid);
    assert_int_equal(unlink(path), 0);
}

static double
ticks_of(uint64_t ns)
{
    return 1e-9 * (double)ns * (double)sysconf(_SC_CLK_TCK);
}

static double
counted(void)
{
    return ticks_of(cli_cpu_time_ns(cpu));
}

static double
read_again(void)
{
    cli_cpu_time_read(cpu);
    return counted();
}

// A leader that has used 5, and its child that has used 100: both are known.
static int
setup(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/octet-cpu-time-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    (void)memset(session_of, 0, sizeof(session_of));
    run(LEADER, 1, 1000, 0, 0);
    cpu = cli_cpu_time_create(root, LEADER);
    run(LEADER, 1, 1000, 5, 0);
    run(CHILD, LEADER, 1001, 100, 0);
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(read_again(), 105, 1e-6, 0);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    char command[128];
    cli_cpu_time_destroy(cpu);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void
test_a_child_counts_while_it_runs(void **state)
{
    (void)state;
    run(CHILD, LEADER, 1001, 130, 0);
    T_NEAR(read_again(), 135, 1e-6, 0);
    session_of[CHILD] = CHILD; // it may leave the session, now that it is known
    cli_cpu_time_find(&cpu, 1);
    show(CHILD, 'Z', LEADER, 1001, 140, 0);
    T_NEAR(read_again(), 145, 1e-6, 0);
}

// 100 pages each.
static void
test_memory_is_that_of_the_processes_that_are_there(void **state)
{
    (void)state;
    uint64_t each = 100 * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(cli_cpu_time_resident(cpu) == 2 * each);
    end(CHILD);
    cli_cpu_time_read(cpu);
    assert_true(cli_cpu_time_resident(cpu) == each);
    end(LEADER);
    cli_cpu_time_read(cpu);
    assert_true(cli_cpu_time_resident(cpu) == 0);
}

static void
test_other_sessions_are_not_counted(void **state)
{
    (void)state;
    run(OTHER, LEADER, 1002, 1000, 0);
    session_of[OTHER] = OTHER;
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(read_again(), 105, 1e-6, 0);
}

static void
test_sessions_are_told_apart(void **state)
{
    (void)state;
    run(OTHER, 1, 1002, 0, 0);
    run(13, OTHER, 1003, 40, 0);
    session_of[OTHER] = session_of[13] = OTHER;
    cli_cpu_time *both[] = {cpu, cli_cpu_time_create(root, OTHER)};
    cli_cpu_time_find(both, 2);
    T_NEAR(counted(), 105, 1e-6, 0);
    T_NEAR(ticks_of(cli_cpu_time_ns(both[1])), 40, 1e-6, 0);
    cli_cpu_time_destroy(both[1]);
}

static void
test_a_child_that_was_waited_for_counts_once(void **state)
{
    (void)state;
    end(CHILD);
    run(LEADER, 1, 1000, 6, 103);
    T_NEAR(read_again(), 109, 1e-6, 0);
    T_NEAR(read_again(), 109, 1e-6, 0);
    run(LEADER, 1, 1000, 6, 110); // one that was never seen
    T_NEAR(read_again(), 116, 1e-6, 0);
}

// It ended after its parent was read.
static void
test_a_child_that_ends_during_a_reading_counts_once(void **state)
{
    (void)state;
    end(CHILD);
    T_NEAR(read_again(), 105, 1e-6, 0);
    run(LEADER, 1, 1000, 6, 103);
    T_NEAR(read_again(), 109, 1e-6, 0);
}

static void
test_a_child_that_is_being_waited_for_counts_once(void **state)
{
    (void)state;
    run(LEADER, 1, 1000, 5, 103);
    show(CHILD, 'X', LEADER, 1001, 103, 0);
    T_NEAR(read_again(), 108, 1e-6, 0);
    end(CHILD);
    T_NEAR(read_again(), 108, 1e-6, 0);
}

// The kernel tells neither threads nor times of it any more.
static void
test_a_child_that_is_taken_away_counts_once(void **state)
{
    (void)state;
    stat_put(CHILD, "11 (a) Z 10 10 10 0 -1 0 0 0 0 0 0 0 0 0 20 0 0 0 1001 0 0 0\n");
    T_NEAR(read_again(), 105, 1e-6, 0);
    run(LEADER, 1, 1000, 5, 103);
    T_NEAR(read_again(), 108, 1e-6, 0);
}

static void
test_what_cannot_be_read_now_counts_later(void **state)
{
    (void)state;
    char path[112];
    (void)snprintf(path, sizeof(path), "%s/proc/%d/stat", root, CHILD);
    end(CHILD);
    assert_int_equal(mkdir(path, 0700), 0); // to read it is an error
    T_NEAR(read_again(), 105, 1e-6, 0);
    assert_int_equal(rmdir(path), 0);
    stat_put(CHILD, "");
    T_NEAR(read_again(), 105, 1e-6, 0);
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(read_again(), 105, 1e-6, 0);
    run(CHILD, LEADER, 1001, 107, 0);
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(read_again(), 112, 1e-6, 0);
}

static void
test_a_child_that_nobody_waits_for_is_kept_and_hides_nothing(void **state)
{
    (void)state;
    end(CHILD);
    run(LEADER, 1, 1000, 9, 0);
    T_NEAR(read_again(), 109, 1e-6, 0);
    run(LEADER, 1, 1000, 12, 0);
    T_NEAR(read_again(), 112, 1e-6, 0);
    run(LEADER, 1, 1000, 12, 50); // of others, later
    T_NEAR(read_again(), 162, 1e-6, 0);
}

static void
test_a_grandchild_that_ends_with_its_parent_counts_once(void **state)
{
    (void)state;
    run(OTHER, CHILD, 1002, 30, 0);
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(counted(), 135, 1e-6, 0);
    end(OTHER);
    end(CHILD);
    run(LEADER, 1, 1000, 5, 133);
    T_NEAR(read_again(), 138, 1e-6, 0);
}

static void
test_a_number_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    run(CHILD, LEADER, 2000, 200, 0);
    run(LEADER, 1, 1000, 5, 100);
    T_NEAR(read_again(), 105, 1e-6, 0);
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(read_again(), 305, 1e-6, 0);
}

// Numbers begin again at some time: a child can have a lower one, and be found first.
static void
test_parents_come_before_their_children(void **state)
{
    (void)state;
    run(OTHER, 13, 1600, 30, 0);
    cli_cpu_time_find(&cpu, 1);
    run(13, LEADER, 1500, 7, 0);
    cli_cpu_time_find(&cpu, 1);
    T_NEAR(read_again(), 142, 1e-6, 0);
    end(OTHER);
    end(13);
    run(LEADER, 1, 1000, 5, 38);
    T_NEAR(read_again(), 143, 1e-6, 0);
}

static void
test_the_leaders_end_is_what_the_kernel_counted(void **state)
{
    (void)state;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    end(LEADER);
    cli_cpu_time_read(cpu);
    cli_cpu_time_end(cpu, 7 * tick_ns + 1); // it has not waited for its child
    assert_true(cli_cpu_time_ns(cpu) == 107 * tick_ns + 1);
}

static void
test_the_leaders_end_has_the_children_that_it_waited_for(void **state)
{
    (void)state;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    end(CHILD);
    cli_cpu_time_read(cpu);
    end(LEADER);
    cli_cpu_time_read(cpu);
    cli_cpu_time_read(cpu);
    assert_true(cli_cpu_time_leader_ns(cpu) == 105 * tick_ns);
    cli_cpu_time_end(cpu, 108 * tick_ns);
    assert_true(cli_cpu_time_ns(cpu) == 108 * tick_ns);
}

static void
test_a_leader_that_cannot_be_read_counts_at_its_end(void **state)
{
    (void)state;
    cli_cpu_time *unread = cli_cpu_time_create("/nonexistent", LEADER);
    cli_cpu_time_read(unread);
    cli_cpu_time_find(&unread, 1);
    cli_cpu_time_find(&unread, 0);
    assert_true(cli_cpu_time_ns(unread) == 0);
    cli_cpu_time_end(unread, 12345);
    assert_true(cli_cpu_time_ns(unread) == 12345);
    cli_cpu_time_destroy(unread);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_child_counts_while_it_runs),
        TEST(test_memory_is_that_of_the_processes_that_are_there),
        TEST(test_other_sessions_are_not_counted),
        TEST(test_sessions_are_told_apart),
        TEST(test_a_child_that_was_waited_for_counts_once),
        TEST(test_a_child_that_ends_during_a_reading_counts_once),
        TEST(test_a_child_that_is_being_waited_for_counts_once),
        TEST(test_a_child_that_is_taken_away_counts_once),
        TEST(test_what_cannot_be_read_now_counts_later),
        TEST(test_a_child_that_nobody_waits_for_is_kept_and_hides_nothing),
        TEST(test_a_grandchild_that_ends_with_its_parent_counts_once),
        TEST(test_a_number_that_is_used_again_is_another_process),
        TEST(test_parents_come_before_their_children),
        TEST(test_the_leaders_end_is_what_the_kernel_counted),
        TEST(test_the_leaders_end_has_the_children_that_it_waited_for),
        TEST(test_a_leader_that_cannot_be_read_counts_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
