// Names, texts, ranges and finite numbers are accepted or refused at their exact limits.
#include "proto/wire_check.h"

#include "tests/support/oct_test.h"

#define NAME(text) wire_check_name((text), sizeof(text) - 1, 256)
#define TEXT(text) wire_check_text((text), sizeof(text) - 1, 256)

static void
test_name_refuses_controls_and_nul(void **state)
{
    (void)state;
    assert_false(NAME("a\nb"));
    assert_false(NAME("a\tb"));
    assert_false(NAME("\x1b[31m"));
    assert_false(NAME("a\x7f"));
    assert_false(NAME("a\xC2\x80"));
    assert_false(NAME("\xC2\x9Fz"));
    assert_true(NAME("\xC2\xA0"));
    assert_false(NAME("a\0b"));
    assert_false(NAME("\0"));
}

static void
test_text_allows_only_tabs_and_line_ends(void **state)
{
    (void)state;
    assert_true(TEXT("a:\n\t- b\r\n"));
    assert_false(TEXT("a\0b"));
    assert_false(TEXT("a\x0b"));
    assert_false(TEXT("a\x1b"));
    assert_false(TEXT("a\xC2\x85"));
}

static void
test_text_refuses_what_is_not_utf8(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",             // continuation without a lead
        "\xc3",             // lead without a continuation
        "\xc0\xaf",         // overlong, two bytes
        "\xc1\xbf",         // overlong, two bytes
        "\xe0\x9f\xbf",     // overlong, three bytes
        "\xed\xa0\x80",     // surrogate
        "\xf0\x8f\xbf\xbf", // overlong, four bytes
        "\xf4\x90\x80\x80", // above U+10FFFF
        "\xf5\x80\x80\x80", // no such lead
        "\xe2\x82",         // cut
        "\xe2\x82x",        // interrupted
        "\xff",
    };
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        assert_false(wire_check_text(bad[i], strlen(bad[i]), 256));
    }
    static const char *const good[] = {"\xc2\xa0",     "\xdf\xbf",        "\xe0\xa0\x80",
                                       "\xed\x9f\xbf", "\xee\x80\x80",    "\xf0\x90\x80\x80",
                                       "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < OCT_COUNTOF(good); i++) {
        assert_true(wire_check_text(good[i], strlen(good[i]), 256));
    }
}

static void
test_name_length_is_bounded_inclusively(void **state)
{
    (void)state;
    assert_true(wire_check_name("", 0, 0));
    assert_true(wire_check_name("abc", 3, 3));
    assert_false(wire_check_name("abc", 3, 2));
}

static void
test_finite_finds_one_bad_value_anywhere(void **state)
{
    (void)state;
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float values[37];
    for (size_t at = 0; at < OCT_COUNTOF(values); at++) {
        for (size_t i = 0; i < OCT_COUNTOF(values); i++) {
            values[i] = i % 2 == 0 ? 3.4028234e38f : -1e-45f;
        }
        assert_true(wire_check_finite(values, OCT_COUNTOF(values)));
        values[at] = bad[at % 4];
        assert_false(wire_check_finite(values, OCT_COUNTOF(values)));
        assert_true(wire_check_finite(values, at));
    }
    assert_true(wire_check_finite(NULL, 0));
}

static void
test_range_includes_its_ends_and_refuses_nan(void **state)
{
    (void)state;
    float values[19] = {0.0f, 1.0f, 0.5f, -0.0f};
    assert_true(wire_check_range(values, OCT_COUNTOF(values), 0.0f, 1.0f));
    static const float bad[] = {NAN, INFINITY, -INFINITY, -1e-30f, 1.0000001f};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        values[18 - i] = bad[i];
        assert_false(wire_check_range(values, OCT_COUNTOF(values), 0.0f, 1.0f));
        values[18 - i] = 0.0f;
    }
    assert_true(wire_check_range(NULL, 0, 0.0f, 1.0f));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_refuses_controls_and_nul),
        cmocka_unit_test(test_text_allows_only_tabs_and_line_ends),
        cmocka_unit_test(test_text_refuses_what_is_not_utf8),
        cmocka_unit_test(test_name_length_is_bounded_inclusively),
        cmocka_unit_test(test_finite_finds_one_bad_value_anywhere),
        cmocka_unit_test(test_range_includes_its_ends_and_refuses_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
