// octet plan: runs an experiment for some seconds and prints what the whole experiment will need.

#include "cli/plan/cli_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/plan/cli_plan_goals.h"
#include "cli/plan/cli_plan_print.h"
#include "cli/plan/cli_plan_trial.h"
#include "cli/run/cli_settings.h"
#include "cli/run/cli_trust.h"
#include "common/oct_cores.h"
#include "common/oct_file.h"
#include "common/oct_memory.h"
#include "common/oct_reason.h"
#include "envs/env.h"

#define SECONDS     2.0
#define SECONDS_MAX 3600
#define SETTLE_S    0.2 // from the first update to the start of the measurement
#define PATIENCE_S  4.0 // to the first update, beside the length of the measurement

typedef struct plan_options {
    const char *file, *run_dir;
    double seconds;
    bool json, is_trusted;
    cli_settings settings;
} plan_options;

static const oct_arg plan_rows[] = {
    {OCT_ARG_OPERAND("files", plan_options, file)},
    {OCT_ARG_FLAG("json", plan_options, json), .help = "Print the plan as one line of JSON"},
    {OCT_ARG_PATH("run-dir", "D", plan_options, run_dir),
     .help = "Check the disk that would hold the run folder D (default: the current folder's)"},
    {OCT_ARG_NUMBER("seconds", "S", plan_options, seconds, 0.2, SECONDS_MAX),
     .help = "Measure for S seconds (default: 2)"},
    {OCT_ARG_FLAG("trust", plan_options, is_trusted), .help = CLI_TRUST_HELP},
    {0},
};

static const oct_args plan_args = {
    .rows = plan_rows,
    .usage = "FILE",
    .doc = "Runs an experiment for two seconds and prints what the whole run will need on this "
           "machine: time, memory and disk, and which part is the limit. The exit code is 1 if the "
           "run does "
           "not fit or cannot be measured.\v"
           "FILE is an experiment, or the name of a preset (octet presets). The options are those "
           "of octet train.\n\n"
           "Example:\n"
           "  octet plan cartpole --actors 2",
    .shared = {{cli_settings_rows, offsetof(plan_options, settings), 0}},
};

// ---- the folder

// Finds the nearest existing folder above the run folder; the run will be on its disk.
static void
parent_find(char out[CLI_PATH_MAX], const char *run_dir)
{
    char path[CLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", run_dir != NULL ? run_dir : ".");
    while (realpath(path, out) == NULL) {
        if (!oct_file_cut_last(path)) {
            (void)snprintf(path, sizeof(path), ".");
        }
    }
}

// Returns where the trial makes its folder: beside the run, or among temporary files if this user
// cannot write there.
static const char *
trial_parent(const char *parent)
{
    const char *temporary = getenv("TMPDIR");
    return access(parent, W_OK | X_OK) == 0                    ? parent
           : temporary != NULL && access(temporary, W_OK) == 0 ? temporary
                                                               : "/tmp";
}

// ---- the plan

static void
layers_ignore(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static void
shown_print(const cli_plan_shown *shown, bool as_json)
{
    if (!as_json) {
        cli_plan_print(shown);
        return;
    }
    json_t *plan = cli_plan_json(shown);
    char *text = cli_json_print(plan, JSON_COMPACT | JSON_REAL_PRECISION(10));
    puts(text);
    free(text);
    json_decref(plan);
}

// Runs the trial, which fills the meter. Returns the exit code.
static int
measure(const cli_plan_trial_request *trial)
{
    oct_reason why = {""};
    int stop_signal = 0;
    const char *id = trial->config->env.id;
    oct_err err = cli_plan_trial_run(trial, &stop_signal, &why);
    if (err == OCT_ECLOSED) {
        return 128 + stop_signal;
    }
    if (err != OCT_OK) {
        bool is_plugin = env_is_plugin(id);
        return cli_error("plan", "cannot measure the run: %s%s%s%s", why.text,
                         is_plugin ? "; for details run 'octet env check " : "",
                         is_plugin ? cli_text_word(id).text : "", is_plugin ? "'" : "");
    }
    return 0;
}

// Measures and prints the plan of an experiment whose environment could be opened. Returns the exit
// code.
static int
plan_run(const plan_options *options, const cli_experiment *experiment,
         const config_experiment *config, const cli_environment *environment)
{
    static cli_plan_meter meter;
    oct_reason why;
    char parent[CLI_PATH_MAX];
    cli_plan_needs needs;
    cli_plan plan;
    cli_plan_goal goal;
    if (cli_plan_needs_make(&needs, environment, config, &why) != OCT_OK) {
        cli_error("plan", "%s", why.text);
        return CLI_EXIT_USAGE;
    }
    if (config->algo.name == CONFIG_ALGO_EXTERNAL) {
        return cli_error("plan",
                         "cannot measure the run: with algo.name: external another process learns");
    }
    parent_find(parent, options->run_dir);
    cli_plan_meter_init(&meter, SETTLE_S);
    const cli_plan_input input = {.config = config,
                                  .rates = cli_plan_meter_rates(&meter),
                                  .needs = &needs,
                                  .cores = oct_cores_usable(""),
                                  .memory_available = oct_memory_available(),
                                  .disk_available = cli_folder_space(parent)};
    const cli_plan_trial_request trial = {.config = config,
                                          .environment = environment,
                                          .parent = trial_parent(parent),
                                          .seconds = options->seconds,
                                          .patience_s = PATIENCE_S + options->seconds,
                                          .meter = &meter};
    cli_plan_make(&plan, &input); // without rates: does the run fit?
    int code = plan.memory_fits && plan.disk_fits ? measure(&trial) : 0;
    if (code != 0) {
        return code;
    }
    (void)cli_plan_meter_rates(&meter); // renews input.rates
    cli_plan_make(&plan, &input);
    cli_plan_goals_find(&goal, experiment, config);
    cli_plan_set_goal(&plan, &input, &goal);
    const cli_plan_shown shown = {.plan = &plan,
                                  .input = &input,
                                  .env_id = config->env.id,
                                  .preset = experiment->preset[0] != '\0' ? options->file : NULL,
                                  .folder = parent};
    shown_print(&shown, options->json);
    bool is_good = plan.memory_fits && plan.disk_fits && input.rates->seconds > 0;
    return is_good ? 0 : CLI_EXIT_FAILED;
}

int
cli_plan_command(int argc, char **argv)
{
    static plan_options options = {.seconds = SECONDS};
    static cli_experiment experiment;
    static cli_environment environment;
    static config_experiment config;
    cli_args_parse(&plan_args, argc, argv, &options);
    experiment = (cli_experiment){.command = "plan",
                                  .file = options.file,
                                  .settings = options.settings.list,
                                  .setting_count = options.settings.count,
                                  .is_trusted = options.is_trusted};
    cli_experiment_load(&config, &experiment);
    if (!cli_preflight_passes(&environment, &experiment, &config, layers_ignore)) {
        return CLI_EXIT_USAGE;
    }
    int code = plan_run(&options, &experiment, &config, &environment);
    cli_settings_free(&options.settings);
    return code;
}
