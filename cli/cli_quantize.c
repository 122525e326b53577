// octet quantize: converts an fp32 policy to fewer bits, reports the error of each layer and
// measures returns.

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "actor/actor_evaluate.h"
#include "cli/cli_commands.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_observe.h"
#include "cli/cli_options.h"
#include "cli/cli_returns.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_folder_env.h"
#include "cli/run/cli_trust.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_calibrate.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_ptq.h"
#include "quantizer/quantizer_scaling.h"

#define COMMAND      "quantize"
#define INPUT        "policy.fp32.oct" // fp32 policy that the learner writes to the run folder
#define EPISODES_MAX 1000000
#define ENVS_MAX     4096

#define PRECISION_ALL  ((policy_precision)(POLICY_INT4 + 1))
#define PERCENTILE_MIN 0x1.9000000000001p5 // the first double after 50

// xor: calibration plays other episodes than the measurement
#define CALIBRATION_SEED 0x63616c6962726174u

// ---- options

typedef struct quantize_options {
    const char *given; // policy file or run folder
    bool all;          // print the table of returns, write no file; precision has no meaning
    policy_precision precision;
    double percentile; // --percentile; 0: not given
    quantizer_method method;
    bool calibrate;
    bool scale_observations;
    const char *out;    // NULL: beside the input
    bool is_trusted;    // --trust
    const char *env_id; // NULL: the policy's own
    const char *options;
    bool evaluate;
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
} quantize_options;

static const char *const precisions[] = {"int8", "bf16", "fp16", "int4", "all", NULL};
static const char *const ranges[] = {"absmax", "percentile", "mse", NULL};
static const char *const scales[] = {"row", "tensor", NULL};

static const oct_arg quantize_rows[] = {
    {OCT_ARG_OPERAND("policies", quantize_options, given),
     .missing = "no POLICY given; name a file of precision fp32 or a run folder"},
    {OCT_ARG_WORD("precision", "P", quantize_options, precision, precisions), .min = POLICY_INT8,
     .help = "Quantise to this precision: int8 (default), int4, bf16 or fp16; all: only print the "
             "table of returns"},
    {OCT_ARG_WORD("range", "R", quantize_options, method.range, ranges),
     .help = "Choose the range of a scale: absmax, up to the largest weight (default); percentile, "
             "up to a percentile of the weights; mse, the range with the smallest error"},
    {OCT_ARG_NUMBER("percentile", "X", quantize_options, percentile, PERCENTILE_MIN, 100),
     .allowed = "is a number above 50 and up to 100",
     .help = "Set the percentile for --range percentile (default: 99.9)"},
    {OCT_ARG_WORD("scale", "S", quantize_options, method.per_tensor, scales),
     .help = "For int8, use one scale for each row (per channel, default) or for each tensor"},
    {OCT_ARG_FLAG("calibrate", quantize_options, calibrate),
     .help = "Correct the biases on observations from episodes of the fp32 policy"},
    {OCT_ARG_FLAG("scale-observations", quantize_options, scale_observations),
     .help =
         "Normalise observations by the mean and standard deviation of observations from episodes "
         "of the fp32 policy; not needed for policies published with policy.scale_observations"},
    {OCT_ARG_PATH("out", "FILE", quantize_options, out),
     .help = "Write the policy to FILE (default: beside POLICY, with the precision in its name)"},
    {OCT_ARG_PATH("env", "ID", quantize_options, env_id),
     .help = "Measure the return of every precision in this environment or plug-in (default with "
             "--episodes: that of the run, or of the policy)"},
    {OCT_ARG_COUNT("episodes", "N", quantize_options, episodes, 1, EPISODES_MAX),
     .help = "Play N episodes with each precision (default: 100)"},
    {OCT_ARG_COUNT("seed", "S", quantize_options, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environments (default: 1)"},
    {OCT_ARG_COUNT("envs", "N", quantize_options, envs, 1, ENVS_MAX),
     .help = "Step N environments together (default: 16)"},
    {OCT_ARG_TEXT("options", "K=V,...", quantize_options, options),
     .help = "Set options of the environment"},
    {OCT_ARG_FLAG("trust", quantize_options, is_trusted), .help = CLI_TRUST_HELP},
    {0},
};

static const oct_args quantize_args = {
    .rows = quantize_rows,
    .usage = "POLICY",
    .doc = "Quantises a trained fp32 policy and prints the error of each layer. With --episodes or "
           "--env, it also measures the return of every precision. POLICY is a policy file of "
           "precision fp32, or a run folder, which stands for the " INPUT " in it.\v"
           "Example:\n"
           "  octet quantize runs/pole --precision int4 --range mse --episodes 100",
};

// Refuses combinations of options that contradict each other.
static void
options_check(quantize_options *options)
{
    bool has_percentile = options->percentile > 0;
    if (has_percentile) {
        options->method.percentile = options->percentile;
    }
    options->all = options->precision == PRECISION_ALL;
    options->evaluate = options->env_id != NULL || options->episodes > 0;
    options->episodes = options->episodes > 0 ? options->episodes : 100;
    if (has_percentile && options->method.range != QUANTIZER_PERCENTILE) {
        cli_usage_error(COMMAND, "--percentile needs --range percentile");
    }
    if (options->method.per_tensor && !options->all && options->precision != POLICY_INT8) {
        cli_usage_error(COMMAND, "--scale tensor is for int8 only, not for %s",
                        policy_precision_name(options->precision));
    }
    if (options->all && options->out != NULL) {
        cli_usage_error(COMMAND, "--precision all writes no file; leave out --out");
    }
}

// ---- files

static bool
is_folder(const char *path)
{
    struct stat file;
    return oct_file_stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

// Writes the path of the result: "run/policy.fp32.oct" and int4 give "run/policy.int4.oct".
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

// Writes a hint about the fp32 policy: "; give 'FILE'" if it is beside the given policy.
static void
fp32_hint(char *out, size_t size, const char *path)
{
    char beside[CLI_PATH_MAX];
    struct stat file;
    (void)cli_folder_beside(beside, sizeof(beside), path, INPUT);
    if (oct_file_stat(beside, &file) == 0) {
        (void)snprintf(out, size, "; give '%s'", beside);
    } else {
        (void)snprintf(out, size, "; the learner keeps one as " INPUT " in the run folder");
    }
}

// Loads the fp32 policy. NULL after a message.
static policy_image *
load(const char *path, const char *given)
{
    oct_reason why;
    char hint[CLI_PATH_MAX + 64] = "";
    policy_image *image;
    if (policy_file_load(&image, path, &why) != OCT_OK) {
        bool none = is_folder(given) && errno == ENOENT;
        cli_error(COMMAND, "'%s': %s%s", path, why.text,
                  none ? "; is this a run folder, and has its learner published a policy?" : "");
        return NULL;
    }
    if (image->precision != POLICY_FP32) {
        fp32_hint(hint, sizeof(hint), path);
        cli_error(
            COMMAND,
            "'%s' has precision %s, so its weights are already rounded; precision fp32 is needed%s",
            path, policy_precision_name(image->precision), hint);
        policy_image_destroy(image);
        return NULL;
    }
    return image;
}

static bool
save(const policy_image *image, const char *path)
{
    oct_err err = policy_file_write(path, image);
    if (err != OCT_OK) {
        cli_error(COMMAND, "cannot write '%s': %s", path, oct_file_strerror(errno));
    }
    return err == OCT_OK;
}

// ---- errors of the layers

// Describes how the range of weights was chosen.
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

// Prints the rounding error of each layer's weights; --evaluate measures what it means for the
// return.
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

// Completes the options of the environment, which then point into chosen.
static bool
env_choose(cli_folder_env *chosen, quantize_options *options, const char *path,
           const policy_image *policy)
{
    oct_reason why;
    if (cli_folder_env_choose(chosen, path, policy->spec.env_id, options->env_id, options->options,
                              options->is_trusted, &why) != OCT_OK) {
        cli_error(COMMAND, "%s" CLI_FOLDER_ENV_HINT, why.text);
        return false;
    }
    options->env_id = chosen->id;
    options->options = chosen->options;
    return true;
}

// Checks that the policy fits the environment, and prints the environment's options.
static bool
env_begin(const policy_image *policy, const quantize_options *options, const cli_folder_env *chosen)
{
    env *e = NULL;
    oct_reason why = {""};
    oct_err err = cli_folder_env_open(&e, COMMAND, chosen, options->seed, &why);
    if (err == OCT_OK) {
        err = actor_fits(&policy->spec, &policy->origin, env_spec(e), &why);
        env_close(e);
    }
    if (err != OCT_OK) {
        cli_error(COMMAND, "environment '%s': %s", options->env_id, why.text);
        return false;
    }
    cli_folder_env_print(chosen);
    return true;
}

// Plays episodes other than the measured ones and keeps their observations. what: the beginning of
// the line that is printed. NULL after a message.
static quantizer_reservoir *
observations_play(const policy_image *fp32, const quantize_options *options, uint32_t rows,
                  const char *what)
{
    oct_reason why = {""};
    quantizer_reservoir *observed = quantizer_reservoir_create(&fp32->spec, rows, options->seed);
    cli_observed of;
    oct_err err = cli_observe(&of, observed, fp32, options->env_id, options->options,
                              options->seed ^ CALIBRATION_SEED, &why);
    if (err != OCT_OK) {
        cli_error(COMMAND, "'%s': %s", options->env_id,
                  why.text[0] != '\0' ? why.text : oct_strerror(err));
        quantizer_reservoir_destroy(observed);
        return NULL;
    }
    printf("%s on %u observations of %s of %s\n", what, quantizer_reservoir_count(observed),
           of.text, options->env_id);
    return observed;
}

// Replaces *fp32 by the same policy with scaled observations. False after a message.
static bool
observations_scale(policy_image **fp32, const quantize_options *options)
{
    const policy_spec *spec = &(*fp32)->spec;
    if (spec->normalise || !quantizer_is_scalable(spec)) {
        cli_error(COMMAND, "--scale-observations: %s",
                  spec->normalise
                      ? "this policy already scales its observations"
                      : "only float observations that enter a dense layer can be scaled");
        return false;
    }
    quantizer_reservoir *observed =
        observations_play(*fp32, options, QUANTIZER_PTQ_SCALE_ROWS, "observation scales measured");
    if (observed == NULL) {
        return false;
    }
    policy_image *scaled;
    uint32_t count = quantizer_reservoir_count(observed);
    oct_err err = quantizer_ptq_scale(&scaled, *fp32, observed);
    quantizer_reservoir_destroy(observed);
    if (err == OCT_EAGAIN) {
        cli_error(COMMAND,
                  "--scale-observations: %u observations are too few, %d are needed to measure the "
                  "deviation of each number; leave it out, or train with "
                  "policy.scale_observations",
                  count, QUANTIZER_OBSERVED_LEAST);
        return false;
    }
    if (err != OCT_OK) {
        cli_error(COMMAND, "--scale-observations: a weight is not finite");
        return false;
    }
    policy_image_destroy(*fp32);
    *fp32 = scaled;
    return true;
}

// Measures the returns of all precisions on the same seeds. Returns the exit code.
static int
measure(const policy_image *fp32, const quantize_options *options, const cli_folder_env *chosen,
        const quantizer_reservoir *calibration, double means[CLI_RETURNS_MEANS])
{
    cli_returns_request request = {
        .fp32 = fp32,
        .method = options->method,
        .command = COMMAND,
        .play = cli_folder_env_request(chosen, options->episodes, options->envs, options->seed),
        .calibration = calibration,
    };
    return cli_returns(&request, means);
}

// Returns true if the written policy can be used; prints why not.
static bool
is_useful(double mean, const char *out)
{
    if (isnan(mean)) {
        cli_error(COMMAND,
                  "'%s' cannot be used: a number overflows in it, and its outputs are not finite",
                  out);
    }
    return !isnan(mean);
}

// Writes the policy, and writes it again when its return is known, so that the file exists even if
// the evaluation is stopped.
static int
quantize(const policy_image *fp32, const char *path, const quantize_options *options,
         const cli_folder_env *chosen, const quantizer_reservoir *calibration)
{
    char out[CLI_PATH_MAX];
    if (options->out != NULL) {
        (void)snprintf(out, sizeof(out), "%s", options->out);
    } else {
        cli_folder_confine_beside(path);
        output_path(out, path, options->precision);
    }
    if (oct_file_is_same(out, path)) {
        return cli_error(COMMAND, "'%s' is the policy itself; name another file with --out", out);
    }
    policy_image *image;
    if (quantizer_ptq_convert(&image, fp32, options->precision, &options->method, calibration) !=
        OCT_OK) {
        return cli_error(COMMAND, "'%s' has a weight that is not finite", path);
    }
    int code = save(image, out) ? 0 : CLI_EXIT_FAILED;
    if (code == 0) {
        print_errors(image, fp32, &options->method);
        printf("wrote %s, %zu bytes (fp32: %zu)\n", out, policy_encoded_size(image),
               policy_encoded_size(fp32));
    }
    if (code == 0 && options->evaluate) {
        double means[CLI_RETURNS_MEANS] = {0};
        code = measure(fp32, options, chosen, calibration, means);
        image->origin.eval_return = (float)means[options->precision];
        bool is_good = code == 0 && save(image, out) && is_useful(means[options->precision], out);
        code = code == 0 && !is_good ? CLI_EXIT_FAILED : code;
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
                                .envs = 16,
                                .seed = 1};
    cli_args_parse(&quantize_args, argc, argv, &options);
    options_check(&options);
    char path[CLI_PATH_MAX];
    cli_folder_file(path, options.given, INPUT);
    policy_image *fp32 = load(path, options.given);
    if (fp32 == NULL) {
        return CLI_EXIT_FAILED;
    }
    options.evaluate = options.evaluate || options.all;
    int code = CLI_EXIT_FAILED;
    quantizer_reservoir *calibration = NULL;
    bool needs_env = options.evaluate || options.calibrate || options.scale_observations;
    cli_folder_env chosen;
    if (needs_env && !env_choose(&chosen, &options, path, fp32)) {
        policy_image_destroy(fp32);
        return CLI_EXIT_FAILED;
    }
    if (needs_env) {
        cli_env_guard_begin(COMMAND, options.env_id);
    }
    if ((needs_env && !env_begin(fp32, &options, &chosen)) ||
        (options.scale_observations && !observations_scale(&fp32, &options)) ||
        (options.calibrate &&
         (calibration = observations_play(fp32, &options, QUANTIZER_CALIBRATE_ROWS,
                                          "biases corrected")) == NULL)) {
        code = CLI_EXIT_FAILED;
    } else if (options.all) {
        double means[CLI_RETURNS_MEANS] = {0};
        code = measure(fp32, &options, &chosen, calibration, means);
    } else {
        code = quantize(fp32, path, &options, &chosen, calibration);
    }
    if (needs_env) {
        cli_env_guard_end();
    }
    quantizer_reservoir_destroy(calibration);
    policy_image_destroy(fp32);
    return code;
}
