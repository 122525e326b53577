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
#include "cli/dash/cli_dash_page.h"
#include "cli/dash/cli_dash_server.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_preflight.h"
#include "cli/run/cli_run.h"
#include "cli/run/cli_settings.h"
#include "cli/run/cli_trust.h"
#include "common/oct_config_text.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "net/net_daemon.h"
#include "net/net_http.h"
#include "net/net_loop.h"

#define CONFIG_BYTES_MAX (1u << 20)

enum {
    KEY_RUN_DIR = 256,
    KEY_NO_UI,
    KEY_RESUME,
    KEY_RESUME_IF_ANY,
    KEY_METRICS,
    KEY_DASH,
    KEY_DASH_STAY,
    KEY_FOLLOW_PARENT,
    KEY_ENERGY_COMMAND,
    KEY_ENERGY_MODEL,
    KEY_TRUST,
};

typedef struct train_options {
    const char *file;
    const char *run_dir;
    const char *metrics[NET_DAEMON_METRICS_MAX];
    unsigned metrics_count;
    char dash[64]; // "": no page
    bool dash_stays;
    cli_settings settings;
    bool no_ui;
    bool resume;
    bool resume_if_any;
    bool is_trusted;
    const char *energy_command;
    cli_energy_model energy_model;
} train_options;

static const struct argp_option option_table[] = {
    {"run-dir", KEY_RUN_DIR, "D", 0,
     "Write the run to folder D, which must not contain a run, except with --resume (default: "
     "runs/NAME-DATE-TIME)",
     0},
    {"no-ui", KEY_NO_UI, NULL, 0, "Print plain lines even on a terminal", 0},
    {"resume", KEY_RESUME, NULL, 0,
     "Continue the run in --run-dir from its checkpoint, with its config.yaml and any --set", 0},
    {"trust", KEY_TRUST, NULL, 0, CLI_TRUST_HELP, 0},
    {"resume-if-any", KEY_RESUME_IF_ANY, NULL, 0,
     "Continue the run in --run-dir if there is one, else start it there: for services, which give "
     "the same command each time",
     0},
    {"metrics", KEY_METRICS, "URL", 0,
     "Serve the learner's /metrics (Prometheus) and /healthz at URL, such as http://127.0.0.1:9464 "
     "or, with the learner's certificates in $OCTET_TLS, https://HOST:PORT; may be given twice",
     0},
    {"follow-parent", KEY_FOLLOW_PARENT, "PID", OPTION_HIDDEN, CLI_PARENT_HELP, 0},
    {"energy-command", KEY_ENERGY_COMMAND, "CMD", 0,
     "Measure energy with this shell command, which keeps printing the joules that the machine has "
     "used so far, one number per line (default: the processors' counters, where the kernel shows "
     "them)",
     0},
    {"energy-model", KEY_ENERGY_MODEL, "MODEL", 0,
     "Also estimate energy from CPU time: watts=W[,gco2_per_kwh=G], with W watts for a busy core "
     "and, for the CO2, G grams per kWh; the estimate is always labelled as a model",
     0},
    {"dash", KEY_DASH, "PORT", OPTION_ARG_OPTIONAL,
     "Show the run in a browser while it runs, at http://127.0.0.1:PORT (default: 8260)", 0},
    {"dash-stay", KEY_DASH_STAY, NULL, 0,
     "Like --dash, but keep serving after the end of the run, until Ctrl-C", 0},
    {0},
};

// ---- options

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

// port: NULL, the usual one.
static void
dash_take(train_options *options, const char *port)
{
    uint64_t number =
        port != NULL ? cli_option_number("train", "--dash", port, 1, 65535) : CLI_DASH_PORT;
    (void)snprintf(options->dash, sizeof(options->dash), "http://127.0.0.1:%u", (unsigned)number);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    train_options *options = state->input;
    char reason[256];
    switch (key) {
    case ARGP_KEY_INIT:
        options->settings.command = "train";
        state->child_inputs[0] = &options->settings;
        return 0;
    case KEY_RUN_DIR:
        options->run_dir = arg;
        return 0;
    case KEY_NO_UI:
        options->no_ui = true;
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case KEY_RESUME_IF_ANY:
        options->resume_if_any = true;
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
        if (options->dash[0] != '\0' && arg[strspn(arg, "0123456789")] == '\0') {
            cli_usage_error("train", "'%s' is not an experiment; a port is given as --dash=%s", arg,
                            arg);
        }
        if (options->file != NULL) {
            cli_usage_error("train", "two files, '%s' and '%s'; name one experiment", options->file,
                            arg);
        }
        options->file = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_settings_argp, 0, NULL, 0}, {0}};

static const struct argp train_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "FILE\n[FILE] --resume --run-dir D",
    .doc = "Trains a policy on this machine: starts replay, learner, actors and an evaluator, "
           "supervises them and shows their progress.\v"
           "FILE is an experiment, or the name of a preset (octet presets).\n\n"
           "Example:\n"
           "  octet train cartpole --set run.env_steps=100000\n\n"
           "Ctrl-C saves a checkpoint and a policy and ends the run with exit code 130. octet "
           "config lists all keys for --set.",
    .children = children,
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
    if (options->dash[0] != '\0' && !cli_dash_page_is_there()) {
        cli_error("train", "--dash: " CLI_DASH_NO_PAGE);
        exit(CLI_EXIT_FAILED);
    }
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
    cli_error("train", "cannot write '%s': %s", path, oct_file_strerror(errno));
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
    if (oct_file_read(path, CONFIG_BYTES_MAX, &bytes, &length) == OCT_OK) {
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

// The daemons meet at sockets in the folder.
static void
sockets_check(cli_folder *folder)
{
    int code = cli_folder_try_socket(folder->path);
    if (code != 0) {
        cli_error("train",
                  "the daemons' sockets cannot be made in '%s': %s; name a folder on another file "
                  "system (--run-dir)",
                  folder->path, strerror(code));
        cli_folder_take_back(folder);
        cli_folder_close(folder);
        exit(CLI_EXIT_FAILED);
    }
}

// With --resume-if-any, what is in the folder decides.
static void
resume_decide(train_options *options)
{
    const char *option = options->resume ? "--resume" : "--resume-if-any";
    if ((options->resume || options->resume_if_any) && options->run_dir == NULL) {
        cli_usage_error("train", "%s needs --run-dir: the folder of the run to continue", option);
    }
    options->resume |= options->resume_if_any && cli_folder_has_begun(options->run_dir);
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
    if (options.run_dir != NULL) {
        oct_file_confine(options.run_dir);
    }
    resume_decide(&options);
    static cli_experiment experiment;
    experiment = (cli_experiment){.file = options.file,
                                  .run_dir = options.run_dir,
                                  .settings = options.settings.list,
                                  .setting_count = options.settings.count,
                                  .resume = options.resume,
                                  .is_trusted = options.is_trusted};
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
    sockets_check(&folder);
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
        .environment = &environment,
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
    cli_settings_free(&options.settings);
    return exit_code;
}
