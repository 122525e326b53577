// Python is started so that what lies in the current folder by chance is not imported.
#include "common/oct_python.h"
#include "common/oct_reason.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_owner.h"
#include "tests/support/oct_test.h"

// A module of the user, and one with the name of Python's own, say so when they are imported.
static const char question[] = "import os\n"
                               "try:\n"
                               "    import mine\n"
                               "except ImportError:\n"
                               "    print('no mine')\n"
                               "import colorsys\n"
                               "print(os.getcwd(), os.environ.get('PYTHONSAFEPATH', 'unset'))\n"
                               "line = open('/proc/self/cmdline').read()\n"
                               "assert 'colorsys' not in line, line\n"
                               "assert not os.path.exists('/proc/self/fd/9')\n";

static char before[1024], folder[32];

static void
file_write(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int
enter(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet-test-XXXXXX");
    assert_non_null(getcwd(before, sizeof(before)));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("below", 0755), 0);
    file_write("below/mine.py", "print('below')");
    file_write("mine.py", "print('here')");
    file_write("colorsys.py", "print('colorsys of the folder')");
    assert_int_equal(setenv("PYTHONDONTWRITEBYTECODE", "1", 1), 0);
    assert_int_equal(unsetenv("PYTHONPATH"), 0);
    assert_int_equal(unsetenv("PYTHONSAFEPATH"), 0);
    return 0;
}

static int
leave(void **state)
{
    (void)state;
    static const char *const names[] = {"below/mine.py",    "below",       "mine.py", "colorsys.py",
                                        OCT_OWNER_UNPACKED, OCT_OWNER_LOCK};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)remove(names[i]);
    }
    assert_int_equal(chdir(before), 0);
    return rmdir(folder);
}

static const char *
said(bool has_user_code)
{
    static char out[4096];
    static const char *const none[] = {NULL};
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    const oct_python_start start = {
        .code = question, .arguments = none, .has_user_code = has_user_code, .actions = &actions};
    assert_int_equal(oct_python_spawn(&child, &start), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], out + used, sizeof(out) - 1 - used)) > 0;) {
        used += (size_t)got;
    }
    out[used] = '\0';
    (void)close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return out;
}

static void
says(bool has_user_code, const char *modules, const char *where)
{
    char want[256];
    (void)snprintf(want, sizeof(want), "%s%s unset\n", modules, where);
    assert_string_equal(said(has_user_code), want);
}

#define BOTH "here\ncolorsys of the folder\n"

static void
test_only_code_of_the_user_finds_modules_of_their_own_folder(void **state)
{
    (void)state;
    says(true, BOTH, folder);
    says(false, "no mine\n", folder);
    assert_int_equal(setenv("PYTHONPATH", "below:", 1), 0); // the last part is the current folder
    says(false, "below\ncolorsys of the folder\n", folder);
}

static void
test_a_folder_that_others_may_write_is_not_searched(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/below:%s", folder, folder);
    assert_int_equal(chmod(".", 0777), 0);
    says(true, "no mine\n", "/");
    assert_int_equal(setenv("PYTHONPATH", "below:.:", 1), 0);
    says(true, "no mine\n", "/");
    assert_int_equal(setenv("PYTHONPATH", path, 1), 0); // the user's word
    says(true, "below\ncolorsys of the folder\n", "/");
    if (geteuid() == 0) {
        assert_int_equal(unsetenv("PYTHONPATH"), 0);
        assert_int_equal(chmod(".", 0755), 0);
        assert_int_equal(chown(".", 65534, 65534), 0);
        says(true, "no mine\n", "/");
    }
}

static void
test_what_was_unpacked_is_not_searched(void **state)
{
    (void)state;
    file_write(OCT_OWNER_UNPACKED, "");
    says(true, "no mine\n", "/");
    assert_int_equal(chdir("below"), 0);
    says(true, "no mine\n", "/");
    assert_int_equal(chdir(".."), 0);
}

static void
test_the_folder_of_a_run_is_not_searched(void **state)
{
    (void)state;
    char here[PATH_MAX];
    oct_reason why;
    file_write(OCT_OWNER_LOCK, "");
    says(true, "no mine\n", folder); // it is the user's own
    T_ERR(oct_python_check_here(here, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "is the folder of a run or a sweep"));
}

static void
test_a_variable_of_the_user_stays(void **state)
{
    (void)state;
    assert_int_equal(setenv("PYTHONSAFEPATH", "yes", 1), 0);
    assert_non_null(strstr(said(true), " 1\n"));
}

static void
program_is(const char *want)
{
    char *program = oct_python_program();
    assert_string_equal(program, want);
    free(program);
}

static void
test_the_program_is_the_one_that_is_named(void **state)
{
    (void)state;
    char want[64];
    assert_int_equal(unsetenv("OCTET_PYTHON"), 0);
    program_is("python3");
    assert_int_equal(setenv("OCTET_PYTHON", "", 1), 0);
    program_is("python3");
    assert_int_equal(setenv("OCTET_PYTHON", "/opt/python", 1), 0);
    program_is("/opt/python");
    assert_int_equal(setenv("OCTET_PYTHON", "./venv/python", 1), 0);
    (void)snprintf(want, sizeof(want), "%s/./venv/python", folder);
    program_is(want);
    assert_int_equal(unsetenv("OCTET_PYTHON"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_only_code_of_the_user_finds_modules_of_their_own_folder, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_folder_that_others_may_write_is_not_searched, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_what_was_unpacked_is_not_searched, enter, leave),
        cmocka_unit_test_setup_teardown(test_the_folder_of_a_run_is_not_searched, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_variable_of_the_user_stays, enter, leave),
        cmocka_unit_test_setup_teardown(test_the_program_is_the_one_that_is_named, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
