// octet act: reads one observation per line and writes the policy's action.

#include "cli/cli_commands.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "include/octet/policy.h"

// One observation a line in, one action a line out, through the public interface alone: what this
// does, a program that links liboctet_policy.a can do.

// A line may have this many characters for each number, and a few more.
#define NUMBER_BYTES 64
#define LINE_BYTES   1024
#define QUOTE_BYTES  40 // of a word in a message

enum { KEY_POLICY = 256, KEY_OUTPUTS };

typedef struct act_options {
    const char *policy;
    bool outputs;
} act_options;

// What one line becomes, and where.
typedef struct act_state {
    octet_policy *policy;
    octet_policy_info info;
    bool outputs;
    void *obs;
    void *action;
    float *y;
    unsigned long long line;
    char *text; // of the line
    size_t text_bytes;
    int exit_code;
} act_state;

static const struct argp_option option_table[] = {
    {"policy", KEY_POLICY, "POLICY", 0,
     "Policy file, or run folder; may also be given as an argument", 0},
    {"outputs", KEY_OUTPUTS, 0, 0, "Print the network's raw outputs after the action", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    act_options *options = state->input;
    switch (key) {
    case KEY_OUTPUTS:
        options->outputs = true;
        return 0;
    case KEY_POLICY:
    case ARGP_KEY_ARG:
        if (options->policy != NULL) {
            cli_usage_error("act", "two policies, '%s' and '%s'; name one", options->policy, arg);
        }
        options->policy = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp act_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "",
    .doc = "Acts greedily: reads one observation from each line of standard input (numbers "
           "separated by blanks, tabs or commas) and writes the action as one line.\v"
           "A malformed line ends the command with exit code 1.\n"
           "Example: echo 0 0 0.01 0 | octet act --policy runs/pole/policy.oct",
};

static bool
is_separator(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\n';
}

// Says why a word of the line cannot be number i of the observation. False.
static bool
number_refuse(const act_state *act, uint32_t i, const char *text, int length, const char *why)
{
    cli_plain_text quoted = cli_text_plain(text, OCT_MIN((size_t)length, (size_t)QUOTE_BYTES));
    cli_error("act", "line %llu: number %u is '%s'%s", act->line, i + 1, quoted.text, why);
    return false;
}

// One number of the observation to place i of it. False: it is none, and that was said.
static bool
number_take(act_state *act, uint32_t i, const char *text, int length)
{
    char *end;
    float value = strtof(text, &end);
    if (end != text + length) {
        return number_refuse(act, i, text, length, ", which is not a number");
    }
    if (!isfinite(value)) {
        return number_refuse(act, i, text, length, ", which is not a finite float");
    }
    if (act->info.obs_dtype == OCTET_POLICY_F32) {
        ((float *)act->obs)[i] = value;
        return true;
    }
    if (!(value >= 0.0f && value <= 255.0f && value == floorf(value))) {
        return number_refuse(act, i, text, length, "; allowed is a whole number from 0 to 255");
    }
    ((uint8_t *)act->obs)[i] = (uint8_t)value;
    return true;
}

// Splits a line into the numbers of an observation.
static bool
line_parse(act_state *act, const char *line)
{
    uint32_t count = 0;
    while (*line != '\0') {
        while (is_separator(*line)) {
            line++;
        }
        int length = 0;
        while (line[length] != '\0' && !is_separator(line[length])) {
            length++;
        }
        if (length > 0 && count < act->info.obs_count && !number_take(act, count, line, length)) {
            return false;
        }
        count += length > 0;
        line += length;
    }
    if (count != act->info.obs_count) {
        cli_error("act", "line %llu: %u numbers; an observation of '%s' has %u", act->line, count,
                  cli_text_plain(act->info.env_id, SIZE_MAX).text, act->info.obs_count);
        return false;
    }
    return true;
}

// One line with the action, then the outputs when asked. False: nobody takes it.
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

// The next line without its end, 0-terminated. False at the end of the input, and when the line
// cannot be one, which was said.
static bool
line_read(act_state *act)
{
    size_t length = 0;
    int c;
    act->line++;
    while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
        if (c == '\0') {
            cli_error("act", "line %llu: a zero byte; this is not text", act->line);
            act->exit_code = CLI_EXIT_FAILED;
            return false;
        }
        if (length + 1 == act->text_bytes) {
            cli_error("act", "line %llu: more than %zu characters", act->line, length);
            act->exit_code = CLI_EXIT_FAILED;
            return false;
        }
        act->text[length++] = (char)c;
    }
    act->text[length] = '\0';
    if (ferror(stdin)) {
        cli_error("act", "cannot read standard input: %s", strerror(errno));
        act->exit_code = CLI_EXIT_FAILED;
        return false;
    }
    return c != EOF || length > 0;
}

static void
lines_act(act_state *act)
{
    while (line_read(act)) {
        if (!line_parse(act, act->text) ||
            octet_policy_act(act->policy, act->obs, act->action) != OCTET_POLICY_OK ||
            (act->outputs &&
             octet_policy_outputs(act->policy, act->obs, act->y) != OCTET_POLICY_OK)) {
            act->exit_code = CLI_EXIT_FAILED;
            return;
        }
        if (!action_print(act)) {
            // A reader that has left is the usual end of a pipe, not a failure of ours to tell.
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
    cli_options_parse(&act_argp, argc, argv, &options);
    if (options.policy == NULL) {
        cli_usage_error("act", "no policy; name one with --policy");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    char error[512], path[CLI_PATH_MAX];
    cli_folder_file(path, options.policy, "policy.oct");
    act_state act = {.outputs = options.outputs, .info = {.size = sizeof(act.info)}};
    if (octet_policy_load(&act.policy, path, error, sizeof(error)) != OCTET_POLICY_OK) {
        cli_error("act", "%s", error);
        return CLI_EXIT_FAILED;
    }
    (void)octet_policy_get_info(act.policy, &act.info);
    act.obs = oct_alloc(act.info.obs_bytes);
    act.action = oct_alloc(act.info.action_bytes);
    act.y = oct_alloc(act.info.output_count * sizeof(float));
    act.text_bytes = LINE_BYTES + (size_t)act.info.obs_count * NUMBER_BYTES;
    act.text = oct_alloc(act.text_bytes);
    lines_act(&act);
    free(act.text);
    free(act.obs);
    free(act.action);
    free(act.y);
    octet_policy_free(act.policy);
    return act.exit_code;
}
