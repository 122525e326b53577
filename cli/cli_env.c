// octet env: lists, describes, checks, measures and replays environments.

#include "cli/cli_env.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_env_actions.h"
#include "cli/cli_env_render.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "envs/env.h"
#include "envs/env_check.h"
#include "envs/env_replay.h"
#include "envs/env_space.h"
#include "render/render_scene.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2

// Values of all commands' options; each command allows its own.
struct settings {
    const char *id, *file, *out;
    const char *options;
    uint64_t seed;
    uint32_t envs, steps;
    uint32_t width, height; // of a picture; 0: what suits the environment
    double seconds, timeout_s;
    double tolerance; // below 0: the default of the replay
    bool one_step, partial;
};

enum {
    OPT_HELP = 'h',
    OPT_OPTIONS = 256,
    OPT_SEED,
    OPT_ENVS,
    OPT_SECONDS,
    OPT_TOLERANCE,
    OPT_TIMEOUT,
    OPT_ONE_STEP,
    OPT_PARTIAL,
    OPT_OUT,
    OPT_STEPS,
    OPT_SIZE
};

struct command {
    const char *name;
    const char *positional; // for the usage line
    int positional_count;
    const char *help;
    const struct option *options;
    int (*run)(const struct settings *settings);
};

static int
usage_error(const char *command, const char *format, ...)
{
    const char *gap = command[0] != '\0' ? " " : "";
    va_list args;
    va_start(args, format);
    fprintf(stderr, "octet env%s%s: error: ", gap, command);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n  try: octet env%s%s --help\n", gap, command);
    return EXIT_USAGE;
}

static int
failure(const char *command, const char *reason)
{
    fprintf(stderr, "octet env %s: error: %s\n", command, reason);
    return EXIT_FAILED;
}

static void
space_print(const octet_env_space *space)
{
    static const char *const names[] = {[OCTET_ENV_F32] = "f32",
                                        [OCTET_ENV_F64] = "f64",
                                        [OCTET_ENV_U8] = "u8",
                                        [OCTET_ENV_I32] = "i32"};
    char text[96];
    if (space->n > 0) {
        snprintf(text, sizeof(text), "discrete %" PRIu32, space->n);
    } else {
        snprintf(text, sizeof(text), "%s [", names[space->dtype]);
        for (uint32_t d = 0; d < space->rank; d++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof(text) - used, "%s%" PRIu32, d > 0 ? " " : "",
                     space->shape[d]);
        }
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "]");
    }
    printf("  %-13s", text);
}

static int
rows_print(const char *const *ids)
{
    for (const char *const *id = ids; *id != NULL; id++) {
        char reason[ENV_REASON_BYTES];
        env *e;
        env_request request = {.id = *id, .options = "", .count = 1};
        if (env_open(&e, &request, reason, sizeof(reason)) != OCT_OK) {
            return failure("list", reason);
        }
        const octet_env_spec *spec = env_spec(e);
        printf("%-28s", spec->id);
        space_print(&spec->obs);
        space_print(&spec->action);
        printf("  %6" PRIu32, spec->max_episode_steps);
        if (isnan(spec->reward_threshold)) {
            printf("  %9s\n", "none");
        } else {
            printf("  %9g\n", spec->reward_threshold);
        }
        env_close(e);
    }
    return 0;
}

static int
run_list(const struct settings *settings)
{
    (void)settings;
    printf("%-28s  %-13s  %-13s  %6s  %9s\n", "id", "observation", "action", "limit", "threshold");
    if (rows_print(env_ids()) != 0) {
        return EXIT_FAILED;
    }
    char reason[256];
    const char *suite[ENV_MODULE_TASKS_MAX + 1];
    if (env_module_ids(suite, reason, sizeof(reason)) != OCT_OK) {
        printf("dmc:TASK is not available here: %s\n", reason);
    } else if (rows_print(suite) != 0) {
        return EXIT_FAILED;
    }
    printf("A plug-in is named by its path: ./name.so (see docs/environments.md)\n");
    return 0;
}

static void
check_print(void *arg, const env_check_result *result)
{
    (void)arg;
    static const char *const words[] = {
        [ENV_CHECK_PASS] = "PASS", [ENV_CHECK_FAIL] = "FAIL", [ENV_CHECK_SKIP] = "SKIP"};
    printf("%s  %-13s %s\n", words[result->verdict], result->rule, result->means);
    if (result->verdict != ENV_CHECK_PASS) {
        printf("      %s%s\n", result->verdict == ENV_CHECK_FAIL ? "broken: " : "", result->detail);
    }
    (void)fflush(stdout);
}

static int
run_check(const struct settings *settings)
{
    env_check_request request = {.id = settings->id,
                                 .options = settings->options,
                                 .seed = settings->seed,
                                 .rule_timeout_ms = (uint32_t)(settings->timeout_s * 1000)};
    uint32_t failures = env_check_run(&request, check_print, NULL);
    if (failures > 0) {
        printf("%s: %" PRIu32 " rule%s broken\n", settings->id, failures, failures == 1 ? "" : "s");
        return EXIT_FAILED;
    }
    printf("%s: keeps every rule\n", settings->id);
    return 0;
}

// Actions enough not to repeat visibly, drawn before the clock runs.
#define BENCH_DRAWS 64u

static int
bench_loop(env *e, const struct settings *settings, octet_env_io *io, const uint8_t *actions)
{
    size_t set_bytes = (size_t)settings->envs * io->action_stride;
    uint64_t steps = 0, ends = 0;
    uint64_t wall_ns = oct_clock_ns(), cpu_ns = oct_clock_thread_cpu_ns();
    double seconds = 0;
    while (seconds < settings->seconds) {
        for (uint32_t k = 0; k < BENCH_DRAWS; k++) {
            io->action = actions + k * set_bytes;
            if (env_step(e, io) != OCT_OK) {
                return failure("bench", env_error(e));
            }
            for (uint32_t i = 0; i < settings->envs; i++) {
                ends += (io->flags[i] & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0;
            }
        }
        steps += (uint64_t)BENCH_DRAWS * settings->envs;
        seconds = (double)(oct_clock_ns() - wall_ns) * 1e-9;
    }
    double cpu_s = (double)(oct_clock_thread_cpu_ns() - cpu_ns) * 1e-9;
    printf("%s: %" PRIu32 " environments, one thread, %.2f s\n", env_spec(e)->id, settings->envs,
           seconds);
    printf("  %.3f M steps/s by the wall clock, %.3f M per CPU second (%.1f ns a step)\n",
           (double)steps / seconds * 1e-6, (double)steps / cpu_s * 1e-6,
           cpu_s * 1e9 / (double)steps);
    printf("  %" PRIu64 " steps, %" PRIu64 " episodes, %" PRIu64 " failures\n", steps, ends,
           env_failures(e));
    if (env_failures(e) > 0) {
        printf("  the last one: %s\n", env_failure(e));
    }
    return 0;
}

static int
run_bench(const struct settings *settings)
{
    char reason[ENV_REASON_BYTES];
    env *e;
    env_request request = {.id = settings->id,
                           .options = settings->options,
                           .count = settings->envs,
                           .seed = settings->seed,
                           .autoreset = true};
    if (env_open(&e, &request, reason, sizeof(reason)) != OCT_OK) {
        return failure("bench", reason);
    }
    const octet_env_spec *spec = env_spec(e);
    uint32_t obs_bytes = env_space_bytes(&spec->obs);
    octet_env_io io = {.size = sizeof(io),
                       .action_stride = env_space_bytes(&spec->action),
                       .obs_stride = obs_bytes,
                       .final_obs_stride = obs_bytes};
    uint8_t *actions = oct_alloc((size_t)BENCH_DRAWS * settings->envs * io.action_stride);
    cli_env_actions(&spec->action, 1, BENCH_DRAWS * settings->envs, actions);
    io.obs = oct_alloc((size_t)settings->envs * obs_bytes);
    io.final_obs = oct_alloc((size_t)settings->envs * obs_bytes);
    io.reward = oct_alloc(settings->envs * sizeof(*io.reward));
    io.flags = oct_alloc(settings->envs);
    int code = env_reset(e, NULL, NULL, &io) != OCT_OK ? failure("bench", env_error(e))
                                                       : bench_loop(e, settings, &io, actions);
    free(actions);
    free(io.obs);
    free(io.final_obs);
    free(io.reward);
    free(io.flags);
    env_close(e);
    return code;
}

// A recording holds the actions that were executed: MinAtar's games must not repeat others in their
// place, unless the options say so.
static const char *
options_to_replay(const struct settings *settings, char *room, size_t room_size)
{
    const char *given = settings->options != NULL ? settings->options : "";
    if (strncmp(settings->id, "MinAtar/", strlen("MinAtar/")) != 0 ||
        strstr(given, "sticky_actions=") != NULL) {
        return settings->options;
    }
    (void)snprintf(room, room_size, "%s%ssticky_actions=0", given, given[0] != '\0' ? "," : "");
    return room;
}

static int
run_replay(const struct settings *settings)
{
    char reason[ENV_REASON_BYTES], room[512];
    env *e;
    env_request request = {
        .id = settings->id, .options = options_to_replay(settings, room, sizeof(room)), .count = 1};
    if (env_open(&e, &request, reason, sizeof(reason)) != OCT_OK) {
        return failure("replay", reason);
    }
    env_replay_request replay = {.path = settings->file,
                                 .tolerance = settings->tolerance,
                                 .one_step = settings->one_step,
                                 .partial = settings->partial};
    env_replay_result result;
    oct_err err = env_replay_run(&result, e, &replay, reason, sizeof(reason));
    env_close(e);
    if (err != OCT_OK) {
        return failure("replay", reason);
    }
    printf("%s: %" PRIu64 " rows compared (%" PRIu64 " episodes, %" PRIu64 " steps)\n",
           settings->id, result.rows, result.episodes, result.rows - result.episodes);
    if (result.ignored[0] != '\0') {
        printf("columns that are not %s's: %s\n", settings->id, result.ignored);
    }
    if (result.unrecorded[0] != '\0') {
        printf("not in the file, not compared: %s\n", result.unrecorded);
    }
    if (result.rows_differing == 0) {
        if (result.tolerance > 0) {
            printf("no difference above %g (largest: %.3g)\n", result.tolerance, result.worst);
        } else {
            printf("no difference: the same bits\n");
        }
        return 0;
    }
    printf("%" PRIu64 " rows differ; largest difference %.3g; the first:\n", result.rows_differing,
           result.worst);
    printf("%s:%" PRIu32 ": column %s: got %.17g, want %.17g\n", settings->file, result.line,
           result.column, result.got, result.want);
    return EXIT_FAILED;
}

static int
run_render(const struct settings *settings)
{
    if (settings->out == NULL) {
        return usage_error("render", "no --out FILE.png given");
    }
    cli_env_picture picture = {.id = settings->id,
                               .options = settings->options,
                               .seed = settings->seed,
                               .steps = settings->steps,
                               .width = settings->width,
                               .height = settings->height,
                               .path = settings->out};
    char reason[ENV_REASON_BYTES];
    if (cli_env_render(&picture, reason, sizeof(reason)) != OCT_OK) {
        return failure("render", reason);
    }
    return 0;
}

static const struct option list_options[] = {{"help", no_argument, NULL, OPT_HELP}, {0}};
static const struct option check_options[] = {{"help", no_argument, NULL, OPT_HELP},
                                              {"options", required_argument, NULL, OPT_OPTIONS},
                                              {"seed", required_argument, NULL, OPT_SEED},
                                              {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                              {0}};
static const struct option bench_options[] = {{"help", no_argument, NULL, OPT_HELP},
                                              {"options", required_argument, NULL, OPT_OPTIONS},
                                              {"seed", required_argument, NULL, OPT_SEED},
                                              {"envs", required_argument, NULL, OPT_ENVS},
                                              {"seconds", required_argument, NULL, OPT_SECONDS},
                                              {0}};
static const struct option replay_options[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"options", required_argument, NULL, OPT_OPTIONS},
    {"tolerance", required_argument, NULL, OPT_TOLERANCE},
    {"one-step", no_argument, NULL, OPT_ONE_STEP},
    {"partial", no_argument, NULL, OPT_PARTIAL},
    {0}};

static const struct option render_options[] = {{"help", no_argument, NULL, OPT_HELP},
                                               {"options", required_argument, NULL, OPT_OPTIONS},
                                               {"seed", required_argument, NULL, OPT_SEED},
                                               {"out", required_argument, NULL, OPT_OUT},
                                               {"steps", required_argument, NULL, OPT_STEPS},
                                               {"size", required_argument, NULL, OPT_SIZE},
                                               {0}};

static const struct command commands[] = {
    {"list", "", 0, "Prints the environments with their spaces, limits and thresholds.\n",
     list_options, run_list},
    {"check", "ID-or-.so", 1,
     "Checks an environment against the rules of include/octet/env.h and says which rule broke\n"
     "and how. Every rule runs in its own process. Exit code 1 when one is broken.\n\n"
     "  --options K=V,K=V  options of the environment\n"
     "  --seed N           seed of the check (0)\n"
     "  --timeout S        seconds after which a rule counts as hanging (60)\n",
     check_options, run_check},
    {"bench", "ID-or-.so", 1,
     "Steps environments with random actions on one thread and prints the speed.\n\n"
     "  --envs N           environments stepped together (64)\n"
     "  --seconds S        for how long (1)\n"
     "  --options K=V,K=V  options of the environment\n"
     "  --seed N           seed of the environments (0)\n",
     bench_options, run_bench},
    {"replay", "ID-or-.so FILE.csv", 2,
     "Puts an environment into the start states recorded in FILE.csv, steps it with the recorded\n"
     "actions and compares state, observation, reward and flags of every row. Columns: ep, t,\n"
     "action (or action0.. or u0..), s0.., o0.. (or the environment's own names), reward,\n"
     "terminated, truncated; or state_hex and random_tape: see docs/environments.md. Exit code 1\n"
     "on any difference.\n\n"
     "  --tolerance X      allow |got - want| <= X max(1, |want|) (default: the same bits; 1e-7\n"
     "                     where the environment names its columns); flags are exact\n"
     "  --one-step         put it into the recorded state before every step, too\n"
     "  --partial          compare although most of the observation has no column\n"
     "  --options K=V,K=V  options of the environment\n",
     replay_options, run_replay},
    {"render", "ID-or-.so", 1,
     "Draws a picture of an environment after steps of random actions.\n\n"
     "  --out FILE.png     where to; an existing file is replaced\n"
     "  --steps N          steps before the picture (0)\n"
     "  --size WxH         pixels (default: what suits the environment)\n"
     "  --options K=V,K=V  options of the environment\n"
     "  --seed N           seed of the environment and of the actions (0)\n",
     render_options, run_render},
};

static void
help_print(FILE *out)
{
    fprintf(out, "Usage: octet env COMMAND [OPTION...]\n\n"
                 "  list                         the environments that come with Octet\n"
                 "  check ID-or-.so              does it keep the rules of the ABI?\n"
                 "  bench ID-or-.so              how many steps a second?\n"
                 "  replay ID-or-.so FILE.csv    does it repeat recorded trajectories?\n"
                 "  render ID-or-.so             a picture of it\n\n"
                 "  octet env COMMAND --help     options of a command\n");
}

static bool
number_parse(const char *text, double low, double high, bool whole, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high) ||
        (whole && value != floor(value))) {
        return false;
    }
    *out = value;
    return true;
}

static bool
seed_parse(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

// Takes one option; answers what is allowed when the value is wrong.
static const char *
option_take(struct settings *settings, int option, const char *text)
{
    double number = 0;
    switch (option) {
    case OPT_OPTIONS:
        settings->options = text;
        return NULL;
    case OPT_SEED:
        return seed_parse(text, &settings->seed) ? NULL : "an integer from 0 to 2^64 - 1";
    case OPT_ENVS:
        if (!number_parse(text, 1, 1 << 20, true, &number)) {
            return "an integer from 1 to 1048576";
        }
        settings->envs = (uint32_t)number;
        return NULL;
    case OPT_SECONDS:
        return number_parse(text, 0, 3600, false, &settings->seconds) ? NULL
                                                                      : "a number from 0 to 3600";
    case OPT_TOLERANCE:
        return number_parse(text, 0, HUGE_VAL, false, &settings->tolerance) ? NULL
                                                                            : "a number from 0";
    case OPT_TIMEOUT:
        return number_parse(text, 0.001, 3600, false, &settings->timeout_s)
                   ? NULL
                   : "a number from 0.001 to 3600";
    case OPT_OUT:
        settings->out = text;
        return NULL;
    case OPT_STEPS:
        if (!number_parse(text, 0, 1000000, true, &number)) {
            return "an integer from 0 to 1000000";
        }
        settings->steps = (uint32_t)number;
        return NULL;
    case OPT_SIZE:
        return render_size_parse(text, &settings->width, &settings->height) ? NULL
                                                                            : RENDER_SIZE_ALLOWED;
    case OPT_PARTIAL:
        settings->partial = true;
        return NULL;
    default:
        settings->one_step = true;
        return NULL;
    }
}

static int
command_run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.options = "",
                                .envs = 64,
                                .seconds = 1,
                                .timeout_s = 60,
                                .tolerance = ENV_REPLAY_TOLERANCE};
    int option, index = 0;
    opterr = 0;
    optind = 0; // begin anew: glibc's getopt keeps its place
    while ((option = getopt_long(argc, argv, ":h", command->options, &index)) != -1) {
        if (option == OPT_HELP) {
            printf("Usage: octet env %s %s [OPTION...]\n%s", command->name, command->positional,
                   command->help);
            return 0;
        }
        if (option == ':') {
            return usage_error(command->name, "option %s needs a value", argv[optind - 1]);
        }
        if (option == '?') {
            return usage_error(command->name, "unknown option %s", argv[optind - 1]);
        }
        const char *allowed = option_take(&settings, option, optarg);
        if (allowed != NULL) {
            return usage_error(command->name, "--%s %s: must be %s", command->options[index].name,
                               optarg, allowed);
        }
    }
    if (argc - optind != command->positional_count) {
        return usage_error(
            command->name, "%s; usage: octet env %s%s%s",
            argc - optind < command->positional_count ? "missing argument" : "too many arguments",
            command->name, command->positional_count > 0 ? " " : "", command->positional);
    }
    settings.id = command->positional_count > 0 ? argv[optind] : NULL;
    settings.file = command->positional_count > 1 ? argv[optind + 1] : NULL;
    return command->run(&settings);
}

int
cli_env(int argc, char **argv)
{
    if (argc < 2) {
        help_print(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_print(stdout);
        return 0;
    }
    for (size_t k = 0; k < OCT_COUNTOF(commands); k++) {
        if (strcmp(argv[1], commands[k].name) == 0) {
            return command_run(&commands[k], argc - 1, argv + 1);
        }
    }
    return usage_error("", "unknown command \"%s\"; allowed: list, check, bench, replay, render",
                       argv[1]);
}
