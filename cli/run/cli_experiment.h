#ifndef CLI_RUN_CLI_EXPERIMENT_H
#define CLI_RUN_CLI_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/cli_folder.h"
#include "common/oct_config_text.h"

// The experiment of `octet train`: what it is made of, and which line of it a mistake is in.
//
// FILE may be a preset's name. A file's name ends in .yaml or .yml, or has a slash.
//
// A new run: the defaults, FILE, then the settings. A resumed one: the folder's config.yaml, then
// the settings; FILE only says what it would have otherwise. Threads: main thread.

typedef struct cli_experiment {
    const char *command;   // that messages name; NULL: "train"
    const char *file;      // as given, or a preset's; NULL: a resumed run's own config.yaml
    const char *run_dir;   // as given, or NULL
    char *const *settings; // "key=value", in the order given
    size_t setting_count;
    bool resume;
    bool is_trusted; // the user said --trust
    bool has_hosts;  // its daemons are on several hosts: the caller says at which addresses
    char preset[CLI_PATH_MAX]; // of its file, where one was named
    char path[4096];           // of the file, absolute; cli_experiment_load fills it
} cli_experiment;

// Ends the process with words for a person when anything is wrong, or when run_dir holds nothing to
// resume. Notes what a resumed run changes on standard error.
void cli_experiment_load(oct_config *out, cli_experiment *experiment);
// Finds the file, or the preset of that name: fills path, and preset where it is one. Ends the
// process with a message if the word names something else: an algorithm, an environment, a run
// folder, or nothing.
void cli_experiment_find(cli_experiment *experiment);
// Makes the paths in config absolute: the daemons work in the run folder. False: one names nothing
// or cannot be written down, which was printed after the place of its key.
OCT_CHECKED bool cli_experiment_resolve(const cli_experiment *experiment, oct_config *config);
// Whether this value of a key is a path, which must not depend on the working folder.
bool cli_experiment_is_path(const char *key, const char *value);
// "mine.yaml:4" or "--set algo.name=dqn": where key got its value, the file alone if from nowhere.
// Returns out.
const char *cli_experiment_place(const cli_experiment *experiment, const char *key, char *out,
                                 size_t size);
// The key that a message is about: of those that it names the first that was given, else the first.
// False: it names none.
bool cli_experiment_key(const cli_experiment *experiment, const char *text,
                        char out[OCT_CONFIG_NAME_MAX]);

// Prints what a check says, lines such as "error: KEY: …", on standard error, each after the place
// of its key, or the file alone where it names none.
void cli_experiment_print_lines(const cli_experiment *experiment, const char *message);
// What replay.path may be.
#define CLI_EXPERIMENT_TABLES                                                                      \
    "allowed are a file in the run folder, a file in a writable folder, and none"
// Prints a reason why config cannot be used, on one line of standard error, after the place of the
// key that it is about; hint ("" for none) follows it. False: it is about no key, and nothing was
// printed.
bool cli_experiment_print_error(const cli_experiment *experiment, const oct_config *config,
                                const char *reason, const char *hint);

#endif // CLI_RUN_CLI_EXPERIMENT_H
