// octet quantize: an fp32 policy in fewer bits, with the error of each layer.

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "actor/actor_evaluate.h"
#include "cli/cli_commands.h"
#include "cli/cli_observe.h"
#include "cli/cli_options.h"
#include "cli/cli_returns.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "common/oct_file.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_calibrate.h"
#include "quantizer/quantizer_ptq.h"
#include "quantizer/quantizer_scaling.h"

#define COMMAND          "quantize"
#define REASON_BYTES     ENV_REASON_BYTES
#define EPISODES_MAX     1000000
#define ENVS_MAX         4096
#define CALIBRATION_SEED 0x63616c6962726174u
#define FP32_NAME        "policy.fp32.oct" // what the learner leaves in the run folder

enum {
    KEY_PRECISION = 256,
    KEY_RANGE,
    KEY_PERCENTILE,
    KEY_SCALE,
    KEY_CALIBRATE,
    KEY_SCALE_OBSERVATIONS,
    KEY_OUT,
    KEY_ENV,
    KEY_EPISODES,
    KEY_SEED,
    KEY_ENVS,
    KEY_OPTIONS
};

typedef struct quantize_options {
    const char *given; // policy file or run folder
    bool all;          // the table alone
    policy_precision precision;
    bool has_percentile;
    quantizer_method method;
    bool calibrate;
    bool scale_observations;
    const char *out;    // NULL: beside the input
    const char *env_id; // NULL: the policy's own
    const char *options;
    bool evaluate;
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
} quantize_options;

static const struct argp_option option_table[] = {
    {"precision", KEY_PRECISION, "P", 0,
     "int8 (default), int4, bf16, fp16; all: only the table of returns", 0},
    {"range", KEY_RANGE, "R", 0,
     "What a scale covers: absmax, the largest weight (default); percentile, all but the largest; "
     "mse, the range of least error",
     0},
    {"percentile", KEY_PERCENTILE, "X", 0, "Of --range percentile (default: 99.9)", 0},
    {"scale", KEY_SCALE, "S", 0, "int8: one scale for each row (default) or tensor", 0},
    {"calibrate", KEY_CALIBRATE, NULL, 0,
     "Correct the biases on observations that the fp32 policy sees in the environment", 0},
    {"scale-observations", KEY_SCALE_OBSERVATIONS, NULL, 0,
     "Divide out the mean and deviation of what the fp32 policy observes in the environment; not "
     "needed for policies that were published with policy.scale_observations",
     0},
    {"out", KEY_OUT, "FILE", 0, "Where to (default: beside POLICY, named by the precision)", 0},
    {"env", KEY_ENV, "ID", 0,
     "Measure the return in every precision in this environment, or plug-in (default with "
     "--episodes: the policy's own)",
     0},
    {"episodes", KEY_EPISODES, "N", 0, "Episodes of each precision (default: 100)", 0},
    {"seed", KEY_SEED, "S", 0, "Seed of the environments (default: 1)", 0},
    {"envs", KEY_ENVS, "N", 0, "Environments stepped together (default: 16)", 0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Options of the environment", 0},
    {0},
};

// ---- options

// The place of word among words, or the end of the process.
static int
one_of(const char *option, const char *word, const char *const *words, int count,
       const char *allowed)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return i;
        }
    }
    cli_usage_error(COMMAND, "%s is '%s'; allowed is %s", option, word, allowed);
}

static void
parse_precision(quantize_options *options, const char *arg)
{
    options->all = strcmp(arg, "all") == 0;
    if (!options->all &&
        (!policy_precision_parse(&options->precision, arg) || options->precision == POLICY_FP32)) {
        cli_usage_error(COMMAND, "--precision is '%s'; allowed is int8, int4, bf16, fp16 or all",
                        arg);
    }
}

static void
parse_percentile(quantize_options *options, const char *arg)
{
    char *end = NULL;
    double value = strtod(arg, &end);
    if (end == arg || *end != '\0' || !(value > 50) || !(value <= 100)) {
        cli_usage_error(COMMAND, "--percentile is '%s'; allowed is a number above 50 and up to 100",
                        arg);
    }
    options->method.percentile = value;
    options->has_percentile = true;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    static const char *const ranges[] = {"absmax", "percentile", "mse"};
    static const char *const scales[] = {"row", "tensor"};
    quantize_options *options = state->input;
    switch (key) {
    case KEY_PRECISION:
        parse_precision(options, arg);
        return 0;
    case KEY_RANGE:
        options->method.range =
            (quantizer_range)one_of("--range", arg, ranges, 3, "absmax, percentile or mse");
        return 0;
    case KEY_PERCENTILE:
        parse_percentile(options, arg);
        return 0;
    case KEY_SCALE:
        options->method.per_tensor = one_of("--scale", arg, scales, 2, "row or tensor") == 1;
        return 0;
    case KEY_CALIBRATE:
        options->calibrate = true;
        return 0;
    case KEY_SCALE_OBSERVATIONS:
        options->scale_observations = true;
        return 0;
    case KEY_OUT:
        options->out = arg;
        return 0;
    case KEY_ENV:
        options->env_id = arg;
        options->evaluate = true;
        return 0;
    case KEY_EPISODES:
        options->episodes =
            (uint32_t)cli_option_number(COMMAND, "--episodes", arg, 1, EPISODES_MAX);
        options->evaluate = true;
        return 0;
    case KEY_SEED:
        options->seed = cli_option_number(COMMAND, "--seed", arg, 0, UINT64_MAX);
        return 0;
    case KEY_ENVS:
        options->envs = (uint32_t)cli_option_number(COMMAND, "--envs", arg, 1, ENVS_MAX);
        return 0;
    case KEY_OPTIONS:
        options->options = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->given != NULL) {
            cli_usage_error(COMMAND, "two policies, '%s' and '%s'; name one", options->given, arg);
        }
        options->given = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp quantize_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "POLICY",
    .doc = "Quantises a finished fp32 policy, prints the error of each layer and, on demand, the "
           "return in every precision. POLICY is a policy file of precision fp32, or a run folder: "
           "then the " FP32_NAME " in it.\v"
           "Example: octet quantize runs/CartPole-v1-20260131-120000 --precision int4 --range mse "
           "--episodes 100",
};

// Options that make no sense together.
static void
options_check(const quantize_options *options)
{
    if (options->given == NULL) {
        cli_usage_error(COMMAND, "no POLICY given, a file of precision fp32 or a run folder");
    }
    if (options->has_percentile && options->method.range != QUANTIZER_PERCENTILE) {
        cli_usage_error(COMMAND, "--percentile is of --range percentile");
    }
    if (options->method.per_tensor && !options->all && options->precision != POLICY_INT8) {
        cli_usage_error(COMMAND, "--scale tensor is of int8 alone, not of %s",
                        policy_precision_name(options->precision));
    }
    if (options->all && options->out != NULL) {
        cli_usage_error(COMMAND, "--precision all writes no file; --out names one");
    }
}

// ---- files

static bool
is_folder(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

static bool
is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// "run/policy.fp32.oct" and int4 give "run/policy.int4.oct".
static void
output_path(char out[CLI_PATH_MAX], const char *input, policy_precision precision)
{
    static const char *const ends[] = {".fp32.oct", ".oct", ".fp32"};
    size_t length = strlen(input);
    for (size_t i = 0; i < OCT_COUNTOF(ends); i++) {
        size_t end = strlen(ends[i]);
        if (length > end && input[length - end - 1] != '/' &&
            strcmp(input + length - end, ends[i]) == 0) {
            length -= end;
            break;
        }
    }
    (void)snprintf(out, CLI_PATH_MAX, "%.*s.%s.oct", (int)OCT_MIN(length, CLI_PATH_MAX - 16), input,
                   policy_precision_name(precision));
}

// Where the fp32 policy is that somebody meant who named another: "; the fp32 one is 'FILE'".
static void
fp32_hint(char *out, size_t size, const char *path)
{
    char beside[CLI_PATH_MAX];
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash - path) + 1 : 0;
    (void)snprintf(beside, sizeof(beside), "%.*s" FP32_NAME, folder, path);
    struct stat file;
    if (stat(beside, &file) == 0) {
        (void)snprintf(out, size, "; give '%s'", beside);
    } else {
        (void)snprintf(out, size, "; the learner keeps one as " FP32_NAME " in the run folder");
    }
}

static policy_image *
load(const char *path, const char *given)
{
    char reason[REASON_BYTES], hint[CLI_PATH_MAX + 64] = "";
    policy_image *image;
    if (policy_file_load(&image, path, reason, sizeof(reason)) != OCT_OK) {
        bool none = is_folder(given) && errno == ENOENT;
        cli_error(COMMAND, "'%s': %s%s", path, reason,
                  none ? "; is this a run folder, and has its learner published a policy?" : "");
        return NULL;
    }
    if (image->precision != POLICY_FP32) {
        fp32_hint(hint, sizeof(hint), path);
        cli_error(COMMAND,
                  "'%s' is of precision %s, its weights are rounded already; needed is fp32%s",
                  path, policy_precision_name(image->precision), hint);
        policy_image_destroy(image);
        return NULL;
    }
    return image;
}

static bool
save(const policy_image *image, const char *path)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    oct_err err = oct_file_write(path, bytes, length);
    if (err != OCT_OK) {
        cli_error(COMMAND, "cannot write '%s': %s", path, strerror(errno));
    }
    free(bytes);
    return err == OCT_OK;
}

// ---- what was done

static const char *
range_text(const quantizer_method *method, char *out, size_t size)
{
    static const char *const names[] = {"absmax", "percentile", "mse"};
    int used = snprintf(out, size, "range %s", names[method->range]);
    if (method->range == QUANTIZER_PERCENTILE && used > 0) {
        (void)snprintf(out + used, size - (size_t)used, " %g", method->percentile);
    }
    return out;
}

static void
print_errors(const policy_image *image, const policy_image *fp32, const quantizer_method *method)
{
    quantizer_layer_error errors[POLICY_LAYERS_MAX];
    char range[64];
    quantizer_ptq_errors(image, fp32, errors);
    bool scaled = policy_is_integer(image->precision);
    printf("%s%s%s%s\n", policy_precision_name(image->precision), scaled ? ", " : "",
           scaled ? range_text(method, range, sizeof(range)) : "",
           image->per_tensor ? ", one scale for each layer" : "");
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        printf("  %2u  %5u -> %-5u  error of the weights %.3g (relative L2), %.3g at most\n", l,
               layer->inputs, layer->outputs, (double)errors[l].relative_l2,
               (double)errors[l].max_abs);
    }
}

static bool
env_fits(const policy_spec *policy, const quantize_options *options)
{
    env *e = NULL;
    char reason[REASON_BYTES] = "";
    env_request request = {.id = options->env_id,
                           .options = options->options,
                           .count = 1,
                           .seed = options->seed,
                           .autoreset = true};
    oct_err err = env_open(&e, &request, reason, sizeof(reason));
    if (err == OCT_OK) {
        err = actor_fits(policy, e, reason, sizeof(reason));
        env_close(e);
    }
    if (err != OCT_OK) {
        cli_error(COMMAND, "environment '%s': %s", options->env_id, reason);
    }
    return err == OCT_OK;
}

// Observations of other episodes than those that are measured, for `what`. NULL after a message.
static quantizer_reservoir *
observations_play(const policy_image *fp32, const quantize_options *options, uint32_t rows,
                  const char *what)
{
    char reason[REASON_BYTES] = "";
    quantizer_reservoir *observed = quantizer_reservoir_create(&fp32->spec, rows, options->seed);
    oct_err err = cli_observe(observed, fp32, options->env_id, options->options,
                              options->seed ^ CALIBRATION_SEED, reason, sizeof(reason));
    if (err != OCT_OK) {
        cli_error(COMMAND, "'%s': %s", options->env_id,
                  reason[0] != '\0' ? reason : oct_strerror(err));
        quantizer_reservoir_destroy(observed);
        return NULL;
    }
    printf("%s on %u observations of %u episodes of %s\n", what,
           quantizer_reservoir_count(observed), CLI_OBSERVE_EPISODES, options->env_id);
    return observed;
}

// Replaces *fp32 by the same policy of scaled observations. False after a message.
static bool
observations_scale(policy_image **fp32, const quantize_options *options)
{
    const policy_spec *spec = &(*fp32)->spec;
    if (spec->normalise || !quantizer_is_scalable(spec)) {
        cli_error(COMMAND, "--scale-observations: %s",
                  spec->normalise ? "this policy's observations are scaled already"
                                  : "only observations of floats into a dense layer are scaled");
        return false;
    }
    quantizer_reservoir *observed = observations_play(*fp32, options, QUANTIZER_PTQ_SCALE_ROWS,
                                                      "observations scaled by what was seen");
    if (observed == NULL) {
        return false;
    }
    policy_image *scaled;
    oct_err err = quantizer_ptq_scale(&scaled, *fp32, observed);
    quantizer_reservoir_destroy(observed);
    if (err != OCT_OK) {
        cli_error(COMMAND, "--scale-observations: %s",
                  err == OCT_EAGAIN ? "these are too few to know how far each number ranges"
                                    : "a weight is not finite");
        return false;
    }
    policy_image_destroy(*fp32);
    *fp32 = scaled;
    return true;
}

static int
measure(const policy_image *fp32, const quantize_options *options,
        const quantizer_reservoir *calibration, double means[CLI_RETURNS_MEANS])
{
    cli_returns_request request = {
        .fp32 = fp32,
        .method = options->method,
        .command = COMMAND,
        .env_id = options->env_id,
        .options = options->options,
        .episodes = options->episodes,
        .envs = options->envs,
        .seed = options->seed,
        .calibration = calibration,
    };
    return cli_returns(&request, means);
}

// Writes the policy, and again once its return is known: what was asked for is there even when the
// evaluation is stopped.
static int
quantize(const policy_image *fp32, const char *path, const quantize_options *options,
         const quantizer_reservoir *calibration)
{
    char out[CLI_PATH_MAX];
    if (options->out != NULL) {
        (void)snprintf(out, sizeof(out), "%s", options->out);
    } else {
        output_path(out, path, options->precision);
    }
    if (is_same_file(out, path)) {
        cli_error(COMMAND, "'%s' is the policy itself; name another file with --out", out);
        return CLI_EXIT_FAILED;
    }
    policy_image *image;
    if (quantizer_ptq_convert(&image, fp32, options->precision, &options->method, calibration) !=
        OCT_OK) {
        cli_error(COMMAND, "'%s' holds a weight that is not finite", path);
        return CLI_EXIT_FAILED;
    }
    int code = save(image, out) ? 0 : CLI_EXIT_FAILED;
    if (code == 0) {
        print_errors(image, fp32, &options->method);
        printf("wrote %s, %zu bytes (fp32: %zu)\n", out, policy_encoded_size(image),
               policy_encoded_size(fp32));
    }
    if (code == 0 && options->evaluate) {
        double means[CLI_RETURNS_MEANS] = {0};
        code = measure(fp32, options, calibration, means);
        image->origin.eval_return = (float)means[options->precision];
        code = code == 0 && !save(image, out) ? CLI_EXIT_FAILED : code;
    }
    policy_image_destroy(image);
    return code;
}

int
cli_quantize(int argc, char **argv)
{
    quantize_options options = {.precision = POLICY_INT8,
                                .method = QUANTIZER_METHOD_DEFAULT,
                                .options = "",
                                .episodes = 100,
                                .envs = 16,
                                .seed = 1};
    cli_options_parse(&quantize_argp, argc, argv, &options);
    options_check(&options);
    char path[CLI_PATH_MAX], own_env_id[OCT_CONFIG_TEXT_MAX], own_options[CLI_ENV_OPTIONS_BYTES];
    cli_folder_file(path, options.given, FP32_NAME);
    policy_image *fp32 = load(path, options.given);
    if (fp32 == NULL) {
        return CLI_EXIT_FAILED;
    }
    if (options.env_id == NULL && cli_folder_env(path, own_env_id, own_options)) {
        options.env_id = own_env_id;
        options.options = options.options[0] != '\0' ? options.options : own_options;
    } else if (options.env_id == NULL) {
        (void)snprintf(own_env_id, sizeof(own_env_id), "%s", fp32->spec.env_id);
        options.env_id = own_env_id;
    }
    options.evaluate = options.evaluate || options.all;
    int code = CLI_EXIT_FAILED;
    quantizer_reservoir *calibration = NULL;
    bool needs_env = options.evaluate || options.calibrate || options.scale_observations;
    if ((needs_env && !env_fits(&fp32->spec, &options)) ||
        (options.scale_observations && !observations_scale(&fp32, &options)) ||
        (options.calibrate &&
         (calibration = observations_play(fp32, &options, QUANTIZER_CALIBRATE_ROWS,
                                          "biases corrected")) == NULL)) {
        code = CLI_EXIT_FAILED;
    } else if (options.all) {
        double means[CLI_RETURNS_MEANS] = {0};
        code = measure(fp32, &options, calibration, means);
    } else {
        code = quantize(fp32, path, &options, calibration);
    }
    quantizer_reservoir_destroy(calibration);
    policy_image_destroy(fp32);
    return code;
}
