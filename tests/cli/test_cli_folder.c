// The run folder: the name of a run that was given none.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/cli_folder.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#define SECONDS 60 // more than a test takes

static char folder[64];
static oct_reason reason;

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/test_cli_folder_XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0 || setenv("TZ", "UTC", 1) != 0;
}

static int
teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

// Folders of other runs that began in each second from now on: runs/pole-DATE-TIME and the same
// with -2.
static void
others_do(int (*action)(const char *path), time_t begin)
{
    for (time_t at = begin; at < begin + SECONDS; at++) {
        struct tm utc;
        char path[64];
        (void)gmtime_r(&at, &utc);
        (void)strftime(path, sizeof(path), "runs/pole-%Y%m%d-%H%M%S", &utc);
        assert_int_equal(action(path), 0);
        strcat(path, "-2");
        assert_int_equal(action(path), 0);
    }
}

static int
make(const char *path)
{
    return mkdir(path, 0700);
}

static oct_err
open_dated(cli_folder *out)
{
    return cli_folder_open(out, NULL, "pole", false, &reason);
}

static void
test_a_name_that_another_run_took_in_the_same_second_gets_a_number(void **state)
{
    (void)state;
    cli_folder third;
    time_t begin = time(NULL);
    assert_int_equal(mkdir("runs", 0700), 0);
    others_do(make, begin);
    T_OK(open_dated(&third));
    assert_string_equal(strrchr(third.path, '-'), "-3");
    assert_int_equal(third.made, 1);
    cli_folder_close(&third);
    cli_folder_take_back(&third);
    others_do(rmdir, begin);
    assert_int_equal(rmdir("runs"), 0);
}

static void
test_a_file_in_the_place_of_runs_is_refused(void **state)
{
    (void)state;
    cli_folder none;
    T_OK(oct_file_write("runs", "", 0));
    assert_int_equal(open_dated(&none), OCT_EIO);
    assert_string_equal(reason.text, "cannot make folder 'runs': Not a directory");
    assert_int_equal(unlink("runs"), 0);
}

// Somebody else's run: none of its files may be one outside, nor keep the command waiting.
static void
test_a_resumed_run_has_only_files_of_its_own(void **state)
{
    (void)state;
    static const char *const names[] = {"config.yaml",
                                        "checkpoint.oct",
                                        "checkpoint.2.oct",
                                        "policy.oct",
                                        "policy_last.oct",
                                        "metrics.csv",
                                        "summary.json",
                                        "token.key",
                                        "learner.key",
                                        "replay.oct",
                                        "policy_versions",
                                        "curve.svg",
                                        "environment.oct",
                                        "log/replay.log",
                                        ".lock",
                                        "learner.lock",
                                        "events.out.tfevents.1.host.2"};
    cli_folder run;
    char path[128];
    struct stat found;
    assert_int_equal(mkdir("run", 0700), 0);
    T_OK(oct_file_write("victim", "victim", 6));
    T_OK(cli_folder_open(&run, "run", NULL, true, &reason));
    cli_folder_close(&run);
    for (size_t i = 0; i < 2 * OCT_COUNTOF(names); i++) {
        bool is_link = i % 2 == 0;
        (void)snprintf(path, sizeof(path), "run/%s", names[i / 2]);
        (void)unlink(path);
        assert_int_equal(is_link ? symlink("../victim", path) : mkfifo(path, 0600), 0);
        T_ERR(cli_folder_open(&run, "run", NULL, true, &reason), OCT_EINVAL);
        assert_non_null(strstr(reason.text, path));
        assert_non_null(strstr(reason.text, is_link ? "symbolic link" : "pipe"));
        assert_int_equal(unlink(path), 0);
    }
    assert_true(unlink("run/.lock") == 0 || errno == ENOENT);
    assert_true(rmdir("run/log") == 0 && mkdir("away", 0700) == 0);
    assert_int_equal(symlink("../away", "run/log"), 0);
    T_ERR(cli_folder_open(&run, "run", NULL, true, &reason), OCT_EIO);
    assert_non_null(strstr(reason.text, "run/log': it is a symbolic link"));
    assert_true(stat("victim", &found) == 0 && found.st_size == 6);
    oct_file_remove_tree("run", false);
    assert_true(rmdir("away") == 0 && unlink("victim") == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_name_that_another_run_took_in_the_same_second_gets_a_number, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_resumed_run_has_only_files_of_its_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_file_in_the_place_of_runs_is_refused, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
