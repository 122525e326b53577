// octet track: shows a run in a tracker, by octet_track.py.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_python.h"
#include "cli/run/cli_folder.h"
#include "common/oct_suggest.h"

#define PROGRAM       "octet_track.py"
#define EVERY_DEFAULT "10"
#define EVERY_MAX     86400

enum { KEY_TO = 256, KEY_PROJECT, KEY_NAME, KEY_PLACE, KEY_EVERY };

typedef struct track_options {
    const char *folder;
    const char *to;
    const char *project; // "": the default of the program, as the next two
    const char *name;
    const char *place;
    const char *every; // seconds
} track_options;

static const struct argp_option option_table[] = {
    {"to", KEY_TO, "TRACKER", 0, "Choose the tracker: mlflow, trackio or wandb (required)", 0},
    {"project", KEY_PROJECT, "P", 0,
     "Store the run in project P, in MLflow an experiment (default: the environment)", 0},
    {"name", KEY_NAME, "N", 0, "Name the run N in the tracker (default: the folder's name)", 0},
    {"place", KEY_PLACE, "URL", 0,
     "Store the run at URL: sqlite:///FILE.db, the address of a server, or a Trackio Space "
     "(default: the tracker's own; MLflow: sqlite:///mlflow.db)",
     0},
    {"every", KEY_EVERY, "S", 0,
     "Send one row of metrics.csv for every S seconds of training (default: " EVERY_DEFAULT ")", 0},
    {0},
};

static const char *
tracker_check(const char *name)
{
    static const char *const known[] = {"mlflow", "trackio", "wandb", NULL};
    for (size_t i = 0; known[i] != NULL; i++) {
        if (strcmp(known[i], name) == 0) {
            return name;
        }
    }
    const char *near = oct_suggest(name, known);
    cli_usage_error("track", "--to is '%s'; allowed is mlflow, trackio, wandb%s%s%s", name,
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    track_options *options = state->input;
    switch (key) {
    case KEY_TO:
        options->to = tracker_check(arg);
        return 0;
    case KEY_PROJECT:
        options->project = arg;
        return 0;
    case KEY_NAME:
        options->name = arg;
        return 0;
    case KEY_PLACE:
        options->place = arg;
        return 0;
    case KEY_EVERY:
        (void)cli_option_real("track", "--every", arg, 0, EVERY_MAX);
        options->every = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->folder != NULL) {
            cli_usage_error("track", "two run folders, '%s' and '%s'; name one", options->folder,
                            arg);
        }
        options->folder = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp track_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "RUN --to TRACKER",
    .doc = "Sends a run to MLflow, Trackio or Weights & Biases: its configuration, its thinned "
           "metrics and its result. A live run is followed until it ends. If the command is "
           "started again, it continues; no row is sent twice.\v"
           "Needs a Python with the tracker's package: python3, or $OCTET_PYTHON. The tracker "
           "never affects the run.\n\n"
           "Example:\n"
           "  octet track runs/pole --to mlflow --place sqlite:///mlflow.db",
};

int
cli_track(int argc, char **argv)
{
    track_options options = {.project = "", .name = "", .place = "", .every = EVERY_DEFAULT};
    char path[CLI_PATH_MAX + 16], reason[CLI_PATH_MAX + 256] = "";
    cli_options_parse(&track_argp, argc, argv, &options);
    if (options.folder == NULL || options.to == NULL) {
        cli_usage_error("track", options.folder == NULL
                                     ? "no run folder given"
                                     : "--to is missing; allowed are mlflow, trackio, wandb");
    }
    (void)snprintf(path, sizeof(path), "%s/config.yaml", options.folder);
    if (access(path, R_OK) != 0) {
        cli_error("track", "'%s' is not a run folder: it has no config.yaml", options.folder);
        return CLI_EXIT_FAILED;
    }
    const char *arguments[] = {
        options.folder, options.to, options.project, options.name, options.place,
        options.every,  NULL};
    oct_err err = cli_python_run(PROGRAM, arguments, reason, sizeof(reason));
    if (reason[0] != '\0') {
        cli_error("track", "%s", reason);
    }
    return err == OCT_OK ? 0 : CLI_EXIT_FAILED;
}
