// Options are refused by name before argp sees them, and every form of an option that argp takes is
// taken.
#include <string.h>

#include "common/oct_argp.h"
#include "tests/support/oct_test.h"

enum { KEY_DASH = 256, KEY_SEED, KEY_SET, KEY_QUIET, KEY_SECRET };

static const struct argp_option options[] = {
    {"dash", KEY_DASH, "PORT", OPTION_ARG_OPTIONAL, "Optional value", 0},
    {"seed", KEY_SEED, "S", 0, "Value", 0},
    {"set", KEY_SET, "KEY=VALUE", 0, "Value", 0},
    {"quiet", KEY_QUIET, NULL, 0, "No value", 0},
    {"secret", KEY_SECRET, NULL, OPTION_HIDDEN, "Hidden", 0},
    {0},
};

typedef struct parsed {
    const char *dash, *seed, *argument;
    bool has_dash, is_quiet;
    unsigned argument_count;
} parsed;

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    parsed *out = state->input;
    switch (key) {
    case KEY_DASH:
        out->has_dash = true;
        out->dash = arg;
        return 0;
    case KEY_SEED:
        out->seed = arg;
        return 0;
    case KEY_QUIET:
        out->is_quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        out->argument = arg;
        out->argument_count++;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp table = {.options = options, .parser = parse};
static char reason[OCT_ARGP_REASON_BYTES];

// Parses up to three words; NULL ends them.
static oct_err
parse_words(parsed *out, const char *first, const char *second, const char *third)
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
    reason[0] = '\0';
    oct_err err = oct_argp_parse(&table, "octet run", argc, argv, out, reason, sizeof(reason));
    assert_string_equal(argv[0], "run");
    return err;
}

static void
expect_refused(const char *first, const char *second, const char *why)
{
    parsed out;
    T_ERR(parse_words(&out, first, second, NULL), OCT_EINVAL);
    if (strstr(reason, why) == NULL) {
        fail_msg("'%s' lacks '%s'", reason, why);
    }
    assert_false(out.has_dash || out.is_quiet || out.seed != NULL || out.argument_count > 0);
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
    assert_null(strstr(reason, "secret"));
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
}

static void
test_an_optional_value_is_never_the_next_word(void **state)
{
    (void)state;
    parsed out;
    T_OK(parse_words(&out, "pole", "--dash", NULL));
    assert_true(out.has_dash);
    assert_null(out.dash);
    T_OK(parse_words(&out, "--dash", "pole", "--quiet"));
    assert_null(out.dash);
    assert_string_equal(out.argument, "pole");
    assert_true(out.is_quiet);
    T_OK(parse_words(&out, "--dash=9000", "pole", NULL));
    assert_string_equal(out.dash, "9000");
    expect_refused("--dash", "--sede", "unknown option '--sede'");
}

static void
test_what_follows_two_dashes_is_no_option(void **state)
{
    (void)state;
    parsed out;
    T_OK(parse_words(&out, "--", "--sede", "-q"));
    assert_int_equal(out.argument_count, 2);
    T_OK(parse_words(&out, "-", NULL, NULL));
    assert_string_equal(out.argument, "-");
}

static void
test_the_list_has_the_options_of_argp_itself(void **state)
{
    (void)state;
    oct_argp_options list;
    oct_argp_list(&list, &table);
    assert_int_equal(list.count, 7);
    assert_string_equal(list.name[5], "help");
    assert_null(list.name[7]);
    assert_int_equal(list.value[0], OCT_ARGP_OPTIONAL);
    assert_int_equal(list.value[1], OCT_ARGP_NEEDED);
    assert_int_equal(list.value[3], OCT_ARGP_NONE);
    assert_true(list.is_hidden[4]);
    argp_program_version = "1";
    oct_argp_list(&list, &table);
    assert_string_equal(list.name[7], "version");
    argp_program_version = NULL;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_options_are_named_before_anything_is_parsed),
        cmocka_unit_test(test_a_needed_value_may_be_the_next_word),
        cmocka_unit_test(test_an_optional_value_is_never_the_next_word),
        cmocka_unit_test(test_what_follows_two_dashes_is_no_option),
        cmocka_unit_test(test_the_list_has_the_options_of_argp_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
