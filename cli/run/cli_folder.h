#ifndef CLI_RUN_CLI_FOLDER_H
#define CLI_RUN_CLI_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/oct_err.h"

// The folder of a run and the executables of the daemons. Threads: main thread.
// Errors: one line for a person in reason.

#define CLI_PATH_MAX PATH_MAX

typedef struct cli_folder {
    char path[CLI_PATH_MAX]; // absolute
    int lock_fd;             // of PATH/.lock: one supervisor for a folder; -1: unlocked
    uint32_t made; // folders at the end of path that cli_folder_open made; 0: it was there
    uid_t owner;   // of the folder
} cli_folder;

// Makes and locks a new run folder. wanted: its path, must not exist unless a run that never began
// to train left it; NULL: runs/NAME-DATE-TIME[-k]. With resume, wanted must exist. Checks that
// files can be written and that there is some space. A failure leaves no folder behind.
OCT_CHECKED oct_err cli_folder_open(cli_folder *out, const char *wanted, const char *name,
                                    bool resume, char *reason, size_t reason_size);
// Whether cli_folder_open, without resume, would take wanted for its path: nothing is there, or
// what it takes over. Makes nothing.
OCT_CHECKED oct_err cli_folder_check_new(const char *wanted, char *reason, size_t reason_size);
// Unlocks the folder. May be called again.
void cli_folder_close(cli_folder *folder);
// Warns a person of a folder of another user, who could replace what is in it.
void cli_folder_warn(const cli_folder *folder, const char *command);
// Returns true if an octet train or an octet sweep has locked the folder.
bool cli_folder_is_locked(const char *path);
// OCT_EAGAIN: a run or a sweep is live there (CLI_FOLDER_LIVE); reason says how to look at it or
// end it. cli_folder_open refuses such a folder in the same words.
OCT_CHECKED oct_err cli_folder_check_free(const char *path, char *reason, size_t reason_size);
// Whether the folder itself says that its run has ended: its summary.json is not older than its
// config.yaml, which octet train writes first.
bool cli_folder_has_summary(const char *path);
// Whether an octet train or an octet-learner runs in a folder.
typedef enum cli_folder_life {
    CLI_FOLDER_ENDED,
    CLI_FOLDER_LIVE,
    CLI_FOLDER_UNKNOWN, // its locks are another user's alone, and it has no summary that says so
} cli_folder_life;
cli_folder_life cli_folder_look(const char *path);
// A line for a person about a folder that is UNKNOWN.
#define CLI_FOLDER_UNKNOWN_TEXT                                                                    \
    "cannot tell whether the run has ended: summary.json is missing, and only the owner of the "   \
    "folder can test its locks"
// Makes a local socket in a folder and removes it, as the daemons of a run do. Returns 0 or an
// errno: file systems such as exFAT, and some of networks, have no sockets.
int cli_folder_try_socket(const char *path);
// Bytes that this user may still write to the disk of a folder; UINT64_MAX: not known.
uint64_t cli_folder_space(const char *path);
// Whether a folder has a file of that name.
bool cli_folder_has(const char *folder, const char *name);
// Whether a run has begun to train in the folder: it has a checkpoint or a policy.
bool cli_folder_has_begun(const char *path);
// Takes back a run that never began: config.yaml, summary.json, the logs and replay's table stay,
// unless with_logs; then what cli_folder_open made goes as a whole.
void cli_folder_clear(const cli_folder *folder, bool with_logs);
// Removes what cli_folder_open made, with all that is in it; a folder that was there stays as it
// is.
void cli_folder_take_back(const cli_folder *folder);

// The file that was meant: given itself, or the file of that name in it when it is a folder, which
// is confined (oct_file_open.h).
void cli_folder_file(char out[CLI_PATH_MAX], const char *given, const char *name);
// The file of that name beside path: "runs/walk/policy.oct" and "env.yaml" give
// "runs/walk/env.yaml". Returns its bytes, as snprintf does.
int cli_folder_beside(char *out, size_t size, const char *path, const char *name);
// Confines the folder that path is in: for a file beside it whose name the user did not give.
void cli_folder_confine_beside(const char *path);

// The absolute path of a daemon ("octet-actor"): in $OCTET_LIBEXEC when that is set, else beside
// this executable's folder in the build tree, in this executable's folder, in ../libexec/octet, in
// $PATH.
OCT_CHECKED oct_err cli_folder_find_daemon(char out[CLI_PATH_MAX], const char *name, char *reason,
                                           size_t reason_size);

#endif // CLI_RUN_CLI_FOLDER_H
