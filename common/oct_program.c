// Finds the folder of the running program, and from it the files that come with Octet, so that an
// installation can be moved.
#include "common/oct_program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_owner.h"
#include "common/oct_python.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define SHARE_OF_WHEEL "../share/octet" // from the folder of the program in a Python wheel

bool
oct_program_folder(char *out, size_t size)
{
    OCT_ASSERT(size > 0);
    ssize_t length = readlink("/proc/self/exe", out, size);
    bool is_whole = length > 0 && (size_t)length < size; // readlink cuts a longer name silently
    out[is_whole ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    out[slash != NULL ? slash - out : 0] = '\0';
    return slash != NULL;
}

// Appends a relative path to a folder. ".." is resolved as text, which is exact because the
// folder's name has no links.
static void
path_join(oct_text *out, const char *folder, const char *relative)
{
    size_t length = strlen(folder);
    if (relative[0] == '/') {
        length = 0;
    }
    while (strncmp(relative, "../", 3) == 0 || strcmp(relative, "..") == 0) {
        relative += relative[2] == '/' ? 3 : 2;
        while (length > 0 && folder[--length] != '/') {
        }
    }
    oct_text_add(out, "%.*s%s%s", (int)length, folder,
                 relative[0] != '/' && relative[0] != '\0' ? "/" : "", relative);
}

bool
oct_program_trusts(const char *path, const char *beside)
{
    struct stat file, own;
    if (stat(path, &file) != 0 || stat(beside != NULL ? beside : "/proc/self/exe", &own) != 0) {
        return false;
    }
    mode_t others = S_IWOTH | (file.st_gid == (gid_t)file.st_uid ? 0 : S_IWGRP);
    return (oct_owner_is_trusted(file.st_uid) || file.st_uid == own.st_uid) &&
           (file.st_mode & others) == 0;
}

// Writes folder/relative/name to out. Returns true if it can be read and is trusted.
static bool
is_in(char *out, size_t size, const char *folder, const char *relative, const char *name)
{
    oct_text path;
    oct_text_init(&path, out, size);
    path_join(&path, folder, relative);
    oct_text_add(&path, "/%s", name);
    return !path.truncated && access(out, R_OK) == 0 && oct_program_trusts(out, NULL);
}

oct_err
oct_program_find(char *out, size_t size, const char *name, const char *const *built,
                 oct_reason *why)
{
    char folder[PATH_MAX];
    if (!oct_program_folder(folder, sizeof(folder))) {
        return oct_fail(why, OCT_ENOTFOUND, "cannot find %s: " OCT_PROGRAM_UNKNOWN, name);
    }
    bool is_found = is_in(out, size, folder, OCT_PROGRAM_SHARE, name) ||
                    is_in(out, size, folder, SHARE_OF_WHEEL, name);
    while (!is_found && *built != NULL) {
        is_found = is_in(out, size, folder, *built++, name);
    }
    if (is_found) {
        return OCT_OK;
    }
    oct_reason unread;
    why = why != NULL ? why : &unread;
    oct_text text;
    oct_text_init(&text, why->text, sizeof(why->text));
    oct_text_add(&text, "cannot find %s: looked in ", name);
    path_join(&text, folder, OCT_PROGRAM_SHARE);
    if (strcmp(OCT_PROGRAM_SHARE, SHARE_OF_WHEEL) != 0) {
        oct_text_add(&text, " and ");
        path_join(&text, folder, SHARE_OF_WHEEL);
    }
    return OCT_ENOTFOUND;
}

static void
variable_set(const char *name, char *value)
{
    OCT_ASSERT(setenv(name, value, 1) == 0);
    free(value);
}

// Makes the value of a variable that holds one path absolute.
static void
path_keep(const char *name, const char *here)
{
    const char *path = getenv(name);
    if (path != NULL && path[0] != '\0' && path[0] != '/') {
        size_t bytes = strlen(here) + strlen(path) + 2;
        char *whole = oct_alloc(bytes);
        snprintf(whole, bytes, "%s/%s", here, path);
        variable_set(name, whole);
    }
}

void
oct_program_keep_paths(void)
{
    static const char *const paths[] = {"OCTET_TLS", "OCTET_PLUGIN_DIR", "OCTET_LIBEXEC",
                                        "OCTET_POWERCAP"};
    char here[PATH_MAX];
    if (getcwd(here, sizeof(here)) == NULL) {
        return;
    }
    for (size_t i = 0; i < OCT_COUNTOF(paths); i++) {
        path_keep(paths[i], here);
    }
    if (getenv("OCTET_PYTHON") != NULL) {
        variable_set("OCTET_PYTHON", oct_python_program());
    }
    variable_set("PYTHONPATH", oct_python_modules(true));
}
