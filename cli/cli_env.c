// octet env: its commands and their options.

#include "cli/cli_commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli_env_actions.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_env_settings.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_space.h"
#include "envs/render/render_scene.h"

#define ENVS_MAX   (1u << 20)
#define STEPS_MAX  1000000
#define TIME_MAX_S 3600
#define TIME_MIN_S 0.001 // for a rule of a replay or a check

// ---- options

// Returns false if the ending of a name is that of another kind of file.
static bool
is_png(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot == NULL || strcasecmp(dot, ".png") == 0;
}

// Rows of several tables.
#define ENVIRONMENT_ROW                                                                            \
    OCT_ARG_OPERAND("environments", cli_env_settings, id),                                         \
        .missing = "no environment given; name its ID, or the path of a plug-in"
#define OPTIONS_ROW                                                                                \
    OCT_ARG_TEXT("options", "K=V,...", cli_env_settings, options),                                 \
        .help = "Set options of the environment"

static const oct_arg new_rows[] = {
    {OCT_ARG_OPERAND("names", cli_env_settings, id),
     .missing = "the new environment needs a name, such as arm"},
    {0},
};

static const oct_arg check_rows[] = {
    {ENVIRONMENT_ROW},
    {OPTIONS_ROW},
    {OCT_ARG_COUNT("seed", "N", cli_env_settings, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environments (default: 0)"},
    {OCT_ARG_NUMBER("timeout", "S", cli_env_settings, timeout_s, TIME_MIN_S, TIME_MAX_S),
     .help = "Treat the check of a rule as hung after S seconds (default: 60)"},
    {0},
};

static const oct_arg bench_rows[] = {
    {ENVIRONMENT_ROW},
    {OPTIONS_ROW},
    {OCT_ARG_COUNT("seed", "N", cli_env_settings, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environments (default: 0)"},
    {OCT_ARG_COUNT("envs", "N", cli_env_settings, envs, 1, ENVS_MAX),
     .help = "Step N environments together (default: 64)"},
    {OCT_ARG_NUMBER("seconds", "S", cli_env_settings, seconds, 0, TIME_MAX_S),
     .help = "Run for S seconds (default: 1)"},
    {0},
};

static const oct_arg replay_rows[] = {
    {ENVIRONMENT_ROW},
    {OCT_ARG_OPERAND("files", cli_env_settings, file), .missing = "no recorded FILE.csv given"},
    {OPTIONS_ROW},
    {OCT_ARG_NUMBER("tolerance", "X", cli_env_settings, tolerance, 0, INFINITY),
     .help = "Allow |got - want| <= X max(1, |want|), except for flags, which must be equal "
             "(default: the same bits; 1e-7 if the environment names its columns)"},
    {OCT_ARG_FLAG("one-step", cli_env_settings, one_step),
     .help =
         "Restore the recorded state before every step instead of only at the start of an episode"},
    {OCT_ARG_FLAG("partial", cli_env_settings, partial),
     .help = "Compare even if most of the observation has no column"},
    {0},
};

static const oct_arg render_rows[] = {
    {ENVIRONMENT_ROW},
    {OPTIONS_ROW},
    {OCT_ARG_COUNT("seed", "N", cli_env_settings, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environment and the actions (default: 0)"},
    {OCT_ARG_PATH("out", "FILE.png", cli_env_settings, out), .missing = "no --out FILE.png given",
     .check = is_png, .allowed = "is a PNG, a name that ends in .png or has no suffix",
     .help = "Write the picture to this file; an existing file is replaced"},
    {OCT_ARG_COUNT("steps", "N", cli_env_settings, steps, 0, STEPS_MAX),
     .help = "Take N random steps before the picture (default: 0)"},
    {OCT_ARG_TAKE("size", "WxH", cli_env_settings, size, render_size_take),
     .allowed = RENDER_SIZE_ALLOWED,
     .help = "Set the size in pixels (default: depends on the environment)"},
    {0},
};

static const oct_args list_args = {
    .doc = "Lists the environments with their spaces, limits and thresholds.",
};

static const oct_args check_args = {
    .rows = check_rows,
    .usage = "ID|PLUG-IN.so",
    .doc = "Checks an environment against the rules of include/octet/env.h. Reports each broken "
           "rule, and whether a policy can be trained on the environment. Each rule is checked in "
           "its own process. The exit code is 1 if a rule is broken or no policy can be trained.\v"
           "Example:\n"
           "  octet env check ./point.so",
};

static const oct_args new_args = {
    .rows = new_rows,
    .usage = "NAME",
    .doc = "Writes a working plug-in in C, as a start for your own environment: NAME/NAME.c, an "
           "experiment that trains on it, and the header that it includes. A point in the plane "
           "moves to a goal; replace its state, observations and rewards. Existing files are never "
           "overwritten.\v"
           "Example:\n  octet env new arm",
};

static const oct_args bench_args = {
    .rows = bench_rows,
    .usage = "ID|PLUG-IN.so",
    .doc = "Steps environments with random actions on one thread and prints the speed.\v"
           "Example:\n"
           "  octet env bench CartPole-v1 --envs 1",
};

static const oct_args replay_args = {
    .rows = replay_rows,
    .usage = "ID|PLUG-IN.so FILE.csv",
    .doc = "Restores the start states recorded in FILE.csv, steps the environment with the "
           "recorded actions, and compares the state, observation, reward and flags of every row. "
           "Columns: ep, t, action (or action0.. or u0..), s0.., o0.. (or the environment's own "
           "names), reward, terminated, truncated; or state_hex and random_tape: see "
           "docs/internals/environments.md. The exit code is 1 if anything differs.\v"
           "Example:\n"
           "  octet env replay CartPole-v1 tests/data/classic_control_ref/CartPole-v1.csv",
};

static const oct_args render_args = {
    .rows = render_rows,
    .usage = "ID|PLUG-IN.so --out FILE.png",
    .doc = "Draws a picture of an environment after steps of random actions.\v"
           "Example:\n"
           "  octet env render Pendulum-v1 --out pendulum.png --steps 20",
};

// ---- render

// Allocates the buffers of one environment, which the caller frees: the actions of all steps, and
// an observation.
static void
rig_reserve(octet_env_io *io, const octet_env_spec *spec, uint32_t steps)
{
    *io = (octet_env_io){
        .size = sizeof(*io),
        .action = oct_alloc((size_t)OCT_MAX(1u, steps) * env_space_bytes(&spec->action)),
        .action_stride = env_space_bytes(&spec->action),
        .obs = oct_alloc(env_space_bytes(&spec->obs)),
        .obs_stride = env_space_bytes(&spec->obs),
    };
}

// Steps the environment to where it is drawn; its observation is then in io->obs.
static oct_err
rig_play(env *e, octet_env_io *io, const cli_env_settings *settings, oct_reason *why)
{
    uint8_t *actions = (uint8_t *)(uintptr_t)io->action;
    cli_env_actions(&env_spec(e)->action, settings->seed, settings->steps, actions);
    oct_err err = env_reset(e, NULL, NULL, io);
    for (uint32_t k = 0; k < settings->steps && err == OCT_OK; k++) {
        io->action = actions + (size_t)k * io->action_stride;
        err = env_step(e, io);
    }
    io->action = actions;
    if (err != OCT_OK) {
        oct_reason_set(why, "%s", env_error(e));
    }
    return err;
}

static oct_err
picture_write(env *e, render_scene *scene, const octet_env_io *io, const cli_env_settings *settings,
              oct_reason *why)
{
    uint32_t width = render_scene_width(scene), height = render_scene_height(scene);
    uint8_t *rgb = oct_alloc((size_t)width * height * 3);
    oct_err err = render_scene_draw(scene, e, 0, io->obs, rgb, why);
    if (err == OCT_OK) {
        err = render_png_write(settings->out, rgb, width, height, why);
    }
    free(rgb);
    return err;
}

static oct_err
picture_make(const cli_env_settings *settings, oct_reason *why)
{
    env *e;
    env_request request = {.id = settings->id,
                           .options = settings->options,
                           .count = 1,
                           .seed = settings->seed,
                           .autoreset = true};
    OCT_TRY(env_open(&e, &request, why));
    render_scene *scene = NULL;
    oct_err err = render_scene_open(&scene, e, settings->size[0], settings->size[1], why);
    if (err == OCT_OK) {
        octet_env_io io;
        rig_reserve(&io, env_spec(e), settings->steps);
        err = rig_play(e, &io, settings, why);
        if (err == OCT_OK) {
            err = picture_write(e, scene, &io, settings, why);
        }
        free((void *)(uintptr_t)io.action);
        free(io.obs);
    }
    render_scene_close(scene);
    env_close(e);
    return err;
}

// ---- commands

// Draws an environment after some steps of random actions.
static int
picture(const cli_env_settings *settings)
{
    oct_reason why;
    return picture_make(settings, &why) == OCT_OK ? 0 : cli_env_failure(settings, why.text);
}

// Runs a command that opens environments in this process, with the message that is printed if one
// of them ends it (cli_env_guard.h).
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
        cli_env_settings_default(&settings, argv[0]);                                              \
        cli_args_parse(&name##_args, argc, argv, &settings);                                       \
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
