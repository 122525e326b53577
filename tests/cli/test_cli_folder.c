// The run folder: the name of a run that was given none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/cli_folder.h"
#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define SECONDS 60 // more than a test takes

static char folder[64], reason[512];

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
    return cli_folder_open(out, NULL, "pole", false, reason, sizeof(reason));
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
    assert_string_equal(reason, "cannot make folder 'runs': Not a directory");
    assert_int_equal(unlink("runs"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_name_that_another_run_took_in_the_same_second_gets_a_number, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_file_in_the_place_of_runs_is_refused, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
