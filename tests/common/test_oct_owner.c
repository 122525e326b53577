// Who could change a file besides this user and root.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#define OTHER 65534

static char folder[64];
static char file[128];

static int
enter(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet-test-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(file, sizeof(file), "%s/file", folder);
    FILE *made = fopen(file, "w");
    return made != NULL && fclose(made) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
    (void)state;
    return unlink(file) == 0 ? rmdir(folder) : -1;
}

static void
refused(const char *path, bool may_be_sticky, const char *words)
{
    oct_reason why = {""};
    T_ERR(oct_owner_check(path, may_be_sticky, &why), OCT_EINVAL);
    if (strstr(why.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, why.text);
    }
}

static void
taken(const char *path, bool may_be_sticky)
{
    oct_reason why = {""};
    T_OK(oct_owner_check(path, may_be_sticky, &why));
}

static void
test_what_others_may_write_is_refused(void **state)
{
    (void)state;
    const mode_t bits[] = {0020, 0002, 0022};
    const char *paths[] = {file, folder};
    for (size_t p = 0; p < OCT_COUNTOF(paths); p++) {
        for (size_t i = 0; i < OCT_COUNTOF(bits); i++) {
            assert_int_equal(chmod(paths[p], 0755 | bits[i]), 0);
            refused(paths[p], true, "can be written by other users: chmod go-w");
        }
        assert_int_equal(chmod(paths[p], 0755), 0);
        taken(paths[p], false);
    }
    refused("/tmp/octet-test-none", false, "No such file");
}

static void
test_the_sticky_bit_counts_for_folders_where_it_may(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 01777), 0);
    taken(folder, true);
    refused(folder, false, "can be written by other users");
    assert_int_equal(chmod(file, 01666), 0);
    refused(file, true, "can be written by other users");
}

static void
test_what_is_of_another_user_is_refused(void **state)
{
    (void)state;
    assert_true(oct_owner_is_trusted(0) && oct_owner_is_trusted(geteuid()));
    assert_false(oct_owner_is_trusted(geteuid() + 1));
    if (geteuid() == 0) {
        assert_int_equal(chown(file, OTHER, OTHER), 0);
        refused(file, true, "belongs to user 65534, who could change it");
    } else {
        taken("/", false);
    }
}

static void
test_all_that_is_above_counts(void **state)
{
    (void)state;
    oct_reason why = {""};
    assert_int_equal(chmod(folder, 01777), 0);
    T_OK(oct_owner_check_way(file, strlen(file), &why));
    T_ERR(oct_owner_check_way(file, 1, &why), OCT_EINVAL); // below, it may not
    assert_int_equal(chmod(folder, 0777), 0);
    T_ERR(oct_owner_check_way(file, strlen(file), &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, folder));
}

static void
test_a_folder_that_was_unpacked_is_known_from_inside(void **state)
{
    (void)state;
    char mark[128], below[160];
    (void)snprintf(mark, sizeof(mark), "%s/" OCT_OWNER_UNPACKED, folder);
    (void)snprintf(below, sizeof(below), "%s/a/b", folder);
    assert_false(oct_owner_is_unpacked(folder) || oct_owner_is_unpacked(below));
    assert_int_equal(symlink("nowhere", mark), 0); // whatever it is
    assert_true(oct_owner_is_unpacked(folder) && oct_owner_is_unpacked(below));
    assert_false(oct_owner_is_unpacked("/"));
    assert_int_equal(unlink(mark), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_others_may_write_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(test_the_sticky_bit_counts_for_folders_where_it_may, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_what_is_of_another_user_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(test_all_that_is_above_counts, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_folder_that_was_unpacked_is_known_from_inside, enter,
                                        leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
