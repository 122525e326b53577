#ifndef CLI_CLI_PYTHON_H
#define CLI_CLI_PYTHON_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/run/cli_folder.h"
#include "common/oct_err.h"

// The programs of Octet that are written in Python, because what they talk to is: octet_data.py,
// octet_import.py, octet_optuna.py, octet_track.py. They are found where they are built, or in
// share/octet, and run by oct_program_python.
//
// Threads: main thread. Errors: OCT_ENOTFOUND: the program, or the Python for it; one line in
// reason.

// Where a program that comes with Octet is, also one of those in shell (octet_ssh.sh).
OCT_CHECKED oct_err cli_python_find(char out[CLI_PATH_MAX], const char *program, char *reason,
                                    size_t reason_size);

// Runs a program with arguments (NULL-terminated) to its end. SIGINT, SIGTERM and SIGHUP go to it
// first, once each, so that it removes what it has begun, and take effect here when it has ended.
// OCT_EIO: it failed, and has said on standard error why (reason is empty), or was ended by a
// signal (reason says it).
OCT_CHECKED oct_err cli_python_run(const char *program, const char *const *arguments, char *reason,
                                   size_t reason_size);

// One that goes on, and answers on a socket that is its standard input and output.
typedef struct cli_python {
    pid_t pid; // 0: there is none
    int socket;
} cli_python;

OCT_CHECKED oct_err cli_python_start(cli_python *out, const char *program,
                                     const char *const *arguments, char *reason,
                                     size_t reason_size);
// Closes the socket, at which the program ends, and waits for that: at most 5 s, then it is killed.
void cli_python_stop(cli_python *python);

#endif // CLI_CLI_PYTHON_H
