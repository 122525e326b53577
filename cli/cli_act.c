// octet act: reads observations from standard input, one a line, and writes the policy's actions.
// It uses the public interface alone (octet/policy.h): whatever this command does, a program that
// links liboctet_policy.a can do, too.

#include "cli/cli_commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_lines.h"
#include "cli/cli_options.h"
#include "cli/run/cli_folder.h"
#include "include/octet/policy.h"

typedef struct act_options {
    const char *policy, *option; // as an operand, and as --policy
    bool outputs;
} act_options;

// The policy, and the buffers of one line.
typedef struct act_state {
    octet_policy *policy;
    octet_policy_info info;
    bool outputs;
    cli_lines lines;
    void *action;
    float *y;
    int exit_code;
} act_state;

static const oct_arg act_rows[] = {
    {OCT_ARG_OPERAND("policies", act_options, policy)},
    {OCT_ARG_PATH("policy", "POLICY", act_options, option),
     .help = "Run this policy file, or that of this run folder; may also be given as an argument"},
    {OCT_ARG_FLAG("outputs", act_options, outputs),
     .help = "Also print the network's raw outputs, after the action"},
    {0},
};

static const oct_args act_args = {
    .rows = act_rows,
    .doc = "Runs a policy greedily: reads one observation from each line of standard input "
           "(numbers separated by blanks, tabs or commas) and prints its action as one line.\v"
           "A malformed line ends the command with exit code 1.\n\n"
           "Example:\n"
           "  echo 0 0 0.01 0 | octet act --policy runs/pole/policy.oct",
};

// Prints a line with the action, and then the outputs if they are wanted. False: standard output
// failed.
static bool
action_print(const act_state *act)
{
    if (act->info.action_kind == OCTET_POLICY_DISCRETE) {
        printf("%d", (int)*(const int32_t *)act->action);
    }
    for (uint32_t i = 0; act->info.action_kind == OCTET_POLICY_BOX && i < act->info.action_count;
         i++) {
        printf("%s%.9g", i > 0 ? " " : "", (double)((const float *)act->action)[i]);
    }
    for (uint32_t i = 0; act->outputs && i < act->info.output_count; i++) {
        printf(" %.9g", (double)act->y[i]);
    }
    return putchar('\n') != EOF && fflush(stdout) == 0;
}

static void
lines_act(act_state *act)
{
    while (cli_lines_next(&act->lines)) {
        if (octet_policy_act(act->policy, act->lines.row, act->action) != OCTET_POLICY_OK ||
            (act->outputs &&
             octet_policy_outputs(act->policy, act->lines.row, act->y) != OCTET_POLICY_OK)) {
            cli_error("act", "line %llu: a number of the observation is not finite",
                      act->lines.line);
            act->exit_code = CLI_EXIT_FAILED;
            return;
        }
        if (!action_print(act)) {
            // EPIPE is the usual end of a pipe: its reader has left, and that is no failure of this
            // command.
            if (errno != EPIPE) {
                cli_error("act", "cannot write: %s", strerror(errno));
            }
            act->exit_code = CLI_EXIT_FAILED;
            return;
        }
    }
}

int
cli_act(int argc, char **argv)
{
    act_options options = {0};
    cli_args_parse(&act_args, argc, argv, &options);
    if (options.policy != NULL && options.option != NULL) {
        cli_usage_error("act", "two policies, '%s' and '%s'; name one", options.policy,
                        options.option);
    }
    options.policy = options.policy != NULL ? options.policy : options.option;
    if (options.policy == NULL) {
        cli_usage_error("act", "no policy given; name one with --policy");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    char error[512], path[CLI_PATH_MAX];
    cli_folder_file(path, options.policy, "policy.oct");
    act_state act = {.outputs = options.outputs, .info = {.size = sizeof(act.info)}};
    if (octet_policy_load(&act.policy, path, error, sizeof(error)) != OCTET_POLICY_OK) {
        return cli_error("act", "%s", error);
    }
    (void)octet_policy_get_info(act.policy, &act.info);
    act.lines = (cli_lines){.command = "act",
                            .in = stdin,
                            .is_bytes = act.info.obs_dtype != OCTET_POLICY_F32,
                            .obs_count = act.info.obs_count,
                            .env_id = act.info.env_id};
    cli_lines_begin(&act.lines);
    act.action = oct_alloc(act.info.action_bytes);
    act.y = oct_alloc(act.info.output_count * sizeof(float));
    lines_act(&act);
    cli_lines_end(&act.lines);
    free(act.action);
    free(act.y);
    octet_policy_free(act.policy);
    return act.lines.failed ? CLI_EXIT_FAILED : act.exit_code;
}
