// The options of octet quantize: their table and their checks.

#include "cli/cli_quantize_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/run/cli_trust.h"

#define EPISODES_MAX 1000000
#define ENVS_MAX     4096

#define PRECISION_ALL  ((policy_precision)(POLICY_INT4 + 1))
#define PERCENTILE_MIN 0x1.9000000000001p5 // the first double after 50

static const char *const precisions[] = {"int8", "bf16", "fp16", "int4", "all", NULL};
static const char *const ranges[] = {"absmax", "percentile", "mse", NULL};
static const char *const scales[] = {"row", "tensor", NULL};

static const oct_arg quantize_rows[] = {
    {OCT_ARG_OPERAND("policies", cli_quantize_options, given),
     .missing = "no POLICY given; name a file of precision fp32 or a run folder"},
    {OCT_ARG_WORD("precision", "P", cli_quantize_options, precision, precisions),
     .min = POLICY_INT8,
     .help = "Quantise to this precision: int8 (default), int4, bf16 or fp16; all: only print the "
             "table of returns"},
    {OCT_ARG_WORD("range", "R", cli_quantize_options, method.range, ranges),
     .help = "Choose the range of a scale: absmax, up to the largest weight (default); percentile, "
             "up to a percentile of the weights; mse, the range with the smallest error"},
    {OCT_ARG_NUMBER("percentile", "X", cli_quantize_options, percentile, PERCENTILE_MIN, 100),
     .allowed = "is a number above 50 and up to 100",
     .help = "Set the percentile for --range percentile (default: 99.9)"},
    {OCT_ARG_WORD("scale", "S", cli_quantize_options, method.per_tensor, scales),
     .help = "For int8, use one scale for each row (per channel, default) or for each tensor"},
    {OCT_ARG_FLAG("calibrate", cli_quantize_options, calibrate),
     .help = "Correct the biases on observations from episodes of the fp32 policy"},
    {OCT_ARG_FLAG("scale-observations", cli_quantize_options, scale_observations),
     .help =
         "Normalise observations by the mean and standard deviation of observations from episodes "
         "of the fp32 policy; not needed for policies published with policy.scale_observations"},
    {OCT_ARG_PATH("out", "FILE", cli_quantize_options, out),
     .help = "Write the policy to FILE (default: beside POLICY, with the precision in its name)"},
    {OCT_ARG_PATH("env", "ID", cli_quantize_options, env_id),
     .help = "Measure the return of every precision in this environment or plug-in (default with "
             "--episodes: that of the run, or of the policy)"},
    {OCT_ARG_COUNT("episodes", "N", cli_quantize_options, episodes, 1, EPISODES_MAX),
     .help = "Play N episodes with each precision (default: 100)"},
    {OCT_ARG_COUNT("seed", "S", cli_quantize_options, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environments (default: 1)"},
    {OCT_ARG_COUNT("envs", "N", cli_quantize_options, envs, 1, ENVS_MAX),
     .help = "Step N environments together (default: 16)"},
    {OCT_ARG_TEXT("options", "K=V,...", cli_quantize_options, options),
     .help = "Set options of the environment"},
    {OCT_ARG_FLAG("trust", cli_quantize_options, is_trusted), .help = CLI_TRUST_HELP},
    {0},
};

static const oct_args quantize_args = {
    .rows = quantize_rows,
    .usage = "POLICY",
    .doc = "Quantises a trained fp32 policy and prints the error of each layer. With --episodes or "
           "--env, it also measures the return of every precision. POLICY is a policy file of "
           "precision fp32, or a run folder, which stands for the " CLI_QUANTIZE_INPUT " in it.\v"
           "Example:\n"
           "  octet quantize runs/pole --precision int4 --range mse --episodes 100",
};

// Refuses combinations of options that contradict each other.
static void
options_check(cli_quantize_options *options)
{
    bool has_percentile = options->percentile > 0;
    if (has_percentile) {
        options->method.percentile = options->percentile;
    }
    options->all = options->precision == PRECISION_ALL;
    options->evaluate = options->env_id != NULL || options->episodes > 0;
    options->episodes = options->episodes > 0 ? options->episodes : 100;
    if (has_percentile && options->method.range != QUANTIZER_PERCENTILE) {
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
                                      .envs = 16,
                                      .seed = 1};
    cli_args_parse(&quantize_args, argc, argv, options);
    options_check(options);
}
