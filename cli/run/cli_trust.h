#ifndef CLI_RUN_CLI_TRUST_H
#define CLI_RUN_CLI_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/oct_err.h"

// Decides whose word is enough to run the code that a file names. The files are a run's
// config.yaml, a sweep's base.yaml, an env.yaml and an experiment. The code is the environment in
// env.id, if it is a plug-in or runs in Python (gym:). Nothing else in these files is executed.
//
// A file's word counts if the file, its folder and the plug-in belong to this user or root, if no
// other user can write the file or the plug-in, and if the folder was not unpacked from a pack.
// Otherwise the user must allow it (--trust) or name the environment (--env, --set env.id=).
//
// Threads: main thread. Owns: nothing.

#define CLI_TRUST_HELP                                                                             \
    "Also run an environment's code if a file of another user, or of a pack, names it"
#define CLI_TRUST_BYTES 4400

// Returns true if the word of the file at path, which belongs to owner, does not count, and writes
// why: "FILE belongs to user 1001". Returns false, with "" in why, if it counts or env_id comes
// with Octet.
bool cli_trust_doubts(char why[CLI_TRUST_BYTES], const char *path, uid_t owner, const char *env_id);

// Prints on standard error that a command runs code, although why.
void cli_trust_note(const char *command, const char *why, const char *env_id);

// Ends the process with a message if the file's word does not count and the user did not give
// --trust (is_trusted). ways: what the user may give instead.
void cli_trust_require(const char *command, const char *path, uid_t owner, const char *env_id,
                       bool is_trusted, const char *ways);

#endif // CLI_RUN_CLI_TRUST_H
