// Where runs are looked for: below folders, not behind links, each once.
#include "cli/runs/cli_run_list.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "tests/support/oct_test.h"

static char root[] = "/tmp/test_cli_run_list_XXXXXX";
static const char *const runs[] = {"b",      "a", "deep/er/run", "b/within", "too/deep/for/it",
                                   ".hidden"};
static const char *const folders[] = {
    ".hidden",     "a",         "b",   "b/within", "deep",         "deep/er",
    "deep/er/run", "elsewhere", "too", "too/deep", "too/deep/for", "too/deep/for/it"};

static int
setup(void **state)
{
    (void)state;
    if (mkdtemp(root) == NULL || chdir(root) != 0) {
        return 1;
    }
    for (size_t i = 0; i < OCT_COUNTOF(folders); i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
    }
    for (size_t i = 0; i < OCT_COUNTOF(runs); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/config.yaml", runs[i]);
        T_OK(oct_file_write(path, "", 0));
    }
    return symlink("../a", "elsewhere/linked") != 0 || symlink("a", "newest") != 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(runs); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/config.yaml", runs[i]);
        (void)unlink(path);
    }
    (void)unlink("elsewhere/linked");
    (void)unlink("newest");
    for (size_t i = OCT_COUNTOF(folders); i > 0; i--) {
        (void)rmdir(folders[i - 1]);
    }
    return rmdir(root);
}

static void
test_runs_are_found_by_name_three_levels_below(void **state)
{
    (void)state;
    cli_run_list *list = cli_run_list_create(10);
    assert_int_equal(cli_run_list_add(list, "."), 3);
    assert_int_equal(cli_run_list_count(list), 3);
    assert_string_equal(cli_run_list_at(list, 0), "./a");
    assert_string_equal(cli_run_list_at(list, 1), "./b");
    assert_string_equal(cli_run_list_at(list, 2), "./deep/er/run");
    struct stat status;
    assert_int_equal(stat("deep/er/run", &status), 0);
    assert_int_equal(cli_run_list_changed_us(list, 2) / 1000000, status.st_mtim.tv_sec);
    cli_run_list_destroy(list);
}

static void
test_a_link_is_followed_where_it_is_named_alone(void **state)
{
    (void)state;
    cli_run_list *list = cli_run_list_create(10);
    assert_int_equal(cli_run_list_add(list, "elsewhere"), 0);
    assert_int_equal(errno, 0);
    assert_int_equal(cli_run_list_add(list, "newest"), 1);
    assert_string_equal(cli_run_list_at(list, 0), "newest");
    cli_run_list_destroy(list);
}

static void
test_no_run_is_listed_twice(void **state)
{
    (void)state;
    static const char *const ways[] = {"a", "a/", "newest", "elsewhere/../a"};
    cli_run_list *list = cli_run_list_create(10);
    for (size_t i = 0; i < OCT_COUNTOF(ways); i++) {
        assert_int_equal(cli_run_list_add(list, ways[i]), 1);
    }
    assert_int_equal(cli_run_list_count(list), 1);
    assert_string_equal(cli_run_list_at(list, 0), "a");
    cli_run_list_destroy(list);
}

static void
test_runs_beyond_the_room_are_counted(void **state)
{
    (void)state;
    cli_run_list *list = cli_run_list_create(2);
    assert_int_equal(cli_run_list_add(list, root), 3);
    assert_int_equal(cli_run_list_count(list), 2);
    assert_int_equal(cli_run_list_beyond(list), 1);
    cli_run_list_destroy(list);
}

static void
test_folders_that_are_not_there_are_told_apart_from_empty_ones(void **state)
{
    (void)state;
    cli_run_list *list = cli_run_list_create(2);
    assert_int_equal(cli_run_list_add(list, "nowhere"), 0);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(cli_run_list_add(list, "a/config.yaml"), 0);
    assert_int_equal(errno, ENOTDIR);
    cli_run_list_destroy(list);
    cli_run_list_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_are_found_by_name_three_levels_below),
        cmocka_unit_test(test_a_link_is_followed_where_it_is_named_alone),
        cmocka_unit_test(test_no_run_is_listed_twice),
        cmocka_unit_test(test_runs_beyond_the_room_are_counted),
        cmocka_unit_test(test_folders_that_are_not_there_are_told_apart_from_empty_ones),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
