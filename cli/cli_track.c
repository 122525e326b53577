// octet track: copies the numbers of a run to an experiment tracker. It starts octet_track.py,
// which follows metrics.csv.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_python.h"
#include "cli/run/cli_folder.h"
#include "common/oct_reason.h"

#define PROGRAM       "octet_track.py"
#define EVERY_DEFAULT 10
#define EVERY_MAX     86400

typedef struct track_options {
    const char *folder;
    const char *to;
    const char *project; // "": the tracker's default, also for the next two
    const char *name;
    const char *place;
    double every; // seconds
} track_options;

static const char *const trackers[] = {"mlflow", "trackio", "wandb", NULL};

static const oct_arg track_rows[] = {
    {OCT_ARG_OPERAND("folders", track_options, folder), .missing = "no run folder given"},
    {OCT_ARG_TEXT("to", "TRACKER", track_options, to), .words = trackers,
     .missing = "--to is missing; allowed is mlflow, trackio or wandb",
     .help = "Choose the tracker: mlflow, trackio or wandb (required)"},
    {OCT_ARG_TEXT("project", "P", track_options, project),
     .help = "Store the run in project P, in MLflow an experiment (default: the environment)"},
    {OCT_ARG_TEXT("name", "N", track_options, name),
     .help = "Name the run N in the tracker (default: the folder's name)"},
    {OCT_ARG_TEXT("place", "URL", track_options, place),
     .help = "Store the run at URL: sqlite:///FILE.db, the address of a server, or a Trackio Space "
             "(default: the tracker's own; MLflow: sqlite:///mlflow.db)"},
    {OCT_ARG_NUMBER("every", "S", track_options, every, 0, EVERY_MAX),
     .help = "Send one row of metrics.csv for every S seconds of training (default: 10)"},
    {0},
};

static const oct_args track_args = {
    .rows = track_rows,
    .usage = "RUN --to TRACKER",
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
    char path[CLI_PATH_MAX + 16], every[32];
    oct_reason why = {""};
    cli_args_parse(&track_args, argc, argv, &options);
    (void)snprintf(path, sizeof(path), "%s/config.yaml", options.folder);
    if (access(path, R_OK) != 0) {
        return cli_error("track", "'%s' is not a run folder: it has no config.yaml",
                         options.folder);
    }
    (void)snprintf(every, sizeof(every), "%.9g", options.every);
    const char *arguments[] = {
        options.folder, options.to, options.project, options.name, options.place, every, NULL};
    oct_err err = cli_python_run(PROGRAM, arguments, &why);
    if (why.text[0] != '\0') {
        cli_error("track", "%s", why.text);
    }
    return err == OCT_OK ? 0 : CLI_EXIT_FAILED;
}
