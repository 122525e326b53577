// The CPUs of the affinity mask count, and a control group's quota below them.
#include "common/oct_cores.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

static cpu_set_t before;

static int
mask_keep(void **state)
{
    (void)state;
    return sched_getaffinity(0, sizeof(before), &before);
}

static int
mask_restore(void **state)
{
    (void)state;
    return sched_setaffinity(0, sizeof(before), &before);
}

static void
test_the_affinity_mask_is_counted(void **state)
{
    (void)state;
    cpu_set_t one;
    int first = 0;
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    assert_int_equal(oct_cores_affine(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(oct_cores_affine(), 1);
    T_NEAR(oct_cores_usable("/nonexistent"), 1, 0, 0);
}

static void
test_a_quota_below_the_mask_counts(void **state)
{
    (void)state;
    char root[] = "/tmp/octet-cores-test-XXXXXX", path[128];
    assert_non_null(mkdtemp(root));
    static const char *const folders[] = {"proc", "proc/self", "sys", "sys/fs", "sys/fs/cgroup"};
    for (size_t i = 0; i < OCT_COUNTOF(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        T_OK(oct_file_make_folder(path));
    }
    (void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    T_OK(oct_file_replace(path, "0::/\n", 5));
    (void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cpu.max", root);
    static const char low[] = "50000 100000\n", high[] = "99900000 100000\n";
    T_OK(oct_file_replace(path, low, strlen(low)));
    T_NEAR(oct_cores_usable(root), 0.5, 1e-12, 0);
    T_OK(oct_file_replace(path, high, strlen(high)));
    T_NEAR(oct_cores_usable(root), oct_cores_affine(), 0, 0);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_affinity_mask_is_counted, mask_keep, mask_restore),
        cmocka_unit_test(test_a_quota_below_the_mask_counts),
    };
    return cmocka_run_group_tests_name("oct_cores", tests, NULL, NULL);
}
