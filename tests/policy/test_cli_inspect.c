// `octet inspect`: how a policy is described and compared, and which files are refused.
#include "cli/cli_commands.h"
#include "common/oct_reason.h"

#include "common/oct_file.h"
#include "policy/codec/codec_delta.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_ptq.h"
#include "tests/policy/next_policy.h"
#include "tests/policy/random_policy.h"

#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_cli_inspect_XXXXXX";
static char path[80], fp32_path[80], out_path[80], err_path[80];

// What the command printed and answered.
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

// arguments are parted by blanks; NULL: none.
static said
inspect(const char *arguments)
{
    static char name[] = "inspect";
    char copy[300], *argv[8] = {name}, *rest = copy, *word;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", arguments == NULL ? "" : arguments);
    while (argc < 7 && (word = strsep(&rest, " ")) != NULL) {
        if (word[0] != '\0') {
            argv[argc++] = word;
        }
    }
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (child == 0) { // wrong usage ends the process
        if (freopen(out_path, "w", stdout) == NULL || freopen(err_path, "w", stderr) == NULL) {
            _exit(99);
        }
        int code = cli_inspect(argc, argv);
        fflush(NULL);
        _exit(code);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    said s = {.code = WEXITSTATUS(status)};
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

// more: further options, each behind a space.
static said
inspect_against(const char *policy, const char *fp32, const char *more)
{
    char arguments[300];
    snprintf(arguments, sizeof(arguments), "%s --against %s%s", policy, fp32, more);
    return inspect(arguments);
}

static void
expect_words(const said *s, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(s->out, words[i]) == NULL) {
            print_error("\"%s\" is not in\n%s%s", words[i], s->out, s->err);
            fail();
        }
    }
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
    said none = inspect(NULL), option = inspect("--agianst x"), help = inspect("--help");
    assert_int_equal(none.code, 2);
    assert_int_equal(option.code, 2);
    assert_int_equal(help.code, 0);
    assert_non_null(strstr(none.err, "octet inspect: error: no POLICY file given"));
    assert_non_null(strstr(option.err, "unknown option '--agianst'; did you mean '--against'?"));
    assert_non_null(strstr(help.out, "Usage: octet inspect"));
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
    assert_non_null(strstr(missing.err, "error: '/nowhere/policy.oct': No such file"));
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
    expect_words(&s, words, OCT_COUNTOF(words));
    said_free(s);
    write_policy(POLICY_FP32, false, 0);
    s = inspect(path);
    assert_non_null(strstr(s.out, "fp32"));
    assert_non_null(strstr(s.out, "1600 bytes"));
    assert_null(strstr(s.out, "scales"));
    said_free(s);
}

static void
image_save(const policy_image *image, const char *to)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    T_OK(oct_file_write(to, bytes, length));
    free(bytes);
}

// An fp32 policy for CartPole in fp32_path, and what the quantizer makes of it in path.
static policy_image *
write_pair(policy_precision precision)
{
    const uint32_t widths[] = {4, 40, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    oct_rng rng;
    oct_rng_init(&rng, 43, 1);
    policy_image *fp32 = random_image(&spec, POLICY_FP32, false, &rng), *image;
    quantizer_method method = QUANTIZER_METHOD_DEFAULT;
    T_OK(policy_image_create(&image, &spec, precision));
    image->origin = fp32->origin;
    float *params = oct_alloc(policy_spec_params(&spec) * sizeof(float));
    quantizer_dequantize(fp32, params);
    T_OK(quantizer_convert_folded(image, params, NULL, &method));
    free(params);
    image_save(fp32, fp32_path);
    image_save(image, path);
    policy_image_destroy(fp32);
    return image;
}

static void
test_four_bits_are_described(void **state)
{
    (void)state;
    policy_image *image = write_pair(POLICY_INT4);
    // Codes by hand: of the second layer all 0 but one at the end of its range.
    memset(image->codes[1], 0, 80);
    image->codes[1][3] = -7;
    image_save(image, path);
    said s = inspect(path);
    const char *const words[] = {
        "int4, one scale for each output, one multiplier for each group of 32 inputs",
        "120 bytes", // 40 rows of 4 codes and 1 multiplier
        "42 bytes",  // 2 rows of 40 codes and 2 multipliers
        "codes 98.8 % zero, 1.25 % at the end"};
    expect_words(&s, words, OCT_COUNTOF(words));
    said_free(s);
    policy_image_destroy(image);
    policy_image_destroy(write_pair(POLICY_BF16));
    s = inspect(path);
    const char *const half[] = {"precision   bf16\n", "320 bytes", "layers      2\n"};
    expect_words(&s, half, OCT_COUNTOF(half));
    assert_null(strstr(s.out, "codes"));
    said_free(s);
}

static void
test_convolutions_are_described(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 43, 1);
    policy_spec spec =
        random_conv_spec(10, 10, 4, 3, (uint32_t[]){16}, 1, (uint32_t[]){128}, 1, 6, POLICY_RELU);
    policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
    image_save(image, path);
    said s = inspect(path);
    const char *const words[] = {"400 -> 1024 ", "576 bytes  10 x 10 x 4, conv 16 3x3",
                                 "parameters  132566,", "1024 -> 128 "};
    expect_words(&s, words, OCT_COUNTOF(words));
    said_free(s);
    policy_image_destroy(image);
}

static void
test_a_policy_against_its_fp32_one(void **state)
{
    (void)state;
    char arguments[300];
    policy_image_destroy(write_pair(POLICY_INT8));
    said s = inspect_against(path, fp32_path, "");
    assert_int_equal(s.code, 0);
    const char *const words[] = {"   1  error of the weights 0.00", "4096 random observations",
                                 "normal, mean 0, deviation 1", "% agree, KL "};
    expect_words(&s, words, OCT_COUNTOF(words));
    assert_null(strstr(s.out, "another version"));
    said_free(s);
    snprintf(arguments, sizeof(arguments), "%s --against=%s --env=CartPole-v1", path, fp32_path);
    s = inspect(arguments);
    assert_int_equal(s.code, 0);
    assert_non_null(strstr(s.out, "of 10 episodes of CartPole-v1, seed 1, played by the fp32"));
    said repeated =
        inspect_against(path, fp32_path, " --env=CartPole-v1 --options=action_repeat=3");
    assert_int_equal(repeated.code, 0);
    assert_non_null(strstr(repeated.out, " of 10 episodes of CartPole-v1, options action_repeat=3, "
                                         "seed 1, played by the fp32"));
    // An episode of fewer actions has fewer observations.
    int all = 0, some = 0;
    assert_int_equal(sscanf(strstr(s.out, "observed"), "observed %d", &all), 1);
    assert_int_equal(sscanf(strstr(repeated.out, "observed"), "observed %d", &some), 1);
    assert_in_range(some, 10, all - 1);
    said_free(repeated);
    said_free(s);
    // The policy itself is no distance away.
    s = inspect_against(fp32_path, fp32_path, "");
    const char *const same[] = {"error of the weights 0 (relative L2), 0 at most",
                                "differ by 0 (relative L2)", "100.00 % agree, KL 0"};
    expect_words(&s, same, OCT_COUNTOF(same));
    said_free(s);
}

static void
test_outputs_that_overflow_are_said_to(void **state)
{
    (void)state;
    oct_reason why;
    policy_image *fp32;
    policy_image_destroy(write_pair(POLICY_INT8));
    T_OK(policy_file_load(&fp32, fp32_path, &why));
    for (size_t i = 0; i < policy_layer_weights(&fp32->spec.layers[0]); i++) {
        fp32->weights[0][i] = 3e38f;
    }
    image_save(fp32, path);
    said s = inspect_against(path, fp32_path, "");
    assert_int_equal(s.code, 0);
    assert_non_null(strstr(s.out, "\noutputs     some are not finite\nactions     "));
    assert_non_null(strstr(s.out, " % agree\n"));
    said_free(s);
    policy_image_destroy(fp32);
}

// What octet quantize --scale-observations makes of a policy is the same function.
static void
test_scaled_observations_are_no_difference(void **state)
{
    (void)state;
    oct_reason why;
    policy_image *fp32, *scaled;
    policy_image_destroy(write_pair(POLICY_INT8));
    T_OK(policy_file_load(&fp32, fp32_path, &why));
    quantizer_reservoir *observed = quantizer_reservoir_create(&fp32->spec, 1024, 1);
    quantizer_reservoir_fill(observed, fp32);
    T_OK(quantizer_ptq_scale(&scaled, fp32, observed));
    image_save(scaled, path);
    said s = inspect_against(path, fp32_path, "");
    assert_int_equal(s.code, 0);
    const char *const words[] = {"error of the weights 0 (relative L2), 0 at most",
                                 "normal, by the policy's mean and deviation",
                                 "differ by 0 (relative L2)"};
    expect_words(&s, words, OCT_COUNTOF(words));
    said_free(s);
    quantizer_reservoir_destroy(observed);
    policy_image_destroy(scaled);
    policy_image_destroy(fp32);
}

static void
test_what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    char arguments[300];
    policy_image_destroy(write_pair(POLICY_INT8));
    said s = inspect_against(fp32_path, path, "");
    assert_int_equal(s.code, 1);
    assert_non_null(strstr(s.err, "is of precision int8; --against needs the fp32 policy"));
    assert_string_equal(s.out, "");
    said_free(s);
    write_policy(POLICY_INT8, false, 0);
    s = inspect_against(path, fp32_path, "");
    assert_int_equal(s.code, 1);
    assert_non_null(strstr(s.err, "belongs to another network or environment"));
    said_free(s);
    policy_image_destroy(write_pair(POLICY_INT8));
    s = inspect_against(path, fp32_path, " --env Acrobot-v1");
    assert_int_equal(s.code, 1);
    assert_non_null(strstr(s.err, "reads 4 numbers, but an observation of Acrobot-v1 has 6"));
    said_free(s);
    snprintf(arguments, sizeof(arguments), "%s --env CartPole-v1", path);
    s = inspect(arguments);
    assert_int_equal(s.code, 2); // an environment without --against does nothing
    said_free(s);
    s = inspect_against(path, fp32_path, " --options a=1");
    assert_int_equal(s.code, 2); // nor options without an environment
    assert_non_null(strstr(s.err, "--options needs --env"));
    said_free(s);
}

// Names come from whoever made the file: a terminal must not obey them.
static void
test_names_cannot_steer_a_terminal(void **state)
{
    (void)state;
    policy_image *image = write_pair(POLICY_INT8);
    snprintf(image->origin.run_name, sizeof(image->origin.run_name), "a\x1b[2Jb");
    snprintf(image->spec.env_id, sizeof(image->spec.env_id), "Pole\rFake");
    image_save(image, path);
    said s = inspect(path);
    const char *const words[] = {", a?[2Jb\n", "environment Pole?Fake\n"};
    expect_words(&s, words, OCT_COUNTOF(words));
    said_free(s);
    policy_image_destroy(image);
}

static void
test_a_policy_from_elsewhere_has_no_run(void **state)
{
    (void)state;
    policy_image *image = write_pair(POLICY_INT8);
    image->origin = (policy_origin){.eval_return = NAN};
    image->spec.env_id[0] = '\0';
    image_save(image, path);
    said s = inspect(path);
    const char *const words[] = {"environment unknown\n",
                                 "version     none, not from a run of Octet\n"};
    expect_words(&s, words, OCT_COUNTOF(words));
    assert_null(strstr(s.out, "trained"));
    said_free(s);
    policy_image_destroy(image);
}

// What is on the wire may be a change: it says of which version.
static void
test_a_change_names_its_base(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 44, 1);
    policy_image *base = write_pair(POLICY_INT8), *next;
    T_OK(policy_image_create(&next, &base->spec, POLICY_INT8));
    policy_step(next, base, 0, &rng);
    codec_coder *coder = codec_coder_create(&base->spec, POLICY_INT8);
    const uint8_t *bytes;
    size_t length;
    T_OK(codec_delta_encode(coder, base, next, &bytes, &length));
    T_OK(oct_file_write(path, bytes, length));
    said s = inspect(path);
    assert_int_equal(s.code, 0);
    const char *const words[] = {"version     8 of run",
                                 "change      of version 7, which is needed", "precision   int8",
                                 "parameters  282, change "};
    expect_words(&s, words, OCT_COUNTOF(words));
    said_free(s);
    codec_coder_destroy(coder);
    policy_image_destroy(base);
    policy_image_destroy(next);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_usage_is_answered_with_the_usage),
        cmocka_unit_test(test_a_file_that_is_missing_cut_or_foreign_is_an_error),
        cmocka_unit_test(test_a_policy_is_described),
        cmocka_unit_test(test_four_bits_are_described),
        cmocka_unit_test(test_convolutions_are_described),
        cmocka_unit_test(test_a_policy_against_its_fp32_one),
        cmocka_unit_test(test_outputs_that_overflow_are_said_to),
        cmocka_unit_test(test_scaled_observations_are_no_difference),
        cmocka_unit_test(test_what_cannot_be_compared_is_refused),
        cmocka_unit_test(test_names_cannot_steer_a_terminal),
        cmocka_unit_test(test_a_policy_from_elsewhere_has_no_run),
        cmocka_unit_test(test_a_change_names_its_base),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/policy.oct", folder);
    snprintf(fp32_path, sizeof(fp32_path), "%s/policy.fp32.oct", folder);
    snprintf(out_path, sizeof(out_path), "%s/out", folder);
    snprintf(err_path, sizeof(err_path), "%s/err", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    unlink(fp32_path);
    unlink(out_path);
    unlink(err_path);
    rmdir(folder);
    return failed;
}
