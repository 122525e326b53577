// What environments measure themselves: bad names, numbers and columns are refused with the reason.
#include <math.h>
#include <stdlib.h>

#include "common/oct_metric.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_env.h"
#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_refused.h"

#define LETTERS_21 "abcdefghijklmnopqrstu"

// Names become columns, labels and lines of a terminal.
static void
test_register_refuses_names_of_metrics_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "lap\ntime", "\x1b[2J", "\xc3\xa4",
                                      LETTERS_21 LETTERS_21 LETTERS_21 "1"};
    static const char *const twice[] = {"laps", "distance", "laps"};
    static char letters[OCT_METRICS_MAX + 1][OCT_METRIC_NAME_BYTES];
    static const char *many[OCT_METRICS_MAX + 1];
    wire_register message = wire_example_register(false), out;
    message.env.metric_count = 1;
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        message.env.metric_name = &bad[i];
        REFUSED(wire_register, &message, "metric_name: not 1 to 63 printable characters of ASCII");
    }
    message.env.metric_count = OCT_COUNTOF(twice);
    message.env.metric_name = twice;
    REFUSED(wire_register, &message, "metric_name: the same twice");
    for (int i = 0; i <= OCT_METRICS_MAX; i++) {
        (void)snprintf(letters[i], sizeof(letters[i]), "%s%02d",
                       LETTERS_21 LETTERS_21 "abcdefghijklmnopqrs", i);
        many[i] = letters[i];
    }
    message.env.metric_name = many;
    message.env.metric_count = OCT_METRICS_MAX + 1;
    REFUSED(wire_register, &message, "register.metric_name: more than 64");
    message.env.metric_count = OCT_METRICS_MAX;
    T_OK(wire_register_through(&out, arena, &message));
    size_t length;
    free(wire_env_pack(&message.env, &length));
    assert_in_range(length, OCT_METRICS_MAX * 63, WIRE_ENV_BYTES_MAX);
}

static void
test_report_refuses_bad_metrics(void **state)
{
    (void)state;
    static const char *const names[] = {"laps"}, *const bad[] = {"lap\ntime"};
    const double sums[] = {3}, infinite[] = {INFINITY};
    const double large[] = {1e39}, not_any[] = {NAN};
    const uint32_t episodes[] = {2}, more[] = {5};
    const char *of_them = "report.metric_sum, metric_episodes: not of these episodes";
    wire_report good = wire_example_report(4, 0), out;
    good.metric_count = 1;
    good.metric_name = names;
    good.metric_sum = sums;
    good.metric_episodes = episodes;
    T_OK(wire_report_through(&out, arena, &good));
    wire_report message = good;
    message.metric_name = bad;
    REFUSED(wire_report, &message, "metric_name: not 1 to 63 printable characters of ASCII");
    static const char *const twice[] = {"laps", "laps"};
    const double two_sums[] = {3, 4};
    const uint32_t two_episodes[] = {2, 2};
    message = good;
    message.metric_count = OCT_COUNTOF(twice);
    message.metric_name = twice;
    message.metric_sum = two_sums;
    message.metric_episodes = two_episodes;
    REFUSED(wire_report, &message, "metric_name: the same twice");
    message = good;
    message.metric_sum = infinite;
    REFUSED(wire_report, &message, of_them);
    message.metric_sum = large; // of no floats
    REFUSED(wire_report, &message, of_them);
    message.metric_sum = not_any;
    REFUSED(wire_report, &message, of_them);
    message = good;
    message.metric_episodes = more;
    REFUSED(wire_report, &message, of_them);
    Octet__Report generated;
    wire_report_to(&generated, &good);
    generated.n_metric_sum = 0;
    REFUSED_GENERATED(wire_report, &generated, "report.metric_sum: length is 0, not 1");
    wire_report_to(&generated, &good);
    generated.n_metric_episodes = 0;
    REFUSED_GENERATED(wire_report, &generated, "report.metric_episodes: length is 0, not 1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_register_refuses_names_of_metrics_that_are_none,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_report_refuses_bad_metrics, arena_setup,
                                        arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
