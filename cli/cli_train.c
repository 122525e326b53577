// octet train: reads its options, prepares the run folder, and hands over to cli_run, which starts
// the daemons and waits for the end.
//
// Everything that can fail is tried before something of the run exists, in this order: the options;
// the experiment (cli_experiment_load) and its environment (cli_preflight, in a process of its
// own); the ports of --dash and --metrics; the programs; the folder and its lock; a socket in it. A
// command that fails up to there removes the folder if it made it. Then config.yaml and the
// environment's description are written, and the process enters the folder: from there on all paths
// are relative to it.

#include "cli/cli_commands.h"

#include <assert.h>
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
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "net/net_daemon.h"
#include "net/net_http.h"
#include "net/net_loop.h"

#define CONFIG_BYTES_MAX (1u << 20)

typedef struct train_options {
    // two, so that a second one can be refused, with a hint if it is the port of --dash
    const char *file[2];
    uint32_t file_count;
    const char *run_dir;
    const char *metrics[NET_DAEMON_METRICS_MAX];
    uint32_t metrics_count;
    uint32_t dash_port; // 0: no page
    char dash[64];      // URL of the page; "": no page
    bool dash_stays;
    uint32_t follow_parent; // of the program that started this one; 0: none
    cli_settings settings;
    bool no_ui;
    bool resume;
    bool resume_if_any;
    bool is_trusted;
    const char *energy_command;
    cli_energy_model energy_model;
} train_options;

static oct_err
take_energy_model(const oct_arg_given *given)
{
    oct_reason why;
    oct_err err = cli_energy_model_parse(given->field, given->text, &why);
    return err == OCT_OK ? OCT_OK : oct_refuse(given->why, "--energy-model is %s", why.text);
}

static_assert(CLI_DASH_PORT == 8260, "the text of --dash");

static const oct_arg train_rows[] = {
    {OCT_ARG_OPERANDS("files", train_options, file, file_count)},
    {OCT_ARG_PATH("run-dir", "D", train_options, run_dir),
     .help = "Write the run to folder D, which must not contain a run, except with --resume "
             "(default: runs/NAME-DATE-TIME)"},
    {OCT_ARG_FLAG("no-ui", train_options, no_ui), .help = "Print plain lines even on a terminal"},
    {OCT_ARG_FLAG("resume", train_options, resume),
     .help =
         "Continue the run in --run-dir from its checkpoint, with its config.yaml and any --set"},
    {OCT_ARG_FLAG("trust", train_options, is_trusted), .help = CLI_TRUST_HELP},
    {OCT_ARG_FLAG("resume-if-any", train_options, resume_if_any),
     .help = "Continue the run in --run-dir if there is one, else start it there: for services, "
             "which give the same command each time"},
    {OCT_ARG_TEXTS("metrics", "URL", train_options, metrics, metrics_count),
     .help = "Serve the learner's /metrics (Prometheus) and /healthz at URL, such as "
             "http://127.0.0.1:9464 or, with the learner's certificates in $OCTET_TLS, "
             "https://HOST:PORT; may be given twice"},
    {OCT_ARG_COUNT("follow-parent", "PID", train_options, follow_parent, 1, CLI_PARENT_MAX)},
    {OCT_ARG_TEXT("energy-command", "CMD", train_options, energy_command),
     .help = "Measure energy with this shell command, which keeps printing the joules that the "
             "machine has used so far, one number per line (default: the processors' counters, "
             "where the kernel shows them)"},
    {OCT_ARG_TAKE("energy-model", "MODEL", train_options, energy_model, take_energy_model),
     .help =
         "Also estimate energy from CPU time: watts=W[,gco2_per_kwh=G], with W watts for a busy "
         "core and, for the CO2, G grams per kWh; the estimate is always labelled as a model"},
    {OCT_ARG_COUNT("dash", "PORT", train_options, dash_port, 1, 65535), .bare = "8260",
     .help = "Show the run in a browser while it runs, at http://127.0.0.1:PORT (default: 8260)"},
    {OCT_ARG_FLAG("dash-stay", train_options, dash_stays),
     .help = "Like --dash, but keep serving after the end of the run, until Ctrl-C"},
    {0},
};

static const oct_args train_args = {
    .rows = train_rows,
    .usage = "FILE\n[FILE] --resume --run-dir D",
    .doc = "Trains a policy on this machine: starts replay, learner, actors and an evaluator, "
           "supervises them and shows their progress.\v"
           "FILE is an experiment, or the name of a preset (octet presets).\n\n"
           "Example:\n"
           "  octet train cartpole --set run.env_steps=100000\n\n"
           "Ctrl-C saves a checkpoint and a policy and ends the run with exit code 130. octet "
           "config --all lists the keys for --set.",
    .shared = {{cli_settings_rows, offsetof(train_options, settings), 0}},
};

// The learner would refuse these addresses, too, but only after everything has started.
static void
metrics_check(const train_options *options)
{
    oct_reason why;
    const net_http_terms terms = {
        .has_tls = net_loop_tls_default() != NULL,
        .to_have_tls = "OCTET_TLS=FOLDER, with those of the learner (octet certs issue learner "
                       "NAME makes them)",
    };
    for (uint32_t i = 0; i < options->metrics_count; i++) {
        const char *url = options->metrics[i];
        if (net_http_check(url, &terms, &why) != OCT_OK) {
            cli_usage_error("train", "--metrics is '%s': %s", url, why.text);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(url, options->metrics[k]) == 0) {
                cli_usage_error("train", "--metrics %s: given twice", url);
            }
        }
    }
}

static void
options_check(train_options *options)
{
    bool has_dash = options->dash_port != 0 || options->dash_stays;
    for (uint32_t i = 0; has_dash && i < options->file_count; i++) {
        const char *file = options->file[i];
        if (file[strspn(file, "0123456789")] == '\0') {
            cli_usage_error("train", "'%s' is not an experiment; a port is given as --dash=%s",
                            file, file);
        }
    }
    if (options->file_count > 1) {
        cli_usage_error("train", "two files, '%s' and '%s'; name one experiment", options->file[0],
                        options->file[1]);
    }
    if (has_dash) {
        (void)snprintf(options->dash, sizeof(options->dash), "http://127.0.0.1:%u",
                       (unsigned)(options->dash_port != 0 ? options->dash_port : CLI_DASH_PORT));
    }
    metrics_check(options);
    cli_parent_follow("train", options->follow_parent);
}

// run.name, or the last part of the environment's ID.
static const char *
run_name(const config_experiment *config)
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
    exit(cli_error("train", "%s", reason));
}

// Opens the socket of the page before anything of the run is made. -1: no page is wanted.
static int
dash_listen(const train_options *options)
{
    oct_reason why;
    int fd = -1;
    if (options->dash[0] != '\0' && !cli_dash_page_is_there()) {
        exit(cli_error("train", "--dash: " CLI_DASH_NO_PAGE));
    }
    if (options->dash[0] != '\0' && cli_dash_listen(&fd, options->dash, &why) != OCT_OK) {
        exit(cli_error("train",
                       "--dash: cannot serve %s: %s (choose another port with --dash=PORT)",
                       options->dash, why.text));
    }
    return fd;
}

// Checks that the learner will be able to listen at the addresses of --metrics. The sockets are
// closed again.
static void
metrics_try(const train_options *options)
{
    oct_reason why;
    int fd;
    for (unsigned i = 0; i < options->metrics_count; i++) {
        if (net_http_listen(&fd, options->metrics[i], &why) != OCT_OK) {
            exit(cli_error("train", "--metrics: cannot serve %s: %s", options->metrics[i],
                           why.text));
        }
        (void)close(fd);
    }
}

// Reports a failed write, for example on a full disk. If the run has no file yet, its folder is
// removed.
_Noreturn static void
write_failed(const cli_folder *folder, const char *path)
{
    cli_error("train", "cannot write '%s': %s", path, oct_file_strerror(errno));
    cli_folder_take_back(folder);
    exit(CLI_EXIT_FAILED);
}

// Writes config.yaml. Returns what the file held before, for the message about changed keys; the
// caller frees it. NULL: there was none.
static char *
write_config(const config_experiment *config, const cli_folder *folder)
{
    char path[CLI_PATH_MAX + 16];
    char *text = config_print(config), *before = NULL;
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

// The learner and octet data read the environment's spaces from this file.
static void
write_environment(const cli_environment *environment, const cli_folder *folder)
{
    char path[CLI_PATH_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/" CLI_RUN_ENVIRONMENT, folder->path);
    if (oct_file_write(path, environment->bytes, environment->length) != OCT_OK) {
        write_failed(folder, path);
    }
}

// Returns the folder's name for messages: relative to the current folder if it is below that.
static const char *
shown(const cli_folder *folder)
{
    char start[CLI_PATH_MAX];
    bool is_below = getcwd(start, sizeof(start)) != NULL &&
                    strncmp(folder->path, start, strlen(start)) == 0 &&
                    folder->path[strlen(start)] == '/';
    return is_below ? folder->path + strlen(start) + 1 : folder->path;
}

// Checks that sockets can be made in the folder, because the daemons of the run connect through
// them. NFS and some other file systems do not allow it.
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

// Decides if this is a resume. With --resume-if-any, the content of the folder decides.
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
    static config_experiment config;
    static cli_folder folder;
    static char replay[CLI_PATH_MAX], learner[CLI_PATH_MAX], actor[CLI_PATH_MAX];
    oct_reason why = {""};
    cli_args_parse(&train_args, argc, argv, &options);
    options_check(&options);
    if (options.run_dir != NULL) {
        oct_file_confine(options.run_dir);
    }
    resume_decide(&options);
    static cli_experiment experiment;
    experiment = (cli_experiment){.file = options.file[0],
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
    if (cli_folder_find_daemon(replay, "octet-replay", &why) != OCT_OK ||
        cli_folder_find_daemon(learner, "octet-learner", &why) != OCT_OK ||
        cli_folder_find_daemon(actor, "octet-actor", &why) != OCT_OK ||
        cli_folder_open(&folder, options.run_dir, run_name(&config), options.resume, &why) !=
            OCT_OK) {
        fail(why.text);
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
