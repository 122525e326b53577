// Finds the folder of the running program, and the name of the Python to run; files that come with
// Octet are found from the folder, wherever it was moved to.
#include "common/oct_program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"

bool
oct_program_folder(char *out, size_t size)
{
    OCT_ASSERT(size > 0);
    ssize_t length = readlink("/proc/self/exe", out, size);
    bool is_whole = length > 0 && (size_t)length < size; // a longer name is cut off without a word
    out[is_whole ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    out[slash != NULL ? slash - out : 0] = '\0';
    return slash != NULL;
}

const char *
oct_program_python(void)
{
    const char *named = getenv("OCTET_PYTHON");
    return named != NULL && named[0] != '\0' ? named : "python3";
}

void
oct_program_keep_python(void)
{
    char here[PATH_MAX];
    const char *python = oct_program_python(), *paths = getenv("PYTHONPATH");
    if (getcwd(here, sizeof(here)) == NULL) {
        return;
    }
    if (python[0] != '/' && strchr(python, '/') != NULL) { // a bare name is looked up in $PATH
        size_t bytes = strlen(here) + strlen(python) + 2;
        char *whole = oct_alloc(bytes);
        snprintf(whole, bytes, "%s/%s", here, python);
        OCT_ASSERT(setenv("OCTET_PYTHON", whole, 1) == 0);
        free(whole);
    }
    paths = paths != NULL ? paths : "";
    size_t parts = 2;
    for (const char *at = paths; *at != '\0'; at++) {
        parts += *at == ':';
    }
    size_t bytes = strlen(paths) + parts * (strlen(here) + 2), used = strlen(here);
    char *whole = oct_alloc(bytes);
    snprintf(whole, bytes, "%s", here);
    for (const char *part = paths[0] != '\0' ? paths : NULL; part != NULL;) {
        size_t length = strcspn(part, ":");
        used +=
            (size_t)snprintf(whole + used, bytes - used, ":%s%s%.*s", part[0] == '/' ? "" : here,
                             part[0] == '/' ? "" : "/", (int)length, part);
        part = part[length] == ':' ? part + length + 1 : NULL;
    }
    OCT_ASSERT(used < bytes && setenv("PYTHONPATH", whole, 1) == 0);
    free(whole);
}
