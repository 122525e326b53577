#ifndef CLI_RUN_CLI_EXPERIMENT_H
#define CLI_RUN_CLI_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/cli_folder.h"
#include "config/config_text.h"

// The experiment of `octet train`: its layers, and the position of each value for messages.
//
// FILE may be a preset's name. The name of a file ends in .yaml or .yml, or contains a slash.
//
// A new run consists of the defaults, FILE and the settings, in this order. A resumed run consists
// of the folder's config.yaml and the settings; FILE is only compared with it. Threads: main
// thread.

typedef struct cli_experiment {
    const char *command;   // named in messages; NULL: "train"
    const char *file;      // as given, or a preset's; NULL: a resumed run uses its own config.yaml
    const char *run_dir;   // as given, or NULL
    char *const *settings; // "key=value", in the order given
    size_t setting_count;
    bool resume;
    bool is_trusted;           // the user said --trust
    bool has_hosts;            // the daemons run on several hosts: the caller sets the addresses
    char preset[CLI_PATH_MAX]; // path of the preset, where one was named; "": none
    char path[4096];           // absolute path of the file; cli_experiment_load fills it
} cli_experiment;

// Loads the experiment. Ends the process with a message if anything is wrong, or if run_dir holds
// nothing to resume. Notes on standard error what a resumed run changes.
void cli_experiment_load(config_experiment *out, cli_experiment *experiment);
// Finds the file or the preset that experiment->file names, and fills path, and preset if it is
// one. Ends the process with a message if the word names something else: an algorithm, an
// environment, a run folder, or nothing.
void cli_experiment_find(cli_experiment *experiment);
// Makes the paths in config absolute, because the daemons work in the run folder. False: a path
// leads to nothing or cannot be written in YAML, which was printed after the position of its key.
OCT_CHECKED bool cli_experiment_resolve(const cli_experiment *experiment,
                                        config_experiment *config);
// Returns true if this value of a key is a path, which must not depend on the current folder.
bool cli_experiment_is_path(const char *key, const char *value);

// Prints the lines of a check, such as "error: KEY: …", on standard error, each after the position
// of its key. A line without a key gets the file alone.
void cli_experiment_print_lines(const cli_experiment *experiment, const char *message);
// Values that replay.path may have.
#define CLI_EXPERIMENT_TABLES                                                                      \
    "allowed are a file in the run folder, a file in a writable folder, and none"
// Prints one line on standard error that says why config cannot be used, after the position of the
// key that reason is about, and followed by hint ("" for none). False: the reason is about no key,
// and nothing was printed.
bool cli_experiment_print_error(const cli_experiment *experiment, const config_experiment *config,
                                const char *reason, const char *hint);

#endif // CLI_RUN_CLI_EXPERIMENT_H
