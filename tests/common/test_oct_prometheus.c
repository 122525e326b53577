// The Prometheus page has the right format, and misuse by our own code stops the program.
#include "tests/support/oct_test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_prometheus.h"

static void
says(oct_prometheus *text, const char *want)
{
    size_t length;
    const char *got = oct_prometheus_text(text, &length);
    assert_string_equal(got, want);
    assert_int_equal(length, strlen(want));
    oct_prometheus_destroy(text);
}

// A family of one sample without labels.
static void
family_counter(oct_prometheus *text, const char *name, const char *help, double value)
{
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, name, help);
    oct_prometheus_add(text, NULL, 0, value);
}

static void
family_gauge(oct_prometheus *text, const char *name, const char *help, double value)
{
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, name, help);
    oct_prometheus_add(text, NULL, 0, value);
}

static void
add_for(oct_prometheus *text, const char *label, const char *label_value, double value)
{
    const oct_prometheus_label labels = {.name = label, .value = label_value};
    oct_prometheus_add(text, &labels, 1, value);
}

// ---- what cannot be written

typedef void (*mistake_fn)(oct_prometheus *text);

static void
mistake_name(oct_prometheus *text)
{
    family_gauge(text, "octet-updates", "Updates.", 1);
}

static void
mistake_digit(oct_prometheus *text)
{
    family_gauge(text, "1octet", "Updates.", 1);
}

static void
mistake_empty(oct_prometheus *text)
{
    family_gauge(text, "", "Updates.", 1);
}

static void
mistake_counter(oct_prometheus *text)
{
    family_counter(text, "octet_updates", "Updates.", 1);
}

static void
mistake_gauge(oct_prometheus *text)
{
    family_gauge(text, "octet_updates_total", "Updates.", 1);
}

static void
mistake_help(oct_prometheus *text)
{
    family_gauge(text, "octet_updates", "", 1);
}

static void
mistake_again(oct_prometheus *text)
{
    family_gauge(text, "octet_a", "A.", 1);
    family_gauge(text, "octet_b", "B.", 1);
    family_gauge(text, "octet_a", "A.", 2);
}

static void
mistake_label(oct_prometheus *text)
{
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_a", "A.");
    add_for(text, "__name__", "x", 1);
}

static void
mistake_label_again(oct_prometheus *text)
{
    const oct_prometheus_label labels[] = {{"a", "1"}, {"a", "2"}};
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_a", "A.");
    oct_prometheus_add(text, labels, 2, 1);
}

static void
mistake_no_family(oct_prometheus *text)
{
    oct_prometheus_add(text, NULL, 0, 1);
}

static void
test_prometheus_mistakes_of_ours_stop_the_program(void **state)
{
    (void)state;
    static const mistake_fn mistakes[] = {
        mistake_name, mistake_digit, mistake_empty, mistake_counter,     mistake_gauge,
        mistake_help, mistake_again, mistake_label, mistake_label_again, mistake_no_family,
    };
    for (size_t i = 0; i < OCT_COUNTOF(mistakes); i++) {
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit none = {0};
            (void)setrlimit(RLIMIT_CORE, &none);
            (void)close(STDERR_FILENO);
            mistakes[i](oct_prometheus_create());
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
            fail_msg("mistake %zu was written", i);
        }
    }
}

static void
test_prometheus_numbers_that_are_none_are_left_out_with_their_header(void **state)
{
    (void)state;
    oct_prometheus *text = oct_prometheus_create();
    family_gauge(text, "octet_a", "A.", NAN);
    family_counter(text, "octet_b_total", "B.", NAN);
    family_counter(text, "octet_c_total", "C.", INFINITY);
    family_counter(text, "octet_d_total", "D.", -1);
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_e", "E.");
    says(text, "");
}

static void
test_prometheus_samples_with_the_same_labels_are_written_once(void **state)
{
    (void)state;
    oct_prometheus *text = oct_prometheus_create();
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_a", "A.");
    add_for(text, "env", "x", 1);
    add_for(text, "env", "xy", 2);
    add_for(text, "env", "x", 3);
    oct_prometheus_add(text, NULL, 0, 4);
    oct_prometheus_add(text, NULL, 0, 5);
    says(text, "# HELP octet_a A.\n# TYPE octet_a gauge\n"
               "octet_a{env=\"x\"} 1\noctet_a{env=\"xy\"} 2\noctet_a 4\n");
}

// ---- what is written

static void
test_prometheus_writes_families(void **state)
{
    (void)state;
    oct_prometheus *text = oct_prometheus_create();
    const oct_prometheus_label labels[] = {{"daemon", "actor"}, {"version", "0.1.0"}};
    family_counter(text, "octet_updates_total", "Gradient steps.", 12345678901.0);
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_build_info", "Always 1.");
    oct_prometheus_add(text, labels, 2, 1);
    family_gauge(text, "octet_lag", "Lag.", 0.1);
    says(text, "# HELP octet_updates_total Gradient steps.\n# TYPE octet_updates_total counter\n"
               "octet_updates_total 12345678901\n"
               "# HELP octet_build_info Always 1.\n# TYPE octet_build_info gauge\n"
               "octet_build_info{daemon=\"actor\",version=\"0.1.0\"} 1\n"
               "# HELP octet_lag Lag.\n# TYPE octet_lag gauge\noctet_lag 0.1\n");
}

static void
test_prometheus_escapes(void **state)
{
    (void)state;
    oct_prometheus *text = oct_prometheus_create();
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_a", "back\\slash and\nnew \"line\".");
    add_for(text, "env", "a\"b\\c\n\xff\xc3\xa9", 1);
    says(text, "# HELP octet_a back\\\\slash and\\nnew \"line\".\n# TYPE octet_a gauge\n"
               "octet_a{env=\"a\\\"b\\\\c??\xc3\xa9\"} 1\n");
}

static void
test_prometheus_gauges_may_be_infinite_and_negative(void **state)
{
    (void)state;
    oct_prometheus *text = oct_prometheus_create();
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_bound", "B.");
    add_for(text, "bound", "max", INFINITY);
    add_for(text, "bound", "min", -INFINITY);
    add_for(text, "bound", "mid", -2.5e-300);
    says(text, "# HELP octet_bound B.\n# TYPE octet_bound gauge\n"
               "octet_bound{bound=\"max\"} +Inf\noctet_bound{bound=\"min\"} -Inf\n"
               "octet_bound{bound=\"mid\"} -2.5e-300\n");
}

static void
test_prometheus_long_label_values_are_cut(void **state)
{
    (void)state;
    char value[4 * OCT_PROMETHEUS_VALUE_MAX];
    memset(value, '"', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    const oct_prometheus_label labels[] = {{"a", value}, {"b", value}, {"c", value}, {"d", value}};
    oct_prometheus *text = oct_prometheus_create();
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_a", "A.");
    oct_prometheus_add(text, labels, 4, 1);
    size_t length;
    const char *got = oct_prometheus_text(text, &length);
    assert_non_null(strstr(got, "...\",b=\""));
    assert_non_null(strstr(got, "...\"} 1\n"));
    assert_true(length < 4 * (2 * OCT_PROMETHEUS_VALUE_MAX + 8) + 100);
    oct_prometheus_destroy(text);
}

// More samples of a family than there is room for are left out, and the next family has its own.
static void
test_prometheus_has_so_many_samples_of_a_family(void **state)
{
    (void)state;
    enum { MOST = 256 };
    char value[16];
    oct_prometheus *text = oct_prometheus_create();
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_a", "A.");
    for (int i = 0; i < MOST + 44; i++) {
        (void)snprintf(value, sizeof(value), "%d", i);
        add_for(text, "env", value, i);
    }
    family_gauge(text, "octet_b", "B.", 1);
    size_t length;
    const char *got = oct_prometheus_text(text, &length);
    assert_non_null(strstr(got, "octet_a{env=\"255\"} 255\n# HELP octet_b B.\n"));
    assert_non_null(strstr(got, "\noctet_b 1\n"));
    oct_prometheus_destroy(text);
}

// The text stays whole lines, and no family is without its header: also where that alone had room.
static void
test_prometheus_full_has_no_header_without_a_sample(void **state)
{
    (void)state;
    static char names[256][16];
    char value[OCT_PROMETHEUS_VALUE_MAX] = "";
    size_t length = 0;
    for (int shift = 0; shift < 40; shift++) {
        oct_prometheus *text = oct_prometheus_create();
        memset(value, 'x', (size_t)shift + 1);
        value[shift + 1] = '\0';
        family_gauge(text, "octet_first", value, 1); // moves the others by a byte each
        for (int family = 0; family < 255; family++) {
            (void)snprintf(names[family], sizeof(names[family]), "octet_%d", family);
            oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, names[family], "Help.");
            for (int i = 0; i < 33; i++) {
                (void)snprintf(value, sizeof(value), "%0105d", i);
                add_for(text, "label", value, i);
            }
        }
        const char *got = oct_prometheus_text(text, &length);
        assert_int_equal(strlen(got), length);
        const char *line = got + length - 1; // of the last line, back to its begin
        while (line > got && line[-1] != '\n') {
            line--;
        }
        assert_int_not_equal(*line, '#');
        oct_prometheus_destroy(text);
    }
    assert_in_range(length, OCT_PROMETHEUS_BYTES_MAX - 1000, OCT_PROMETHEUS_BYTES_MAX - 1);
}

// The text stays whole lines, and no family is without its header.
static void
test_prometheus_is_bounded(void **state)
{
    (void)state;
    static char names[200][16];
    char value[OCT_PROMETHEUS_VALUE_MAX];
    memset(value, 'x', sizeof(value));
    oct_prometheus *text = oct_prometheus_create();
    for (int family = 0; family < 200; family++) {
        (void)snprintf(names[family], sizeof(names[family]), "octet_%d", family);
        oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, names[family], "Help.");
        for (int i = 0; i < 100; i++) {
            (void)snprintf(value, sizeof(value), "%0100d", i);
            add_for(text, "label", value, i);
        }
    }
    size_t length;
    const char *got = oct_prometheus_text(text, &length);
    assert_in_range(length, OCT_PROMETHEUS_BYTES_MAX - 1000, OCT_PROMETHEUS_BYTES_MAX - 1);
    assert_int_equal(strlen(got), length);
    assert_int_equal(got[length - 1], '\n');
    oct_prometheus_destroy(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prometheus_mistakes_of_ours_stop_the_program),
        cmocka_unit_test(test_prometheus_numbers_that_are_none_are_left_out_with_their_header),
        cmocka_unit_test(test_prometheus_samples_with_the_same_labels_are_written_once),
        cmocka_unit_test(test_prometheus_writes_families),
        cmocka_unit_test(test_prometheus_escapes),
        cmocka_unit_test(test_prometheus_gauges_may_be_infinite_and_negative),
        cmocka_unit_test(test_prometheus_long_label_values_are_cut),
        cmocka_unit_test(test_prometheus_has_so_many_samples_of_a_family),
        cmocka_unit_test(test_prometheus_full_has_no_header_without_a_sample),
        cmocka_unit_test(test_prometheus_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
