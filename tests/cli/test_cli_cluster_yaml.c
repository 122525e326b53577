// Text as YAML: what must be escaped is, what stands as it is does, and what is no text is found.

#include "tests/support/oct_test.h"

#include <stdlib.h>

#include "cli/cluster/cli_cluster_yaml.h"

// What write gives of text, malloc'd.
static char *
written(void (*write)(FILE *out, const char *text), const char *text)
{
    char *got = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&got, &size);
    assert_non_null(out);
    write(out, text);
    assert_int_equal(fclose(out), 0);
    return got;
}

static void
expect(void (*write)(FILE *out, const char *text), const char *text, const char *want)
{
    char *got = written(write, text);
    assert_string_equal(got, want);
    free(got);
}

static void
block_of_four(FILE *out, const char *text)
{
    cli_yaml_block(out, text, 4);
}

static void
test_quotes_hold_any_text(void **state)
{
    (void)state;
    expect(cli_yaml_string, "", "\"\"");
    expect(cli_yaml_string, "no", "\"no\"");
    expect(cli_yaml_string, "a \"b\" \\n", "\"a \\\"b\\\" \\\\n\"");
    expect(cli_yaml_string, "a\nkind: Pod\r\t\x01\x7f",
           "\"a\\nkind: Pod\\u000d\\u0009\\u0001\\u007f\"");
    // Next line, line separator, mark of the byte order: ends of lines for some, nothing for
    // others.
    expect(cli_yaml_string, "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf", "\"\\u0085\\u2028\\ufeff\"");
    expect(cli_yaml_string, "\xc3\xa9\xf0\x9f\xa4\x96", "\"\xc3\xa9\xf0\x9f\xa4\x96\"");
    expect(cli_yaml_string, "$(HOME) $", "\"$(HOME) $\"");
    expect(cli_yaml_argument, "$(HOME) $$ $", "\"$$(HOME) $$$$ $$\"");
}

static void
test_what_is_no_text_is_found(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\xff",
        "a\x80",
        "\xc3",
        "\xc0\xaf",
        "\xe0\x80\x80",
        "\xed\xa0\x80",
        "\xe2\x82",
        "\xf4\x90\x80\x80",
        "\xf0\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
    };
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        assert_false(cli_yaml_is_text(bad[i]));
    }
    assert_true(cli_yaml_is_text(""));
    assert_true(
        cli_yaml_is_text("a\xc3\xa9\xe2\x82\xac\xf0\x9f\xa4\x96\xef\xbf\xbf\xf4\x8f\xbf\xbf"));
}

static void
test_blocks_where_they_give_the_text(void **state)
{
    (void)state;
    expect(block_of_four, "a: 1\n\nb: \"$x\"\n", " |\n    a: 1\n\n    b: \"$x\"\n");
    // A block would lose the blanks, or the ends of lines.
    expect(block_of_four, " a\n", " \" a\\n\"\n");
    expect(block_of_four, "a", " \"a\"\n");
    expect(block_of_four, "a\n\n", " \"a\\n\\n\"\n");
    expect(block_of_four, "", " \"\"\n");
    expect(block_of_four, "\n", " \"\\n\"\n");
    expect(block_of_four, "a\rb\n", " \"a\\u000db\\n\"\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotes_hold_any_text),
        cmocka_unit_test(test_what_is_no_text_is_found),
        cmocka_unit_test(test_blocks_where_they_give_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
