// octet status: prints the state of a live run, once or as a screen that is renewed, or the result
// of a run that has ended. The state comes from the daemons (cli_remote_poll). If the learner does
// not answer, the locks in the run folder decide whether the run has ended.

#include "cli/cli_commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/remote/cli_remote_poll.h"
#include "cli/remote/cli_remote_run.h"
#include "cli/run/cli_ended.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_report.h"
#include "cli/status/cli_screen.h"
#include "cli/status/cli_view.h"
#include "common/oct_text.h"
#include "config/config.h"

#define WATCH_PERIOD_MS  1000
#define FOLDER_PERIOD_MS 500 // for a run whose folder is on this machine
#define MISSES_MAX       3   // rounds without an answer of the learner after which --watch ends
#define CLOSE_MS         500

typedef struct status_options {
    cli_remote_run run;
    bool watch;
    bool json;
} status_options;

static const oct_arg status_rows[] = {
    {OCT_ARG_OPERAND("folders", status_options, run.run_dir)},
    {OCT_ARG_FLAG("watch", status_options, watch),
     .help = "Refresh until Ctrl-C or the end of the run"},
    {OCT_ARG_FLAG("json", status_options, json),
     .help = "Print everything that the daemons report as one line of JSON"},
    {0},
};

static const oct_args status_args = {
    .rows = status_rows,
    .usage = "RUN_DIR\n--learner ADDRESS",
    .doc = "Shows the state of a run, or the summary of a run that has ended. For a run on other "
           "hosts, give the learner's address instead of a folder.\v"
           "Examples:\n"
           "  octet status runs/pole --watch\n"
           "  octet status --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .shared = {{cli_remote_rows, offsetof(status_options, run.remote), CLI_REMOTE_GROUP}},
};

// ---- the rounds

typedef struct look {
    const status_options *options;
    net_loop *loop;
    cli_remote_poll *poll;
    cli_screen *screen;
    unsigned rounds, misses;
} look;

// --json prints a line for each round, so that a program can follow a run.
static void
show(look *l, cli_snapshot *state)
{
    if (l->options->run.run_dir != NULL) {
        cli_report_last_note(state->note, sizeof(state->note));
    }
    bool is_new = cli_snapshot_update(state, cli_snapshot_number(state, "learner.wall_s"));
    if (l->options->json) {
        char *line = cli_snapshot_json(state);
        printf("%s\n", line);
        free(line);
    } else if (l->options->watch) {
        cli_screen_show(l->screen, state, is_new);
    } else {
        cli_screen_block(l->screen, state);
    }
    (void)fflush(stdout);
}

static void
round_done(void *arg)
{
    look *l = arg;
    cli_snapshot *state = cli_remote_poll_state(l->poll);
    l->misses = state->learner.heard ? 0 : l->misses + 1;
    // If the learner does not answer the first round, the command fails. Later, a round without an
    // answer is shown, because that is part of what the user watches.
    bool is_lost = l->misses > 0 && (!l->options->watch || l->rounds == 0 ||
                                     cli_remote_run_is_gone(&l->options->run));
    if (!is_lost) {
        show(l, state);
    }
    l->rounds++;
    if (!l->options->watch || is_lost || l->misses == MISSES_MAX) {
        net_loop_stop(l->loop);
    }
}

static void
stop_wanted(void *arg, int signal_number)
{
    look *l = arg;
    (void)signal_number;
    net_loop_stop(l->loop);
}

// Polls the run and shows each round. False: the learner did not answer, or has stopped answering.
static bool
ask(look *l)
{
    const status_options *options = l->options;
    uint32_t period_ms = options->run.run_dir != NULL ? FOLDER_PERIOD_MS : WATCH_PERIOD_MS;
    const cli_remote_poll_request request = {options->watch ? period_ms : 0, CLI_REMOTE_POLL_PEERS,
                                             round_done, l};
    if (net_loop_on_signal(l->loop, SIGINT, stop_wanted, l) != OCT_OK ||
        net_loop_on_signal(l->loop, SIGTERM, stop_wanted, l) != OCT_OK ||
        cli_remote_poll_open(&l->poll, l->loop, &options->run.remote, &request) != OCT_OK) {
        exit(cli_error("status", "cannot dial %s", options->run.remote.learner));
    }
    cli_snapshot *state = cli_remote_poll_state(l->poll);
    (void)snprintf(state->folder, sizeof(state->folder), "%s",
                   options->run.run_dir != NULL ? options->run.run_dir : "");
    net_loop_run(l->loop);
    return l->misses == 0;
}

// Handles a run folder whose learner did not answer. The locks tell a run that has ended from one
// that cannot be asked. Returns the exit code.
static int
without_learner(const status_options *options, const config_experiment *config, const char *why)
{
    cli_folder_state state = cli_folder_state_of(".");
    if (state == CLI_FOLDER_LIVE) {
        cli_remote_run_unheard(&options->run, "status", why);
        return CLI_EXIT_FAILED;
    }
    if (state == CLI_FOLDER_UNKNOWN) {
        return cli_error("status", "%s: " CLI_FOLDER_UNKNOWN_TEXT ", and %s: %s",
                         options->run.run_dir, options->run.remote.learner, why);
    }
    cli_ended_show(stdout, options->run.run_dir, config, options->json);
    return 0;
}

// config: that of the run folder; unused without a folder.
static int
show_folder(const status_options *options, const config_experiment *config)
{
    bool has_folder = options->run.run_dir != NULL;
    look l = {.options = options, .loop = net_loop_create()};
    l.screen = cli_screen_create(true);
    int exit_code = CLI_EXIT_FAILED;
    const cli_remote_options *remote = &options->run.remote;
    // a run that has ended may have left addresses that need certificates
    if (has_folder && remote->tls == NULL && cli_folder_has_summary(".") &&
        cli_folder_state_of(".") == CLI_FOLDER_ENDED &&
        cli_remote_tls_url(remote->learner, remote->replay) != NULL) {
        // the folder alone, so no certificates are needed
        exit_code = without_learner(options, config, "");
    } else if (!cli_remote_secure("status", remote, l.loop, remote->learner, remote->replay)) {
        // a message was printed
    } else if (ask(&l)) {
        exit_code = 0;
    } else {
        const cli_daemon_state *learner = &cli_remote_poll_state(l.poll)->learner;
        if (has_folder) {
            exit_code = without_learner(options, config, learner->why);
        } else {
            cli_error("status", "%s: %s", learner->url, learner->why);
        }
    }
    (void)fflush(stdout);
    net_loop_exit_deadline(l.loop, CLOSE_MS, exit_code);
    cli_remote_poll_close(l.poll);
    net_loop_destroy(l.loop);
    cli_screen_destroy(l.screen);
    return exit_code;
}

int
cli_status(int argc, char **argv)
{
    static config_experiment config;
    static char shown[CLI_PATH_MAX];
    status_options options = {0};
    cli_remote_default(&options.run.remote);
    cli_args_parse(&status_args, argc, argv, &options);
    cli_remote_run_enter(&options.run, "status", &config);
    if (options.run.run_dir != NULL && !options.json) { // only for messages from here on
        options.run.run_dir =
            oct_text_quote(shown, sizeof(shown), options.run.run_dir, strlen(options.run.run_dir));
    }
    if (cli_remote_run_is_gone(&options.run)) {
        return without_learner(&options, &config, CLI_REMOTE_RUN_GONE);
    }
    return show_folder(&options, &config);
}
