// The learning curve is well-formed XML that stays within its frame, whatever the points and title
// are. Python's parser checks the XML.
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "learner/learner_curve.h"
#include "tests/support/oct_test.h"

#define PATH      "test_learner_curve.svg"
#define BYTES_MAX (1u << 24)
#define MANY      5000

static char *
write_and_read(const learner_curve_point *points, size_t count, const char *title, double goal)
{
    uint8_t *text = NULL;
    size_t length = 0;
    T_OK(learner_curve_write(PATH, points, count, title, "environment steps", goal));
    T_OK(oct_file_read(PATH, BYTES_MAX, &text, &length));
    return (char *)text;
}

// python's parser is the judge of what XML is.
static void
assert_well_formed(void)
{
    assert_int_equal(system("python3 -c \"import xml.dom.minidom as m; "
                            "d = m.parse('" PATH "').documentElement; "
                            "assert d.tagName == 'svg'\""),
                     0);
}

static void
assert_numbers_only(const char *svg)
{
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf,"));
    assert_null(strstr(svg, "\"inf"));
    assert_null(strstr(svg, "\"-inf"));
}

static void
test_curve_says_where_it_cannot_write(void **state)
{
    (void)state;
    T_ERR(learner_curve_write("/nonexistent/folder/curve.svg", NULL, 0, "x", "steps", NAN),
          OCT_ENOTFOUND);
}

static void
test_curve_of_nothing_says_so(void **state)
{
    (void)state;
    char *svg = write_and_read(NULL, 0, "empty", NAN);
    assert_well_formed();
    assert_non_null(strstr(svg, "no evaluation yet"));
    assert_numbers_only(svg);
    free(svg);
}

static void
test_curve_leaves_out_what_is_not_finite(void **state)
{
    (void)state;
    learner_curve_point points[] = {
        {1, 100, 5, 1}, {2, 200, NAN, 1}, {3, INFINITY, 7, 1}, {NAN, 300, 7, 1}, {4, 400, 9, NAN}};
    char *svg = write_and_read(points, OCT_COUNTOF(points), "gaps", -INFINITY);
    assert_well_formed();
    assert_numbers_only(svg);
    size_t dots = 0;
    for (const char *at = svg; (at = strstr(at, "<circle")) != NULL; at++) {
        dots++;
    }
    assert_int_equal(dots, 2);
    free(svg);
}

static void
test_curve_of_one_point_shows_its_spread(void **state)
{
    (void)state;
    learner_curve_point point = {0.5, 1000, 20, 4};
    char *svg = write_and_read(&point, 1, "one", 475);
    assert_well_formed();
    assert_non_null(strstr(svg, "<circle"));
    assert_non_null(strstr(svg, "goal 475"));
    assert_numbers_only(svg);
    free(svg);
}

static void
test_curve_of_equal_returns_has_a_height(void **state)
{
    (void)state;
    learner_curve_point points[] = {{1, 100, -200, 0}, {2, 200, -200, 0}, {3, 300, -200, 0}};
    char *svg = write_and_read(points, OCT_COUNTOF(points), "flat", NAN);
    assert_well_formed();
    assert_numbers_only(svg);
    free(svg);
}

// Returns that are never negative have an axis from 0, however wide they spread.
static void
test_curve_begins_at_0_unless_a_return_is_negative(void **state)
{
    (void)state;
    learner_curve_point points[] = {{1, 100, 20, 90}, {2, 200, 480, 10}};
    char *svg = write_and_read(points, OCT_COUNTOF(points), "from 0", NAN);
    assert_non_null(strstr(svg, ">0</text>"));
    assert_null(strstr(svg, ">-"));
    free(svg);
    points[0].mean = -20;
    svg = write_and_read(points, OCT_COUNTOF(points), "below 0", NAN);
    assert_non_null(strstr(svg, ">-"));
    free(svg);
}

static void
test_curve_keeps_a_foreign_title_harmless(void **state)
{
    (void)state;
    char *svg = write_and_read(NULL, 0, "<a> & \"b\" \x01\xff ü]]>", NAN);
    assert_well_formed();
    assert_non_null(strstr(svg, "&lt;a&gt; &amp;"));
    assert_null(strstr(svg, "<a>"));
    free(svg);
}

static void
test_curve_of_many_points_stays_in_the_frame(void **state)
{
    (void)state;
    learner_curve_point *points = calloc(MANY, sizeof(*points));
    for (size_t i = 0; i < MANY; i++) {
        points[i] = (learner_curve_point){.wall_s = (double)i,
                                          .env_steps = 1e4 * (double)(i + 1),
                                          .mean = 1e6 * sin((double)i / 300),
                                          .std = 1e5};
    }
    char *svg = write_and_read(points, MANY, "many", NAN);
    assert_well_formed();
    assert_numbers_only(svg);
    const char *at = strstr(strstr(svg, "<polyline"), "points=\"") + strlen("points=\"");
    size_t shown = 0;
    double x = NAN;
    for (; *at != '"'; shown++) {
        char *end = NULL;
        x = strtod(at, &end);
        double y = strtod(end + 1, &end);
        assert_true(x >= 72 && x <= 736 && y >= 52 && y <= 346);
        at = end + 1;
    }
    assert_true(shown <= LEARNER_CURVE_SHOWN && shown > LEARNER_CURVE_SHOWN / 3);
    T_NEAR(x, 736, 0.1, 0); // the last one
    free(points);
    free(svg);
}

static void
add(learner_curve_point *points, uint32_t *count, uint32_t room, double env_steps, double mean)
{
    learner_curve_point point = {.env_steps = env_steps, .mean = mean};
    learner_curve_add(points, count, room, &point);
}

static void
test_curve_keeps_points_in_order_and_one_for_each_place(void **state)
{
    (void)state;
    learner_curve_point points[8];
    uint32_t count = 0;
    add(points, &count, 8, 100, 1);
    add(points, &count, 8, 300, 3);
    add(points, &count, 8, 200, 2); // an older policy, evaluated later
    add(points, &count, 8, 300, 4); // the same policy on more episodes
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        T_NEAR(points[i].env_steps, 100.0 * (i + 1), 0, 0);
    }
    T_NEAR(points[2].mean, 4, 0, 0);
}

static void
test_curve_thins_out_when_it_is_full(void **state)
{
    (void)state;
    learner_curve_point points[4];
    uint32_t count = 0;
    for (int i = 0; i < 100; i++) {
        add(points, &count, 4, i, i);
        assert_true(count <= 4);
        T_NEAR(points[count - 1].env_steps, i, 0, 0);
    }
    T_NEAR(points[0].env_steps, 0, 0, 0);
    add(points, &count, 4, -1, 0); // before all others, perhaps into a full one
    add(points, &count, 4, -2, 0);
    assert_true(count <= 4);
    for (uint32_t i = 1; i < count; i++) {
        assert_true(points[i - 1].env_steps < points[i].env_steps);
    }
}

// An older policy that was evaluated later comes between two points that stay.
static void
test_curve_that_thins_out_stays_in_order(void **state)
{
    (void)state;
    for (int late = 0; late < 4; late++) {
        learner_curve_point points[4];
        uint32_t count = 0;
        for (int i = 0; i < 4; i++) {
            add(points, &count, 4, 10 * i, i);
        }
        add(points, &count, 4, 10 * late + 5, 9);
        assert_int_equal(count, 3);
        for (uint32_t i = 1; i < count; i++) {
            assert_true(points[i - 1].env_steps < points[i].env_steps);
        }
    }
}

static void
test_curve_is_drawn_less_often_the_longer_it_is(void **state)
{
    (void)state;
    uint64_t drawn = 0, times = 0;
    assert_false(learner_curve_is_due(0, 0));
    for (uint64_t changes = 1; changes <= 3000000; changes++) {
        if (learner_curve_is_due(changes, drawn)) {
            assert_true(changes <= LEARNER_CURVE_PART || changes - drawn <= changes / 60 + 1);
            drawn = changes;
            times++;
        }
    }
    assert_true(times < 900);
    assert_false(learner_curve_is_due(drawn, drawn));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curve_keeps_points_in_order_and_one_for_each_place),
        cmocka_unit_test(test_curve_thins_out_when_it_is_full),
        cmocka_unit_test(test_curve_that_thins_out_stays_in_order),
        cmocka_unit_test(test_curve_is_drawn_less_often_the_longer_it_is),
        cmocka_unit_test(test_curve_says_where_it_cannot_write),
        cmocka_unit_test(test_curve_of_nothing_says_so),
        cmocka_unit_test(test_curve_leaves_out_what_is_not_finite),
        cmocka_unit_test(test_curve_of_one_point_shows_its_spread),
        cmocka_unit_test(test_curve_of_equal_returns_has_a_height),
        cmocka_unit_test(test_curve_begins_at_0_unless_a_return_is_negative),
        cmocka_unit_test(test_curve_keeps_a_foreign_title_harmless),
        cmocka_unit_test(test_curve_of_many_points_stays_in_the_frame),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(PATH);
    return failed;
}
