#include "cli/cli_commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "actor/actor_evaluate.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "envs/env.h"
#include "policy/policy_file.h"
#include "policy/policy_net.h"

#define REASON_BYTES 512
#define EPISODES_MAX 1000000
#define ENVS_MAX     4096

enum { KEY_ENV = 256, KEY_EPISODES, KEY_SEED, KEY_ENVS, KEY_OPTIONS };

typedef struct eval_options {
    const char *policy;
    const char *env_id; // NULL: the one that the policy was trained on
    const char *options;
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
} eval_options;

static const struct argp_option option_table[] = {
    {"env", KEY_ENV, "ID", 0, "Environment, or path of a plug-in (default: the policy's own)", 0},
    {"episodes", KEY_EPISODES, "N", 0, "Episodes (default: 100)", 0},
    {"seed", KEY_SEED, "S", 0, "Seed of the environments (default: 1)", 0},
    {"envs", KEY_ENVS, "N", 0, "Environments stepped together (default: 16)", 0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Options of the environment", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    eval_options *options = state->input;
    switch (key) {
    case KEY_ENV:
        options->env_id = arg;
        return 0;
    case KEY_EPISODES:
        options->episodes = (uint32_t)cli_option_number("eval", "--episodes", arg, 1, EPISODES_MAX);
        return 0;
    case KEY_SEED:
        options->seed = cli_option_number("eval", "--seed", arg, 0, UINT64_MAX);
        return 0;
    case KEY_ENVS:
        options->envs = (uint32_t)cli_option_number("eval", "--envs", arg, 1, ENVS_MAX);
        return 0;
    case KEY_OPTIONS:
        options->options = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->policy != NULL) {
            cli_usage_error("eval", "two policies, '%s' and '%s'; name one", options->policy, arg);
        }
        options->policy = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp eval_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "POLICY",
    .doc = "Measures the return of a policy file: it acts greedily, exactly as it ships.\v"
           "Example: octet eval runs/CartPole-v1-20260131-120000/policy.oct --episodes 100",
};

// ---- the policy and whether it fits

static bool
env_fits(const policy_spec *policy, const eval_options *options)
{
    env *e = NULL;
    char reason[REASON_BYTES] = "";
    env_request request = {.id = options->env_id,
                           .options = options->options,
                           .count = 1,
                           .seed = options->seed,
                           .autoreset = true};
    if (env_open(&e, &request, reason, sizeof(reason)) != OCT_OK) {
        cli_error("eval", "environment '%s': %s", options->env_id, reason);
        return false;
    }
    oct_err err = actor_fits(policy, e, reason, sizeof(reason));
    env_close(e);
    if (err != OCT_OK) {
        cli_error("eval", "'%s' does not fit '%s': %s", options->policy, options->env_id, reason);
    }
    return err == OCT_OK;
}

// ---- the result

static void
print_result(const policy_net *net, const eval_options *options,
             const actor_evaluate_result *result)
{
    const policy_origin *origin = policy_net_origin(net);
    printf("%s: %s policy, version %" PRIu64 ", %s kernel\n", options->policy,
           policy_precision_name(policy_net_precision(net)), origin->version,
           policy_isa_name(policy_net_isa(net)));
    printf("  environment  %s, seed %" PRIu64 "\n", options->env_id, options->seed);
    printf("  return       %.2f ± %.2f over %u episodes (min %.2f, max %.2f)\n", result->mean,
           result->std, (unsigned)result->episodes, result->min, result->max);
    printf("  length       %.1f steps\n", result->mean_length);
    printf("  speed        %s steps/s (%s steps in %s)\n",
           cli_text_count((double)result->env_steps / fmax(result->seconds, 1e-9)).text,
           cli_text_count((double)result->env_steps).text, cli_text_seconds(result->seconds).text);
}

static int
evaluate(const policy_image *image, const eval_options *options)
{
    policy_net *net = NULL;
    char reason[REASON_BYTES] = "";
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        cli_error("eval",
                  "cannot run the policy here: %s (OCTET_ISA: " POLICY_ISA_NAMES ", or unset)",
                  oct_strerror(err));
        return CLI_EXIT_FAILED;
    }
    actor_evaluate_request request = {
        .env_id = options->env_id,
        .options = options->options,
        .episodes = options->episodes,
        .envs = OCT_MIN(options->envs, options->episodes),
        .seed = options->seed,
    };
    actor_evaluate_result result = {0};
    err = actor_evaluate(net, &request, &result, reason, sizeof(reason));
    if (err == OCT_OK) {
        print_result(net, options, &result);
    } else {
        cli_error("eval", "'%s': %s", options->env_id,
                  reason[0] != '\0' ? reason : oct_strerror(err));
    }
    policy_net_destroy(net);
    return err == OCT_OK ? 0 : CLI_EXIT_FAILED;
}

int
cli_eval(int argc, char **argv)
{
    eval_options options = {.options = "", .episodes = 100, .envs = 16, .seed = 1};
    cli_options_parse(&eval_argp, argc, argv, &options);
    if (options.policy == NULL) {
        cli_usage_error("eval", "no POLICY file given");
    }
    char reason[REASON_BYTES];
    policy_image *image;
    if (policy_file_load(&image, options.policy, reason, sizeof(reason)) != OCT_OK) {
        cli_error("eval", "'%s': %s", options.policy, reason);
        return CLI_EXIT_FAILED;
    }
    char own_env_id[POLICY_NAME_MAX];
    (void)snprintf(own_env_id, sizeof(own_env_id), "%s", image->spec.env_id);
    if (options.env_id == NULL) {
        options.env_id = own_env_id;
    }
    int exit_code = CLI_EXIT_FAILED;
    if (env_fits(&image->spec, &options)) {
        exit_code = evaluate(image, &options);
    }
    policy_image_destroy(image);
    return exit_code;
}
