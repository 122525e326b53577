// octet train: its options, and the run folder of a run.

#include "cli/cli_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_parent.h"
#include "cli/cli_signals.h"
#include "cli/dash/cli_dash_server.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_preflight.h"
#include "cli/run/cli_run.h"
#include "common/oct_config_text.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "net/net_daemon.h"
#include "net/net_http.h"
#include "net/net_loop.h"
#include "policy/policy_format.h"

#define SETTINGS_MAX     256
#define CONFIG_BYTES_MAX (1u << 20)
#define ACTORS_MAX       256
#define LIST_BYTES       128

enum {
    KEY_SET = 256,
    KEY_ACTORS,
    KEY_LEARNERS,
    KEY_PRECISION,
    KEY_SEED,
    KEY_DETERMINISTIC,
    KEY_RUN_DIR,
    KEY_NO_UI,
    KEY_RESUME,
    KEY_METRICS,
    KEY_DASH,
    KEY_DASH_STAY,
    KEY_DATA,
    KEY_DATA_SHARE,
    KEY_FOLLOW_PARENT,
    KEY_INIT_FROM,
    KEY_FREEZE,
    KEY_ENERGY_COMMAND,
    KEY_ENERGY_MODEL,
};

typedef struct train_options {
    const char *file;
    const char *run_dir;
    const char *metrics[NET_DAEMON_METRICS_MAX];
    unsigned metrics_count;
    char dash[64]; // "": no page
    bool dash_stays;
    const char *data;             // NULL: no --data
    char *settings[SETTINGS_MAX]; // "key=value", in the order given
    size_t setting_count;
    bool no_ui;
    bool resume;
    const char *energy_command;
    cli_energy_model energy_model;
} train_options;

static const struct argp_option option_table[] = {
    {"set", KEY_SET, "KEY=VALUE", 0, "Override one key of the experiment; may be repeated", 0},
    {"actors", KEY_ACTORS, "N", 0, "Start N actors (actor.count)", 0},
    {"learners", KEY_LEARNERS, "N", 0, "Start N learners, which share each batch (learner.count)",
     0},
    {"precision", KEY_PRECISION, "NAME", 0,
     "Publish policies in this precision: int8, fp32, bf16, fp16 or int4 (policy.precision)", 0},
    {"seed", KEY_SEED, "S", 0, "Set the seed of the run (run.seed)", 0},
    {"data", KEY_DATA, "FILE", 0,
     "Learn from this data set (octet data) alone, without actors, for run.updates (replay.data)",
     0},
    {"data-share", KEY_DATA_SHARE, "X", 0,
     "Take this share of each batch from the data set and the rest from actors (replay.data_share)",
     0},
    {"init-from", KEY_INIT_FROM, "RUN|POLICY", 0,
     "Start from the layers of another run or of a policy file, where they fit (learner.init_from)",
     0},
    {"freeze", KEY_FREEZE, "LAYERS", 0,
     "Keep these layers of the policy unchanged, such as 0,1, numbered as octet inspect numbers "
     "them (learner.freeze)",
     0},
    {"deterministic", KEY_DETERMINISTIC, NULL, 0,
     "Run in lock-step, so that the same seed produces the same weights (run.deterministic)", 0},
    {"run-dir", KEY_RUN_DIR, "D", 0,
     "Write the run to folder D, which must not contain a run, except with --resume (default: "
     "runs/NAME-DATE-TIME)",
     0},
    {"no-ui", KEY_NO_UI, NULL, 0, "Print plain lines even on a terminal", 0},
    {"resume", KEY_RESUME, NULL, 0,
     "Continue the run in --run-dir from its checkpoint, with its config.yaml and any --set", 0},
    {"metrics", KEY_METRICS, "URL", 0,
     "Serve the learner's /metrics (Prometheus) and /healthz at URL, such as http://127.0.0.1:9464 "
     "or, with the learner's certificates in $OCTET_TLS, https://HOST:PORT; may be given twice",
     0},
    {"follow-parent", KEY_FOLLOW_PARENT, "PID", OPTION_HIDDEN, CLI_PARENT_HELP, 0},
    {"energy-command", KEY_ENERGY_COMMAND, "CMD", 0,
     "Measure energy with this shell command, which keeps printing the joules that the machine has "
     "used so far, one number a line (default: the processors' counters, where the kernel shows "
     "them)",
     0},
    {"energy-model", KEY_ENERGY_MODEL, "MODEL", 0,
     "Also estimate energy from CPU time: watts=W[,gco2_per_kwh=G], with W watts for a busy core "
     "and, for the CO2, G grams a kWh; the estimate is labelled as a model wherever it is shown",
     0},
    {"dash", KEY_DASH, "PORT", OPTION_ARG_OPTIONAL,
     "Show the run in a browser while it lasts, at http://127.0.0.1:PORT (default: 8260)", 0},
    {"dash-stay", KEY_DASH_STAY, NULL, 0,
     "Like --dash, but keep serving after the run has ended, until Ctrl-C", 0},
    {0},
};

// ---- options

static void
add_setting(train_options *options, const char *key, const char *value)
{
    if (options->setting_count == SETTINGS_MAX) {
        cli_usage_error("train", "more than %d settings", SETTINGS_MAX);
    }
    size_t size = strlen(key) + strlen(value) + 2;
    char *setting = oct_alloc(size);
    (void)snprintf(setting, size, "%s%s%s", key, key[0] != '\0' ? "=" : "", value);
    options->settings[options->setting_count++] = setting;
}

// One more address of the learner's.
static void
metrics_take(train_options *options, const char *url)
{
    char reason[256];
    const net_http_terms terms = {
        .has_tls = net_loop_tls_default() != NULL,
        .to_have_tls = "OCTET_TLS=FOLDER, with those of the learner (octet certs issue learner "
                       "NAME makes them)",
    };
    if (net_http_check(url, &terms, reason, sizeof(reason)) != OCT_OK) {
        cli_usage_error("train", "--metrics is '%s': %s", url, reason);
    }
    for (unsigned i = 0; i < options->metrics_count; i++) {
        if (strcmp(url, options->metrics[i]) == 0) {
            cli_usage_error("train", "--metrics %s: given twice", url);
        }
    }
    if (options->metrics_count == NET_DAEMON_METRICS_MAX) {
        cli_usage_error("train", "more than %d --metrics", NET_DAEMON_METRICS_MAX);
    }
    options->metrics[options->metrics_count++] = url;
}

// "0,1" is the list [0,1].
static void
add_list(train_options *options, const char *key, const char *value)
{
    char list[LIST_BYTES];
    if (strspn(value, "0123456789,") != strlen(value) || value[0] == '\0' ||
        snprintf(list, sizeof(list), "[%s]", value) >= (int)sizeof(list)) {
        cli_usage_error("train", "--freeze is '%s'; allowed are layer numbers such as 0,1", value);
    }
    add_setting(options, key, list);
}

// port: NULL, the usual one.
static void
dash_take(train_options *options, const char *port)
{
    uint64_t number =
        port != NULL ? cli_option_number("train", "--dash", port, 1, 65535) : CLI_DASH_PORT;
    (void)snprintf(options->dash, sizeof(options->dash), "http://127.0.0.1:%u", (unsigned)number);
}

// Options that set keys of the experiment.
static error_t
parse_setting(int key, char *arg, train_options *options)
{
    switch (key) {
    case KEY_SET:
        add_setting(options, "", arg);
        return 0;
    case KEY_ACTORS:
        (void)cli_option_number("train", "--actors", arg, 1, ACTORS_MAX);
        add_setting(options, "actor.count", arg);
        return 0;
    case KEY_LEARNERS:
        (void)cli_option_number("train", "--learners", arg, 1, CLI_LEARNERS_MAX);
        add_setting(options, "learner.count", arg);
        return 0;
    case KEY_PRECISION:
        if (!policy_precision_parse(&(policy_precision){0}, arg)) {
            cli_usage_error("train", "--precision is '%s'; allowed is int8, fp32, bf16, fp16, int4",
                            arg);
        }
        add_setting(options, "policy.precision", arg);
        return 0;
    case KEY_SEED:
        (void)cli_option_number("train", "--seed", arg, 0, CLI_SEED_MAX);
        add_setting(options, "run.seed", arg);
        return 0;
    case KEY_DATA:
        if (options->data != NULL) {
            cli_usage_error("train", "two data sets, '%s' and '%s'; name one with --data",
                            options->data, arg);
        }
        options->data = arg;
        add_setting(options, "replay.data", arg);
        return 0;
    case KEY_DATA_SHARE:
        add_setting(options, "replay.data_share", arg);
        return 0;
    case KEY_DETERMINISTIC:
        add_setting(options, "run.deterministic", "true");
        return 0;
    case KEY_INIT_FROM:
        add_setting(options, "learner.init_from", arg);
        return 0;
    case KEY_FREEZE:
        add_list(options, "learner.freeze", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    train_options *options = state->input;
    char reason[256];
    switch (key) {
    case KEY_RUN_DIR:
        options->run_dir = arg;
        return 0;
    case KEY_NO_UI:
        options->no_ui = true;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case KEY_DASH:
        dash_take(options, arg);
        return 0;
    case KEY_DASH_STAY:
        options->dash_stays = true;
        dash_take(options, options->dash[0] == '\0' ? NULL : strrchr(options->dash, ':') + 1);
        return 0;
    case KEY_ENERGY_COMMAND:
        options->energy_command = arg;
        return 0;
    case KEY_ENERGY_MODEL:
        if (cli_energy_model_parse(&options->energy_model, arg, reason, sizeof(reason)) != OCT_OK) {
            cli_usage_error("train", "--energy-model is %s", reason);
        }
        return 0;
    case KEY_METRICS:
        metrics_take(options, arg);
        return 0;
    case KEY_FOLLOW_PARENT:
        cli_parent_follow("train", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            cli_usage_error("train", "two files, '%s' and '%s'; name one experiment", options->file,
                            arg);
        }
        options->file = arg;
        return 0;
    default:
        return parse_setting(key, arg, options);
    }
}

static const struct argp train_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "FILE\n[FILE] --resume --run-dir D",
    .doc = "Trains a policy on this machine: starts replay, learner, actors and an evaluator, "
           "supervises them and shows their progress.\v"
           "FILE is an experiment, or the name of a preset (octet presets).\n"
           "Example: octet train cartpole --set run.env_steps=100000\n\n"
           "Ctrl-C saves a checkpoint and a policy and ends the run with exit code 130. octet "
           "config lists all keys for --set.",
};

static const char *
run_name(const oct_config *config)
{
    if (config->run.name[0] != '\0') {
        return config->run.name;
    }
    const char *slash = strrchr(config->env.id, '/');
    return slash != NULL ? slash + 1 : config->env.id;
}

// ---- start

_Noreturn static void
fail(const char *reason)
{
    cli_error("train", "%s", reason);
    exit(CLI_EXIT_FAILED);
}

// Before anything of the run is made: its socket; -1: there is to be no page.
static int
dash_listen(const train_options *options)
{
    char reason[256];
    int fd = -1;
    if (options->dash[0] != '\0' &&
        cli_dash_listen(&fd, options->dash, reason, sizeof(reason)) != OCT_OK) {
        cli_error("train", "--dash: cannot serve %s: %s (choose another port with --dash=PORT)",
                  options->dash, reason);
        exit(CLI_EXIT_FAILED);
    }
    return fd;
}

// The same for the learner, which listens there when it has started.
static void
metrics_try(const train_options *options)
{
    char reason[256];
    int fd;
    for (unsigned i = 0; i < options->metrics_count; i++) {
        if (net_http_listen(&fd, options->metrics[i], reason, sizeof(reason)) != OCT_OK) {
            cli_error("train", "--metrics: cannot serve %s: %s", options->metrics[i], reason);
            exit(CLI_EXIT_FAILED);
        }
        (void)close(fd);
    }
}

// A disk without room, say: a run that has no file yet leaves no folder.
_Noreturn static void
write_failed(const cli_folder *folder, const char *path)
{
    cli_error("train", "cannot write '%s': %s", path, strerror(errno));
    cli_folder_take_back(folder);
    exit(CLI_EXIT_FAILED);
}

// Returns what the file held before, malloc'd; NULL: there was none.
static char *
write_config(const oct_config *config, const cli_folder *folder)
{
    char path[CLI_PATH_MAX + 16];
    char *text = oct_config_print(config), *before = NULL;
    uint8_t *bytes;
    size_t length;
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder->path);
    if (oct_file_read_plain(path, CONFIG_BYTES_MAX, &bytes, &length, NULL) == OCT_OK) {
        before = strndup((const char *)bytes, length);
        free(bytes);
    }
    if (oct_file_write(path, text, strlen(text)) != OCT_OK) {
        write_failed(folder, path);
    }
    free(text);
    return before;
}

static void
write_environment(const cli_environment *environment, const cli_folder *folder)
{
    char path[CLI_PATH_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/" CLI_RUN_ENVIRONMENT, folder->path);
    if (oct_file_write(path, environment->bytes, environment->length) != OCT_OK) {
        write_failed(folder, path);
    }
}

// A folder below the one where the command was typed is shown as it is reached from there.
static const char *
shown(const cli_folder *folder)
{
    char start[CLI_PATH_MAX];
    bool is_below = getcwd(start, sizeof(start)) != NULL &&
                    strncmp(folder->path, start, strlen(start)) == 0 &&
                    folder->path[strlen(start)] == '/';
    return is_below ? folder->path + strlen(start) + 1 : folder->path;
}

int
cli_train(int argc, char **argv)
{
    static train_options options;
    static cli_environment environment;
    static oct_config config;
    static cli_folder folder;
    static char replay[CLI_PATH_MAX], learner[CLI_PATH_MAX], actor[CLI_PATH_MAX];
    char reason[CLI_PATH_MAX + 256] = "";
    cli_options_parse(&train_argp, argc, argv, &options);
    if (options.resume && options.run_dir == NULL) {
        cli_usage_error("train", "--resume needs --run-dir: the folder of the run to continue");
    }
    static cli_experiment experiment;
    experiment = (cli_experiment){.file = options.file,
                                  .run_dir = options.run_dir,
                                  .settings = options.settings,
                                  .setting_count = options.setting_count,
                                  .resume = options.resume};
    cli_experiment_load(&config, &experiment);
    cli_preflight(&environment, &experiment, &config);
    int dash_fd = dash_listen(&options);
    metrics_try(&options);
    cli_signals_hold(true);
    if (cli_folder_find_daemon(replay, "octet-replay", reason, sizeof(reason)) != OCT_OK ||
        cli_folder_find_daemon(learner, "octet-learner", reason, sizeof(reason)) != OCT_OK ||
        cli_folder_find_daemon(actor, "octet-actor", reason, sizeof(reason)) != OCT_OK ||
        cli_folder_open(&folder, options.run_dir, run_name(&config), options.resume, reason,
                        sizeof(reason)) != OCT_OK) {
        fail(reason);
    }
    cli_folder_warn(&folder, "train");
    char *before = write_config(&config, &folder);
    write_environment(&environment, &folder);
    const char *shown_as = shown(&folder);
    oct_program_keep_paths();
    if (chdir(folder.path) != 0) {
        fail("cannot change to the run folder");
    }
    cli_run_request request = {
        .config = &config,
        .experiment = &experiment,
        .folder = &folder,
        .shown_as = shown_as,
        .replay = replay,
        .learner = learner,
        .actor = actor,
        .resume = options.resume,
        .metrics = options.metrics,
        .metrics_count = options.metrics_count,
        .dash = options.dash[0] != '\0' ? options.dash : NULL,
        .dash_fd = dash_fd,
        .dash_stays = options.dash_stays,
        .config_before = before,
        .live = !options.no_ui,
        .energy_command = options.energy_command,
        .energy_model = options.energy_model,
    };
    int exit_code = cli_run(&request);
    cli_folder_close(&folder);
    free(before);
    for (size_t i = 0; i < options.setting_count; i++) {
        free(options.settings[i]);
    }
    return exit_code;
}
