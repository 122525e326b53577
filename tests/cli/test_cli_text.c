// Lines, bars, curves and numbers for a terminal: widths, cutting, control characters, units.
#include "cli/cli_text.h"
#include "tests/support/oct_test.h"

static cli_line
line_of(size_t cells)
{
    cli_line line;
    cli_line_init(&line, cells);
    return line;
}

static void
test_line_is_cut_at_whole_characters(void **state)
{
    (void)state;
    cli_line line = line_of(3);
    cli_line_add_whole(&line, "%s", "abcd");
    assert_string_equal(line.bytes, "");
    cli_line_add(&line, "a█");
    cli_line_add(&line, "±±tail");
    assert_string_equal(line.bytes, "a█±");
    assert_int_equal(line.cells, 3);
}

static void
test_line_keeps_control_characters_out(void **state)
{
    (void)state;
    cli_line line = line_of(80);
    cli_line_add(&line, "a\x1b[2Jb\nc\x7f\xC2\x9B|\x9B|±");
    assert_string_equal(line.bytes, "a [2Jb c  | |±");
    assert_int_equal(line.cells, 14);
}

static void
test_plain_text_has_no_control_characters_and_an_end(void **state)
{
    (void)state;
    char longer[200];
    memset(longer, 'x', sizeof(longer));
    assert_string_equal(cli_text_plain("a\x1b[2Jb\nc\x7f ±", SIZE_MAX).text, "a?[2Jb?c? ±");
    assert_string_equal(cli_text_plain("\xC2\x9B|", SIZE_MAX).text, "??|");
    assert_string_equal(cli_text_plain("5\v 6", 2).text, "5?");
    assert_int_equal(strlen(cli_text_plain(longer, sizeof(longer)).text), CLI_TEXT_PLAIN_MAX - 1);
}

static void
test_text_is_wrapped_at_spaces_and_long_words_between_characters(void **state)
{
    (void)state;
    assert_int_equal(cli_text_wrap("", 8), 0);
    assert_int_equal(cli_text_wrap("12345678", 8), 8);
    assert_int_equal(cli_text_wrap("1234 678 0", 8), 8);
    assert_int_equal(cli_text_wrap("1234 6789", 8), 4);
    assert_int_equal(cli_text_wrap("123456789 1", 8), 8);
    assert_int_equal(cli_text_wrap("1234567é9", 8), 7);
}

static void
test_line_of_no_width_stays_empty(void **state)
{
    (void)state;
    cli_line line = line_of(0);
    cli_line_add(&line, "text");
    cli_line_pad(&line, 5);
    cli_line_bar(&line, 5, 0.5);
    assert_string_equal(line.bytes, "");
}

static void
test_line_longer_than_its_memory_is_cut(void **state)
{
    (void)state;
    cli_line line = line_of(100000);
    for (int i = 0; i < 3000; i++) {
        cli_line_add(&line, "█");
    }
    cli_line_style(&line, "\x1b[0m");
    assert_true(line.used < sizeof(line.bytes));
    assert_string_equal(line.bytes + line.used - 4, "\x1b[0m");
}

static void
test_line_style_takes_no_cells(void **state)
{
    (void)state;
    cli_line line = line_of(2);
    cli_line_style(&line, "\x1b[1m");
    cli_line_add(&line, "abc");
    cli_line_style(&line, "\x1b[0m");
    assert_string_equal(line.bytes, "\x1b[1mab\x1b[0m");
    assert_int_equal(line.cells, 2);
}

static void
assert_bar(double fraction, bool ascii, const char *want)
{
    cli_line line = line_of(80);
    line.ascii = ascii;
    cli_line_bar(&line, 4, fraction);
    assert_string_equal(line.bytes, want);
}

static void
test_bar_fills_in_eighths(void **state)
{
    (void)state;
    assert_bar(NAN, false, "░░░░");
    assert_bar(-1, false, "░░░░");
    assert_bar(0, false, "░░░░");
    assert_bar(1.0 / 32, false, "▏░░░");
    assert_bar(0.25, false, "█░░░");
    assert_bar(0.5 + 3.0 / 32, false, "██▍░");
    assert_bar(1, false, "████");
    assert_bar(7, false, "████");
    assert_bar(0.6, true, "##..");
}

static void
assert_curve(const double *values, size_t count, size_t cells, const char *want)
{
    cli_line line = line_of(80);
    cli_line_curve(&line, cells, values, count);
    assert_string_equal(line.bytes, want);
}

static void
test_curve_spans_its_least_and_greatest(void **state)
{
    (void)state;
    const double values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    assert_curve(values, 0, 8, "");
    assert_curve(values, 1, 8, "▅");
    assert_curve(values, 9, 9, "▁▂▃▄▅▆▇██");
    const double flat[] = {3, 3};
    assert_curve(flat, 2, 8, "▅▅");
}

static void
test_curve_shares_columns_when_there_are_more_values(void **state)
{
    (void)state;
    const double values[] = {0, 2, 10, 12, 20, 22};
    assert_curve(values, 6, 3, "▁▅█");
}

static void
test_curve_leaves_a_gap_for_what_is_not_known(void **state)
{
    (void)state;
    const double values[] = {0, NAN, 8};
    assert_curve(values, 3, 3, "▁ █");
    const double nothing[] = {NAN};
    assert_curve(nothing, 1, 3, " ");
}

static void
test_numbers_that_are_not_known_are_dashes(void **state)
{
    (void)state;
    assert_string_equal(cli_text_count(NAN).text, "-");
    assert_string_equal(cli_text_bytes(NAN).text, "-");
    assert_string_equal(cli_text_seconds(NAN).text, "-");
    assert_string_equal(cli_text_value(NAN).text, "-");
    assert_string_equal(cli_text_share(NAN).text, "-");
}

static void
test_value_has_the_digits_that_matter(void **state)
{
    (void)state;
    assert_string_equal(cli_text_value(0).text, "0.00");
    assert_string_equal(cli_text_value(9.534).text, "9.53");
    assert_string_equal(cli_text_value(498.23).text, "498.2");
    assert_string_equal(cli_text_value(-110).text, "-110.0");
    assert_string_equal(cli_text_value(10412.4).text, "10412");
    assert_string_equal(cli_text_value(0.00042).text, "4.2e-04");
}

static void
test_share_is_a_percentage_between_0_and_100(void **state)
{
    (void)state;
    assert_string_equal(cli_text_share(0.634).text, "63 %");
    assert_string_equal(cli_text_share(-1).text, "0 %");
    assert_string_equal(cli_text_share(2).text, "100 %");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_is_cut_at_whole_characters),
        cmocka_unit_test(test_line_keeps_control_characters_out),
        cmocka_unit_test(test_plain_text_has_no_control_characters_and_an_end),
        cmocka_unit_test(test_text_is_wrapped_at_spaces_and_long_words_between_characters),
        cmocka_unit_test(test_line_of_no_width_stays_empty),
        cmocka_unit_test(test_line_longer_than_its_memory_is_cut),
        cmocka_unit_test(test_line_style_takes_no_cells),
        cmocka_unit_test(test_bar_fills_in_eighths),
        cmocka_unit_test(test_curve_spans_its_least_and_greatest),
        cmocka_unit_test(test_curve_shares_columns_when_there_are_more_values),
        cmocka_unit_test(test_curve_leaves_a_gap_for_what_is_not_known),
        cmocka_unit_test(test_numbers_that_are_not_known_are_dashes),
        cmocka_unit_test(test_value_has_the_digits_that_matter),
        cmocka_unit_test(test_share_is_a_percentage_between_0_and_100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
