// The options of octet distill: their table and their checks.
#include "cli/cli_distill_options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/run/cli_trust.h"

#define EPISODES_MAX      1000000
#define ENVS_MAX          4096
#define OBSERVATIONS_MAX  100000000
#define OBSERVATIONS_AUTO UINT32_MAX // number of observations if --observations was not given
#define ROUNDS_MAX        1000
#define BATCH_MAX         65536

static_assert(CONFIG_INTS_MAX == 15 && POLICY_WIDTH_MAX == 65536, "the text of --hidden");

static oct_err
take_widths(const oct_arg_given *given)
{
    config_ints *widths = given->field;
    const char *at = given->text;
    widths->count = 0;
    while (true) {
        char *end;
        unsigned long width = strtoul(at, &end, 10);
        bool is_number = at[0] >= '0' && at[0] <= '9' && (*end == ',' || *end == '\0');
        if (!is_number || width < 1 || width > POLICY_WIDTH_MAX ||
            widths->count == CONFIG_INTS_MAX) {
            return OCT_EINVAL;
        }
        widths->value[widths->count++] = (uint32_t)width;
        if (*end == '\0') {
            return OCT_OK;
        }
        at = end + 1;
    }
}

// POLICY_LINEAR stands for the teacher's.
static const char *const activations[] = {POLICY_ACTIVATIONS(POLICY_ACTIVATION_WORD) NULL};
static const char *const losses[] = {"kl", "squares", NULL};
static const char *const actors[] = {"teacher", "student", NULL};

static const oct_arg distill_rows[] = {
    {OCT_ARG_OPERAND("teachers", cli_distill_options, given),
     .missing = "no TEACHER given; name a policy file or a run folder"},
    {OCT_ARG_TAKE("hidden", "N,...", cli_distill_options, hidden, take_widths),
     .allowed = "are up to 15 widths from 1 to 65536, such as 32,32",
     .help = "Set the widths of the student's hidden layers (default: 32,32)"},
    {OCT_ARG_WORD("activation", "NAME", cli_distill_options, activation, &activations[POLICY_RELU]),
     .min = POLICY_RELU,
     .help = "Use this activation, such as relu, tanh or silu (default: the teacher's)"},
    {OCT_ARG_WORD("precision", "P", cli_distill_options, precision, cli_precisions),
     .min = POLICY_FP32,
     .help = "Round the student to this precision: int8 (default), int4, bf16, fp16 or fp32"},
    {OCT_ARG_NUMBER("aware", "X", cli_distill_options, aware, 0, 1),
     .help = "Train with rounded weights, as the student will have them, in this share of the "
             "updates, at the end (default: 0.5)"},
    {OCT_ARG_WORD("loss", "NAME", cli_distill_options, loss, losses), .min = 1,
     .help = "Minimise kl, the KL divergence of the distributions or of softmaxes over values, or "
             "squares, the squared differences (default: kl if possible)"},
    {OCT_ARG_NUMBER("temperature", "T", cli_distill_options, temperature, 1e-3, 1e3),
     .help = "Set the temperature of the softmax: of logits (default: 1); of values, in units of "
             "the mean difference between the best and the worst action (default: 0.1)"},
    {OCT_ARG_PATH("obs", "FILE", cli_distill_options, lines),
     .help = "Learn on the observations in FILE, one per line, as octet act reads them"},
    {OCT_ARG_PATH("replay", "RUN|FILE", cli_distill_options, replay),
     .help = "Learn on the recorded observations of a run's replay, or of a data set"},
    {OCT_ARG_PATH("environment", "FILE", cli_distill_options, environment),
     .help = "Read the description of a replay file's environment from FILE (default: "
             "environment.oct beside it)"},
    {OCT_ARG_PATH("env", "ID", cli_distill_options, env_id),
     .help = "Use this environment or plug-in (default: that of the run, or of the policy)"},
    {OCT_ARG_TEXT("options", "K=V,...", cli_distill_options, options),
     .help = "Set options of the environment"},
    {OCT_ARG_FLAG("trust", cli_distill_options, is_trusted), .help = CLI_TRUST_HELP},
    {OCT_ARG_COUNT("observations", "N", cli_distill_options, observations, 0, OBSERVATIONS_MAX),
     .help = "Collect N new observations in the environment (default: 100000; 0 with --obs or "
             "--replay)"},
    {OCT_ARG_WORD("acts", "WHO", cli_distill_options, student_acts, actors),
     .help = "Let WHO act in the environment: student, after a first round by the teacher, or "
             "teacher (default: student)"},
    {OCT_ARG_COUNT("rounds", "N", cli_distill_options, rounds, 1, ROUNDS_MAX),
     .help = "Do N rounds: each collects observations, then learns from all observations so far "
             "(default: 10)"},
    {OCT_ARG_COUNT("updates", "N", cli_distill_options, updates, 1, UINT32_MAX),
     .help = "Do N gradient steps in all (default: 20000)"},
    {OCT_ARG_COUNT("batch", "N", cli_distill_options, batch, 1, BATCH_MAX),
     .help = "Use N observations in each gradient step (default: 256)"},
    {OCT_ARG_NUMBER("learning-rate", "X", cli_distill_options, learning_rate, 1e-9, 1),
     .help = "Set Adam's initial learning rate, which falls to 0 (default: 0.001)"},
    {OCT_ARG_COUNT("episodes", "N", cli_distill_options, episodes, 1, EPISODES_MAX),
     .help = "Compare teacher and student over N episodes each at the end (default: 100)"},
    {OCT_ARG_COUNT("envs", "N", cli_distill_options, envs, 1, ENVS_MAX),
     .help = "Step N environments together (default: 16)"},
    {OCT_ARG_COUNT("seed", "S", cli_distill_options, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of all random numbers (default: 1)"},
    {OCT_ARG_PATH("out", "DIR", cli_distill_options, out),
     .help = "Write policy.oct and policy.fp32.oct to the new folder DIR (default: beside the "
             "teacher, such as student-32-32-int8)"},
    {0},
};

static const oct_args distill_args = {
    .rows = distill_rows,
    .usage = "TEACHER",
    .doc = "Trains a small policy, the student, to act like a trained one, the teacher, compares "
           "both and writes the student. TEACHER is a policy file of any precision, or a run "
           "folder, which stands for the policy.fp32.oct in it.\v"
           "Example:\n"
           "  octet distill runs/walk --hidden 32,32 --precision int8",
};

static void
options_check(cli_distill_options *options)
{
    if (options->environment != NULL && options->replay == NULL) {
        cli_usage_error(CLI_DISTILL, "--environment needs --replay, the file that it describes");
    }
    bool is_recorded = options->lines != NULL || options->replay != NULL;
    if (options->observations == OBSERVATIONS_AUTO) {
        options->observations = is_recorded ? 0 : 100000;
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
                                     .observations = OBSERVATIONS_AUTO,
                                     .rounds = 10,
                                     .updates = 20000,
                                     .batch = 256,
                                     .learning_rate = 1e-3,
                                     .aware = 0.5,
                                     .episodes = 100,
                                     .envs = 16,
                                     .seed = 1};
    cli_args_parse(&distill_args, argc, argv, options);
    options_check(options);
}
