#ifndef COMMON_OCT_PROGRAM_H
#define COMMON_OCT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Finds the folder of the running program and the files that come with it, and keeps paths in the
// environment valid.
//
// Threads: any. Owns: nothing.

// Writes the folder of the running program, without a slash at its end and with links resolved.
// False, and "": it cannot be known (there is no /proc), or out is too small.
bool oct_program_folder(char *out, size_t size);
// The message for that.
#define OCT_PROGRAM_UNKNOWN "/proc/self/exe cannot be read (is /proc mounted?)"

// Returns true if the file or folder at path may be used as Octet's own: it belongs to this user,
// to root or to the owner of the file `beside` (NULL: of the running program), and others cannot
// write to it; its group cannot either, unless its number is the owner's. So a file that another
// user put beside a copy of the program, in a folder that several users share, is not used. False
// also if path does not exist.
bool oct_program_trusts(const char *path, const char *beside);

// Finds a file or folder that comes with Octet (share/octet/NAME of an installation): in the
// configured folder, in ../share/octet (a wheel), or in the build tree. All three paths start at
// the program's folder, so an installation can be moved. What is not trusted (oct_program_trusts)
// is skipped. built: folders of the build tree, NULL-terminated. OCT_ENOTFOUND: reason is one line
// with the folders of an installation.
OCT_CHECKED oct_err oct_program_find(char *out, size_t size, const char *name,
                                     const char *const *built, oct_reason *why);

// Makes paths in the environment absolute, in a program that changes its folder, or starts others
// in another one: OCTET_TLS, OCTET_PLUGIN_DIR, OCTET_LIBEXEC, OCTET_POWERCAP, OCTET_PYTHON and
// PYTHONPATH. If the current folder is searched for users' modules (oct_python_check_here), it is
// added to PYTHONPATH, so that they are still found. Must not run while other threads read the
// environment.
void oct_program_keep_paths(void);

#endif // COMMON_OCT_PROGRAM_H
