// The folder of a program is where its file lies.
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_program.h"

static void
test_program_is_found_in_its_folder(void **state)
{
    (void)state;
    char folder[1024], path[1100];
    struct stat there, own;
    assert_true(oct_program_folder(folder, sizeof(folder)));
    (void)snprintf(path, sizeof(path), "%s/test_oct_program", folder);
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(stat("/proc/self/exe", &own), 0);
    assert_true(there.st_ino == own.st_ino && there.st_dev == own.st_dev);
}

static void
test_program_folder_that_does_not_fit_is_not_known(void **state)
{
    (void)state;
    char folder[1024], small[1024];
    assert_true(oct_program_folder(folder, sizeof(folder)));
    size_t whole = strlen(folder) + sizeof("/test_oct_program");
    assert_true(oct_program_folder(small, whole));
    assert_string_equal(small, folder);
    assert_false(oct_program_folder(small, whole - 1));
    assert_string_equal(small, "");
    assert_false(oct_program_folder(small, 1));
}

// Of the build's folders: ../../cli stands for what was configured (meson.build).
static void
test_program_finds_what_is_installed_with_it_before_what_is_built(void **state)
{
    (void)state;
    static const char *const none[] = {NULL}, *const built[] = {"", "../../common", NULL};
    char build[1024], out[1024], want[1100];
    oct_reason why;
    assert_true(oct_program_folder(build, sizeof(build)));
    *strstr(build, "/tests/common") = '\0';
    (void)snprintf(want, sizeof(want), "%s/cli/octet", build);
    assert_int_equal(oct_program_find(out, sizeof(out), "octet", none, &why), OCT_OK);
    assert_string_equal(out, want);
    (void)snprintf(want, sizeof(want), "%s/cli/.", build);
    assert_int_equal(oct_program_find(out, sizeof(out), ".", built, &why), OCT_OK);
    assert_string_equal(out, want);
    (void)snprintf(want, sizeof(want), "%s/common/libcommon.a", build);
    assert_int_equal(oct_program_find(out, sizeof(out), "libcommon.a", built, &why), OCT_OK);
    assert_string_equal(out, want);
    assert_int_equal(oct_program_find(out, strlen(want), "libcommon.a", built, &why),
                     OCT_ENOTFOUND);
    (void)snprintf(want, sizeof(want), "%s/tests/common/test_oct_program", build);
    assert_int_equal(oct_program_find(out, sizeof(out), "test_oct_program", built, &why), OCT_OK);
    assert_string_equal(out, want);
}

static void
test_program_names_the_folders_where_something_is_not(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    char build[1024], out[1024], want[3300];
    oct_reason why;
    assert_true(oct_program_folder(build, sizeof(build)));
    *strstr(build, "/tests/common") = '\0';
    assert_int_equal(oct_program_find(out, sizeof(out), "libcommon.a", none, &why), OCT_ENOTFOUND);
    (void)snprintf(want, sizeof(want),
                   "cannot find libcommon.a: looked in %s/cli and %s/tests/share/octet", build,
                   build);
    assert_string_equal(why.text, want);
}

static void
test_program_python_and_its_modules_are_found_from_another_folder(void **state)
{
    (void)state;
    assert_int_equal(chdir("/usr"), 0);
    assert_int_equal(setenv("OCTET_PYTHON", "venv/bin/python", 1), 0);
    assert_int_equal(setenv("PYTHONPATH", ".:/opt/a:b::", 1), 0);
    oct_program_keep_paths();
    assert_string_equal(getenv("OCTET_PYTHON"), "/usr/venv/bin/python");
    assert_string_equal(getenv("PYTHONPATH"), "/usr:/usr/.:/opt/a:/usr/b:/usr:/usr");
    assert_int_equal(unsetenv("OCTET_PYTHON"), 0);
    assert_int_equal(unsetenv("PYTHONPATH"), 0);
    oct_program_keep_paths();
    assert_null(getenv("OCTET_PYTHON"));
    assert_string_equal(getenv("PYTHONPATH"), "/usr");
    assert_int_equal(setenv("OCTET_PYTHON", "python3.11", 1), 0);
    oct_program_keep_paths();
    assert_string_equal(getenv("OCTET_PYTHON"), "python3.11");
}

static void
test_program_paths_are_those_of_the_folder_where_it_was_started(void **state)
{
    (void)state;
    static const char *const names[] = {"OCTET_TLS", "OCTET_PLUGIN_DIR", "OCTET_LIBEXEC",
                                        "OCTET_POWERCAP"};
    static const struct {
        const char *value, *kept;
    } cases[] = {{"lib", "/usr/lib"}, {"../opt", "/usr/../opt"}, {"/opt", "/opt"}, {"", ""}};
    assert_int_equal(chdir("/usr"), 0);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(cases); k++) {
            assert_int_equal(setenv(names[i], cases[k].value, 1), 0);
            oct_program_keep_paths();
            assert_string_equal(getenv(names[i]), cases[k].kept);
        }
        assert_int_equal(unsetenv(names[i]), 0);
        oct_program_keep_paths();
        assert_null(getenv(names[i]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_is_found_in_its_folder),
        cmocka_unit_test(test_program_folder_that_does_not_fit_is_not_known),
        cmocka_unit_test(test_program_finds_what_is_installed_with_it_before_what_is_built),
        cmocka_unit_test(test_program_names_the_folders_where_something_is_not),
        cmocka_unit_test(test_program_python_and_its_modules_are_found_from_another_folder),
        cmocka_unit_test(test_program_paths_are_those_of_the_folder_where_it_was_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
