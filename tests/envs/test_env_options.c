// Options of an environment are split into keys and values, or refused.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include "envs/env_options.h"

static void
test_options_refuse_what_is_not_key_equals_value(void **state)
{
    (void)state;
    const char *bad[] = {"a",        "=1",    "a=",      "a=1,",     ",a=1",
                         "a=1,,b=2", "a=1,b", "a=1,a=2", "a=(1,b=2", "a='1,b=2"};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        env_options options;
        oct_reason why = {""};
        T_ERR(env_options_init(&options, bad[i], &why), OCT_EINVAL);
        T_SAYS(why.text, "option");
    }
}

static void
test_options_refuse_too_many(void **state)
{
    (void)state;
    char text[ENV_OPTIONS_MAX * 8 + 16] = "";
    for (int i = 0; i <= ENV_OPTIONS_MAX; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%sk%d=1", i > 0 ? "," : "", i);
    }
    env_options options;
    oct_reason why = {""};
    T_ERR(env_options_init(&options, text, &why), OCT_EINVAL);
    T_SAYS(why.text, "more than 64");
}

static void
test_options_may_be_none(void **state)
{
    (void)state;
    const char *none[] = {NULL, ""};
    for (size_t i = 0; i < OCT_COUNTOF(none); i++) {
        env_options options;
        oct_reason why;
        T_OK(env_options_init(&options, none[i], &why));
        assert_int_equal(options.count, 0);
        env_options_fini(&options);
    }
}

static void
test_options_keep_order_and_equals_in_values(void **state)
{
    (void)state;
    env_options options;
    oct_reason why;
    T_OK(env_options_init(&options, "path=a=b,n=-1.5", &why));
    assert_int_equal(options.count, 2);
    assert_string_equal(options.items[0].key, "path");
    assert_string_equal(options.items[0].value, "a=b");
    assert_string_equal(options.items[1].key, "n");
    assert_string_equal(options.items[1].value, "-1.5");
    env_options_fini(&options);
}

static void
test_options_keep_commas_within_brackets_and_quotes(void **state)
{
    (void)state;
    env_options options;
    oct_reason why;
    T_OK(env_options_init(&options, "size=(3,4),name='a,b',n=1", &why));
    assert_int_equal(options.count, 3);
    assert_string_equal(options.items[0].value, "(3,4)");
    assert_string_equal(options.items[1].value, "'a,b'");
    assert_string_equal(options.items[2].key, "n");
    env_options_fini(&options);
}

// Of JSON, as of every other value, an environment gets the words alone.
static void
test_values_of_json_are_decoded(void **state)
{
    (void)state;
    env_options options;
    oct_reason why;
    T_OK(env_options_init(
        &options,
        "a:=\"x, \\\"y\\\" \\u00e9\\ud83d\\ude00\\n\",b:=[1, {\"c\": null}],d=\"e\","
        "action_repeat:=2",
        &why));
    assert_string_equal(options.items[0].key, "a:");
    assert_string_equal(env_options_take(&options, "action_repeat"), "2");
    T_OK(env_options_decode(&options, &why));
    assert_int_equal(options.count, 3);
    assert_string_equal(options.items[0].key, "a");
    assert_string_equal(options.items[0].value, "x, \"y\" \xC3\xA9\xF0\x9F\x98\x80\n");
    assert_string_equal(options.items[1].key, "b");
    assert_string_equal(options.items[1].value, "[1, {\"c\": null}]");
    assert_string_equal(options.items[2].value, "\"e\"");
    env_options_fini(&options);
    T_ERR(env_options_init(&options, "a=1,a:=2", &why), OCT_EINVAL);
    assert_string_equal(why.text, "option \"a\" is given twice");
    T_ERR(env_options_init(&options, ":=2", &why), OCT_EINVAL);
}

static void
test_a_text_that_is_not_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\"a\"b",      "\"\\x\"",     "\"\\u00e\"",
                                      "\"\\u0000\"", "\"\\ud83d\"", "\"\\ud83d\\u0041\"",
                                      "\"\\udc00\""};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        env_options options;
        char text[64];
        oct_reason why = {""};
        (void)snprintf(text, sizeof(text), "k:=%s", bad[i]);
        T_OK(env_options_init(&options, text, &why));
        T_ERR(env_options_decode(&options, &why), OCT_EINVAL);
        assert_string_equal(why.text, "option \"k\": its text is not JSON");
        env_options_fini(&options);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_refuse_what_is_not_key_equals_value),
        cmocka_unit_test(test_options_refuse_too_many),
        cmocka_unit_test(test_options_may_be_none),
        cmocka_unit_test(test_options_keep_order_and_equals_in_values),
        cmocka_unit_test(test_options_keep_commas_within_brackets_and_quotes),
        cmocka_unit_test(test_values_of_json_are_decoded),
        cmocka_unit_test(test_a_text_that_is_not_json_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
