// `octet quantize`: wrong usage, the file that it writes, and what it prints.
#include <fcntl.h>
#include <float.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "policy/policy_file.h"
#include "tests/policy/random_policy.h"

#define ARGUMENTS_MAX 16
#define DEADLINE_NS   20000000000u

static char folder[] = "/tmp/test_cli_quantize_XXXXXX";

// What the command printed and answered.
typedef struct said {
    int code;
    char *out;
    char *err;
} said;

static const char *
in_folder(const char *name)
{
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static char *
read_text(const char *name)
{
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(in_folder(name), 1 << 20, &bytes, &length));
    return (char *)bytes;
}

static void
redirect(int to, const char *name)
{
    int file = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, to) != to) {
        _exit(99);
    }
    (void)close(file);
}

// A process of its own: wrong use ends it. arguments are parted by blanks.
static pid_t
quantize_start(const char *arguments)
{
    static char name[] = "quantize";
    (void)unlink(in_folder("out"));
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char copy[600];
        char *argv[ARGUMENTS_MAX + 1] = {name}, *rest = copy, *word;
        int argc = 1;
        (void)snprintf(copy, sizeof(copy), "%s", arguments);
        while (argc < ARGUMENTS_MAX && (word = strsep(&rest, " ")) != NULL) {
            if (word[0] != '\0') {
                argv[argc++] = word;
            }
        }
        redirect(STDOUT_FILENO, "out");
        redirect(STDERR_FILENO, "err");
        int code = cli_quantize(argc, argv);
        (void)fflush(NULL);
        _exit(code);
    }
    return child;
}

static said
quantize_end(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    said s = {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1};
    s.out = read_text("out");
    s.err = read_text("err");
    return s;
}

static void
said_free(said s)
{
    free(s.out);
    free(s.err);
}

// Runs the command; it must answer code and say text (NULL: nothing) on the stream of that.
static void
expect(const char *arguments, int code, const char *text)
{
    said s = quantize_end(quantize_start(arguments));
    if (s.code != code || (text != NULL && strstr(code == 0 ? s.out : s.err, text) == NULL)) {
        print_error("%s: code %d, wanted %d and \"%s\"\n%s%s", arguments, s.code, code,
                    text == NULL ? "" : text, s.out, s.err);
        fail();
    }
    said_free(s);
}

static void
image_write(const policy_image *image, const char *name)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    T_OK(oct_file_write(in_folder(name), bytes, length));
    free(bytes);
}

// A policy that fits CartPole-v1.
static policy_image *
fp32_make(void)
{
    const uint32_t widths[] = {4, 16, 16, 2};
    policy_spec spec = random_spec(widths, 4, POLICY_RELU, false);
    (void)snprintf(spec.env_id, sizeof(spec.env_id), "CartPole-v1");
    oct_rng rng;
    oct_rng_init(&rng, 41, 1);
    return random_image(&spec, POLICY_FP32, false, &rng);
}

static int
setup(void **state)
{
    (void)state;
    policy_image *image = fp32_make();
    image_write(image, "policy.fp32.oct");
    policy_image_destroy(image);
    return 0;
}

static policy_image *
image_read(const char *name)
{
    oct_reason why = {""};
    policy_image *image = NULL;
    T_OK(policy_file_load(&image, in_folder(name), &why));
    return image;
}

static bool
exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

// "… FOLDER/policy.fp32.oct …", with the folder filled in.
static const char *
about(const char *options)
{
    static char text[512];
    (void)snprintf(text, sizeof(text), "%s/policy.fp32.oct %s", folder, options);
    return text;
}

static void
test_wrong_use_starts_nothing(void **state)
{
    (void)state;
    expect("", 2, "no POLICY given");
    expect("a b", 2, "two policies, 'a' and 'b'");
    expect(about("--precision int5"), 2, "allowed is int8, bf16, fp16, int4 or all");
    expect(about("--precision fp32"), 2, "allowed is int8, bf16, fp16, int4 or all");
    expect(about("--range best"), 2, "allowed is absmax, percentile or mse");
    expect(about("--percentile 99"), 2, "--percentile needs --range percentile");
    expect(about("--range percentile --percentile 50"), 2, "above 50 and up to 100");
    expect(about("--range percentile --percentile nan"), 2, "above 50 and up to 100");
    expect(about("--scale column"), 2, "allowed is row or tensor");
    expect(about("--scale tensor --precision int4"), 2, "is for int8 only, not for int4");
    expect(about("--precision all --out x"), 2, "writes no file");
    expect(about("--episodes 0"), 2, "--episodes is '0'");
    expect(about("--preccision int4"), 2, "did you mean '--precision'?");
    assert_false(exists("policy.int8.oct"));
}

static void
test_a_quantised_policy_is_refused_and_the_fp32_one_named(void **state)
{
    (void)state;
    char arguments[200];
    expect(about(""), 0, "wrote");
    (void)snprintf(arguments, sizeof(arguments), "%s/policy.int8.oct --precision int4", folder);
    expect(
        arguments, 1,
        "has precision int8, so its weights are already rounded; precision fp32 is needed; give");
    expect(arguments, 1, "/policy.fp32.oct'");
    assert_false(exists("policy.int4.oct"));
    assert_int_equal(unlink(in_folder("policy.fp32.oct")), 0);
    expect(arguments, 1, "the learner keeps one as policy.fp32.oct in the run folder");
    expect(folder, 1, "is this a run folder, and has its learner published a policy?");
    expect("/nowhere/policy.oct", 1, "No such file");
    assert_int_equal(unlink(in_folder("policy.int8.oct")), 0);
}

static void
test_the_file_is_the_policy_in_fewer_bits(void **state)
{
    (void)state;
    expect(about("--precision int4 --range mse"), 0, "int4, range mse");
    expect(about("--precision int4 --range mse"), 0, "16 -> 16     error of the weights 0.");
    policy_image *fp32 = image_read("policy.fp32.oct"), *int4 = image_read("policy.int4.oct");
    assert_int_equal(int4->precision, POLICY_INT4);
    assert_true(policy_spec_equal(&fp32->spec, &int4->spec));
    assert_true(int4->origin.run_id == fp32->origin.run_id);
    assert_true(int4->origin.version == fp32->origin.version);
    assert_true(isnan(int4->origin.eval_return)); // that of fp32 is not its own
    assert_memory_equal(int4->bias[0], fp32->bias[0], 16 * sizeof(float));
    policy_image_destroy(fp32);
    policy_image_destroy(int4);
    expect(about("--range percentile --percentile 99"), 0, "int8, range percentile 99");
    expect(about("--scale tensor"), 0, "int8, range absmax, one scale for each layer");
    policy_image *int8 = image_read("policy.int8.oct");
    assert_true(int8->per_tensor);
    policy_image_destroy(int8);
    expect(about("--precision bf16"), 0, "bf16\n");
    assert_true(exists("policy.bf16.oct"));
}

static void
test_a_run_folder_stands_for_the_policy_in_it(void **state)
{
    (void)state;
    expect(folder, 0, "/policy.int8.oct, ");
    assert_true(exists("policy.int8.oct"));
}

static void
test_names_of_the_result(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"best.oct", "best.int8.oct"}, {"best.fp32", "best.int8.oct"}, {"best", "best.int8.oct"}};
    policy_image *image = fp32_make();
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        image_write(image, names[i][0]);
        expect(in_folder(names[i][0]), 0, names[i][1]);
        assert_int_equal(unlink(in_folder(names[i][1])), 0);
        assert_int_equal(unlink(in_folder(names[i][0])), 0);
    }
    policy_image_destroy(image);
}

static void
test_the_input_is_never_written_over(void **state)
{
    (void)state;
    uint8_t *before, *after;
    size_t length;
    char arguments[300];
    T_OK(oct_file_read(in_folder("policy.fp32.oct"), 1 << 20, &before, &length));
    assert_int_equal(symlink("policy.fp32.oct", in_folder("link")), 0);
    (void)snprintf(arguments, sizeof(arguments), "%s/policy.fp32.oct --out %s/link", folder,
                   folder);
    expect(arguments, 1, "is the policy itself; name another file with --out");
    expect(about("--out /nowhere/p.oct"), 1, "cannot write '/nowhere/p.oct': No such file");
    T_OK(oct_file_read(in_folder("policy.fp32.oct"), 1 << 20, &after, &length));
    assert_memory_equal(before, after, length);
    assert_int_equal(unlink(in_folder("link")), 0);
    free(before);
    free(after);
}

// The number behind the name at the beginning of a line.
static double
row_number(const char *out, const char *name)
{
    char start[16];
    (void)snprintf(start, sizeof(start), "\n%s ", name);
    const char *row = strstr(out, start);
    assert_non_null(row);
    return strtod(row + strlen(start), NULL);
}

static void
test_returns_of_every_precision(void **state)
{
    (void)state;
    said s = quantize_end(quantize_start(about("--precision int4 --episodes 20 --seed 7")));
    assert_int_equal(s.code, 0);
    assert_string_equal(s.err, ""); // no progress where nobody watches
    assert_non_null(
        strstr(s.out, "CartPole-v1, 20 episodes of each precision on the same seeds (7)"));
    double fp32 = row_number(s.out, "fp32");
    T_NEAR(row_number(s.out, "fp16"), fp32, 0.5, 0.02);
    T_NEAR(row_number(s.out, "int8"), fp32, 2, 0.2);
    assert_true(row_number(s.out, "bf16") >= 8 && row_number(s.out, "int4") >= 8);
    policy_image *int4 = image_read("policy.int4.oct");
    T_NEAR(int4->origin.eval_return, row_number(s.out, "int4"), 0.0051, 0);
    policy_image_destroy(int4);
    said_free(s);
}

static void
weights_scale(policy_image *image, uint32_t l, float factor)
{
    const policy_layer *layer = &image->spec.layers[l];
    for (uint32_t i = 0; i < layer->inputs * layer->outputs; i++) {
        image->weights[l][i] *= factor;
    }
}

// The product of three layers of such weights is beyond float's range.
static void
test_an_fp32_policy_that_overflows_is_told(void **state)
{
    (void)state;
    policy_image *image = fp32_make();
    for (uint32_t l = 0; l < 3; l++) {
        weights_scale(image, l, 1e20f);
    }
    image_write(image, "policy.fp32.oct");
    policy_image_destroy(image);
    expect(about("--episodes 2"), 1, "'CartPole-v1': a number overflows in the fp32 policy");
    expect(about("--precision all --episodes 2"), 1, "its outputs are not finite");
}

// Rounded to four bits, 5.6 of 7 steps become 6, and the sum of all too large.
static void
test_a_precision_that_overflows_is_told(void **state)
{
    (void)state;
    policy_image *image = fp32_make();
    weights_scale(image, 1, 0);
    weights_scale(image, 2, 0);
    for (uint32_t i = 0; i < 16; i++) {
        image->bias[1][i] = 1;
    }
    static const float weights[3] = {0.378f * FLT_MAX, 0.3f * FLT_MAX, 0.3f * FLT_MAX};
    for (uint32_t i = 0; i < 3; i++) { // the mean over actions is subtracted: 0
        image->weights[2][i] = weights[i];
        image->weights[2][16 + i] = -weights[i];
    }
    image_write(image, "policy.fp32.oct");
    policy_image_destroy(image);
    expect(about("--precision int4 --episodes 2"), 1,
           "/policy.int4.oct' cannot be used: a number overflows in it");
    expect(about("--episodes 2"), 0, "   overflow   overflow        613\n");
    policy_image *int4 = image_read("policy.int4.oct");
    assert_true(isnan(int4->origin.eval_return));
    policy_image_destroy(int4);
}

static void
test_biases_are_corrected_on_demand(void **state)
{
    (void)state;
    expect(about("--precision int4 --calibrate"), 0,
           "observations of 10 episodes of CartPole-v1\nint4, range absmax");
    policy_image *fp32 = image_read("policy.fp32.oct"), *int4 = image_read("policy.int4.oct");
    assert_memory_not_equal(int4->bias[0], fp32->bias[0], 16 * sizeof(float));
    assert_true(isnan(int4->origin.eval_return));
    policy_image_destroy(fp32);
    policy_image_destroy(int4);
    expect(about("--precision int4 --calibrate --env Acrobot-v1"), 1, "reads 4 numbers");
}

static void
test_observations_are_scaled_on_demand(void **state)
{
    (void)state;
    expect(about("--scale-observations"), 0, "observations of 10 episodes of CartPole-v1\nint8");
    policy_image *int8 = image_read("policy.int8.oct");
    assert_true(int8->spec.normalise && int8->obs_inverse_std[0] > 0.0f);
    policy_image_destroy(int8);
    expect(about("--scale-observations --options max_episode_steps=5"), 1,
           "50 observations are too few, 256 are needed");
}

static void
test_all_precisions_write_no_file(void **state)
{
    (void)state;
    (void)unlink(in_folder("policy.int4.oct"));
    (void)unlink(in_folder("policy.int8.oct"));
    expect(about("--precision all --episodes 2"), 0, "\nint4 ");
    assert_false(exists("policy.int4.oct") || exists("policy.int8.oct"));
}

static void
test_an_environment_that_does_not_fit_is_refused_first(void **state)
{
    (void)state;
    (void)unlink(in_folder("policy.int8.oct"));
    expect(about("--env Acrobot-v1"), 1, "the policy (for CartPole-v1) reads 4 numbers");
    expect(about("--env Nowhere-v1"), 1, "Nowhere-v1");
    assert_false(exists("policy.int8.oct"));
}

static void
test_an_interrupt_ends_the_evaluation_and_leaves_the_file(void **state)
{
    (void)state;
    (void)unlink(in_folder("policy.int8.oct"));
    pid_t child = quantize_start(about("--episodes 1000000"));
    uint64_t end_ns = oct_clock_ns() + DEADLINE_NS;
    // The table's head is printed once signals are listened to.
    for (bool begun = false; !begun;) {
        assert_true(oct_clock_ns() < end_ns);
        char *out = exists("out") ? read_text("out") : NULL;
        begun = out != NULL && strstr(out, "\nprecision ") != NULL;
        free(out);
    }
    assert_int_equal(kill(child, SIGINT), 0);
    said s = quantize_end(child);
    assert_int_equal(s.code, 130);
    assert_non_null(strstr(s.err, "octet quantize: stopped"));
    policy_image *image = image_read("policy.int8.oct");
    assert_true(isnan(image->origin.eval_return));
    policy_image_destroy(image);
    said_free(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_wrong_use_starts_nothing, setup),
        cmocka_unit_test_setup(test_a_quantised_policy_is_refused_and_the_fp32_one_named, setup),
        cmocka_unit_test_setup(test_the_file_is_the_policy_in_fewer_bits, setup),
        cmocka_unit_test_setup(test_a_run_folder_stands_for_the_policy_in_it, setup),
        cmocka_unit_test_setup(test_names_of_the_result, setup),
        cmocka_unit_test_setup(test_the_input_is_never_written_over, setup),
        cmocka_unit_test_setup(test_returns_of_every_precision, setup),
        cmocka_unit_test_setup(test_an_fp32_policy_that_overflows_is_told, setup),
        cmocka_unit_test_setup(test_a_precision_that_overflows_is_told, setup),
        cmocka_unit_test_setup(test_biases_are_corrected_on_demand, setup),
        cmocka_unit_test_setup(test_observations_are_scaled_on_demand, setup),
        cmocka_unit_test_setup(test_all_precisions_write_no_file, setup),
        cmocka_unit_test_setup(test_an_environment_that_does_not_fit_is_refused_first, setup),
        cmocka_unit_test_setup(test_an_interrupt_ends_the_evaluation_and_leaves_the_file, setup),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const char *const names[] = {
        "out", "err", "policy.fp32.oct", "policy.int8.oct", "policy.int4.oct", "policy.bf16.oct"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)unlink(in_folder(names[i]));
    }
    rmdir(folder);
    return failed;
}
