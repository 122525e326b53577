#ifndef CLI_CLI_PYTHON_H
#define CLI_CLI_PYTHON_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/run/cli_folder.h"
#include "common/oct_err.h"
#include "common/oct_reason.h"

// The programs of Octet that are written in Python because they use Python libraries:
// octet_data.py, octet_import.py, octet_optuna.py, octet_track.py. They are found in the build tree
// or in share/octet, and started by oct_python_spawn.
//
// Threads: main thread. Errors: OCT_ENOTFOUND: the program, or Python, does not exist; reason gets
// one line.

// Finds a program that comes with Octet, also one in shell (octet_ssh.sh).
OCT_CHECKED oct_err cli_python_find(char out[CLI_PATH_MAX], const char *program, oct_reason *why);

// Runs a program with arguments (NULL-terminated) until it ends. SIGINT, SIGTERM and SIGHUP go to
// the program first, once each, so that it removes what it has begun, and take effect here after it
// has ended. OCT_EIO: it failed, with a message of its own on standard error (reason is empty), or
// a signal ended it (reason says so).
OCT_CHECKED oct_err cli_python_run(const char *program, const char *const *arguments,
                                   oct_reason *why);

// A program that keeps running and answers on a socket, which is its standard input and output.
typedef struct cli_python {
    pid_t pid; // 0: it is not running
    int socket;
} cli_python;

OCT_CHECKED oct_err cli_python_start(cli_python *out, const char *program,
                                     const char *const *arguments, oct_reason *why);
// Closes the socket, at which the program ends, and waits for it: at most 5 s, then it is killed.
void cli_python_stop(cli_python *python);

#endif // CLI_CLI_PYTHON_H
