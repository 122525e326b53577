// octet stop and octet checkpoint: requests of an operator to the learner of a run, which is named
// by its folder on this machine or by the learner's address. The learner answers a stop at once. It
// answers a checkpoint when the files are on disk, which may take long, so meanwhile this command
// asks for its status: if that is not answered, the learner is dead.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/remote/cli_remote_run.h"
#include "cli/run/cli_folder.h"
#include "common/oct_text.h"

#define CALL_MS 4000
// of a checkpoint; while it is written, the status calls decide
#define WRITE_MS (24u * 60 * 60 * 1000)
#define ASK_MS   1000 // between two of them
#define CLOSE_MS 500

typedef struct remote_command {
    const char *command;
    cli_remote_run run;
    const char *reason; // recorded by a stop; NULL: the command is a checkpoint
    net_loop *loop;
    cli_remote *link;
    net_timer *ask_timer; // until the next status call
    bool done, failed;
    char said[128]; // what was done, for the message
    oct_reason why;
} remote_command;

static const oct_arg stop_rows[] = {
    {OCT_ARG_OPERAND("folders", remote_command, run.run_dir)},
    {OCT_ARG_TEXT("reason", "TEXT", remote_command, reason),
     .help = "Record this reason in summary.json (default: stopped by an operator)"},
    {0},
};

static const oct_args stop_args = {
    .rows = stop_rows,
    .usage = "RUN_DIR\n--learner ADDRESS",
    .doc = "Ends a run, here or on other hosts: the learner saves everything and exits.\v"
           "Examples:\n"
           "  octet stop runs/pole\n"
           "  octet stop --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .shared = {{cli_remote_rows, offsetof(remote_command, run.remote), CLI_REMOTE_GROUP}},
};

static const oct_arg checkpoint_rows[] = {
    {OCT_ARG_OPERAND("folders", remote_command, run.run_dir)},
    {0},
};

static const oct_args checkpoint_args = {
    .rows = checkpoint_rows,
    .usage = "RUN_DIR\n--learner ADDRESS",
    .doc =
        "Makes the learner of a run, here or on other hosts, write a checkpoint now. The command "
        "returns when the checkpoint is on disk.\v"
        "Examples:\n"
        "  octet checkpoint runs/pole\n"
        "  octet checkpoint --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .shared = {{cli_remote_rows, offsetof(remote_command, run.remote), CLI_REMOTE_GROUP}},
};

// The first failure counts: later ones only follow from closing.
static void
command_fail(remote_command *t, oct_err err, const char *detail)
{
    if (t->link == NULL || t->done || t->failed) {
        return; // cli_remote_close fails calls in flight; or the result is known
    }
    t->failed = true;
    cli_remote_why(t->link, CLI_REMOTE_LEARNER, err, detail, &t->why);
    net_loop_stop(t->loop);
}

static void
stop_answered(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    remote_command *t = arg;
    (void)answer;
    if (err != OCT_OK) {
        command_fail(t, err, detail);
        return;
    }
    t->done = true;
    (void)snprintf(t->said, sizeof(t->said),
                   "the learner is ending the run; see its log and summary.json");
    net_loop_stop(t->loop);
}

// ---- a checkpoint, which may take long

static void
checkpoint_answered(void *arg, oct_err err, const char *detail, const wire_written *answer)
{
    remote_command *t = arg;
    if (err != OCT_OK) {
        command_fail(t, err, detail);
        return;
    }
    t->done = true;
    (void)snprintf(t->said, sizeof(t->said),
                   "the checkpoint is on disk: %" PRIu64 " updates, %" PRIu64 " environment steps",
                   answer->updates, answer->env_steps);
    net_loop_stop(t->loop);
}

static void status_ask(void *arg);

static void
status_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    remote_command *t = arg;
    (void)answer;
    if (err != OCT_OK) {
        command_fail(t, err, detail);
    } else if (!t->done && !t->failed) {
        net_timer_stop(t->ask_timer);
        t->ask_timer = net_timer_start(t->loop, ASK_MS, 0, status_ask, t);
    }
}

// Asks for the learner's status, again and again, until the checkpoint is written.
static void
status_ask(void *arg)
{
    static const wire_empty nothing;
    remote_command *t = arg;
    oct_err err = wire_call_learner_status(cli_remote_client(t->link, CLI_REMOTE_LEARNER), &nothing,
                                           CALL_MS, status_answered, t);
    if (err != OCT_OK) {
        command_fail(t, err, oct_strerror(err));
    }
}

static void
command_send(remote_command *t)
{
    static const wire_empty nothing;
    wire_client *learner = cli_remote_client(t->link, CLI_REMOTE_LEARNER);
    const wire_stop stop = {.reason = t->reason};
    oct_err err = t->reason != NULL
                      ? wire_call_stop(learner, &stop, CALL_MS, stop_answered, t)
                      : wire_call_checkpoint(learner, &nothing, WRITE_MS, checkpoint_answered, t);
    if (err != OCT_OK) {
        command_fail(t, err, oct_strerror(err));
    } else if (t->reason == NULL) {
        status_ask(t);
    }
}

static void
met(void *arg, oct_err err, const char *why)
{
    remote_command *t = arg;
    if (t->link == NULL) {
        return; // cli_remote_close fails calls in flight
    }
    if (err == OCT_OK) {
        command_send(t);
        return;
    }
    oct_reason_set(&t->why, "%s", why);
    net_loop_stop(t->loop);
}

// A folder's address may belong to another run by now; with a known run_id the learner is asked
// first.
static void
ask(remote_command *t)
{
    if (cli_remote_open(&t->link, t->loop, &t->run.remote) != OCT_OK) {
        oct_reason_set(&t->why, "cannot connect to it");
        return;
    }
    if (t->run.remote.run_id == 0) {
        command_send(t);
        // to refuse a learner of another run
    } else if (cli_remote_register(t->link, CALL_MS, met, t) != OCT_OK) {
        oct_reason_set(&t->why, "cannot send the request");
        return;
    }
    if (!t->failed) {
        net_loop_run(t->loop);
    }
}

// If the run has just ended, that is the reason why its learner did not answer.
static void
say(const remote_command *t)
{
    const char *name = t->run.run_dir != NULL ? t->run.run_dir : t->run.remote.learner;
    if (t->done) {
        printf("%s: %s\n", name, t->said);
        return;
    }
    bool has_ended = t->run.run_dir != NULL && cli_folder_state_of(".") == CLI_FOLDER_ENDED;
    cli_error(t->command, "%s: %s", name, has_ended ? "the run has ended" : t->why.text);
}

static int
command_run(remote_command *t, const oct_args *args, int argc, char **argv)
{
    static config_experiment config;
    static char shown[CLI_PATH_MAX];
    t->command = argv[0];
    cli_remote_default(&t->run.remote);
    t->run.remote.asks_once = t->reason == NULL;
    cli_args_parse(args, argc, argv, t);
    cli_remote_run_enter(&t->run, t->command, &config);
    if (t->run.run_dir != NULL) { // only for messages from here on
        t->run.run_dir =
            oct_text_quote(shown, sizeof(shown), t->run.run_dir, strlen(t->run.run_dir));
    }
    t->loop = net_loop_create();
    if (cli_remote_run_is_gone(&t->run)) {
        oct_reason_set(&t->why, "%s: " CLI_REMOTE_RUN_GONE, t->run.remote.learner);
        say(t);
    } else if (!cli_remote_run_is_sure(&t->run)) {
        cli_error(t->command,
                  "%s has no checkpoint yet, so its run is not known, and %s may be the address of "
                  "another run by now; to name the learner: octet %s --learner ADDRESS",
                  t->run.run_dir, t->run.remote.learner, t->command);
    } else if (cli_remote_secure(t->command, &t->run.remote, t->loop, t->run.remote.learner,
                                 NULL)) {
        ask(t);
        say(t);
    }
    int exit_code = t->done ? 0 : CLI_EXIT_FAILED;
    (void)fflush(stdout);
    net_loop_exit_deadline(t->loop, CLOSE_MS, exit_code);
    cli_remote *link = t->link;
    t->link = NULL;
    net_timer_stop(t->ask_timer);
    cli_remote_close(link);
    net_loop_destroy(t->loop);
    return exit_code;
}

int
cli_stop(int argc, char **argv)
{
    remote_command t = {.reason = "stopped by an operator"};
    return command_run(&t, &stop_args, argc, argv);
}

int
cli_checkpoint(int argc, char **argv)
{
    remote_command t = {.reason = NULL};
    return command_run(&t, &checkpoint_args, argc, argv);
}
