#ifndef CLI_RUN_CLI_FOLDER_H
#define CLI_RUN_CLI_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/oct_config.h"
#include "common/oct_err.h"

// The folder of a run and the executables of the daemons. Threads: main thread.
// Errors: one line for a person in reason.

#define CLI_PATH_MAX PATH_MAX

typedef struct cli_folder {
    char path[CLI_PATH_MAX]; // absolute
    int lock_fd;             // flock on PATH/.lock: one supervisor for a folder
    bool is_new;             // made by cli_folder_open
} cli_folder;

// Makes and locks a new run folder. wanted: its path, must not exist unless a run that never began
// to train left it; NULL: runs/NAME-DATE-TIME[-k]. With resume, wanted must exist. Checks that
// files can be written and that there is some space.
OCT_CHECKED oct_err cli_folder_open(cli_folder *out, const char *wanted, const char *name,
                                    bool resume, char *reason, size_t reason_size);
// Whether cli_folder_open, without resume, would take wanted for its path: nothing is there, or
// what it takes over. Makes nothing.
OCT_CHECKED oct_err cli_folder_check_new(const char *wanted, char *reason, size_t reason_size);
void cli_folder_close(cli_folder *folder);
// Whether an octet train runs in a folder.
bool cli_folder_is_locked(const char *path);
// Whether an octet train or an octet-learner runs in a folder: the run has not ended.
bool cli_folder_is_live(const char *path);
// Whether a folder has a file of that name.
bool cli_folder_has(const char *folder, const char *name);
// Whether a run has begun to train in the folder: it has a checkpoint or a policy.
bool cli_folder_has_begun(const char *path);
// Takes back a run that never began: config.yaml, summary.json and the logs stay, unless
// with_logs; then a folder that cli_folder_open made goes as a whole.
void cli_folder_clear(const cli_folder *folder, bool with_logs);

// The environment that a policy is played in. Not copied: id and options may point into it.
#define CLI_ENV_OPTIONS_BYTES (2 * OCT_CONFIG_TEXT_MAX + 16)
#define CLI_ENV_FILE          "env.yaml" // of a policy without a run: config.yaml's keys of env
#define CLI_FOLDER_ENV_HINT   "; --env ID, with --options K=V,..., does without it"
typedef struct cli_folder_env {
    const char *id;           // as env_open takes it
    const char *options;      // likewise, with mjcf_dir among them
    const char *options_from; // where they come from, or why there are none
    bool is_known;            // something says what the options are
    char own_id[OCT_CONFIG_TEXT_MAX];
    char own_options[CLI_ENV_OPTIONS_BYTES];
} cli_folder_env;
// env_id and options as given (NULL, "": not). What is not given is that of the config.yaml beside
// the policy, or the CLI_ENV_FILE where there is no config.yaml; without either it is trained_on,
// without options. With env_id the files are not looked at. A moved plug-in is looked for no
// further. Errors: the file is there and cannot be loaded; reason names it, its line and key.
OCT_CHECKED oct_err cli_folder_env_choose(cli_folder_env *out, const char *policy,
                                          const char *trained_on, const char *env_id,
                                          const char *options, char *reason, size_t reason_size);
// Prints one line: the environment, its options and where they come from.
void cli_folder_env_print(const cli_folder_env *chosen);
// Puts a reason that helps in place of env_open's, where that found no environment of the id that a
// policy was trained on: a plug-in's own name, which is no path.
void cli_folder_env_missing(oct_err err, const char *id, const char *trained_on, char *reason,
                            size_t reason_size);
// The file that was meant: given itself, or the file of that name in it when it is a folder.
void cli_folder_file(char out[CLI_PATH_MAX], const char *given, const char *name);

// The absolute path of a daemon ("octet-actor"): in $OCTET_LIBEXEC when that is set, else beside
// this executable's folder in the build tree, in this executable's folder, in ../libexec/octet, in
// $PATH.
OCT_CHECKED oct_err cli_folder_find_daemon(char out[CLI_PATH_MAX], const char *name, char *reason,
                                           size_t reason_size);

#endif // CLI_RUN_CLI_FOLDER_H
