#ifndef COMMON_OCT_PROGRAM_H
#define COMMON_OCT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"

// Where the running program lies, and the paths in its environment.
//
// Threads: any. Owns: nothing.

// The folder of the running program, without a slash at its end; links are resolved. false, and "":
// it is not known (there is no /proc), or out is too small.
bool oct_program_folder(char *out, size_t size);
// What a message says then.
#define OCT_PROGRAM_UNKNOWN "/proc/self/exe cannot be read (is /proc mounted?)"

// Returns true if the file or folder at path may be used as Octet's own: it belongs to this user,
// to root or to the owner of the file beside (NULL: of the running program), and others cannot
// write it; nor can a group, unless its number is the owner's. In a folder that several users
// share, what another user put beside a copy of the program is not. False also if there is nothing.
bool oct_program_trusts(const char *path, const char *beside);

// The path of a file or folder that comes with Octet (share/octet/NAME where it is installed): in
// the folder that was configured, in ../share/octet (a wheel), or where it is built. All three are
// named from the program's folder, wherever that was moved to. What is not trusted
// (oct_program_trusts) is passed over. built: folders, NULL behind the last
// one. OCT_ENOTFOUND: one line in reason, with the folders for installed ones.
OCT_CHECKED oct_err oct_program_find(char *out, size_t size, const char *name,
                                     const char *const *built, char *reason, size_t reason_size);

// For a program that enters another folder before it starts programs, or starts them there: what
// OCTET_TLS, OCTET_PLUGIN_DIR, OCTET_LIBEXEC, OCTET_POWERCAP, OCTET_PYTHON and PYTHONPATH name from
// the current folder is named from the root, and users' modules of the current folder are found if
// it is searched (oct_python_check_here). Not while other threads read the environment.
void oct_program_keep_paths(void);

#endif // COMMON_OCT_PROGRAM_H
