// The options of octet import: their table and their checks.
#include "cli/cli_import_options.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "policy/policy_activations.h"

// The messages about what is allowed contain these numbers.
static_assert(POLICY_RANK_MAX == 6 && POLICY_WIDTH_MAX == 65536 && POLICY_ACTIONS_MAX == 256, "");
#define SHAPE_ALLOWED "are up to 6 numbers from 1 to 65536, separated by commas"
#define BOUNDS_ALLOWED                                                                             \
    "are none, or up to 256 pairs LOW:HIGH, LOW below HIGH, separated by commas (-inf and inf: "   \
    "no bound)"
#define SCALE_ALLOWED  "are up to 256 finite numbers other than 0, separated by commas"
#define OFFSET_ALLOWED "are up to 256 finite numbers, separated by commas"

static oct_err
take_shape(const oct_arg_given *given)
{
    import_request *request = given->field;
    const char *at = given->text;
    request->obs_rank = 0;
    do {
        char *end;
        unsigned long dim = strtoul(at, &end, 10);
        if (end == at || *at == '-' || dim < 1 || dim > POLICY_WIDTH_MAX ||
            request->obs_rank == POLICY_RANK_MAX || (*end != '\0' && *end != ',')) {
            return OCT_EINVAL;
        }
        request->obs_shape[request->obs_rank++] = (uint32_t)dim;
        at = *end == ',' ? end + 1 : end;
    } while (*at != '\0');
    return OCT_OK;
}

// Reads the number at *at, which ends at the character stop or at the end of the text, and moves
// *at to that end.
static bool
number_read(const char **at, char stop, float *out)
{
    char *end;
    double value = strtod(*at, &end);
    bool is_number = end != *at && !isnan(value) && (isinf(value) || isfinite((float)value)) &&
                     (*end == stop || *end == '\0');
    *out = (float)value;
    *at = end;
    return is_number;
}

static oct_err
take_bounds(const oct_arg_given *given)
{
    import_request *request = given->field;
    const char *at = strcmp(given->text, "none") == 0 ? "-inf:inf" : given->text;
    uint32_t count = 0;
    do {
        if (count == POLICY_ACTIONS_MAX || !number_read(&at, ':', &request->low[count]) ||
            *at++ != ':' || !number_read(&at, ',', &request->high[count]) ||
            !(request->low[count] < request->high[count])) {
            return OCT_EINVAL;
        }
        count++;
    } while (*at++ != '\0');
    request->bound_count = count;
    return OCT_OK;
}

// Reads finite numbers, separated by commas. is_factor: none may be 0.
static oct_err
list_take(float out[POLICY_ACTIONS_MAX], uint32_t *count, const char *text, bool is_factor)
{
    for (*count = 0; *count < POLICY_ACTIONS_MAX;) {
        float *value = &out[(*count)++];
        if (!number_read(&text, ',', value) || !isfinite(*value) || (is_factor && *value == 0.0f)) {
            return OCT_EINVAL;
        }
        if (*text++ == '\0') {
            return OCT_OK;
        }
    }
    return OCT_EINVAL;
}

static oct_err
take_scale(const oct_arg_given *given)
{
    import_request *request = given->field;
    return list_take(request->scale, &request->scale_count, given->text, true);
}

static oct_err
take_offset(const oct_arg_given *given)
{
    import_request *request = given->field;
    return list_take(request->offset, &request->offset_count, given->text, false);
}

static const char *const activations[] = {POLICY_ACTIVATIONS(POLICY_ACTIVATION_WORD) NULL};
static const char *const heads[] = {"values", "logits", NULL};

static const oct_arg import_rows[] = {
    {OCT_ARG_OPERAND("models", cli_import_options, model), .missing = "no MODEL given"},
    {OCT_ARG_PATH("out", "FILE", cli_import_options, out),
     .missing = "no file given for the policy; name one with --out",
     .help = "Write the policy to FILE (required), and the fp32 policy beside it"},
    {OCT_ARG_WORD("precision", "P", cli_import_options, precision, cli_precisions),
     .min = POLICY_FP32,
     .help = "Quantise to this precision: int8 (default), int4, bf16, fp16 or fp32"},
    {OCT_ARG_PATH("observations", "FILE", cli_import_options, observations),
     .help = "Calibrate and compare on these observations, an array of rows (.npy, .npz)"},
    {OCT_ARG_PATH("env", "ID", cli_import_options, env_id),
     .help = "Take shapes and bounds from this environment and, without --observations, "
             "observations from 10 episodes of the policy in it"},
    {OCT_ARG_TEXT("options", "K=V,...", cli_import_options, env_options),
     .help = "Set options of the environment"},
    {OCT_ARG_TAKE("obs-shape", "N,...", cli_import_options, request, take_shape),
     .allowed = SHAPE_ALLOWED,
     .help = "Set the shape of an observation, if the model does not give it"},
    {OCT_ARG_TEXT("activation", "A", cli_import_options, activation),
     .words = &activations[POLICY_RELU],
     .help = "Set the activation between the layers of a state dict, which does not contain it, "
             "such as elu, relu or silu"},
    {OCT_ARG_COUNT("actions", "N", cli_import_options, request.action_count, 1, POLICY_ACTIONS_MAX),
     .help = "Set the number of actions, which are discrete without --bounds or an --env that has "
             "a box"},
    {OCT_ARG_TAKE("bounds", "LOW:HIGH,...", cli_import_options, request, take_bounds),
     .allowed = BOUNDS_ALLOWED,
     .help = "Clip box actions to these bounds: one pair for all actions, or one for each, with "
             "inf for none; or none: a box without bounds"},
    {OCT_ARG_TAKE("action-scale", "S,...", cli_import_options, request, take_scale),
     .allowed = SCALE_ALLOWED,
     .help = "Multiply the model's actions by S: one number for all actions, or one for each"},
    {OCT_ARG_TAKE("action-offset", "O,...", cli_import_options, request, take_offset),
     .allowed = OFFSET_ALLOWED, .help = "Add O to the model's actions, after --action-scale"},
    {OCT_ARG_PATH("normalizer", "FILE", cli_import_options, normalizer),
     .help =
         "Normalise observations before the model by mean and std in FILE (.npz, .json, .npy with "
         "two rows, or MEAN.npy,STD.npy), or by a VecNormalize that Stable-Baselines3 saved"},
    {OCT_ARG_FLAG("unit-actions", cli_import_options, request.unit_actions),
     .help = "Map the model's actions from [-1, 1] to the bounds, as for SAC and TD3 of "
             "Stable-Baselines3"},
    {OCT_ARG_WORD("head", "H", cli_import_options, request.head, heads), .min = POLICY_HEAD_VALUES,
     .help = "Treat outputs for discrete actions as logits (default after a softmax) or as values "
             "(default otherwise)"},
    {OCT_ARG_TEXT("output", "NAME", cli_import_options, request.output),
     .help = "Take actions or values from this output of the model (default: action, actions, "
             "mean, mu, logits, q_values, or the first)"},
    {OCT_ARG_TEXT("log-std", "NAME", cli_import_options, request.log_std),
     .help = "Take the log standard deviations of box actions from this output or constant of the "
             "model"},
    {OCT_ARG_COUNT("seed", "S", cli_import_options, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environment (default: 1)"},
    {OCT_ARG_FLAG("json", cli_import_options, json),
     .help = "Print the report as one JSON document"},
    {0},
};

static const oct_args import_args = {
    .rows = import_rows,
    .usage = "MODEL",
    .doc = "Makes a policy from a network that was trained elsewhere, quantises it and prints how "
           "much it differs from the model. MODEL is an ONNX model, an agent that "
           "Stable-Baselines3 saved (.zip) or a state dict of PyTorch (.pt): a chain of dense "
           "layers or convolutions from one observation to actions or their values.\v"
           "Examples:\n"
           "  octet import pole.onnx --env CartPole-v1 --out pole.oct\n"
           "  octet import ppo_pole.zip --env CartPole-v1 --out pole.oct",
};

void
cli_import_options_parse(cli_import_options *options, int argc, char **argv)
{
    *options = (cli_import_options){.precision = POLICY_INT8, .env_options = "", .seed = 1};
    cli_args_parse(&import_args, argc, argv, options);
    options->has_bounds = options->request.bound_count > 0;
    options->has_shape = options->request.obs_rank > 0;
    if (options->env_options[0] != '\0' && options->env_id == NULL) {
        cli_usage_error(CLI_IMPORT, "--options needs --env");
    }
}

void
cli_import_options_imply(cli_import_options *options, const char *name, const char *value)
{
    const import_request *request = &options->request;
    const struct {
        const char *name;
        bool is_given;
    } known[] = {{"output", request->output != NULL}, {"log-std", request->log_std != NULL},
                 {"head", request->head != 0},        {"actions", request->action_count > 0},
                 {"bounds", options->has_bounds},     {"unit-actions", request->unit_actions}};
    oct_reason why;
    for (size_t i = 0; i < OCT_COUNTOF(known); i++) {
        if (strcmp(name, known[i].name) == 0 && !known[i].is_given &&
            oct_args_set(&import_args, options, name, value, &why) != OCT_OK) {
            cli_usage_error(CLI_IMPORT, "%s", why.text);
        }
    }
    options->has_bounds = options->has_bounds || strcmp(name, "bounds") == 0;
}
