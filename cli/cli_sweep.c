// octet sweep: trains with many configurations, several seeds each.

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
#include "common/oct_config_effects.h"
#include "common/oct_config_text.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_rng.h"
#include "common/oct_text.h"

#define SETTINGS_MAX   256
#define MESSAGE_BYTES  4096
#define WORDS_BYTES    2048
#define SAID_BYTES     65536
#define RANDOM_DEFAULT 10
#define PICTURE        "sweep.svg"
#define PAGE           "sweep.html"

enum {
    KEY_OVER = 256,
    KEY_SET,
    KEY_SEEDS,
    KEY_GRID,
    KEY_RANDOM,
    KEY_OPTUNA,
    KEY_DRAW_SEED,
    KEY_JOBS,
    KEY_SWEEP_DIR,
    KEY_RESUME,
    KEY_DRY_RUN,
    KEY_FOLLOW_PARENT,
    KEY_TRUST,
};

typedef struct sweep_options {
    const char *file;
    const char *folder;
    char *settings[SETTINGS_MAX]; // "key=value", in the order given
    size_t setting_count;
    const char *over[CLI_SPACE_KEYS_MAX];
    size_t over_count;
    uint32_t seeds;
    uint32_t jobs;
    uint64_t draw_seed;
    cli_sweep_method method;
    const char *method_option; // as given; NULL: none was
    uint32_t wanted;           // of random and optuna
    bool resume;
    bool dry_run;
    bool is_trusted;
    const char *fixed; // an option that a resumed sweep does not take; NULL: none was given
} sweep_options;

static const struct argp_option option_table[] = {
    {"over", KEY_OVER, "KEY=VALUES", 0,
     "Vary a key over a list (a,b,c) or a range (LOW..HIGH, log:LOW..HIGH, lin:LOW..HIGH); may be "
     "repeated",
     0},
    {"seeds", KEY_SEEDS, "N", 0, "Run each trial with N seeds, starting at run.seed (default: 1)",
     0},
    {"grid", KEY_GRID, NULL, 0, "Try every combination of the lists (default if all are lists)", 0},
    {"random", KEY_RANDOM, "N", 0,
     "Try N combinations drawn at random (default if any is a range: 10)", 0},
    {"optuna", KEY_OPTUNA, "N", 0,
     "Let Optuna choose N trials and prune those that fall behind (needs Python's optuna)", 0},
    {"draw-seed", KEY_DRAW_SEED, "S", 0, "Set the seed for drawing trials (default: 0)", 0},
    {"jobs", KEY_JOBS, "N", 0, "Run N runs at a time; they share the CPUs (default: 1)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "Override one key of the experiment, in all trials; may be repeated", 0},
    {"sweep-dir", KEY_SWEEP_DIR, "D", 0,
     "Write the sweep to folder D, which must not exist, except with --resume (default: "
     "runs/NAME-sweep-DATE-TIME)",
     0},
    {"resume", KEY_RESUME, NULL, 0,
     "Continue the sweep in --sweep-dir: finished runs are kept, the others are continued or "
     "started",
     0},
    {"trust", KEY_TRUST, NULL, 0, CLI_TRUST_HELP, 0},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Check everything and print the trials, but start nothing",
     0},
    {"follow-parent", KEY_FOLLOW_PARENT, "PID", OPTION_HIDDEN, CLI_PARENT_HELP, 0},
    {0},
};

// ---- options

static void
method_take(sweep_options *options, cli_sweep_method method, const char *option, const char *count)
{
    if (options->method_option != NULL && strcmp(options->method_option, option) != 0) {
        cli_usage_error("sweep", "%s and %s cannot be used together", options->method_option,
                        option);
    }
    options->method = method;
    options->method_option = option;
    options->fixed = option;
    if (count != NULL) {
        options->wanted =
            (uint32_t)cli_option_number("sweep", option, count, 1, CLI_SWEEP_TRIALS_MAX);
    }
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    sweep_options *options = state->input;
    switch (key) {
    case KEY_OVER:
        if (options->over_count == CLI_SPACE_KEYS_MAX) {
            cli_usage_error("sweep", "more than %d --over", CLI_SPACE_KEYS_MAX);
        }
        options->over[options->over_count++] = arg;
        options->fixed = "--over";
        return 0;
    case KEY_SET:
        if (options->setting_count == SETTINGS_MAX) {
            cli_usage_error("sweep", "more than %d settings", SETTINGS_MAX);
        }
        options->settings[options->setting_count++] = arg;
        options->fixed = "--set";
        return 0;
    case KEY_SEEDS:
        options->seeds =
            (uint32_t)cli_option_number("sweep", "--seeds", arg, 1, CLI_SWEEP_SEEDS_MAX);
        options->fixed = "--seeds";
        return 0;
    case KEY_GRID:
        method_take(options, CLI_SWEEP_GRID, "--grid", NULL);
        return 0;
    case KEY_RANDOM:
        method_take(options, CLI_SWEEP_RANDOM, "--random", arg);
        return 0;
    case KEY_OPTUNA:
        method_take(options, CLI_SWEEP_OPTUNA, "--optuna", arg);
        return 0;
    case KEY_DRAW_SEED:
        options->draw_seed = cli_option_number("sweep", "--draw-seed", arg, 0, INT64_MAX);
        options->fixed = "--draw-seed";
        return 0;
    case KEY_JOBS:
        options->jobs = (uint32_t)cli_option_number("sweep", "--jobs", arg, 1, CLI_SWEEP_JOBS_MAX);
        return 0;
    case KEY_SWEEP_DIR:
        options->folder = arg;
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case KEY_DRY_RUN:
        options->dry_run = true;
        return 0;
    case KEY_FOLLOW_PARENT:
        cli_parent_follow("sweep", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            cli_usage_error("sweep", "two files, '%s' and '%s'; name one experiment", options->file,
                            arg);
        }
        options->file = arg;
        options->fixed = "FILE";
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp sweep_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "FILE --over KEY=VALUES…\n--resume --sweep-dir D",
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
    cli_error("sweep", "%s", reason);
    exit(CLI_EXIT_FAILED);
}

// ---- the plan

static void
choose_method(const sweep_options *options, cli_sweep_plan *plan)
{
    bool has_range = cli_space_has_range(&plan->space);
    if (options->method_option != NULL) {
        plan->method = options->method;
    } else {
        plan->method = has_range ? CLI_SWEEP_RANDOM : CLI_SWEEP_GRID;
    }
    if (plan->method == CLI_SWEEP_GRID && has_range) {
        cli_usage_error(
            "sweep", "--grid needs lists, not ranges; write --over KEY=a,b,c, or use --random N");
    }
    plan->wanted = options->wanted > 0 ? options->wanted : RANDOM_DEFAULT;
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

// The configuration of a trial; "" or one line that says what is wrong with it.
static void
trial_config(const cli_sweep_plan *plan, uint32_t trial, const oct_config *base, oct_config *out,
             char *reason, size_t reason_size)
{
    char setting[OCT_CONFIG_NAME_MAX + CLI_SPACE_VALUE_MAX + 2], message[MESSAGE_BYTES] = "";
    oct_err err = OCT_OK;
    *out = *base;
    for (size_t i = 0; i < plan->space.count && err == OCT_OK; i++) {
        (void)snprintf(setting, sizeof(setting), "%s=%s", plan->space.key[i].name,
                       plan->trial[trial]->point.value[i]);
        err = oct_config_set(out, setting, message, sizeof(message));
    }
    if (err == OCT_OK) {
        err = oct_config_check(out, message, sizeof(message));
    }
    const char *said = strstr(message, "error: ");
    said = said != NULL ? said + strlen("error: ") : message;
    (void)snprintf(reason, reason_size, "%.*s", err == OCT_OK ? 0 : (int)strcspn(said, "\n"), said);
}

// Whether what a key needs may come with another key of the sweep.
static bool
is_swept(const cli_sweep_plan *plan, const char *why_not)
{
    bool is_one = false;
    for (size_t i = 0; i < plan->space.count; i++) {
        is_one = is_one || strstr(why_not, plan->space.key[i].name) != NULL;
    }
    return is_one;
}

// Tells of keys that have no effect in a trial, or in base, where trials are chosen later: their
// values make no difference. Each reason once: said has what was told.
static void
warn_idle(const cli_sweep_plan *plan, const oct_config *config, oct_text *said)
{
    char why_not[WORDS_BYTES], line[WORDS_BYTES + OCT_CONFIG_NAME_MAX + 64];
    for (size_t i = 0; i < plan->space.count; i++) {
        const char *key = plan->space.key[i].name;
        if (oct_config_has_effect(config, key, why_not, sizeof(why_not)) ||
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

// An environment that was opened, for all trials that have it.
typedef struct opened {
    struct opened *next;
    char id[OCT_CONFIG_TEXT_MAX], options[OCT_CONFIG_OPTIONS_MAX], mjcf_dir[OCT_CONFIG_TEXT_MAX];
    cli_environment environment;
} opened;

// NULL: reason says why it cannot be opened.
static const cli_environment *
environment_of(opened **all, const oct_config *config, char *reason, size_t reason_size)
{
    opened *found = *all;
    while (found != NULL && (strcmp(found->id, config->env.id) != 0 ||
                             strcmp(found->options, config->env.options) != 0 ||
                             strcmp(found->mjcf_dir, config->env.mjcf_dir) != 0)) {
        found = found->next;
    }
    if (found == NULL) {
        found = oct_alloc(sizeof(*found));
        if (cli_preflight_open(&found->environment, config, CLI_PREFLIGHT_MS, NULL, reason,
                               reason_size) != OCT_OK) {
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

// What octet train looks at before a run; "" or one line that says what is wrong.
static void
check_trial(opened **all, const oct_config *config, char *reason, size_t reason_size)
{
    const cli_environment *environment = environment_of(all, config, reason, reason_size);
    if (environment != NULL &&
        cli_preflight_suits(environment, config, reason, reason_size) == OCT_OK &&
        cli_preflight_init(environment, config, pass_over, reason, reason_size) == OCT_OK) {
        reason[0] = '\0';
    }
}

// Every trial that is known before anything starts must be one that octet train takes.
static void
check_trials(const cli_sweep_plan *plan, const oct_config *base)
{
    static oct_config config;
    opened *all = NULL;
    char reason[MESSAGE_BYTES], words[WORDS_BYTES];
    static char told[SAID_BYTES];
    oct_text said;
    oct_text_init(&said, told, sizeof(told));
    if (plan->count == 0) { // Optuna chooses them later
        warn_idle(plan, base, &said);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        trial_config(plan, i, base, &config, reason, sizeof(reason));
        if (reason[0] == '\0') {
            check_trial(&all, &config, reason, sizeof(reason));
        }
        if (reason[0] != '\0') {
            cli_error("sweep", "trial %u (%s): %s", (unsigned)i + 1,
                      cli_sweep_plan_words(plan, i, words, sizeof(words)), reason);
            exit(CLI_EXIT_USAGE);
        }
        warn_idle(plan, &config, &said);
    }
    opened_free(all);
}

// A value of env.options, as it is after --set. NULL: no path in it changes.
static char *
resolved_options(const char *value)
{
    char setting[OCT_CONFIG_VALUE_MAX], message[MESSAGE_BYTES];
    oct_config given, resolved;
    oct_config_default(&given);
    (void)snprintf(setting, sizeof(setting), "env.options=%s", value);
    if (oct_config_set(&given, setting, message, sizeof(message)) != OCT_OK) {
        return NULL;
    }
    resolved = given;
    if (!cli_env_file_resolve(resolved.env.options, sizeof(resolved.env.options)) ||
        strcmp(resolved.env.options, given.env.options) == 0) {
        return NULL;
    }
    bool is_key = oct_config_key_print(&resolved, "env.options", setting);
    OCT_ASSERT(is_key);
    return strdup(setting);
}

// Trials run in the folder of the sweep, and a resumed sweep may be started elsewhere: values that
// are files do not depend on where it was.
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

// A key is the same in all trials, or varied.
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

static void
make_plan(const sweep_options *options, cli_sweep_plan *plan, oct_config *base)
{
    char reason[MESSAGE_BYTES];
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
        if (cli_space_add(&plan->space, options->over[i], base, reason, sizeof(reason)) != OCT_OK) {
            cli_usage_error("sweep", "%s", reason);
        }
        check_settings(options, plan->space.key[i].name);
        resolve_paths(&plan->space.key[i]);
    }
    plan->draw_seed = options->draw_seed;
    plan->seeds = options->seeds > 0 ? options->seeds : 1;
    plan->first_seed = base->run.seed;
    if (plan->first_seed > CLI_SEED_MAX - plan->seeds) {
        cli_usage_error("sweep",
                        "run.seed is %" PRIu64 "; %u seeds from there exceed the largest seed",
                        plan->first_seed, (unsigned)plan->seeds);
    }
    choose_method(options, plan);
    if (options->folder != NULL &&
        cli_folder_check_new(options->folder, reason, sizeof(reason)) != OCT_OK) {
        fail(reason);
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

// ---- what is going to happen

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

static void
open_folder(const sweep_options *options, const oct_config *base, cli_folder *folder)
{
    char reason[CLI_PATH_MAX + 256], name[OCT_CONFIG_TEXT_MAX + 8];
    const char *id = base->run.name[0] != '\0' ? base->run.name : base->env.id;
    const char *slash = strrchr(id, '/');
    (void)snprintf(name, sizeof(name), "%s-sweep", slash != NULL ? slash + 1 : id);
    if (cli_folder_open(folder, options->folder, name, options->resume, reason, sizeof(reason)) !=
        OCT_OK) {
        fail(reason);
    }
    cli_folder_warn(folder, "sweep");
}

// A disk without room, say: a sweep that has not begun leaves no folder.
_Noreturn static void
write_failed(const cli_folder *folder, const char *name)
{
    cli_error("sweep", "cannot write %s in '%s': %s", name, folder->path, oct_file_strerror(errno));
    cli_folder_take_back(folder);
    exit(CLI_EXIT_FAILED);
}

// A run may have ended after sweep.json was written last, or what it wrote is gone: then it runs
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

// The code that base.yaml or a trial names.
static void
check_trust(const sweep_options *options, const cli_sweep_plan *plan, const oct_config *base)
{
    char path[CLI_PATH_MAX + 16];
    const char *id = cli_sweep_plan_varies(plan, "env.id") ? "of a trial" : base->env.id;
    struct stat file;
    (void)snprintf(path, sizeof(path), "%s/" CLI_SWEEP_BASE, options->folder);
    if (stat(path, &file) == 0) {
        cli_trust_require("sweep", path, file.st_uid, id, options->is_trusted, "--trust");
    }
}

static void
resume_plan(const sweep_options *options, cli_sweep_plan *plan, oct_config *base)
{
    char reason[CLI_PATH_MAX + 256];
    if (options->folder == NULL) {
        cli_usage_error("sweep", "--resume needs --sweep-dir: the folder of the sweep to continue");
    }
    if (options->fixed != NULL) {
        cli_usage_error("sweep", "%s is part of the sweep in '%s', which --resume does not change",
                        options->fixed, options->folder);
    }
    if (cli_sweep_file_read(options->folder, plan, base, reason, sizeof(reason)) != OCT_OK) {
        fail(reason);
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

// What octet dash shows of the runs, as a file. False: it could not be written.
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

// By falling return, those without one last.
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

// The folders of the best trials whose runs can be compared together, and how many trials that is;
// the caller frees them.
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
compare_runs(const cli_sweep_plan *plan, const oct_config *base, const char *folder,
             const char *const *folders, size_t folder_count)
{
    static cli_comparison_runs runs;
    char reason[CLI_PATH_MAX + 256], title[OCT_CONFIG_TEXT_MAX + 64], path[CLI_PATH_MAX + 16];
    if (cli_comparison_open(&runs, folders, folder_count, NAN, reason, sizeof(reason)) != OCT_OK) {
        cli_error("sweep", "the runs cannot be compared: %s", reason);
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

// Whether all that there is to tell of the sweep could be made.
static bool
report(const cli_sweep_plan *plan, const oct_config *base, char *folder)
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
        return true; // none has begun
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

// ---- all of it

static int
run_sweep(const sweep_options *options, cli_sweep_plan *plan, const oct_config *base)
{
    static cli_folder folder;
    char octet[CLI_PATH_MAX], reason[CLI_PATH_MAX + 256];
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
    // From here on --resume continues it, also if a signal comes while Optuna starts.
    if (!options->resume && cli_sweep_file_write(folder.path, plan) != OCT_OK) {
        write_failed(&folder, CLI_SWEEP_FILE);
    }
    cli_sweep_request request = {.plan = plan,
                                 .folder = folder.path,
                                 .octet = octet,
                                 .is_trusted = options->is_trusted,
                                 .jobs = options->jobs > 0 ? options->jobs : 1};
    if (plan->method == CLI_SWEEP_OPTUNA &&
        cli_sweep_optuna_start(&request.optuna, folder.path, plan, reason, sizeof(reason)) !=
            OCT_OK) {
        if (!options->resume) {
            cli_folder_clear(&folder, true);
        }
        fail(reason);
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
    static sweep_options options;
    static cli_sweep_plan plan;
    static oct_config base;
    cli_options_parse(&sweep_argp, argc, argv, &options);
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
