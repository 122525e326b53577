// octet stop and octet checkpoint: an operator's requests to the learner of a run, named by its
// folder here or by its learner's address.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/remote/cli_remote_run.h"
#include "cli/run/cli_folder.h"
#include "common/oct_text.h"

#define CALL_MS  4000
#define WRITE_MS (24u * 60 * 60 * 1000) // a large checkpoint: as long as the learner answers
#define LOOK_MS  1000
#define CLOSE_MS 500

typedef struct remote_command {
    const char *command;
    cli_remote_run run;
    const char *reason; // of a stop; NULL: a checkpoint
    net_loop *loop;
    cli_remote *link;
    net_timer *look; // whether the learner that writes still answers
    bool done, failed;
    char said[128]; // what was done
    char why[512];
} remote_command;

enum { KEY_REASON = 256 };

static const struct argp_option stop_options[] = {
    {"reason", KEY_REASON, "TEXT", 0,
     "Record this reason in summary.json (default: stopped by an operator)", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    remote_command *t = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &t->run.remote;
        return 0;
    case KEY_REASON:
        t->reason = arg;
        return 0;
    case ARGP_KEY_ARG:
        cli_remote_run_word(&t->run, t->command, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_remote_argp, 0, NULL, 0}, {0}};

static const struct argp stop_argp = {
    .options = stop_options,
    .parser = parse,
    .args_doc = "RUN_DIR\n--learner ADDRESS",
    .doc = "Ends a run, here or on other hosts: the learner saves everything and exits.\v"
           "Examples:\n"
           "  octet stop runs/pole\n"
           "  octet stop --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .children = children,
};

static const struct argp checkpoint_argp = {
    .parser = parse,
    .args_doc = "RUN_DIR\n--learner ADDRESS",
    .doc =
        "Makes the learner of a run, here or on other hosts, write a checkpoint now. The command "
        "returns when the checkpoint is on disk.\v"
        "Examples:\n"
        "  octet checkpoint runs/pole\n"
        "  octet checkpoint --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .children = children,
};

static void
command_fail(remote_command *t, oct_err err, const char *detail)
{
    if (t->link == NULL || t->done || t->failed) {
        return; // this end closes, or knows
    }
    t->failed = true;
    cli_remote_why(t->link, CLI_REMOTE_LEARNER, err, detail, t->why, sizeof(t->why));
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

static void look(void *arg);

static void
look_answered(void *arg, oct_err err, const char *detail, const wire_status *answer)
{
    remote_command *t = arg;
    (void)answer;
    if (err != OCT_OK) {
        command_fail(t, err, detail);
    } else if (!t->done && !t->failed) {
        net_timer_stop(t->look);
        t->look = net_timer_start(t->loop, LOOK_MS, 0, look, t);
    }
}

static void
look(void *arg)
{
    static const wire_empty nothing;
    remote_command *t = arg;
    oct_err err = wire_call_learner_status(cli_remote_client(t->link, CLI_REMOTE_LEARNER), &nothing,
                                           CALL_MS, look_answered, t);
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
        look(t);
    }
}

static void
met(void *arg, oct_err err, const char *why)
{
    remote_command *t = arg;
    if (t->link == NULL) {
        return; // this end closes
    }
    if (err == OCT_OK) {
        command_send(t);
        return;
    }
    (void)snprintf(t->why, sizeof(t->why), "%s", why);
    net_loop_stop(t->loop);
}

static void
ask(remote_command *t)
{
    if (cli_remote_open(&t->link, t->loop, &t->run.remote) != OCT_OK) {
        (void)snprintf(t->why, sizeof(t->why), "cannot connect to it");
        return;
    }
    if (t->run.remote.run_id == 0) {
        command_send(t);
    } else if (cli_remote_register(t->link, CALL_MS, met, t) != OCT_OK) { // whether it is this run
        (void)snprintf(t->why, sizeof(t->why), "cannot send the request");
        return;
    }
    if (!t->failed) {
        net_loop_run(t->loop);
    }
}

static void
say(const remote_command *t)
{
    const char *name = t->run.run_dir != NULL ? t->run.run_dir : t->run.remote.learner;
    if (t->done) {
        printf("%s: %s\n", name, t->said);
        return;
    }
    bool has_ended = t->run.run_dir != NULL && cli_folder_look(".") == CLI_FOLDER_ENDED;
    cli_error(t->command, "%s: %s", name, has_ended ? "the run has ended" : t->why);
}

static int
command_run(remote_command *t, const struct argp *argp, int argc, char **argv)
{
    static oct_config config;
    static char shown[CLI_PATH_MAX];
    t->command = argv[0];
    cli_remote_default(&t->run.remote);
    t->run.remote.asks_once = t->reason == NULL;
    cli_options_parse(argp, argc, argv, t);
    cli_remote_run_enter(&t->run, t->command, &config);
    if (t->run.run_dir != NULL) { // from here on it is only shown
        t->run.run_dir =
            oct_text_quote(shown, sizeof(shown), t->run.run_dir, strlen(t->run.run_dir));
    }
    t->loop = net_loop_create();
    if (cli_remote_run_is_gone(&t->run)) {
        (void)snprintf(t->why, sizeof(t->why), "%s: " CLI_REMOTE_RUN_GONE, t->run.remote.learner);
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
    net_timer_stop(t->look);
    cli_remote_close(link);
    net_loop_destroy(t->loop);
    return exit_code;
}

int
cli_stop(int argc, char **argv)
{
    remote_command t = {.reason = "stopped by an operator"};
    return command_run(&t, &stop_argp, argc, argv);
}

int
cli_checkpoint(int argc, char **argv)
{
    remote_command t = {.reason = NULL};
    return command_run(&t, &checkpoint_argp, argc, argv);
}
