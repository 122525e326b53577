#include "cli/cli_inspect.h"

#include "common/oct_file.h"
#include "tests/policy/random_policy.h"

#include <unistd.h>

static char folder[] = "/tmp/test_cli_inspect_XXXXXX";
static char path[80], out_path[80], err_path[80];

// What the command printed and answered for up to two arguments.
typedef struct said {
    int code;
    char *out;
    char *err;
} said;

static char *
read_text(const char *from)
{
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(from, 1 << 20, &bytes, &length));
    return (char *)bytes;
}

static said
inspect(const char *argument)
{
    char name[] = "inspect", copy[100];
    char *argv[] = {name, copy, NULL};
    snprintf(copy, sizeof(copy), "%s", argument == NULL ? "" : argument);
    fflush(stdout);
    fflush(stderr);
    int out = dup(1), err = dup(2);
    assert_non_null(freopen(out_path, "w", stdout));
    assert_non_null(freopen(err_path, "w", stderr));
    said s = {.code = cli_inspect(argument == NULL ? 1 : 2, argv)};
    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    s.out = read_text(out_path);
    s.err = read_text(err_path);
    return s;
}

static void
said_free(said s)
{
    free(s.out);
    free(s.err);
}

static void
write_policy(policy_precision precision, bool per_tensor, size_t cut)
{
    const uint32_t widths[] = {4, 20, 20, 2};
    policy_spec spec = random_spec(widths, 4, POLICY_RELU, true);
    oct_rng rng;
    oct_rng_init(&rng, 41, 1);
    policy_image *image = random_image(&spec, precision, per_tensor, &rng);
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    T_OK(oct_file_write(path, bytes, length - cut));
    free(bytes);
    policy_image_destroy(image);
}

static void
test_wrong_usage_is_answered_with_the_usage(void **state)
{
    (void)state;
    said none = inspect(NULL), option = inspect("--verbose"), help = inspect("--help");
    assert_int_equal(none.code, 2);
    assert_int_equal(option.code, 2);
    assert_int_equal(help.code, 0);
    assert_non_null(strstr(none.err, "usage: octet inspect"));
    assert_non_null(strstr(help.out, "usage: octet inspect"));
    said_free(none);
    said_free(option);
    said_free(help);
}

static void
test_a_file_that_is_missing_cut_or_foreign_is_an_error(void **state)
{
    (void)state;
    said missing = inspect("/nowhere/policy.oct");
    assert_int_equal(missing.code, 1);
    assert_non_null(strstr(missing.err, "/nowhere/policy.oct: No such file"));
    write_policy(POLICY_INT8, false, 3);
    said cut = inspect(path);
    assert_int_equal(cut.code, 1);
    assert_non_null(strstr(cut.err, "its header says"));
    assert_string_equal(cut.out, "");
    T_OK(oct_file_write(path, "name: CartPole\n", 15));
    said foreign = inspect(path);
    assert_int_equal(foreign.code, 1);
    assert_non_null(strstr(foreign.err, "not a policy"));
    said_free(missing);
    said_free(cut);
    said_free(foreign);
}

static void
test_a_policy_is_described(void **state)
{
    (void)state;
    write_policy(POLICY_INT8, false, 0);
    said s = inspect(path);
    assert_int_equal(s.code, 0);
    assert_string_equal(s.err, "");
    const char *const words[] = {"version     7 of run",
                                 "cartpole-1",
                                 "1234 updates",
                                 "98765 environment",
                                 "return 491.5",
                                 "Test-v0",
                                 "observation 4 float32",
                                 "discrete, 2",
                                 "int8, one scale for each",
                                 "layers      3",
                                 "layer norm",
                                 "relu",
                                 "tanh",
                                 "400 bytes",
                                 "scales "};
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        if (strstr(s.out, words[i]) == NULL) {
            print_error("\"%s\" is not in\n%s", words[i], s.out);
            fail();
        }
    }
    said_free(s);
    write_policy(POLICY_FP32, false, 0);
    s = inspect(path);
    assert_non_null(strstr(s.out, "fp32"));
    assert_non_null(strstr(s.out, "1600 bytes"));
    assert_null(strstr(s.out, "scales"));
    said_free(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_usage_is_answered_with_the_usage),
        cmocka_unit_test(test_a_file_that_is_missing_cut_or_foreign_is_an_error),
        cmocka_unit_test(test_a_policy_is_described),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/policy.oct", folder);
    snprintf(out_path, sizeof(out_path), "%s/out", folder);
    snprintf(err_path, sizeof(err_path), "%s/err", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    unlink(out_path);
    unlink(err_path);
    rmdir(folder);
    return failed;
}
