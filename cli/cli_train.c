#include "cli/cli_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_folder.h"
#include "cli/cli_options.h"
#include "cli/cli_run.h"
#include "common/oct_config.h"
#include "common/oct_file.h"
#include "envs/env.h"
#include "net/net_http.h"
#include "net/net_loop.h"
#include "policy/policy_format.h"

#define SETTINGS_MAX     256
#define CONFIG_BYTES_MAX (1u << 20)
#define MESSAGE_BYTES    4096
#define ACTORS_MAX       256

enum {
    KEY_SET = 256,
    KEY_ACTORS,
    KEY_PRECISION,
    KEY_SEED,
    KEY_RUN_DIR,
    KEY_NO_UI,
    KEY_RESUME,
    KEY_METRICS,
};

typedef struct train_options {
    const char *file;
    const char *run_dir;
    const char *metrics;
    char *settings[SETTINGS_MAX]; // "key=value", in the order given
    size_t setting_count;
    bool no_ui;
    bool resume;
} train_options;

static const struct argp_option option_table[] = {
    {"set", KEY_SET, "KEY=VALUE", 0, "Overrides one key of the experiment; may be repeated", 0},
    {"actors", KEY_ACTORS, "N", 0, "Actors to start (actor.count)", 0},
    {"precision", KEY_PRECISION, "NAME", 0,
     "int8, fp32, bf16, fp16 or int4: of the published policy (policy.precision)", 0},
    {"seed", KEY_SEED, "S", 0, "Seed of the run (run.seed)", 0},
    {"run-dir", KEY_RUN_DIR, "D", 0,
     "Run folder; must not exist, except with --resume (default: runs/NAME-DATE-TIME)", 0},
    {"no-ui", KEY_NO_UI, NULL, 0, "Plain lines, also on a terminal", 0},
    {"resume", KEY_RESUME, NULL, 0,
     "Continues the run in --run-dir from its checkpoint; FILE defaults to its config.yaml", 0},
    {"metrics", KEY_METRICS, "URL", 0,
     "The learner serves /metrics (Prometheus) and /healthz there, http://127.0.0.1:9464 say", 0},
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

static void
metrics_check(const char *url)
{
    char reason[256];
    bool has_tls = net_loop_tls_default() != NULL; // the learner's
    if (net_http_check(url, false, has_tls, reason, sizeof(reason)) != OCT_OK) {
        cli_usage_error("train", "--metrics is '%s': %s", url, reason);
    }
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    train_options *options = state->input;
    switch (key) {
    case KEY_SET:
        add_setting(options, "", arg);
        return 0;
    case KEY_ACTORS:
        (void)cli_option_number("train", "--actors", arg, 1, ACTORS_MAX);
        add_setting(options, "actor.count", arg);
        return 0;
    case KEY_PRECISION:
        if (!policy_precision_parse(&(policy_precision){0}, arg)) {
            cli_usage_error("train", "--precision is '%s'; allowed is int8, fp32, bf16, fp16, int4",
                            arg);
        }
        add_setting(options, "policy.precision", arg);
        return 0;
    case KEY_SEED:
        (void)cli_option_number("train", "--seed", arg, 0, UINT64_MAX);
        add_setting(options, "run.seed", arg);
        return 0;
    case KEY_RUN_DIR:
        options->run_dir = arg;
        return 0;
    case KEY_NO_UI:
        options->no_ui = true;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case KEY_METRICS:
        metrics_check(arg);
        options->metrics = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            cli_usage_error("train", "two files, '%s' and '%s'; one experiment at a time",
                            options->file, arg);
        }
        options->file = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp train_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "FILE",
    .doc = "Trains a policy on this machine: starts replay, learner, actors and an evaluator, "
           "watches over them and shows how they do.\v"
           "Example: octet train presets/cartpole.yaml --set run.env_steps=100000\n\n"
           "Ctrl-C stops the run with a checkpoint and a policy; exit code 130. "
           "Every key for --set: octet config.",
};

// ---- experiment

_Noreturn static void
refuse_config(const char *message)
{
    (void)fflush(stdout);
    size_t length = strlen(message);
    fprintf(stderr, "%s%s", message, length == 0 || message[length - 1] != '\n' ? "\n" : "");
    exit(CLI_EXIT_USAGE);
}

// Defaults, file, --set and flags in the order given; ends the process when anything is wrong.
static void
load_config(oct_config *config, const train_options *options)
{
    char message[MESSAGE_BYTES] = "";
    char own[CLI_PATH_MAX + 16];
    const char *file = options->file;
    if (file == NULL && options->resume && options->run_dir != NULL) {
        (void)snprintf(own, sizeof(own), "%s/config.yaml", options->run_dir);
        file = own;
    }
    if (file == NULL) {
        cli_usage_error("train", "no experiment FILE given; for example presets/cartpole.yaml");
    }
    oct_config_default(config);
    if (oct_config_load(config, file, message, sizeof(message)) != OCT_OK) {
        refuse_config(message);
    }
    for (size_t i = 0; i < options->setting_count; i++) {
        if (oct_config_set(config, options->settings[i], message, sizeof(message)) != OCT_OK) {
            refuse_config(message);
        }
    }
    if (oct_config_check(config, message, sizeof(message)) != OCT_OK) {
        refuse_config(message);
    }
}

// The daemons work in the run folder, so paths in the experiment must not depend on where they are.
static void
resolve_path(const char *key, char value[OCT_CONFIG_TEXT_MAX])
{
    char absolute[CLI_PATH_MAX];
    if (realpath(value, absolute) == NULL) {
        cli_error("train", "%s is '%s': %s", key, value, strerror(errno));
        exit(CLI_EXIT_FAILED);
    }
    if (strlen(absolute) >= OCT_CONFIG_TEXT_MAX) {
        cli_error("train", "%s: the path '%s' is longer than %d bytes", key, absolute,
                  OCT_CONFIG_TEXT_MAX - 1);
        exit(CLI_EXIT_FAILED);
    }
    memcpy(value, absolute, strlen(absolute) + 1);
}

static void
resolve_paths(oct_config *config)
{
    if (env_is_plugin(config->env.id)) {
        resolve_path("env.id", config->env.id);
    }
    const char *folder = config->env.mjcf_dir;
    if (folder[0] != '\0' && strcmp(folder, "auto") != 0) {
        resolve_path("env.mjcf_dir", config->env.mjcf_dir);
    }
}

// On one machine the daemons meet at sockets in the run folder: relative paths, because a socket's
// path is limited to about 100 bytes, and never in the way of another run.
static void
resolve_addresses(oct_config *config)
{
    oct_config defaults;
    oct_config_default(&defaults);
    if (strncmp(config->net.learner, "ipc://", 6) != 0 &&
        strcmp(config->net.learner, defaults.net.learner) != 0) {
        fprintf(stderr,
                "octet train: note: net.learner '%s' is for daemons started by hand; this run "
                "uses %s in its folder\n",
                config->net.learner, CLI_RUN_LEARNER);
    }
    (void)snprintf(config->net.learner, sizeof(config->net.learner), "%s", CLI_RUN_LEARNER);
    (void)snprintf(config->net.replay, sizeof(config->net.replay), "%s", CLI_RUN_REPLAY);
}

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

// The checkpoint does not know what the run has learned from; its config.yaml does.
static void
check_resume(const oct_config *config, const cli_folder *folder)
{
    static oct_config before;
    char path[CLI_PATH_MAX + 16], message[MESSAGE_BYTES] = "";
    (void)snprintf(path, sizeof(path), "%s/checkpoint.oct", folder->path);
    if (access(path, F_OK) != 0) {
        return; // it begins
    }
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder->path);
    oct_config_default(&before);
    if (oct_config_load(&before, path, message, sizeof(message)) != OCT_OK) {
        fprintf(stderr, "octet train: note: what the run was trained with cannot be told\n%s",
                message);
    } else if (oct_config_check_resume(&before, config, message, sizeof(message)) != OCT_OK) {
        refuse_config(message);
    } else {
        fputs(message, stderr);
    }
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
    if (oct_file_read(path, CONFIG_BYTES_MAX, &bytes, &length) == OCT_OK) {
        before = strndup((const char *)bytes, length);
        free(bytes);
    }
    if (oct_file_write(path, text, strlen(text)) != OCT_OK) {
        cli_error("train", "cannot write '%s': %s", path, strerror(errno));
        exit(CLI_EXIT_FAILED);
    }
    free(text);
    return before;
}

int
cli_train(int argc, char **argv)
{
    static train_options options;
    static oct_config config;
    static cli_folder folder;
    static char replay[CLI_PATH_MAX], learner[CLI_PATH_MAX], actor[CLI_PATH_MAX];
    char reason[CLI_PATH_MAX + 256] = "";
    cli_options_parse(&train_argp, argc, argv, &options);
    if (options.resume && options.run_dir == NULL) {
        cli_usage_error("train", "--resume needs --run-dir: the folder of the run to continue");
    }
    load_config(&config, &options);
    resolve_paths(&config);
    resolve_addresses(&config);
    if (cli_folder_find_daemon(replay, "octet-replay", reason, sizeof(reason)) != OCT_OK ||
        cli_folder_find_daemon(learner, "octet-learner", reason, sizeof(reason)) != OCT_OK ||
        cli_folder_find_daemon(actor, "octet-actor", reason, sizeof(reason)) != OCT_OK ||
        cli_folder_open(&folder, options.run_dir, run_name(&config), options.resume, reason,
                        sizeof(reason)) != OCT_OK) {
        fail(reason);
    }
    if (options.resume) {
        check_resume(&config, &folder);
    }
    char *before = write_config(&config, &folder);
    char start[CLI_PATH_MAX];
    const char *shown_as = folder.path;
    // A folder below the one where the command was typed is shown as it is reached from there.
    if (getcwd(start, sizeof(start)) != NULL && strncmp(folder.path, start, strlen(start)) == 0 &&
        folder.path[strlen(start)] == '/') {
        shown_as = folder.path + strlen(start) + 1;
    }
    if (chdir(folder.path) != 0) {
        fail("cannot enter the run folder");
    }
    cli_run_request request = {
        .config = &config,
        .folder = folder.path,
        .shown_as = shown_as,
        .replay = replay,
        .learner = learner,
        .actor = actor,
        .resume = options.resume,
        .metrics = options.metrics,
        .config_before = before,
        .live = !options.no_ui,
    };
    int exit_code = cli_run(&request);
    cli_folder_close(&folder);
    free(before);
    for (size_t i = 0; i < options.setting_count; i++) {
        free(options.settings[i]);
    }
    return exit_code;
}
