#ifndef ENVS_ENV_PLUGIN_DIRS_H
#define ENVS_ENV_PLUGIN_DIRS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Where a process takes plug-ins from whose name it got from a peer. A plug-in is code: its
// operator names directories, or single files, and nothing else is loaded.
//
// A directory is taken if nobody else can put a file there: it and every file and folder below it
// on the way to a plug-in belong to this user or to root and are writable for no group and no
// others; what is above it likewise, or has the sticky bit (/tmp). A file that is named itself is
// the operator's own choice, as a program is that one starts: only its path is compared. Paths
// are compared resolved: neither a link nor ".." leads out of a directory.
//
// Threads: one user at a time; reading: any. Owns: its paths. Errors: OCT_EINVAL, with one line
// for a person in reason.

#define ENV_PLUGIN_DIRS_MAX 32

typedef struct env_plugin_dirs {
    char *paths[ENV_PLUGIN_DIRS_MAX]; // absolute, resolved
    bool is_file[ENV_PLUGIN_DIRS_MAX];
    uint32_t count; // 0, as {0} has: no plug-in is taken
} env_plugin_dirs;

// One directory or one file, or the id of an environment of Gymnasium, "gym:NAME". Full: refused.
OCT_CHECKED oct_err env_plugin_dirs_add(env_plugin_dirs *dirs, const char *path, char *reason,
                                        size_t reason_size);
// Several, separated by ':'; empty ones are skipped. "gym:NAME" is one, so that no NAME here has a
// ':' itself, and no relative folder is called "gym".
OCT_CHECKED oct_err env_plugin_dirs_add_list(env_plugin_dirs *dirs, const char *list, char *reason,
                                             size_t reason_size);
void env_plugin_dirs_fini(env_plugin_dirs *dirs);
// Whether "gym:NAME" was named, by just these words. OCT_EINVAL: it was not.
OCT_CHECKED oct_err env_plugin_dirs_name(const env_plugin_dirs *dirs, const char *id, char *reason,
                                         size_t reason_size);
// The file that id means: an absolute path as it is, any other below each directory in turn. out is
// resolved, and what may be loaded.
OCT_CHECKED oct_err env_plugin_dirs_find(const env_plugin_dirs *dirs, const char *id,
                                         char out[PATH_MAX], char *reason, size_t reason_size);

#endif // ENVS_ENV_PLUGIN_DIRS_H
