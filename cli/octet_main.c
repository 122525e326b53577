// The `octet` command: finds the command by its name in one table and hands over.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_env.h"
#include "cli/cli_inspect.h"
#include "cli/cli_options.h"
#include "cli/cli_suggest.h"
#include "common/oct_log.h"

#define COMMANDS_MAX 16

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

static const command commands[] = {
    {"train", cli_train, "train a policy on this machine"},
    {"status", cli_status, "how a run is doing"},
    {"health", cli_health, "ask a daemon whether it is healthy"},
    {"set", cli_set, "change the samples per insert of a live run"},
    {"checkpoint", cli_checkpoint, "have the learner write a checkpoint now"},
    {"stop", cli_stop, "end a run: the learner saves everything"},
    {"eval", cli_eval, "measure the return of a policy file"},
    {"act", cli_act, "act line by line: an observation in, an action out"},
    {"export", cli_export, "a policy file as C99 header or ONNX"},
    {"quantize", cli_quantize, "store a finished policy in fewer bits, and what that costs"},
    {"inspect", cli_inspect, "what is in a policy file and where it came from"},
    {"env", cli_env, "list, check, time, replay and draw environments"},
    {"config", cli_config, "every key of an experiment, or check a file"},
    {"certs", cli_certs_run, "certificates for daemons on separate hosts"},
};

static void
print_help(FILE *out)
{
    fprintf(out, "Usage: octet COMMAND [OPTION...]\n"
                 "Distributed reinforcement learning with quantised actors.\n\n");
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    }
    fprintf(out, "\n  octet COMMAND --help   options of a command\n"
                 "  octet --version        version\n\n"
                 "Start here: octet train presets/cartpole.yaml\n");
}

static const command *
find_command(const char *name)
{
    const char *names[COMMANDS_MAX + 1] = {NULL};
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
        names[i] = commands[i].name;
    }
    const char *near = cli_suggest(name, names);
    if (near != NULL) {
        cli_usage_error("", "unknown command '%s'; did you mean '%s'?", name, near);
    }
    char allowed[256] = "";
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        size_t used = strlen(allowed);
        (void)snprintf(allowed + used, sizeof(allowed) - used, " %s", names[i]);
    }
    cli_usage_error("", "unknown command '%s'\n  allowed:%s", name, allowed);
}

// What a command printed must have arrived: a full disk is a failure, whatever else was done. A
// reader that has left, or never was there, is none.
static int
output_end(const char *name, int result)
{
    struct stat out;
    bool is_file = fstat(STDOUT_FILENO, &out) == 0 && !S_ISFIFO(out.st_mode);
    bool is_lost = ferror(stdout) != 0;
    is_lost = fflush(stdout) != 0 || is_lost;
    if (is_file && is_lost && result == 0) {
        cli_error(name, "cannot write to standard output: %s", strerror(errno));
        return CLI_EXIT_FAILED;
    }
    return result;
}

int
main(int argc, char **argv)
{
    oct_log_init("octet", OCT_LOG_WARN);
    if (argc < 2) {
        print_help(stderr);
        return CLI_EXIT_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 ||
        (strcmp(first, "help") == 0 && argc == 2)) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(first, "--version") == 0) {
        printf("octet %s\n", OCTET_VERSION);
        return 0;
    }
    if (strcmp(first, "help") == 0) {
        const command *about = find_command(argv[2]);
        static char help[] = "--help";
        char *asked[] = {argv[2], help, NULL};
        return about->run(2, asked);
    }
    if (first[0] == '-') {
        cli_usage_error("", "unknown option '%s'; allowed is --help or --version", first);
    }
    return output_end(first, find_command(first)->run(argc - 1, argv + 1));
}
