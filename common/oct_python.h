#ifndef COMMON_OCT_PYTHON_H
#define COMMON_OCT_PYTHON_H

#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/oct_err.h"

// Starts Python: no other function does. A Python that is started in a folder would import any
// module that lies there, so files of a run folder of somebody else could take the place of
// importlib or gymnasium. Therefore:
//
// 1. The module search path has no entry for "the current folder" (PYTHONSAFEPATH, and the same by
//    hand for Python before 3.11).
// 2. PYTHONPATH keeps its absolute entries: the user named them. Relative ones count from the
//    current folder, and are dropped where that folder is not searched.
// 3. Code of users' environments also finds modules of the current folder, if it is searched
//    (oct_python_check_here): nobody else could have put them there.
// 4. A process that runs code instead of a file works in "/" if the current folder is not the
//    user's own.
//
// Threads: any, while no thread changes the environment or the current folder. Owns: nothing.

// OCT_OK: modules may be imported from the current folder, whose path is in here. It and everything
// above it belong to this user or root, and no one else can write there (oct_owner_check_way); it
// is not the folder of a run or a sweep, and was not unpacked from a pack (oct_owner_is_unpacked).
// OCT_EINVAL: they may not; reason says why, in words that begin with the folder.
OCT_CHECKED oct_err oct_python_check_here(char here[PATH_MAX], char *reason, size_t reason_size);

// The PYTHONPATH of rule 2, with the current folder in front if has_folder and it is searched.
// "": none. The caller frees it.
char *oct_python_modules(bool has_folder);

// "./venv/bin/python" from the current folder's root; a name without a slash, or from the root, as
// it is. $OCTET_PYTHON where it is set and not empty, else "python3". The caller frees it.
char *oct_python_program(void);

#define OCT_PYTHON_CODE 9 // the child's descriptor of code, which Python closes before code runs

typedef struct oct_python_start {
    // A program, at most a few MiB, which the child reads from OCT_PYTHON_CODE, so that ps and top
    // show a short command line. NULL: arguments[0] is a file of Octet.
    const char *code;
    const char *const *arguments; // NULL-terminated; sys.argv[1:] of code
    bool has_user_code;           // rule 3
    // Borrowed; uses descriptors below OCT_PYTHON_CODE, which is added to it.
    posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes; // NULL: the usual
} oct_python_start;

// Returns 0, or the error of posix_spawnp; then no process was started.
int oct_python_spawn(pid_t *out, const oct_python_start *start);

#endif // COMMON_OCT_PYTHON_H
