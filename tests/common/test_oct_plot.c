// Pictures of curves: what lies in the frame, names of any length, dots.
#include "common/oct_plot.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

#define PICTURE     "test_oct_plot.svg"
#define FRAME_RIGHT 736.0
#define SECOND      "428.0" // where names of the second column begin

static const oct_plot_point line[] = {{0, 1, 0.5, 1.5}, {1, 2, 1.5, 2.5}, {2, 1.5, 1, 2}};

static void
plot_begin(oct_plot *plot, double x_high, const char *const *names, uint32_t count)
{
    oct_plot_frame frame = {
        .title = "t", .x_high = x_high, .y_low = 0, .y_high = 3, .curve = names, .curves = count};
    oct_plot_begin(plot, &frame);
}

static char *
plot_end(oct_plot *plot)
{
    uint8_t *text;
    size_t length;
    T_OK(oct_plot_end(plot, PICTURE));
    T_OK(oct_file_read(PICTURE, 1 << 20, &text, &length));
    assert_int_equal(unlink(PICTURE), 0);
    return (char *)text;
}

static size_t
count_of(const char *text, const char *what)
{
    size_t count = 0;
    while ((text = strstr(text, what)) != NULL) {
        text++;
        count++;
    }
    return count;
}

// The value of the next attribute of this name; NAN: there is none.
static double
number_after(const char **text, const char *name)
{
    const char *at = strstr(*text, name);
    if (at == NULL) {
        return NAN;
    }
    *text = at + strlen(name);
    return strtod(*text, NULL);
}

// The axis ends where the data ends, between two ticks or on one.
static void
test_plot_has_no_tick_outside_of_its_frame(void **state)
{
    (void)state;
    static const double ends[] = {1.94, 2, 0.3, 7.999, 100, 123457};
    for (size_t i = 0; i < OCT_COUNTOF(ends); i++) {
        oct_plot plot;
        plot_begin(&plot, ends[i], NULL, 0);
        oct_plot_axes(&plot, &(oct_plot_labels){OCT_PLOT_SECONDS, "x", "y"}, NULL, NULL);
        char *text = plot_end(&plot);
        const char *at = text;
        double x, most = 0;
        while (!isnan(x = number_after(&at, "<line class=\"grid\" x1=\""))) {
            most = fmax(most, x);
        }
        assert_true(most > 400 && most <= FRAME_RIGHT + 0.05);
        free(text);
    }
    // A tick that the end itself is.
    oct_plot plot;
    plot_begin(&plot, 2, NULL, 0);
    oct_plot_axes(&plot, &(oct_plot_labels){OCT_PLOT_SECONDS, "x", "y"}, NULL, NULL);
    char *text = plot_end(&plot);
    assert_non_null(strstr(text, "<line class=\"grid\" x1=\"736.0\""));
    free(text);
}

static void
test_plot_labels_its_ticks_with_round_numbers(void **state)
{
    (void)state;
    const struct {
        double low, high;
        const char *labels[13];
    } cases[] = {
        {0, 1, {"0", "0.2", "0.4", "0.6", "0.8", "1"}},
        {-0.31, 0.7, {"-0.4", "-0.2", "0", "0.2", "0.4", "0.6", "0.8"}},
        {0.12, 0.33, {"0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35"}},
        {0, 3e-9, {"0", "5e-10", "1e-09", "1.5e-09", "2e-09", "2.5e-09", "3e-09"}},
        {-330, -120, {"-350", "-300", "-250", "-200", "-150", "-100"}},
        {-900, 100, {"-1000", "-800", "-600", "-400", "-200", "0", "200"}},
        {0, 3.5e20, {"0", "5e+19", "1e+20", "1.5e+20", "2e+20", "2.5e+20", "3e+20", "3.5e+20"}},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_plot plot;
        oct_plot_frame frame = {
            .title = "t", .x_high = 1, .y_low = cases[i].low, .y_high = cases[i].high};
        oct_plot_begin(&plot, &frame);
        oct_plot_axes(&plot, &(oct_plot_labels){OCT_PLOT_SECONDS, "x", "y"}, NULL, NULL);
        char *text = plot_end(&plot), label[64];
        size_t count = 0;
        for (; cases[i].labels[count] != NULL; count++) {
            (void)snprintf(label, sizeof(label), ">%s</text>", cases[i].labels[count]);
            if (strstr(text, label) == NULL) {
                fail_msg("%s is not there: %s", label, text);
            }
        }
        assert_int_equal(count_of(text, "text-anchor=\"end\""), count);
        free(text);
    }
}

// The names' lines end before the next column, or the frame, by the widest of the fonts.
static void
names_fit(const char *const *names, uint32_t count, size_t lines)
{
    oct_plot plot;
    plot_begin(&plot, 2, names, count);
    char *text = plot_end(&plot);
    const char *at = strstr(text, "</text>"); // behind the title
    bool has_two = strstr(text, "x=\"" SECOND "\"") != NULL;
    double x, y_max = 0;
    size_t found = 0;
    for (; !isnan(x = number_after(&at, "<text class=\"ink\" x=\"")); found++) {
        y_max = fmax(y_max, number_after(&at, "y=\""));
        size_t letters = strcspn(strchr(at, '>') + 1, "<");
        double right =
            has_two && x < strtod(SECOND, NULL) ? strtod(SECOND, NULL) - 24 : FRAME_RIGHT;
        assert_true(x + 7.5 * (double)letters <= right);
    }
    assert_int_equal(found, lines);
    at = text;
    assert_true(number_after(&at, " height=\"") > y_max + 8);
    free(text);
}

static void
test_plot_sets_names_of_any_length_within_the_picture(void **state)
{
    (void)state;
    static char lengthy[] = "algo.learning_rate=0.0001 network.hidden=[1024,1024,1024] "
                            "learner.batch_size=4096 actor.epsilon_base=0.123 env.options=a=1,b=2";
    static char no_space[200];
    memset(no_space, 'x', sizeof(no_space) - 1);
    names_fit((const char *const[]){"a", "b", "c"}, 3, 3);
    names_fit((const char *const[]){lengthy, "b", lengthy}, 3, 5);
    names_fit((const char *const[]){no_space, "b"}, 2, 4);
    names_fit((const char *const[]){""}, 1, 1);
    oct_plot plot;
    plot_begin(&plot, 2, (const char *const[]){lengthy}, 1);
    char *text = plot_end(&plot);
    assert_non_null(strstr(text, "env.options=a=1,b=2"));
    free(text);
}

static void
test_plot_frame_has_the_bands_of_its_points(void **state)
{
    (void)state;
    oct_plot_frame frame = {.title = "t"};
    oct_plot_frame_clear(&frame);
    assert_true(frame.y_low > frame.y_high);
    oct_plot_frame_add(&frame, line, OCT_COUNTOF(line));
    assert_true(frame.x_high == 2 && frame.y_low == 0.5 && frame.y_high == 2.5);
}

static void
test_plot_has_dots_where_they_are_asked_for(void **state)
{
    (void)state;
    oct_plot plot;
    plot_begin(&plot, 2, NULL, 0);
    oct_plot_line(&plot, 0, line, OCT_COUNTOF(line));
    char *text = plot_end(&plot);
    assert_int_equal(count_of(text, "<circle"), 0);
    free(text);
    plot_begin(&plot, 2, NULL, 0);
    oct_plot_dots(&plot, 0, line, OCT_COUNTOF(line));
    text = plot_end(&plot);
    assert_int_equal(count_of(text, "<circle"), OCT_COUNTOF(line));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plot_has_no_tick_outside_of_its_frame),
        cmocka_unit_test(test_plot_labels_its_ticks_with_round_numbers),
        cmocka_unit_test(test_plot_sets_names_of_any_length_within_the_picture),
        cmocka_unit_test(test_plot_frame_has_the_bands_of_its_points),
        cmocka_unit_test(test_plot_has_dots_where_they_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
