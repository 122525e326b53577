// The options of octet quantize: their table, their parser and their checks.

#include "cli/cli_quantize_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/run/cli_trust.h"

#define EPISODES_MAX 1000000
#define ENVS_MAX     4096

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
    KEY_OPTIONS,
    KEY_TRUST
};

static const struct argp_option option_table[] = {
    {"precision", KEY_PRECISION, "P", 0,
     "Quantise to this precision: int8 (default), int4, bf16 or fp16; all: only print the table of "
     "returns",
     0},
    {"range", KEY_RANGE, "R", 0,
     "Choose the range of a scale: absmax, up to the largest weight (default); percentile, up to a "
     "percentile of the weights; mse, the range with the smallest error",
     0},
    {"percentile", KEY_PERCENTILE, "X", 0,
     "Set the percentile for --range percentile (default: 99.9)", 0},
    {"scale", KEY_SCALE, "S", 0,
     "For int8, use one scale for each row (per channel, default) or for each tensor", 0},
    {"calibrate", KEY_CALIBRATE, NULL, 0,
     "Correct the biases on observations from episodes of the fp32 policy", 0},
    {"scale-observations", KEY_SCALE_OBSERVATIONS, NULL, 0,
     "Normalise observations by the mean and standard deviation of observations from episodes of "
     "the fp32 policy; not needed for policies published with policy.scale_observations",
     0},
    {"out", KEY_OUT, "FILE", 0,
     "Write the policy to FILE (default: beside POLICY, with the precision in its name)", 0},
    {"env", KEY_ENV, "ID", 0,
     "Measure the return of every precision in this environment or plug-in (default with "
     "--episodes: that of the run, or of the policy)",
     0},
    {"episodes", KEY_EPISODES, "N", 0, "Play N episodes with each precision (default: 100)", 0},
    {"seed", KEY_SEED, "S", 0, "Set the seed of the environments (default: 1)", 0},
    {"envs", KEY_ENVS, "N", 0, "Step N environments together (default: 16)", 0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Set options of the environment", 0},
    {"trust", KEY_TRUST, NULL, 0, CLI_TRUST_HELP, 0},
    {0},
};

static void
parse_precision(cli_quantize_options *options, const char *arg)
{
    options->all = strcmp(arg, "all") == 0;
    if (!options->all &&
        (!policy_precision_parse(&options->precision, arg) || options->precision == POLICY_FP32)) {
        cli_usage_error(CLI_QUANTIZE,
                        "--precision is '%s'; allowed is int8, int4, bf16, fp16 or all", arg);
    }
}

static void
parse_percentile(cli_quantize_options *options, const char *arg)
{
    char *end = NULL;
    double value = strtod(arg, &end);
    if (end == arg || *end != '\0' || !(value > 50) || !(value <= 100)) {
        cli_usage_error(CLI_QUANTIZE,
                        "--percentile is '%s'; allowed is a number above 50 and up to 100", arg);
    }
    options->method.percentile = value;
    options->has_percentile = true;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    static const char *const ranges[] = {"absmax", "percentile", "mse", NULL};
    static const char *const scales[] = {"row", "tensor", NULL};
    cli_quantize_options *options = state->input;
    switch (key) {
    case KEY_PRECISION:
        parse_precision(options, arg);
        return 0;
    case KEY_RANGE:
        options->method.range = (quantizer_range)cli_option_word(
            CLI_QUANTIZE, "--range", arg, ranges, "absmax, percentile or mse");
        return 0;
    case KEY_PERCENTILE:
        parse_percentile(options, arg);
        return 0;
    case KEY_SCALE:
        options->method.per_tensor =
            cli_option_word(CLI_QUANTIZE, "--scale", arg, scales, "row or tensor") == 1;
        return 0;
    case KEY_CALIBRATE:
        options->calibrate = true;
        return 0;
    case KEY_SCALE_OBSERVATIONS:
        options->scale_observations = true;
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
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
            (uint32_t)cli_option_number(CLI_QUANTIZE, "--episodes", arg, 1, EPISODES_MAX);
        options->evaluate = true;
        return 0;
    case KEY_SEED:
        options->seed = cli_option_number(CLI_QUANTIZE, "--seed", arg, 0, CLI_SEED_MAX);
        return 0;
    case KEY_ENVS:
        options->envs = (uint32_t)cli_option_number(CLI_QUANTIZE, "--envs", arg, 1, ENVS_MAX);
        return 0;
    case KEY_OPTIONS:
        options->options = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->given != NULL) {
            cli_usage_error(CLI_QUANTIZE, "two policies, '%s' and '%s'; name one", options->given,
                            arg);
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
    .doc = "Quantises a trained fp32 policy and prints the error of each layer. With --episodes or "
           "--env, it also measures the return of every precision. POLICY is a policy file of "
           "precision fp32, or a run folder, which stands for the " CLI_QUANTIZE_INPUT " in it.\v"
           "Example:\n"
           "  octet quantize runs/pole --precision int4 --range mse --episodes 100",
};

// Refuses combinations of options that contradict each other.
static void
options_check(const cli_quantize_options *options)
{
    if (options->given == NULL) {
        cli_usage_error(CLI_QUANTIZE,
                        "no POLICY given; name a file of precision fp32 or a run folder");
    }
    if (options->has_percentile && options->method.range != QUANTIZER_PERCENTILE) {
        cli_usage_error(CLI_QUANTIZE, "--percentile needs --range percentile");
    }
    if (options->method.per_tensor && !options->all && options->precision != POLICY_INT8) {
        cli_usage_error(CLI_QUANTIZE, "--scale tensor is for int8 only, not for %s",
                        policy_precision_name(options->precision));
    }
    if (options->all && options->out != NULL) {
        cli_usage_error(CLI_QUANTIZE, "--precision all writes no file; leave out --out");
    }
}

void
cli_quantize_options_parse(cli_quantize_options *options, int argc, char **argv)
{
    *options = (cli_quantize_options){.precision = POLICY_INT8,
                                      .method = QUANTIZER_METHOD_DEFAULT,
                                      .options = "",
                                      .episodes = 100,
                                      .envs = 16,
                                      .seed = 1};
    cli_options_parse(&quantize_argp, argc, argv, options);
    options_check(options);
}
