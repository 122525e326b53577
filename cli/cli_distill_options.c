// The options of octet distill: their table, their parser and their checks.
#include "cli/cli_distill_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/run/cli_trust.h"

#define EPISODES_MAX     1000000
#define ENVS_MAX         4096
#define OBSERVATIONS_MAX 100000000
#define ROUNDS_MAX       1000
#define BATCH_MAX        65536

enum {
    KEY_HIDDEN = 256,
    KEY_ACTIVATION,
    KEY_PRECISION,
    KEY_LOSS,
    KEY_TEMPERATURE,
    KEY_OBS,
    KEY_REPLAY,
    KEY_ENVIRONMENT,
    KEY_ENV,
    KEY_OPTIONS,
    KEY_ACTS,
    KEY_OBSERVATIONS,
    KEY_ROUNDS,
    KEY_UPDATES,
    KEY_BATCH,
    KEY_LEARNING_RATE,
    KEY_AWARE,
    KEY_EPISODES,
    KEY_ENVS,
    KEY_SEED,
    KEY_OUT,
    KEY_TRUST,
};

static const struct argp_option option_table[] = {
    {"hidden", KEY_HIDDEN, "N,...", 0,
     "Set the widths of the student's hidden layers (default: 32,32)", 0},
    {"activation", KEY_ACTIVATION, "NAME", 0,
     "Use this activation: relu, tanh or elu (default: the teacher's)", 0},
    {"precision", KEY_PRECISION, "P", 0,
     "Round the student to this precision: int8 (default), int4, bf16, fp16 or fp32", 0},
    {"aware", KEY_AWARE, "X", 0,
     "Train with rounded weights, as the student will have them, in this share of the updates, at "
     "the end (default: 0.5)",
     0},
    {"loss", KEY_LOSS, "NAME", 0,
     "Minimise kl, the KL divergence of the distributions or of softmaxes over values, or squares, "
     "the squared differences (default: kl if possible)",
     0},
    {"temperature", KEY_TEMPERATURE, "T", 0,
     "Set the temperature of the softmax: of logits (default: 1); of values, in units of the mean "
     "difference between the best and the worst action (default: 0.1)",
     0},
    {"obs", KEY_OBS, "FILE", 0,
     "Learn on the observations in FILE, one per line, as octet act reads them", 0},
    {"replay", KEY_REPLAY, "RUN|FILE", 0,
     "Learn on the recorded observations of a run's replay, or of a data set", 0},
    {"environment", KEY_ENVIRONMENT, "FILE", 0,
     "Read the description of a replay file's environment from FILE (default: environment.oct "
     "beside it)",
     0},
    {"env", KEY_ENV, "ID", 0,
     "Use this environment or plug-in (default: that of the run, or of the policy)", 0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Set options of the environment", 0},
    {"trust", KEY_TRUST, NULL, 0, CLI_TRUST_HELP, 0},
    {"observations", KEY_OBSERVATIONS, "N", 0,
     "Collect N new observations in the environment (default: 100000; 0 with --obs or --replay)",
     0},
    {"acts", KEY_ACTS, "WHO", 0,
     "Let WHO act in the environment: student, after a first round by the teacher, or teacher "
     "(default: student)",
     0},
    {"rounds", KEY_ROUNDS, "N", 0,
     "Do N rounds: each collects observations, then learns from all observations so far (default: "
     "10)",
     0},
    {"updates", KEY_UPDATES, "N", 0, "Do N gradient steps in all (default: 20000)", 0},
    {"batch", KEY_BATCH, "N", 0, "Use N observations in each gradient step (default: 256)", 0},
    {"learning-rate", KEY_LEARNING_RATE, "X", 0,
     "Set Adam's initial learning rate, which falls to 0 (default: 0.001)", 0},
    {"episodes", KEY_EPISODES, "N", 0,
     "Compare teacher and student over N episodes each at the end (default: 100)", 0},
    {"envs", KEY_ENVS, "N", 0, "Step N environments together (default: 16)", 0},
    {"seed", KEY_SEED, "S", 0, "Set the seed of all random numbers (default: 1)", 0},
    {"out", KEY_OUT, "DIR", 0,
     "Write policy.oct and policy.fp32.oct to the new folder DIR (default: beside the teacher, "
     "such as student-32-32-int8)",
     0},
    {0},
};

static void
parse_hidden(cli_distill_options *options, const char *arg)
{
    const char *at = arg;
    options->hidden.count = 0;
    while (true) {
        char *end;
        unsigned long width = strtoul(at, &end, 10);
        bool is_number = at[0] >= '0' && at[0] <= '9' && (*end == ',' || *end == '\0');
        if (!is_number || width < 1 || width > POLICY_WIDTH_MAX ||
            options->hidden.count == OCT_CONFIG_INTS_MAX) {
            cli_usage_error(CLI_DISTILL,
                            "--hidden is '%s'; allowed are up to %d widths from 1 to %d, such as "
                            "32,32",
                            arg, OCT_CONFIG_INTS_MAX, POLICY_WIDTH_MAX);
        }
        options->hidden.value[options->hidden.count++] = (uint32_t)width;
        if (*end == '\0') {
            return;
        }
        at = end + 1;
    }
}

// How the student is and learns.
static error_t
parse_student(int key, char *arg, cli_distill_options *options)
{
    static const char *const activations[] = {"relu", "tanh", "elu", NULL};
    static const char *const losses[] = {"kl", "squares", NULL};
    switch (key) {
    case KEY_HIDDEN:
        parse_hidden(options, arg);
        return 0;
    case KEY_ACTIVATION:
        options->has_activation = true;
        options->activation =
            (policy_activation)(POLICY_RELU + cli_option_word(CLI_DISTILL, "--activation", arg,
                                                              activations, "relu, tanh or elu"));
        return 0;
    case KEY_PRECISION:
        if (!policy_precision_parse(&options->precision, arg)) {
            cli_usage_error(CLI_DISTILL,
                            "--precision is '%s'; allowed is int8, int4, bf16, fp16 or fp32", arg);
        }
        return 0;
    case KEY_AWARE:
        options->aware = cli_option_real(CLI_DISTILL, "--aware", arg, 0, 1);
        return 0;
    case KEY_LOSS:
        options->has_loss = true;
        options->kind =
            (distill_kind)cli_option_word(CLI_DISTILL, "--loss", arg, losses, "kl or squares");
        return 0;
    case KEY_TEMPERATURE:
        options->has_temperature = true;
        options->temperature = cli_option_real(CLI_DISTILL, "--temperature", arg, 1e-3, 1e3);
        return 0;
    case KEY_UPDATES:
        options->updates = cli_option_number(CLI_DISTILL, "--updates", arg, 1, UINT32_MAX);
        return 0;
    case KEY_BATCH:
        options->batch = (uint32_t)cli_option_number(CLI_DISTILL, "--batch", arg, 1, BATCH_MAX);
        return 0;
    case KEY_LEARNING_RATE:
        options->learning_rate = cli_option_real(CLI_DISTILL, "--learning-rate", arg, 1e-9, 1);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    static const char *const actors[] = {"teacher", "student", NULL};
    cli_distill_options *options = state->input;
    switch (key) {
    case KEY_OBS:
        options->lines = arg;
        return 0;
    case KEY_REPLAY:
        options->replay = arg;
        return 0;
    case KEY_ENVIRONMENT:
        options->environment = arg;
        return 0;
    case KEY_ENV:
        options->env_id = arg;
        return 0;
    case KEY_OPTIONS:
        options->options = arg;
        return 0;
    case KEY_OBSERVATIONS:
        options->has_observations = true;
        options->observations =
            (uint32_t)cli_option_number(CLI_DISTILL, "--observations", arg, 0, OBSERVATIONS_MAX);
        return 0;
    case KEY_ACTS:
        options->student_acts =
            cli_option_word(CLI_DISTILL, "--acts", arg, actors, "student or teacher") == 1;
        return 0;
    case KEY_ROUNDS:
        options->rounds = (uint32_t)cli_option_number(CLI_DISTILL, "--rounds", arg, 1, ROUNDS_MAX);
        return 0;
    case KEY_EPISODES:
        options->episodes =
            (uint32_t)cli_option_number(CLI_DISTILL, "--episodes", arg, 1, EPISODES_MAX);
        return 0;
    case KEY_ENVS:
        options->envs = (uint32_t)cli_option_number(CLI_DISTILL, "--envs", arg, 1, ENVS_MAX);
        return 0;
    case KEY_SEED:
        options->seed = cli_option_number(CLI_DISTILL, "--seed", arg, 0, CLI_SEED_MAX);
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
        return 0;
    case KEY_OUT:
        options->out = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->given != NULL) {
            cli_usage_error(CLI_DISTILL, "two teachers, '%s' and '%s'; name one", options->given,
                            arg);
        }
        options->given = arg;
        return 0;
    default:
        return parse_student(key, arg, options);
    }
}

static const struct argp distill_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "TEACHER",
    .doc = "Trains a small policy, the student, to act like a trained one, the teacher, compares "
           "both and writes the student. TEACHER is a policy file of any precision, or a run "
           "folder, which stands for the policy.fp32.oct in it.\v"
           "Example:\n"
           "  octet distill runs/walk --hidden 32,32 --precision int8",
};

static void
options_check(cli_distill_options *options)
{
    if (options->given == NULL) {
        cli_usage_error(CLI_DISTILL, "no TEACHER given; name a policy file or a run folder");
    }
    if (options->environment != NULL && options->replay == NULL) {
        cli_usage_error(CLI_DISTILL, "--environment needs --replay, the file that it describes");
    }
    bool is_recorded = options->lines != NULL || options->replay != NULL;
    if (!options->has_observations) {
        options->observations = is_recorded ? 0 : options->observations;
    }
    if (options->observations == 0 && !is_recorded) {
        cli_usage_error(
            CLI_DISTILL,
            "--observations is '0'; without --obs or --replay, there is nothing to learn from");
    }
    if (options->observations > 0 && options->observations < options->rounds) {
        options->rounds = options->observations;
    }
    if (options->updates < options->rounds) {
        cli_usage_error(CLI_DISTILL,
                        "--updates is '%llu'; each of the %u rounds (--rounds) needs at least one",
                        (unsigned long long)options->updates, options->rounds);
    }
}

void
cli_distill_options_parse(cli_distill_options *options, int argc, char **argv)
{
    *options = (cli_distill_options){.hidden = {.count = 2, .value = {32, 32}},
                                     .precision = POLICY_INT8,
                                     .method = QUANTIZER_METHOD_DEFAULT,
                                     .options = "",
                                     .student_acts = true,
                                     .observations = 100000,
                                     .rounds = 10,
                                     .updates = 20000,
                                     .batch = 256,
                                     .learning_rate = 1e-3,
                                     .aware = 0.5,
                                     .episodes = 100,
                                     .envs = 16,
                                     .seed = 1};
    cli_options_parse(&distill_argp, argc, argv, options);
    options_check(options);
}
