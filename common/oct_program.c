// Finds the folder of the running program, and the name of the Python to run; files that come with
// Octet are found from the folder, wherever it was moved to.
#include "common/oct_program.h"

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
