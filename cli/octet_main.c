// The `octet` command: finds the command by its name in a table, and runs it.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "common/oct_family.h"
#include "common/oct_log.h"
#include "common/oct_start.h"
#include "envs/env_plugin.h"
#include "proto/wire_speaks.h"

static int completion(int argc, char **argv);

static const cli_command commands[] = {
    {"train", cli_train, "train a policy on this machine"},
    {"plan", cli_plan_command, "predict what a run will need on this machine, and its limit"},
    {"cluster", cli_cluster, "train on several hosts"},
    {"sweep", cli_sweep, "train with many configurations and compare them"},
    {"compare", cli_compare_run, "compare runs: returns, learning curves, differences"},
    {"track", cli_track, "send a run to MLflow, Trackio or Weights & Biases"},
    {"status", cli_status, "show the state of a run"},
    {"top", cli_top, "show a live table of a run's actors"},
    {"dash", cli_dash, "show live and ended runs in a browser"},
    {"report", cli_report_page, "write the page of octet dash to one HTML file"},
    {"health", cli_health, "ask a daemon whether it is healthy"},
    {"set", cli_set, "change the samples per insert of a live run"},
    {"checkpoint", cli_checkpoint, "make the learner write a checkpoint now"},
    {"stop", cli_stop, "end a run after the learner has saved everything"},
    {"run", cli_run_folder, "pack a run folder into one file, or unpack one"},
    {"eval", cli_eval, "measure the return of a policy file"},
    {"act", cli_act, "read observations and print actions, line by line"},
    {"export", cli_export, "export a policy as a C99 header or an ONNX model"},
    {"import", cli_import, "make a policy from a trained network (an ONNX model)"},
    {"quantize", cli_quantize, "quantise a trained policy and measure the loss of return"},
    {"distill", cli_distill, "train a small policy to act like a large one"},
    {"inspect", cli_inspect, "show what a policy file contains and where it comes from"},
    {"data", cli_data, "show, export and import recorded steps"},
    {"env", cli_env, "list, check, time, replay and draw environments"},
    {"presets", cli_presets, "list the experiments that come with Octet"},
    {"config", cli_config, "list the keys of an experiment, or check a file"},
    {"doctor", cli_doctor_command, "check whether this machine and a folder suit a run"},
    {"certs", cli_certs_run, "make certificates for daemons on separate hosts"},
    {"completion", completion, "set up a shell to complete commands, options and keys"},
};

static const cli_family octet = {
    .name = "",
    .about = "Distributed reinforcement learning with quantised actors.",
    .list = commands,
    .count = OCT_COUNTOF(commands),
    .start = "octet train cartpole",
};

static int
completion(int argc, char **argv)
{
    return cli_completion(&octet, argc, argv);
}

static const char *command = ""; // the command that runs, for messages

// Runs at every exit (on_exit). What a command printed must have arrived: a full disk is a failure,
// even if the command succeeded. A reader that has left a pipe is no failure.
static void
output_check(int status, void *arg)
{
    struct stat out;
    (void)arg;
    bool is_file = fstat(STDOUT_FILENO, &out) == 0 && !S_ISFIFO(out.st_mode);
    bool was_lost = ferror(stdout) != 0;
    if (was_lost) {
        (void)putchar('\n'); // fails like the lost write, whose errno is no longer known
    }
    bool is_lost = fflush(stdout) != 0;
    if (is_file && (was_lost || is_lost) && status == 0) {
        cli_error(command, "cannot write to standard output%s%s", is_lost ? ": " : "",
                  is_lost ? strerror(errno) : "");
        _exit(CLI_EXIT_FAILED);
    }
}

// Ends the processes that a plug-in has started.
static void
family_end(void)
{
    oct_family_end(NULL, 0, false);
}

// Called before the first plug-in is loaded.
static void
family_begin(void)
{
    oct_family_adopt();
    OCT_ASSERT(atexit(family_end) == 0);
}

int
main(int argc, char **argv)
{
    oct_start();
    env_plugin_before(family_begin);
    oct_log_init("octet", OCT_LOG_WARN);
    OCT_ASSERT(on_exit(output_check, NULL) == 0);
    const char *first = argc < 2 ? "" : argv[1];
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0 ||
        strcmp(first, "version") == 0) {
        printf("octet " OCTET_VERSION " " WIRE_SPEAKS_TEXT "\n");
        return 0;
    }
    command = first;
    return cli_family_run(&octet, argc, argv);
}
