// Options are refused by name before anything is stored, every form of an option is taken, and
// values outside their bounds are refused with what is allowed.
#include <math.h>
#include <string.h>

#include "common/oct_args.h"
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

typedef struct parsed {
    const char *dash, *seed, *argument, *second, *word;
    bool is_quiet;
    uint32_t count, dash_port;
    uint64_t large;
    double share;
    enum { ABSMAX = 3, MSE } range;
    bool is_second;
    const char *set[2];
    size_t set_count;
    char taken[16];
} parsed;

static oct_err
take(const oct_arg_given *given)
{
    if (strcmp(given->text, "bad") == 0) {
        return OCT_EINVAL;
    }
    if (strcmp(given->text, "worse") == 0) {
        return oct_refuse(given->why, "the whole message");
    }
    (void)snprintf(given->field, sizeof(((parsed *)0)->taken), "%s=%s", given->row->key,
                   given->text);
    return OCT_OK;
}

static const char *const ranges[] = {"absmax", "mse", NULL};
static const char *const numbers[] = {"first", "second", NULL};

static const oct_arg rows[] = {
    {OCT_ARG_OPERAND("files", parsed, argument)},
    {OCT_ARG_COUNT("dash", "PORT", parsed, dash_port, 1, 65535), .bare = "8260", .help = "Port"},
    {OCT_ARG_TEXT("seed", "S", parsed, seed), .help = "Value"},
    {OCT_ARG_TEXTS("set", "KEY=VALUE", parsed, set, set_count), .help = "List"},
    {OCT_ARG_FLAG("quiet", parsed, is_quiet), .help = "No value"},
    {OCT_ARG_TEXT("secret", "S", parsed, dash)},
    {0},
};

static const oct_arg value_rows[] = {
    {OCT_ARG_COUNT("count", "N", parsed, count, 2, 9), .help = "32 bits"},
    {OCT_ARG_COUNT("large", "N", parsed, large, 0, UINT64_MAX), .help = "64 bits"},
    {OCT_ARG_NUMBER("share", "X", parsed, share, -1, INFINITY), .help = "Number"},
    {OCT_ARG_WORD("range", "R", parsed, range, ranges), .min = ABSMAX, .help = "Word"},
    {OCT_ARG_WORD("number", "R", parsed, is_second, numbers), .help = "Word as a bool"},
    {OCT_ARG_TEXT("word", "W", parsed, word), .words = ranges, .help = "Word as a text"},
    {OCT_ARG_TAKE("take", "T", parsed, taken, take), .key = "key", .allowed = "are others",
     .help = "Function"},
    {0},
};

static const oct_args table = {.rows = rows};
static const oct_args both = {.rows = rows, .shared = {{value_rows, 0, 1}}, .version = "1"};
static oct_reason reason;

// Parses up to three words; NULL ends them.
static oct_err
words_parse(const oct_args *args, parsed *out, const char *first, const char *second,
            const char *third)
{
    const char *words[] = {"run", first, second, third};
    static char storage[4][64]; // the parsed words point into it
    char *argv[5] = {NULL};
    int argc = 0;
    for (; argc < 4 && words[argc] != NULL; argc++) {
        (void)snprintf(storage[argc], sizeof(storage[argc]), "%s", words[argc]);
        argv[argc] = storage[argc];
    }
    *out = (parsed){0};
    reason.text[0] = '\0';
    oct_err err = oct_args_parse(args, "octet run", argc, argv, out, &reason);
    assert_string_equal(argv[0], "run");
    return err;
}

static oct_err
parse_words(parsed *out, const char *first, const char *second, const char *third)
{
    return words_parse(&table, out, first, second, third);
}

static void
expect_said(const char *why)
{
    if (strstr(reason.text, why) == NULL) {
        fail_msg("'%s' lacks '%s'", reason.text, why);
    }
}

static void
expect_refused(const char *first, const char *second, const char *why)
{
    parsed out;
    T_ERR(parse_words(&out, first, second, NULL), OCT_EINVAL);
    expect_said(why);
    assert_false(out.dash_port > 0 || out.is_quiet || out.seed != NULL || out.argument != NULL);
}

static void
test_wrong_options_are_named_before_anything_is_parsed(void **state)
{
    (void)state;
    expect_refused("--quiet", "--sede", "unknown option '--sede'; did you mean '--seed'?");
    expect_refused("--nonsense", NULL,
                   "unknown option '--nonsense'\n  allowed: --dash --seed --set "
                   "--quiet --help --usage");
    expect_refused("--quiet", "--se", "option '--se' is ambiguous: '--seed' or '--set'");
    expect_refused("--quiet", "--seed", "option '--seed' needs a value");
    expect_refused("--quiet=1", NULL, "option '--quiet' takes no value");
    expect_refused("-q", NULL, "unknown option '-q'; did you mean '--quiet'?");
    expect_refused("-V", NULL, "unknown option '-V'");
    assert_null(strstr(reason.text, "secret"));
}

static void
test_a_needed_value_may_be_the_next_word(void **state)
{
    (void)state;
    parsed out;
    T_OK(parse_words(&out, "--seed", "--quiet", NULL)); // the value
    assert_string_equal(out.seed, "--quiet");
    assert_false(out.is_quiet);
    T_OK(parse_words(&out, "--see=3", "pole", NULL));
    assert_string_equal(out.seed, "3");
    assert_string_equal(out.argument, "pole");
    T_OK(parse_words(&out, "--seed=3", "--seed=", NULL));
    assert_string_equal(out.seed, "");
}

static void
test_an_optional_value_is_never_the_next_word(void **state)
{
    (void)state;
    parsed out;
    T_OK(parse_words(&out, "pole", "--dash", NULL));
    assert_int_equal(out.dash_port, 8260);
    T_OK(parse_words(&out, "--dash", "pole", "--quiet"));
    assert_int_equal(out.dash_port, 8260);
    assert_string_equal(out.argument, "pole");
    assert_true(out.is_quiet);
    T_OK(parse_words(&out, "--dash=9000", "pole", NULL));
    assert_int_equal(out.dash_port, 9000);
    expect_refused("--dash", "--sede", "unknown option '--sede'");
}

static void
test_what_follows_two_dashes_is_no_option(void **state)
{
    (void)state;
    parsed out;
    T_OK(parse_words(&out, "--", "--sede", NULL));
    assert_string_equal(out.argument, "--sede");
    T_OK(parse_words(&out, "-", NULL, NULL));
    assert_string_equal(out.argument, "-");
    T_OK(parse_words(&out, "--secret=x", "--quiet", "--"));
    assert_string_equal(out.dash, "x");
}

static void
value_refused(const char *word, const char *why)
{
    parsed out;
    T_ERR(words_parse(&both, &out, word, NULL, NULL), OCT_EINVAL);
    expect_said(why);
}

static void
test_values_outside_their_bounds_are_refused(void **state)
{
    (void)state;
    value_refused("--count=1", "--count is '1'; allowed is a whole number from 2 to 9");
    value_refused("--count=10", "--count is '10'; allowed");
    value_refused("--count=", "--count is ''; allowed");
    value_refused("--count=+3", "--count is '+3'; allowed");
    value_refused("--count=3x", "--count is '3x'; allowed");
    value_refused("--large=18446744073709551616", "from 0 to 18446744073709551615");
    value_refused("--share=-2", "--share is '-2'; allowed is a number of at least -1");
    value_refused("--share=nan", "--share is 'nan'; allowed");
    value_refused("--range=absmin", "--range is 'absmin'; allowed is absmax or mse; did you mean "
                                    "'absmax'?");
    value_refused("--word=x", "--word is 'x'; allowed is absmax or mse");
    value_refused("--take=bad", "--take is 'bad'; allowed are others");
    value_refused("--take=worse", "the whole message");
}

static void
test_values_within_their_bounds_are_stored(void **state)
{
    (void)state;
    parsed out;
    T_OK(words_parse(&both, &out, "--count=2", "--large=18446744073709551615", "--share=1e3"));
    assert_int_equal(out.count, 2);
    assert_true(out.large == UINT64_MAX && out.share == 1000.0);
    T_OK(words_parse(&both, &out, "--range=mse", "--number=second", "--word=mse"));
    assert_int_equal(out.range, MSE);
    assert_true(out.is_second);
    assert_string_equal(out.word, "mse");
    T_OK(words_parse(&both, &out, "--count=9", "--count=3", "--take=x"));
    assert_int_equal(out.count, 3);
    assert_string_equal(out.taken, "key=x");
    T_OK(oct_args_set(&both, &out, "count", "4", &reason));
    assert_int_equal(out.count, 4);
    T_ERR(oct_args_set(&both, &out, "count", "x", &reason), OCT_EINVAL);
}

static void
test_lists_and_operands_are_full_at_their_ends(void **state)
{
    static const oct_arg pair[] = {
        {OCT_ARG_OPERAND("ids", parsed, argument)},
        {OCT_ARG_OPERAND("files", parsed, second), .missing = "no file given"},
        {0}};
    static const oct_arg list[] = {
        {OCT_ARG_OPERANDS("files", parsed, set, set_count), .missing = "no file given"}, {0}};
    const oct_args pairs = {.rows = pair}, lists = {.rows = list}, none = {.rows = value_rows};
    (void)state;
    parsed out;
    T_OK(parse_words(&out, "--set=a", "--set=b", NULL));
    assert_string_equal(out.set[1], "b");
    T_ERR(parse_words(&out, "--set=a", "--set=b", "--set=c"), OCT_EINVAL);
    expect_said("more than 2 --set");
    T_ERR(parse_words(&out, "a", "b", NULL), OCT_EINVAL);
    expect_said("two files, 'a' and 'b'; name one");
    T_ERR(parse_words(&out, "run.seed=1", NULL, NULL), OCT_EINVAL);
    expect_said("unexpected argument 'run.seed=1'; a setting is given as --set run.seed=1");
    T_OK(parse_words(&out, "A.b=1", NULL, NULL)); // may be a file
    T_OK(words_parse(&pairs, &out, "a", "b", NULL));
    assert_string_equal(out.second, "b");
    T_ERR(words_parse(&pairs, &out, "a", "b", "c"), OCT_EINVAL);
    expect_said("unexpected argument 'c'");
    T_ERR(words_parse(&pairs, &out, "a", NULL, NULL), OCT_EINVAL);
    expect_said("no file given");
    T_ERR(words_parse(&lists, &out, NULL, NULL, NULL), OCT_EINVAL);
    expect_said("no file given");
    T_ERR(words_parse(&lists, &out, "a", "b", "c"), OCT_EINVAL);
    expect_said("more than 2 files");
    T_ERR(words_parse(&none, &out, "a", NULL, NULL), OCT_EINVAL);
    expect_said("unexpected argument 'a'");
}

static void
test_the_list_has_the_standard_options(void **state)
{
    (void)state;
    const oct_arg *list[OCT_ARGS_MAX + 3];
    assert_int_equal(oct_args_list(&table, list), 7);
    assert_string_equal(list[5]->name, "help");
    assert_false(oct_arg_takes_next(list[0]));
    assert_true(oct_arg_may_have_value(list[0]) && oct_arg_takes_next(list[1]));
    assert_false(oct_arg_may_have_value(list[3]));
    assert_false(oct_arg_is_shown(list[4]));
    assert_int_equal(oct_args_list(&both, list), 15);
    assert_string_equal(list[14]->name, "version");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_options_are_named_before_anything_is_parsed),
        cmocka_unit_test(test_a_needed_value_may_be_the_next_word),
        cmocka_unit_test(test_an_optional_value_is_never_the_next_word),
        cmocka_unit_test(test_what_follows_two_dashes_is_no_option),
        cmocka_unit_test(test_values_outside_their_bounds_are_refused),
        cmocka_unit_test(test_values_within_their_bounds_are_stored),
        cmocka_unit_test(test_lists_and_operands_are_full_at_their_ends),
        cmocka_unit_test(test_the_list_has_the_standard_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
