#ifndef COMMON_OCT_PYTHON_H
#define COMMON_OCT_PYTHON_H

#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Starts Python; no other function does. Python imports modules from the folder that it is started
// in, so a file in a run folder of another user could replace importlib or gymnasium. Therefore:
//
// 1. The module search path has no entry for "the current folder": PYTHONSAFEPATH is set, and the
//    entry is removed by hand for Python before 3.11.
// 2. PYTHONPATH keeps its absolute entries, because the user named them. Relative entries count
//    from the current folder, and are dropped if that folder is not searched.
// 3. The code of users' environments also finds modules in the current folder if it is searched
//    (oct_python_check_here), that is, if no other user could have put them there.
// 4. A process that runs code instead of a file works in "/" if the current folder is not the
//    user's own.
//
// Threads: any, while no thread changes the environment or the current folder. Owns: nothing.

// OCT_OK: modules may be imported from the current folder, and `here` becomes its path. The folder
// and everything above it belong to this user or root, and no other user can write there
// (oct_owner_check_way); it is not the folder of a run or a sweep, and was not unpacked
// (oct_owner_is_unpacked). OCT_EINVAL: they may not; reason says why, and begins with the folder.
OCT_CHECKED oct_err oct_python_check_here(char here[PATH_MAX], oct_reason *why);

// Returns the PYTHONPATH of rule 2; if has_folder and the current folder is searched, that folder
// comes first. "": there is none. The caller frees it.
char *oct_python_modules(bool has_folder);

// Returns the Python to start: $OCTET_PYTHON if it is set and not empty, else "python3". A relative
// path with a slash becomes absolute, from the current folder; other names stay as they are. The
// caller frees it.
char *oct_python_program(void);

#define OCT_PYTHON_CODE 9 // descriptor in the child; Python closes it before code runs

typedef struct oct_python_start {
    // The text of a program, at most a few MiB. The child reads it from OCT_PYTHON_CODE, so that ps
    // and top show a short command line. NULL: arguments[0] is a file of Octet.
    const char *code;
    const char *const *arguments; // NULL-terminated; sys.argv[1:] of code
    bool has_user_code;           // rule 3
    // Borrowed, and extended by OCT_PYTHON_CODE. It must use only descriptors below that.
    posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes; // NULL: the defaults
} oct_python_start;

// Returns 0, or the error of posix_spawnp; then no process was started.
int oct_python_spawn(pid_t *out, const oct_python_start *start);

#endif // COMMON_OCT_PYTHON_H
