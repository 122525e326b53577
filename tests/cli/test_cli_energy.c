// The energy of a run, from a made-up tree of the kernel's counters and from a meter's command:
// packages, wrap-around, shares, and what cannot be measured.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/cli_energy.h"
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

static char root[64];
static cli_energy_report report;

static void
put(const char *zone, const char *file, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", root, zone);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", root, zone, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void
zone_make(const char *zone, const char *name, const char *energy)
{
    put(zone, "name", name);
    put(zone, "energy_uj", energy);
    put(zone, "max_energy_range_uj", "1000000000\n");
}

static int
setup(void **state)
{
    (void)state;
    memset(&report, 0, sizeof(report));
    (void)snprintf(root, sizeof(root), "/tmp/octet-test-energy-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int
teardown(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static cli_energy *
begin(void)
{
    const cli_energy_request request = {.powercap = root};
    return cli_energy_begin(&request);
}

static void
test_packages_are_added_and_shared_by_cpu_time(void **state)
{
    (void)state;
    zone_make("intel-rapl:0", "package-0\n", "5000000\n");
    zone_make("intel-rapl:1", "package-1\n", "1000000\n");
    zone_make("intel-rapl:0:0", "core\n", "7\n");         // a part of a package
    zone_make("intel-rapl:2", "psys\n", "7\n");           // all of the machine
    zone_make("intel-rapl-mmio:0", "package-0\n", "7\n"); // the same package once more
    cli_energy *energy = begin();
    cli_energy_sample(energy, 10, 1, 100);
    zone_make("intel-rapl:0", "package-0\n", "25000000\n"); // 20 J
    zone_make("intel-rapl:1", "package-1\n", "11000000\n"); // 10 J
    zone_make("intel-rapl:0:0", "core\n", "900000000\n");
    cli_energy_sample(energy, 12, 2.5, 102); // three quarters of two seconds
    zone_make("intel-rapl:0", "package-0\n", "26000000\n");
    cli_energy_end(energy, 13, 2.6, 103, &report); // a tenth of one
    assert_string_equal(report.source, "powercap");
    assert_string_equal(report.reason, "");
    T_NEAR(report.machine_joules, 31, 1e-9, 0);
    T_NEAR(report.joules, 30 * 0.75 + 1 * 0.1, 1e-9, 0);
    T_NEAR(report.cpu_share, 1.6 / 3, 1e-9, 0);
    T_NEAR(report.measured_s, 3, 1e-9, 0);
}

static void
test_a_counter_begins_again(void **state)
{
    (void)state;
    zone_make("intel-rapl:0", "package-0\n", "999000000\n");
    cli_energy *energy = begin();
    cli_energy_sample(energy, 0, 0, 0);
    zone_make("intel-rapl:0", "package-0\n", "2000000\n");
    cli_energy_end(energy, 1, 1, 1, &report);
    T_NEAR(report.machine_joules, 3, 1e-9, 0);
    T_NEAR(report.joules, 3, 1e-9, 0);
}

static void
test_readings_are_a_second_apart(void **state)
{
    (void)state;
    zone_make("intel-rapl:0", "package-0\n", "0\n");
    cli_energy *energy = begin();
    cli_energy_sample(energy, 0, 0, 0);
    zone_make("intel-rapl:0", "package-0\n", "1000000\n");
    cli_energy_sample(energy, 0.5, 0, 1); // too soon: nothing of this one is the run's
    cli_energy_end(energy, 2, 1, 1, &report);
    T_NEAR(report.joules, 1, 1e-9, 0);
}

// The kernel counts the machine's time in hundredths of a second.
static void
test_no_run_takes_more_than_the_machine(void **state)
{
    (void)state;
    zone_make("intel-rapl:0", "package-0\n", "0\n");
    cli_energy *energy = begin();
    cli_energy_sample(energy, 0, 0, 0);
    zone_make("intel-rapl:0", "package-0\n", "4000000\n");
    cli_energy_end(energy, 1, 2.005, 2, &report);
    T_NEAR(report.joules, 4, 1e-9, 0);
    T_NEAR(report.cpu_share, 1, 1e-9, 0);
}

static void
refused(const char *words)
{
    cli_energy *energy = begin();
    cli_energy_sample(energy, 0, 0, 0);
    cli_energy_end(energy, 1, 1, 1, &report);
    assert_null(report.source);
    assert_true(isnan(report.joules) && isnan(report.machine_joules));
    assert_non_null(strstr(report.reason, words));
}

static void
test_what_is_not_there_is_not_measured(void **state)
{
    (void)state;
    refused("has no counter for a processor package");
    zone_make("intel-rapl:0", "psys\n", "1\n");
    refused("has no counter for a processor package");
    zone_make("intel-rapl:0", "package-0\n", "many\n");
    refused("intel-rapl:0/energy_uj: Invalid argument");
    zone_make("intel-rapl:0", "package-0\n", "-5\n");
    refused("intel-rapl:0/energy_uj: Invalid argument");
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/intel-rapl:0/energy_uj", root);
    assert_int_equal(unlink(path), 0);
    refused("intel-rapl:0/energy_uj: No such file");
    (void)snprintf(root + strlen(root), sizeof(root) - strlen(root), "/none");
    refused("/none has no counter");
    *strrchr(root, '/') = '\0';
}

static void
test_what_root_alone_may_read_is_said(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip(); // root reads everything
    }
    char path[128];
    zone_make("intel-rapl:0", "package-0\n", "1\n");
    (void)snprintf(path, sizeof(path), "%s/intel-rapl:0/energy_uj", root);
    assert_int_equal(chmod(path, 0), 0);
    refused("the kernel shows it only to root");
}

static void
test_a_counter_that_goes_is_not_measured(void **state)
{
    (void)state;
    zone_make("intel-rapl:0", "package-0\n", "1\n");
    cli_energy *energy = begin();
    cli_energy_sample(energy, 0, 0, 0);
    put("intel-rapl:0", "energy_uj", "");
    cli_energy_sample(energy, 2, 1, 1);
    zone_make("intel-rapl:0", "package-0\n", "5000000\n");
    cli_energy_end(energy, 4, 2, 2, &report);
    assert_null(report.source);
    assert_non_null(strstr(report.reason, "energy_uj"));
}

// A byte that the command writes into a pipe of a name, when it is as far.
static void
hear(const char *fifo)
{
    char byte;
    int fd = open(fifo, O_RDONLY);
    assert_true(fd >= 0 && read(fd, &byte, 1) == 1 && close(fd) == 0);
}

// All that the command prints is there when it is read.
static void
command(const char *text)
{
    char done[96], line[512];
    (void)snprintf(done, sizeof(done), "%s/done", root);
    (void)unlink(done);
    assert_int_equal(mkfifo(done, 0600), 0);
    (void)snprintf(line, sizeof(line), "%s; echo 0 >'%s'; sleep 1000", text, done);
    const cli_energy_request request = {.command = line};
    cli_energy *energy = cli_energy_begin(&request);
    hear(done);
    cli_energy_sample(energy, 1, 1, 2);
    cli_energy_end(energy, 3, 2, 4, &report);
}

static void
test_a_command_that_prints_no_number(void **state)
{
    (void)state;
    command("echo 1; echo 12 W");
    assert_null(report.source);
    assert_non_null(strstr(report.reason, "the command printed '12 W', which is not a number"));
    command("echo 5; echo 4");
    assert_non_null(strstr(report.reason, "the command printed '4', which is less than before"));
    command("echo nan");
    assert_non_null(strstr(report.reason, "which is not a number"));
    command("head -c 1000 /dev/zero | tr '\\0' 7; echo");
    assert_non_null(strstr(report.reason, "which is not a number"));
    command("true");
    assert_non_null(strstr(report.reason, "the command printed fewer than two numbers"));
}

// Else one would print for ever when octet was killed.
static void
test_a_command_is_ended_by_a_pipe_that_nobody_reads(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); // as octet train does
    command("sh -c 'kill -PIPE $$'; echo status $?");
    (void)signal(SIGPIPE, SIG_DFL);
    assert_non_null(strstr(report.reason, "the command printed 'status 141'")); // 128 + SIGPIPE
}

// It prints its next number when the test says so.
static void
test_a_command_measures(void **state)
{
    (void)state;
    char line[512], first[96], second[96];
    (void)snprintf(first, sizeof(first), "%s/first", root);
    (void)snprintf(second, sizeof(second), "%s/second", root);
    (void)snprintf(line, sizeof(line),
                   "echo 100; echo 0 >'%s'; read x <'%s'; echo 112.5; echo 0 >'%s'; sleep 1000",
                   first, second, first);
    assert_true(mkfifo(first, 0600) == 0 && mkfifo(second, 0600) == 0);
    const cli_energy_request request = {.command = line};
    cli_energy *energy = cli_energy_begin(&request);
    hear(first);
    cli_energy_sample(energy, 5, 1, 10);
    cli_energy_sample(energy, 7, 2, 11); // nothing new: of the next one's interval
    int said = open(second, O_WRONLY);
    assert_true(said >= 0 && write(said, "\n", 1) == 1 && close(said) == 0);
    hear(first);
    cli_energy_end(energy, 9, 3, 14, &report);
    assert_string_equal(report.source, "command");
    T_NEAR(report.machine_joules, 12.5, 1e-9, 0);
    T_NEAR(report.cpu_share, 0.5, 1e-9, 0);
    T_NEAR(report.joules, 6.25, 1e-9, 0);
    T_NEAR(report.measured_s, 4, 1e-9, 0);
}

static void
test_a_model_is_said_in_watts(void **state)
{
    (void)state;
    oct_reason why;
    cli_energy_model model;
    T_OK(cli_energy_model_parse(&model, "watts=12.5", &why));
    assert_true(model.watts == 12.5 && model.gco2_per_kwh == 0);
    T_OK(cli_energy_model_parse(&model, "watts=3,gco2_per_kwh=350", &why));
    assert_true(model.watts == 3 && model.gco2_per_kwh == 350);
    const char *const wrong[] = {"",
                                 "12",
                                 "watts=",
                                 "watts=0",
                                 "watts=-1",
                                 "watts=nan",
                                 "watts=3,",
                                 "watts=3,x=1",
                                 "watts=3 W",
                                 "watts=3,gco2_per_kwh=0",
                                 "gco2_per_kwh=1",
                                 "watts=3,gco2_per_kwh=1,watts=2"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        model = (cli_energy_model){7, 8};
        assert_int_equal(cli_energy_model_parse(&model, wrong[i], &why), OCT_EINVAL);
        assert_non_null(strstr(why.text, "allowed is watts=W or watts=W,gco2_per_kwh=G"));
        assert_true(model.watts == 7);
    }
}

static void
test_the_machine_is_busy(void **state)
{
    (void)state;
    double busy = cli_energy_machine_cpu_s();
    assert_true(busy > 0);
    assert_true(cli_energy_machine_cpu_s() >= busy);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_packages_are_added_and_shared_by_cpu_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_counter_begins_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_readings_are_a_second_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_run_takes_more_than_the_machine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_there_is_not_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_root_alone_may_read_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_counter_that_goes_is_not_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_command_that_prints_no_number, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_command_is_ended_by_a_pipe_that_nobody_reads, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_command_measures, setup, teardown),
        cmocka_unit_test(test_a_model_is_said_in_watts),
        cmocka_unit_test(test_the_machine_is_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
