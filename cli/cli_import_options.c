// The options of octet import: their table, their parser and their checks.
#include "cli/cli_import_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

enum {
    KEY_ENV = 256,
    KEY_OPTIONS,
    KEY_SHAPE,
    KEY_ACTIVATION,
    KEY_NORMALIZER,
    KEY_ACTIONS,
    KEY_BOUNDS,
    KEY_UNIT,
    KEY_SCALE,
    KEY_OFFSET,
    KEY_HEAD,
    KEY_OUTPUT,
    KEY_LOG_STD,
    KEY_OBSERVATIONS,
    KEY_PRECISION,
    KEY_SEED,
    KEY_JSON,
    KEY_OUT
};

static const struct argp_option option_table[] = {
    {"out", KEY_OUT, "FILE", 0,
     "Write the policy to FILE (required), and the fp32 policy beside it", 0},
    {"precision", KEY_PRECISION, "P", 0,
     "Quantise to this precision: int8 (default), int4, bf16, fp16 or fp32", 0},
    {"observations", KEY_OBSERVATIONS, "FILE", 0,
     "Calibrate and compare on these observations, an array of rows (.npy, .npz)", 0},
    {"env", KEY_ENV, "ID", 0,
     "Take shapes and bounds from this environment and, without --observations, observations from "
     "10 episodes of the policy in it",
     0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Set options of the environment", 0},
    {"obs-shape", KEY_SHAPE, "N,...", 0,
     "Set the shape of an observation, if the model does not give it", 0},
    {"activation", KEY_ACTIVATION, "A", 0,
     "Set the activation between the layers of a state dict, which does not contain it: elu, relu, "
     "tanh or sigmoid",
     0},
    {"actions", KEY_ACTIONS, "N", 0,
     "Set the number of actions, which are discrete without --bounds or an --env that has a box",
     0},
    {"bounds", KEY_BOUNDS, "LOW:HIGH,...", 0,
     "Clip box actions to these bounds: one pair for all actions, or one for each, with inf for "
     "none; or none: a box without bounds",
     0},
    {"action-scale", KEY_SCALE, "S,...", 0,
     "Multiply the model's actions by S: one number for all actions, or one for each", 0},
    {"action-offset", KEY_OFFSET, "O,...", 0, "Add O to the model's actions, after --action-scale",
     0},
    {"normalizer", KEY_NORMALIZER, "FILE", 0,
     "Normalise observations before the model by mean and std in FILE (.npz, .json, .npy with two "
     "rows, or MEAN.npy,STD.npy), or by a VecNormalize that Stable-Baselines3 saved",
     0},
    {"unit-actions", KEY_UNIT, NULL, 0,
     "Map the model's actions from [-1, 1] to the bounds, as for SAC and TD3 of Stable-Baselines3",
     0},
    {"head", KEY_HEAD, "H", 0,
     "Treat outputs for discrete actions as logits (default after a softmax) or as values (default "
     "otherwise)",
     0},
    {"output", KEY_OUTPUT, "NAME", 0,
     "Take actions or values from this output of the model (default: action, actions, mean, mu, "
     "logits, q_values, or the first)",
     0},
    {"log-std", KEY_LOG_STD, "NAME", 0,
     "Take the log standard deviations of box actions from this output or constant of the model",
     0},
    {"seed", KEY_SEED, "S", 0, "Set the seed of the environment (default: 1)", 0},
    {"json", KEY_JSON, NULL, 0, "Print the report as one JSON document", 0},
    {0},
};

static void
parse_shape(cli_import_options *options, const char *arg)
{
    import_request *request = &options->request;
    const char *at = arg;
    request->obs_rank = 0;
    do {
        char *end;
        unsigned long dim = strtoul(at, &end, 10);
        if (end == at || *at == '-' || dim < 1 || dim > POLICY_WIDTH_MAX ||
            request->obs_rank == POLICY_RANK_MAX || (*end != '\0' && *end != ',')) {
            cli_usage_error(CLI_IMPORT,
                            "--obs-shape is '%s'; allowed are up to %d numbers from 1 to %d, "
                            "separated by commas",
                            arg, POLICY_RANK_MAX, POLICY_WIDTH_MAX);
        }
        request->obs_shape[request->obs_rank++] = (uint32_t)dim;
        at = *end == ',' ? end + 1 : end;
    } while (*at != '\0');
    options->has_shape = true;
}

static bool
parse_bound(const char **at, char stop, float *out)
{
    char *end;
    double value = strtod(*at, &end);
    bool is_number = end != *at && !isnan(value) && (isinf(value) || isfinite((float)value)) &&
                     (*end == stop || *end == '\0');
    *out = (float)value;
    *at = end;
    return is_number;
}

static void
parse_bounds(cli_import_options *options, const char *arg)
{
    import_request *request = &options->request;
    const char *at = strcmp(arg, "none") == 0 ? "-inf:inf" : arg;
    uint32_t count = 0;
    for (;;) {
        bool is_pair = count < POLICY_ACTIONS_MAX && parse_bound(&at, ':', &request->low[count]) &&
                       *at++ == ':' && parse_bound(&at, ',', &request->high[count]) &&
                       request->low[count] < request->high[count];
        if (!is_pair) {
            cli_usage_error(CLI_IMPORT,
                            "--bounds is '%s'; allowed are none, or up to %d pairs LOW:HIGH, LOW "
                            "below HIGH, separated by commas (-inf and inf: no bound)",
                            arg, POLICY_ACTIONS_MAX);
        }
        count++;
        if (*at++ == '\0') {
            break;
        }
    }
    request->bound_count = count;
    options->has_bounds = true;
}

// Finite numbers, separated by commas. is_factor: none of them is 0.
static uint32_t
parse_list(const char *option, const char *arg, bool is_factor, float out[POLICY_ACTIONS_MAX])
{
    const char *at = arg;
    uint32_t count = 0;
    for (;;) {
        bool is_number = count < POLICY_ACTIONS_MAX && parse_bound(&at, ',', &out[count]) &&
                         isfinite(out[count]) && !(is_factor && out[count] == 0.0f);
        if (!is_number) {
            cli_usage_error(CLI_IMPORT,
                            "%s is '%s'; allowed are up to %d finite numbers%s, separated by "
                            "commas",
                            option, arg, POLICY_ACTIONS_MAX, is_factor ? " other than 0" : "");
        }
        count++;
        if (*at++ == '\0') {
            return count;
        }
    }
}

static void
parse_head(cli_import_options *options, const char *arg)
{
    if (strcmp(arg, "values") == 0) {
        options->request.head = POLICY_HEAD_VALUES;
    } else if (strcmp(arg, "logits") == 0) {
        options->request.head = POLICY_HEAD_LOGITS;
    } else {
        cli_usage_error(CLI_IMPORT, "--head is '%s'; allowed is values or logits", arg);
    }
}

static void
parse_activation(cli_import_options *options, const char *arg)
{
    static const char *const names[] = {"elu", "relu", "tanh", "sigmoid"};
    if (!oct_text_is_one_of(arg, names, OCT_COUNTOF(names))) {
        cli_usage_error(CLI_IMPORT, "--activation is '%s'; allowed is elu, relu, tanh or sigmoid",
                        arg);
    }
    options->activation = arg;
}

static void
parse_model(cli_import_options *options, const char *arg)
{
    if (options->model != NULL) {
        cli_usage_error(CLI_IMPORT, "two models, '%s' and '%s'; name one", options->model, arg);
    }
    options->model = arg;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    cli_import_options *options = state->input;
    switch (key) {
    case KEY_OUT:
        options->out = arg;
        return 0;
    case KEY_PRECISION:
        if (!policy_precision_parse(&options->precision, arg)) {
            cli_usage_error(CLI_IMPORT,
                            "--precision is '%s'; allowed is int8, int4, bf16, fp16 or fp32", arg);
        }
        return 0;
    case KEY_OBSERVATIONS:
        options->observations = arg;
        return 0;
    case KEY_ENV:
        options->env_id = arg;
        return 0;
    case KEY_OPTIONS:
        options->env_options = arg;
        return 0;
    case KEY_SHAPE:
        parse_shape(options, arg);
        return 0;
    case KEY_ACTIVATION:
        parse_activation(options, arg);
        return 0;
    case KEY_NORMALIZER:
        options->normalizer = arg;
        return 0;
    case KEY_ACTIONS:
        options->request.action_count =
            (uint32_t)cli_option_number(CLI_IMPORT, "--actions", arg, 1, POLICY_ACTIONS_MAX);
        return 0;
    case KEY_BOUNDS:
        parse_bounds(options, arg);
        return 0;
    case KEY_UNIT:
        options->request.unit_actions = true;
        return 0;
    case KEY_SCALE:
        options->request.scale_count =
            parse_list("--action-scale", arg, true, options->request.scale);
        return 0;
    case KEY_OFFSET:
        options->request.offset_count =
            parse_list("--action-offset", arg, false, options->request.offset);
        return 0;
    case KEY_HEAD:
        parse_head(options, arg);
        return 0;
    case KEY_OUTPUT:
        options->request.output = arg;
        return 0;
    case KEY_LOG_STD:
        options->request.log_std = arg;
        return 0;
    case KEY_SEED:
        options->seed = cli_option_number(CLI_IMPORT, "--seed", arg, 0, CLI_SEED_MAX);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        parse_model(options, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp import_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "MODEL",
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
    cli_options_parse(&import_argp, argc, argv, options);
    if (options->model == NULL) {
        cli_usage_error(CLI_IMPORT, "no MODEL given");
    }
    if (options->out == NULL) {
        cli_usage_error(CLI_IMPORT, "no file given for the policy; name one with --out");
    }
    if (options->env_options[0] != '\0' && options->env_id == NULL) {
        cli_usage_error(CLI_IMPORT, "--options needs --env");
    }
}

void
cli_import_options_imply(cli_import_options *options, const char *name, const char *value)
{
    import_request *request = &options->request;
    if (strcmp(name, "output") == 0 && request->output == NULL) {
        request->output = value;
    } else if (strcmp(name, "log-std") == 0 && request->log_std == NULL) {
        request->log_std = value;
    } else if (strcmp(name, "head") == 0 && request->head == 0) {
        parse_head(options, value);
    } else if (strcmp(name, "actions") == 0 && request->action_count == 0) {
        request->action_count =
            (uint32_t)cli_option_number(CLI_IMPORT, "--actions", value, 1, POLICY_ACTIONS_MAX);
    } else if (strcmp(name, "bounds") == 0 && !options->has_bounds) {
        parse_bounds(options, value);
    } else if (strcmp(name, "unit-actions") == 0) {
        request->unit_actions = true;
    }
}
