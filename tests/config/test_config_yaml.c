// Messages about broken YAML have the position of the mistake, a plain sentence and the line.
#include <string.h>

#include "config/config_text.h"
#include "config/config_yaml.h"
#include "tests/support/oct_test.h"

static char message[4096];

typedef struct mistake {
    const char *text;
    const char *want; // without "x.yaml:"
} mistake;

static void
assert_message(const char *text, size_t length, const char *want)
{
    config_experiment config, before;
    char expected[sizeof(message)];
    config_default(&config);
    before = config;
    T_ERR(config_parse(&config, "x.yaml", text, length, message, sizeof(message)), OCT_EINVAL);
    (void)snprintf(expected, sizeof(expected), "x.yaml:%s", want);
    assert_string_equal(message, expected);
    assert_memory_equal(&config, &before, sizeof(config));
}

static void
assert_messages(const mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_message(mistakes[i].text, strlen(mistakes[i].text), mistakes[i].want);
    }
}

static void
test_a_line_without_a_colon_is_explained(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"learner:\n  batch_size:128\n", "2:14: error: a space is missing after the colon; write "
                                         "batch_size: VALUE\n"
                                         "    2 |   batch_size:128\n"
                                         "      |              ^\n"},
        {"learner:\n  threads: 1\n  batch_size:128\nactor:\n  count: 2\n",
         "3:14: error: a space is missing after the colon; write batch_size: VALUE\n"
         "    3 |   batch_size:128\n"
         "      |              ^\n"},
        {"learner:\n  batch_size:128\n  threads: 1\n",
         "2:14: error: a space is missing after the colon; write batch_size: VALUE\n"
         "    2 |   batch_size:128\n"
         "      |              ^\n"},
        {"learner:\n  batch_size = 128\n",
         "2:14: error: a colon and a space are needed instead of '='; write batch_size: VALUE\n"
         "    2 |   batch_size = 128\n"
         "      |              ^\n"},
        {"learner:\n  batch_size 128\n  threads: 1\n",
         "2:13: error: a colon is missing; write batch_size: VALUE\n"
         "    2 |   batch_size 128\n"
         "      |             ^\n"},
        {"env:\n  id: x\nlearner\n  threads: 1\n",
         "3:8: error: a colon is missing; write learner:\n"
         "    3 | learner\n"
         "      |        ^\n"},
        {"hello world\n", "1:6: error: a colon is missing; write hello: VALUE\n"
                          "    1 | hello world\n"
                          "      |      ^\n"},
        {"env:\n  id: x\n<<<<<<< HEAD\nrun:\n  seed: 1\n=======\n",
         "3:1: error: this line is a merge conflict marker; keep one of the two versions\n"
         "    3 | <<<<<<< HEAD\n"
         "      | ^\n"},
    };
    assert_messages(mistakes, OCT_COUNTOF(mistakes));
}

static void
test_wrong_indentation_is_explained(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"run:\n\tseed: 1\n", "2:1: error: the line begins with a tab; YAML indents with spaces\n"
                              "    2 |  seed: 1\n"
                              "      | ^\n"},
        {"run:\n  name: a\n \tseed: 1\n",
         "3:2: error: the line begins with a tab; YAML indents with spaces\n"
         "    3 |   seed: 1\n"
         "      |  ^\n"},
        {"run:\n  seed: 1\n\n # x\n wall_s: 2\n",
         "5:2: error: the line is indented by 1 space, line 2 by 2; keys of one section have the "
         "same indentation\n"
         "    5 |  wall_s: 2\n"
         "      |  ^\n"},
        {"learner:\n  batch_size: 3\n   threads: 1\n",
         "3:4: error: the line is indented deeper than line 2, which has a value; keys of one "
         "section have the same indentation\n"
         "    3 |    threads: 1\n"
         "      |    ^\n"},
        {"  run:\n    seed: 1\nenv:\n",
         "3:1: error: the line is indented less than the first one; sections are at the start of a "
         "line\n"
         "    3 | env:\n"
         "      | ^\n"},
        {"env:\n  id: x\n  learner:\n    threads: 1\n",
         "3:3: error: section learner is inside section env; sections are at the start of a "
         "line\n"},
    };
    assert_messages(mistakes, OCT_COUNTOF(mistakes));
}

static void
test_open_quotes_and_brackets_are_explained(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"env:\n  id: \"x\nrun:\n  seed: 1\n", "2:7: error: the quote is not closed\n"
                                               "    2 |   id: \"x\n"
                                               "      |       ^\n"},
        {"env:\n  id: 'x\n", "2:7: error: the quote is not closed\n"
                             "    2 |   id: 'x\n"
                             "      |       ^\n"},
        {"env:\n  id: \"a\\p\"\n", "2:9: error: '\\' begins an escape in double quotes; write "
                                   "'\\\\', or use single quotes\n"
                                   "    2 |   id: \"a\\p\"\n"
                                   "      |         ^\n"},
        {"env:\n  id: \"a\" b\n", "2:11: error: text follows the quoted value; put quotes around "
                                  "the whole text\n"
                                  "    2 |   id: \"a\" b\n"
                                  "      |           ^\n"},
        {"network:\n  hidden: [1, 2\n", "2:11: error: the '[' is not closed; ']' is missing\n"
                                        "    2 |   hidden: [1, 2\n"
                                        "      |           ^\n"},
        {"network:\n  hidden: [64, 64\nlearner:\n  threads: 1\n",
         "2:11: error: the '[' is not closed; ']' is missing\n"
         "    2 |   hidden: [64, 64\n"
         "      |           ^\n"},
        {"network:\n  hidden: [64]\nlearner: [\n",
         "3:10: error: the '[' is not closed; ']' is missing\n"
         "    3 | learner: [\n"
         "      |          ^\n"},
        {"network:\n  hidden: [64]]\n", "2:15: error: the ']' has no opening bracket\n"
                                        "    2 |   hidden: [64]]\n"
                                        "      |               ^\n"},
        {"{\"run\": {\"seed\": 1} \"env\": {}}\n", "1:21: error: a comma or '}' is expected\n"
                                                   "    1 | {\"run\": {\"seed\": 1} \"env\": {}}\n"
                                                   "      |                     ^\n"},
    };
    assert_messages(mistakes, OCT_COUNTOF(mistakes));
}

static void
test_values_that_need_quotes_are_explained(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"env:\n  id: @x\n",
         "2:7: error: a value that begins with '@' needs quotes, such as \"@x\"\n"
         "    2 |   id: @x\n"
         "      |       ^\n"},
        {"env:\n  id: |x\n",
         "2:7: error: a value that begins with '|' needs quotes, such as \"|x\"\n"
         "    2 |   id: |x\n"
         "      |       ^\n"},
        {"run:\n  name: my run: two\n",
         "2:15: error: a value with a colon and a space needs quotes, such as \"a: b\"\n"
         "    2 |   name: my run: two\n"
         "      |               ^\n"},
    };
    assert_messages(mistakes, OCT_COUNTOF(mistakes));
}

static void
test_lists_in_the_wrong_place_are_explained(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"env:\n  - id: x\n",
         "2:3: error: env is a section, not a list: its keys belong below it, indented, as "
         "name: value\n"},
        {"env:\n  id: x\n  - y\n", "3:3: error: a list item is among keys; write a list as "
                                   "[64, 64]\n"
                                   "    3 |   - y\n"
                                   "      |   ^\n"},
        {"env:\n  id:\n    name: x\n", "3:5: error: env.id must be one value, not a section; "
                                       "allowed text of up to 255 bytes\n"},
        {"network:\n  hidden:\n    a: 1\n",
         "3:5: error: network.hidden must be a list, such as [64, 64], not a section\n"},
        {"network:\n  hidden: 64\n",
         "2:11: error: network.hidden must be a list, such as [64, 64]\n"},
        {"learner:\n  batch_size: [3]\n",
         "2:15: error: learner.batch_size must be one value, not a list; allowed 1 .. 65536\n"},
    };
    assert_messages(mistakes, OCT_COUNTOF(mistakes));
}

static void
test_what_follows_from_a_mistake_is_not_told(void **state)
{
    (void)state;
    // The list runs on to "learner", which is no number; the first line is another mistake.
    assert_message("run:\n  seed: x\nnetwork:\n  hidden: [64, 64\nlearner:\n  threads: 1\n", 59,
                   "2:9: error: run.seed: x is not a whole number, allowed 0 .. 9007199254740992\n"
                   "x.yaml:4:11: error: the '[' is not closed; ']' is missing\n"
                   "    4 |   hidden: [64, 64\n"
                   "      |           ^\n");
}

static void
test_bytes_that_are_no_text_are_explained(void **state)
{
    (void)state;
    assert_message("\x7f"
                   "ELF\x02\x01",
                   6,
                   "1:1: error: a control character (code 127); an experiment is plain text\n"
                   "    1 | ?ELF??\n"
                   "      | ^\n");
    assert_message("run:\n  name: \xc3\xa4\xff\n", 17,
                   "2:10: error: the byte 0xFF is not UTF-8; save the file as UTF-8\n"
                   "    2 |   name: \xc3\xa4?\n"
                   "      |          ^\n");
    assert_message("run:\0\n", 6,
                   "1:5: error: a control character (code 0); an experiment is plain text\n"
                   "    1 | run:?\n"
                   "      |     ^\n");
    assert_message("\xff\xfer\0u\0n\0", 8,
                   "1:1: error: the file is UTF-16; save it as UTF-8\n"
                   "    1 | ??r?u?n?\n"
                   "      | ^\n");
}

static void
test_of_a_long_line_the_part_at_the_mistake_is_shown(void **state)
{
    (void)state;
    char text[1024] = "run:\n  name: \"", shown[256];
    memset(text + strlen(text), 'a', 500);
    strcat(text, "\" b");
    oct_text out;
    oct_text_init(&out, shown, sizeof(shown));
    config_yaml_show(&out, text, strlen(text), 1, 511);
    const char *caret = strrchr(shown, '^'), *line = strchr(shown, '\n');
    assert_non_null(caret);
    assert_int_equal(shown[caret - line - 1], 'b'); // the mark is below it
    assert_true(line - shown < 120);
    oct_text_init(&out, shown, sizeof(shown));
    config_yaml_show(&out, "run:", 4, 7, 3); // no such line
    assert_string_equal(shown, "    8 | \n      | ^\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_without_a_colon_is_explained),
        cmocka_unit_test(test_wrong_indentation_is_explained),
        cmocka_unit_test(test_open_quotes_and_brackets_are_explained),
        cmocka_unit_test(test_values_that_need_quotes_are_explained),
        cmocka_unit_test(test_lists_in_the_wrong_place_are_explained),
        cmocka_unit_test(test_what_follows_from_a_mistake_is_not_told),
        cmocka_unit_test(test_bytes_that_are_no_text_are_explained),
        cmocka_unit_test(test_of_a_long_line_the_part_at_the_mistake_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
