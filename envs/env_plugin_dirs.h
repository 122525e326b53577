#ifndef ENVS_ENV_PLUGIN_DIRS_H
#define ENVS_ENV_PLUGIN_DIRS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// The directories from which a process loads plug-ins that a peer named. A plug-in is code, so the
// operator names directories or single files, and nothing else is loaded.
//
// A directory qualifies if no other user can put a file there: it, and every file and folder below
// it on the way to a plug-in, belongs to this user or to root and is not writable for group and
// others; the folders above it likewise, or they have the sticky bit (/tmp). A file that is named
// itself is the operator's own choice, like a program that the operator starts, so only its path is
// compared. Paths are compared after resolving links and "..", which therefore cannot lead out of a
// directory.
//
// Threads: one user at a time; reading: any. Owns: its paths. Errors: OCT_EINVAL, with one line for
// a person in reason.

#define ENV_PLUGIN_DIRS_MAX 32

typedef struct env_plugin_dirs {
    char *paths[ENV_PLUGIN_DIRS_MAX];  // absolute, resolved
    bool is_file[ENV_PLUGIN_DIRS_MAX]; // the path is a file, or an id "gym:NAME"
    uint32_t count;                    // 0, as in {0}: no plug-in is loaded
} env_plugin_dirs;

// Adds one directory, one file, or an id of Gymnasium, "gym:NAME". OCT_EINVAL also when full.
OCT_CHECKED oct_err env_plugin_dirs_add(env_plugin_dirs *dirs, const char *path, oct_reason *why);
// Adds several, separated by ':'; empty entries are skipped. "gym:NAME" counts as one entry, so
// NAME must not contain ':' here, and a relative folder cannot be called "gym".
OCT_CHECKED oct_err env_plugin_dirs_add_list(env_plugin_dirs *dirs, const char *list,
                                             oct_reason *why);
void env_plugin_dirs_fini(env_plugin_dirs *dirs);
// Checks that "gym:NAME" was added in exactly these words. OCT_EINVAL: it was not.
OCT_CHECKED oct_err env_plugin_dirs_name(const env_plugin_dirs *dirs, const char *id,
                                         oct_reason *why);
// Finds the file that id names: an absolute path is used as it is, any other below each directory
// in turn. out is resolved and may be loaded.
OCT_CHECKED oct_err env_plugin_dirs_find(const env_plugin_dirs *dirs, const char *id,
                                         char out[PATH_MAX], oct_reason *why);

#endif // ENVS_ENV_PLUGIN_DIRS_H
