// The nearest limits on memory and CPU time are found at every level of both versions of control
// groups.
#include "common/oct_cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

static char root[64];

static void
put(const char *path, const char *text)
{
    char full[256], folder[256];
    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    (void)snprintf(folder, sizeof(folder), "%s", full);
    *strrchr(folder, '/') = '\0';
    T_OK(oct_file_make_folder(folder));
    T_OK(oct_file_replace(full, text, strlen(text)));
}

static int
root_make(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/octet-cgroup-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    return 0;
}

static int
root_remove(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command) == 0 ? 0 : -1;
}

static void
test_no_groups_and_no_limits_are_none(void **state)
{
    (void)state;
    assert_true(oct_cgroup_memory_left(root) == UINT64_MAX); // no such files
    put("proc/self/cgroup", "0::/user.slice\nnonsense\n");
    assert_true(oct_cgroup_memory_left(root) == UINT64_MAX);
    put("sys/fs/cgroup/user.slice/memory.max", "max\n");
    put("sys/fs/cgroup/user.slice/memory.current", "1000\n");
    assert_true(oct_cgroup_memory_left(root) == UINT64_MAX);
    assert_true(oct_cgroup_memory_limit(root) == UINT64_MAX);
    put("sys/fs/cgroup/user.slice/memory.max", "900\n"); // it is beyond its limit already
    assert_true(oct_cgroup_memory_left(root) == 0);
}

// Slurm's limit is that of the job, two levels above the process.
static void
test_version_2_the_least_of_all_levels_counts(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_0/user\n");
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/user/memory.max", "max\n");
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/user/memory.current", "50\n");
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/memory.max", "max\n");
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/memory.current", "60\n");
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.max", "4096\n");
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.current", "96\n");
    assert_true(oct_cgroup_memory_left(root) == 4000);
    put("sys/fs/cgroup/system.slice/memory.max", "5000\n"); // farther up, and nearer its limit
    put("sys/fs/cgroup/system.slice/memory.current", "4900\n");
    assert_true(oct_cgroup_memory_left(root) == 100);
    assert_true(oct_cgroup_memory_limit(root) == 4096);
    put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/user/memory.max", "57\n");
    assert_true(oct_cgroup_memory_left(root) == 7);
}

static void
test_version_2_a_container_sees_its_own_group_as_the_root(void **state)
{
    (void)state;
    put("sys/fs/cgroup/memory.max", "1000\n");
    put("sys/fs/cgroup/memory.current", "400\n");
    put("proc/self/cgroup", "0::/\n");
    assert_true(oct_cgroup_memory_left(root) == 600);
    put("proc/self/cgroup", "0::/docker/0123456789abcdef\n"); // the host's path, which is not there
    assert_true(oct_cgroup_memory_left(root) == 600);
    put("proc/self/cgroup", "0::/../../other\n");
    assert_true(oct_cgroup_memory_left(root) == 600);
}

static void
test_version_1_the_memory_hierarchy_counts(void **state)
{
    (void)state;
    put("proc/self/cgroup", "12:cpu,cpuacct:/cpu\n"
                            "5:memory:/slurm/uid_1000/job_7\n"
                            "1:name=systemd:/user.slice\n");
    put("sys/fs/cgroup/memory/slurm/uid_1000/job_7/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/slurm/uid_1000/job_7/memory.usage_in_bytes", "10\n");
    assert_true(oct_cgroup_memory_left(root) == UINT64_MAX);
    put("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "300\n");
    put("sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", "100\n");
    assert_true(oct_cgroup_memory_left(root) == 200);
    assert_true(oct_cgroup_memory_limit(root) == 300);
    put("proc/self/cgroup", "5:blkio,memory:/slurm\n"); // with another controller
    assert_true(oct_cgroup_memory_left(root) == 200);
    put("proc/self/cgroup", "5:memory_of_another_kind:/slurm\n");
    assert_true(oct_cgroup_memory_left(root) == UINT64_MAX);
}

// The kernel takes file cache back before it refuses memory, so a group that is full of it has
// room.
static void
test_version_2_file_cache_is_not_used(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/job\n");
    put("sys/fs/cgroup/job/memory.max", "8192\n");
    put("sys/fs/cgroup/job/memory.current", "8000\n");
    put("sys/fs/cgroup/job/memory.stat", "anon 1000\nfile 7000\ninactive_anon 900\n"
                                         "inactive_file 4000\nactive_file 2500\n");
    assert_true(oct_cgroup_memory_left(root) == 8192 - 1500);
    put("sys/fs/cgroup/job/memory.stat", "active_file 2500\n");
    assert_true(oct_cgroup_memory_left(root) == 8192 - 5500);
    put("sys/fs/cgroup/job/memory.stat", "inactive_file 8000\nactive_file 1\n"); // read later
    assert_true(oct_cgroup_memory_left(root) == 8192);
    put("sys/fs/cgroup/job/memory.stat", "inactive_file\nactive_file -\n");
    assert_true(oct_cgroup_memory_left(root) == 192);
}

static void
test_version_1_file_cache_of_the_groups_below_is_not_used(void **state)
{
    (void)state;
    put("proc/self/cgroup", "5:memory:/job\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8192\n");
    put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "8000\n");
    put("sys/fs/cgroup/memory/job/memory.stat", "cache 7000\ninactive_file 10\nactive_file 20\n"
                                                "total_inactive_file 4000\n"
                                                "total_active_file 2500\n");
    assert_true(oct_cgroup_memory_left(root) == 8192 - 1500);
}

static void
test_version_2_the_least_quota_of_all_levels_counts(void **state)
{
    (void)state;
    assert_true(oct_cgroup_cpu_millis(root) == UINT64_MAX); // no such files
    put("proc/self/cgroup", "0::/system.slice/job_7\n");
    put("sys/fs/cgroup/system.slice/job_7/cpu.max", "max 100000\n");
    assert_true(oct_cgroup_cpu_millis(root) == UINT64_MAX);
    put("sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n");
    assert_true(oct_cgroup_cpu_millis(root) == 1500);
    put("sys/fs/cgroup/system.slice/job_7/cpu.max", "20000 40000\n");
    assert_true(oct_cgroup_cpu_millis(root) == 500);
    put("sys/fs/cgroup/system.slice/job_7/cpu.max", "20000 0\n"); // no kernel writes this
    assert_true(oct_cgroup_cpu_millis(root) == 1500);
}

static void
test_version_1_the_quota_of_the_cpu_hierarchy_counts(void **state)
{
    (void)state;
    put("proc/self/cgroup", "12:cpu,cpuacct:/job\n5:memory:/\n");
    put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_true(oct_cgroup_cpu_millis(root) == UINT64_MAX);
    put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000\n");
    assert_true(oct_cgroup_cpu_millis(root) == 2500);
    put("proc/self/cgroup", "12:cpuset:/job\n");
    assert_true(oct_cgroup_cpu_millis(root) == UINT64_MAX);
}

// Of the nearest group that counts them; groups above count those of other groups, too.
static void
test_processes_that_were_killed_for_memory_are_counted(void **state)
{
    (void)state;
    assert_true(oct_cgroup_oom_kills(root) == UINT64_MAX);
    put("proc/vmstat", "pgfault 12\noom_kill 9\n");
    assert_true(oct_cgroup_oom_kills(root) == 9);
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/memory.events", "low 0\noom 4\noom_kill 7\noom_group_kill 0\n");
    assert_true(oct_cgroup_oom_kills(root) == 7);
    put("sys/fs/cgroup/a/b/memory.events", "oom 1\noom_kill 2\n");
    assert_true(oct_cgroup_oom_kills(root) == 2);
    put("proc/self/cgroup", "4:memory:/c\n0::/\n");
    put("sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 0\n");
    put("sys/fs/cgroup/memory/c/memory.oom_control", "under_oom 0\noom_kill 5\n");
    assert_true(oct_cgroup_oom_kills(root) == 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_processes_that_were_killed_for_memory_are_counted,
                                        root_make, root_remove),
        cmocka_unit_test_setup_teardown(test_no_groups_and_no_limits_are_none, root_make,
                                        root_remove),
        cmocka_unit_test_setup_teardown(test_version_2_the_least_of_all_levels_counts, root_make,
                                        root_remove),
        cmocka_unit_test_setup_teardown(test_version_2_a_container_sees_its_own_group_as_the_root,
                                        root_make, root_remove),
        cmocka_unit_test_setup_teardown(test_version_1_the_memory_hierarchy_counts, root_make,
                                        root_remove),
        cmocka_unit_test_setup_teardown(test_version_2_file_cache_is_not_used, root_make,
                                        root_remove),
        cmocka_unit_test_setup_teardown(test_version_1_file_cache_of_the_groups_below_is_not_used,
                                        root_make, root_remove),
        cmocka_unit_test_setup_teardown(test_version_2_the_least_quota_of_all_levels_counts,
                                        root_make, root_remove),
        cmocka_unit_test_setup_teardown(test_version_1_the_quota_of_the_cpu_hierarchy_counts,
                                        root_make, root_remove),
    };
    return cmocka_run_group_tests_name("oct_cgroup", tests, NULL, NULL);
}
