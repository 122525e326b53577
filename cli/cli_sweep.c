// octet sweep: trains many configurations, each with several seeds. The command makes a plan of
// trials (cli_sweep_plan), checks each trial as octet train would, so that none fails after hours
// for a wrong value, and writes the plan to the sweep's folder. Then cli_sweep_jobs starts "octet
// train" for each run, several at a time, and stores its result in sweep.json. At the end it
// compares the best trials. --resume continues from sweep.json: only runs without a result are done
// again.

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_parent.h"
#include "cli/cli_text.h"
#include "cli/dash/cli_dash_report.h"
#include "cli/run/cli_env_file.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_preflight.h"
#include "cli/run/cli_trust.h"
#include "cli/runs/cli_comparison.h"
#include "cli/sweep/cli_sweep_file.h"
#include "cli/sweep/cli_sweep_jobs.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "common/oct_text.h"
#include "config/config_effects.h"
#include "config/config_text.h"

#define SETTINGS_MAX   256
#define MESSAGE_BYTES  4096
#define WORDS_BYTES    2048
#define SAID_BYTES     65536
#define RANDOM_DEFAULT 10
#define DRAW_SEED_NONE UINT64_MAX
#define PICTURE        "sweep.svg"
#define PAGE           "sweep.html"

typedef struct sweep_options {
    const char *file;
    const char *folder;
    char *settings[SETTINGS_MAX]; // "key=value", in the order of the command line
    size_t setting_count;
    const char *over[CLI_SPACE_KEYS_MAX];
    size_t over_count;
    uint32_t seeds;
    uint32_t jobs;
    uint64_t draw_seed; // DRAW_SEED_NONE: not given
    bool grid;
    uint32_t random, optuna; // number of trials; 0: not given
    bool resume;
    bool dry_run;
    bool is_trusted;
    uint32_t follow_parent; // of the program that started this one; 0: none
} sweep_options;

static const oct_arg sweep_rows[] = {
    {OCT_ARG_OPERAND("files", sweep_options, file)},
    {OCT_ARG_TEXTS("over", "KEY=VALUES", sweep_options, over, over_count),
     .help = "Vary a key over a list (a,b,c) or a range (LOW..HIGH, log:LOW..HIGH, lin:LOW..HIGH); "
             "may be repeated"},
    {OCT_ARG_COUNT("seeds", "N", sweep_options, seeds, 1, CLI_SWEEP_SEEDS_MAX),
     .help = "Run each trial with N seeds, starting at run.seed (default: 1)"},
    {OCT_ARG_FLAG("grid", sweep_options, grid),
     .help = "Try every combination of the lists (default if all are lists)"},
    {OCT_ARG_COUNT("random", "N", sweep_options, random, 1, CLI_SWEEP_TRIALS_MAX),
     .help = "Try N combinations drawn at random (default if any is a range: 10)"},
    {OCT_ARG_COUNT("optuna", "N", sweep_options, optuna, 1, CLI_SWEEP_TRIALS_MAX),
     .help = "Let Optuna choose N trials and prune those that fall behind (needs Python's optuna)"},
    {OCT_ARG_COUNT("draw-seed", "S", sweep_options, draw_seed, 0, INT64_MAX),
     .help = "Set the seed for drawing trials (default: 0)"},
    {OCT_ARG_COUNT("jobs", "N", sweep_options, jobs, 1, CLI_SWEEP_JOBS_MAX),
     .help = "Run N runs at a time; they share the CPUs (default: 1)"},
    {OCT_ARG_TEXTS("set", "KEY=VALUE", sweep_options, settings, setting_count),
     .help = "Override one key of the experiment, in all trials; may be repeated"},
    {OCT_ARG_PATH("sweep-dir", "D", sweep_options, folder),
     .help = "Write the sweep to folder D, which must not exist, except with --resume (default: "
             "runs/NAME-sweep-DATE-TIME)"},
    {OCT_ARG_FLAG("resume", sweep_options, resume),
     .help = "Continue the sweep in --sweep-dir: finished runs are kept, the others are continued "
             "or started"},
    {OCT_ARG_FLAG("trust", sweep_options, is_trusted), .help = CLI_TRUST_HELP},
    {OCT_ARG_FLAG("dry-run", sweep_options, dry_run),
     .help = "Check everything and print the trials, but start nothing"},
    {OCT_ARG_COUNT("follow-parent", "PID", sweep_options, follow_parent, 1, CLI_PARENT_MAX)},
    {0},
};

static const oct_args sweep_args = {
    .rows = sweep_rows,
    .usage = "FILE --over KEY=VALUES…\n--resume --sweep-dir D",
    .doc =
        "Trains with many configurations, each with one or more seeds, and compares their "
        "results.\v"
        "FILE is an experiment, or the name of a preset (octet presets). A trial is one "
        "combination of values of the varied keys; each of its runs is an octet train in its own "
        "folder.\n\n"
        "Example:\n"
        "  octet sweep cartpole --over algo.learning_rate=1e-3,5e-3 --seeds 3 --jobs 2\n\n"
        "Ctrl-C ends the runs, which save their state, with exit code 130; --resume continues the "
        "sweep.",
};

_Noreturn static void
fail(const char *reason)
{
    exit(cli_error("sweep", "%s", reason));
}

// ---- the plan

// The option that chooses the method, and what it says.
typedef struct way {
    const char *option; // NULL: none was given
    cli_sweep_method method;
    uint32_t wanted; // trials; 0: the default
} way;

// Options of two methods exclude each other.
static way
way_of(const sweep_options *options)
{
    const way ways[] = {
        {options->grid ? "--grid" : NULL, CLI_SWEEP_GRID, 0},
        {options->random > 0 ? "--random" : NULL, CLI_SWEEP_RANDOM, options->random},
        {options->optuna > 0 ? "--optuna" : NULL, CLI_SWEEP_OPTUNA, options->optuna}};
    way found = {.option = NULL};
    for (size_t i = 0; i < OCT_COUNTOF(ways); i++) {
        if (found.option != NULL && ways[i].option != NULL) {
            cli_usage_error("sweep", "%s and %s cannot be used together", found.option,
                            ways[i].option);
        }
        found = ways[i].option != NULL ? ways[i] : found;
    }
    return found;
}

// Returns an option that a resumed sweep does not take, or NULL if none was given.
static const char *
fixed_option(const sweep_options *options)
{
    return options->over_count > 0                ? "--over"
           : options->setting_count > 0           ? "--set"
           : options->seeds > 0                   ? "--seeds"
           : way_of(options).option != NULL       ? way_of(options).option
           : options->draw_seed != DRAW_SEED_NONE ? "--draw-seed"
           : options->file != NULL                ? "FILE"
                                                  : NULL;
}

// Lists alone make a grid; a range makes random trials, because a grid has no points in it.
static void
choose_method(const sweep_options *options, cli_sweep_plan *plan)
{
    bool has_range = cli_space_has_range(&plan->space);
    way chosen = way_of(options);
    if (chosen.option != NULL) {
        plan->method = chosen.method;
    } else {
        plan->method = has_range ? CLI_SWEEP_RANDOM : CLI_SWEEP_GRID;
    }
    if (plan->method == CLI_SWEEP_GRID && has_range) {
        cli_usage_error(
            "sweep", "--grid needs lists, not ranges; write --over KEY=a,b,c, or use --random N");
    }
    plan->wanted = chosen.wanted > 0 ? chosen.wanted : RANDOM_DEFAULT;
    if (plan->method == CLI_SWEEP_GRID) {
        uint64_t size = cli_space_grid_size(&plan->space);
        if (size > CLI_SWEEP_TRIALS_MAX) {
            cli_usage_error("sweep",
                            "the grid has more than %d trials; --random N draws some of them",
                            CLI_SWEEP_TRIALS_MAX);
        }
        plan->wanted = (uint32_t)size;
    }
}

// Makes the configuration of a trial. reason: "", or one line about what is wrong with it.
static void
trial_config(const cli_sweep_plan *plan, uint32_t trial, const config_experiment *base,
             config_experiment *out, oct_reason *why)
{
    char setting[CONFIG_NAME_MAX + CLI_SPACE_VALUE_MAX + 2], message[MESSAGE_BYTES] = "";
    oct_err err = OCT_OK;
    *out = *base;
    for (size_t i = 0; i < plan->space.count && err == OCT_OK; i++) {
        (void)snprintf(setting, sizeof(setting), "%s=%s", plan->space.key[i].name,
                       plan->trial[trial]->point.value[i]);
        err = config_set(out, setting, message, sizeof(message));
    }
    if (err == OCT_OK) {
        err = config_check(out, message, sizeof(message));
    }
    const char *said = strstr(message, "error: ");
    said = said != NULL ? said + strlen("error: ") : message;
    oct_reason_set(why, "%.*s", err == OCT_OK ? 0 : (int)strcspn(said, "\n"), said);
}

// Returns true if the reason why a key has no effect names another key of the sweep, which may
// change that in some trials.
static bool
is_swept(const cli_sweep_plan *plan, const char *why_not)
{
    bool is_one = false;
    for (size_t i = 0; i < plan->space.count; i++) {
        is_one = is_one || strstr(why_not, plan->space.key[i].name) != NULL;
    }
    return is_one;
}

// Warns about varied keys that have no effect in a trial, because their values make no difference;
// before Optuna has chosen trials, base is checked. Each warning is printed once: said holds those
// that were.
static void
warn_idle(const cli_sweep_plan *plan, const config_experiment *config, oct_text *said)
{
    char why_not[WORDS_BYTES], line[WORDS_BYTES + CONFIG_NAME_MAX + 64];
    for (size_t i = 0; i < plan->space.count; i++) {
        const char *key = plan->space.key[i].name;
        if (config_has_effect(config, key, why_not, sizeof(why_not)) ||
            (plan->count == 0 && is_swept(plan, why_not))) {
            continue;
        }
        (void)snprintf(line, sizeof(line), "warning: --over %s: it has no effect %s\n", key,
                       why_not);
        if (strstr(said->out, line) == NULL) {
            fprintf(stderr, "octet sweep: %s", line);
            oct_text_add(said, "%s", line);
        }
    }
}

// An environment that was opened, to be used for all trials with the same environment.
typedef struct opened {
    struct opened *next;
    char id[CONFIG_TEXT_MAX], options[CONFIG_OPTIONS_MAX], mjcf_dir[CONFIG_TEXT_MAX];
    cli_environment environment;
} opened;

// Returns the environment of a configuration, which is opened if it is a new one. NULL: reason says
// why it cannot be opened.
static const cli_environment *
environment_of(opened **all, const config_experiment *config, oct_reason *why)
{
    opened *found = *all;
    while (found != NULL && (strcmp(found->id, config->env.id) != 0 ||
                             strcmp(found->options, config->env.options) != 0 ||
                             strcmp(found->mjcf_dir, config->env.mjcf_dir) != 0)) {
        found = found->next;
    }
    if (found == NULL) {
        found = oct_alloc(sizeof(*found));
        if (cli_preflight_open(&found->environment, config, CLI_PREFLIGHT_MS, NULL, why) !=
            OCT_OK) {
            free(found);
            return NULL;
        }
        memcpy(found->id, config->env.id, sizeof(found->id));
        memcpy(found->options, config->env.options, sizeof(found->options));
        memcpy(found->mjcf_dir, config->env.mjcf_dir, sizeof(found->mjcf_dir));
        found->next = *all;
        *all = found;
    }
    return &found->environment;
}

// Frees the list; the environments were closed after the check.
static void
opened_free(opened *all)
{
    while (all != NULL) {
        opened *next = all->next;
        free(all);
        all = next;
    }
}

static void
pass_over(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

// Checks a configuration as octet train does before a run. reason: "", or one line about what is
// wrong.
static void
check_trial(opened **all, const config_experiment *config, oct_reason *why)
{
    const cli_environment *environment = environment_of(all, config, why);
    if (environment != NULL && cli_preflight_suits(environment, config, why) == OCT_OK &&
        cli_preflight_init(environment, config, pass_over, why) == OCT_OK) {
        why->text[0] = '\0';
    }
}

// Checks every trial that is known before the first run starts; a bad one ends the process.
static void
check_trials(const cli_sweep_plan *plan, const config_experiment *base)
{
    static config_experiment config;
    opened *all = NULL;
    oct_reason why;
    char words[WORDS_BYTES];
    static char told[SAID_BYTES];
    oct_text said;
    oct_text_init(&said, told, sizeof(told));
    if (plan->count == 0) { // Optuna chooses the trials later
        warn_idle(plan, base, &said);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        trial_config(plan, i, base, &config, &why);
        if (why.text[0] == '\0') {
            check_trial(&all, &config, &why);
        }
        if (why.text[0] != '\0') {
            cli_error("sweep", "trial %u (%s): %s", (unsigned)i + 1,
                      cli_sweep_plan_words(plan, i, words, sizeof(words)), why.text);
            exit(CLI_EXIT_USAGE);
        }
        warn_idle(plan, &config, &said);
    }
    opened_free(all);
}

// Returns a value of env.options with its paths made absolute; the caller frees it. NULL: there are
// none to change.
static char *
resolved_options(const char *value)
{
    char setting[CONFIG_VALUE_MAX], message[MESSAGE_BYTES];
    config_experiment given, resolved;
    config_default(&given);
    (void)snprintf(setting, sizeof(setting), "env.options=%s", value);
    if (config_set(&given, setting, message, sizeof(message)) != OCT_OK) {
        return NULL;
    }
    resolved = given;
    if (!cli_env_file_resolve(resolved.env.options, sizeof(resolved.env.options)) ||
        strcmp(resolved.env.options, given.env.options) == 0) {
        return NULL;
    }
    bool is_key = config_key_print(&resolved, "env.options", setting);
    OCT_ASSERT(is_key);
    return strdup(setting);
}

// Makes values that are paths absolute. Trials run in the sweep's folder, and a resume may start in
// another one.
static void
resolve_paths(cli_space_key *key)
{
    for (size_t i = 0; i < key->count; i++) {
        bool is_path = cli_experiment_is_path(key->name, key->value[i]);
        char *path = is_path                                 ? realpath(key->value[i], NULL)
                     : strcmp(key->name, "env.options") == 0 ? resolved_options(key->value[i])
                                                             : NULL;
        if (path != NULL && strlen(path) < CLI_SPACE_VALUE_MAX) {
            free(key->value[i]);
            key->value[i] = path;
        } else {
            free(path);
        }
    }
}

// Refuses a key that is both set (--set) and varied (--over).
static void
check_settings(const sweep_options *options, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < options->setting_count; i++) {
        const char *setting = options->settings[i];
        if (strncmp(setting, name, length) == 0 && setting[length] == '=') {
            cli_usage_error("sweep", "--set %s and --over %s=… cannot be used together", setting,
                            name);
        }
    }
}

// Ends the process on any mistake, before a folder is made.
static void
make_plan(const sweep_options *options, cli_sweep_plan *plan, config_experiment *base)
{
    oct_reason why;
    static cli_experiment experiment;
    if (options->over_count == 0) {
        cli_usage_error("sweep", "nothing to vary; give --over KEY=VALUES");
    }
    experiment = (cli_experiment){.command = "sweep",
                                  .file = options->file,
                                  .settings = options->settings,
                                  .setting_count = options->setting_count,
                                  .is_trusted = options->is_trusted};
    cli_experiment_load(base, &experiment);
    for (size_t i = 0; i < options->over_count; i++) {
        if (cli_space_add(&plan->space, options->over[i], base, &why) != OCT_OK) {
            cli_usage_error("sweep", "%s", why.text);
        }
        check_settings(options, plan->space.key[i].name);
        resolve_paths(&plan->space.key[i]);
    }
    plan->draw_seed = options->draw_seed != DRAW_SEED_NONE ? options->draw_seed : 0;
    plan->seeds = options->seeds > 0 ? options->seeds : 1;
    plan->first_seed = base->run.seed;
    if (plan->first_seed > CLI_SEED_MAX - plan->seeds) {
        cli_usage_error("sweep",
                        "run.seed is %" PRIu64 "; %u seeds from there exceed the largest seed",
                        plan->first_seed, (unsigned)plan->seeds);
    }
    choose_method(options, plan);
    if (options->folder != NULL && cli_folder_check_new(options->folder, &why) != OCT_OK) {
        fail(why.text);
    }
    if (plan->method != CLI_SWEEP_OPTUNA) {
        uint32_t wanted = plan->wanted;
        cli_sweep_plan_fill(plan);
        if (plan->count < wanted) {
            fprintf(stderr, "octet sweep: note: only %u different trials were found\n",
                    (unsigned)plan->count);
        }
    }
    check_trials(plan, base);
}

// ---- what will be done

// Says what will run before it does, so that a wrong number of runs is seen at once.
static void
print_plan(const cli_sweep_plan *plan)
{
    static const char *const how[CLI_SWEEP_METHODS] = {
        "every combination", "drawn by a generator with seed", "chosen by Optuna, seed"};
    char words[WORDS_BYTES], seed[32] = "";
    uint32_t runs = plan->wanted * plan->seeds;
    if (plan->method != CLI_SWEEP_GRID) {
        (void)snprintf(seed, sizeof(seed), " %" PRIu64, plan->draw_seed);
    }
    printf("%u trial%s (%s%s), %u seed%s each, starting at %" PRIu64 ": %u run%s\n",
           (unsigned)plan->wanted, oct_text_plural(plan->wanted), how[plan->method], seed,
           (unsigned)plan->seeds, oct_text_plural(plan->seeds), plan->first_seed, (unsigned)runs,
           oct_text_plural(runs));
    for (size_t i = 0; i < plan->space.count; i++) {
        printf("  %s  %s\n", plan->space.key[i].name,
               cli_space_words(&plan->space.key[i], words, sizeof(words)));
    }
}

static void
print_trials(const cli_sweep_plan *plan)
{
    char words[WORDS_BYTES];
    for (uint32_t i = 0; i < plan->count; i++) {
        printf("trial %u: %s\n", (unsigned)i + 1,
               cli_sweep_plan_words(plan, i, words, sizeof(words)));
    }
    if (plan->method == CLI_SWEEP_OPTUNA) {
        printf("Optuna chooses each trial once the results of earlier trials are known\n");
    }
}

// ---- the folder

// Without --sweep-dir the folder is runs/NAME-sweep-DATE.
static void
open_folder(const sweep_options *options, const config_experiment *base, cli_folder *folder)
{
    oct_reason why;
    char name[CONFIG_TEXT_MAX + 8];
    const char *id = base->run.name[0] != '\0' ? base->run.name : base->env.id;
    const char *slash = strrchr(id, '/');
    (void)snprintf(name, sizeof(name), "%s-sweep", slash != NULL ? slash + 1 : id);
    if (cli_folder_open(folder, options->folder, name, options->resume, &why) != OCT_OK) {
        fail(why.text);
    }
    cli_folder_warn(folder, "sweep");
}

// Reports a failed write, for example on a full disk, and removes the folder, because the sweep has
// not begun.
_Noreturn static void
write_failed(const cli_folder *folder, const char *name)
{
    cli_error("sweep", "cannot write %s in '%s': %s", name, folder->path, oct_file_strerror(errno));
    cli_folder_take_back(folder);
    exit(CLI_EXIT_FAILED);
}

// Compares the states in sweep.json with the runs' folders. A run that ended after sweep.json was
// last written becomes FINISHED; a run whose result has been deleted becomes WAITING, and is done
// again.
static void
take_results(const cli_sweep_plan *plan, const char *folder)
{
    char path[CLI_PATH_MAX + CLI_SWEEP_NAME_MAX + 2], name[CLI_SWEEP_NAME_MAX];
    for (uint32_t i = 0; i < plan->count; i++) {
        for (uint32_t k = 0; k < plan->seeds; k++) {
            cli_sweep_run *run = &plan->trial[i]->run[k];
            (void)snprintf(path, sizeof(path), "%s/%s", folder,
                           cli_sweep_plan_name(plan, i, k, name));
            bool may_be = run->state == CLI_SWEEP_RUNNING || run->state == CLI_SWEEP_FINISHED;
            if (may_be && cli_sweep_file_result(path, run)) {
                run->state = CLI_SWEEP_FINISHED;
            } else if (run->state == CLI_SWEEP_FINISHED) {
                fprintf(stderr,
                        "octet sweep: note: the result of trial %u, seed %" PRIu64
                        " is missing from '%s'; it is run again\n",
                        (unsigned)i + 1, plan->first_seed + k, path);
                run->state = CLI_SWEEP_WAITING;
            }
        }
    }
}

// Refuses code that base.yaml or a trial names, if another user wrote it and --trust is not given.
static void
check_trust(const sweep_options *options, const cli_sweep_plan *plan, const config_experiment *base)
{
    char path[CLI_PATH_MAX + 16];
    const char *id = cli_sweep_plan_varies(plan, "env.id") ? "of a trial" : base->env.id;
    struct stat file;
    (void)snprintf(path, sizeof(path), "%s/" CLI_SWEEP_BASE, options->folder);
    if (stat(path, &file) == 0) {
        cli_trust_require("sweep", path, file.st_uid, id, options->is_trusted, "--trust");
    }
}

// Everything comes from sweep.json and base.yaml: options that would change the sweep are refused.
static void
resume_plan(const sweep_options *options, cli_sweep_plan *plan, config_experiment *base)
{
    oct_reason why;
    if (options->folder == NULL) {
        cli_usage_error("sweep", "--resume needs --sweep-dir: the folder of the sweep to continue");
    }
    const char *fixed = fixed_option(options);
    if (fixed != NULL) {
        cli_usage_error("sweep", "%s is part of the sweep in '%s', which --resume does not change",
                        fixed, options->folder);
    }
    if (cli_sweep_file_read(options->folder, plan, base, &why) != OCT_OK) {
        fail(why.text);
    }
    check_trust(options, plan, base);
    take_results(plan, options->folder);
    uint32_t done = cli_sweep_plan_count(plan, CLI_SWEEP_FINISHED) +
                    cli_sweep_plan_count(plan, CLI_SWEEP_PRUNED);
    printf("octet sweep: resuming %s: %u of %u runs are done\n", options->folder, (unsigned)done,
           (unsigned)(plan->wanted * plan->seeds));
    cli_sweep_plan_resume(plan);
}

// ---- the table and the picture

// Saves the page that octet dash would show of the runs. False: it could not be written.
static bool
save_page(char *folder)
{
    char path[CLI_PATH_MAX + 16];
    size_t length;
    cli_dash_runs *runs = cli_dash_runs_create(NULL, &folder, 1);
    uint32_t count = cli_dash_runs_count(runs), unshown = cli_dash_runs_unshown(runs);
    (void)snprintf(path, sizeof(path), "%s/" PAGE, folder);
    bool is_saved = cli_dash_report_save(path, runs, &length) == OCT_OK;
    if (is_saved) {
        printf("page    %s, %u of %u runs\n", path, (unsigned)count, (unsigned)(count + unshown));
    } else {
        cli_error("sweep", "cannot write '%s': %s", path, oct_file_strerror(errno));
    }
    cli_dash_runs_destroy(runs);
    return is_saved;
}

typedef struct ranked {
    uint32_t trial;
    double value;
} ranked;

// Sorts by falling return; trials without a return come last.
static int
ranked_order(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    bool has_x = isfinite(x->value), has_y = isfinite(y->value);
    if (has_x != has_y || (has_x && x->value != y->value)) {
        return has_x && (!has_y || x->value > y->value) ? -1 : 1;
    }
    return x->trial < y->trial ? -1 : 1;
}

// Lists the folders of the runs of the best trials, as many as one comparison can hold; trials
// becomes their number. The caller frees the strings.
static size_t
best_runs(const cli_sweep_plan *plan, const char *folder, char **out, uint32_t *trials)
{
    char path[CLI_PATH_MAX + CLI_SWEEP_NAME_MAX + 2], name[CLI_SWEEP_NAME_MAX];
    size_t count = 0;
    ranked *order = oct_alloc((plan->count + 1) * sizeof(*order));
    for (uint32_t i = 0; i < plan->count; i++) {
        order[i] = (ranked){.trial = i, .value = cli_sweep_plan_return(plan, i)};
    }
    qsort(order, plan->count, sizeof(*order), ranked_order);
    *trials = OCT_MIN(plan->count, CLI_COMPARISON_SERIES_MAX / plan->seeds);
    for (uint32_t i = 0; i < *trials; i++) {
        for (uint32_t k = 0; k < plan->seeds; k++) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder,
                           cli_sweep_plan_name(plan, order[i].trial, k, name));
            if (cli_series_is_run(path)) {
                out[count] = strdup(path);
                OCT_ASSERT(out[count] != NULL);
                count++;
            }
        }
    }
    free(order);
    return count;
}

// Prints the table and draws the picture. False: one of them could not be made.
static bool
compare_runs(const cli_sweep_plan *plan, const config_experiment *base, const char *folder,
             const char *const *folders, size_t folder_count)
{
    static cli_comparison_runs runs;
    oct_reason why;
    char title[CONFIG_TEXT_MAX + 64], path[CLI_PATH_MAX + 16];
    if (cli_comparison_open(&runs, folders, folder_count, NAN, &why) != OCT_OK) {
        cli_error("sweep", "the runs cannot be compared: %s", why.text);
        return false;
    }
    cli_comparison *compare = cli_comparison_create(&runs, cli_comparison_by_default(&runs), true);
    (void)fputc('\n', stdout);
    cli_comparison_print(compare, stdout);
    (void)snprintf(title, sizeof(title), "%s: %u trial%s, %u seed%s", base->env.id,
                   (unsigned)plan->count, oct_text_plural(plan->count), (unsigned)plan->seeds,
                   oct_text_plural(plan->seeds));
    (void)snprintf(path, sizeof(path), "%s/" PICTURE, folder);
    bool is_drawn = cli_comparison_draw(compare, title, path) == OCT_OK;
    if (is_drawn) {
        printf("picture %s\n", path);
    } else {
        cli_error("sweep", "cannot write '%s': %s", path, oct_file_strerror(errno));
    }
    cli_comparison_destroy(compare);
    cli_comparison_close(&runs);
    return is_drawn;
}

// Prints and writes the report of the sweep. Returns false if a part of the report failed.
static bool
report(const cli_sweep_plan *plan, const config_experiment *base, char *folder)
{
    static char *run[CLI_COMPARISON_SERIES_MAX];
    uint32_t failed = cli_sweep_plan_count(plan, CLI_SWEEP_FAILED), trials;
    uint32_t pruned = cli_sweep_plan_count(plan, CLI_SWEEP_PRUNED);
    if (failed > 0 || pruned > 0) {
        printf("%u of %u runs failed, %u were pruned\n", (unsigned)failed,
               (unsigned)(plan->wanted * plan->seeds), (unsigned)pruned);
    }
    size_t count = best_runs(plan, folder, run, &trials);
    if (count == 0) {
        return true; // no run has begun
    }
    if (trials < plan->count) {
        printf("the best %u of %u trials:\n", (unsigned)trials, (unsigned)plan->count);
    }
    bool is_compared = compare_runs(plan, base, folder, (const char *const *)run, count);
    bool is_saved = save_page(folder);
    for (size_t i = 0; i < count; i++) {
        free(run[i]);
    }
    return is_compared && is_saved;
}

// ---- the command

// Returns the exit code: above 128 if a signal has stopped the sweep.
static int
run_sweep(const sweep_options *options, cli_sweep_plan *plan, const config_experiment *base)
{
    static cli_folder folder;
    char octet[CLI_PATH_MAX];
    oct_reason why;
    ssize_t length = readlink("/proc/self/exe", octet, sizeof(octet) - 1);
    if (length <= 0) {
        fail("cannot find the running program in /proc");
    }
    octet[length] = '\0';
    oct_program_keep_paths(); // the runs are started in the sweep's folder
    open_folder(options, base, &folder);
    if (!options->resume && cli_sweep_file_write_base(folder.path, base) != OCT_OK) {
        write_failed(&folder, CLI_SWEEP_BASE);
    }
    // From here on --resume can continue the sweep, even if a signal comes while Optuna starts.
    if (!options->resume && cli_sweep_file_write(folder.path, plan) != OCT_OK) {
        write_failed(&folder, CLI_SWEEP_FILE);
    }
    cli_sweep_request request = {.plan = plan,
                                 .folder = folder.path,
                                 .octet = octet,
                                 .is_trusted = options->is_trusted,
                                 .jobs = options->jobs > 0 ? options->jobs : 1};
    if (plan->method == CLI_SWEEP_OPTUNA &&
        cli_sweep_optuna_start(&request.optuna, folder.path, plan, &why) != OCT_OK) {
        if (!options->resume) {
            cli_folder_clear(&folder, true);
        }
        fail(why.text);
    }
    printf("folder %s\n", folder.path);
    (void)fflush(stdout);
    int exit_code = cli_sweep_jobs_run(&request);
    cli_sweep_optuna_stop(request.optuna);
    if (!report(plan, base, folder.path) && exit_code == 0) {
        exit_code = EXIT_FAILURE;
    }
    if (exit_code > 128) {
        printf("stopped: %u of %u runs are done\n  octet sweep --resume --sweep-dir %s\n",
               (unsigned)(cli_sweep_plan_count(plan, CLI_SWEEP_FINISHED) +
                          cli_sweep_plan_count(plan, CLI_SWEEP_PRUNED)),
               (unsigned)(plan->wanted * plan->seeds), cli_text_word(folder.path).text);
    }
    cli_folder_close(&folder);
    return exit_code;
}

int
cli_sweep(int argc, char **argv)
{
    static sweep_options options = {.draw_seed = DRAW_SEED_NONE};
    static cli_sweep_plan plan;
    static config_experiment base;
    cli_args_parse(&sweep_args, argc, argv, &options);
    (void)way_of(&options);
    cli_parent_follow("sweep", options.follow_parent);
    if (options.resume) {
        resume_plan(&options, &plan, &base);
    } else {
        make_plan(&options, &plan, &base);
    }
    print_plan(&plan);
    if (options.dry_run) {
        print_trials(&plan);
        cli_sweep_plan_fini(&plan);
        return 0;
    }
    int exit_code = run_sweep(&options, &plan, &base);
    cli_sweep_plan_fini(&plan);
    return exit_code;
}
