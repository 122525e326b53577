// octet stop and octet checkpoint: an operator's requests to a learner on another host.

#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/remote/cli_remote.h"

#define CALL_MS  4000
#define CLOSE_MS 500

typedef struct remote_command {
    const char *command;
    cli_remote_options remote;
    const char *reason; // of a stop; NULL: a checkpoint
    net_loop *loop;
    cli_remote *link;
    bool done;
    char why[512];
} remote_command;

enum { KEY_REASON = 256 };

static const struct argp_option stop_options[] = {
    {"reason", KEY_REASON, "TEXT", 0,
     "Reason to record in summary.json (default: stopped by an operator)", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    remote_command *t = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &t->remote;
        return 0;
    case KEY_REASON:
        t->reason = arg;
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error(t->command, "unexpected argument '%s'; the run is named by --learner", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_remote_argp, 0, NULL, 0}, {0}};

static const struct argp stop_argp = {
    .options = stop_options,
    .parser = parse,
    .args_doc = "--learner ADDRESS",
    .doc = "Ends a run on other hosts, as Ctrl-C ends a local one: the learner saves everything "
           "and exits.\v"
           "Example: octet stop --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .children = children,
};

static const struct argp checkpoint_argp = {
    .parser = parse,
    .args_doc = "--learner ADDRESS",
    .doc = "Makes the learner of a run on other hosts write a checkpoint now.\v"
           "Example: octet checkpoint --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .children = children,
};

static void
command_answered(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    remote_command *t = arg;
    (void)answer;
    if (err == OCT_ECLOSED && t->link == NULL) {
        return; // this end
    }
    t->done = err == OCT_OK;
    if (err != OCT_OK) {
        cli_remote_why(t->link, CLI_REMOTE_LEARNER, err, detail, t->why, sizeof(t->why));
    }
    net_loop_stop(t->loop);
}

static void
command_send(remote_command *t)
{
    static const wire_empty nothing;
    wire_client *learner = cli_remote_client(t->link, CLI_REMOTE_LEARNER);
    const wire_stop stop = {.reason = t->reason};
    oct_err err = t->reason != NULL
                      ? wire_call_stop(learner, &stop, CALL_MS, command_answered, t)
                      : wire_call_checkpoint(learner, &nothing, CALL_MS, command_answered, t);
    if (err == OCT_OK) {
        net_loop_run(t->loop);
    } else {
        (void)snprintf(t->why, sizeof(t->why), "%s", oct_strerror(err));
    }
}

static int
command_run(remote_command *t, const struct argp *argp, int argc, char **argv, const char *said)
{
    t->command = argv[0];
    cli_remote_default(&t->remote);
    cli_options_parse(argp, argc, argv, t);
    cli_remote_check(t->command, &t->remote);
    if (t->remote.learner == NULL) {
        cli_usage_error(t->command, "no --learner given");
    }
    t->loop = net_loop_create();
    if (cli_remote_secure(t->command, &t->remote, t->loop, t->remote.learner, NULL)) {
        if (cli_remote_open(&t->link, t->loop, &t->remote) == OCT_OK) {
            command_send(t);
        } else {
            (void)snprintf(t->why, sizeof(t->why), "cannot dial it");
        }
        if (t->done) {
            printf("%s: %s\n", t->remote.learner, said);
        } else {
            cli_error(t->command, "%s: %s", t->remote.learner, t->why);
        }
    }
    int exit_code = t->done ? 0 : CLI_EXIT_FAILED;
    (void)fflush(stdout);
    net_loop_exit_deadline(t->loop, CLOSE_MS, exit_code);
    cli_remote *link = t->link;
    t->link = NULL;
    cli_remote_close(link);
    net_loop_destroy(t->loop);
    return exit_code;
}

int
cli_stop(int argc, char **argv)
{
    remote_command t = {.reason = "stopped by an operator"};
    return command_run(&t, &stop_argp, argc, argv,
                       "the learner ends the run; see its log and summary.json");
}

int
cli_checkpoint(int argc, char **argv)
{
    remote_command t = {.reason = NULL};
    return command_run(&t, &checkpoint_argp, argc, argv, "a checkpoint is being written");
}
