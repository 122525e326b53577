// Runs octet_data.py, which knows the formats of others.

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_data.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_program.h"
#include "common/oct_text.h"

#define ARGUMENTS_MAX 16
#define PROGRAM       "octet_data.py"

extern char **environ;

// Where it is built, or installed.
static oct_err
program_find(char out[CLI_PATH_MAX], char *reason, size_t reason_size)
{
    static const char *const places[] = {"../data/", "../share/octet/"};
    char folder[CLI_PATH_MAX];
    (void)oct_program_folder(folder, sizeof(folder));
    for (size_t i = 0; i < OCT_COUNTOF(places); i++) {
        int used = snprintf(out, CLI_PATH_MAX, "%s/%s" PROGRAM, folder, places[i]);
        if (used > 0 && used < CLI_PATH_MAX && access(out, R_OK) == 0) {
            return OCT_OK;
        }
    }
    (void)oct_refuse(reason, reason_size, "cannot find " PROGRAM ": looked in %s/../share/octet",
                     folder);
    return OCT_ENOTFOUND;
}

static oct_err
child_wait(pid_t child, char *reason, size_t reason_size)
{
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            (void)oct_refuse(reason, reason_size, "lost " PROGRAM ": %s", strerror(errno));
            return OCT_EIO;
        }
    }
    if (WIFSIGNALED(status)) {
        (void)oct_refuse(reason, reason_size, PROGRAM " was ended by signal %d", WTERMSIG(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? OCT_OK : OCT_EIO;
}

oct_err
cli_data_python(const char *const *arguments, char *reason, size_t reason_size)
{
    char program[CLI_PATH_MAX];
    const char *python = oct_program_python();
    OCT_TRY(program_find(program, reason, reason_size));
    char *argv[ARGUMENTS_MAX + 3] = {(char *)(uintptr_t)python, program};
    for (size_t i = 0; arguments[i] != NULL; i++) {
        OCT_ASSERT(i < ARGUMENTS_MAX);
        argv[i + 2] = (char *)(uintptr_t)arguments[i];
    }
    pid_t child;
    (void)fflush(stdout);
    int code = posix_spawnp(&child, python, NULL, NULL, argv, environ);
    if (code != 0) {
        (void)oct_refuse(reason, reason_size,
                         "cannot run '%s': %s; OCTET_PYTHON names the Python to use", python,
                         strerror(code));
        return OCT_ENOTFOUND;
    }
    return child_wait(child, reason, reason_size);
}
