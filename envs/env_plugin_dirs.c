// Decides which plug-ins that a peer named may be loaded: those in directories that the operator
// named and to which no other user can write.
#include "envs/env_plugin_dirs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "envs/gym/env_gym.h"

// ---- what the operator names

oct_err
env_plugin_dirs_add(env_plugin_dirs *dirs, const char *path, oct_reason *why)
{
    if (dirs->count == ENV_PLUGIN_DIRS_MAX) {
        return oct_refuse(why, "more than %d directories", ENV_PLUGIN_DIRS_MAX);
    }
    if (env_gym_has(path)) { // a name, not a path
        dirs->is_file[dirs->count] = true;
        dirs->paths[dirs->count] = oct_alloc(strlen(path) + 1);
        memcpy(dirs->paths[dirs->count++], path, strlen(path));
        return OCT_OK;
    }
    struct stat status;
    char *resolved = realpath(path, NULL);
    if (resolved == NULL || oct_file_stat(resolved, &status) != 0) {
        int code = errno;
        free(resolved);
        return oct_refuse(why, "'%s': %s", path, strerror(code));
    }
    bool is_file = S_ISREG(status.st_mode);
    oct_err err = OCT_OK;
    if (!is_file && !S_ISDIR(status.st_mode)) {
        err = oct_refuse(why, "'%s' is neither a directory nor a file", path);
    } else if (!is_file) {
        err = oct_owner_check_way(resolved, strlen(resolved), why);
    }
    if (err != OCT_OK) {
        free(resolved);
        return err;
    }
    dirs->paths[dirs->count] = resolved;
    dirs->is_file[dirs->count++] = is_file;
    return OCT_OK;
}

// Returns the length of a list's first entry. "gym" alone is no entry: with the ':' and what
// follows it is an id.
static size_t
entry_length(const char *list)
{
    size_t length = strcspn(list, ":");
    return env_gym_has(list) ? length + 1 + strcspn(list + length + 1, ":") : length;
}

oct_err
env_plugin_dirs_add_list(env_plugin_dirs *dirs, const char *list, oct_reason *why)
{
    char path[PATH_MAX];
    while (*list != '\0') {
        size_t length = entry_length(list);
        if (length >= sizeof(path)) {
            return oct_refuse(why, "a path is longer than %d bytes", PATH_MAX - 1);
        }
        memcpy(path, list, length);
        path[length] = '\0';
        if (length > 0) {
            OCT_TRY(env_plugin_dirs_add(dirs, path, why));
        }
        list += length + (list[length] == ':');
    }
    return OCT_OK;
}

void
env_plugin_dirs_fini(env_plugin_dirs *dirs)
{
    for (uint32_t i = 0; i < dirs->count; i++) {
        free(dirs->paths[i]);
    }
    *dirs = (env_plugin_dirs){0};
}

// ---- what a peer names

// Returns the length of the part of path that entry i covers; 0: it is not covered.
static size_t
covered(const env_plugin_dirs *dirs, uint32_t i, const char *path)
{
    size_t length = strlen(dirs->paths[i]);
    bool is_root = length == 1;
    if (strncmp(path, dirs->paths[i], length) != 0) {
        return 0;
    }
    char next = path[length];
    return dirs->is_file[i] ? (next == '\0' ? length : 0) : is_root || next == '/' ? length : 0;
}

// Checks a resolved path. OCT_ENOTFOUND: no entry covers it.
static oct_err
resolved_check(const env_plugin_dirs *dirs, const char *path, oct_reason *why)
{
    for (uint32_t i = 0; i < dirs->count; i++) {
        size_t length = covered(dirs, i, path);
        if (length > 0) {
            return dirs->is_file[i] ? OCT_OK : oct_owner_check_way(path, length, why);
        }
    }
    return OCT_ENOTFOUND;
}

oct_err
env_plugin_dirs_name(const env_plugin_dirs *dirs, const char *id, oct_reason *why)
{
    for (uint32_t i = 0; i < dirs->count; i++) {
        if (strcmp(dirs->paths[i], id) == 0) {
            return OCT_OK;
        }
    }
    return oct_refuse(
        why, "%s runs code of Python packages, which was not allowed: give --plugins %s", id, id);
}

oct_err
env_plugin_dirs_find(const env_plugin_dirs *dirs, const char *id, char out[PATH_MAX],
                     oct_reason *why)
{
    if (dirs->count == 0) {
        return oct_refuse(why,
                          "%s is a plug-in, which is code, and no directory of plug-ins was "
                          "allowed: give its directory with --plugins or OCTET_PLUGINS",
                          id);
    }
    char path[PATH_MAX];
    bool is_absolute = id[0] == '/', was_found = false;
    for (uint32_t i = 0; i < (is_absolute ? 1 : dirs->count); i++) {
        int length = is_absolute ? snprintf(path, sizeof(path), "%s", id)
                                 : snprintf(path, sizeof(path), "%s/%s", dirs->paths[i], id);
        if (length < 0 || length >= PATH_MAX || realpath(path, out) == NULL) {
            continue;
        }
        was_found = true;
        oct_err err = resolved_check(dirs, out, why);
        if (err != OCT_ENOTFOUND) {
            return err;
        }
    }
    return oct_refuse(why,
                      "%s: %s the directories that --plugins or OCTET_PLUGINS "
                      "name",
                      id,
                      was_found     ? "it is a plug-in outside of"
                      : is_absolute ? "there is no such file, in or outside of"
                                    : "there is no such plug-in in");
}
