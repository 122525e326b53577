// octet env: its commands and their options.

#include "cli/cli_env.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/cli_env_guard.h"
#include "cli/cli_env_render.h"
#include "cli/cli_env_settings.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "envs/env.h"

// ---- options

#define OPTION_OPTIONS                                                                             \
    {                                                                                              \
        "options", CLI_ENV_OPTIONS, "K=V,...", 0, "Set options of the environment", 0              \
    }
#define OPTION_SEED                                                                                \
    {                                                                                              \
        "seed", CLI_ENV_SEED, "N", 0, "Set the seed of the environments (default: 0)", 0           \
    }

static const struct argp_option check_options[] = {
    OPTION_OPTIONS,
    OPTION_SEED,
    {"timeout", CLI_ENV_TIMEOUT, "S", 0,
     "Treat the check of a rule as hung after S seconds (default: 60)", 0},
    {0},
};

static const struct argp_option bench_options[] = {
    OPTION_OPTIONS,
    OPTION_SEED,
    {"envs", CLI_ENV_ENVS, "N", 0, "Step N environments together (default: 64)", 0},
    {"seconds", CLI_ENV_SECONDS, "S", 0, "Run for S seconds (default: 1)", 0},
    {0},
};

static const struct argp_option replay_options[] = {
    OPTION_OPTIONS,
    {"tolerance", CLI_ENV_TOLERANCE, "X", 0,
     "Allow |got - want| <= X max(1, |want|), except for flags, which must be equal (default: the "
     "same bits; 1e-7 if the environment names its columns)",
     0},
    {"one-step", CLI_ENV_ONE_STEP, NULL, 0,
     "Restore the recorded state before every step instead of only at the start of an episode", 0},
    {"partial", CLI_ENV_PARTIAL, NULL, 0, "Compare even if most of the observation has no column",
     0},
    {0},
};

static const struct argp_option render_options[] = {
    OPTION_OPTIONS,
    {"seed", CLI_ENV_SEED, "N", 0, "Set the seed of the environment and the actions (default: 0)",
     0},
    {"out", CLI_ENV_OUT, "FILE.png", 0,
     "Write the picture to this file; an existing file is replaced", 0},
    {"steps", CLI_ENV_STEPS, "N", 0, "Take N random steps before the picture (default: 0)", 0},
    {"size", CLI_ENV_SIZE, "WxH", 0, "Set the size in pixels (default: depends on the environment)",
     0},
    {0},
};

static const struct argp list_argp = {
    .parser = cli_env_settings_parse,
    .doc = "Lists the environments with their spaces, limits and thresholds.",
};

static const struct argp check_argp = {
    .options = check_options,
    .parser = cli_env_settings_parse,
    .args_doc = "ID|PLUG-IN.so",
    .doc = "Checks an environment against the rules of include/octet/env.h. Reports each broken "
           "rule, and whether a policy can be trained on the environment. Each rule is checked in "
           "its own process. The exit code is 1 if a rule is broken or no policy can be trained.\v"
           "Example:\n"
           "  octet env check ./point.so",
};

static const struct argp new_argp = {
    .parser = cli_env_settings_parse,
    .args_doc = "NAME",
    .doc = "Writes a working plug-in in C, as a start for your own environment: NAME/NAME.c, an "
           "experiment that trains on it, and the header that it includes. A point in the plane "
           "moves to a goal; replace its state, observations and rewards. Existing files are never "
           "overwritten.\v"
           "Example:\n  octet env new arm",
};

static const struct argp bench_argp = {
    .options = bench_options,
    .parser = cli_env_settings_parse,
    .args_doc = "ID|PLUG-IN.so",
    .doc = "Steps environments with random actions on one thread and prints the speed.\v"
           "Example:\n"
           "  octet env bench CartPole-v1 --envs 1",
};

static const struct argp replay_argp = {
    .options = replay_options,
    .parser = cli_env_settings_parse,
    .args_doc = "ID|PLUG-IN.so FILE.csv",
    .doc = "Restores the start states recorded in FILE.csv, steps the environment with the "
           "recorded actions, and compares the state, observation, reward and flags of every row. "
           "Columns: ep, t, action (or action0.. or u0..), s0.., o0.. (or the environment's own "
           "names), reward, terminated, truncated; or state_hex and random_tape: see "
           "docs/internals/environments.md. The exit code is 1 if anything differs.\v"
           "Example:\n"
           "  octet env replay CartPole-v1 tests/data/classic_control_ref/CartPole-v1.csv",
};

static const struct argp render_argp = {
    .options = render_options,
    .parser = cli_env_settings_parse,
    .args_doc = "ID|PLUG-IN.so --out FILE.png",
    .doc = "Draws a picture of an environment after steps of random actions.\v"
           "Example:\n"
           "  octet env render Pendulum-v1 --out pendulum.png --steps 20",
};

// ---- commands

static int
picture(const cli_env_settings *settings)
{
    cli_env_picture wanted = {.id = settings->id,
                              .options = settings->options,
                              .seed = settings->seed,
                              .steps = settings->steps,
                              .width = settings->width,
                              .height = settings->height,
                              .path = settings->out};
    char reason[ENV_REASON_BYTES];
    if (cli_env_render(&wanted, reason, sizeof(reason)) != OCT_OK) {
        return cli_env_failure(settings, reason);
    }
    return 0;
}

// Whether a name ends as that of another kind of file.
static bool
is_other_than_png(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL && strcasecmp(dot, ".png") != 0;
}

static void
parse(cli_env_settings *settings, const struct argp *argp, int argc, char **argv)
{
    cli_env_settings_default(settings, argv[0]);
    cli_options_parse(argp, argc, argv, settings);
    if (argp == &new_argp && settings->id == NULL) {
        cli_usage_error(argv[0], "the new environment needs a name, such as arm");
    }
    if (argp != &list_argp && settings->id == NULL) {
        cli_usage_error(argv[0], "no environment given; name its ID, or the path of a plug-in");
    }
    if (argp == &replay_argp && settings->file == NULL) {
        cli_usage_error(argv[0], "no recorded FILE.csv given");
    }
    if (argp == &render_argp && settings->out == NULL) {
        cli_usage_error(argv[0], "no --out FILE.png given");
    }
    if (argp == &render_argp && is_other_than_png(settings->out)) {
        cli_usage_error(argv[0],
                        "--out is '%s'; the picture is a PNG: allowed is a name that ends in .png "
                        "or has no suffix",
                        settings->out);
    }
}

// The others run environments here.
static int
guarded(const cli_env_settings *settings, int (*run)(const cli_env_settings *settings))
{
    cli_env_guard_begin(settings->command, settings->id);
    int code = run(settings);
    cli_env_guard_end();
    return code;
}

static int
bench(const cli_env_settings *settings)
{
    return guarded(settings, cli_env_bench);
}

static int
replay(const cli_env_settings *settings)
{
    return guarded(settings, cli_env_replay);
}

static int
render(const cli_env_settings *settings)
{
    return guarded(settings, picture);
}

#define COMMAND(name, run)                                                                         \
    static int run_##name(int argc, char **argv)                                                   \
    {                                                                                              \
        cli_env_settings settings;                                                                 \
        parse(&settings, &name##_argp, argc, argv);                                                \
        return run(&settings);                                                                     \
    }

COMMAND(list, cli_env_list)
COMMAND(new, cli_env_new)
COMMAND(check, cli_env_check)
COMMAND(bench, bench)
COMMAND(replay, replay)
COMMAND(render, render)

int
cli_env(int argc, char **argv)
{
    static const cli_command list[] = {
        {"list", run_list, "list the environments that come with Octet"},
        {"new", run_new, "write a working plug-in in C, as a start for your own"},
        {"check", run_check, "check an environment or plug-in against the interface's rules"},
        {"bench", run_bench, "measure the steps per second of an environment"},
        {"replay", run_replay, "compare an environment with recorded trajectories"},
        {"render", run_render, "draw a picture of an environment"},
    };
    static const cli_family family = {
        .name = "env",
        .about = "Works with environments, which have an ID, and plug-ins, which have a path.",
        .list = list,
        .count = OCT_COUNTOF(list),
        .start = "octet env list"};
    return cli_family_run(&family, argc, argv);
}
