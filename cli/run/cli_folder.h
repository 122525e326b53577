#ifndef CLI_RUN_CLI_FOLDER_H
#define CLI_RUN_CLI_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// The folder of a run, and the executables of the daemons. Threads: main thread. Errors: reason
// gets one line for a person.

#define CLI_PATH_MAX PATH_MAX

typedef struct cli_folder {
    char path[CLI_PATH_MAX]; // absolute
    int lock_fd;             // of PATH/.lock, which allows one supervisor a folder; -1: unlocked
    uint32_t made; // folders at the end of path that cli_folder_open made; 0: the folder existed
    uid_t owner;   // of the folder
} cli_folder;

// Makes and locks a new run folder, checks that its files can be written and that at least 16 MiB
// are free. wanted is its path, which must not exist, except as the folder of a run that never
// began to train; NULL: runs/NAME-DATE-TIME[-k]. With resume, wanted must exist. On a failure no
// folder is left. Confines the folder (oct_file_open.h).
//   OCT_EAGAIN  the name is taken, or a run or a sweep is live there
//   OCT_EIO  it cannot be made or written, or the disk is full
//   OCT_EINVAL  a file in it is a link, a pipe or another user's
OCT_CHECKED oct_err cli_folder_open(cli_folder *out, const char *wanted, const char *name,
                                    bool resume, oct_reason *why);
// Checks that cli_folder_open, without resume, would accept wanted. Makes nothing.
OCT_CHECKED oct_err cli_folder_check_new(const char *wanted, oct_reason *why);
// Unlocks the folder. May be called more than once.
void cli_folder_close(cli_folder *folder);
// Warns that a folder belongs to another user, who could replace its contents.
void cli_folder_warn(const cli_folder *folder, const char *command);
// Returns true if an octet train or an octet sweep has locked the folder.
bool cli_folder_is_locked(const char *path);
// OCT_EAGAIN: a run or a sweep is live in the folder (CLI_FOLDER_LIVE); reason says how to view or
// stop it. cli_folder_open refuses such a folder with the same text.
OCT_CHECKED oct_err cli_folder_check_free(const char *path, oct_reason *why);
// Returns true if the folder shows that its run has ended: summary.json is not older than
// config.yaml, which octet train writes first.
bool cli_folder_has_summary(const char *path);
// Tells whether an octet train or an octet-learner is running in a folder.
typedef enum cli_folder_state {
    CLI_FOLDER_ENDED,
    CLI_FOLDER_LIVE,
    // only another user may test its locks, and no summary shows that the run has ended
    CLI_FOLDER_UNKNOWN,
} cli_folder_state;
cli_folder_state cli_folder_state_of(const char *path);
// A line for a person about a folder that is CLI_FOLDER_UNKNOWN.
#define CLI_FOLDER_UNKNOWN_TEXT                                                                    \
    "cannot tell whether the run has ended: summary.json is missing, and only the owner of the "   \
    "folder can test its locks"
// Makes a local socket in a folder and removes it, as the daemons of a run do. Returns 0 or an
// errno: exFAT and some network file systems have no sockets.
int cli_folder_try_socket(const char *path);
// Returns the bytes that this user may still write to the folder's file system. UINT64_MAX: not
// known.
uint64_t cli_folder_space(const char *path);
// Returns true if a folder has a file of that name.
bool cli_folder_has(const char *folder, const char *name);
// Returns true if a run has begun to train in the folder: it has a checkpoint or a policy.
bool cli_folder_has_begun(const char *path);
// Removes what a run that never began has left. config.yaml, summary.json, the logs and replay's
// tables stay. with_logs: everything that cli_folder_open made goes.
void cli_folder_clear(const cli_folder *folder, bool with_logs);
// Removes the folders that cli_folder_open made, with their contents. A folder that existed before
// stays as it is.
void cli_folder_take_back(const cli_folder *folder);

// Writes the file that was meant: given itself, or the file `name` in it if given is a folder,
// which is then confined (oct_file_open.h).
void cli_folder_file(char out[CLI_PATH_MAX], const char *given, const char *name);
// Writes the path of the file `name` beside path: "runs/walk/policy.oct" and "env.yaml" give
// "runs/walk/env.yaml". Returns its length, as snprintf does.
int cli_folder_beside(char *out, size_t size, const char *path, const char *name);
// Confines the folder that contains path, for files beside path whose names the user did not give.
void cli_folder_confine_beside(const char *path);

// Finds the absolute path of a daemon ("octet-actor"): in $OCTET_LIBEXEC if that is set; otherwise
// in the build tree beside this executable's folder, in this executable's folder, in
// ../libexec/octet, and in $PATH, in this order. OCT_ENOTFOUND: reason says where it was searched.
OCT_CHECKED oct_err cli_folder_find_daemon(char out[CLI_PATH_MAX], const char *name,
                                           oct_reason *why);

#endif // CLI_RUN_CLI_FOLDER_H
