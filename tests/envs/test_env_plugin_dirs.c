// Where a plug-in may come from whose name a peer gave: nothing outside of the operator's
// directories, and no directory that others can write to.
#include "common/oct_reason.h"
#include "envs/env_plugin_dirs.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/envs/env_test.h"

// base/mine/sub, base/other, each with a file a.so.
typedef struct fixture {
    char base[64];
    env_plugin_dirs dirs;
    char out[PATH_MAX];
    oct_reason why;
} fixture;

static char *
at(const fixture *f, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", f->base, name);
    return path;
}

static void
file_make(const fixture *f, const char *name)
{
    FILE *file = fopen(at(f, name), "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(at(f, name), 0644), 0);
}

static int
begin(void **state)
{
    fixture *f = test_calloc(1, sizeof(*f));
    char base[] = "/tmp/octet-dirs-XXXXXX";
    assert_non_null(mkdtemp(base));
    char *resolved = realpath(base, NULL);
    snprintf(f->base, sizeof(f->base), "%s", resolved);
    free(resolved);
    const char *const folders[] = {"mine", "mine/sub", "other"};
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        assert_int_equal(mkdir(at(f, folders[i]), 0755), 0);
        assert_int_equal(chmod(at(f, folders[i]), 0755), 0);
        snprintf(name, sizeof(name), "%s/a.so", folders[i]);
        file_make(f, name);
    }
    *state = f;
    return 0;
}

static int
end(void **state)
{
    fixture *f = *state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", f->base);
    env_plugin_dirs_fini(&f->dirs);
    int code = system(command);
    test_free(f);
    return code;
}

static void
allow(fixture *f, const char *name)
{
    T_OK(env_plugin_dirs_add(&f->dirs, at(f, name), &f->why));
}

static void
not_allowed(fixture *f, const char *path, const char *says)
{
    T_ERR(env_plugin_dirs_add(&f->dirs, path, &f->why), OCT_EINVAL);
    T_SAYS(f->why.text, says);
}

static void
finds(fixture *f, const char *id, const char *name)
{
    T_OK(env_plugin_dirs_find(&f->dirs, id, f->out, &f->why));
    assert_string_equal(f->out, at(f, name));
}

static void
refuses(fixture *f, const char *id, const char *says)
{
    T_ERR(env_plugin_dirs_find(&f->dirs, id, f->out, &f->why), OCT_EINVAL);
    T_SAYS(f->why.text, says);
}

static void
test_nothing_is_loaded_where_nobody_named_a_directory(void **state)
{
    fixture *f = *state;
    refuses(f, at(f, "mine/a.so"), "--plugins or OCTET_PLUGINS");
    refuses(f, "a.so", "--plugins or OCTET_PLUGINS");
}

static void
test_what_is_outside_is_refused(void **state)
{
    fixture *f = *state;
    allow(f, "mine");
    refuses(f, at(f, "other/a.so"), "outside of the directories that --plugins");
    refuses(f, at(f, "mine/../other/a.so"), "outside");
    refuses(f, "../other/a.so", "outside");
    refuses(f, at(f, "mine/none.so"), "no such file");
    refuses(f, "none.so", "no such plug-in");
    assert_int_equal(mkdir(at(f, "mine-too"), 0755), 0);
    file_make(f, "mine-too/a.so");
    refuses(f, at(f, "mine-too/a.so"), "outside");
}

static void
test_a_link_leads_nowhere_else(void **state)
{
    fixture *f = *state;
    allow(f, "mine");
    assert_int_equal(symlink("../other/a.so", at(f, "mine/out.so")), 0);
    assert_int_equal(symlink("../other", at(f, "mine/folder")), 0);
    refuses(f, at(f, "mine/out.so"), "outside");
    refuses(f, at(f, "mine/folder/a.so"), "outside");
    refuses(f, "folder/a.so", "outside");
    assert_int_equal(symlink("mine/a.so", at(f, "in.so")), 0);
    finds(f, at(f, "in.so"), "mine/a.so");
}

static void
test_what_others_can_write_to_is_refused(void **state)
{
    fixture *f = *state;
    allow(f, "mine");
    const char *const parts[] = {"mine/sub/a.so", "mine/sub", "mine"};
    for (size_t i = 0; i < 3; i++) {
        struct stat status;
        assert_int_equal(stat(at(f, parts[i]), &status), 0);
        for (unsigned bit = 02; bit <= 020; bit *= 8) {
            assert_int_equal(chmod(at(f, parts[i]), status.st_mode | 01000 | bit), 0);
            refuses(f, at(f, "mine/sub/a.so"), "can be written by other users: chmod go-w");
        }
        assert_int_equal(chmod(at(f, parts[i]), status.st_mode & 07777), 0);
    }
    finds(f, at(f, "mine/sub/a.so"), "mine/sub/a.so");
    not_allowed(f, "/tmp", "can be written");
    assert_int_equal(chmod(at(f, "other"), 0775), 0);
    not_allowed(f, at(f, "other"), "chmod go-w");
    assert_int_equal(mkdir(at(f, "other/below"), 0755), 0);
    not_allowed(f, at(f, "other/below"), "chmod go-w"); // they can put another in its place
}

static void
test_what_is_of_another_user_is_refused(void **state)
{
    fixture *f = *state;
    allow(f, "mine");
    if (geteuid() != 0) {
        skip(); // only root gives files away
    }
    assert_int_equal(chown(at(f, "mine/sub"), 1, 0), 0);
    refuses(f, at(f, "mine/sub/a.so"), "belongs to user 1");
    not_allowed(f, at(f, "mine/sub"), "belongs to user 1");
}

static void
test_a_name_is_looked_for_in_each_directory(void **state)
{
    fixture *f = *state;
    char list[3 * PATH_MAX];
    file_make(f, "other/b.so");
    snprintf(list, sizeof(list), ":%s::%s", at(f, "mine"), at(f, "other"));
    T_OK(env_plugin_dirs_add_list(&f->dirs, list, &f->why));
    finds(f, "a.so", "mine/a.so");
    finds(f, "./sub/a.so", "mine/sub/a.so");
    finds(f, "b.so", "other/b.so");
    finds(f, at(f, "other/a.so"), "other/a.so");
}

static void
test_a_file_that_was_named_is_taken_alone(void **state)
{
    fixture *f = *state;
    allow(f, "mine/a.so");
    assert_int_equal(chmod(at(f, "mine"), 0777), 0);
    finds(f, at(f, "mine/a.so"), "mine/a.so");
    finds(f, at(f, "mine/sub/../a.so"), "mine/a.so");
    refuses(f, at(f, "mine/sub/a.so"), "outside");
    file_make(f, "mine/a.so.so");
    refuses(f, at(f, "mine/a.so.so"), "outside");
}

static void
test_what_is_not_there_is_refused_at_once(void **state)
{
    fixture *f = *state;
    not_allowed(f, at(f, "none"), "No such file");
    not_allowed(f, "", "No such file");
    not_allowed(f, "/dev/null", "neither a directory nor a file");
    for (unsigned i = 0; i < ENV_PLUGIN_DIRS_MAX; i++) {
        allow(f, "mine");
    }
    not_allowed(f, at(f, "mine"), "more than 32");
}

static void
test_an_environment_is_opened_from_there_alone(void **state)
{
    fixture *f = *state;
    if (access(plugin_path("point"), R_OK) != 0) {
        fail_msg("%s: build it first", plugin_path("point"));
    }
    env *e = NULL;
    char command[2 * PATH_MAX];
    snprintf(command, sizeof(command), "cp '%s' '%s'", plugin_path("point"),
             at(f, "mine/point.so"));
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(at(f, "mine/point.so"), 0755), 0);
    allow(f, "other");
    env_request request = {.id = at(f, "mine/point.so"),
                           .options = "",
                           .count = 1,
                           .autoreset = true,
                           .plugins = &f->dirs};
    T_ERR(env_open(&e, &request, &f->why), OCT_EINVAL);
    T_SAYS(f->why.text, "outside");
    allow(f, "mine");
    request.id = "point.so";
    T_OK(env_open(&e, &request, &f->why));
    env_close(e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

// Code of Python packages, which a directory does not name.
static void
test_an_environment_of_gymnasium_is_taken_by_its_name_alone(void **state)
{
    fixture *f = *state;
    T_ERR(env_plugin_dirs_name(&f->dirs, "gym:A-v0", &f->why), OCT_EINVAL);
    T_SAYS(f->why.text, "give --plugins gym:A-v0");
    T_OK(env_plugin_dirs_add(&f->dirs, "gym:A-v0", &f->why));
    T_OK(env_plugin_dirs_name(&f->dirs, "gym:A-v0", &f->why));
    T_ERR(env_plugin_dirs_name(&f->dirs, "gym:A-v01", &f->why), OCT_EINVAL);
    T_ERR(env_plugin_dirs_name(&f->dirs, "gym:", &f->why), OCT_EINVAL);
    char list[PATH_MAX];
    snprintf(list, sizeof(list), "gym:C-v0:%s:gym:D-v0:", at(f, "mine")); // as $OCTET_PLUGINS
    T_OK(env_plugin_dirs_add_list(&f->dirs, list, &f->why));
    T_OK(env_plugin_dirs_name(&f->dirs, "gym:C-v0", &f->why));
    T_OK(env_plugin_dirs_name(&f->dirs, "gym:D-v0", &f->why));
    finds(f, "a.so", "mine/a.so");
    env_request request = {.id = "gym:B-v0", .options = "", .count = 1, .plugins = &f->dirs};
    env *e = NULL;
    T_ERR(env_open(&e, &request, &f->why), OCT_EINVAL);
    T_SAYS(f->why.text, "runs code of Python packages");
}

int
main(void)
{
    (void)umask(022);
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_loaded_where_nobody_named_a_directory),
        TEST(test_what_is_outside_is_refused),
        TEST(test_a_link_leads_nowhere_else),
        TEST(test_what_others_can_write_to_is_refused),
        TEST(test_what_is_of_another_user_is_refused),
        TEST(test_a_name_is_looked_for_in_each_directory),
        TEST(test_a_file_that_was_named_is_taken_alone),
        TEST(test_what_is_not_there_is_refused_at_once),
        TEST(test_an_environment_is_opened_from_there_alone),
        TEST(test_an_environment_of_gymnasium_is_taken_by_its_name_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
