// Numbers are read and written with a point where the program's locale has commas, as a plug-in or
// a program that has Octet as a library may have asked for.
#include <ftw.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/config/config_fixture.h"

#include "common/oct_locale.h"
#include "common/oct_prometheus.h"
#include "common/oct_text.h"
#include "config/config_text.h"

#define FOLDER "test_oct_locale.d"

extern char **environ;

static char message[8192];

// False: no such locale can be made here.
static bool
has_commas(void)
{
    char *const argv[] = {"localedef", "-i", "de_DE", "-f", "UTF-8", FOLDER "/de_DE.UTF-8", NULL};
    char root[4096];
    pid_t pid;
    int status;
    (void)mkdir(FOLDER, 0755);
    return posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0 &&
           waitpid(pid, &status, 0) == pid && status == 0 && realpath(FOLDER, root) != NULL &&
           setenv("LOCPATH", root, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static int
drop(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static void
test_numbers_are_written_with_a_point(void **state)
{
    (void)state;
    char out[32], *end = NULL;
    (void)snprintf(out, sizeof(out), "%.2f", 0.25);
    assert_string_equal(out, "0,25"); // the program's own
    assert_string_equal(oct_text_double(out, sizeof(out), 0.25), "0.25");
    assert_string_equal(oct_text_double(out, sizeof(out), 1e-8), "1e-08");
    assert_true(oct_text_number("0.25", &end) == 0.25 && *end == '\0');
    (void)snprintf(out, sizeof(out), "%.2f", 0.25);
    assert_string_equal(out, "0,25"); // still
}

static void
test_prometheus_text_has_points(void **state)
{
    (void)state;
    static const oct_prometheus_label none[1];
    oct_prometheus *text = oct_prometheus_create();
    size_t length;
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "a_seconds_total", "Seconds.");
    oct_prometheus_add(text, none, 0, 0.5);
    assert_non_null(strstr(oct_prometheus_text(text, &length), "\na_seconds_total 0.5\n"));
    oct_prometheus_destroy(text);
}

static void
test_an_experiment_is_read_and_printed_alike(void **state)
{
    (void)state;
    config_experiment config = config_with("algo.learning_rate=0.00025;run.env_steps=2.5e3"), again;
    assert_true(config.algo.learning_rate == 0.00025 && config.run.env_steps == 2500);
    char *text = config_print(&config);
    assert_non_null(strstr(text, "  learning_rate: 0.00025\n"));
    config_default(&again);
    T_OK(config_parse(&again, "printed", text, strlen(text), message, sizeof(message)));
    assert_true(again.algo.learning_rate == 0.00025 && again.algo.discount == 0.99);
    T_ERR(config_set(&again, "algo.n_step=1.5", message, sizeof(message)), OCT_EINVAL);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_written_with_a_point),
        cmocka_unit_test(test_prometheus_text_has_points),
        cmocka_unit_test(test_an_experiment_is_read_and_printed_alike),
    };
    if (!has_commas()) {
        print_message("SKIPPED: localedef makes no locale with commas here\n");
        return 77; // skipped
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)nftw(FOLDER, drop, 4, FTW_DEPTH | FTW_PHYS);
    return failed;
}
